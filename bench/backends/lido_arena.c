// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// lido's arena with default options: a pointer that moves, and one reset for all.
#include <lido/arena.h>

typedef lido_arena *region_memory;

static inline lido_arena *region_new(void) { return lido_arena_new(NULL); }
static inline void region_delete(lido_arena *arena) { lido_arena_free(arena); }
static inline void *region_alloc(lido_arena *arena, size_t size) { return lido_arena_alloc(arena, size); }
static inline void region_empty(lido_arena *arena) { lido_arena_reset(arena); }

#include "backends/region.h"
#include "workloads_all.h"

BENCH_BACKEND(lido_arena_backend, "lido-arena", BENCH_PAIR | BENCH_REGION, "lido_arena_alloc, given back by a reset");
