// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// A byte for each 16 bytes of a segment, for pools that are watched (pool/watched.h): 2 MiB of address space apart from it,
// taken when first asked for; a page of it for each slice that is in use by such a pool. If the system has none at that moment,
// the blocks of this segment are not watched: not now and not later, as nobody could tell those that were out by then.
//
//      state of a block at p:  states[(p - segment) / 16]  =  what it is | p % 16
//
// Blocks of such pools have 16 bytes or more, so each has its own byte; and as the byte tells where in its 16 bytes the block
// starts, one comparison proves that p is the start of a block that is alive.
//
// The bytes of a slab are all 0 when it is handed out and when its set is reset. relaxed accesses: a byte belongs to whoever
// holds its block.
#ifndef LIDO_SLAB_STATE_H
#define LIDO_SLAB_STATE_H

#include "slab/segment.h"

enum {
    LIDO__STATE_BYTES = 16,     // of memory for a byte of state
    LIDO__BLOCK_NOT_OUT = 0,    // never handed out
    LIDO__BLOCK_ALIVE = 0x10,
    LIDO__BLOCK_FREED = 0x20,
};

LIDO_INLINE uint8_t lido__state_of(unsigned what, const void *p) {
    return (uint8_t)(what | ((uintptr_t)p & (LIDO__STATE_BYTES - 1)));
}

// Makes the bytes of a segment that has none yet, or settles that it gets none.
LIDO__COLD LIDO__HIDDEN void lido__states_new(lido__segment *segment);
// In the place of the bytes of a segment that gets none.
#define LIDO__STATES_NEVER ((_Atomic uint8_t *)1)

// The byte for p, NULL if there is none yet or never. Requires: the window entry of p is not LIDO__ENTRY_NONE.
LIDO_INLINE _Atomic uint8_t *lido__state_if_any(const void *p) {
    _Atomic uint8_t *states =
        LIDO__ATOMIC_LOAD(&lido__segment_of(p)->states, acquire);    // pairs with lido__states_new
    bool any = (uintptr_t)states > (uintptr_t)LIDO__STATES_NEVER;
    return any ? states + ((uintptr_t)p & (LIDO__SEGMENT_BYTES - 1)) / LIDO__STATE_BYTES : NULL;
}
// The same, made if need be.
LIDO_INLINE _Atomic uint8_t *lido__state_at(const void *p) {
    _Atomic uint8_t *state = lido__state_if_any(p);
    if (LIDO_LIKELY(state != NULL)) return state;
    lido__states_new(lido__segment_of(p));
    return lido__state_if_any(p);
}

// Sets the bytes of a slab to LIDO__BLOCK_NOT_OUT, if there are any.
LIDO__HIDDEN void lido__slab_states_clear(const lido__slab *slab);

#endif
