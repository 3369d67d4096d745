// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// std::pmr::monotonic_buffer_resource: a region that is given back by release, which returns its memory to operator delete but
// for a first buffer of 64 KiB.
#include <cstddef>
#include <memory_resource>
#include <new>

namespace monotonic_peer {
enum { MONOTONIC_BUFFER = 64 << 10, MONOTONIC_ALIGNMENT = 16 };
alignas(MONOTONIC_ALIGNMENT) inline unsigned char monotonic_buffer[MONOTONIC_BUFFER];
}    // namespace monotonic_peer

using namespace monotonic_peer;    // named, because the workloads' types hold the slot and have linkage

typedef std::pmr::monotonic_buffer_resource *region_memory;

static inline region_memory region_new() {
    return new (std::nothrow) std::pmr::monotonic_buffer_resource(monotonic_buffer, sizeof monotonic_buffer);
}
static inline void region_delete(region_memory memory) { delete memory; }
static inline void *region_alloc(region_memory memory, size_t size) {
    return memory->allocate(size, MONOTONIC_ALIGNMENT);
}
static inline void region_empty(region_memory memory) { memory->release(); }

#include "backends/region.h"
#include "workloads_all.h"

BENCH_BACKEND(pmr_monotonic_backend, "pmr-monotonic", BENCH_PAIR | BENCH_REGION,
              "std::pmr::monotonic_buffer_resource, given back by release");
