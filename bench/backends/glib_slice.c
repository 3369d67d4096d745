// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// Slices of GLib: size classes with a cache for each thread. GLib 2.76 and later forward them to malloc; this backend is built
// only with an earlier one.
#include "worker/worker.h"

#include <glib.h>

typedef size_t bench_slot;

enum { SLOT_IS_SHARED = 1, SLOT_IS_HEAP = 0 };

static inline bool slot_open(bench_slot *slot, const bench_slot_options *options) {
    *slot = options->size;
    return true;
}

static inline void slot_close(bench_slot slot) { (void)slot; }

static inline void *slot_alloc(bench_slot slot) { return g_slice_alloc(slot); }

static inline void slot_free(bench_slot slot, void *block) { g_slice_free1(slot, block); }

// Never asked: it does not run the ledger.
static inline bench_requests slot_requests(const bench_slot *slot) {
    (void)slot;
    bench_requests none = {0, 0};
    return none;
}

#include "workloads_all.h"

BENCH_BACKEND(glib_slice_backend, "glib-slice",
              BENCH_PAIR | BENCH_SINGLE | BENCH_BATCH | BENCH_SIZES | BENCH_THREADS | BENCH_REGION | BENCH_CROSS |
                  BENCH_CROSS_SIZES | BENCH_OBJECTS,
              "g_slice_alloc of GLib, cached by thread");
