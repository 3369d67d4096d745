// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// boost::singleton_pool: boost::pool behind one mutex. Its size is a template argument, so only the sizes below run.
#include "worker/worker.h"

#include <boost/pool/singleton_pool.hpp>

namespace singleton_peer {
struct bench_tag;
template <unsigned Size>
using singleton = boost::singleton_pool<bench_tag, Size>;

// Of all blocks of a size; called when no block is alive.
template <unsigned Size>
void purge() {
    singleton<Size>::purge_memory();
}
}    // namespace singleton_peer

using namespace singleton_peer;    // named, because the workloads' types hold the slot and have linkage

typedef size_t bench_slot;    // the size, one of these

enum { SLOT_IS_SHARED = 1, SLOT_IS_HEAP = 0 };

static inline bool slot_open(bench_slot *slot, const bench_slot_options *options) {
    *slot = options->size;
    return *slot == 56 || *slot == 64 || *slot == 128 || *slot == 264;
}

static inline void slot_close(bench_slot slot) {
    switch (slot) {
        case 56: purge<56>(); break;
        case 64: purge<64>(); break;
        case 128: purge<128>(); break;
        default: purge<264>(); break;
    }
}

static inline void *slot_alloc(bench_slot slot) {
    switch (slot) {
        case 56: return singleton<56>::malloc();
        case 64: return singleton<64>::malloc();
        case 128: return singleton<128>::malloc();
        default: return singleton<264>::malloc();
    }
}

static inline void slot_free(bench_slot slot, void *block) {
    switch (slot) {
        case 56: singleton<56>::free(block); break;
        case 64: singleton<64>::free(block); break;
        case 128: singleton<128>::free(block); break;
        default: singleton<264>::free(block); break;
    }
}

static inline bench_requests slot_requests(const bench_slot *) {
    return {0, 0};    // never asked: it does not run the ledger
}

#include "workloads_all.h"

BENCH_BACKEND(boost_singleton_backend, "boost-singleton", BENCH_SINGLE | BENCH_BATCH | BENCH_THREADS,
              "boost::singleton_pool: a pool behind a mutex (blocks of 56, 64, 128 and 264 bytes)");
