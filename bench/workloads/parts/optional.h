// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// What a slot may have beyond alloc and free, and what a workload does where it has not: see BENCH_WORKLOAD's shapes.
#ifndef LIDO_BENCH_OPTIONAL_H
#define LIDO_BENCH_OPTIONAL_H

#include "worker/worker.h"

#ifndef SLOT_RELEASES
static inline void slot_release(bench_slot slot, void *const *blocks, size_t count) {
    for (size_t i = 0; i < count; i++) slot_free(slot, blocks[i]);
}
#endif

// Only so that the workload compiles: a backend without it has no BENCH_REALLOC.
#ifndef SLOT_RESIZES
static inline void *slot_resize(bench_slot slot, void *block, size_t size) {
    (void)slot, (void)block, (void)size;
    return NULL;
}
#endif

#ifndef SLOT_CONSTRUCTS
#define SLOT_CONSTRUCTS 0
#endif

#endif
