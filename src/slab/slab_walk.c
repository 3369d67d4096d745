// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// What visits all slabs of a set: reset, release, visiting live blocks, giving pages back, verification.
#include "slab/slab.h"

#include "os/os.h"
#include "slab/slab_list.h"
#include "slab/state.h"

#include <string.h>

static bool is_issued(const lido__slab *slab, size_t index) {
    return index < slab->fresh && ((lido__slab_bitmap(slab)[index / 64] >> (index % 64)) & 1) == 0;
}

static void make_empty(lido__slab *slab) {
    memset(lido__slab_bitmap(slab), 0, (slab->fresh + 63) / 64 * sizeof(uint64_t));
    slab->fresh = slab->free_count = slab->hint = 0;
}

void lido__slabs_reset(lido__slab_set *set) {
    lido__lock_acquire(&set->lock, LIDO__RANK_SLABS);
    while (set->full != NULL) {
        lido__slab *slab = set->full;
        lido__slab_unlink(&set->full, slab);
        lido__slab_push(&set->available, slab);
        slab->listed_full = false;
    }
    for (lido__slab *slab = set->available; slab != NULL; slab = slab->next) {
        make_empty(slab);
        lido__slab_states_clear(slab);
    }
    set->issued = set->issued_most = set->fresh = 0;
    lido__lock_release(&set->lock, LIDO__RANK_SLABS);
}

void lido__slabs_release(lido__slab_set *set) {
    lido__slabs_reset(set);
    lido__lock_acquire(&set->lock, LIDO__RANK_SLABS);
    lido__slab *slab = set->available;
    set->available = NULL;
    set->slab_count = 0;
    lido__lock_release(&set->lock, LIDO__RANK_SLABS);
    while (slab != NULL) {
        lido__slab *next = slab->next;
        slab->set = NULL;
        lido__run_free(slab);
        slab = next;
    }
}

// The issued blocks among 64, as bits. Under the lock: what the visitor has freed may come back meanwhile by way of another thread,
// which reclaims, and changes bits of the same word.
static uint64_t issued_of_64(lido__slab_set *set, const lido__slab *slab, size_t first) {
    lido__lock_acquire(&set->lock, LIDO__RANK_SLABS);
    size_t count = slab->fresh > first ? lido__min(slab->fresh - first, 64) : 0;
    uint64_t handed_out = count == 64 ? ~UINT64_C(0) : (UINT64_C(1) << count) - 1;
    uint64_t issued = count > 0 ? handed_out & ~lido__slab_bitmap(slab)[first / 64] : 0;
    lido__lock_release(&set->lock, LIDO__RANK_SLABS);
    return issued;
}

static bool visit_list(lido__slab_set *set, lido__slab *list, bool (*visit)(void *, void *), void *context,
                       size_t *visited) {
    for (lido__slab *slab = list; slab != NULL; slab = slab->next) {
        char *memory = lido__slab_memory(slab);
        for (size_t first = 0; first < set->blocks_per_slab; first += 64) {
            for (uint64_t left = issued_of_64(set, slab, first); left != 0; left &= left - 1) {
                (*visited)++;
                if (!visit(memory + (first + lido__lowest_bit(left)) * set->block_bytes, context)) return false;
            }
        }
    }
    return true;
}

// Puts the slabs whose state changed during a visit where they belong.
static void settle_after_visit(lido__slab_set *set) {
    for (lido__slab *slab = set->full, *next; slab != NULL; slab = next) {
        next = slab->next;
        if (slab->free_count == 0) continue;
        lido__slab_unlink(&set->full, slab);
        lido__slab_push(&set->available, slab);
        slab->listed_full = false;
    }
    for (lido__slab *slab = set->available; slab != NULL; slab = slab->next) {
        if (slab->fresh > 0 && slab->free_count == slab->fresh) {
            set->fresh -= slab->fresh;
            make_empty(slab);
        }
    }
}

static void set_visiting(lido__slab_set *set, bool visiting) {
    lido__lock_acquire(&set->lock, LIDO__RANK_SLABS);
    set->visiting = visiting;
    if (!visiting) settle_after_visit(set);
    lido__lock_release(&set->lock, LIDO__RANK_SLABS);
}

size_t lido__slabs_visit(lido__slab_set *set, bool (*visit)(void *block, void *context), void *context) {
    size_t visited = 0;
    // the visitor may free, and another thread may reclaim: slabs must stay in their lists
    set_visiting(set, true);
    if (visit_list(set, set->full, visit, context, &visited)) visit_list(set, set->available, visit, context, &visited);
    set_visiting(set, false);
    return visited;
}

static size_t purge_range(char *start, char *end) {
    size_t page = lido__os_page_bytes();
    char *from = (char *)lido__round_up((uintptr_t)start, page), *to = (char *)lido__round_down((uintptr_t)end, page);
    if (from >= to || !lido__os_purge(from, (size_t)(to - from))) return 0;
    return (size_t)(to - from);
}

// Every OS page that lies in free blocks only; the end of the slab counts as free.
static size_t purge_free_pages(lido__slab_set *set, lido__slab *slab) {
    char *memory = lido__slab_memory(slab), *end = memory + (size_t)set->slab_slices * LIDO__SLICE_BYTES;
    size_t bytes = 0;
    for (size_t i = 0; i < slab->fresh;) {
        size_t from = i;
        while (i < slab->fresh && !is_issued(slab, i)) i++;
        if (i > from && i < slab->fresh)
            bytes += purge_range(memory + from * set->block_bytes, memory + i * set->block_bytes);
        if (i == slab->fresh) return bytes + purge_range(memory + from * set->block_bytes, end);
        while (i < slab->fresh && is_issued(slab, i)) i++;
    }
    return bytes + purge_range(memory + (size_t)slab->fresh * set->block_bytes, end);
}

size_t lido__slabs_trim(lido__slab_set *set, bool prewarmed_too) {
    lido__slab *doomed = NULL;
    size_t bytes = 0;
    lido__lock_acquire(&set->lock, LIDO__RANK_SLABS);
    if (set->visiting || (set->keep_slabs > 0 && !prewarmed_too)) {
        lido__lock_release(&set->lock, LIDO__RANK_SLABS);
        return 0;
    }
    for (lido__slab *slab = set->available, *next; slab != NULL; slab = next) {
        next = slab->next;
        if (slab->free_count != slab->fresh) {
            bytes += purge_free_pages(set, slab);
            continue;
        }
        set->fresh -= slab->fresh;
        make_empty(slab);
        lido__slab_unlink(&set->available, slab);
        set->slab_count--;
        slab->next = doomed;
        doomed = slab;
    }
    set->keep_slabs = 0;
    lido__lock_release(&set->lock, LIDO__RANK_SLABS);
    while (doomed != NULL) {
        lido__slab *next = doomed->next;
        lido__run_free(doomed);
        doomed = next;
    }
    return bytes;
}

static void require(bool holds, const char *what) {
    if (!holds) lido__assert_failed(what, "slab set", 0);
}

static size_t verify_list(lido__slab_set *set, lido__slab *list, bool full, size_t *issued, size_t *fresh) {
    size_t count = 0;
    for (lido__slab *slab = list; slab != NULL; slab = slab->next, count++) {
        size_t bits = 0;
        for (size_t w = 0; w < (set->blocks_per_slab + 63) / 64; w++) {
            uint64_t word = lido__slab_bitmap(slab)[w];
            require(word == 0 || w >= slab->hint, "no bit below the hint");
            bits += (size_t)__builtin_popcountll(word);
        }
        require(slab->set == set && slab->kind == LIDO__RUN_SLAB, "slab belongs to its set");
        require(bits == slab->free_count && slab->free_count <= slab->fresh, "free_count counts the bits");
        require(slab->fresh <= set->blocks_per_slab, "fresh within the slab");
        require(full == (slab->free_count == 0 && slab->fresh == set->blocks_per_slab), "slab in the right list");
        require(slab->listed_full == full, "slab knows its list");
        *issued += slab->fresh - slab->free_count;
        *fresh += slab->fresh;
    }
    return count;
}

bool lido__slabs_verify(lido__slab_set *set) {
    size_t issued = 0, fresh = 0;
    lido__lock_acquire(&set->lock, LIDO__RANK_SLABS);
    size_t count =
        verify_list(set, set->available, false, &issued, &fresh) + verify_list(set, set->full, true, &issued, &fresh);
    require(count == set->slab_count, "slab_count");
    require(issued == set->issued && fresh == set->fresh, "issued and fresh add up");
    lido__lock_release(&set->lock, LIDO__RANK_SLABS);
    return true;
}
