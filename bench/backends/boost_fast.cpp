// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// boost::fast_pool_allocator, as a node container uses it: one object a call, from a singleton pool behind a mutex. It gives no
// memory back.
#include "backends/sizes.hpp"
#include "worker/worker.h"

#include <boost/pool/pool_alloc.hpp>

namespace fast_peer {
template <typename Size>
using fast = boost::fast_pool_allocator<sized_peer::block<Size::value>>;
}    // namespace fast_peer

using namespace fast_peer;    // named, because the workloads' types hold the slot and have linkage

typedef size_t bench_slot;    // the size

enum { SLOT_IS_SHARED = 1, SLOT_IS_HEAP = 0 };

static inline bool slot_open(bench_slot *slot, const bench_slot_options *options) {
    *slot = options->size;
    return sized_peer::has_size(*slot);
}

static inline void slot_close(bench_slot) {}

static inline void *slot_alloc(bench_slot slot) {
    return sized_peer::by_size(slot, [](auto size) { return static_cast<void *>(fast<decltype(size)>::allocate()); });
}

static inline void slot_free(bench_slot slot, void *block) {
    sized_peer::by_size(slot, [block](auto size) {
        fast<decltype(size)>::deallocate(static_cast<sized_peer::block<decltype(size)::value> *>(block));
    });
}

static inline bench_requests slot_requests(const bench_slot *) {
    return {0, 0};    // never asked: it does not run the ledger
}

#include "workloads_all.h"

BENCH_BACKEND(boost_fast_backend, "boost-fast-alloc",
              BENCH_PAIR | BENCH_SINGLE | BENCH_BATCH | BENCH_THREADS | BENCH_CROSS | BENCH_OBJECTS,
              "boost::fast_pool_allocator, one object a call " BENCH_SIZES_HELP);
