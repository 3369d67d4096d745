// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// lido's pool of objects, which constructs and destroys. What lido_object.c and lido_kept.c share: the type and the pool.
#ifndef LIDO_BENCH_LIDO_OBJECT_H
#define LIDO_BENCH_LIDO_OBJECT_H

#include "worker/worker.h"
#include "workloads/parts/object_type.h"

#include <lido/object.h>
#include <stdlib.h>

#define SLOT_CONSTRUCTS 1

typedef struct object_slot {
    lido_object_pool *pool;
    size_t size;
} object_slot;

typedef object_slot *bench_slot;

enum { SLOT_IS_SHARED = 0, SLOT_IS_HEAP = 0 };

static int object_slot_construct(void *object, void *arguments, void *context) {
    (void)arguments;
    built_construct(object, ((const object_slot *)context)->size);
    return 0;
}

static void object_slot_destroy(void *object, void *context) {
    (void)context;
    built_destroy(object);
}

static inline bool slot_open(bench_slot *slot, const bench_slot_options *options) {
    object_slot *made = (object_slot *)malloc(sizeof *made);
    if (made == NULL) return false;
    made->size = options->size;
    lido_type type = {0};
    type.name = "bench";
    type.size = options->size;
    type.construct = object_slot_construct;
    type.destroy = object_slot_destroy;
    type.context = made;
    lido_object_options pool = {0};
    pool.pool.capacity = options->capacity;
    pool.pool.threads = LIDO_LOCAL;
    made->pool = lido_object_pool_new(&type, &pool);
    *slot = made;
    return made->pool != NULL;
}

static inline void slot_close(bench_slot slot) {
    lido_object_pool_destroy(slot->pool);
    free(slot);
}

static inline bench_requests slot_requests(const bench_slot *slot) {
    lido_pool_statistics memory = lido_object_pool_stats((*slot)->pool).memory;
    bench_requests asked = {memory.slab_count, memory.held_bytes};
    return asked;
}

#endif
