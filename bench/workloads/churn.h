// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// One object is created and destroyed at once, again and again: the best case of any free list.
#include "worker/object.h"

static uint64_t churn_pass(const bench_run *run, bench_slot slot, uint64_t count) {
    uint64_t sum = 0;
    for (uint64_t i = 0; i < count; i++) {
        void *block = bench_need(run, slot_alloc(slot));
        bench_object *object = object_construct(block, i);
        bench_escape(object);
        sum += object_destroy(object);
        bench_escape(object);
        slot_free(slot, object);
    }
    return sum;
}

static void churn_run(bench_run *run) {
    uint64_t count = bench_value(run, "count");
    bench_slot_options options = {bench_value(run, "size"), bench_value(run, "capacity"), 1};
    bench_slot slot;
    if (!slot_open(&slot, &options)) bench_fail(run, "cannot open the allocator");
    churn_pass(run, slot, count / 10 + 1);
    while (bench_more(run)) {
        bench_start(run);
        uint64_t sum = churn_pass(run, slot, count);
        bench_stop(run, count, sum);
    }
    slot_close(slot);
}

BENCH_WORKLOAD(churn, BENCH_SINGLE, "one object created and destroyed",
               "create an object, destroy it at once; its constructor fills 28 bytes",
               {"count", 1000000, 1, 1000000000, "objects in a pass"},
               {"size", BENCH_OBJECT_SIZE, BENCH_OBJECT_SIZE, 65536, "bytes of a block"},
               {"capacity", 4096, 0, 1000000, "hard limit of a pool, 0 for none"});
