// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// What a lock around a pool costs: four threads, with one pool behind a mutex, with malloc, with a pool for each.
#include "workloads/parts/pairs.h"

static void threads4_lock_run(bench_run *run) { pairs_threads_run(run); }

BENCH_WORKLOAD_NAMED(threads4_lock, "threads4-lock", BENCH_THREADS,
                     "one block allocated and freed, in wall time of all threads together",
                     "4 threads of pairs: a pool behind one mutex against malloc and a pool for each thread",
                     {"threads", 4, 1, CREW_MAX, "threads"},
                     {"count", 500000, 1, 1000000000, "pairs of a thread in a pass"},
                     {"size", 64, 8, 65536, "bytes of a block"});
