// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// What backends without a free of single blocks share: one region for all slots of the process, as a program would have it,
// opened with the first slot and closed with the last.
//
//   slot_release   empties the region, by the first slot; the others' blocks are gone with it
//   slot_free      counts. Workloads of BENCH_PAIR have one block alive at most, so when REGION_PAIRS of them were given back the
//                  region is emptied: it neither grows without bound nor pays for a reset with every pair
//
// A backend defines region_memory (a pointer type), region_new, region_delete, region_alloc and region_empty before it
// includes this. Main thread only.
#ifndef LIDO_BENCH_REGION_H
#define LIDO_BENCH_REGION_H

#include "worker/worker.h"

#define SLOT_RELEASES 1

enum { SLOT_IS_SHARED = 0, SLOT_IS_HEAP = 0, REGION_PAIRS = 1024 };

typedef struct region {
    region_memory memory;
    unsigned open, given_back;
} region;

static region region_here;

typedef struct region_slot {
    size_t size;
    size_t first;    // 1 or 0: no padding
} region_slot;

typedef region_slot bench_slot;

static inline bool slot_open(bench_slot *slot, const bench_slot_options *options) {
    slot->size = options->size;
    slot->first = region_here.open++ == 0;
    if (slot->first) region_here.memory = region_new();
    return region_here.memory != NULL;
}

static inline void slot_close(bench_slot slot) {
    (void)slot;
    if (--region_here.open == 0) region_delete(region_here.memory);
}

static inline void *slot_alloc(bench_slot slot) { return region_alloc(region_here.memory, slot.size); }

static inline void slot_free(bench_slot slot, void *block) {
    (void)slot, (void)block;
    if (__builtin_expect(++region_here.given_back < REGION_PAIRS, 1)) return;
    region_here.given_back = 0;
    region_empty(region_here.memory);
}

static inline void slot_release(bench_slot slot, void *const *blocks, size_t count) {
    (void)blocks, (void)count;
    if (slot.first) region_empty(region_here.memory);
}

// Never asked: regions do not run the ledger.
static inline bench_requests slot_requests(const bench_slot *slot) {
    (void)slot;
    bench_requests none = {0, 0};
    return none;
}

#endif
