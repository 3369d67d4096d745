// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// Shared pools among threads, for ThreadSanitizer above all: blocks that travel, capacities that are exact, and what goes on
// beside the pool: trims, statistics of the process, and the destruction of a pool while threads that once used it end.
#include "support.h"

#include "pool/thread.h"

#include <lido/heap.h>
#include <lido/options.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>

enum { THREADS = 8, ROUNDS = UNIT_SANITIZED ? 8 : 40, DEATHS = 150 };

static lido_pool *pool_of(lido_threads threads, lido_order order, size_t block_size, size_t capacity) {
    lido_pool *pool = lido_pool_new(&(lido_pool_options){
        .name = "threads", .block_size = block_size, .threads = threads, .order = order, .capacity = capacity});
    UNIT_CHECK(pool != NULL);
    return pool;
}

// --- blocks that travel ---------------------------------------------------------------------------------------------

typedef struct exchange {
    lido_pool *pool;
    uint64_t seed;
    _Atomic(uint64_t *) places[256];    // anyone puts blocks in and takes them out
} exchange;

static void put_and_take(unsigned index, void *argument) {
    exchange *e = (exchange *)argument;
    uint64_t random = e->seed + index;
    for (unsigned i = 0; i < 20000; i++) {
        uint64_t *block = NULL;
        if (unit_random(&random) % 2 == 0) {
            block = (uint64_t *)lido_pool_alloc(e->pool);
            UNIT_CHECK(block != NULL);
            block[0] = (uintptr_t)block;
            block[5] = ~(uint64_t)(uintptr_t)block;
        }
        block = atomic_exchange_explicit(&e->places[unit_random(&random) % 256], block, memory_order_acq_rel);
        if (block == NULL) continue;
        UNIT_CHECK(block[0] == (uintptr_t)block && block[5] == ~(uint64_t)(uintptr_t)block);
        if (unit_random(&random) % 2 == 0) {
            lido_pool_free(e->pool, block);
        } else {
            lido_free(block);
        }
        if (unit_random(&random) % 4000 == 0) lido_pool_trim(e->pool);
    }
}

static void blocks_travel(void **state) {
    (void)state;
    static exchange e;
    e.seed = unit_seed("blocks_travel", 401);
    for (unsigned order = LIDO_LIFO; order <= LIDO_FIFO; order++) {
        for (size_t capacity = 0; capacity <= 100000; capacity += 100000) {
            e.pool = pool_of(LIDO_SHARED, (lido_order)order, 48, capacity);
            unit_threads(THREADS, put_and_take, &e);
            size_t live = 0;
            for (size_t i = 0; i < 256; i++) live += e.places[i] != NULL;
            assert_true(lido__slabs_verify(&e.pool->slabs));
            assert_int_equal(lido_pool_stats(e.pool).live, live);
            for (size_t i = 0; i < 256; i++) lido_pool_free(e.pool, atomic_exchange(&e.places[i], NULL));
            assert_int_equal(lido_pool_stats(e.pool).live, 0);
            lido_pool_destroy(e.pool);
        }
    }
}

// --- capacity -------------------------------------------------------------------------------------------------------

enum { SHARE_MAX = 20000 };

typedef struct bounded_run {
    lido_pool *pool;
    pthread_barrier_t barrier;
    _Atomic size_t live;
    void *blocks[THREADS][SHARE_MAX];
    size_t counts[THREADS];
} bounded_run;

static void take_all_that_is_there(bounded_run *run, unsigned index) {
    void *block;
    while ((block = lido_pool_alloc(run->pool)) != NULL) {
        size_t live = atomic_fetch_add(&run->live, 1) + 1;
        UNIT_CHECK(live <= run->pool->capacity);
        UNIT_CHECK(run->counts[index] < SHARE_MAX);
        *(void **)block = block;
        run->blocks[index][run->counts[index]++] = block;
    }
}

static void give_some(bounded_run *run, unsigned index, size_t count) {
    for (; count > 0 && run->counts[index] > 0; count--) {
        void *block = run->blocks[index][--run->counts[index]];
        UNIT_CHECK(*(void **)block == block);
        atomic_fetch_sub(&run->live, 1);
        lido_pool_free(run->pool, block);
    }
}

// All threads take until there is nothing left: together they have exactly the capacity. Then some give, all take again.
static void up_to_the_capacity(unsigned index, void *argument) {
    bounded_run *run = (bounded_run *)argument;
    size_t capacity = run->pool->capacity;
    for (int round = 0; round < ROUNDS; round++) {
        take_all_that_is_there(run, index);
        pthread_barrier_wait(&run->barrier);
        UNIT_CHECK(run->live == capacity);
        UNIT_CHECK(lido_pool_alloc(run->pool) == NULL);
        if (index == 0) {
            lido_pool_statistics now = lido_pool_stats(run->pool);
            UNIT_CHECK(now.live == capacity && now.high_water == capacity);
        }
        pthread_barrier_wait(&run->barrier);
        give_some(run, index, round % 3 == 0 ? 1 : round % 3 == 1 ? run->counts[index] / 2 : run->counts[index]);
        pthread_barrier_wait(&run->barrier);
        if (index == 0) UNIT_CHECK(lido_pool_stats(run->pool).live == run->live);
        pthread_barrier_wait(&run->barrier);
    }
    give_some(run, index, SHARE_MAX);
}

static void capacity_is_exact_among_threads(void **state) {
    (void)state;
    static const size_t capacities[] = {1, 7, 100, 255, 256, 1000, 4096, 20000};
    static bounded_run run;
    for (unsigned order = LIDO_LIFO; order <= LIDO_FIFO; order++) {
        for (size_t i = 0; i < COUNT_OF(capacities); i++) {
            memset(&run, 0, sizeof run);
            run.pool = pool_of(LIDO_SHARED, (lido_order)order, 40, capacities[i]);
            pthread_barrier_init(&run.barrier, NULL, THREADS);
            unit_threads(THREADS, up_to_the_capacity, &run);
            pthread_barrier_destroy(&run.barrier);
            assert_int_equal(lido_pool_stats(run.pool).live, 0);
            assert_true(lido__slabs_verify(&run.pool->slabs));
            lido_pool_destroy(run.pool);
        }
    }
}

// Each thread holds few enough that the sum stays within the capacity: then no request is ever refused, wherever the free
// blocks happen to lie.
static void hold_a_share(unsigned index, void *argument) {
    bounded_run *run = (bounded_run *)argument;
    size_t share = run->pool->capacity / THREADS;
    void *mine[64];
    uint64_t random = index;
    UNIT_CHECK(share <= COUNT_OF(mine));
    for (int i = 0; i < 300; i++) {
        size_t count = 1 + unit_random(&random) % share;
        for (size_t j = 0; j < count; j++) UNIT_CHECK((mine[j] = lido_pool_alloc(run->pool)) != NULL);
        for (size_t j = 0; j < count; j++) lido_pool_free(run->pool, mine[j]);
    }
}

static void within_the_capacity_nothing_is_refused(void **state) {
    (void)state;
    static bounded_run run;
    for (size_t capacity = 8; capacity <= 512; capacity *= 2) {
        run.pool = pool_of(LIDO_SHARED, LIDO_LIFO, 64, capacity);
        unit_threads(THREADS, hold_a_share, &run);
        assert_int_equal(lido_pool_stats(run.pool).live, 0);
        lido_pool_destroy(run.pool);
    }
}

// --- beside the pool ------------------------------------------------------------------------------------------------

typedef struct users {
    lido_pool *pool;
    sem_t done;
    _Atomic bool stop;
    _Atomic unsigned running;
} users;

static void *use_then_live_on(void *argument) {
    users *u = (users *)argument;
    void *blocks[100];
    for (size_t i = 0; i < 100; i++) blocks[i] = lido_pool_alloc(u->pool);
    for (size_t i = 0; i < 100; i++) lido_pool_free(u->pool, blocks[i]);
    sem_post(&u->done);    // from here on this thread never touches the pool
    while (!u->stop) {
        for (size_t i = 0; i < 100; i++) blocks[i] = lido_malloc(500);
        for (size_t i = 0; i < 100; i++) lido_free(blocks[i]);
    }
    u->running--;
    return NULL;
}

// Threads that once used a pool still have a bin for it when it is destroyed. Some are ending at that moment, others follow a
// request to trim.
static void pools_die_while_their_users_live_on(void **state) {
    (void)state;
    for (int round = 0; round < DEATHS; round++) {
        users u = {.pool = pool_of(LIDO_SHARED, LIDO_LIFO, 64, round % 3 == 0 ? 5000 : 0),
                   .running = 6,
                   .stop = round % 2 == 0};
        sem_init(&u.done, 0, 0);
        for (int i = 0; i < 6; i++) {
            pthread_t thread;
            assert_int_equal(pthread_create(&thread, NULL, use_then_live_on, &u), 0);
            pthread_detach(thread);
        }
        for (int i = 0; i < 6; i++) sem_wait(&u.done);
        lido_trim(0);    // asks all of them to flush
        lido_pool_destroy(u.pool);
        lido_pool *next = pool_of(LIDO_SHARED, LIDO_LIFO, 4096, 0);    // gets the same bin
        for (int i = 0; i < 50; i++) lido_pool_free(next, lido_pool_alloc(next));
        lido_trim(0);
        assert_int_equal(lido_pool_stats(next).live, 0);
        u.stop = true;
        while (u.running > 0) sched_yield();
        assert_int_equal(lido_pool_stats(next).live, 0);
        lido_pool_destroy(next);
        sem_destroy(&u.done);
    }
}

static _Atomic unsigned local_users;

static void use_local_pools(void *argument) {
    (void)argument;
    lido_pool *local = pool_of(LIDO_LOCAL, LIDO_LIFO, 64, 0), *confined = pool_of(LIDO_CONFINED, LIDO_FIFO, 64, 0);
    lido_heap *heap = lido_heap_new(NULL);
    void *blocks[3][50];
    for (int round = 0; round < 300; round++) {
        for (size_t i = 0; i < 50; i++) {
            blocks[0][i] = lido_pool_alloc(local);
            blocks[1][i] = lido_pool_alloc(confined);
            blocks[2][i] = lido_heap_alloc(heap, 64);
            for (int j = 0; j < 3; j++) memset(blocks[j][i], 0x5A, 64);
        }
        for (size_t i = 0; i < 50; i++) {
            lido_pool_free(local, blocks[0][i]);
            lido_pool_free(confined, blocks[1][i]);
            lido_heap_free(heap, blocks[2][i]);
        }
        if (round % 50 == 0) lido_pool_trim(local);
        if (round % 70 == 0) lido_pool_trim(confined);
    }
    lido_pool_destroy(local);
    lido_pool_destroy(confined);
    lido_heap_destroy(heap);
}

static void look_or_use(unsigned index, void *argument) {
    if (index > 1) {
        use_local_pools(argument);
        local_users--;
        return;
    }
    while (local_users > 0) {
        if (index == 0) {
            lido_heap_statistics now = lido_process_stats();
            UNIT_CHECK(now.live_bytes <= now.held_bytes);
        } else {
            lido_trim(0);
        }
        sched_yield();
    }
}

// Pools without a lock are in use by their threads: what any thread may ask of the process must not look into them.
static void statistics_and_trims_beside_local_pools(void **state) {
    (void)state;
    for (int round = 0; round < ROUNDS / 4 + 1; round++) {
        local_users = 4;
        unit_threads(6, look_or_use, NULL);
    }
}

static void make_and_destroy(unsigned index, void *argument) {
    (void)argument;
    for (int i = 0; i < 100; i++) {
        lido_pool *pool = pool_of((lido_threads)(i % 3), (lido_order)(i % 2), 16 + index * 40, i % 5 == 0 ? 1000 : 0);
        void *blocks[20];
        UNIT_CHECK(lido_pool_alloc_bulk(pool, blocks, 20) == 0);
        UNIT_CHECK(lido_pool_of(blocks[7]) == pool && lido_pool_owns(pool, blocks[19]));
        lido_pool_free_bulk(pool, blocks, 20);
        UNIT_CHECK(lido_pool_stats(pool).live == 0);
        lido_pool_destroy(pool);
    }
}

static void pools_come_and_go(void **state) {
    (void)state;
    unit_threads(THREADS, make_and_destroy, NULL);
}

// --- a visit beside a trim ------------------------------------------------------------------------------------------

typedef struct visit {
    lido_pool *pool;
    _Atomic int visiting;
    size_t freed;
} visit;

static bool free_visited(void *block, void *context) {
    visit *v = (visit *)context;
    v->freed++;
    lido_pool_free(v->pool, block);
    return true;
}

// One thread visits and frees, the other gives back what it finds free of any pool.
static void visit_or_trim(unsigned index, void *argument) {
    visit *v = (visit *)argument;
    if (index == 0) {
        UNIT_CHECK(lido_pool_visit_live(v->pool, free_visited, v) == 20000);
        v->visiting = 0;
    } else {
        while (v->visiting) lido_trim(0);
    }
}

static void visits_beside_trims(void **state) {
    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        visit v = {.pool = pool_of(LIDO_SHARED, LIDO_LIFO, 24, 0), .visiting = 1};
        for (int i = 0; i < 20000; i++) assert_non_null(lido_pool_alloc(v.pool));
        unit_threads(2, visit_or_trim, &v);
        assert_int_equal(v.freed, 20000);
        assert_int_equal(lido_pool_stats(v.pool).live, 0);
        lido_pool_destroy(v.pool);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_travel),
        cmocka_unit_test(capacity_is_exact_among_threads),
        cmocka_unit_test(within_the_capacity_nothing_is_refused),
        cmocka_unit_test(pools_die_while_their_users_live_on),
        cmocka_unit_test(statistics_and_trims_beside_local_pools),
        cmocka_unit_test(pools_come_and_go),
        cmocka_unit_test(visits_beside_trims),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
