// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// foonathan::memory::memory_pool<node_pool>: an intrusive list that grows by doubling.
#include "worker/worker.h"

#include <cstdlib>
#include <foonathan/memory/memory_pool.hpp>
#include <new>

namespace foonathan_peer {
inline bench_requests foonathan_asked;    // of all pools of this process

// The library's interface for a source of memory.
struct counting_source {
    typedef std::false_type is_stateful;
    void *allocate_node(std::size_t size, std::size_t) {
        foonathan_asked.count++;
        foonathan_asked.bytes += size;
        void *block = std::malloc(size);
        if (block == nullptr) throw std::bad_alloc();
        return block;
    }
    void deallocate_node(void *block, std::size_t, std::size_t) noexcept { std::free(block); }
};
typedef foonathan::memory::memory_pool<foonathan::memory::node_pool, counting_source> node_pool;
}    // namespace foonathan_peer

using namespace foonathan_peer;    // named, because the workloads' types hold the slot and have linkage

typedef node_pool *bench_slot;

enum { SLOT_IS_SHARED = 0, SLOT_IS_HEAP = 0, FOONATHAN_FIRST_STEP = 64 };

static inline bool slot_open(bench_slot *slot, const bench_slot_options *options) {
    size_t step = options->capacity != 0 ? options->capacity : static_cast<size_t>(FOONATHAN_FIRST_STEP);
    size_t size = options->size < node_pool::min_node_size ? node_pool::min_node_size : options->size;
    *slot = new (std::nothrow) node_pool(size, node_pool::min_block_size(size, step));
    return *slot != nullptr;
}

static inline void slot_close(bench_slot slot) { delete slot; }

static inline void *slot_alloc(bench_slot slot) { return slot->allocate_node(); }

static inline void slot_free(bench_slot slot, void *block) { slot->deallocate_node(block); }

static inline bench_requests slot_requests(const bench_slot *) { return foonathan_asked; }

#include "workloads_all.h"

BENCH_BACKEND(foonathan_backend, "foonathan-node",
              BENCH_PAIR | BENCH_SINGLE | BENCH_BATCH | BENCH_SIZES | BENCH_LEDGER | BENCH_REGION | BENCH_OBJECTS,
              "foonathan::memory::memory_pool<node_pool>, one for each size");
