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

#include "pool/pool.h"

// Way watched.
LIDO__HIDDEN void *lido__watched_alloc(lido_pool *pool);
LIDO__HIDDEN void lido__watched_free(lido_pool *pool, void *p);

// Any watched pool: notes that a block goes out; false, after a report, if the one that comes back is not alive.
// Requires: p is the start of a block of the pool.
LIDO__HIDDEN void lido__watch_out(const lido_pool *pool, void *p);
LIDO__HIDDEN bool lido__watch_back(const lido_pool *pool, void *p);
// Before all live blocks end at once: says so to a tool that counts them. Requires: only live blocks are out of the slabs.
LIDO__HIDDEN void lido__watch_end_all(lido_pool *pool);

#endif
