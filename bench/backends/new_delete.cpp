// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// operator new and operator delete of the process, called as functions, so that no pair is elided.
#include "worker/worker.h"

#include <new>

typedef size_t bench_slot;

enum { SLOT_IS_SHARED = 1, SLOT_IS_HEAP = 1 };

static inline bool slot_open(bench_slot *slot, const bench_slot_options *options) {
    *slot = options->size;
    return true;
}

static inline void slot_close(bench_slot) {}

static inline void *slot_alloc(bench_slot slot) { return ::operator new(slot); }

static inline void slot_free(bench_slot slot, void *block) { ::operator delete(block, slot); }

static inline bench_requests slot_requests(const bench_slot *) { return {0, 0}; }

#include "workloads_all.h"

BENCH_BACKEND(new_delete_backend, "new-delete",
              BENCH_PAIR | BENCH_SINGLE | BENCH_BATCH | BENCH_SIZES | BENCH_THREADS | BENCH_LEDGER | BENCH_REGION |
                  BENCH_CROSS | BENCH_CROSS_SIZES | BENCH_OBJECTS,
              "operator new and delete over the process's malloc");
