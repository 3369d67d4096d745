// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// Obstacks of libc: a stack of blocks in chunks of 4 KiB, which is emptied down to its first block. It gives chunks back to
// malloc at once. Only where libc has them (glibc does, musl does not).
#include <obstack.h>
#include <stddef.h>
#include <stdlib.h>

#define obstack_chunk_alloc malloc
#define obstack_chunk_free free

typedef struct stack_region {
    struct obstack stack;
    void *bottom;    // a block below all others
} stack_region;

typedef stack_region *region_memory;

static inline stack_region *region_new(void) {
    stack_region *region = (stack_region *)malloc(sizeof *region);
    if (region == NULL) return NULL;
    obstack_init(&region->stack);
    region->bottom = obstack_alloc(&region->stack, 1);
    return region;
}
static inline void region_delete(stack_region *region) {
    obstack_free(&region->stack, NULL);
    free(region);
}
static inline void *region_alloc(stack_region *region, size_t size) { return obstack_alloc(&region->stack, size); }
static inline void region_empty(stack_region *region) {
    obstack_free(&region->stack, region->bottom);
    region->bottom = obstack_alloc(&region->stack, 1);
}

#include "backends/region.h"
#include "workloads_all.h"

BENCH_BACKEND(obstack_backend, "obstack", BENCH_PAIR | BENCH_REGION,
              "obstack_alloc of libc, given back down to the bottom");
