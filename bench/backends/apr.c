// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// Pools of the Apache Portable Runtime: regions that are cleared. With an allocator of its own, so that no lock is taken, as
// in a server's child process. Only where the headers of APR are.
#include <apr_allocator.h>
#include <apr_general.h>
#include <apr_pools.h>
#include <stdlib.h>

typedef apr_pool_t *region_memory;

static inline apr_pool_t *region_new(void) {
    static int started;
    if (!started && apr_initialize() != APR_SUCCESS) return NULL;
    started = 1;
    apr_allocator_t *allocator;
    apr_pool_t *pool;
    if (apr_allocator_create(&allocator) != APR_SUCCESS) return NULL;
    if (apr_pool_create_ex(&pool, NULL, NULL, allocator) != APR_SUCCESS) return NULL;
    apr_allocator_owner_set(allocator, pool);
    return pool;
}
static inline void region_delete(apr_pool_t *pool) { apr_pool_destroy(pool); }
static inline void *region_alloc(apr_pool_t *pool, size_t size) { return apr_palloc(pool, size); }
static inline void region_empty(apr_pool_t *pool) { apr_pool_clear(pool); }

#include "backends/region.h"
#include "workloads_all.h"

BENCH_BACKEND(apr_backend, "apr-pool", BENCH_PAIR | BENCH_REGION, "apr_palloc, given back by apr_pool_clear");
