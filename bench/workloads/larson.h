// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// A server as Larson and Krishnan (ISMM 1998) model it: each thread holds blocks of random sizes, replaces one after another at
// random, and after a while ends and leaves its blocks to a new thread. So most blocks are freed by another thread than the
// one that allocated them, and none of the threads that did is still there.
#include "workloads/parts/crew.h"

enum { LARSON_SIZES = 5, LARSON_LIVE_MAX = 65536 };
static const size_t larson_sizes[LARSON_SIZES] = {16, 48, 96, 240, 500};

typedef struct larson_seat {    // what one thread leaves to the next
    uint64_t state;             // of its random numbers
    uint64_t *blocks[LARSON_LIVE_MAX];
    unsigned char kinds[LARSON_LIVE_MAX];
} larson_seat;
BENCH_TABLE larson_seat larson_seats[CREW_MAX];

static inline void larson_fill(crew *all, larson_seat *seat, uint64_t at, uint64_t dice) {
    uint32_t kind = (uint32_t)((dice & 0xffffffff) * LARSON_SIZES >> 32);
    uint64_t *block = (uint64_t *)bench_need(all->run, slot_alloc(all->slots[kind]));
    block[0] = dice;
    block[larson_sizes[kind] / 8 - 1] = dice + 1;
    seat->blocks[at] = block;
    seat->kinds[at] = (unsigned char)kind;
}

static inline uint64_t larson_empty(crew *all, larson_seat *seat, uint64_t at) {
    uint32_t kind = seat->kinds[at];
    uint64_t *block = seat->blocks[at], sum = block[0] + 3 * block[larson_sizes[kind] / 8 - 1];
    slot_free(all->slots[kind], block);
    return sum;
}

static uint64_t larson_work(crew_member *member, uint64_t count) {
    crew *all = member->all;
    larson_seat *seat = &larson_seats[member->index];
    uint64_t live = bench_value(all->run, "live"), sum = 0;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t dice = bench_random(&seat->state), at = (dice >> 32) * live >> 32;
        sum += larson_empty(all, seat, at) * (i + 1);
        larson_fill(all, seat, at, dice);
    }
    return sum;
}

static void larson_start(crew *all, uint64_t live) {
    for (uint64_t thread = 0; thread < all->threads; thread++) {
        larson_seat *seat = &larson_seats[thread];
        seat->state = 88172645463325252u + thread;
        for (uint64_t at = 0; at < live; at++) larson_fill(all, seat, at, bench_random(&seat->state));
    }
}

static uint64_t larson_finish(crew *all, uint64_t live) {
    uint64_t sum = 0;
    for (uint64_t thread = 0; thread < all->threads; thread++)
        for (uint64_t at = 0; at < live; at++) sum += larson_empty(all, &larson_seats[thread], at);
    return sum;
}

// Time runs from the first thread's start to the end of the last one of the last generation.
static void larson_pass(bench_run *run, crew *all, uint64_t live) {
    uint64_t generations = bench_value(run, "generations"), sum = 0, from_ns = 0, to_ns = 0, cpu_ns = 0;
    larson_start(all, live);
    for (uint64_t generation = 0; generation < generations; generation++) {
        crew_result result = crew_go(all);
        if (generation == 0) from_ns = result.from_ns;
        to_ns = result.to_ns;
        cpu_ns += result.cpu_ns;
        sum = sum * 3 + result.sum;
    }
    sum += larson_finish(all, live);
    bench_pass(run, all->threads * all->count * generations, sum, to_ns - from_ns, cpu_ns);
}

static void larson_run(bench_run *run) {
    crew *all = &crew_here;
    uint64_t live = bench_value(run, "live");
    all->run = run;
    all->work = larson_work;
    all->threads = bench_value(run, "threads");
    all->count = bench_value(run, "count");
    all->warm = 0;
    all->clean = false;
    bench_slots_bytes(16 + 48 + 96 + 240 + 500);
    for (int i = 0; i < LARSON_SIZES; i++) {
        bench_slot_options options = {larson_sizes[i], 0, (size_t)(live * all->threads)};
        if (!slot_open(&all->slots[i], &options)) bench_fail(run, "cannot open the allocator");
    }
    while (bench_more(run)) larson_pass(run, all, live);
    for (int i = 0; i < LARSON_SIZES; i++) slot_close(all->slots[i]);
}

BENCH_WORKLOAD(larson, BENCH_CROSS_SIZES, "one block freed and one allocated",
               "a server: threads replace random blocks of 16 to 500 bytes and leave them to the next thread",
               {"threads", 4, 1, CREW_MAX, "threads at a time"}, {"generations", 10, 1, 10000, "of threads in a pass"},
               {"count", 20000, 1, 100000000, "blocks that a thread replaces"},
               {"live", 1000, 1, LARSON_LIVE_MAX, "blocks of each thread"});
