// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// A queue of `live` objects. A step destroys the `burst` oldest, which reads all of each, and creates as many; the whole of an
// object is written when `lag` more have been created.
//
//   oldest                                written | created, not written
//   [n - live ........................... n - lag | ......... n)             lag + burst <= live
#ifndef LIDO_BENCH_REUSE_H
#define LIDO_BENCH_REUSE_H

#include "worker/worker.h"

enum { REUSE_LIVE_MAX = 1 << 20 };
BENCH_TABLE uint64_t *reuse_queue[REUSE_LIVE_MAX];

static inline void reuse_write(uint64_t *block, uint64_t words, uint64_t serial) {
    for (uint64_t at = 0; at < words; at++) block[at] = serial + at;
    bench_escape(block);
}

static inline uint64_t reuse_read(const uint64_t *block, uint64_t words) {
    uint64_t sum = 0;
    for (uint64_t at = 0; at < words; at++) sum = sum * 3 + block[at];
    return sum;
}

typedef struct reuse_plan {
    uint64_t live, words, burst, lag;
} reuse_plan;

// Creates objects [from, to) and writes those whose time has come.
static void reuse_create(const bench_run *run, bench_slot slot, const reuse_plan *plan, uint64_t from, uint64_t to) {
    for (uint64_t n = from; n < to; n++) {
        uint64_t *block = (uint64_t *)bench_need(run, slot_alloc(slot));
        bench_escape(block);
        reuse_queue[n % plan->live] = block;
        if (n >= plan->lag) reuse_write(reuse_queue[(n - plan->lag) % plan->live], plan->words, n - plan->lag);
    }
}

// Destroys objects [from, to).
static uint64_t reuse_destroy(bench_slot slot, const reuse_plan *plan, uint64_t from, uint64_t to) {
    uint64_t sum = 0;
    for (uint64_t n = from; n < to; n++) {
        uint64_t *block = reuse_queue[n % plan->live];
        sum += reuse_read(block, plan->words) * (n + 1);
        slot_free(slot, block);
    }
    return sum;
}

// One queue from its first object to its last; the same for warm-up and passes.
static uint64_t reuse_pass(const bench_run *run, bench_slot slot, const reuse_plan *plan, uint64_t count) {
    uint64_t sum = 0, n = plan->live;
    reuse_create(run, slot, plan, 0, n);
    for (; n + plan->burst <= plan->live + count; n += plan->burst) {
        sum += reuse_destroy(slot, plan, n - plan->live, n - plan->live + plan->burst);
        reuse_create(run, slot, plan, n, n + plan->burst);
    }
    for (uint64_t late = n - plan->lag; late < n; late++)
        reuse_write(reuse_queue[late % plan->live], plan->words, late);
    return sum + reuse_destroy(slot, plan, n - plan->live, n);
}

static void reuse_run(bench_run *run) {
    uint64_t count = bench_value(run, "count"), size = bench_value(run, "size");
    reuse_plan plan = {bench_value(run, "live"), size / 8, bench_value(run, "burst"), bench_value(run, "lag")};
    if (plan.lag + plan.burst > plan.live) bench_fail(run, "lag and burst together are above live");
    bench_slot_options options = {(size_t)size, 0, (size_t)plan.live};
    bench_slot slot;
    if (!slot_open(&slot, &options)) bench_fail(run, "cannot open the allocator");
    reuse_pass(run, slot, &plan, count / 10 + 1);
    while (bench_more(run)) {
        bench_start(run);
        uint64_t sum = reuse_pass(run, slot, &plan, count);
        bench_stop(run, plan.live + count / plan.burst * plan.burst, sum);
    }
    slot_close(slot);
}

#endif
