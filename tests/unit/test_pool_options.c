// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// What lido_pool_new accepts and refuses, names, rounding, the alignment of every block, exact capacities of every kind, the
// number of shared pools, and LIDO_POOL_DEFINE.
#include "pool_kinds.h"

#include "pool/thread.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

enum { ODD_ERRNO = 12345 };

static void count_pool(lido_pool *pool, void *context) {
    (void)pool;
    ++*(size_t *)context;
}

static size_t pool_count(void) {
    size_t count = 0;
    lido__registry_each(count_pool, &count);
    return count;
}

// --- options --------------------------------------------------------------------------------------------------------

static void bad_options(void **state) {
    (void)state;
    static const lido_pool_options bad[] = {
        {.block_size = 0},
        {.block_size = LIDO_POOL_BLOCK_SIZE_MAX + 1},
        {.block_size = SIZE_MAX},
        {.block_size = SIZE_MAX - 7},
        {.block_size = 64, .alignment = 3},
        {.block_size = 64, .alignment = 24},
        {.block_size = 64, .alignment = 2 * LIDO_POOL_ALIGNMENT_MAX},
        {.block_size = 64, .alignment = LIDO_POOL_ALIGNMENT_MAX + 1},
        {.block_size = 64, .alignment = SIZE_MAX},
        {.block_size = 64, .alignment = SIZE_MAX / 2 + 1},
        {.block_size = 64, .threads = (lido_threads)3},
        {.block_size = 64, .threads = (lido_threads)-1},
        {.block_size = 64, .threads = (lido_threads)256},
        {.block_size = 64, .order = (lido_order)2},
        {.block_size = 64, .order = (lido_order)-1},
        {.block_size = 64, .capacity = 10, .prewarm = 11},
        {.block_size = 64, .capacity = 1, .prewarm = SIZE_MAX},
    };
    lido_pool_destroy(lido_pool_new(&(lido_pool_options){.block_size = 64}));    // the pool of pools is there now
    size_t before = pool_count();
    errno = 0;
    assert_null(lido_pool_new(NULL));
    assert_int_equal(errno, EINVAL);
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        errno = 0;
        assert_null(lido_pool_new(&bad[i]));
        assert_int_equal(errno, EINVAL);
        assert_int_equal(pool_count(), before);
    }
}

static void good_options(void **state) {
    (void)state;
    static const lido_pool_options good[] = {
        {.block_size = 1},
        {.block_size = LIDO_POOL_BLOCK_SIZE_MAX},
        {.block_size = LIDO_POOL_BLOCK_SIZE_MAX, .alignment = LIDO_POOL_ALIGNMENT_MAX},
        {.block_size = LIDO_POOL_BLOCK_SIZE_MAX - 1, .alignment = LIDO_POOL_ALIGNMENT_MAX},
        {.block_size = 1, .alignment = LIDO_POOL_ALIGNMENT_MAX, .threads = LIDO_SHARED},
        {.block_size = 64, .capacity = 10, .prewarm = 10},
        {.block_size = 64, .capacity = SIZE_MAX},
        {.block_size = 64, .capacity = SIZE_MAX, .threads = LIDO_SHARED},
        {.block_size = 64, .growth = 1},
        {.block_size = 64, .growth = SIZE_MAX},
        {.block_size = 1, .growth = SIZE_MAX, .threads = LIDO_SHARED},
        {.block_size = 64, .growth = 1000, .capacity = 5},
        {.block_size = 8, .growth = 100000, .threads = LIDO_SHARED, .order = LIDO_FIFO},
        {.block_size = 64, .threads = LIDO_CONFINED, .order = LIDO_FIFO, .prewarm = 100},
    };
    for (size_t i = 0; i < COUNT_OF(good); i++) {
        errno = ODD_ERRNO;
        lido_pool *pool = lido_pool_new(&good[i]);
        assert_non_null(pool);
        char *block = lido_pool_alloc(pool);
        assert_non_null(block);
        block[0] = block[good[i].block_size - 1] = 1;
        lido_pool_free(pool, block);
        lido_pool_destroy(pool);
        assert_int_equal(errno, ODD_ERRNO);    // success leaves it alone
    }
    lido_pool_destroy(NULL);
}

static void growth_is_the_least(void **state) {
    (void)state;
    static const size_t sizes[] = {8, 16, 48, 1000, 10000};
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        for (size_t growth = 1; growth * sizes[i] <= 4 << 20; growth = growth * 3 + 1) {
            lido_pool *pool = lido_pool_new(&(lido_pool_options){.block_size = sizes[i], .growth = growth});
            for (size_t j = 0; j < growth; j++) assert_non_null(lido_pool_alloc(pool));
            lido_pool_statistics now = lido_pool_stats(pool);
            assert_int_equal(now.slab_count, 1);
            assert_true(now.held_bytes >= growth * sizes[i]);
            lido_pool_reset(pool);
            lido_pool_destroy(pool);
        }
    }
}

static void names(void **state) {
    (void)state;
    static const char digits[] = "0123456789012345678901234567890123456789";
    for (size_t length = 0; length < sizeof digits; length++) {
        char name[64], expected[64];
        snprintf(name, sizeof name, "%.*s", (int)length, digits);
        snprintf(expected, sizeof expected, "%.*s", (int)(length < LIDO_POOL_NAME_MAX ? length : LIDO_POOL_NAME_MAX),
                 digits);
        lido_pool *pool = lido_pool_new(&(lido_pool_options){.name = name, .block_size = 64});
        memset(name, '#', sizeof name);    // it was copied
        assert_string_equal(lido_pool_name(pool), expected);
        lido_pool_destroy(pool);
    }
    lido_pool *pool = lido_pool_new(&(lido_pool_options){.block_size = 64});
    assert_string_equal(lido_pool_name(pool), "pool");
    lido_pool_destroy(pool);
}

// --- size and alignment ---------------------------------------------------------------------------------------------

static void natural_alignment(void **state) {
    (void)state;
    static const struct {
        size_t size, alignment, rounded;
    } cases[] = {{1, 8, 8},       {7, 8, 8},
                 {8, 8, 8},       {9, 8, 16},
                 {12, 8, 16},     {16, 16, 16},
                 {24, 8, 24},     {48, 16, 48},
                 {56, 8, 56},     {64, 16, 64},
                 {100, 8, 104},   {4096, 16, 4096},
                 {4100, 8, 4104}, {1 << 20, 16, 1 << 20}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        lido_pool *pool = lido_pool_new(&(lido_pool_options){.block_size = cases[i].size});
        lido_pool_statistics now = lido_pool_stats(pool);
        assert_int_equal(now.alignment, cases[i].alignment);
        assert_int_equal(now.block_size, cases[i].rounded);
        assert_int_equal(lido_pool_block_size(pool), cases[i].rounded);
        for (int j = 0; j < 50; j++) assert_int_equal((uintptr_t)lido_pool_alloc(pool) % cases[i].alignment, 0);
        lido_pool_reset(pool);
        lido_pool_destroy(pool);
    }
}

static int by_address(const void *a, const void *b) {
    uintptr_t x = *(const uintptr_t *)a, y = *(const uintptr_t *)b;
    return (x > y) - (x < y);
}

static void check_aligned_pool(const pool_kind *kind, size_t size, size_t alignment) {
    enum { MOST = 300 };
    uintptr_t blocks[MOST];
    lido_pool *pool = pool_of_kind(kind, size, alignment, kind->capacity);
    size_t bytes = lido_pool_block_size(pool), count = (8 << 20) / bytes;
    count = count > MOST ? MOST : count < 3 ? 3 : count;
    if (kind->capacity != 0 && count > kind->capacity) count = kind->capacity;
    assert_int_equal(bytes, lido__round_up(size, alignment < 8 ? 8 : alignment));
    assert_int_equal(lido_pool_stats(pool).alignment, alignment);
    for (size_t i = 0; i < count; i++) {
        char *block = lido_pool_alloc(pool);
        assert_non_null(block);
        assert_int_equal((uintptr_t)block % alignment, 0);
        block[0] = block[size - 1] = 1;
        blocks[i] = (uintptr_t)block;
    }
    qsort(blocks, count, sizeof *blocks, by_address);
    for (size_t i = 1; i < count; i++) assert_true(blocks[i] - blocks[i - 1] >= bytes);    // apart
    lido_pool_reset(pool);
    lido_pool_destroy(pool);
}

static void every_block_is_aligned(void **state) {
    (void)state;
    for (size_t k = 0; k < POOL_KINDS; k += UNIT_SANITIZED ? 3 : 1) {
        for (size_t alignment = 1; alignment <= LIDO_POOL_ALIGNMENT_MAX; alignment *= 2) {
            size_t sizes[] = {
                1, 7, 40, 100, alignment - 1, alignment, alignment + 1, 3 * alignment, 5 * alignment / 2, 9000};
            for (size_t i = 0; i < COUNT_OF(sizes); i++) {
                if (sizes[i] >= 1) check_aligned_pool(&pool_kinds[k], sizes[i], alignment);
            }
        }
    }
}

// --- capacity -------------------------------------------------------------------------------------------------------

static void expect_full(lido_pool *pool, size_t capacity) {
    for (int i = 0; i < 3; i++) {
        errno = 0;
        assert_null(lido_pool_alloc(pool));
        assert_int_equal(errno, ENOMEM);
    }
    lido_pool_statistics now = lido_pool_stats(pool);
    assert_int_equal(now.live, capacity);
    assert_int_equal(now.high_water, capacity);
    assert_int_equal(now.capacity, capacity);
}

static void check_capacity(const pool_kind *kind, size_t capacity) {
    static void *blocks[5000];
    lido_pool *pool = pool_of_kind(kind, 40, 0, capacity);
    for (int round = 0; round < 5; round++) {
        for (size_t i = 0; i < capacity; i++) assert_non_null(blocks[i] = lido_pool_alloc(pool));
        expect_full(pool, capacity);
        for (size_t i = 0; i < capacity; i += 1 + capacity / 10) {    // one back, one out
            lido_pool_free(pool, blocks[i]);
            assert_int_equal(lido_pool_stats(pool).live, capacity - 1);
            assert_non_null(blocks[i] = lido_pool_alloc(pool));
            expect_full(pool, capacity);
        }
        for (size_t i = 0; i < capacity; i++) lido_pool_free(pool, blocks[i]);
        assert_int_equal(lido_pool_stats(pool).live, 0);
        if (round == 1) lido_pool_trim(pool);
        if (round == 2) lido_pool_reset(pool);
        if (round == 3) lido_pool_free_all(pool);
    }
    lido_pool_destroy(pool);
}

static void capacity_is_exact(void **state) {
    (void)state;
    static const size_t capacities[] = {1, 2, 15, 16, 17, 255, 256, 257, 1000, 5000};
    for (size_t k = 0; k < POOL_KINDS; k++) {
        for (size_t i = 0; i < COUNT_OF(capacities); i++) check_capacity(&pool_kinds[k], capacities[i]);
    }
}

// --- number of pools ------------------------------------------------------------------------------------------------

static void as_many_shared_pools_as_bins(void **state) {
    (void)state;
    enum { MOST = LIDO__BIN_COUNT - LIDO__POOL_FIRST_BIN };
    static lido_pool *pools[MOST + 1];
    const lido_pool_options options = {.name = "many", .block_size = 64, .threads = LIDO_SHARED};
    assert_true(MOST >= 1600);
    for (int round = 0; round < 2; round++) {
        size_t before = pool_count();
        for (size_t i = 0; i < MOST; i++) assert_non_null(pools[i] = lido_pool_new(&options));
        errno = 0;
        assert_null(lido_pool_new(&options));
        assert_int_equal(errno, ENOMEM);
        assert_int_equal(pool_count(), before + MOST);
        lido_pool *local = lido_pool_new(&(lido_pool_options){.block_size = 64});    // other kinds need no bin
        assert_non_null(local);
        lido_pool_destroy(local);
        for (size_t i = 0; i < MOST; i += 100) {    // first and last bins work, and belong to the right pool
            void *block = lido_pool_alloc(pools[MOST - 1 - i]);
            assert_ptr_equal(lido_pool_of(block), pools[MOST - 1 - i]);
            lido_pool_free(pools[MOST - 1 - i], block);
        }
        lido_pool_destroy(pools[700]);
        assert_non_null(pools[700] = lido_pool_new(&options));    // the free one is found
        assert_null(lido_pool_new(&options));
        for (size_t i = 0; i < MOST; i++) lido_pool_destroy(pools[i]);
        assert_int_equal(pool_count(), before);
    }
}

// --- typed pools ----------------------------------------------------------------------------------------------------

struct task {
    _Alignas(64) char line[64];
    int number;
};
struct tiny {
    char c;
};
LIDO_POOL_DEFINE(task_pool, struct task);
LIDO_POOL_DEFINE(tiny_pool, struct tiny);

static void typed_pools(void **state) {
    (void)state;
    task_pool tasks =
        task_pool_new((lido_pool_options){.threads = LIDO_SHARED, .block_size = 1});    // size is filled in
    assert_non_null(tasks.pool);
    assert_string_equal(lido_pool_name(tasks.pool), "task_pool");
    assert_int_equal(lido_pool_block_size(tasks.pool), sizeof(struct task));
    assert_int_equal(lido_pool_stats(tasks.pool).alignment, 64);
    struct task *task = task_pool_alloc(tasks);
    assert_int_equal((uintptr_t)task % 64, 0);
    task->number = 7;
    task_pool_free(tasks, task);
    task_pool_destroy(tasks);
    tiny_pool tinies = tiny_pool_new((lido_pool_options){.name = "own name", .alignment = 128, .capacity = 1});
    assert_string_equal(lido_pool_name(tinies.pool), "own name");
    assert_int_equal(lido_pool_stats(tinies.pool).alignment, 128);    // more than the type needs
    struct tiny *tiny = tiny_pool_alloc(tinies);
    assert_non_null(tiny);
    assert_null(tiny_pool_alloc(tinies));
    tiny_pool_free(tinies, tiny);
    tiny_pool_destroy(tinies);
    assert_null(tiny_pool_new((lido_pool_options){.alignment = 3}).pool);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_options),         cmocka_unit_test(good_options),
        cmocka_unit_test(growth_is_the_least), cmocka_unit_test(names),
        cmocka_unit_test(natural_alignment),   cmocka_unit_test(every_block_is_aligned),
        cmocka_unit_test(capacity_is_exact),   cmocka_unit_test(as_many_shared_pools_as_bins),
        cmocka_unit_test(typed_pools),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
