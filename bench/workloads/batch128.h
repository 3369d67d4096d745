// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// Many blocks are allocated and written, then all are freed. Memory is fresh, so page faults are part of the price;
// there is one pass, as a second one would find the pages there. The warm-up is 1,000 blocks.

enum { BATCH128_COUNT_MAX = 4 << 20 };
BENCH_TABLE uint64_t *batch128_blocks[BATCH128_COUNT_MAX];
BENCH_TABLE uint32_t batch128_turn[BATCH128_COUNT_MAX];    // which block is freed next

// The order in which blocks are freed: 0 as allocated, 1 the other way round, 2 at random (always the same).
static void batch128_plan(uint64_t count, uint64_t order) {
    uint64_t state = 88172645463325252u;
    for (uint64_t i = 0; i < count; i++) batch128_turn[i] = (uint32_t)(order == 1 ? count - 1 - i : i);
    for (uint64_t i = count - 1; order == 2 && i > 0; i--) {
        uint64_t other = bench_random(&state) % (i + 1);
        uint32_t turn = batch128_turn[i];
        batch128_turn[i] = batch128_turn[other];
        batch128_turn[other] = turn;
    }
    for (uint64_t i = 0; i < count; i++)
        batch128_blocks[i] = (uint64_t *)batch128_turn;    // touched before the clock runs
}

static uint64_t batch128_pass(const bench_run *run, bench_slot slot, uint64_t count) {
    for (uint64_t i = 0; i < count; i++) {
        uint64_t *block = (uint64_t *)bench_need(run, slot_alloc(slot));
        *block = i;
        batch128_blocks[i] = block;
    }
    uint64_t sum = 0;
    bench_escape(batch128_blocks);
    for (uint64_t i = 0; i < count; i++) {
        uint64_t *block = batch128_blocks[batch128_turn[i]];
        sum += *block * (i & 7);
        slot_free(slot, block);
    }
    return sum;
}

static void batch128_run(bench_run *run) {
    uint64_t count = bench_value(run, "count"), warm = count < 1000 ? count : 1000;
    bench_slot_options options = {bench_value(run, "size"), 0, count};
    bench_slot slot;
    if (!slot_open(&slot, &options)) bench_fail(run, "cannot open the allocator");
    batch128_plan(warm, 0);
    batch128_pass(run, slot, warm);
    batch128_plan(count, bench_value(run, "order"));
    bench_start(run);
    uint64_t sum = batch128_pass(run, slot, count);
    bench_stop(run, count, sum);
    slot_close(slot);
}

BENCH_WORKLOAD(batch128, BENCH_BATCH, "one block allocated and freed",
               "allocate blocks and write a word to each, then free all of them",
               {"count", 1000000, 1, BATCH128_COUNT_MAX, "blocks"}, {"size", 128, 8, 65536, "bytes of a block"},
               {"order", 0, 0, 2, "of the frees: 0 as allocated, 1 reverse, 2 random"});
