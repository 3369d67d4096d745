// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// The same for objects that are touched late, such as buffers that wait for data: a block that was hot when it was given out
// has left the first cache by then.
#include "workloads/parts/reuse.h"

static void order_late_run(bench_run *run) { reuse_run(run); }

BENCH_WORKLOAD_NAMED(order_late, "order-late", BENCH_SINGLE, "one object destroyed and one created",
                     "last or first freed block again: a queue of objects that are written long after their creation",
                     {"count", 400000, 1, 1000000000, "objects in a pass"},
                     {"live", 4096, 2, REUSE_LIVE_MAX, "objects alive"}, {"size", 128, 16, 65536, "bytes of an object"},
                     {"burst", 16, 1, REUSE_LIVE_MAX, "objects destroyed before as many are created"},
                     {"lag", 1024, 0, REUSE_LIVE_MAX, "objects created before one is written"});
