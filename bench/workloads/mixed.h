// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// Blocks of 1, 16, 64, 256 and 1024 bytes at random, each of which lives 1 to `life` steps.
#include "workloads/parts/wheel.h"

enum { MIXED_SIZES = 5 };
static const size_t mixed_sizes[MIXED_SIZES] = {1, 16, 64, 256, 1024};

static inline wheel_fate mixed_draw(uint64_t dice, uint64_t life) {
    wheel_fate fate = {(uint32_t)((dice >> 32) * MIXED_SIZES >> 32), 1 + ((dice & 0xffffffff) * life >> 32)};
    return fate;
}

static void mixed_run(bench_run *run) {
    static const wheel_plan plan = {mixed_sizes, MIXED_SIZES, mixed_draw};
    wheel_run(run, &plan);
}

BENCH_WORKLOAD(mixed, BENCH_SIZES, "one block created and one destroyed",
               "blocks of 1, 16, 64, 256 and 1024 bytes at random, each alive for a random number of steps",
               {"count", 1000000, 1, 1000000000, "steps in a pass"},
               {"life", 1000, 1, WHEEL_LIFE_MAX, "steps that a block lives at most"});
