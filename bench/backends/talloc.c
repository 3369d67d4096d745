// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// talloc: malloc with a parent for every block, a context for each slot. Of threads each has its own context. Only where its
// header is.
#include "worker/worker.h"

#include <talloc.h>

typedef struct talloc_slot {
    void *context;
    size_t size;
} talloc_slot;

typedef talloc_slot bench_slot;

enum { SLOT_IS_SHARED = 0, SLOT_IS_HEAP = 0 };

static inline bool slot_open(bench_slot *slot, const bench_slot_options *options) {
    slot->context = talloc_new(NULL);
    slot->size = options->size;
    return slot->context != NULL;
}

static inline void slot_close(bench_slot slot) { talloc_free(slot.context); }

static inline void *slot_alloc(bench_slot slot) { return talloc_size(slot.context, slot.size); }

static inline void slot_free(bench_slot slot, void *block) {
    (void)slot;
    talloc_free(block);
}

#define SLOT_RELEASES 1
static inline void slot_release(bench_slot slot, void *const *blocks, size_t count) {
    (void)blocks, (void)count;
    talloc_free_children(slot.context);
}

#define SLOT_RESIZES 1
static inline void *slot_resize(bench_slot slot, void *block, size_t size) {
    return talloc_realloc_size(slot.context, block, size);
}

// Never asked: it does not run the ledger.
static inline bench_requests slot_requests(const bench_slot *slot) {
    (void)slot;
    bench_requests none = {0, 0};
    return none;
}

#include "workloads_all.h"

BENCH_BACKEND(talloc_backend, "talloc",
              BENCH_PAIR | BENCH_SINGLE | BENCH_BATCH | BENCH_SIZES | BENCH_THREADS | BENCH_REGION | BENCH_REALLOC |
                  BENCH_OBJECTS,
              "talloc_size under a context for each slot");
