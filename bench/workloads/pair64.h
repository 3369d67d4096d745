// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// Allocate, write one word, free: the price of the pair itself. Regions take part: they forget all blocks now and then.
#include "workloads/parts/pairs.h"

static void pair64_run(bench_run *run) { pairs_run(run); }

BENCH_WORKLOAD(pair64, BENCH_PAIR, "one block allocated and freed", "allocate a block, write a word, free it at once",
               {"count", 5000000, 1, 1000000000, "pairs in a pass"}, {"size", 64, 8, 1048576, "bytes of a block"});
