// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// butil::ObjectPool of brpc: thread-cached, for one type each. Built when its headers are found, or with
// -DLIDO_BRPC_INCLUDE=path of brpc's src folder (Debian has no package). Its size is that of a type, and it never gives
// memory back.
#include "backends/sizes.hpp"
#include "worker/worker.h"

#include <butil/object_pool.h>

namespace brpc_peer {
template <typename Size>
using type_of = sized_peer::block<Size::value>;
}    // namespace brpc_peer

typedef size_t bench_slot;    // the size

enum { SLOT_IS_SHARED = 1, SLOT_IS_HEAP = 0 };

static inline bool slot_open(bench_slot *slot, const bench_slot_options *options) {
    *slot = options->size;
    return sized_peer::has_size(*slot);
}

static inline void slot_close(bench_slot) {}

static inline void *slot_alloc(bench_slot slot) {
    return sized_peer::by_size(
        slot, [](auto size) { return static_cast<void *>(butil::get_object<brpc_peer::type_of<decltype(size)>>()); });
}

static inline void slot_free(bench_slot slot, void *block) {
    sized_peer::by_size(
        slot, [block](auto size) { butil::return_object(static_cast<brpc_peer::type_of<decltype(size)> *>(block)); });
}

static inline bench_requests slot_requests(const bench_slot *) {
    return {0, 0};    // never asked: it does not run the ledger
}

#include "workloads_all.h"

BENCH_BACKEND(brpc_backend, "brpc-object-pool",
              BENCH_PAIR | BENCH_SINGLE | BENCH_BATCH | BENCH_THREADS | BENCH_CROSS | BENCH_OBJECTS,
              "butil::ObjectPool: thread-cached " BENCH_SIZES_HELP);
