// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// std::pmr::unsynchronized_pool_resource: one for all sizes of a workload, as a program would have it. It takes the size
// on every call, and its calls are virtual.
#include "worker/worker.h"

#include <cstdlib>
#include <memory_resource>
#include <new>

namespace pmr_peer {
inline bench_requests pmr_asked;

class counting_source : public std::pmr::memory_resource {
    void *do_allocate(std::size_t bytes, std::size_t alignment) override {
        pmr_asked.count++;
        pmr_asked.bytes += bytes;
        return std::pmr::new_delete_resource()->allocate(bytes, alignment);
    }
    void do_deallocate(void *block, std::size_t bytes, std::size_t alignment) override {
        std::pmr::new_delete_resource()->deallocate(block, bytes, alignment);
    }
    bool do_is_equal(const std::pmr::memory_resource &other) const noexcept override { return this == &other; }
};

// Main thread only: opened with the first slot, closed with the last.
inline counting_source source;
inline std::pmr::unsynchronized_pool_resource *resource;
inline unsigned open_slots;

struct pmr_slot {
    std::pmr::memory_resource *from;
    size_t size;
};
}    // namespace pmr_peer

using namespace pmr_peer;    // named, because the workloads' types hold the slot and have linkage

typedef pmr_slot bench_slot;

enum { SLOT_IS_SHARED = 0, SLOT_IS_HEAP = 0, PMR_ALIGNMENT = 8 };

static inline bool slot_open(bench_slot *slot, const bench_slot_options *options) {
    if (open_slots++ == 0) resource = new (std::nothrow) std::pmr::unsynchronized_pool_resource(&source);
    *slot = {resource, options->size};
    return resource != nullptr;
}

static inline void slot_close(bench_slot) {
    if (--open_slots == 0) delete resource;
}

static inline void *slot_alloc(bench_slot slot) { return slot.from->allocate(slot.size, PMR_ALIGNMENT); }

static inline void slot_free(bench_slot slot, void *block) { slot.from->deallocate(block, slot.size, PMR_ALIGNMENT); }

static inline bench_requests slot_requests(const bench_slot *) { return pmr_asked; }

#include "workloads_all.h"

BENCH_BACKEND(pmr_backend, "pmr-pool",
              BENCH_PAIR | BENCH_SINGLE | BENCH_BATCH | BENCH_SIZES | BENCH_LEDGER | BENCH_REGION | BENCH_OBJECTS,
              "std::pmr::unsynchronized_pool_resource, one for all sizes");
