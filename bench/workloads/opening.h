// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// What a pool costs to begin with: open it, allocate and free some blocks, close it. A malloc has nothing to open.
#include "worker/worker.h"

enum { OPENING_BLOCKS_MAX = 4096 };

static uint64_t opening_once(const bench_run *run, const bench_slot_options *options, uint64_t blocks) {
    uint64_t *given[OPENING_BLOCKS_MAX], sum = 0;
    bench_slot slot;
    if (!slot_open_clean(&slot, options)) bench_fail(run, "cannot open the allocator");
    for (uint64_t i = 0; i < blocks; i++) {
        given[i] = (uint64_t *)bench_need(run, slot_alloc(slot));
        *given[i] = i + 1;
    }
    bench_escape(given);
    for (uint64_t i = 0; i < blocks; i++) {
        sum += *given[i] * (i + 1);
        slot_free(slot, given[i]);
    }
    slot_close_clean(slot);
    return sum;
}

static void opening_run(bench_run *run) {
    uint64_t count = bench_value(run, "count"), blocks = bench_value(run, "blocks"), sum = 0;
    bench_slot_options options = {(size_t)bench_value(run, "size"), 0, (size_t)blocks};
    bench_slot beside;    // holds the litter, if there is any
    if (!slot_open(&beside, &options)) bench_fail(run, "cannot open the allocator");
    for (uint64_t i = 0; i < count / 10 + 1; i++) sum += opening_once(run, &options, blocks);
    while (bench_more(run)) {
        sum = 0;
        bench_start(run);
        for (uint64_t i = 0; i < count; i++) sum += opening_once(run, &options, blocks);
        bench_stop(run, count, sum);
    }
    slot_close(beside);
}

BENCH_WORKLOAD(opening, BENCH_SINGLE, "one pool opened, used and closed",
               "open a pool, allocate and free 8 blocks, close it", {"count", 10000, 1, 10000000, "pools in a pass"},
               {"blocks", 8, 1, OPENING_BLOCKS_MAX, "blocks of each"}, {"size", 64, 8, 65536, "bytes of a block"});
