// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// A byte for each block of a slab, for pools that are watched (pool/watched.h): 2 MiB of address space for each segment, apart
// from it, taken when first asked for; a page of it for each slice that is in use by such a pool.
//
// The bytes of a run are all LIDO__BLOCK_NOT_OUT when it is handed out and when its set is reset. relaxed accesses: a byte
// belongs to whoever holds its block.
#ifndef LIDO_SLAB_STATE_H
#define LIDO_SLAB_STATE_H

#include "slab/segment.h"

enum {
    LIDO__BLOCK_NOT_OUT = 0,
    LIDO__BLOCK_ALIVE,
    LIDO__BLOCK_FREED,
};

// The slab's bytes by block index; NULL if the system has no memory for them. Cost: three loads.
LIDO__HIDDEN _Atomic uint8_t *lido__slab_states(const lido__slab *slab);
// Sets the bytes of a run to LIDO__BLOCK_NOT_OUT, if there are any.
LIDO__HIDDEN void lido__slab_states_clear(const lido__slab *slab);

#endif
