// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// Allocate, write one word, free: the price of the pair itself.

static uint64_t pair64_pass(const bench_run *run, bench_slot slot, uint64_t count) {
    uint64_t sum = 0;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t *block = (uint64_t *)bench_need(run, slot_alloc(slot));
        *block = i;
        bench_escape(block);
        sum += *block;
        slot_free(slot, block);
    }
    return sum;
}

static void pair64_run(bench_run *run) {
    uint64_t count = bench_value(run, "count");
    bench_slot_options options = {bench_value(run, "size"), 0, 1};
    bench_slot slot;
    if (!slot_open(&slot, &options)) bench_fail(run, "cannot open the allocator");
    pair64_pass(run, slot, count / 10 + 1);
    while (bench_more(run)) {
        bench_start(run);
        uint64_t sum = pair64_pass(run, slot, count);
        bench_stop(run, count, sum);
    }
    slot_close(slot);
}

BENCH_WORKLOAD(pair64, BENCH_SINGLE, "one block allocated and freed", "allocate a block, write a word, free it at once",
               {"count", 5000000, 1, 1000000000, "pairs in a pass"}, {"size", 64, 8, 1048576, "bytes of a block"});
