// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// A pool from inside. Three ways for blocks to go round, chosen once when the pool is made:
//
//   face    LOCAL, LIFO                        free list in `face`, inline in the program; fresh blocks one by one
//   bins    SHARED, LIFO, without a capacity   a bin in each thread, the depot between them (thread.h, depot.h)
//   stock   everything else                    one queue under the pool's lock: exact, in any order, any check
//
// Below all three lie the slabs of the pool (slab/slab.h). For each pool, while it is quiet:
//
//   slabs.issued = live + length(face.free) + blocks in [fresh_next, fresh_end)        face
//   slabs.issued = live + depot + all bins                                             bins
//   slabs.issued = live + length(stock)                                                stock
#ifndef LIDO_POOL_POOL_H
#define LIDO_POOL_POOL_H

#include "pool/depot.h"
#include "slab/slab.h"

#include <lido/pool.h>

typedef enum lido__way {
    LIDO__WAY_FACE,
    LIDO__WAY_BINS,
    LIDO__WAY_STOCK,
} lido__way;

struct lido_pool {
    lido__pool_face face;             // [owner] way face; else free == NULL and slow == 1
    char *fresh_next, *fresh_end;     // [owner] way face: side by side, never handed out
    size_t high_water;                // [owner] or [lock:pool]

    // [const]
    lido__way way;
    uint16_t entry;                   // of the window: the pool's bin, or LIDO__ENTRY_SLOW
    uint8_t threads, order;
    uint32_t batch_max;               // blocks in a full batch
    uint32_t bin_check;               // see thread.h
    uint32_t owner_thread;            // of a confined pool, as the system numbers it, for messages
    const void *owner;                // the same as lido__thread_token, for the check
    bool anonymous;                   // a size class or a part of a heap: lido_pool_of does not name it
    size_t capacity, alignment;
    struct lido_heap *heap;           // whose part this is, or NULL
    char name[LIDO_POOL_NAME_MAX + 1];

    // [lock:registry]
    struct lido_pool *next, *previous;

    // [lock:pool], way stock
    lido__lock lock;
    lido__link *stock_first, *stock_last;
    size_t live;

    _Alignas(64) lido__depot depot;
    _Alignas(64) lido__slab_set slabs;
};

LIDO_INLINE lido_pool *lido__pool_of_set(lido__slab_set *set) { return LIDO__OWNER_OF(set, lido_pool, slabs); }

// Fills in a pool in the caller's memory and lists it. `entry` is a bin for way bins, else LIDO__ENTRY_SLOW. The options are
// good (lido_pool_new checks them).
LIDO__HIDDEN void lido__pool_init(lido_pool *pool, const lido_pool_options *options, unsigned entry);
LIDO__HIDDEN void lido__pool_fini(lido_pool *pool);
// Memory for a pool structure; NULL with ENOMEM.
LIDO__HIDDEN lido_pool *lido__pool_structure_new(void);
LIDO__HIDDEN void lido__pool_structure_free(lido_pool *pool);

// Caller holds the registry's lock.
LIDO__HIDDEN lido_pool_statistics lido__pool_stats_locked(lido_pool *pool);

// Stock way.
LIDO__HIDDEN void *lido__stock_alloc(lido_pool *pool);
LIDO__HIDDEN void lido__stock_free(lido_pool *pool, void *p);

// Which pool owns a bin; NULL for none. relaxed reads: see registry.c.
LIDO__HIDDEN lido_pool *lido__pool_at_entry(unsigned entry);
// A bin for a new pool, 0 if all are taken; and its return.
LIDO__HIDDEN unsigned lido__entry_new(void);
LIDO__HIDDEN void lido__entry_free(unsigned entry);
LIDO__HIDDEN void lido__registry_add(lido_pool *pool);
LIDO__HIDDEN void lido__registry_remove(lido_pool *pool);
// Calls `call` for every listed pool, under the registry's lock.
LIDO__HIDDEN void lido__registry_each(void (*call)(lido_pool *pool, void *context), void *context);
LIDO__HIDDEN lido__lock *lido__registry_lock(void);

// Options, thread-exit hook, fork handlers: once, from whatever call comes first.
LIDO__HIDDEN void lido__start(void);

// When the system has refused memory: gives everything back that is free anywhere within reach, so that one retry makes
// sense. Returns the bytes given to the system. Holds no lock of a higher rank on entry than none at all.
LIDO__HIDDEN size_t lido__reclaim(size_t keep_bytes);

#endif
