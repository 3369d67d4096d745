// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// Threads that wait for blocks of a pool at its capacity, while others free, trim, change the capacity and give up.
//
//   never above   a counter that is raised after each allocation and lowered before each free never passes the highest capacity
//   no lost wake  a thread without a time limit always gets its block: the run ends (the test has a time limit)
//   nothing lost  in the end the whole capacity is to be had in one hand
//
// Each thread holds at most one block or one bulk while it asks for more only after it has freed that, so nobody can
// lock the others up. stress_waiting [--seed N]
#include <lido/lido.h>

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { THREADS = 8, TURNS = 3000, BULK = 5, RING = 16 };

typedef struct setting {
    size_t capacity;
    lido_order order;
    uint32_t wait_ms;
    bool changes;    // the capacity moves between `capacity` and twice that
} setting;

static lido_pool *pool;
static setting now;
static size_t alive;         // [atomic]
static size_t late, busy;    // [atomic] how often the time was over; how often a lower capacity was refused
static void *ring[RING];     // [atomic] blocks that another thread shall free

static uint64_t next_random(uint64_t *state) {
    uint64_t x = *state += UINT64_C(0x9E3779B97F4A7C15);
    x = (x ^ (x >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94D049BB133111EB);
    return x ^ (x >> 31);
}

static _Noreturn void violation(const char *what) {
    fprintf(stderr, "capacity %zu, order %d: %s\n", now.capacity, (int)now.order, what);
    abort();
}

static void note_taken(void **blocks, size_t count) {
    if (__atomic_add_fetch(&alive, count, __ATOMIC_ACQ_REL) > now.capacity * (now.changes ? 2 : 1))
        violation("gave more blocks than it has");
    for (size_t i = 0; i < count; i++) *(void **)blocks[i] = blocks[i];
}

static void check_block(void *block) {
    if (*(void **)block != block) violation("a block changed while it was alive");
    __atomic_sub_fetch(&alive, 1, __ATOMIC_ACQ_REL);
}

static void give_back(void **blocks, size_t count, uint64_t r) {
    for (size_t i = 0; i < count; i++) check_block(blocks[i]);
    if (r % 3 == 0)
        lido_pool_free_bulk(pool, blocks, count);
    else
        for (size_t i = 0; i < count; i++) (r % 3 == 1 ? lido_pool_free(pool, blocks[i]) : lido_free(blocks[i]));
}

static size_t take(void **blocks, size_t count) {
    errno = 0;
    bool got =
        count == 1 ? (blocks[0] = lido_pool_alloc(pool)) != NULL : lido_pool_alloc_bulk(pool, blocks, count) == 0;
    if (got) {
        note_taken(blocks, count);
        return count;
    }
    if (errno == ENOMEM && count > now.capacity) return 0;    // more than there can be
    if (errno != ETIMEDOUT || now.wait_ms == 0)
        violation("refused a block without a time limit, or with another error");
    __atomic_add_fetch(&late, 1, __ATOMIC_RELAXED);
    return 0;
}

static void change_capacity(uint64_t r) {
    if (!now.changes || r % 50 != 0) return;
    if (lido_pool_set_capacity(pool, now.capacity + r / 64 % (now.capacity + 1)) == 0) return;
    if (errno != EBUSY) violation("the capacity cannot be changed");
    __atomic_add_fetch(&busy, 1, __ATOMIC_RELAXED);
}

static void *work(void *argument) {
    uint64_t seed = *(uint64_t *)argument;
    void *blocks[BULK];
    for (int turn = 0; turn < TURNS; turn++) {
        uint64_t r = next_random(&seed);
        size_t count = take(blocks, r % 4 == 0 ? 1 + r / 4 % BULK : 1);
        if (count > 0 && r % 128 == 1) usleep(2000);    // so that others wait, and some for too long
        if (r % 500 == 0) lido_pool_trim(pool);
        change_capacity(r / 8);
        if (count == 1 && r % 5 == 0) {
            void *other = __atomic_exchange_n(&ring[r / 16 % RING], NULL, __ATOMIC_ACQ_REL);
            if (other != NULL) give_back(&other, 1, r);
            // with as many blocks in the ring as there are, nobody could go on
            if (now.capacity > RING + THREADS * BULK) {
                other = __atomic_exchange_n(&ring[r / 16 % RING], blocks[0], __ATOMIC_ACQ_REL);
                count = 0;
                if (other != NULL) give_back(&other, 1, r);
            }
        }
        give_back(blocks, count, r / 2);
    }
    return NULL;
}

static void run(const setting *s, uint64_t seed) {
    pthread_t threads[THREADS];
    uint64_t seeds[THREADS];
    now = *s;
    pool = lido_pool_new(&(lido_pool_options){.name = "seats",
                                              .block_size = 48,
                                              .threads = LIDO_SHARED,
                                              .order = s->order,
                                              .capacity = s->capacity,
                                              .on_exhausted = LIDO_WAIT,
                                              .wait_ms = s->wait_ms});
    if (pool == NULL) violation("no pool");
    for (int i = 0; i < THREADS; i++) {
        seeds[i] = seed * 100 + (uint64_t)i;
        if (pthread_create(&threads[i], NULL, work, &seeds[i]) != 0) abort();
    }
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    for (int i = 0; i < RING; i++) {
        if (ring[i] != NULL) give_back(&ring[i], 1, 1);
        ring[i] = NULL;
    }
    lido_pool_statistics stats = lido_pool_stats(pool);
    if (stats.live != 0 || alive != 0 || stats.waiting != 0) violation("blocks or waiters are left");
    void **all = malloc(stats.capacity * sizeof *all);
    if (all == NULL || lido_pool_alloc_bulk(pool, all, stats.capacity) != 0)
        violation("the whole capacity is not to be had");
    lido_pool_free_bulk(pool, all, stats.capacity);
    free(all);
    lido_pool_destroy(pool);
}

int main(int argc, char **argv) {
    uint64_t seed = argc == 3 && strcmp(argv[1], "--seed") == 0 ? strtoull(argv[2], NULL, 10) : (uint64_t)time(NULL);
    static const setting settings[] = {
        {1, LIDO_LIFO, 0, false},   {3, LIDO_LIFO, 1, false},  {6, LIDO_FIFO, 0, false}, {10, LIDO_LIFO, 0, true},
        {300, LIDO_LIFO, 0, false}, {256, LIDO_LIFO, 0, true}, {7, LIDO_FIFO, 1, true},
    };
    printf("seed %" PRIu64 "\n", seed);
    fflush(stdout);
    for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++) run(&settings[i], seed + i);
    printf("%zu times the time was over, %zu times the capacity could not be lowered\n", late, busy);
    return late > 0 ? 0 : 1;
}
