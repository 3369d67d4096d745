// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// Passive false sharing: the main thread allocates an object for each thread, side by side; each frees the one that it was given
// and goes on with objects of its own.
#include "workloads/parts/scratch.h"

static unsigned char *cache_scratch_given[CREW_MAX];

static uint64_t cache_scratch_work(crew_member *member, uint64_t count) {
    unsigned char *given = cache_scratch_given[member->index];
    uint64_t sum = given[0];
    slot_free(member->slot, given);
    return sum + scratch_work(member, count);
}

static void cache_scratch_run(bench_run *run) {
    uint64_t threads = bench_value(run, "threads"), count = bench_value(run, "count");
    crew *all = crew_of(run, cache_scratch_work, threads, count, 2 * threads);
    while (bench_more(run)) {
        for (uint64_t i = 0; i < threads; i++) {
            cache_scratch_given[i] = (unsigned char *)bench_need(run, slot_alloc(all->slots[0]));
            cache_scratch_given[i][0] = (unsigned char)i;
        }
        crew_pass(all, count * threads);
    }
    crew_dismiss(all);
}

BENCH_WORKLOAD_NAMED(cache_scratch, "cache-scratch", BENCH_CROSS, "one object allocated, written often, freed",
                     "false sharing that an allocator inherits: objects that others allocated are freed and reused",
                     {"threads", 2, 1, CREW_MAX, "threads"},
                     {"count", 20000, 1, 100000000, "objects of a thread in a pass"},
                     {"size", 8, 8, 65536, "bytes of an object"}, {"writes", 1000, 1, 1000000, "to each object"});
