// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// Reuse of a block that was just given back (LIFO) against one that has rested (FIFO), for objects that are written at once:
// the allocators differ in the order, so read lido-local against lido-fifo, and against the mallocs.
#include "workloads/parts/reuse.h"

static void order_run(bench_run *run) { reuse_run(run); }

BENCH_WORKLOAD(order, BENCH_SINGLE, "one object destroyed and one created",
               "last or first freed block again: a queue of objects that are written as soon as they are created",
               {"count", 400000, 1, 1000000000, "objects in a pass"},
               {"live", 4096, 2, REUSE_LIVE_MAX, "objects alive"}, {"size", 128, 16, 65536, "bytes of an object"},
               {"burst", 16, 1, REUSE_LIVE_MAX, "objects destroyed before as many are created"},
               {"lag", 0, 0, REUSE_LIVE_MAX, "objects created before one is written"});
