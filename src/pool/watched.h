// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// Pools in check mode light: the ordinary ways, with a byte for each block that says whether it is alive, looked at by every
// call. The bytes lie apart from the blocks (slab/state.h). All calls must come to the slow halves for that:
//
//      LOCAL, CONFINED, FIFO, with a capacity    way stock, and `watched`
//      SHARED, and the size classes of malloc    way watched: bins, but others than the ones the fast halves look at: `bin` is
//                                                not what the window says of the pool's slabs
//
// A byte is written by whoever holds the block. Two threads that free one block at the same moment are not seen here; the slabs see
// them later.
//
// Threads: as the pool's kind.
#ifndef LIDO_POOL_WATCHED_H
#define LIDO_POOL_WATCHED_H

#include "os/probes.h"
#include "os/tools.h"
#include "pool/thread.h"
#include "slab/state.h"

// Whether a tool counts the pool's blocks. It counts those of the drop-in malloc as malloc's.
LIDO_INLINE bool lido__watch_is_told(const lido_pool *pool) { return lido__tools_count() && !pool->anonymous; }

// Any watched pool: notes that a block goes out. If the system had no memory for the byte, nothing is watched.
LIDO_INLINE void lido__watch_out(const lido_pool *pool, void *p) {
    _Atomic uint8_t *state = lido__state_at(p);
    // relaxed: see slab/state.h
    if (LIDO_LIKELY(state != NULL)) LIDO__ATOMIC_STORE(state, lido__state_of(LIDO__BLOCK_ALIVE, p), relaxed);
    if (lido__watch_is_told(pool)) lido__tools_count_out(p, pool->slabs.block_bytes);
    LIDO__PROBE4(pool_alloc, pool, pool->name, p, pool->slabs.block_bytes);
}
// Whether p is the start of a block that is alive; false also where nothing is watched. Requires: p lies in a slab of the pool.
LIDO_INLINE bool lido__watch_is_out(const void *p) {
    _Atomic uint8_t *state = lido__state_if_any(p);
    // relaxed: see slab/state.h
    return state != NULL && LIDO__ATOMIC_LOAD(state, relaxed) == lido__state_of(LIDO__BLOCK_ALIVE, p);
}
// False, after a report, if the one that comes back is not alive. Requires: p is the start of a block of the pool.
LIDO__HIDDEN bool lido__watch_back(const lido_pool *pool, void *p);

// The same, and p stays as it is; true where nothing is watched. `freed` says what a block is to `call` that was freed, e.g.
// LIDO__WAS_FREED.
#define LIDO__DOUBLE_FREE "double free of"
#define LIDO__WAS_FREED "was freed before:"
LIDO__HIDDEN bool lido__watch_require(const lido_pool *pool, const void *p, const char *call, const char *freed);

// Way watched, the common halves. A block from the thread's bin; NULL if that is empty. False if p is not alive, the bin has no
// room, or a tool must be told, and nothing has happened. Requires: p lies in a slab of the pool.
LIDO_INLINE void *lido__watched_pop(const lido_pool *pool) {
    void *block = lido__bin_pop(lido__bin_at(lido__self, pool->bin));
    if (LIDO_LIKELY(block != NULL)) lido__watch_out(pool, block);
    return block;
}
LIDO_INLINE bool lido__watched_push(const lido_pool *pool, void *p) {
    if (lido__tools_count() || LIDO_UNLIKELY(!lido__watch_is_out(p))) return false;
    if (LIDO_UNLIKELY(!lido__bin_push(lido__bin_at(lido__self, pool->bin), p))) return false;
    LIDO__ATOMIC_STORE(lido__state_if_any(p), lido__state_of(LIDO__BLOCK_FREED, p), relaxed);    // see slab/state.h
    LIDO__PROBE4(pool_free, pool, pool->name, p, pool->slabs.block_bytes);
    return true;
}

// Way watched, whole calls. Requires of the free: p is the start of a block of the pool.
LIDO__HIDDEN void *lido__watched_alloc(lido_pool *pool);
LIDO__HIDDEN void lido__watched_free(lido_pool *pool, void *p);

// Any watched pool, before all live blocks end at once: says so to a tool that counts them. Requires: only live blocks are out of
// the slabs.
LIDO__HIDDEN void lido__watch_end_all(lido_pool *pool);

#endif
