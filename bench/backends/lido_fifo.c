// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// lido's pool for one thread in FIFO order: the block that was freed first goes out first. To be read against lido-local.
#include "worker/worker.h"

#include <lido/pool.h>

typedef lido_pool *bench_slot;

enum { SLOT_IS_SHARED = 0, SLOT_IS_HEAP = 0 };

static inline bool slot_open(bench_slot *slot, const bench_slot_options *options) {
    lido_pool_options pool = {0};
    pool.name = "bench";
    pool.block_size = options->size;
    pool.capacity = options->capacity;
    pool.threads = LIDO_LOCAL;
    pool.order = LIDO_FIFO;
    *slot = lido_pool_new(&pool);
    return *slot != NULL;
}

static inline void slot_close(bench_slot slot) { lido_pool_destroy(slot); }

static inline void *slot_alloc(bench_slot slot) { return lido_pool_alloc(slot); }

static inline void slot_free(bench_slot slot, void *block) { lido_pool_free(slot, block); }

static inline bench_requests slot_requests(const bench_slot *slot) {
    lido_pool_statistics statistics = lido_pool_stats(*slot);
    bench_requests asked = {statistics.slab_count, statistics.held_bytes};
    return asked;
}

#include "workloads_all.h"

BENCH_BACKEND(lido_fifo_backend, "lido-fifo", BENCH_PAIR | BENCH_SINGLE | BENCH_BATCH | BENCH_CAPACITY,
              "lido_pool_alloc on a LIDO_LOCAL pool in FIFO order");
