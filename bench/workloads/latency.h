// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// Consecutive pairs for the look at every single call: its percentiles and its maximum are what counts here.
#include "workloads/parts/pairs.h"

static void latency_run(bench_run *run) { pairs_run(run); }

BENCH_WORKLOAD(latency, BENCH_PAIR, "one block allocated and freed",
               "100,000 consecutive pairs, for the latencies of single calls",
               {"count", 100000, 1, 1000000000, "pairs in a pass"}, {"size", 64, 8, 1048576, "bytes of a block"});
