// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// Taking blocks from slabs and giving them back. See slab.h for the picture; slab_walk.c has what visits whole sets.
//
// Which slab is asked first: the head of `available`. A slab that was full comes in at the head when a block of it
// returns: it is nearly full, and filling nearly full slabs lets the others run empty.
#include "slab/slab.h"

#include "base/options.h"
#include "os/os.h"
#include "os/probes.h"
#include "os/report.h"
#include "slab/slab_list.h"

#include <string.h>

enum {
    // A slab of small blocks is one slice. From 8 KiB on a slice would hold fewer than eight and waste up to an eighth at
    // its end: then the slab has enough slices for SLAB_LEAST_BLOCKS.
    SLICE_BLOCK_MAX = 8192,
    SLAB_LEAST_BLOCKS = 16,
    // Fresh slabs are brought in with one call once the set has this many: at most an eighth is ready too early.
    POPULATE_FROM_SLABS = 8,
};

void lido__slabs_init(lido__slab_set *set, size_t block_bytes, size_t alignment, size_t least_blocks, unsigned entry) {
    LIDO_ASSERT(block_bytes % alignment == 0 && block_bytes >= sizeof(lido__link));
    size_t alignment_slices = lido__max(alignment >> LIDO__SLICE_SHIFT, 1);
    if (block_bytes > SLICE_BLOCK_MAX) least_blocks = lido__max(least_blocks, SLAB_LEAST_BLOCKS);
    size_t room = (size_t)(LIDO__SEGMENT_SLICES - lido__round_up(LIDO__HEADER_SLICES, alignment_slices))
                  << LIDO__SLICE_SHIFT;
    size_t spread = lido__max(block_bytes, LIDO__SLICE_BYTES / LIDO__BITMAP_BLOCKS);    // each block needs its bit
    size_t bytes = least_blocks < room / 2 / spread ? least_blocks * spread : room / 2;
    bytes = lido__round_up(lido__max(lido__max(bytes, block_bytes), LIDO__SLICE_BYTES), LIDO__SLICE_BYTES);
    size_t slices = bytes >> LIDO__SLICE_SHIFT;
    size_t blocks = lido__min(bytes / block_bytes, slices * LIDO__BITMAP_BLOCKS);
    *set = (lido__slab_set){
        .block_bytes = (uint32_t)block_bytes,
        .blocks_per_slab = (uint32_t)blocks,
        .reciprocal = ((UINT64_C(1) << LIDO__RECIPROCAL_SHIFT) + block_bytes - 1) / block_bytes,
        .slab_slices = (uint16_t)slices,
        .slab_alignment = (uint16_t)alignment_slices,
        .entry = (uint16_t)entry,
        .growth_slabs = 1,
        .capacity = SIZE_MAX,
    };
}

static lido__slab *slab_new(lido__slab_set *set) {
    bool zero;
    lido__slab *slab = lido__run_new(LIDO__RUN_SLAB, set->slab_slices, set->slab_alignment, set->entry, &zero);
    if (slab == NULL) return NULL;
    slab->set = set;
    slab->fresh = 0;
    slab->free_count = 0;
    slab->hint = 0;
    slab->listed_full = false;
    lido__slab_push(&set->available, slab);
    set->slab_count++;
    LIDO__PROBE3(slab_new, lido__slab_memory(slab), (size_t)set->slab_slices * LIDO__SLICE_BYTES, set->block_bytes);
    if (zero && !slab->huge && set->slab_count > POPULATE_FROM_SLABS &&
        LIDO__ATOMIC_LOAD(&lido__options.populate, relaxed) != 0) {
        lido__os_populate(lido__slab_memory(slab), (size_t)set->slab_slices * LIDO__SLICE_BYTES);
    }
    return slab;
}

// Nothing is left: takes as many slabs as there are, within the bounds of a step and of what the capacity can use. NULL if the
// system refuses the first; that it refuses a further one does no harm.
static lido__slab *slabs_grow(lido__slab_set *set) {
    size_t useful = set->capacity == SIZE_MAX ? SIZE_MAX : (set->capacity - 1) / set->blocks_per_slab + 1;
    size_t step = lido__min(set->slab_count, set->growth_slabs);
    if (set->slab_count < useful) step = lido__min(step, useful - set->slab_count);
    lido__slab *first = slab_new(set), *last = first;
    for (size_t i = 1; i < step && last != NULL; i++) last = slab_new(set);
    return first != NULL ? set->available : NULL;
}

static lido__slab *slab_available(lido__slab_set *set) {
    return set->available != NULL ? set->available : slabs_grow(set);
}

static void settle_if_full(lido__slab_set *set, lido__slab *slab) {
    if (slab->free_count > 0 || slab->fresh < set->blocks_per_slab) return;
    lido__slab_unlink(&set->available, slab);
    lido__slab_push(&set->full, slab);
    slab->listed_full = true;
}

// --- taking ---------------------------------------------------------------------------------------------------------

static lido__link **take_returned(lido__slab_set *set, lido__slab *slab, lido__link **tail, uint32_t want,
                                  uint32_t *count) {
    uint64_t *bitmap = lido__slab_bitmap(slab);
    char *memory = lido__slab_memory(slab);
    uint32_t taken = 0, w = slab->hint;
    want = slab->free_count < want ? slab->free_count : want;
    while (taken < want) {
        uint64_t word = bitmap[w];
        while (word != 0 && taken < want) {
            size_t index = (size_t)w * 64 + lido__lowest_bit(word);
            word &= word - 1;
            lido__link *block = (lido__link *)(void *)(memory + index * set->block_bytes);
            *tail = block;
            tail = &block->next;
            taken++;
        }
        bitmap[w] = word;
        if (word == 0) w++;
    }
    slab->hint = w;
    slab->free_count -= taken;
    *count += taken;
    return tail;
}

static char *carve(lido__slab_set *set, lido__slab *slab, size_t want, size_t *got) {
    char *first = lido__slab_memory(slab) + (size_t)slab->fresh * set->block_bytes;
    *got = lido__min(want, set->blocks_per_slab - slab->fresh);
    slab->fresh += (uint32_t)*got;
    set->fresh += *got;
    return first;
}

static lido__link **take_never_issued(lido__slab_set *set, lido__slab *slab, lido__link **tail, uint32_t want,
                                      uint32_t *count) {
    size_t got;
    char *block = carve(set, slab, want, &got);
    for (size_t i = 0; i < got; i++, block += set->block_bytes) {
        lido__link *link = (lido__link *)(void *)block;
        *tail = link;
        tail = &link->next;
    }
    *count += (uint32_t)got;
    return tail;
}

lido__chain lido__slabs_take(lido__slab_set *set, uint32_t want) {
    lido__chain chain = {NULL, NULL, 0, false};
    lido__link **tail = &chain.first;
    lido__lock_acquire(&set->lock, LIDO__RANK_SLABS);
    want = (uint32_t)lido__min(want, set->capacity - set->issued);
    chain.refused = want > 0;
    while (chain.count < want) {
        if (chain.count > 0 && set->available == NULL) break;
        lido__slab *slab = slab_available(set);
        if (slab == NULL) break;
        if (slab->free_count > 0) tail = take_returned(set, slab, tail, want - chain.count, &chain.count);
        if (chain.count < want && slab->fresh < set->blocks_per_slab) {
            tail = take_never_issued(set, slab, tail, want - chain.count, &chain.count);
        }
        settle_if_full(set, slab);
    }
    if (chain.count > 0) chain.refused = false;
    set->issued += chain.count;
    set->issued_most = lido__max(set->issued_most, set->issued);
    lido__lock_release(&set->lock, LIDO__RANK_SLABS);
    *tail = NULL;
    chain.last = (lido__link *)(void *)tail;    // `next` is the first member
    return chain;
}

bool lido__slabs_set_capacity(lido__slab_set *set, size_t capacity) {
    lido__lock_acquire(&set->lock, LIDO__RANK_SLABS);
    bool fits = set->issued <= capacity;
    if (fits) set->capacity = capacity;
    lido__lock_release(&set->lock, LIDO__RANK_SLABS);
    return fits;
}

char *lido__slabs_take_fresh(lido__slab_set *set, size_t want, size_t *got) {
    char *first = NULL;
    *got = 0;
    lido__lock_acquire(&set->lock, LIDO__RANK_SLABS);
    lido__slab *slab = slab_available(set);
    if (slab != NULL && slab->free_count == 0) {
        first = carve(set, slab, want, got);
        set->issued += *got;
        settle_if_full(set, slab);
    }
    lido__lock_release(&set->lock, LIDO__RANK_SLABS);
    return first;
}

// --- giving back ----------------------------------------------------------------------------------------------------

bool lido__slabs_check_start(const lido__slab_set *set, const void *p, const char *call) {
    const lido__slab *slab = lido__slab_of(p);
    bool exact;
    size_t index = lido__slab_index(set, slab, p, &exact);
    const char *start = lido__slab_memory(slab) + index * set->block_bytes;
    if (LIDO_LIKELY(exact && index < set->blocks_per_slab)) return true;
    if (index >= set->blocks_per_slab) {
        lido__misuse("%s(%p): behind the last block of a slab; nothing was ever allocated there", call, p);
    } else {
        lido__misuse("%s(%p): inside a block, %z bytes after its start at %p", call, p,
                     (size_t)((const char *)p - start), (const void *)start);
    }
    return false;
}

// A slab all of whose blocks are back starts again; if there are others to take from, it is put on *doomed.
static void settle_if_empty(lido__slab_set *set, lido__slab *slab, lido__slab **doomed) {
    if (slab->free_count != slab->fresh || set->visiting) return;
    memset(lido__slab_bitmap(slab), 0, (slab->fresh + 63) / 64 * sizeof(uint64_t));
    set->fresh -= slab->fresh;
    slab->fresh = slab->free_count = slab->hint = 0;
    bool only_one = set->available == slab && slab->next == NULL;
    if (set->slab_count <= set->keep_slabs || only_one) return;
    lido__slab_unlink(&set->available, slab);
    set->slab_count--;
    slab->next = *doomed;
    *doomed = slab;
}

static void free_doomed(lido__slab *doomed) {
    while (doomed != NULL) {
        lido__slab *next = doomed->next;
        lido__run_free(doomed);
        doomed = next;
    }
}

static void list_as_available(lido__slab_set *set, lido__slab *slab) {
    if (!slab->listed_full || set->visiting) return;
    lido__slab_unlink(&set->full, slab);
    lido__slab_push(&set->available, slab);
    slab->listed_full = false;
}

// Sets the bit of a block that comes back, or reports why that cannot be. False after a double free: two links through one
// block make a ring of its list, and what follows cannot be trusted.
static bool give_block(lido__slab_set *set, void *block, lido__slab **doomed) {
    lido__slab *slab = lido__slab_of(block);
    if (LIDO_UNLIKELY(slab->set != set)) {
        lido__misuse("free(%p): block of another pool, or freed twice and its slab is gone", block);
        return true;
    }
    bool exact;
    size_t index = lido__slab_index(set, slab, block, &exact);
    uint64_t *word = &lido__slab_bitmap(slab)[index / 64], bit = UINT64_C(1) << (index % 64);
    if (LIDO_UNLIKELY(!exact)) {
        lido__misuse("free(%p): inside a block, %z bytes after its start at %p", block,
                     (size_t)((char *)block - lido__slab_memory(slab)) - index * set->block_bytes,
                     (void *)(lido__slab_memory(slab) + index * set->block_bytes));
        return true;
    }
    if (LIDO_UNLIKELY(index >= slab->fresh || (*word & bit) != 0)) {
        lido__misuse("free(%p): double free of a block of %z bytes", block, (size_t)set->block_bytes);
        return false;
    }
    *word |= bit;
    slab->free_count++;
    if (index / 64 < slab->hint) slab->hint = (uint32_t)(index / 64);
    set->issued--;
    list_as_available(set, slab);
    settle_if_empty(set, slab, doomed);
    return true;
}

size_t lido__slabs_give(lido__slab_set *set, lido__link *first) {
    lido__slab *doomed = NULL;
    lido__lock_acquire(&set->lock, LIDO__RANK_SLABS);
    while (first != NULL) {
        lido__link *next = first->next;
        first = give_block(set, first, &doomed) ? next : NULL;
    }
    size_t issued = set->issued;
    lido__lock_release(&set->lock, LIDO__RANK_SLABS);
    free_doomed(doomed);
    return issued;
}

void lido__slabs_give_range(lido__slab_set *set, char *first, size_t count) {
    lido__slab *doomed = NULL;
    lido__lock_acquire(&set->lock, LIDO__RANK_SLABS);
    for (; count > 0; count--, first += set->block_bytes) give_block(set, first, &doomed);
    lido__lock_release(&set->lock, LIDO__RANK_SLABS);
    free_doomed(doomed);
}

// --- memory ahead of time -------------------------------------------------------------------------------------------

static void populate_all(lido__slab_set *set, lido__slab *list) {
    for (lido__slab *slab = list; slab != NULL; slab = slab->next) {
        lido__os_populate(lido__slab_memory(slab), (size_t)set->slab_slices * LIDO__SLICE_BYTES);
    }
}

bool lido__slabs_prewarm(lido__slab_set *set, size_t blocks) {
    bool done = true;
    lido__lock_acquire(&set->lock, LIDO__RANK_SLABS);
    // What is ready already: the slabs that have room.
    size_t ready = 0;
    for (lido__slab *slab = set->available; slab != NULL; slab = slab->next) {
        ready += slab->free_count + set->blocks_per_slab - slab->fresh;
    }
    populate_all(set, set->available);
    // Of a free block that waits outside of the slabs only the page with its link is sure to be there.
    if (set->block_bytes > lido__os_page_bytes()) populate_all(set, set->full);
    while (done && ready < blocks) {
        lido__slab *slab = slab_new(set);
        done = slab != NULL;
        if (!done) break;
        size_t wanted = lido__min(blocks - ready, set->blocks_per_slab);
        size_t bytes = lido__min((size_t)set->slab_slices * LIDO__SLICE_BYTES,
                                 lido__round_up(wanted * set->block_bytes, lido__os_page_bytes()));
        if (wanted < set->blocks_per_slab) {    // ready in part: it must be asked last
            lido__slab_unlink(&set->available, slab);
            lido__slab_push_last(&set->available, slab);
        }
        char *memory = lido__slab_memory(slab);
        if (!lido__os_populate(memory, bytes)) {    // an older kernel: touch each page
            for (size_t i = 0; i < bytes; i += lido__os_page_bytes()) *(volatile char *)(memory + i) = 0;
        }
        ready += set->blocks_per_slab;
    }
    set->keep_slabs = lido__max(set->keep_slabs, set->slab_count);
    lido__lock_release(&set->lock, LIDO__RANK_SLABS);
    return done;
}
