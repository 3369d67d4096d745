// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// Active false sharing: threads allocate small objects at the same time, and write to them many times.
#include "workloads/parts/scratch.h"

static void cache_thrash_run(bench_run *run) {
    uint64_t threads = bench_value(run, "threads"), count = bench_value(run, "count");
    crew *all = crew_of(run, scratch_work, threads, count, threads);
    while (bench_more(run)) crew_pass(all, count * threads);
    crew_dismiss(all);
}

BENCH_WORKLOAD_NAMED(cache_thrash, "cache-thrash", BENCH_THREADS, "one object allocated, written often, freed",
                     "false sharing that an allocator causes: objects of two threads in one cache line",
                     {"threads", 2, 1, CREW_MAX, "threads"},
                     {"count", 20000, 1, 100000000, "objects of a thread in a pass"},
                     {"size", 8, 8, 65536, "bytes of an object"}, {"writes", 1000, 1, 1000000, "to each object"});
