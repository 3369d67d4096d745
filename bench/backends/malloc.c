// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// Whatever malloc the process has, called as an ordinary program calls it: through the PLT, and never elided (the file is
// compiled with -fno-builtin-malloc -fno-builtin-free). It is alone in its worker, so that nothing but libc is loaded.
#include "worker/worker.h"

#include <stdlib.h>

typedef size_t bench_slot;

enum { SLOT_IS_SHARED = 1, SLOT_IS_HEAP = 1 };

static inline bool slot_open(bench_slot *slot, const bench_slot_options *options) {
    *slot = options->size;
    return true;
}

static inline void slot_close(bench_slot slot) { (void)slot; }

static inline void *slot_alloc(bench_slot slot) { return malloc(slot); }

static inline void slot_free(bench_slot slot, void *block) {
    (void)slot;
    free(block);
}

// For workloads/parts/optional.h.
#define SLOT_RESIZES 1
static inline void *slot_resize(bench_slot slot, void *block, size_t size) {
    (void)slot;
    return realloc(block, size);
}

// A heap counts a request a block (SLOT_IS_HEAP); the workload does that.
static inline bench_requests slot_requests(const bench_slot *slot) {
    (void)slot;
    bench_requests none = {0, 0};
    return none;
}

#include "workloads_all.h"

BENCH_BACKEND(malloc_backend, "malloc",
              BENCH_PAIR | BENCH_SINGLE | BENCH_BATCH | BENCH_SIZES | BENCH_THREADS | BENCH_LEDGER | BENCH_REGION |
                  BENCH_CROSS | BENCH_CROSS_SIZES | BENCH_REALLOC | BENCH_OBJECTS,
              "malloc and free of the process");
