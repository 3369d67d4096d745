// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// boost::pool: an intrusive list without a lock. It grows by doubling; a capacity is taken as its first step.
#include "worker/worker.h"

#include <boost/pool/pool.hpp>
#include <cstdlib>
#include <new>

namespace boost_peer {
inline bench_requests boost_asked;    // of all pools of this process; one is open at a time where it matters

struct counting_source {
    typedef std::size_t size_type;
    typedef std::ptrdiff_t difference_type;
    static char *malloc(const size_type bytes) {
        boost_asked.count++;
        boost_asked.bytes += bytes;
        return static_cast<char *>(std::malloc(bytes));
    }
    static void free(char *const block) { std::free(block); }
};
}    // namespace boost_peer

using namespace boost_peer;    // named, because the workloads' types hold the slot and have linkage

typedef boost::pool<counting_source> *bench_slot;

enum { SLOT_IS_SHARED = 0, SLOT_IS_HEAP = 0, BOOST_FIRST_STEP = 32 };

static inline bool slot_open(bench_slot *slot, const bench_slot_options *options) {
    size_t step = options->capacity != 0 ? options->capacity : static_cast<size_t>(BOOST_FIRST_STEP);
    *slot = new (std::nothrow) boost::pool<counting_source>(options->size, step);
    return *slot != nullptr;
}

static inline void slot_close(bench_slot slot) { delete slot; }

static inline void *slot_alloc(bench_slot slot) { return slot->malloc(); }

static inline void slot_free(bench_slot slot, void *block) { slot->free(block); }

static inline bench_requests slot_requests(const bench_slot *) { return boost_asked; }

#include "workloads_all.h"

BENCH_BACKEND(boost_pool_backend, "boost-pool",
              BENCH_PAIR | BENCH_SINGLE | BENCH_BATCH | BENCH_SIZES | BENCH_LEDGER | BENCH_REGION | BENCH_OBJECTS,
              "boost::pool, one for each size");
