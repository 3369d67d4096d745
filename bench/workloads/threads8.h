// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// Several threads, each of which does the pairs of pair64. A shared allocator is shared by all of them; of one that is
// not, each thread has its own.
#include "workloads/parts/pairs.h"

static void threads8_run(bench_run *run) { pairs_threads_run(run); }

BENCH_WORKLOAD(threads8, BENCH_THREADS, "one block allocated and freed, in wall time of all threads together",
               "the pairs of pair64 in several threads at once", {"threads", 8, 1, CREW_MAX, "threads"},
               {"count", 1000000, 1, 1000000000, "pairs of a thread in a pass"},
               {"size", 64, 8, 65536, "bytes of a block"});
