// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// The small blocks of a heap that bumps (lido_heap_options.bump): a region that can also free single blocks, the reap of
// Berger, Zorn and McKinley 2002 ("Reconsidering Custom Memory Allocation").
//
//      chunk (a run of slices)
//      |hd|block|hd|block     |hd|block|hd|block   ►next              limit|
//
//      hd: 8 bytes before each block, which is aligned to 16: footprint in units of 16 bytes, and a mark
//
// Blocks of all sizes lie in the order in which they were asked for. A freed one goes on the list of its footprint, and the next
// request of that footprint takes it; otherwise the pointer moves on. Nothing is merged, and no chunk is given back before reset,
// trim or the heap's end: a program whose sizes drift apart should use the ordinary heap.
//
// The mark is mixed with the block's address, so that a pointer that is no block, or one freed before, is seen (with 2^-16
// left to chance). A chunk's large_bytes is 1 while it is in use, 0 among the spares. Why not the size classes' slabs: they are the ordinary heap, and docs/design/004 compares the two.
//
// Threads: the heap's lock is held by the caller if threads share it.
#ifndef LIDO_HEAP_BUMP_H
#define LIDO_HEAP_BUMP_H

#include "slab/segment.h"

#include <lido/pool.h>

enum {
    LIDO__BUMP_UNIT = 16,
    LIDO__BUMP_EXACT = 64,    // footprints to so many units have a list each; above there are four for a doubling
    LIDO__BUMP_LISTS = LIDO__BUMP_EXACT + 1 + 4 * 6,
    LIDO__BUMP_CHUNK_SLICES_MAX = 16,
};

typedef struct lido__bump {
    char *next, *limit;                     // [owner] the free part of the newest chunk
    lido__slab *chunks, *spares;            // [owner] linked by `next`: in use, newest first; kept by a reset
    lido__link *lists[LIDO__BUMP_LISTS];    // [owner]
} lido__bump;

// `size` from 1 to LIDO__SMALL_MAX, `alignment` a power of two that with it does not pass LIDO__SMALL_MAX. NULL: no memory.
LIDO__HIDDEN void *lido__bump_alloc(lido__bump *bump, size_t size, size_t alignment, void *heap);
// False, after a report in the name of `call`, if p is not a live block. Requires: p lies in a chunk.
LIDO__HIDDEN bool lido__bump_check(const lido__bump *bump, const void *p, const char *call);
// Requires: checked.
LIDO__HIDDEN void lido__bump_free(lido__bump *bump, void *p);
LIDO__HIDDEN size_t lido__bump_usable(const void *p);
// All blocks are free; chunks are kept, or go.
LIDO__HIDDEN void lido__bump_reset(lido__bump *bump);
LIDO__HIDDEN void lido__bump_release(lido__bump *bump);

#endif
