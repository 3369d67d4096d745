// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// The depot of a shared pool: a shelf for whole batches of free blocks, between the threads' bins and the slabs.
//
//      slot:   63      48 47                                    0
//             | count    | address of the first block of a chain |      0: the slot is empty
//
// A batch passes from thread to thread with one atomic step on each side, and nobody looks inside it on the way: a
// producer's refill takes what a consumer spilled. There is no list through the batches, so nothing can be taken out
// from under a reader (no ABA), and no lock, so a thread that is preempted between two steps holds nobody up.
//
// Each thread starts its search at a slot of its own, so that threads that do not exchange blocks do not meet.
// Modelled in docs/models/depot.pml; the code itself is run through all interleavings by tests/unit.
#ifndef LIDO_POOL_DEPOT_H
#define LIDO_POOL_DEPOT_H

#include "base/atomics.h"
#include "base/base.h"

enum {
    LIDO__DEPOT_SLOTS = 8,    // one cache line
    LIDO__DEPOT_COUNT_SHIFT = 48,
};

typedef struct lido__depot {
    _Atomic uint64_t slots[LIDO__DEPOT_SLOTS];    // [atomic:depot]
} lido__depot;

// Puts a batch of `count` blocks (1 to 65,535) on the shelf. False if every slot was seen full.
LIDO_INLINE bool lido__depot_push(lido__depot *depot, void *batch, uint32_t count, unsigned start) {
    uint64_t packed = (uint64_t)count << LIDO__DEPOT_COUNT_SHIFT | (uintptr_t)batch;
    for (unsigned i = 0; i < LIDO__DEPOT_SLOTS; i++) {
        _Atomic uint64_t *slot = &depot->slots[(start + i) % LIDO__DEPOT_SLOTS];
        // relaxed: a look only; the exchange decides
        if (LIDO__ATOMIC_LOAD(slot, relaxed) != 0) continue;
        uint64_t empty = 0;
        // release, pairs with the acquire in lido__depot_pop: the links of the chain are written before
        if (LIDO__ATOMIC_CAS(slot, &empty, packed, release)) return true;
    }
    return false;
}

// Takes a batch; NULL if every slot was seen empty.
LIDO_INLINE void *lido__depot_pop(lido__depot *depot, uint32_t *count, unsigned start) {
    for (unsigned i = 0; i < LIDO__DEPOT_SLOTS; i++) {
        _Atomic uint64_t *slot = &depot->slots[(start + i) % LIDO__DEPOT_SLOTS];
        // relaxed: a look only; the exchange decides
        if (LIDO__ATOMIC_LOAD(slot, relaxed) == 0) continue;
        // acquire, pairs with the release in lido__depot_push
        uint64_t packed = LIDO__ATOMIC_EXCHANGE(slot, (uint64_t)0, acquire);
        if (packed == 0) continue;
        *count = (uint32_t)(packed >> LIDO__DEPOT_COUNT_SHIFT);
        return (void *)(uintptr_t)(packed & ((UINT64_C(1) << LIDO__DEPOT_COUNT_SHIFT) - 1));
    }
    return NULL;
}

// Blocks on the shelf; exact while nobody else is at it.
LIDO_INLINE size_t lido__depot_count(lido__depot *depot) {
    size_t blocks = 0;
    for (unsigned i = 0; i < LIDO__DEPOT_SLOTS; i++) {
        // relaxed: a statistic
        blocks += (size_t)(LIDO__ATOMIC_LOAD(&depot->slots[i], relaxed) >> LIDO__DEPOT_COUNT_SHIFT);
    }
    return blocks;
}

#endif
