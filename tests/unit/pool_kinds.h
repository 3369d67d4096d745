// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// Every kind of pool that the options can make, for tests that must hold for all of them.
#ifndef LIDO_TESTS_POOL_KINDS_H
#define LIDO_TESTS_POOL_KINDS_H

#include "support.h"

#include <lido/pool.h>

typedef struct pool_kind {
    const char *name;
    lido_threads threads;
    lido_order order;
    size_t capacity;    // 0: none
    bool exact_high;    // its high-water mark is exact
} pool_kind;

static const pool_kind pool_kinds[] = {
    {"local", LIDO_LOCAL, LIDO_LIFO, 0, true},
    {"local bounded", LIDO_LOCAL, LIDO_LIFO, 3000, true},
    {"local fifo", LIDO_LOCAL, LIDO_FIFO, 0, true},
    {"local fifo bounded", LIDO_LOCAL, LIDO_FIFO, 3000, true},
    {"confined", LIDO_CONFINED, LIDO_LIFO, 0, true},
    {"confined bounded", LIDO_CONFINED, LIDO_LIFO, 3000, true},
    {"confined fifo", LIDO_CONFINED, LIDO_FIFO, 0, true},
    {"shared", LIDO_SHARED, LIDO_LIFO, 0, false},
    {"shared bounded", LIDO_SHARED, LIDO_LIFO, 3000, false},
    {"shared bounded small", LIDO_SHARED, LIDO_LIFO, 200, false},
    {"shared fifo", LIDO_SHARED, LIDO_FIFO, 0, true},
    {"shared fifo bounded", LIDO_SHARED, LIDO_FIFO, 3000, true},
};
enum { POOL_KINDS = sizeof pool_kinds / sizeof pool_kinds[0] };

static inline lido_pool *pool_of_kind(const pool_kind *kind, size_t block_size, size_t alignment, size_t capacity) {
    lido_pool *pool = lido_pool_new(&(lido_pool_options){.name = kind->name,
                                                         .block_size = block_size,
                                                         .alignment = alignment,
                                                         .threads = kind->threads,
                                                         .order = kind->order,
                                                         .capacity = capacity});
    UNIT_CHECK(pool != NULL);
    return pool;
}

#endif
