// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// Heaps of their own: a local pool for each size class in use, made when first needed, or one region for all small blocks (bump.h);
// and lists of what is larger. Destroying a heap gives whole slabs, runs and mappings back without looking at blocks.
#include "heap/heap.h"

#include "check/inject.h"
#include "heap/bump.h"
#include "heap/checked.h"
#include "os/report.h"
#include "pool/watched.h"
#include "slab/mapping.h"
#include "slab/slab_list.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

struct lido_heap {
    lido__lock lock;                        // used if shared
    bool shared;                            // [const]
    char name[LIDO_POOL_NAME_MAX + 1];      // [const]
    lido__check_source *source;             // [const] in check mode guard and page; else NULL
    bool checks;                            // [const] made in check mode, at any level: no call takes the short way
    bool dead;                              // destroyed in check mode, and kept to tell of it; `checks` is true then
    bool bumps;                             // [const] small blocks come from `bump`, and there are no pools
    lido__bump bump;                        // [lock:heap]
    lido_pool *pools[LIDO__CLASS_COUNT];    // [lock:heap] NULL until used
    lido__lock large_lock;
    lido__slab *large;             // [lock:large]
    lido_heap *next, *previous;    // [lock:heaps]
};

// All heaps, for fork: it takes their locks before any other.
static lido__lock heaps_lock;
static lido_heap *all_heaps;    // [lock:heaps]

LIDO_INLINE void lock_if_shared(lido_heap *heap) {
    if (heap->shared) lido__lock_acquire(&heap->lock, LIDO__RANK_HEAP);
}
LIDO_INLINE void unlock_if_shared(lido_heap *heap) {
    if (heap->shared) lido__lock_release(&heap->lock, LIDO__RANK_HEAP);
}

static void each_lock(void (*call)(lido__lock *)) {
    for (lido_heap *heap = all_heaps; heap != NULL; heap = heap->next) call(&heap->lock);
    for (lido_heap *heap = all_heaps; heap != NULL; heap = heap->next) call(&heap->large_lock);
}
// The lock of the list first, and last after the fork: nobody may change the list while it is walked.
static void before_fork(void) {
    lido__lock_acquire_unranked(&heaps_lock);
    each_lock(lido__lock_acquire_unranked);
}
static void after_fork_in_parent(void) {
    each_lock(lido__lock_release_unranked);
    lido__lock_release_unranked(&heaps_lock);
}
static void after_fork_in_child(void) {
    each_lock(lido__lock_reset);
    lido__lock_reset(&heaps_lock);
}

// Handlers that are registered later run earlier: these before the ones of the pools, which lie below.
static void watch_forks(void) {
    static atomic_flag watching = ATOMIC_FLAG_INIT;
    if (!atomic_flag_test_and_set(&watching)) pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

static void list_heap(lido_heap *heap) {
    lido__lock_acquire(&heaps_lock, LIDO__RANK_HEAPS);
    heap->next = all_heaps;
    if (all_heaps != NULL) all_heaps->previous = heap;
    all_heaps = heap;
    lido__lock_release(&heaps_lock, LIDO__RANK_HEAPS);
}

static void unlist_heap(lido_heap *heap) {
    lido__lock_acquire(&heaps_lock, LIDO__RANK_HEAPS);
    if (heap->previous != NULL) {
        heap->previous->next = heap->next;
    } else {
        all_heaps = heap->next;
    }
    if (heap->next != NULL) heap->next->previous = heap->previous;
    lido__lock_release(&heaps_lock, LIDO__RANK_HEAPS);
}

lido_heap *lido_heap_new(const lido_heap_options *options) {
    static const lido_heap_options defaults = {.name = "heap", .threads = LIDO_LOCAL};
    if (options == NULL) options = &defaults;
    watch_forks();
    if (options->threads != LIDO_LOCAL && options->threads != LIDO_SHARED) {
        errno = EINVAL;
        return NULL;
    }
    lido_heap *heap = lido_calloc(1, sizeof *heap);
    if (heap == NULL) return NULL;
    heap->shared = options->threads == LIDO_SHARED;
    heap->bumps = options->bump;
    strncpy(heap->name, options->name != NULL ? options->name : defaults.name, LIDO_POOL_NAME_MAX);
    heap->checks = lido__check_now() != LIDO_CHECK_OFF;
    if (lido__heap_is_checked()) {
        heap->source = lido__check_source_new("heap", heap->name, heap, 0, 0);
        if (heap->source == NULL) {
            lido_free(heap);
            errno = ENOMEM;
            return NULL;
        }
    }
    list_heap(heap);
    return heap;
}

static void free_large_ones(lido_heap *heap) {
    while (heap->large != NULL) {
        lido__slab *run = heap->large;
        lido__slab_unlink(&heap->large, run);
        lido__run_free(run);
    }
    lido__mappings_free_of(heap);
}

static bool is_dead(const lido_heap *heap, const char *call) {
    if (LIDO_LIKELY(!heap->dead)) return false;
    lido__misuse("%s: heap '%s' was destroyed before", call, heap->name);
    return true;
}

static void free_structure(void *heap) { lido_free(heap); }

void lido_heap_reset(lido_heap *heap) {
    if (heap == NULL || is_dead(heap, "lido_heap_reset")) return;
    if (heap->source != NULL) lido__checked_end_all(heap->source, 0, LIDO__END_RESET);
    for (unsigned i = 0; i < LIDO__CLASS_COUNT; i++) {
        if (heap->pools[i] != NULL) lido_pool_reset(heap->pools[i]);
    }
    lido__bump_reset(&heap->bump);
    free_large_ones(heap);
}

void lido_heap_destroy(lido_heap *heap) {
    if (heap == NULL || is_dead(heap, "lido_heap_destroy")) return;
    if (heap->source != NULL) {
        lido__checked_end_all(heap->source, 0, LIDO__END_DESTROY);
        lido__check_source_end(heap->source);
    }
    unlist_heap(heap);
    lido__bump_release(&heap->bump);
    for (unsigned i = 0; i < LIDO__CLASS_COUNT; i++) {
        if (heap->pools[i] == NULL) continue;
        lido__pool_fini(heap->pools[i]);
        lido__pool_structure_free(heap->pools[i]);
    }
    free_large_ones(heap);
    if (lido__check_now() == LIDO_CHECK_OFF) {
        lido_free(heap);
        return;
    }
    heap->checks = heap->dead = true;
    lido__check_bury(heap, free_structure);
}

static lido_pool *pool_for(lido_heap *heap, size_t size) {
    unsigned size_class = lido__class_of(size);
    if (LIDO_LIKELY(heap->pools[size_class] != NULL)) return heap->pools[size_class];
    lido_pool *pool = lido__pool_structure_new();
    if (pool == NULL) return NULL;
    lido_pool_options options = {.name = heap->name,
                                 .block_size = lido__class_bytes(size_class),
                                 .threads = LIDO_LOCAL,
                                 .check = lido__check_now()};
    if (!heap->checks || options.check >= LIDO_CHECK_GUARD) options.check = LIDO_CHECK_OFF;    // checks came on later
    lido__pool_init(pool, &options, 0);
    pool->anonymous = true;
    pool->heap = heap;
    heap->pools[size_class] = pool;
    return pool;
}

static LIDO__NOINLINE void *bump_rarely(lido_heap *heap, size_t size, size_t alignment) {
    lido__reclaim(0);
    lock_if_shared(heap);
    void *block = lido__bump_alloc(&heap->bump, size, alignment, heap);
    unlock_if_shared(heap);
    if (block == NULL) errno = ENOMEM;
    return block;
}

static void *bump_alloc(lido_heap *heap, size_t size, size_t alignment) {
    lock_if_shared(heap);
    void *block = lido__bump_alloc(&heap->bump, size, alignment, heap);
    unlock_if_shared(heap);
    return LIDO_LIKELY(block != NULL) ? block : bump_rarely(heap, size, alignment);
}

bool lido__heap_check_bumped(lido_heap *heap, const void *p, const char *call) {
    lock_if_shared(heap);
    bool good = lido__bump_check(&heap->bump, p, call);
    unlock_if_shared(heap);
    return good;
}

void lido__heap_free_bumped(lido_heap *heap, void *p) {
    lock_if_shared(heap);
    if (lido__bump_check(&heap->bump, p, "free")) lido__bump_free(&heap->bump, p);
    unlock_if_shared(heap);
}

static void *small_alloc(lido_heap *heap, size_t size) {
    if (heap->bumps) return bump_alloc(heap, size, 1);
    lock_if_shared(heap);
    lido_pool *pool = pool_for(heap, size);
    void *block = pool != NULL ? lido_pool_alloc(pool) : NULL;
    unlock_if_shared(heap);
    if (block == NULL) errno = ENOMEM;
    return block;
}

LIDO_INLINE void *plain_alloc(lido_heap *heap, size_t size) {
    if (size <= LIDO__SMALL_MAX) return small_alloc(heap, size != 0 ? size : 1);
    bool zero;
    return lido__large_alloc(size, 1, heap, &zero);
}

// Requires: alignment > 16.
LIDO_INLINE void *plain_alloc_aligned(lido_heap *heap, size_t alignment, size_t size) {
    if (size == 0) size = 1;
    size_t small = lido__small_bytes(size, alignment);
    if (small != 0) return heap->bumps ? bump_alloc(heap, size, alignment) : small_alloc(heap, small);
    bool zero;
    return lido__large_alloc(size, alignment, heap, &zero);
}

static LIDO__NOINLINE void *checked_alloc(lido_heap *heap, size_t size, size_t alignment) {
    if (is_dead(heap, "lido_heap_alloc")) {
        errno = EINVAL;
        return NULL;
    }
    if (heap->source != NULL) return lido__heap_checked_alloc(heap->source, size, alignment, LIDO__CALL_MALLOC);
    bool of_pool = !heap->bumps && lido__small_bytes(lido__max(size, 1), alignment) != 0;    // which asks itself
    if (!of_pool && lido__inject(heap->name)) {
        errno = ENOMEM;
        return NULL;
    }
    return alignment <= 16 ? plain_alloc(heap, size) : plain_alloc_aligned(heap, alignment, size);
}

void *lido_heap_alloc(lido_heap *heap, size_t size) {
    return LIDO_UNLIKELY(heap->checks) ? checked_alloc(heap, size, 1) : plain_alloc(heap, size);
}

void *lido_heap_alloc_aligned(lido_heap *heap, size_t alignment, size_t size) {
    if (!lido__is_power_of_two(alignment)) {
        errno = EINVAL;
        return NULL;
    }
    if (alignment <= 16) return lido_heap_alloc(heap, size);
    return LIDO_UNLIKELY(heap->checks) ? checked_alloc(heap, size, alignment)
                                       : plain_alloc_aligned(heap, alignment, size);
}

static void *move_to(void *moved, void *p, size_t old_bytes, size_t size) {
    if (moved == NULL) return NULL;
    memcpy(moved, p, lido__min(old_bytes, size));
    lido_free(p);
    return moved;
}

static LIDO__NOINLINE void *checked_realloc(lido_heap *heap, void *p, size_t size) {
    static const char call[] = "lido_heap_realloc";
    if (is_dead(heap, call)) {
        errno = EINVAL;
        return NULL;
    }
    size_t old_bytes;
    if (lido__checked_find(p) != NULL) {    // it may have no bytes at all
        if (!lido__heap_checked_require(p, call, &old_bytes)) return NULL;
    } else {
        old_bytes = lido__usable_size(p, call);
        if (old_bytes == 0 || !lido__heap_is_live(p, call)) return NULL;
    }
    if (heap->source == NULL && size <= old_bytes && size >= old_bytes / 2) return p;
    return move_to(checked_alloc(heap, size, 1), p, old_bytes, size);
}

void *lido_heap_realloc(lido_heap *heap, void *p, size_t size) {
    if (p == NULL) return lido_heap_alloc(heap, size);
    if (size == 0) {
        lido_free(p);
        return NULL;
    }
    if (LIDO_UNLIKELY(heap->checks)) return checked_realloc(heap, p, size);
    size_t old_bytes = lido__usable_size(p, "lido_heap_realloc");
    if (old_bytes == 0) return NULL;    // no block of lido: reported
    if (size <= old_bytes && size >= old_bytes / 2) return p;
    return move_to(plain_alloc(heap, size), p, old_bytes, size);
}

void lido_heap_free(lido_heap *heap, void *p) {
    (void)heap;    // the block knows its heap
    lido_free(p);
}

void lido__heap_free_small(lido_pool *pool, void *p) {
    lock_if_shared(pool->heap);
    lido__pool_free_slow(pool, p);
    unlock_if_shared(pool->heap);
}

void lido__heap_list_large(lido_heap *heap, lido__slab *run) {
    lido__lock_acquire(&heap->large_lock, LIDO__RANK_HEAP_LARGE);
    lido__slab_push(&heap->large, run);
    lido__lock_release(&heap->large_lock, LIDO__RANK_HEAP_LARGE);
}

void lido__heap_unlist_large(lido_heap *heap, lido__slab *run) {
    lido__lock_acquire(&heap->large_lock, LIDO__RANK_HEAP_LARGE);
    lido__slab_unlink(&heap->large, run);
    lido__lock_release(&heap->large_lock, LIDO__RANK_HEAP_LARGE);
}
