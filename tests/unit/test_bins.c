// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// Bins: the check that a free makes by one multiplication, count + room = batch at all times, spares and spills, the depot
// and what does not fit in it, flush and drain, and the ends of threads.
#include "support.h"

#include "os/os.h"
#include "pool/thread.h"

#include <lido/heap.h>
#include <lido/options.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

static lido_pool *shared_pool(size_t block_size) {
    lido_pool *pool =
        lido_pool_new(&(lido_pool_options){.name = "bins", .block_size = block_size, .threads = LIDO_SHARED});
    UNIT_CHECK(pool != NULL && pool->way == LIDO__WAY_BINS);
    return pool;
}

// --- arithmetic -----------------------------------------------------------------------------------------------------

// For every block size and every offset in a slice: the product decides exactly as the remainder does.
static void check_is_the_remainder(void **state) {
    (void)state;
    static _Alignas(65536) char slice[65536 + 16];
    size_t step = UNIT_SANITIZED ? 168 : 8;
    for (size_t bytes = 8; bytes <= 8192; bytes += step) {
        lido_pool *pool = shared_pool(bytes);
        assert_int_equal(pool->slabs.block_bytes, bytes);
        uint32_t check = pool->block_check;
        for (uint32_t offset = 0; offset < 65536; offset++) {
            bool divisible = offset % bytes == 0;
            if (lido__is_multiple(offset, check) != divisible) fail_msg("block size %zu, offset %u", bytes, offset);
        }
        lido__bin bin = {.room = 1, .check = check};
        for (uint32_t offset = 0; offset < 65536; offset += 8) {
            if (lido__bin_push(&bin, slice + offset) != (offset % bytes == 0))
                fail_msg("push: block size %zu, offset %u", bytes, offset);
            bin.room = 1;
        }
        lido_pool_destroy(pool);
    }
    lido_pool *pool = shared_pool(8200);    // slabs of several slices: never by the short way
    assert_int_equal(pool->block_check, 0);
    for (uint32_t offset = 0; offset < 65536; offset++) assert_false(lido__is_multiple(offset, 0));
    lido_pool_destroy(pool);
}

static void counting_down(void **state) {
    (void)state;
    static const uint32_t values[] = {1, 2, 3, 0x7FFFFFFF, 0x80000000, UINT32_MAX};
    for (size_t i = 0; i < COUNT_OF(values); i++) {
        uint32_t room = values[i];
        assert_false(lido__count_down(&room));
        assert_int_equal(room, values[i] - 1);
    }
    uint32_t room = 0;
    assert_true(lido__count_down(&room));
    assert_int_equal(room, UINT32_MAX);
}

static void push_and_pop(void **state) {
    (void)state;
    static _Alignas(65536) char slice[65536];
    lido__bin bin = {.head = NULL, .room = 2, .check = (uint32_t)((UINT64_C(1) << 32) / 64)};
    assert_null(lido__bin_pop(&bin));
    assert_int_equal(bin.room, 2);    // an empty bin is left alone
    assert_true(lido__bin_push(&bin, slice));
    assert_true(lido__bin_push(&bin, slice + 64));
    assert_int_equal(bin.room, 0);
    assert_false(lido__bin_push(&bin, slice + 128));    // full
    assert_int_equal(bin.room, 0);
    assert_false(lido__bin_push(&bin, slice + 8));    // not a block
    assert_ptr_equal(lido__bin_pop(&bin), slice + 64);
    assert_ptr_equal(lido__bin_pop(&bin), slice);
    assert_null(lido__bin_pop(&bin));
    assert_int_equal(bin.room, 2);
    bin.check = 0;
    assert_false(lido__bin_push(&bin, slice));
    assert_int_equal(bin.room, 2);
}

// --- the invariant --------------------------------------------------------------------------------------------------

static size_t chain_length(const lido__link *link) {
    size_t count = 0;
    for (; link != NULL; link = link->next) count++;
    return count;
}

// Blocks in the calling thread's bin of the pool, after checking the equations of thread.h.
static size_t check_own_bin(const lido_pool *pool) {
    const lido__bin *bin = lido__bin_at(lido__self, pool->bin);
    const lido__bin_back *back = lido__bin_back_at(lido__self, pool->bin);
    size_t head = chain_length(bin->head), spare = chain_length(back->spare);
    if (back->batch == 0) {
        UNIT_CHECK(head == 0 && spare == 0 && bin->room == 0 && bin->check == 0);
        return 0;
    }
    UNIT_CHECK(head + bin->room == back->batch);
    UNIT_CHECK(back->batch <= pool->batch_max);
    UNIT_CHECK(back->spare == NULL || spare == back->spare_count);
    UNIT_CHECK(spare <= back->batch);
    UNIT_CHECK(bin->check == pool->block_check);
    return head + spare;
}

static void check_sum(lido_pool *pool, size_t live) {
    UNIT_CHECK(lido__slabs_verify(&pool->slabs));
    UNIT_CHECK(pool->slabs.issued == live + lido__depot_count(&pool->depot) + check_own_bin(pool));
    UNIT_CHECK(lido_pool_stats(pool).live == live);
}

static void count_plus_room_is_batch(void **state) {
    (void)state;
    static const size_t sizes[] = {8, 56, 64, 512, 1000, 1024, 3000, 8192, 20000};
    enum { MOST = 2000 };
    static void *live[MOST];
    uint64_t random = unit_seed("count_plus_room_is_batch", 301);
    for (size_t s = 0; s < COUNT_OF(sizes); s++) {
        lido_pool *pool = shared_pool(sizes[s]);
        size_t count = 0, most = lido__min(MOST, (4 << 20) / sizes[s]);
        for (unsigned i = 0; i < 20000; i++) {
            bool grow = unit_random(&random) % 100 < (i / 1500 % 2 == 0 ? 60u : 40u);
            if (grow && count < most) {
                live[count] = lido_pool_alloc(pool);
                assert_non_null(live[count]);
                memset(live[count++], 0x5A, 8);
            } else if (!grow && count > 0) {
                size_t pick = unit_random(&random) % count;
                lido_pool_free(pool, live[pick]);
                live[pick] = live[--count];
            }
            if (i % 16 == 0) check_own_bin(pool);
            if (i % 500 == 0) check_sum(pool, count);
            if (unit_random(&random) % 2000 == 0) lido__thread_flush_pool(pool);
        }
        lido_pool_free_bulk(pool, live, count);
        check_sum(pool, 0);
        lido_pool_destroy(pool);
    }
}

// Until the calling thread's batches for the pool are as large as they get. All blocks are free again, and in the slabs.
static void grow_batches(lido_pool *pool) {
    enum { MOST = 300 };
    void *blocks[MOST];
    lido_pool_free(pool, lido_pool_alloc(pool));
    const lido__bin_back *back = lido__bin_back_at(lido__self, pool->bin);
    for (int round = 0; round < 1000 && back->batch < pool->batch_max; round++) {
        for (size_t i = 0; i < MOST; i++) UNIT_CHECK((blocks[i] = lido_pool_alloc(pool)) != NULL);
        for (size_t i = 0; i < MOST; i++) lido_pool_free(pool, blocks[i]);
    }
    UNIT_CHECK(back->batch == pool->batch_max);
    lido_pool_trim(pool);
    UNIT_CHECK(pool->slabs.issued == 0);
}

static void batches_grow_with_use(void **state) {
    (void)state;
    static void *blocks[20000];
    lido_pool *pool = shared_pool(32);
    assert_int_equal(pool->batch_max, 128);
    const lido__bin_back *back = lido__bin_back_at(lido__self, pool->bin);
    blocks[0] = lido_pool_alloc(pool);
    assert_in_range(back->batch, 1, 16);    // a bin that is hardly used stays small
    uint32_t last = back->batch;
    for (size_t i = 1; i < COUNT_OF(blocks); i++) {
        blocks[i] = lido_pool_alloc(pool);
        assert_true(back->batch >= last && back->batch <= 2 * last);
        last = back->batch;
    }
    assert_int_equal(last, 128);
    lido_pool_free_bulk(pool, blocks, COUNT_OF(blocks));
    check_sum(pool, 0);
    lido_pool_destroy(pool);
}

// What does not fit into bin, spare and depot goes into the slabs.
static void a_full_depot_spills_to_the_slabs(void **state) {
    (void)state;
    static void *blocks[4000];
    lido_pool *pool = shared_pool(64);
    assert_int_equal(pool->batch_max, 64);
    grow_batches(pool);
    for (size_t i = 0; i < 4000; i++) blocks[i] = lido_pool_alloc(pool);
    for (size_t i = 0; i < 4000; i++) {
        lido_pool_free(pool, blocks[i]);
        size_t in_depot = lido__depot_count(&pool->depot), in_bin = check_own_bin(pool);
        assert_true(in_depot <= LIDO__DEPOT_SLOTS * 64 && in_bin <= 128);
        assert_int_equal(pool->slabs.issued, 4000 - (i + 1) + in_depot + in_bin);
    }
    assert_int_equal(lido__depot_count(&pool->depot), LIDO__DEPOT_SLOTS * 64);
    assert_int_equal(check_own_bin(pool), 128);
    check_sum(pool, 0);
    // and all of it comes out again, without new memory
    size_t slabs = lido_pool_stats(pool).slab_count;
    for (size_t i = 0; i < 8 * 64 + 128; i++) blocks[i] = lido_pool_alloc(pool);
    assert_int_equal(lido__depot_count(&pool->depot), 0);
    assert_int_equal(lido_pool_stats(pool).slab_count, slabs);
    lido_pool_free_bulk(pool, blocks, 8 * 64 + 128);
    lido_pool_destroy(pool);
}

// --- flush and drain ------------------------------------------------------------------------------------------------

static void flush_empties_the_bins(void **state) {
    (void)state;
    lido_pool *a = shared_pool(64), *b = shared_pool(200);
    void *p[2][300];
    for (size_t i = 0; i < 300; i++) p[0][i] = lido_pool_alloc(a), p[1][i] = lido_pool_alloc(b);
    for (size_t i = 0; i < 50; i++) lido_pool_free(a, p[0][i]), lido_pool_free(b, p[1][i]);
    assert_true(check_own_bin(a) > 0 && check_own_bin(b) > 0);
    lido__thread_flush_pool(a);
    assert_int_equal(check_own_bin(a), 0);
    assert_true(check_own_bin(b) > 0);
    assert_int_equal(a->slabs.issued, 250 + lido__depot_count(&a->depot));
    lido__thread_flush();
    assert_int_equal(check_own_bin(b), 0);
    check_sum(a, 250);
    check_sum(b, 250);
    for (size_t i = 50; i < 300; i++) lido_pool_free(a, p[0][i]), lido_pool_free(b, p[1][i]);
    lido_pool_destroy(a);
    lido_pool_destroy(b);
}

typedef struct quiet_threads {
    lido_pool *pool;
    pthread_barrier_t filled, looked_at;
    atomic_size_t live;
} quiet_threads;

static void fill_and_wait(unsigned index, void *argument) {
    quiet_threads *q = (quiet_threads *)argument;
    void *blocks[500];
    size_t count = 100 + index * 37, keep = index * 11;
    for (size_t i = 0; i < count; i++) blocks[i] = lido_pool_alloc(q->pool);
    for (size_t i = keep; i < count; i++) lido_pool_free(q->pool, blocks[i]);
    q->live += keep;
    pthread_barrier_wait(&q->filled);
    pthread_barrier_wait(&q->looked_at);
    if (index % 2 == 0) UNIT_CHECK(lido_pool_alloc(q->pool) != NULL);    // bins work again after a drain
    pthread_barrier_wait(&q->filled);
    pthread_barrier_wait(&q->looked_at);
}

static void look_at_quiet_threads(unsigned index, void *argument) {
    quiet_threads *q = (quiet_threads *)argument;
    if (index > 0) {
        fill_and_wait(index, argument);
        return;
    }
    pthread_barrier_wait(&q->filled);
    size_t live = q->live;
    UNIT_CHECK(lido_pool_stats(q->pool).live == live);    // exact, with stocks in all of them
    UNIT_CHECK(q->pool->slabs.issued > live);
    lido__threads_drain(q->pool);
    UNIT_CHECK(q->pool->slabs.issued == live + lido__depot_count(&q->pool->depot));
    UNIT_CHECK(lido_pool_stats(q->pool).live == live);
    pthread_barrier_wait(&q->looked_at);
    pthread_barrier_wait(&q->filled);
    UNIT_CHECK(lido_pool_stats(q->pool).live == live + 3);
    pthread_barrier_wait(&q->looked_at);
}

static void stocks_of_all_threads(void **state) {
    (void)state;
    quiet_threads q = {.pool = shared_pool(48)};
    pthread_barrier_init(&q.filled, NULL, 7);
    pthread_barrier_init(&q.looked_at, NULL, 7);
    unit_threads(7, look_at_quiet_threads, &q);
    assert_int_equal(lido_pool_stats(q.pool).live, q.live + 3);
    assert_int_equal(q.pool->slabs.issued, q.live + 3 + lido__depot_count(&q.pool->depot));    // nothing left behind
    lido_pool_reset(q.pool);
    lido_pool_destroy(q.pool);
}

// --- pools with a capacity ------------------------------------------------------------------------------------------

// At the capacity the bins are recalled: blocks go to and from the slabs. Once a quarter is free, bins are in use again.
static void bins_are_recalled_and_allowed_again(void **state) {
    (void)state;
    enum { CAPACITY = 1000 };
    void *blocks[CAPACITY];
    lido_pool *pool =
        lido_pool_new(&(lido_pool_options){.block_size = 64, .threads = LIDO_SHARED, .capacity = CAPACITY});
    if (pool->always_recalled) skip();    // the system has no barrier for all threads
    for (int round = 0; round < 3; round++) {
        for (size_t i = 0; i < CAPACITY; i++) assert_non_null(blocks[i] = lido_pool_alloc(pool));
        assert_null(lido_pool_alloc(pool));
        assert_int_equal(pool->recalled, 1);
        assert_int_equal(pool->slabs.issued, CAPACITY);
        size_t freed = 0;
        for (; pool->recalled == 1 && freed < CAPACITY; freed++) {
            lido_pool_free(pool, blocks[freed]);
            assert_int_equal(pool->slabs.issued, CAPACITY - freed - 1);    // straight to the slabs
        }
        assert_in_range(freed, CAPACITY / 4, CAPACITY / 4 + 1);
        for (; freed < CAPACITY; freed++) lido_pool_free(pool, blocks[freed]);
        assert_true(pool->slabs.issued > 0);    // bins hold some of them
        assert_int_equal(lido_pool_stats(pool).live, 0);
    }
    lido_pool_destroy(pool);
}

// --- batches from elsewhere -----------------------------------------------------------------------------------------

static void grow_and_spill(unsigned index, void *argument) {
    (void)index;
    lido_pool *pool = (lido_pool *)argument;
    static void *blocks[2000];
    grow_batches(pool);
    for (size_t i = 0; i < 2000; i++) blocks[i] = lido_pool_alloc(pool);
    for (size_t i = 0; i < 2000; i++) lido_pool_free(pool, blocks[i]);
}

static void adopt_a_batch(unsigned index, void *argument) {
    (void)index;
    lido_pool *pool = (lido_pool *)argument;
    size_t in_depot = lido__depot_count(&pool->depot);
    UNIT_CHECK(in_depot >= pool->batch_max);
    void *block = lido_pool_alloc(pool);    // this thread has a batch of 8; the depot's are full ones
    const lido__bin_back *back = lido__bin_back_at(lido__self, pool->bin);
    UNIT_CHECK(back->batch >= pool->batch_max - 1);    // room for all of it, but for the block that went out
    UNIT_CHECK(check_own_bin(pool) == pool->batch_max - 1);
    UNIT_CHECK(lido__depot_count(&pool->depot) == in_depot - pool->batch_max);
    check_sum(pool, 1);
    lido_pool_free(pool, block);
    check_sum(pool, 0);
}

static void larger_batches_are_adopted(void **state) {
    (void)state;
    lido_pool *pool = shared_pool(64);
    unit_threads(1, grow_and_spill, pool);
    unit_threads(1, adopt_a_batch, pool);
    check_sum(pool, 0);
    lido_pool_destroy(pool);
}

// --- ends of threads ------------------------------------------------------------------------------------------------

static void use_and_end(unsigned index, void *argument) {
    lido_pool *const *pools = (lido_pool *const *)argument;
    void *blocks[200];
    for (size_t i = 0; i < 200; i++) blocks[i] = lido_pool_alloc(pools[(i + index) % 3]);
    for (size_t i = 0; i < 200; i++) lido_free(blocks[i]);
    lido_free(lido_malloc(100));
}

static void nothing_stays_behind(void **state) {
    (void)state;
    lido_pool *pools[3] = {shared_pool(16), shared_pool(300), shared_pool(5000)};
    size_t threads = lido__threads_count();
    for (int round = 0; round < 30; round++) {
        unit_threads(4, use_and_end, pools);
        for (size_t i = 0; i < 3; i++) check_sum(pools[i], 0);
        assert_int_equal(lido__threads_count(), threads);
    }
    lido__threads_trim();    // also the structures that waited for the next threads
    for (size_t i = 0; i < 3; i++) lido_pool_destroy(pools[i]);
}

// A key destructor that runs in every round, also after lido's own hook: what it allocates and frees goes straight to the
// slabs.
static pthread_key_t late_key;
static lido_pool *late_pool;
static _Atomic unsigned late_rounds, late_without_structure;

static void allocate_late(void *block) {
    UNIT_CHECK(lido__slabs_verify(&late_pool->slabs));
    lido_pool_free(late_pool, block);
    late_without_structure += lido__self == &lido__thread_none;
    void *next = lido_pool_alloc(late_pool), *other = lido_malloc(100);
    UNIT_CHECK(next != NULL && other != NULL);
    lido_free(other);
    if (late_rounds++ % 4 == 3) {    // the last round of four
        lido_pool_free(late_pool, next);
    } else {
        UNIT_CHECK(pthread_setspecific(late_key, next) == 0);
    }
}

static void end_late(unsigned index, void *argument) {
    (void)index;
    (void)argument;
    UNIT_CHECK(pthread_setspecific(late_key, lido_pool_alloc(late_pool)) == 0);
}

static void exit_hooks_in_any_order(void **state) {
    (void)state;
    late_pool = shared_pool(64);
    assert_int_equal(pthread_key_create(&late_key, allocate_late), 0);
    for (int i = 0; i < 5; i++) unit_threads(1, end_late, NULL);
    assert_int_equal(late_rounds, 20);
    assert_true(late_without_structure >= 10);
    check_sum(late_pool, 0);
    pthread_key_delete(late_key);
    lido_pool_destroy(late_pool);
}

// No memory for a structure, or no hook: the thread does without bins, and all of it still works.
static void do_without(unsigned index, void *argument) {
    lido_pool *pool = (lido_pool *)argument;
    void *blocks[100];
    lido__os_fail_from(1, 1);
    blocks[0] = lido_pool_alloc(pool);    // the first call of this thread arms the hook
    lido__os_fail_from(0, 0);
    UNIT_CHECK(blocks[0] != NULL && lido__self == &lido__thread_none);
    for (size_t i = 1; i < 100; i++) blocks[i] = lido_pool_alloc(pool);
    UNIT_CHECK(lido__self == &lido__thread_none);
    for (size_t i = 0; i < 100; i++) UNIT_CHECK(blocks[i] != NULL && lido_pool_of(blocks[i]) == pool);
    UNIT_CHECK(pool->slabs.issued == 100 + lido__depot_count(&pool->depot));
    for (size_t i = 0; i < 100; i++) lido_pool_free(pool, blocks[i]);
    UNIT_CHECK(pool->slabs.issued == lido__depot_count(&pool->depot));
    (void)index;
}

static void threads_without_structure(void **state) {
    (void)state;
    lido_pool *pool = shared_pool(64);
    lido_pool_free(pool, lido_pool_alloc(pool));
    lido__thread_flush_pool(pool);
    unit_threads(1, use_and_end,
                 (lido_pool *[]){pool, pool, pool});    // a cached structure: arming is the first OS call
    unit_threads(1, do_without, pool);
    check_sum(pool, 0);
    lido_pool_destroy(pool);
}

static void none_stays_zero(void **state) {
    (void)state;
    const unsigned char *bytes = (const unsigned char *)&lido__thread_none;
    for (size_t i = 0; i < sizeof lido__thread_none; i++) assert_int_equal(bytes[i], 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counting_down),
        cmocka_unit_test(push_and_pop),
        cmocka_unit_test(count_plus_room_is_batch),
        cmocka_unit_test(batches_grow_with_use),
        cmocka_unit_test(a_full_depot_spills_to_the_slabs),
        cmocka_unit_test(flush_empties_the_bins),
        cmocka_unit_test(stocks_of_all_threads),
        cmocka_unit_test(bins_are_recalled_and_allowed_again),
        cmocka_unit_test(larger_batches_are_adopted),
        cmocka_unit_test(nothing_stays_behind),
        cmocka_unit_test(exit_hooks_in_any_order),
        cmocka_unit_test(threads_without_structure),
        cmocka_unit_test(check_is_the_remainder),
        cmocka_unit_test(none_stays_zero),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
