// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// What a pool does at its capacity, but for waiting (test_wait.c): exact counts, the callback, growth by steps, capacities in
// bytes, changes of the capacity at run time.
#include "pool_kinds.h"

#include "pool/pool.h"

#include <errno.h>
#include <lido/lido.h>

enum { MOST = 8192 };
static void *blocks[MOST];

static size_t take_all(lido_pool *pool) {
    size_t count = 0;
    while (count < MOST && (blocks[count] = lido_pool_alloc(pool)) != NULL) count++;
    return count;
}

static void give_all(lido_pool *pool, size_t count) {
    for (size_t i = 0; i < count; i++) lido_pool_free(pool, blocks[i]);
}

static void four_and_only_four(void **state) {
    (void)state;
    for (int i = 0; i < POOL_KINDS; i++) {
        lido_pool *pool = pool_of_kind(&pool_kinds[i], 64, 0, 4);
        for (int round = 0; round < 3; round++) {
            errno = 0;
            assert_int_equal(take_all(pool), 4);
            assert_int_equal(errno, ENOMEM);
            lido_pool_free(pool, blocks[2]);    // after one free the next request succeeds, and one only
            blocks[2] = lido_pool_alloc(pool);
            assert_non_null(blocks[2]);
            assert_null(lido_pool_alloc(pool));
            assert_int_equal(lido_pool_stats(pool).live, 4);
            give_all(pool, 4);
        }
        lido_pool_destroy(pool);
    }
}

static void bytes_and_blocks(void **state) {
    (void)state;
    static const struct {
        size_t size, alignment, blocks, bytes, expected;
    } cases[] = {
        {64, 0, 0, 256, 4},  {64, 0, 0, 319, 4}, {60, 0, 0, 256, 4},    // 60 becomes 64
        {48, 64, 0, 200, 3}, {64, 0, 3, 640, 3}, {64, 0, 30, 640, 10}, {64, 0, 0, 64, 1},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        lido_pool *pool = lido_pool_new(&(lido_pool_options){.block_size = cases[i].size,
                                                             .alignment = cases[i].alignment,
                                                             .capacity = cases[i].blocks,
                                                             .capacity_bytes = cases[i].bytes,
                                                             .threads = i % 2 == 0 ? LIDO_LOCAL : LIDO_SHARED});
        assert_non_null(pool);
        assert_int_equal(lido_pool_stats(pool).capacity, cases[i].expected);
        assert_int_equal(take_all(pool), cases[i].expected);
        give_all(pool, cases[i].expected);
        lido_pool_destroy(pool);
    }
}

static bool refuse(lido_pool *pool, size_t attempt, void *context) {
    (void)pool, (void)attempt, (void)context;
    return false;
}

static void refused_options(void **state) {
    (void)state;
    const lido_pool_options bad[] = {
        {.block_size = 64, .capacity_bytes = 63},         // not one block
        {.block_size = 64, .on_exhausted = LIDO_GROW},    // no capacity to grow
        {.block_size = 64, .on_exhausted = LIDO_CALL, .exhausted = refuse},
        {.block_size = 64, .capacity = 4, .on_exhausted = LIDO_CALL},    // nothing to call
        {.block_size = 64, .capacity = 4, .on_exhausted = LIDO_WAIT},    // local: who would free?
        {.block_size = 64, .capacity = 4, .on_exhausted = LIDO_WAIT, .threads = LIDO_CONFINED},
        {.block_size = 64, .threads = LIDO_SHARED, .on_exhausted = LIDO_WAIT},
        {.block_size = 64, .capacity = 4, .on_exhausted = (lido_on_exhausted)4},
        {.block_size = 64, .growth = 10, .growth_max = 9},
        {.block_size = 64, .capacity_bytes = 256, .prewarm = 5},
    };
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        errno = 0;
        assert_null(lido_pool_new(&bad[i]));
        assert_int_equal(errno, EINVAL);
    }
    errno = 0;
    assert_null(lido_pool_new(NULL));
    assert_int_equal(errno, EINVAL);
}

// --- the callback ---------------------------------------------------------------------------------------------------

typedef struct helper {
    int calls, free_at, raise_at, give_up_at;
    size_t attempt_seen;
} helper;

static bool help(lido_pool *pool, size_t attempt, void *context) {
    helper *h = (helper *)context;
    h->calls++;
    h->attempt_seen = attempt;
    errno = EPROTO;    // a success of the allocation hides it
    if (h->calls == h->free_at) lido_pool_free(pool, blocks[0]);
    if (h->calls == h->raise_at) assert_int_equal(lido_pool_set_capacity(pool, lido_pool_stats(pool).capacity + 2), 0);
    return h->calls < h->give_up_at;
}

static void callback(void **state) {
    (void)state;
    for (int i = 0; i < POOL_KINDS; i++) {
        helper h = {.free_at = 1, .give_up_at = 100, .raise_at = 3};
        lido_pool *pool = lido_pool_new(&(lido_pool_options){.block_size = 40,
                                                             .threads = pool_kinds[i].threads,
                                                             .order = pool_kinds[i].order,
                                                             .capacity = 4,
                                                             .on_exhausted = LIDO_CALL,
                                                             .exhausted = help,
                                                             .exhausted_context = &h});
        assert_non_null(pool);
        errno = 0;
        for (int k = 0; k < 4; k++) assert_non_null(blocks[k] = lido_pool_alloc(pool));
        assert_int_equal(h.calls, 0);
        assert_non_null(blocks[0] = lido_pool_alloc(pool));    // the first call frees
        assert_int_equal(h.calls, 1);
        assert_non_null(blocks[4] = lido_pool_alloc(pool));    // the second does nothing, the third raises
        assert_int_equal(h.calls, 3);
        assert_int_equal(h.attempt_seen, 2);
        assert_non_null(blocks[5] = lido_pool_alloc(pool));
        assert_int_equal(h.calls, 3);
        assert_int_equal(errno, 0);
        h.give_up_at = 5;
        assert_null(lido_pool_alloc(pool));    // the fourth says "again", the fifth gives up
        assert_int_equal(errno, ENOMEM);
        assert_int_equal(h.calls, 5);
        assert_int_equal(lido_pool_stats(pool).live, 6);
        void *more[2];
        assert_int_equal(lido_pool_alloc_bulk(pool, more, 2), -1);
        give_all(pool, 6);
        lido_pool_destroy(pool);
    }
}

// --- growth ---------------------------------------------------------------------------------------------------------

static lido_pool *growing(const pool_kind *kind, size_t growth, size_t growth_max) {
    lido_pool *pool = lido_pool_new(&(lido_pool_options){.block_size = 64,
                                                         .threads = kind->threads,
                                                         .order = kind->order,
                                                         .capacity = 4,
                                                         .growth = growth,
                                                         .growth_max = growth_max,
                                                         .on_exhausted = LIDO_GROW});
    assert_non_null(pool);
    return pool;
}

// The capacities that the pool goes through while `count` blocks are allocated.
static void check_steps(lido_pool *pool, size_t count, const size_t *expected) {
    size_t seen = 0;
    for (size_t i = 0, last = 0; i < count; i++) {
        assert_non_null(blocks[i] = lido_pool_alloc(pool));
        size_t capacity = lido_pool_stats(pool).capacity;
        if (capacity == last) continue;
        assert_int_equal(i, last);    // not before it is full
        assert_int_equal(capacity, expected[seen++]);
        last = capacity;
    }
    assert_int_equal(expected[seen], 0);
}

static void growth_by_steps(void **state) {
    (void)state;
    static const size_t fixed[] = {4, 9, 14, 19, 24, 0}, doubling[] = {4, 8, 16, 32, 48, 64, 0};
    for (int i = 0; i < POOL_KINDS; i++) {
        lido_pool *pool = growing(&pool_kinds[i], 5, 0);
        check_steps(pool, 24, fixed);
        give_all(pool, 24);
        lido_pool_destroy(pool);
        pool = growing(&pool_kinds[i], 2, 16);
        for (int cycle = 0; cycle < 5; cycle++) {    // each cycle starts with the small step
            check_steps(pool, 64, doubling);
            give_all(pool, 64);
            if (cycle % 2 == 0)
                lido_pool_trim(pool);
            else
                lido_pool_free_all(pool);
            assert_int_equal(lido_pool_stats(pool).capacity, 4);
        }
        check_steps(pool, 40, (const size_t[]){4, 8, 16, 32, 48, 0});
        lido_pool_trim(pool);    // 40 are alive
        assert_int_equal(lido_pool_stats(pool).capacity, 40);
        give_all(pool, 40);
        lido_pool_destroy(pool);
        pool = growing(&pool_kinds[i], 0, 0);    // a slab of 64 KiB
        assert_int_equal(take_all(pool), MOST);
        assert_int_equal(lido_pool_stats(pool).capacity, 4 + 8 * 1024);
        give_all(pool, MOST);
        lido_pool_destroy(pool);
    }
}

// Memory: what a pool holds when it needs one more block than fits, in slabs of 1,024 blocks.
static void check_slabs(lido_pool *pool, const size_t *expected) {
    size_t count = 0;
    for (; *expected != 0; expected++) {
        assert_non_null(blocks[count++] = lido_pool_alloc(pool));
        size_t slabs = lido_pool_stats(pool).slab_count;
        assert_int_equal(slabs, *expected);
        while (count < slabs * 1024) assert_non_null(blocks[count++] = lido_pool_alloc(pool));
        assert_int_equal(lido_pool_stats(pool).slab_count, *expected);
    }
    give_all(pool, count);
}

static void memory_by_steps(void **state) {
    (void)state;
    static const size_t single[] = {1, 2, 3, 4, 0}, doubling[] = {1, 2, 4, 7, 0}, bounded[] = {1, 2, 4, 5, 0};
    lido_pool *pool = lido_pool_new(&(lido_pool_options){.block_size = 64});
    check_slabs(pool, single);
    lido_pool_destroy(pool);
    pool = lido_pool_new(&(lido_pool_options){.block_size = 64, .growth_max = 3 * 1024 + 1023});
    for (int cycle = 0; cycle < 3; cycle++) {
        check_slabs(pool, doubling);
        lido_pool_trim(pool);
        assert_int_equal(lido_pool_stats(pool).slab_count, 0);
    }
    lido_pool_destroy(pool);
    // no more than the capacity can use
    pool = lido_pool_new(&(lido_pool_options){.block_size = 64, .growth_max = 1 << 20, .capacity = 5 * 1024});
    check_slabs(pool, bounded);
    assert_int_equal(take_all(pool), 5 * 1024);
    give_all(pool, 5 * 1024);
    lido_pool_destroy(pool);
}

// --- the capacity changes -------------------------------------------------------------------------------------------

static void change(void **state) {
    (void)state;
    for (int i = 0; i < POOL_KINDS; i++) {
        size_t first = pool_kinds[i].capacity >= 3000 ? 3000 : 4, live = first / 2;
        lido_pool *pool = pool_of_kind(&pool_kinds[i], 32, 0, first);
        assert_int_equal(take_all(pool), first);
        give_all(pool, first);    // free blocks lie in faces, bins, stocks
        for (size_t k = 0; k < live; k++) assert_non_null(blocks[k] = lido_pool_alloc(pool));
        errno = 0;
        assert_int_equal(lido_pool_set_capacity(pool, live - 1), -1);
        assert_int_equal(errno, EBUSY);
        errno = 0;
        assert_int_equal(lido_pool_set_capacity(pool, live + 1), 0);
        assert_non_null(blocks[live] = lido_pool_alloc(pool));
        assert_null(lido_pool_alloc(pool));
        lido_pool_free(pool, blocks[0]);
        assert_non_null(blocks[0] = lido_pool_alloc(pool));
        assert_null(lido_pool_alloc(pool));
        give_all(pool, live + 1);
        assert_int_equal(take_all(pool), live + 1);
        assert_int_equal(lido_pool_set_capacity(pool, 5000), 0);
        give_all(pool, live + 1);
        assert_int_equal(take_all(pool), 5000);
        give_all(pool, 5000);
        assert_int_equal(lido_pool_set_capacity(pool, 1), 0);
        assert_int_equal(take_all(pool), 1);
        give_all(pool, 1);
        errno = 0;
        assert_int_equal(lido_pool_set_capacity(pool, 0), -1);
        assert_int_equal(errno, EINVAL);
        lido_pool_destroy(pool);
    }
    lido_pool *unbounded = lido_pool_new(&(lido_pool_options){.block_size = 32, .threads = LIDO_SHARED});
    errno = 0;
    assert_int_equal(lido_pool_set_capacity(unbounded, 10), -1);
    assert_int_equal(errno, EINVAL);
    lido_pool_destroy(unbounded);
}

// --- threads --------------------------------------------------------------------------------------------------------

typedef struct crowd {
    lido_pool *pool;
    _Atomic size_t got;
    _Atomic int calls;
    void *kept[8][MOST];
    size_t count[8];
} crowd;
static crowd the_crowd;

static void take_until_full(unsigned index, void *argument) {
    crowd *c = (crowd *)argument;
    void *block;
    // what a thread frees stays in its bin, and must still count as free for all others
    for (int i = 0; i < 3000 && (block = lido_pool_alloc(c->pool)) != NULL; i++)
        c->kept[index][c->count[index]++] = block;
    while (c->count[index] > 10) lido_pool_free(c->pool, c->kept[index][--c->count[index]]);
    while (c->count[index] < MOST && (block = lido_pool_alloc(c->pool)) != NULL)
        c->kept[index][c->count[index]++] = block;
    c->got += c->count[index];
}

static bool raise_by_hundred(lido_pool *pool, size_t attempt, void *context) {
    (void)attempt;
    crowd *c = (crowd *)context;
    if (c->calls++ >= 10) return false;
    return lido_pool_set_capacity(pool, lido_pool_stats(pool).capacity + 100) == 0;
}

static void eight_threads(void **state) {
    (void)state;
    static const size_t capacities[] = {4, 100, 256, 1000, 3000};
    for (size_t i = 0; i < COUNT_OF(capacities); i++) {
        for (int fifo = 0; fifo < 2; fifo++) {
            crowd *c = &the_crowd;
            memset(c->count, 0, sizeof c->count);
            c->got = 0;
            c->pool = lido_pool_new(&(lido_pool_options){
                .block_size = 24, .threads = LIDO_SHARED, .order = (lido_order)fifo, .capacity = capacities[i]});
            unit_threads(8, take_until_full, c);
            // the last thread to stop found nothing, so everything is out
            assert_int_equal(lido_pool_stats(c->pool).live, c->got);
            while (lido_pool_alloc(c->pool) != NULL) c->got++;
            assert_int_equal(c->got, capacities[i]);
            lido_pool_reset(c->pool);
            lido_pool_destroy(c->pool);
        }
    }
}

static void eight_threads_and_a_callback(void **state) {
    (void)state;
    crowd *c = &the_crowd;
    memset(c->count, 0, sizeof c->count);
    c->got = 0;
    c->calls = 0;
    c->pool = lido_pool_new(&(lido_pool_options){.block_size = 24,
                                                 .threads = LIDO_SHARED,
                                                 .capacity = 300,
                                                 .on_exhausted = LIDO_CALL,
                                                 .exhausted = raise_by_hundred,
                                                 .exhausted_context = c});
    unit_threads(8, take_until_full, c);
    assert_true(c->calls >= 10);
    size_t capacity = lido_pool_stats(c->pool).capacity;
    assert_true(capacity > 300 && capacity <= 1300);
    while (lido_pool_alloc(c->pool) != NULL) c->got++;
    assert_int_equal(c->got, capacity);
    lido_pool_reset(c->pool);
    lido_pool_destroy(c->pool);
}

static void grow_together(unsigned index, void *argument) {
    crowd *c = (crowd *)argument;
    for (size_t i = 0; i < 1000; i++) UNIT_CHECK((c->kept[index][i] = lido_pool_alloc(c->pool)) != NULL);
    for (size_t i = 0; i < 1000; i++) *(uint64_t *)c->kept[index][i] = i;
}

// Eight threads that find the pool full at one moment make one step.
static void eight_threads_grow(void **state) {
    (void)state;
    for (int fifo = 0; fifo < 2; fifo++) {
        crowd *c = &the_crowd;
        c->pool = lido_pool_new(&(lido_pool_options){.block_size = 24,
                                                     .threads = LIDO_SHARED,
                                                     .order = (lido_order)fifo,
                                                     .capacity = 1000,
                                                     .growth = 100,
                                                     .on_exhausted = LIDO_GROW});
        unit_threads(8, grow_together, c);
        lido_pool_statistics s = lido_pool_stats(c->pool);
        assert_int_equal(s.live, 8000);
        assert_true(s.capacity >= 8000 && s.capacity < 8000 + 100);
        lido_pool_reset(c->pool);
        lido_pool_destroy(c->pool);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(four_and_only_four),
        cmocka_unit_test(bytes_and_blocks),
        cmocka_unit_test(refused_options),
        cmocka_unit_test(callback),
        cmocka_unit_test(growth_by_steps),
        cmocka_unit_test(memory_by_steps),
        cmocka_unit_test(change),
        cmocka_unit_test(eight_threads),
        cmocka_unit_test(eight_threads_and_a_callback),
        cmocka_unit_test(eight_threads_grow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
