// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// boost::object_pool: keeps its free list sorted by address, so that it can destroy what is left; a free walks the list. It
// therefore runs only workloads with few free blocks.
#include "backends/sizes.hpp"
#include "worker/worker.h"

#include <boost/pool/object_pool.hpp>
#include <new>

namespace object_peer {
template <typename Size>
using object_pool = boost::object_pool<sized_peer::block<Size::value>>;

struct object_slot {
    void *pool;    // an object_pool of the size
    size_t size;
};

template <typename Size>
static inline object_pool<Size> *pool_of(void *pool) {
    return static_cast<object_pool<Size> *>(pool);
}
}    // namespace object_peer

using namespace object_peer;    // named, because the workloads' types hold the slot and have linkage

typedef object_slot bench_slot;

enum { SLOT_IS_SHARED = 0, SLOT_IS_HEAP = 0 };

static inline bool slot_open(bench_slot *slot, const bench_slot_options *options) {
    if (!sized_peer::has_size(options->size)) return false;
    slot->size = options->size;
    slot->pool = sized_peer::by_size(
        options->size, [](auto size) { return static_cast<void *>(new (std::nothrow) object_pool<decltype(size)>()); });
    return slot->pool != nullptr;
}

static inline void slot_close(bench_slot slot) {
    sized_peer::by_size(slot.size, [slot](auto size) { delete pool_of<decltype(size)>(slot.pool); });
}

static inline void *slot_alloc(bench_slot slot) {
    return sized_peer::by_size(
        slot.size, [slot](auto size) { return static_cast<void *>(pool_of<decltype(size)>(slot.pool)->malloc()); });
}

static inline void slot_free(bench_slot slot, void *block) {
    sized_peer::by_size(slot.size, [slot, block](auto size) {
        pool_of<decltype(size)>(slot.pool)->free(static_cast<sized_peer::block<decltype(size)::value> *>(block));
    });
}

static inline bench_requests slot_requests(const bench_slot *) {
    return {0, 0};    // never asked: it does not run the ledger
}

// A free into a list of N free blocks takes N steps: the blocks of litter would take minutes.
#define SLOT_LITTERS_OUTSIDE 1

#include "workloads_all.h"

BENCH_BACKEND(boost_object_backend, "boost-object-pool", BENCH_PAIR | BENCH_SINGLE | BENCH_OBJECTS,
              "boost::object_pool, whose free list is sorted " BENCH_SIZES_HELP);
