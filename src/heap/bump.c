// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// See bump.h.
#include "heap/bump.h"

#include "heap/size_class.h"
#include "os/report.h"
#include "pool/pool.h"

typedef struct header {
    uint32_t units;    // footprint of the block with its header
    uint16_t mark;
    uint16_t list;    // of its footprint; 0: of an aligned block, which is not used again
} header;
_Static_assert(sizeof(header) == LIDO__BUMP_UNIT / 2, "a block starts half a unit behind its header's start");

enum { MARK_LIVE = 0xA11E, MARK_FREE = 0xF4EE };

LIDO_INLINE header *header_of(const void *p) { return (header *)(void *)((char *)(uintptr_t)p - sizeof(header)); }
LIDO_INLINE uint16_t mark_for(const void *p, unsigned mark) {
    uintptr_t place = (uintptr_t)p / LIDO__BUMP_UNIT;
    return (uint16_t)(mark ^ place ^ (place >> 16));
}

// The list of a footprint, which is rounded up to that list's.
LIDO_INLINE unsigned list_for(size_t *units) {
    if (LIDO_LIKELY(*units <= LIDO__BUMP_EXACT)) return (unsigned)*units;
    unsigned bit = lido__highest_bit(*units - 1), quarter = bit - 2;
    *units = lido__round_up(*units, (size_t)1 << quarter);
    return LIDO__BUMP_EXACT + (bit - 6) * 4 + (unsigned)(*units >> quarter) - 4;
}
_Static_assert((LIDO__SMALL_MAX + LIDO__BUMP_UNIT) / LIDO__BUMP_UNIT < 1 << 12,
               "footprints end within six doublings of 64");

// A chunk that has `bytes`: one that a reset has kept, or a new one, twice as large as the last.
static lido__slab *chunk_for(lido__bump *bump, void *heap) {
    lido__slab *chunk = bump->spares;
    if (chunk != NULL) {
        bump->spares = chunk->next;
        return chunk;
    }
    size_t slices =
        bump->chunks == NULL ? 1 : lido__min(2 * (size_t)bump->chunks->slice_count, LIDO__BUMP_CHUNK_SLICES_MAX);
    bool zero;
    chunk = lido__run_new(LIDO__RUN_BUMP, slices, 1, LIDO__ENTRY_SLOW, &zero);
    if (chunk == NULL && slices > 1) chunk = lido__run_new(LIDO__RUN_BUMP, 1, 1, LIDO__ENTRY_SLOW, &zero);
    if (chunk == NULL) return NULL;
    chunk->set = NULL;
    chunk->large_heap = heap;
    return chunk;
}

// The rest of the chunk before is left. Every chunk holds every small block: with its alignment one is at most half a slice.
static LIDO__NOINLINE bool next_chunk(lido__bump *bump, void *heap) {
    lido__slab *chunk = chunk_for(bump, heap);
    if (chunk == NULL) return false;
    chunk->next = bump->chunks;
    chunk->large_bytes = 1;
    bump->chunks = chunk;
    bump->next = lido__slab_memory(chunk) + LIDO__BUMP_UNIT - sizeof(header);
    bump->limit = lido__slab_memory(chunk) + (size_t)chunk->slice_count * LIDO__SLICE_BYTES;
    return true;
}

// `next` is where the next header may stand.
static void *carve(lido__bump *bump, size_t units, unsigned list, size_t alignment, void *heap) {
    for (;;) {
        uintptr_t block = lido__round_up((uintptr_t)bump->next + sizeof(header), alignment);
        uintptr_t end = block - sizeof(header) + units * LIDO__BUMP_UNIT;
        if (LIDO_LIKELY(end <= (uintptr_t)bump->limit)) {
            bump->next = (char *)end;
            *header_of((void *)block) = (header){(uint32_t)units, mark_for((void *)block, MARK_LIVE), (uint16_t)list};
            return (void *)block;
        }
        if (!next_chunk(bump, heap)) return NULL;
    }
}

void *lido__bump_alloc(lido__bump *bump, size_t size, size_t alignment, void *heap) {
    size_t units = (size + sizeof(header) + LIDO__BUMP_UNIT - 1) / LIDO__BUMP_UNIT;
    unsigned list = list_for(&units);
    if (LIDO_UNLIKELY(alignment > LIDO__BUMP_UNIT)) return carve(bump, units, 0, alignment, heap);
    lido__link *block = bump->lists[list];
    if (block == NULL) return carve(bump, units, list, LIDO__BUMP_UNIT, heap);
    bump->lists[list] = block->next;
    header_of(block)->mark = mark_for(block, MARK_LIVE);
    return block;
}

size_t lido__bump_usable(const void *p) { return (size_t)header_of(p)->units * LIDO__BUMP_UNIT - sizeof(header); }

void lido__bump_free(lido__bump *bump, void *p) {
    header *h = header_of(p);
    lido__link *block = (lido__link *)p;
    h->mark = mark_for(p, MARK_FREE);
    if (LIDO_UNLIKELY(h->list == 0)) return;
    block->next = bump->lists[h->list];
    bump->lists[h->list] = block;
}

// After a reset old marks are still there, so it is asked first whether p lies in what has been handed out since.
bool lido__bump_check(const lido__bump *bump, const void *p, const char *call) {
    const lido__slab *chunk = lido__slab_of(p);
    bool in_use = chunk->large_bytes == 1 && (chunk != bump->chunks || (const char *)p < bump->next);
    bool aligned = in_use && (uintptr_t)p % LIDO__BUMP_UNIT == 0 && (const char *)p != lido__slab_memory(chunk);
    uint16_t mark = aligned ? header_of(p)->mark : 0;
    if (LIDO_LIKELY(aligned && mark == mark_for(p, MARK_LIVE))) return true;
    if (aligned && mark == mark_for(p, MARK_FREE))
        lido__misuse("%s(%p): double free of a block of %z bytes", call, p, lido__bump_usable(p));
    else
        lido__misuse("%s(%p): in the memory of a heap, but not the start of a block", call, p);
    return false;
}

// --- the whole ------------------------------------------------------------------------------------------------------

void lido__bump_reset(lido__bump *bump) {
    while (bump->chunks != NULL) {
        lido__slab *chunk = bump->chunks;
        bump->chunks = chunk->next;
        chunk->next = bump->spares;
        chunk->large_bytes = 0;
        bump->spares = chunk;
    }
    *bump = (lido__bump){.spares = bump->spares};
}

static void free_chunks(lido__slab *chunk) {
    while (chunk != NULL) {
        lido__slab *next = chunk->next;
        lido__run_free(chunk);
        chunk = next;
    }
}

void lido__bump_release(lido__bump *bump) {
    free_chunks(bump->chunks);
    free_chunks(bump->spares);
    *bump = (lido__bump){.next = NULL};
}
