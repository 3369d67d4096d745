// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// butil::ObjectPool of brpc: thread-cached, for one type each. Built when its headers are found, or with
// -DLIDO_BRPC_INCLUDE=path of brpc's src folder (Debian has no package). Its size is that of a type, so only the sizes below
// run, and it never gives memory back.
#include "worker/worker.h"

#include <butil/object_pool.h>

namespace brpc_peer {
// Not initialized by its constructor, so that get_object does no more than an allocation does.
template <size_t Size> struct block {
    unsigned char bytes[Size];
    block() {}
};
} // namespace brpc_peer

typedef size_t bench_slot; // the size, one of these

enum { SLOT_IS_SHARED = 1, SLOT_IS_HEAP = 0 };

static inline bool slot_open(bench_slot *slot, const bench_slot_options *options) {
    *slot = options->size;
    return *slot == 56 || *slot == 64 || *slot == 128 || *slot == 264;
}

static inline void slot_close(bench_slot) {}

static inline void *slot_alloc(bench_slot slot) {
    switch (slot) {
        case 56: return butil::get_object<brpc_peer::block<56>>();
        case 64: return butil::get_object<brpc_peer::block<64>>();
        case 128: return butil::get_object<brpc_peer::block<128>>();
        default: return butil::get_object<brpc_peer::block<264>>();
    }
}

static inline void slot_free(bench_slot slot, void *block) {
    switch (slot) {
        case 56: butil::return_object(static_cast<brpc_peer::block<56> *>(block)); break;
        case 64: butil::return_object(static_cast<brpc_peer::block<64> *>(block)); break;
        case 128: butil::return_object(static_cast<brpc_peer::block<128> *>(block)); break;
        default: butil::return_object(static_cast<brpc_peer::block<264> *>(block)); break;
    }
}

static inline bench_requests slot_requests(const bench_slot *) {
    return {0, 0}; // never asked: it does not run the ledger
}

#include "workloads_all.h"

BENCH_BACKEND(brpc_backend, "brpc-object-pool", BENCH_SINGLE | BENCH_BATCH | BENCH_THREADS,
              "butil::ObjectPool: thread-cached (blocks of 56, 64, 128 and 264 bytes)");
