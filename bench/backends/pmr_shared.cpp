// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// std::pmr::synchronized_pool_resource: one for all sizes and threads of a workload.
#include "worker/worker.h"

#include <memory_resource>
#include <new>

namespace pmr_shared_peer {
// Main thread only: opened with the first slot, closed with the last.
inline std::pmr::synchronized_pool_resource *resource;
inline unsigned open_slots;

struct pmr_slot {
    std::pmr::memory_resource *from;
    size_t size;
};
}    // namespace pmr_shared_peer

using namespace pmr_shared_peer;    // named, because the workloads' types hold the slot and have linkage

typedef pmr_slot bench_slot;

enum { SLOT_IS_SHARED = 1, SLOT_IS_HEAP = 0, PMR_ALIGNMENT = 8 };

static inline bool slot_open(bench_slot *slot, const bench_slot_options *options) {
    if (open_slots++ == 0) resource = new (std::nothrow) std::pmr::synchronized_pool_resource();
    *slot = {resource, options->size};
    return resource != nullptr;
}

static inline void slot_close(bench_slot) {
    if (--open_slots == 0) delete resource;
}

static inline void *slot_alloc(bench_slot slot) { return slot.from->allocate(slot.size, PMR_ALIGNMENT); }

static inline void slot_free(bench_slot slot, void *block) { slot.from->deallocate(block, slot.size, PMR_ALIGNMENT); }

static inline bench_requests slot_requests(const bench_slot *) {
    return {0, 0};    // never asked: it does not run the ledger
}

#include "workloads_all.h"

BENCH_BACKEND(pmr_shared_backend, "pmr-synchronized", BENCH_THREADS | BENCH_CROSS | BENCH_CROSS_SIZES,
              "std::pmr::synchronized_pool_resource, one for all threads");
