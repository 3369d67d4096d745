// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// foonathan::memory::memory_stack: a region that is unwound to a marker at its bottom; it keeps its blocks.
#include <foonathan/memory/memory_stack.hpp>
#include <new>

namespace foonathan_stack_peer {
enum { STACK_BLOCK = 64 << 10, STACK_ALIGNMENT = 16 };

struct stack_region {
    foonathan::memory::memory_stack<> stack;
    foonathan::memory::memory_stack<>::marker bottom;
    stack_region() : stack(STACK_BLOCK), bottom(stack.top()) {}
};
}    // namespace foonathan_stack_peer

using namespace foonathan_stack_peer;    // named, because the workloads' types hold the slot and have linkage

typedef stack_region *region_memory;

static inline region_memory region_new() { return new (std::nothrow) stack_region; }
static inline void region_delete(region_memory memory) { delete memory; }
static inline void *region_alloc(region_memory memory, size_t size) {
    return memory->stack.allocate(size, STACK_ALIGNMENT);
}
static inline void region_empty(region_memory memory) { memory->stack.unwind(memory->bottom); }

#include "backends/region.h"
#include "workloads_all.h"

BENCH_BACKEND(foonathan_stack_backend, "foonathan-stack", BENCH_PAIR | BENCH_REGION,
              "foonathan::memory::memory_stack, given back by unwind");
