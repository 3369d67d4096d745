// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// Blocks given back all at once: what an arena, a pool of a pool library or an obstack is for. Allocators without such a call free
// each block, in the order of their allocation.
#include "workloads/parts/optional.h"

enum { REGION64_BATCH_MAX = 1 << 20 };
BENCH_TABLE void *region64_blocks[REGION64_BATCH_MAX];

static uint64_t region64_pass(const bench_run *run, bench_slot slot, uint64_t count, uint64_t batch) {
    uint64_t sum = 0;
    for (uint64_t i = 0; i < count; i++) {
        for (uint64_t n = 0; n < batch; n++) {
            uint64_t *block = (uint64_t *)bench_need(run, slot_alloc(slot));
            *block = i + n;
            region64_blocks[n] = block;
        }
        bench_escape(region64_blocks);
        for (uint64_t n = 0; n < batch; n++) sum += *(uint64_t *)region64_blocks[n] * (n + 1);
        slot_release(slot, region64_blocks, batch);
    }
    return sum;
}

static void region64_run(bench_run *run) {
    uint64_t count = bench_value(run, "count"), batch = bench_value(run, "batch");
    bench_slot_options options = {(size_t)bench_value(run, "size"), 0, (size_t)batch};
    bench_slot slot;
    if (!slot_open(&slot, &options)) bench_fail(run, "cannot open the allocator");
    region64_pass(run, slot, count / 10 + 1, batch);
    while (bench_more(run)) {
        bench_start(run);
        uint64_t sum = region64_pass(run, slot, count, batch);
        bench_stop(run, count * batch, sum);
    }
    slot_close(slot);
}

BENCH_WORKLOAD(region64, BENCH_REGION, "one block allocated, and given back with all others",
               "1,000 blocks of 64 bytes, then all given back at once: the shape of arenas",
               {"count", 2000, 1, 100000000, "times in a pass"}, {"batch", 1000, 1, REGION64_BATCH_MAX, "blocks"},
               {"size", 64, 8, 65536, "bytes of a block"});
