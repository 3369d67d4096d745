// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// A pool from inside. Six ways for blocks to go round, chosen once when the pool is made:
//
//   face    LOCAL, LIFO                        free list in `face`, inline in the program; fresh blocks one by one
//   bins    SHARED, LIFO, without a capacity   a bin in each thread, the depot between them (thread.h, depot.h)
//   bounded SHARED, LIFO, with a capacity      the same, and the bins can be recalled when the capacity is reached
//   stock   FIFO, CONFINED                     one queue: any order, any check; under the pool's lock if SHARED
//   watched in check mode light, what would be bins  other bins, see watched.h
//   checked in check mode guard and page       each block by itself, see checked.h
//
// Below all of them lie the slabs of the pool (slab/slab.h). For each pool, while it is quiet:
//
//   slabs.issued = live + length(face.free) + blocks in [fresh_next, fresh_end)        face
//   slabs.issued = live + depot + all bins                                             bins, bounded, watched
//   slabs.issued = live + length(stock)                                                stock
//   slabs.issued = 0, live = live blocks of the source                                 checked
#ifndef LIDO_POOL_POOL_H
#define LIDO_POOL_POOL_H

#include "pool/depot.h"
#include "pool/wait.h"
#include "slab/slab.h"

#include <lido/pool.h>

typedef enum lido__way {
    LIDO__WAY_FACE,
    LIDO__WAY_BINS,
    LIDO__WAY_BOUNDED,
    LIDO__WAY_STOCK,
    LIDO__WAY_WATCHED,
    LIDO__WAY_CHECKED,
    LIDO__WAY_DEAD,    // destroyed, and kept so that a call on it is told
} lido__way;

struct lido_pool {
    lido__pool_face face;            // [owner] way face: its free list; else NULL
    char *fresh_next, *fresh_end;    // [owner] way face: side by side, never handed out
    size_t high_water;               // [owner] or [lock:pool]

    // [const]
    lido__way way;
    uint16_t bin;    // offset of the pool's bins in thread structures; 0: it has none
    uint8_t threads, order;
    uint8_t check;            // lido_check_level, not DEFAULT
    uint32_t batch_max;       // blocks in a full batch
    uint32_t block_check;     // see lido__is_multiple; 0: slabs are not single slices
    uint32_t block_end;       // offset behind the last block in its slice, in the same case
    uint32_t owner_thread;    // of a confined pool, as the system numbers it, for messages
    const void *owner;        // the same as lido__thread_token, for the check
    bool watched;             // in check mode light: every call looks at the block's byte, see watched.h
    bool anonymous;           // a size class or a part of a heap: lido_pool_of does not name it
    size_t alignment;
    size_t asked_bytes;                   // block size before rounding
    struct lido__check_source *source;    // way checked; else NULL
    struct lido_heap *heap;               // whose part this is, or NULL
    struct lido_object_pool *objects;     // whose memory this is, or NULL; written once, before any block is handed out
    char name[LIDO_POOL_NAME_MAX + 1];

    // [lock:registry]
    struct lido_pool *next, *previous;
    size_t live_at_look;    // see growing.c
    uint32_t looked_ms;     // 0: never

    // [lock:pool], or [owner] if not shared; ways stock and checked (`live`)
    lido__lock lock;
    lido__link *stock_first, *stock_last;
    size_t live;

    // way bounded
    _Atomic uint32_t recalled;    // [atomic:recall] 1: no bin may be used, all blocks go to and from the slabs
    bool always_recalled;         // [const] too small a capacity for bins

    // What happens at the capacity, see exhaustion.h
    _Atomic size_t capacity;           // [lock:pool] written; read relaxed elsewhere. 0: none
    size_t capacity_first;             // [const] as the options had it
    size_t growth, growth_max;         // [const] blocks
    lido_exhausted_call *exhausted;    // [const]
    void *exhausted_context;           // [const]
    uint32_t wait_ms;                  // [const]
    lido_on_exhausted on_exhausted;    // [const]
    lido__wait_queue wait;

    _Alignas(64) lido__depot depot;
    _Alignas(64) lido__slab_set slabs;
};

// With check = ceil(2^32 / bytes), for n < 2^16 and 8 <= bytes <= 2^13: n * check mod 2^32 < check <=> n is a multiple of
// bytes (Lemire, Kaser, Kurz 2019, "Faster remainder by direct computation"). Never holds for check == 0.
LIDO_INLINE bool lido__is_multiple(uint32_t n, uint32_t check) { return n * check < check; }

LIDO_INLINE lido_pool *lido__pool_of_set(lido__slab_set *set) { return LIDO__OWNER_OF(set, lido_pool, slabs); }

// True if `live` is kept: the slabs do not know how many blocks are alive.
LIDO_INLINE bool lido__pool_counts_live(const lido_pool *pool) {
    return pool->way == LIDO__WAY_STOCK || pool->way == LIDO__WAY_CHECKED;
}

// True if a refill that fails has tried lido__reclaim.
LIDO_INLINE bool lido__pool_reclaims(const lido_pool *pool) {
    return pool->way == LIDO__WAY_BINS || pool->way == LIDO__WAY_WATCHED;
}

// relaxed: a capacity that changes meanwhile may be seen or not
LIDO_INLINE size_t lido__pool_capacity(const lido_pool *pool) { return LIDO__ATOMIC_LOAD(&pool->capacity, relaxed); }

// Fills in a pool in the caller's memory and lists it. `bin` is its bins' offset if its way has bins, else 0. The options
// are good, and their capacity is in blocks (lido_pool_new sees to both).
LIDO__HIDDEN bool lido__pool_init(lido_pool *pool, const lido_pool_options *options, unsigned bin);
LIDO__HIDDEN void lido__pool_fini(lido_pool *pool);
// Memory for a pool structure; NULL with ENOMEM.
LIDO__HIDDEN lido_pool *lido__pool_structure_new(void);
LIDO__HIDDEN void lido__pool_structure_free(lido_pool *pool);

// Caller holds the registry's lock. own: the caller may touch what belongs to the pool's thread. Otherwise all blocks that a
// LOCAL or CONFINED pool has taken count as alive: its own list is nobody else's to read.
LIDO__HIDDEN lido_pool_statistics lido__pool_stats_locked(lido_pool *pool, bool own);

enum { LIDO__STOCK_REFILL = 16 };    // guess: keeps the second lock out of most calls, and little memory tied up

// Ways stock and checked. The lock is taken only if threads share the pool.
LIDO_INLINE void lido__stock_lock(lido_pool *pool) {
    if (pool->threads == LIDO_SHARED) lido__lock_acquire(&pool->lock, LIDO__RANK_POOL);
}
LIDO_INLINE void lido__stock_unlock(lido_pool *pool) {
    if (pool->threads == LIDO_SHARED) lido__lock_release(&pool->lock, LIDO__RANK_POOL);
}
// False, after a report, if the pool is confined to another thread than the calling one.
LIDO__HIDDEN bool lido__stock_allows(const lido_pool *pool, const char *call);
LIDO__HIDDEN void *lido__stock_alloc(lido_pool *pool, bool *refused);
LIDO__HIDDEN void lido__stock_free(lido_pool *pool, void *p);

// Gives what is free within reach of the calling thread back to the slabs, while others use the pool.
LIDO__HIDDEN void lido__pool_gather(lido_pool *pool);

// A bin for a new pool, 0 if all are taken; and its return.
LIDO__HIDDEN unsigned lido__entry_new(void);
LIDO__HIDDEN void lido__entry_free(unsigned entry);
LIDO__HIDDEN void lido__registry_add(lido_pool *pool);
LIDO__HIDDEN void lido__registry_remove(lido_pool *pool);
// Makes the pool the owner of one more bin, which stays empty.
LIDO__HIDDEN void lido__registry_name(unsigned entry, lido_pool *pool);
// Calls `call` for every listed pool, under the registry's lock.
LIDO__HIDDEN void lido__registry_each(void (*call)(lido_pool *pool, void *context), void *context);
LIDO__HIDDEN lido__lock *lido__registry_lock(void);
// For what is made once, when first needed.
LIDO__HIDDEN lido__lock *lido__making_lock(void);

// Options, thread-exit hook, fork handlers: once, from whatever call comes first.
LIDO__HIDDEN void lido__start(void);

// When the system has refused memory: gives everything back that is free anywhere within reach, so that one retry makes
// sense. Returns the bytes given to the system. Holds no lock of a higher rank on entry than none at all.
LIDO__HIDDEN size_t lido__reclaim(size_t keep_bytes);

#endif
