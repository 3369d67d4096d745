// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// Slabs: runs of slices cut into equal blocks, and the set of all slabs of one pool.
//
//      memory    | block 0 | block 1 | ... | block fresh-1 | never handed out ...          |
//      bitmap      0         1               0               (bits at and above fresh are 0)
//
// Of a block with index i:
//      i >= fresh              never handed out: its memory has not been touched, no list runs through it
//      i < fresh, bit set      free, here in the slab
//      i < fresh, bit clear    issued: the program has it, or a bin, a depot or a stock of the pool layer
// so that for each set:  issued = sum over slabs of (fresh - free_count).
//
// Bits rather than a list through the blocks: taking hands out ascending addresses whatever the order of the frees was,
// free memory is never touched (so its pages can go back to the system), and a bit that is set already is a double free.
// One block costs a multiplication and a bit; blocks pass here in batches, not one by one. docs/design/001 compares.
//
// A slab is in one of two lists of its set: available (free_count > 0 or fresh < blocks) or full. A slab that becomes
// empty starts again with fresh = 0, or goes back to the segments.
//
// Bitmaps of slices that are in no slab are all zero.
#ifndef LIDO_SLAB_SLAB_H
#define LIDO_SLAB_SLAB_H

#include "slab/segment.h"

#include <lido/pool.h>

typedef struct lido__slab_set {
    // [const] after init
    uint32_t block_bytes;    // distance of blocks; at least sizeof(lido__link)
    uint32_t blocks_per_slab;
    uint64_t reciprocal;    // index = (offset * reciprocal) >> LIDO__RECIPROCAL_SHIFT
    uint16_t slab_slices;
    uint16_t slab_alignment;    // in slices
    uint16_t entry;             // what the window says for these slabs
    uint32_t growth_slabs;      // most slabs taken at a time; 1: they come one by one. Set after init
    // [lock:slabs]
    lido__lock lock;
    size_t capacity;    // most blocks issued at a time; SIZE_MAX: no limit
    bool visiting;      // a walk over the lists is under way: slabs stay where they are
    lido__slab *available, *full;
    size_t slab_count;
    size_t keep_slabs;             // slabs that stay although they are empty: 0 if nothing was prewarmed
    size_t issued, issued_most;    // blocks; the second is the most since the last reset
    size_t fresh;                  // sum of fresh, blocks
} lido__slab_set;

// offset < 2^25 and block_bytes <= 2^24: with e = reciprocal * bytes - 2^SHIFT < bytes the quotient is exact if
// offset * e < 2^SHIFT, which 2^25 * 2^24 <= 2^50 gives; and offset * reciprocal < 2^25 * 2^50 / 8 needs 128 bits only for
// blocks under 4096 bytes of large slabs, which do not exist (block size x 4096 blocks bounds a slice: offset < 2^16 there).
enum { LIDO__RECIPROCAL_SHIFT = 50 };

// block_bytes: multiple of alignment and of sizeof(void *). alignment: a power of two to 2 MiB. least_blocks: a slab has
// at least that many blocks, as far as a segment goes.
LIDO__HIDDEN void lido__slabs_init(lido__slab_set *set, size_t block_bytes, size_t alignment, size_t least_blocks,
                                   unsigned entry);

// True if every slab of the set is one slice, so that a block's offset in its slice is a multiple of block_bytes.
LIDO_INLINE bool lido__slabs_are_slices(const lido__slab_set *set) { return set->slab_slices == 1; }

typedef struct lido__chain {
    lido__link *first;    // ends with NULL
    lido__link *last;     // undefined if count is 0
    uint32_t count;
    bool refused;    // count is 0 because the system gave no memory, not because the capacity is reached
} lido__chain;

// Up to `want` blocks, at least one unless the capacity is reached or the system refuses memory; fewer rather than a second
// helping of new slabs.
LIDO__HIDDEN lido__chain lido__slabs_take(lido__slab_set *set, uint32_t want);
// Up to `want` blocks that lie side by side and were never handed out; NULL if no slab has any and none can be had
// without giving up free blocks.
LIDO__HIDDEN char *lido__slabs_take_fresh(lido__slab_set *set, size_t want, size_t *got);
// True if p is the start of a block; otherwise reported in the name of `call`. Whether it is free already is not asked.
// Requires: p lies in a slab of the set.
LIDO__HIDDEN bool lido__slabs_check_start(const lido__slab_set *set, const void *p, const char *call);
// Takes back a chain that ends with NULL. Misuse is reported block by block, and such blocks are left out; a block that is
// free already ends the chain, which may be a ring. Returns how many blocks are issued now.
LIDO__HIDDEN size_t lido__slabs_give(lido__slab_set *set, lido__link *first);
// Takes back `count` blocks side by side in one slab.
LIDO__HIDDEN void lido__slabs_give_range(lido__slab_set *set, char *first, size_t count);
// False, and nothing has changed, if more blocks than that are issued. Raising always succeeds.
LIDO__HIDDEN bool lido__slabs_set_capacity(lido__slab_set *set, size_t capacity);
// Makes memory for `blocks` more blocks present, and keeps it. False if the system refuses.
LIDO__HIDDEN bool lido__slabs_prewarm(lido__slab_set *set, size_t blocks);

// Requires for the three below: nobody else uses the set, and bins, depots and stocks hold nothing of it.
LIDO__HIDDEN void lido__slabs_reset(lido__slab_set *set);      // nothing is issued any more; memory stays
LIDO__HIDDEN void lido__slabs_release(lido__slab_set *set);    // the same, and all memory goes back to the segments
LIDO__HIDDEN size_t lido__slabs_visit(lido__slab_set *set, bool (*visit)(void *block, void *context), void *context);

// Empty slabs go back to the segments, free OS pages of the others to the system. Returns the bytes of the latter.
// What was prewarmed stays, unless prewarmed_too. Nothing happens while a visit is under way.
LIDO__HIDDEN size_t lido__slabs_trim(lido__slab_set *set, bool prewarmed_too);
LIDO__HIDDEN bool lido__slabs_verify(lido__slab_set *set);

// The index of the block in which p lies; *exact: p is its first byte. Requires: p lies in `slab`.
LIDO_INLINE size_t lido__slab_index(const lido__slab_set *set, const lido__slab *slab, const void *p, bool *exact) {
    size_t offset = (size_t)((const char *)p - lido__slab_memory(slab));
    size_t index = (size_t)(((unsigned __int128)offset * set->reciprocal) >> LIDO__RECIPROCAL_SHIFT);
    *exact = index * set->block_bytes == offset;
    return index;
}

#endif
