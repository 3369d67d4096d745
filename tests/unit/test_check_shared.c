// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// Checked blocks among threads and processes: looking at all blocks beside threads that work, forks at any moment, sources
// that serve again, and what is watched when the system had no memory for it.
#include "support.h"

#include "check/check.h"
#include "os/os.h"
#include "slab/state.h"

#include <lido/arena.h>
#include <lido/handle.h>
#include <lido/heap.h>
#include <lido/object.h>
#include <lido/options.h>
#include <lido/pool.h>

#include <stdatomic.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static int set_up(void **state) {
    (void)state;
    return lido_options_set("on_misuse=continue:check=off:check_rest_kb=64");
}

static lido_pool *pool_of(lido_check_level level, lido_threads threads, size_t size) {
    return lido_pool_new(&(lido_pool_options){.name = "task", .block_size = size, .threads = threads, .check = level});
}

// --- looking beside working threads -----------------------------------------------------------------------------------

static atomic_bool over;
enum { HELD = 4, LOOKS = UNIT_SANITIZED ? 300 : 3000 };

static void work_or_look(unsigned index, void *argument) {
    lido_pool **pools = argument;
    uint64_t seed = index;
    unsigned char *held[HELD] = {NULL};
    if (index == 0) {
        for (int i = 0; i < LOOKS; i++) UNIT_CHECK(lido_check_all() == 0);
        over = true;
        return;
    }
    while (!over) {
        uint64_t r = unit_random(&seed);
        unsigned char **place = &held[r % HELD];
        lido_pool *pool = pools[r % HELD % 3];
        if (*place != NULL) {
            for (int i = 0; i < 8; i++) UNIT_CHECK(place[0][i] == (unsigned char)((r % HELD) ^ index));
            lido_pool_free(pool, *place);
            *place = NULL;
        } else {
            *place = lido_pool_alloc(pool);
            memset(*place, (int)((r % HELD) ^ index), 8);
        }
    }
    for (unsigned i = 0; i < HELD; i++) {
        if (held[i] != NULL) lido_pool_free(pools[i % 3], held[i]);
    }
}

// Sizes of one shape, so that a slot's surroundings change with every block that it gets.
static void looking_beside_threads(void **state) {
    (void)state;
    lido_pool *pools[3];
    for (size_t i = 0; i < 3; i++) pools[i] = pool_of(LIDO_CHECK_GUARD, LIDO_SHARED, 3100 + i * 100);
    over = false;
    unit_catch_begin();
    unit_threads(3, work_or_look, pools);
    assert_string_equal(unit_catch_end(), "");
    for (size_t i = 0; i < 3; i++) lido_pool_destroy(pools[i]);
}

// --- fork -------------------------------------------------------------------------------------------------------------

static void use_and_reset(lido_pool *pool) {
    for (int i = 0; i < 20; i++) UNIT_CHECK(lido_pool_alloc(pool) != NULL);
    lido_pool_reset(pool);
}

static void work_or_fork(unsigned index, void *argument) {
    lido_pool *pool = argument;
    while (index != 0 && !over) {
        lido_pool_free(pool, lido_pool_alloc(pool));
        if (index == 1) continue;
        lido_pool_destroy(pool_of(LIDO_CHECK_GUARD, LIDO_LOCAL, 24));
        lido_check_all();
    }
    for (int i = 0; index == 0 && i < (UNIT_SANITIZED ? 40 : 200); i++) {
        pid_t child = fork();
        UNIT_CHECK(child >= 0);
        if (child == 0) {
            alarm(20);    // a hang is what this looks for
            lido_pool *own = pool_of(LIDO_CHECK_GUARD, LIDO_LOCAL, 24);
            use_and_reset(own);
            use_and_reset(pool);    // ends what the threads of the parent had
            lido_check_all();
            _exit(0);
        }
        int status = -1;
        UNIT_CHECK(waitpid(child, &status, 0) == child && status == 0);
    }
    if (index == 0) over = true;
}

static void forks_beside_threads(void **state) {
    (void)state;
    lido_pool *pool = pool_of(LIDO_CHECK_GUARD, LIDO_SHARED, 24);
    over = false;
    unit_threads(3, work_or_fork, pool);
    lido_pool_destroy(pool);
}

// --- handles ----------------------------------------------------------------------------------------------------------

static _Atomic(void *) shown[3];    // an object of each thread, perhaps gone by now

static void make_and_ask(unsigned index, void *argument) {
    lido_handle_pool *pool = argument;
    for (int i = 0; i < (UNIT_SANITIZED ? 3000 : 30000); i++) {
        lido_handle handle = lido_handle_new(pool, NULL);
        void *object = lido_handle_get(pool, handle);
        UNIT_CHECK(object != NULL && lido_handle_of(pool, object).bits == handle.bits);
        shown[index] = object;
        for (unsigned other = 0; other < 3; other++) {
            lido_handle found = lido_handle_of(pool, shown[other]);
            UNIT_CHECK(found.bits == 0 || other != index || found.bits == handle.bits);
        }
        UNIT_CHECK(lido_handle_delete(pool, handle));
    }
}

static void handles_of_objects_that_end(void **state) {
    (void)state;
    static const lido_type type = {.name = "unit", .size = 40};
    lido_options_set("check=guard");
    lido_handle_pool *pool = lido_handle_pool_new(&type, &(lido_handle_options){.threads = LIDO_SHARED});
    unit_threads(3, make_and_ask, pool);
    assert_int_equal(lido_handle_pool_stats(pool).live, 0);
    lido_handle_pool_destroy(pool);
}

// --- sources ----------------------------------------------------------------------------------------------------------

static size_t source_count(void) {
    size_t count = 0;
    for (const lido__check_source *s = lido__check_sources(); s != NULL; s = s->next) count++;
    return count;
}

static void make_and_end_each_kind(lido_check_level level) {
    lido_pool *pool = pool_of(level, LIDO_LOCAL, 32);
    lido_pool_free(pool, lido_pool_alloc(pool));
    lido_pool_destroy(pool);
    lido_arena *arena = lido_arena_new(NULL);
    assert_non_null(lido_arena_alloc(arena, 32));
    lido_arena_free(arena);
    lido_heap *heap = lido_heap_new(NULL);
    lido_heap_free(heap, lido_heap_alloc(heap, 32));
    lido_heap_destroy(heap);
}

static void sources_serve_again(void **state) {
    (void)state;
    lido_options_set("check=guard");
    for (int i = 0; i < 3000; i++) make_and_end_each_kind(LIDO_CHECK_GUARD);
    size_t enough = source_count();
    for (int i = 0; i < 3000; i++) make_and_end_each_kind(LIDO_CHECK_GUARD);
    assert_int_equal(source_count(), enough);
    assert_true(enough < 2000);    // those whose blocks rest: 64 KiB of them, or 64 of a shape
}

// While a block rests its report must name the pool that it was of.
static void a_resting_block_keeps_its_source(void **state) {
    (void)state;
    char *blocks[32];
    lido_pool *pool = lido_pool_new(
        &(lido_pool_options){.name = "first", .block_size = 700, .threads = LIDO_LOCAL, .check = LIDO_CHECK_GUARD});
    for (int i = 0; i < 32; i++) blocks[i] = lido_pool_alloc(pool);
    for (int i = 0; i < 32; i++) lido_pool_free(pool, blocks[i]);
    lido_pool_destroy(pool);
    for (int i = 0; i < 200; i++) lido_pool_destroy(pool_of(LIDO_CHECK_GUARD, LIDO_LOCAL, 700));
    blocks[7][3] = 1;
    unit_catch_begin();
    assert_int_equal(lido_check_all(), 1);
    assert_non_null(strstr(unit_catch_end(), "a block of 700 bytes of pool 'first'"));
}

static size_t live_of(const char *name) {
    for (const lido__check_source *s = lido__check_sources(); s != NULL; s = s->next) {
        if (strcmp(s->name, name) == 0) return s->live;
    }
    return SIZE_MAX;
}

// The system refuses whatever is asked for: a pool is made whole, or not and with ENOMEM, and never counts as malloc's.
static void no_memory_for_a_source(void **state) {
    (void)state;
    for (uint32_t first = 1; first < 12; first++) {
        size_t before = live_of("malloc");
        lido__os_fail_from(first, UINT32_MAX / 2);
        lido_pool *pools[400];
        size_t made = 0;
        while (made < COUNT_OF(pools) && (pools[made] = pool_of(LIDO_CHECK_GUARD, LIDO_LOCAL, 40)) != NULL) made++;
        lido__os_fail_from(0, 0);
        for (size_t i = 0; i < made; i++) {
            void *block = lido_pool_alloc(pools[i]);
            assert_non_null(block);
            assert_true(live_of("malloc") <= before);    // fewer: graves that are emptied
            assert_ptr_equal(lido_pool_of(block), pools[i]);
            lido_pool_destroy(pools[i]);
        }
    }
}

// --- light, when there is no memory for its bytes -----------------------------------------------------------------------

static void work_where_nothing_is_watched(void *argument) {
    (void)argument;
    enum { COUNT = 2000 };
    static char *blocks[COUNT];
    lido_pool *pool = pool_of(LIDO_CHECK_LIGHT, LIDO_LOCAL, 64);
    blocks[0] = lido_malloc(64);    // so that segments and all else are there
    // A pool in a segment of its own: nothing has asked for the bytes of that yet.
    uint32_t calls = 0;
    for (uint32_t first = 1; first <= 20; first++) {
        lido__os_fail_from(first, UINT32_MAX / 2);
        size_t made = 0;
        while (made < COUNT / 2 && (blocks[made] = lido_pool_alloc(pool)) != NULL) made++;
        calls += lido__os_fail_from(0, 0);
        while (made < COUNT) UNIT_CHECK((blocks[made++] = lido_pool_alloc(pool)) != NULL);
        for (size_t i = 0; i < COUNT; i++) lido_pool_free(pool, blocks[i]);
    }
    UNIT_CHECK(calls > 0);
    lido_pool_destroy(pool);
}

static void frees_are_right_where_nothing_is_watched(void **state) {
    (void)state;
    lido_options_set("on_misuse=abort");
    unit_child child = unit_fork(work_where_nothing_is_watched, NULL);
    lido_options_set("on_misuse=continue");
    unit_assert_done(&child);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(looking_beside_threads, set_up),
        cmocka_unit_test_setup(forks_beside_threads, set_up),
        cmocka_unit_test_setup(handles_of_objects_that_end, set_up),
        cmocka_unit_test_setup(sources_serve_again, set_up),
        cmocka_unit_test_setup(a_resting_block_keeps_its_source, set_up),
        cmocka_unit_test_setup(no_memory_for_a_source, set_up),
        cmocka_unit_test_setup(frees_are_right_where_nothing_is_watched, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
