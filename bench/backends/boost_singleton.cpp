// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// boost::singleton_pool: boost::pool behind one mutex. Its size is a template argument.
#include "backends/sizes.hpp"
#include "worker/worker.h"

#include <boost/pool/singleton_pool.hpp>

namespace singleton_peer {
struct bench_tag;
template <typename Size>
using singleton = boost::singleton_pool<bench_tag, Size::value>;

inline unsigned open_slots;    // of all sizes: workloads of one size run here. Main thread only
}    // namespace singleton_peer

using namespace singleton_peer;    // named, because the workloads' types hold the slot and have linkage

typedef size_t bench_slot;    // the size

enum { SLOT_IS_SHARED = 1, SLOT_IS_HEAP = 0 };

static inline bool slot_open(bench_slot *slot, const bench_slot_options *options) {
    *slot = options->size;
    open_slots++;
    return sized_peer::has_size(*slot);
}

// All blocks of the size go, so only with the last slot.
static inline void slot_close(bench_slot slot) {
    if (--open_slots != 0) return;
    sized_peer::by_size(slot, [](auto size) { singleton<decltype(size)>::purge_memory(); });
}

static inline void *slot_alloc(bench_slot slot) {
    return sized_peer::by_size(slot, [](auto size) { return singleton<decltype(size)>::malloc(); });
}

static inline void slot_free(bench_slot slot, void *block) {
    sized_peer::by_size(slot, [block](auto size) { singleton<decltype(size)>::free(block); });
}

static inline bench_requests slot_requests(const bench_slot *) {
    return {0, 0};    // never asked: it does not run the ledger
}

#include "workloads_all.h"

BENCH_BACKEND(boost_singleton_backend, "boost-singleton",
              BENCH_PAIR | BENCH_SINGLE | BENCH_BATCH | BENCH_THREADS | BENCH_CROSS | BENCH_OBJECTS,
              "boost::singleton_pool: a pool behind a mutex " BENCH_SIZES_HELP);
