// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// A population that grows and shrinks: blocks of several sizes up to `live`, then random ones go until an eighth is left, and
// again. What an allocator holds in the valleys is memory that the program does not use.
#include "worker/worker.h"

enum { STRESS_SIZES = 5, STRESS_LIVE_MAX = 1 << 20 };
static const size_t stress_sizes[STRESS_SIZES] = {24, 56, 128, 368, 1000};

typedef struct stress_cell {
    uint64_t *block;
    uint64_t kind;
} stress_cell;
BENCH_TABLE stress_cell stress_cells[STRESS_LIVE_MAX];

static inline void stress_bear(const bench_run *run, const bench_slot *slots, uint64_t at, uint64_t dice) {
    uint64_t kind = (dice & 0xffffffff) * STRESS_SIZES >> 32;
    uint64_t *block = (uint64_t *)bench_need(run, slot_alloc(slots[kind]));
    block[0] = dice;
    block[stress_sizes[kind] / 8 - 1] = dice >> 7;
    stress_cells[at].block = block;
    stress_cells[at].kind = kind;
}

static inline uint64_t stress_bury(const bench_slot *slots, uint64_t at) {
    stress_cell cell = stress_cells[at];
    uint64_t sum = cell.block[0] + 3 * cell.block[stress_sizes[cell.kind] / 8 - 1];
    slot_free(slots[cell.kind], cell.block);
    return sum;
}

typedef struct stress_result {
    uint64_t ops, sum;
} stress_result;

static stress_result stress_pass(const bench_run *run, const bench_slot *slots, uint64_t count, uint64_t live) {
    uint64_t state = 88172645463325252u, alive = 0;
    stress_result result = {0, 0};
    for (uint64_t wave = 0; wave <= count; wave++) {
        uint64_t top = wave < count ? live : 0, valley = wave < count ? live / 8 : 0;    // the last wave only ends
        for (; alive < top; result.ops++) stress_bear(run, slots, alive++, bench_random(&state));
        while (alive > valley) {
            uint64_t at = (bench_random(&state) >> 32) * alive >> 32;
            result.sum += stress_bury(slots, at) * alive;
            stress_cells[at] = stress_cells[--alive];
        }
    }
    return result;
}

static void stress_run(bench_run *run) {
    uint64_t count = bench_value(run, "count"), live = bench_value(run, "live");
    bench_slot slots[STRESS_SIZES];
    bench_slots_bytes(24 + 56 + 128 + 368 + 1000);
    for (int i = 0; i < STRESS_SIZES; i++) {
        bench_slot_options options = {stress_sizes[i], 0, (size_t)live};
        if (!slot_open(&slots[i], &options)) bench_fail(run, "cannot open the allocator");
    }
    stress_pass(run, slots, 1, live / 8 + 1);
    while (bench_more(run)) {
        bench_start(run);
        stress_result result = stress_pass(run, slots, count, live);
        bench_stop(run, result.ops, result.sum);
    }
    for (int i = 0; i < STRESS_SIZES; i++) slot_close(slots[i]);
}

BENCH_WORKLOAD(stress, BENCH_SIZES, "one block created and one destroyed",
               "a population of 24 to 1000 bytes that grows, shrinks to an eighth at random, and grows again",
               {"count", 10, 1, 1000000, "waves in a pass"}, {"live", 20000, 8, STRESS_LIVE_MAX, "blocks at the top"});
