// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// foonathan::memory::memory_pool_collection<node_pool, log2_buckets>: one for all sizes of a workload, with a free list for each
// power of two.
#include "worker/worker.h"

#include <foonathan/memory/memory_pool_collection.hpp>
#include <new>

namespace foonathan_sizes_peer {
typedef foonathan::memory::memory_pool_collection<foonathan::memory::node_pool, foonathan::memory::log2_buckets>
    collection;

enum { COLLECTION_LARGEST = 1024, COLLECTION_BLOCK = 256 << 10 };

// Main thread only: opened with the first slot, closed with the last.
inline collection *pools;
inline unsigned open_slots;

struct collection_slot {
    collection *from;
    size_t size;
};
}    // namespace foonathan_sizes_peer

using namespace foonathan_sizes_peer;    // named, because the workloads' types hold the slot and have linkage

typedef collection_slot bench_slot;

enum { SLOT_IS_SHARED = 0, SLOT_IS_HEAP = 0 };

static inline bool slot_open(bench_slot *slot, const bench_slot_options *options) {
    if (options->size > COLLECTION_LARGEST) return false;
    if (open_slots++ == 0) pools = new (std::nothrow) collection(COLLECTION_LARGEST, COLLECTION_BLOCK);
    *slot = {pools, options->size};
    return pools != nullptr;
}

static inline void slot_close(bench_slot) {
    if (--open_slots == 0) delete pools;
}

static inline void *slot_alloc(bench_slot slot) { return slot.from->allocate_node(slot.size); }

static inline void slot_free(bench_slot slot, void *block) { slot.from->deallocate_node(block, slot.size); }

static inline bench_requests slot_requests(const bench_slot *) {
    return {0, 0};    // never asked: it does not run the ledger
}

#include "workloads_all.h"

BENCH_BACKEND(foonathan_sizes_backend, "foonathan-sizes", BENCH_SIZES | BENCH_REGION,
              "foonathan::memory::memory_pool_collection, one for all sizes");
