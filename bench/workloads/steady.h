// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// A fixed population: each step destroys the oldest object and creates one in its place. How an allocator reuses
// blocks shows here, once the blocks of the population no longer fit the first cache.
#include "worker/object.h"

enum { STEADY_LIVE_MAX = 1 << 20 };
BENCH_TABLE bench_object *steady_live[STEADY_LIVE_MAX];

static void steady_fill(const bench_run *run, bench_slot slot, uint64_t live) {
    for (uint64_t i = 0; i < live; i++) steady_live[i] = object_construct(bench_need(run, slot_alloc(slot)), i);
}

static uint64_t steady_pass(const bench_run *run, bench_slot slot, uint64_t count, uint64_t live) {
    uint64_t sum = 0, at = 0;
    for (uint64_t i = 0; i < count; i++) {
        bench_object *old = steady_live[at];
        sum += object_destroy(old) * (i + 1);    // the weight tells blocks that were swapped or given out twice
        bench_escape(old);
        slot_free(slot, old);
        bench_object *object = object_construct(bench_need(run, slot_alloc(slot)), i);
        bench_escape(object);
        steady_live[at] = object;
        if (++at == live) at = 0;
    }
    return sum;
}

static void steady_run(bench_run *run) {
    uint64_t count = bench_value(run, "count"), live = bench_value(run, "live");
    bench_slot_options options = {bench_value(run, "size"), bench_value(run, "capacity"), live};
    if (options.capacity != 0 && options.capacity < live) bench_fail(run, "capacity is below live");
    bench_slot slot;
    if (!slot_open(&slot, &options)) bench_fail(run, "cannot open the allocator");
    steady_fill(run, slot, live);
    steady_pass(run, slot, count, live);    // leaves the population as each pass leaves it
    while (bench_more(run)) {
        bench_start(run);
        uint64_t sum = steady_pass(run, slot, count, live);
        bench_stop(run, count, sum);
    }
    for (uint64_t i = 0; i < live; i++) slot_free(slot, steady_live[i]);
    slot_close(slot);
}

BENCH_WORKLOAD(steady, BENCH_SINGLE, "one object destroyed and one created",
               "a population of constant size; each step destroys the oldest object and creates one",
               {"count", 1000000, 1, 1000000000, "steps in a pass"}, {"live", 256, 1, STEADY_LIVE_MAX, "objects alive"},
               {"size", BENCH_OBJECT_SIZE, BENCH_OBJECT_SIZE, 65536, "bytes of a block"},
               {"capacity", 4096, 0, STEADY_LIVE_MAX, "hard limit of a pool, 0 for none"});
