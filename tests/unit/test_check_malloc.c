// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// malloc, heaps and objects in check mode: what sample picks and how, failures on demand, zero memory, blocks without bytes, and
// what is asked of a block that was freed.
#include "support.h"

#include "check/check.h"
#include "heap/checked.h"
#include "os/os.h"

#include <lido/heap.h>
#include <lido/object.h>
#include <lido/options.h>
#include <lido/pool.h>

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

static void *hide(const volatile void *p) {
    __asm__ volatile("" : "+r"(p) : : "memory");
    return (void *)(uintptr_t)p;
}

static int set_up(void **state) {
    (void)state;
    return lido_options_set("on_misuse=continue:check=off");
}

// --- sample -----------------------------------------------------------------------------------------------------------

static void a_sampled_block_is_what_was_asked_for(void **state) {
    (void)state;
    lido_options_set("check=sample:1");
    unit_catch_begin();
    for (size_t alignment = 1; alignment <= 65536; alignment *= 2) {
        for (size_t size = 0; size < 200000; size = size * 3 + 1) {
            char *p = lido_aligned_alloc(alignment, size);
            assert_non_null(p);
            assert_int_equal((uintptr_t)p % alignment, 0);
            const lido__checked *record = lido__checked_find(p);
            assert_non_null(record);
            assert_int_equal(record->bytes, size);
            memset(p, 1, size);
            lido_free_aligned_sized(p, alignment, size);
        }
    }
    assert_string_equal(unit_catch_end(), "");
}

static void a_sampled_block_that_grows_is_any_block(void **state) {
    (void)state;
    lido_options_set("check=sample:1000000");
    char *p = NULL;
    for (int tries = 0; p == NULL && tries < 3000000; tries++) {
        p = lido_malloc(100);
        if (lido__checked_find(p) != NULL) break;
        lido_free(p);
        p = NULL;
    }
    assert_non_null(p);
    p = lido_realloc(memset(p, 5, 100), 200);
    assert_null(lido__checked_find(p));
    assert_int_equal(p[99], 5);
    lido_free(p);
}

enum { THREADS = 600, INTERVAL = 60 };

static void *first_is_sampled(void *place) {
    void *p = lido_malloc(40);
    *(bool *)place = lido__checked_find(p) != NULL;
    lido_free(p);
    return NULL;
}

// Threads that allocate once each: one in N of them is sampled, not all or none.
static void short_threads_are_sampled(void **state) {
    (void)state;
    lido_options_set("check=sample:60");
    int sampled = 0;
    for (int i = 0; i < THREADS; i++) {
        pthread_t thread;
        bool it_was = false;
        assert_int_equal(pthread_create(&thread, NULL, first_is_sampled, &it_was), 0);
        pthread_join(thread, NULL);
        sampled += it_was;
    }
    assert_in_range(sampled, 1, 6 * THREADS / INTERVAL);
}

// --- failures on demand -------------------------------------------------------------------------------------------------

static void *plain(void) { return lido_malloc(40); }
static void *zeroed(void) { return lido_calloc(3, 20000); }
static void *large(void) { return lido_malloc(100000); }
static void *aligned(void) { return lido_aligned_alloc(256, 1000); }
static void *aligned_large(void) { return lido_aligned_alloc(4096, 100000); }
static lido_heap *heap;
static void *of_heap(void) { return lido_heap_alloc(heap, 40); }
static void *of_heap_large(void) { return lido_heap_alloc(heap, 100000); }
static void *of_heap_aligned(void) { return lido_heap_alloc_aligned(heap, 4096, 100000); }

static void fail_each_call(void *argument) {
    (void)argument;
    static void *(*const calls[])(void) = {plain,         zeroed,  large,         aligned,
                                           aligned_large, of_heap, of_heap_large, of_heap_aligned};
    for (size_t i = 0; i < COUNT_OF(calls); i++) {
        errno = 0;
        UNIT_CHECK(calls[i]() == NULL && errno == ENOMEM);
    }
}

// Each kind of call counts and fails, at each level; the rule is read once a process.
static void every_call_fails_on_demand(void **state) {
    (void)state;
    static const char *const levels[] = {"check=light", "check=sample:3", "check=guard", "check=page"};
    for (size_t l = 0; l < COUNT_OF(levels); l++) {
        lido_options_set(levels[l]);
        for (int bump = 0; bump < 2; bump++) {
            heap = lido_heap_new(&(lido_heap_options){.name = "malloc", .bump = bump});
            lido_options_set("fault=every=1,pool=malloc");
            unit_child child = unit_fork(fail_each_call, NULL);
            lido_options_set("fault=");
            unit_assert_done(&child);
            lido_heap_destroy(heap);
        }
    }
}

// --- memory and blocks ----------------------------------------------------------------------------------------------------

static void large_zeroed_memory_is_not_written(void **state) {
    (void)state;
    lido_options_set("check=light");
    bool zero = false;
    char *p = lido__malloc_checked(20 << 20, 1, LIDO__CALL_MALLOC, &zero);
    assert_non_null(p);
    assert_true(zero);
    lido_free(p);
    p = lido_calloc(5 << 20, 4);
    for (size_t i = 0; i < 20 << 20; i += 4096) assert_int_equal(p[i], 0);
    lido_free(p);
}

static void blocks_without_bytes(void **state) {
    (void)state;
    static const char *const levels[] = {"check=light", "check=guard", "check=page"};
    for (size_t l = 0; l < COUNT_OF(levels); l++) {
        lido_options_set(levels[l]);
        unit_catch_begin();
        lido_heap *own = lido_heap_new(NULL);
        char *p = lido_heap_realloc(own, lido_heap_alloc(own, 0), 50);
        assert_non_null(p);
        memset(p, 1, 50);
        lido_heap_free(own, p);
        p = lido_realloc(lido_malloc(0), 50);
        assert_non_null(p);
        lido_free(memset(p, 1, 50));
        lido_heap_destroy(own);
        assert_string_equal(unit_catch_end(), "");
    }
}

static void realloc_of_freed(void **state) {
    (void)state;
    lido_options_set("check=light");
    char *p = hide(lido_malloc(100));
    lido_free(p);
    for (size_t size = 90; size <= 900; size *= 10) {    // in place, and moved
        unit_catch_begin();
        assert_null(lido_realloc(p, size));
        assert_non_null(strstr(unit_catch_end(), "): was freed before: a block of 112 bytes"));
    }
}

static int destroyed;
static void count_destroyed(void *object, void *context) {
    (void)object, (void)context;
    destroyed++;
}

static void an_object_is_destroyed_once(void **state) {
    (void)state;
    static const lido_type type = {.name = "unit", .size = 48, .destroy = count_destroyed};
    static const char *const levels[] = {"check=light", "check=guard", "check=page"};
    for (size_t l = 0; l < COUNT_OF(levels); l++) {
        lido_options_set(levels[l]);
        lido_object_pool *pool = lido_object_pool_new(&type, NULL);
        void *object = hide(lido_object_new(pool, NULL));
        destroyed = 0;
        lido_object_delete(pool, object);
        unit_catch_begin();
        lido_object_delete(pool, object);
        assert_non_null(strstr(unit_catch_end(), "lido_object_delete("));
        assert_int_equal(destroyed, 1);
        lido_object_pool_destroy(pool);
        assert_int_equal(destroyed, 1);
    }
}

// Blocks outlive the level they were made at.
static void the_level_goes_up_and_down(void **state) {
    (void)state;
    static const char *const levels[] = {"check=page", "check=off",      "check=guard", "check=light",
                                         "check=off",  "check=sample:2", "check=guard", "check=off"};
    static const size_t sizes[] = {1, 100, 5000, 100000, 3 << 20, 40 << 20};
    enum { LEVELS = COUNT_OF(levels), SIZES = COUNT_OF(sizes) };
    static char *blocks[LEVELS][SIZES];
    unit_catch_begin();
    for (size_t l = 0; l < LEVELS; l++) {
        lido_options_set(levels[l]);
        for (size_t s = 0; s < SIZES; s++) {
            for (size_t before = 0; before < l; before++) {
                char *p = blocks[before][s];
                assert_int_equal(p[sizes[s] - 1], before);
                assert_true(lido_usable_size(p) >= sizes[s]);
                blocks[before][s] = p = lido_realloc(p, sizes[s] + l);
                assert_non_null(p);
                assert_int_equal(p[sizes[s] - 1], before);
            }
            blocks[l][s] = lido_malloc(sizes[s]);
            assert_non_null(blocks[l][s]);
            blocks[l][s][sizes[s] - 1] = (char)l;
        }
    }
    for (size_t l = 0; l < LEVELS; l++) {
        for (size_t s = 0; s < SIZES; s++) lido_free(blocks[l][s]);
    }
    assert_string_equal(unit_catch_end(), "");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_sampled_block_is_what_was_asked_for, set_up),
        cmocka_unit_test_setup(a_sampled_block_that_grows_is_any_block, set_up),
        cmocka_unit_test_setup(short_threads_are_sampled, set_up),
        cmocka_unit_test_setup(every_call_fails_on_demand, set_up),
        cmocka_unit_test_setup(large_zeroed_memory_is_not_written, set_up),
        cmocka_unit_test_setup(blocks_without_bytes, set_up),
        cmocka_unit_test_setup(realloc_of_freed, set_up),
        cmocka_unit_test_setup(an_object_is_destroyed_once, set_up),
        cmocka_unit_test_setup(the_level_goes_up_and_down, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
