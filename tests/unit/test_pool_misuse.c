// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// What a pool says of wrong calls, by the exact line, and that with on_misuse=continue the call is ignored and the pool stays
// in order; without it the process ends there.
#include "pool_kinds.h"

#include "os/os.h"
#include "pool/pool.h"

#include <lido/heap.h>
#include <lido/options.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const char *line(const char *format, ...) {
    static char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return text;
}

static int carry_on(void **state) {
    (void)state;
    return lido_options_set("on_misuse=continue");
}

static void assert_says(const char *caught, const char *expected) { assert_string_equal(caught, expected); }

// Kinds whose free looks at the block. A local pool's is inline and does not.
static bool looks_at_blocks(const pool_kind *kind) { return kind->threads != LIDO_LOCAL || kind->order == LIDO_FIFO; }

static void not_a_block_of_the_pool(void **state) {
    (void)state;
    int local = 0;
    lido_pool *other = lido_pool_new(&(lido_pool_options){.name = "other", .block_size = 40});
    void *theirs = lido_pool_alloc(other), *block_of_libc = malloc(100), *block_of_lido = lido_malloc(100),
         *large = lido_malloc(100000);
    void *const wrong[] = {theirs, &local, block_of_libc, block_of_lido, large, (void *)(uintptr_t)12345, other};
    for (size_t k = 0; k < POOL_KINDS; k++) {
        if (!looks_at_blocks(&pool_kinds[k])) continue;
        lido_pool *pool = pool_of_kind(&pool_kinds[k], 40, 0, pool_kinds[k].capacity);
        void *block = lido_pool_alloc(pool);
        for (size_t i = 0; i < COUNT_OF(wrong); i++) {
            unit_catch_begin();
            lido_pool_free(pool, wrong[i]);
            assert_says(unit_catch_end(),
                        line("lido: lido_pool_free(%p): not a block of pool '%s'\n", wrong[i], pool_kinds[k].name));
        }
        assert_int_equal(lido_pool_stats(pool).live, 1);
        lido_pool_free(pool, NULL);
        lido_pool_free(pool, block);
        assert_int_equal(lido_pool_stats(pool).live, 0);
        lido_pool_destroy(pool);
    }
    assert_int_equal(lido_pool_stats(other).live, 1);
    lido_pool_free(other, theirs);
    lido_pool_destroy(other);
    free(block_of_libc);
    lido_free(block_of_lido);
    lido_free(large);
}

static void inside_a_block(void **state) {
    (void)state;
    for (size_t k = 0; k < POOL_KINDS; k++) {
        if (!looks_at_blocks(&pool_kinds[k])) continue;
        for (size_t size = 40; size <= 12000; size = size * 17 + 8) {
            lido_pool *pool = pool_of_kind(&pool_kinds[k], size, 0, pool_kinds[k].capacity);
            char *first = lido_pool_alloc(pool), *block = lido_pool_alloc(pool);
            for (size_t offset = 8; offset < size; offset += 8 + size / 20 * 8) {
                unit_catch_begin();
                lido_pool_free(pool, block + offset);
                assert_says(
                    unit_catch_end(),
                    line("lido: lido_pool_free(%p): inside a block of pool '%s', %zu bytes after its start at %p\n",
                         (void *)(block + offset), pool_kinds[k].name, offset, (void *)block));
            }
            assert_int_equal(lido_pool_stats(pool).live, 2);
            lido_pool_free(pool, first);
            lido_pool_free(pool, block);
            lido_pool_destroy(pool);
        }
    }
}

// The tail of a slice is shorter than a block: nothing was ever handed out there, though it is a multiple of the size.
static void behind_the_last_block(void **state) {
    (void)state;
    for (size_t k = 0; k < POOL_KINDS; k++) {
        if (pool_kinds[k].threads != LIDO_CONFINED && pool_kinds[k].order != LIDO_FIFO)
            continue;    // bins see it later
        lido_pool *pool = pool_of_kind(&pool_kinds[k], 48, 0, 0);
        char *block = lido_pool_alloc(pool), *slab = (char *)((uintptr_t)block & ~(uintptr_t)65535);
        void *tail = slab + (size_t)1365 * 48;
        unit_catch_begin();
        lido_pool_free(pool, tail);
        assert_says(unit_catch_end(), line("lido: lido_pool_free(%p): behind the last block of a slab of pool '%s'; "
                                           "nothing was ever allocated there\n",
                                           tail, pool_kinds[k].name));
        assert_int_equal(lido_pool_stats(pool).live, 1);
        lido_pool_free(pool, block);
        lido_pool_destroy(pool);
    }
}

static void nothing_is_alive(void **state) {
    (void)state;
    for (size_t k = 0; k < POOL_KINDS; k++) {
        const pool_kind *kind = &pool_kinds[k];
        if (kind->threads != LIDO_CONFINED && kind->order != LIDO_FIFO) continue;
        lido_pool *pool = pool_of_kind(kind, 40, 0, kind->capacity);
        void *block = lido_pool_alloc(pool);
        lido_pool_free(pool, block);
        unit_catch_begin();
        lido_pool_free(pool, block);
        assert_says(unit_catch_end(),
                    line("lido: free(%p): double free: no block of pool '%s' is alive\n", block, kind->name));
        assert_int_equal(lido_pool_stats(pool).live, 0);
        lido_pool_destroy(pool);
    }
}

// --- double frees that are seen later -------------------------------------------------------------------------------

static lido_pool *ring_pool;

// The free list of the pool is a ring now.
static void *make_ring(const pool_kind *kind) {
    void *blocks[5];
    ring_pool = pool_of_kind(kind, 40, 0, kind->capacity);
    for (size_t i = 0; i < 5; i++) blocks[i] = lido_pool_alloc(ring_pool);
    for (size_t i = 0; i < 4; i++) lido_pool_free(ring_pool, blocks[i]);
    lido_pool_free(ring_pool, blocks[1]);
    fprintf(stderr, "lido: free(%p): double free of a block of 40 bytes\n", blocks[1]);
    alarm(20);    // an endless walk is a failure too
    return blocks[1];
}

static void ring_and_trim(void *argument) {
    make_ring((const pool_kind *)argument);
    lido_pool_trim(ring_pool);
}
static void ring_and_reset(void *argument) {
    make_ring((const pool_kind *)argument);
    lido_pool_reset(ring_pool);
}
static bool visit_nothing(void *block, void *context) {
    (void)block;
    (void)context;
    return false;
}
static void ring_and_visit(void *argument) {
    make_ring((const pool_kind *)argument);
    lido_pool_visit_live(ring_pool, visit_nothing, NULL);
}

// The block itself is named once what is free goes back into the slabs.
static void double_free_is_seen_in_the_slabs(void **state) {
    (void)state;
    static void (*const actions[])(void *) = {ring_and_trim, ring_and_reset, ring_and_visit};
    for (size_t k = 0; k < POOL_KINDS; k++) {
        const pool_kind *kind = &pool_kinds[k];
        if (kind->order == LIDO_FIFO || kind->capacity == 200)
            continue;    // a queue loses blocks; a small capacity has no lists
        for (size_t i = 0; i < COUNT_OF(actions); i++) {
            unit_child child = unit_fork(actions[i], (void *)(uintptr_t)kind);
            unit_assert_done(&child);
            char *end = strchr(child.text, '\n');
            assert_non_null(end);
            assert_string_equal(end + 1,
                                line("%.*s\n", (int)(end - child.text), child.text));    // the line that was foretold
        }
        lido_options_set("on_misuse=abort");
        unit_child child = unit_fork(ring_and_trim, (void *)(uintptr_t)kind);
        unit_assert_aborted(&child);
        lido_options_set("on_misuse=continue");
    }
}

static void ring_and_stats(void *argument) {
    make_ring((const pool_kind *)argument);
    lido_pool_stats(ring_pool);
}
static void ring_and_destroy(void *argument) {
    make_ring((const pool_kind *)argument);
    lido_pool_destroy(ring_pool);
}

static void double_free_in_a_local_pool_ends_every_walk(void **state) {
    (void)state;
    static void (*const actions[])(void *) = {ring_and_stats, ring_and_destroy};
    for (size_t i = 0; i < COUNT_OF(actions); i++) {
        unit_child child = unit_fork(actions[i], (void *)(uintptr_t)&pool_kinds[0]);
        unit_assert_done(&child);
        char *second = strchr(child.text, '\n') + 1;
        assert_string_equal(second,
                            "lido: pool 'local': a block was freed twice: the list of its free blocks has no end\n");
    }
}

// --- confined pools -------------------------------------------------------------------------------------------------

typedef struct wrong_thread {
    lido_pool *pool;
    void *block, *got;
    uint32_t thread;
    int call, error;
} wrong_thread;

static void call_from_elsewhere(unsigned index, void *argument) {
    (void)index;
    wrong_thread *w = (wrong_thread *)argument;
    w->thread = lido__os_thread_id();
    errno = 0;
    if (w->call == 0) w->got = lido_pool_alloc(w->pool);
    w->error = errno;
    if (w->call == 1) lido_pool_free(w->pool, w->block);
    if (w->call == 2) lido_free(w->block);
}

static void confined_to_its_thread(void **state) {
    (void)state;
    for (unsigned order = LIDO_LIFO; order <= LIDO_FIFO; order++) {
        wrong_thread w = {.got = &w};
        w.pool = lido_pool_new(&(lido_pool_options){
            .name = "mine", .block_size = 40, .threads = LIDO_CONFINED, .order = (lido_order)order});
        w.block = lido_pool_alloc(w.pool);
        for (w.call = 0; w.call <= 2; w.call++) {
            unit_catch_begin();
            unit_threads(1, call_from_elsewhere, &w);
            assert_says(unit_catch_end(),
                        line("lido: %s: pool 'mine' is confined to thread %u and was called from thread %u\n",
                             w.call == 0 ? "lido_pool_alloc" : "lido_pool_free", (unsigned)lido__os_thread_id(),
                             (unsigned)w.thread));
            if (w.call == 0) assert_int_not_equal(w.error, 0);    // a refusal says why
            assert_null(w.got);
            assert_int_equal(lido_pool_stats(w.pool).live, 1);
        }
        lido_pool_free(w.pool, w.block);
        lido_pool_destroy(w.pool);
    }
}

// --- destruction ----------------------------------------------------------------------------------------------------

static void destroyed_with_live_blocks(void **state) {
    (void)state;
    for (size_t k = 0; k < POOL_KINDS; k++) {
        size_t used = lido__segments_totals().used_bytes;
        lido_pool *pool = pool_of_kind(&pool_kinds[k], 40, 0, pool_kinds[k].capacity);
        void *blocks[150];
        assert_int_equal(lido_pool_alloc_bulk(pool, blocks, 150), 0);
        lido_pool_free_bulk(pool, blocks, 50);
        unit_catch_begin();
        lido_pool_destroy(pool);
        assert_says(unit_catch_end(), line("lido: lido_pool_destroy: pool '%s': 100 blocks of 40 bytes are still "
                                           "alive; their memory is freed too\n",
                                           pool_kinds[k].name));
        if (k > 0)
            assert_true(lido__segments_totals().used_bytes <= used + 65536);    // at most a slab of pool structures
        pool = pool_of_kind(&pool_kinds[k], 40, 0, pool_kinds[k].capacity);
        lido_pool_free(pool, lido_pool_alloc(pool));
        unit_catch_begin();
        lido_pool_destroy(pool);
        assert_says(unit_catch_end(), "");
    }
}

static void free_foreign(void *argument) {
    lido_pool *pool = lido_pool_new(&(lido_pool_options){.name = "p", .block_size = 40, .threads = LIDO_SHARED});
    lido_pool_free(pool, argument);
}

static void misuse_aborts(void **state) {
    (void)state;
    lido_options_set("on_misuse=abort");
    unit_child child = unit_fork(free_foreign, &child);
    unit_assert_aborted(&child);
    assert_says(child.text, line("lido: lido_pool_free(%p): not a block of pool 'p'\n", (void *)&child));
}

int main(void) {
#define CASE(name) cmocka_unit_test_setup(name, carry_on)
    const struct CMUnitTest tests[] = {
        CASE(not_a_block_of_the_pool),
        CASE(inside_a_block),
        CASE(behind_the_last_block),
        CASE(nothing_is_alive),
        CASE(double_free_is_seen_in_the_slabs),
        CASE(double_free_in_a_local_pool_ends_every_walk),
        CASE(confined_to_its_thread),
        CASE(destroyed_with_live_blocks),
        CASE(misuse_aborts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
