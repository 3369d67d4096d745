// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// The capacity of a shared pool is exact, whatever the threads' bins hold.
//
//   never above   a counter that is raised after each allocation and lowered before each free never passes the capacity
//   never below   threads reserve a place before they allocate and give it back after the free has returned; there are as
//                 many places as blocks, so whoever has a place must get a block, wherever the free ones lie
//
// Half of the blocks are freed by another thread. stress_bounded [--seed N]
#include <lido/lido.h>

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { THREADS = 16, HELD_MAX = 400, TURNS = 20000, RING = 64 };

static lido_pool *pool;
static size_t capacity;
static size_t places, alive;    // [atomic]
static void *ring[RING];        // [atomic] blocks for another thread to free; their places go with them
static size_t waits;            // [atomic] how often all places were taken: the capacity was reached

static uint64_t next_random(uint64_t *state) {
    uint64_t x = *state += UINT64_C(0x9E3779B97F4A7C15);
    x = (x ^ (x >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94D049BB133111EB);
    return x ^ (x >> 31);
}

static _Noreturn void violation(const char *what) {
    fprintf(stderr, "capacity %zu: %s\n", capacity, what);
    abort();
}

static bool reserve_place(void) {
    size_t taken = __atomic_load_n(&places, __ATOMIC_RELAXED);
    while (taken < capacity) {
        if (__atomic_compare_exchange_n(&places, &taken, taken + 1, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
            return true;
    }
    __atomic_add_fetch(&waits, 1, __ATOMIC_RELAXED);
    return false;
}

static void free_block(uint64_t *block, uint64_t r) {
    if (block[0] != (uint64_t)(uintptr_t)block) violation("a block changed while it was alive");
    __atomic_sub_fetch(&alive, 1, __ATOMIC_ACQ_REL);
    if (r % 2 == 0)
        lido_free(block);
    else
        lido_pool_free(pool, block);
    __atomic_sub_fetch(&places, 1, __ATOMIC_ACQ_REL);
}

static void *work(void *argument) {
    uint64_t seed = *(uint64_t *)argument, *held[HELD_MAX];
    size_t count = 0, want = 0;
    for (int turn = 0; turn < TURNS; turn++) {
        uint64_t r = next_random(&seed);
        if (turn % 100 == 0) want = r % HELD_MAX;    // swings, so that free blocks gather here and there
        if (count < want && reserve_place()) {
            uint64_t *block = lido_pool_alloc(pool);
            if (block == NULL) violation("refused a block although one was free");
            if (__atomic_add_fetch(&alive, 1, __ATOMIC_ACQ_REL) > capacity) violation("gave more blocks than it has");
            block[0] = (uint64_t)(uintptr_t)block;
            held[count++] = block;
        } else if (count > 0) {
            uint64_t *block = held[--count];
            if (r % 3 == 0) block = __atomic_exchange_n(&ring[r / 8 % RING], block, __ATOMIC_ACQ_REL);
            if (block != NULL) free_block(block, r);
        }
        if (r % 1000 == 0) lido_pool_trim(pool);
    }
    for (; count > 0; count--) free_block(held[count - 1], count);
    return NULL;
}

static void run(size_t blocks, uint64_t seed) {
    pthread_t threads[THREADS];
    uint64_t seeds[THREADS];
    capacity = blocks;
    pool = lido_pool_new(
        &(lido_pool_options){.name = "bounded", .block_size = 40, .threads = LIDO_SHARED, .capacity = blocks});
    if (pool == NULL) violation("no pool");
    for (int i = 0; i < THREADS; i++) {
        seeds[i] = seed * 100 + (uint64_t)i;
        if (pthread_create(&threads[i], NULL, work, &seeds[i]) != 0) abort();
    }
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    for (int i = 0; i < RING; i++) {
        if (ring[i] != NULL) free_block(ring[i], 1);
        ring[i] = NULL;
    }
    lido_pool_statistics s = lido_pool_stats(pool);
    if (s.live != 0 || alive != 0 || places != 0) violation("blocks are left when all are freed");
    if (s.high_water > blocks) violation("the high-water mark is above the capacity");
    // All of it in one hand, wherever it lies.
    void **all = malloc(blocks * sizeof *all);
    if (all == NULL || lido_pool_alloc_bulk(pool, all, blocks) != 0) violation("the whole capacity is not to be had");
    errno = 0;
    if (lido_pool_alloc(pool) != NULL || errno != ENOMEM) violation("one more than the capacity");
    lido_pool_free_bulk(pool, all, blocks);
    free(all);
    lido_pool_destroy(pool);
}

int main(int argc, char **argv) {
    uint64_t seed = argc == 3 && strcmp(argv[1], "--seed") == 0 ? strtoull(argv[2], NULL, 10) : (uint64_t)time(NULL);
    static const size_t capacities[] = {1, 10, 200, 256, 300, 1000, 1500};
    printf("seed %" PRIu64 "\n", seed);
    fflush(stdout);
    for (size_t i = 0; i < sizeof capacities / sizeof capacities[0]; i++) run(capacities[i], seed + i);
    printf("%zu times the capacity was reached\n", waits);
    return waits > 0 ? 0 : 1;
}
