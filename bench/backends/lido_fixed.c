// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// lido's fixed pool over one piece of heap memory, large enough for the capacity or, without one, for the most blocks
// that the workload can have alive. Of threads each has its own pool.
#include "worker/worker.h"

#include <lido/fixed.h>
#include <stdlib.h>

typedef struct fixed_pool {
    lido_fixed fixed;
    void *buffer;
    uint64_t bytes;
} fixed_pool;

typedef fixed_pool *bench_slot;

enum { SLOT_IS_SHARED = 0, SLOT_IS_HEAP = 0 };

static inline bool slot_open(bench_slot *slot, const bench_slot_options *options) {
    fixed_pool *pool = (fixed_pool *)malloc(sizeof *pool);
    if (pool == NULL) return false;
    size_t count = options->capacity != 0 ? options->capacity : options->most_live;
    pool->bytes = LIDO_FIXED_BYTES(count, options->size, 0);
    pool->buffer = malloc(pool->bytes);
    *slot = pool;
    return pool->buffer != NULL && lido_fixed_init(&pool->fixed, pool->buffer, pool->bytes, options->size, 0);
}

static inline void slot_close(bench_slot slot) {
    free(slot->buffer);
    free(slot);
}

static inline void *slot_alloc(bench_slot slot) { return lido_fixed_alloc(&slot->fixed); }

static inline void slot_free(bench_slot slot, void *block) { lido_fixed_free(&slot->fixed, block); }

static inline bench_requests slot_requests(const bench_slot *slot) {
    bench_requests asked = {1, (*slot)->bytes};
    return asked;
}

#include "workloads_all.h"

BENCH_BACKEND(lido_fixed_backend, "lido-fixed",
              BENCH_PAIR | BENCH_SINGLE | BENCH_BATCH | BENCH_SIZES | BENCH_THREADS | BENCH_LEDGER | BENCH_REGION |
                  BENCH_CAPACITY | BENCH_OBJECTS,
              "lido_fixed_alloc inline, over one piece of heap memory");
