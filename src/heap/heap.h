// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// Memory of any size, from inside. Which of three ways serves a request depends on its size alone:
//
//      1 .. 32 KiB             small: a block of a size class (size_class.h)
//      .. 8 MiB                large: a run of slices in a segment, 64 KiB granular
//      above, or refused       huge: a mapping of its own (slab/mapping.h), page granular
// except that a large object which realloc makes grow becomes a mapping from 256 KiB on: the system moves mappings by
// their page tables, so that each further growth copies nothing.
//
// The two inline functions are the whole fast path of malloc and free; heap.c exports them as lido_malloc and lido_free,
// src/malloc under the standard names.
#ifndef LIDO_HEAP_HEAP_H
#define LIDO_HEAP_HEAP_H

#include "check/check.h"
#include "heap/size_class.h"
#include "pool/thread.h"
#include "pool/watched.h"

#include <lido/heap.h>

LIDO__NOINLINE LIDO__HIDDEN void *
lido__malloc_tiny_refill(size_t size);                                   // size <= LIDO__TINY_MAX, and the bin is empty
LIDO__NOINLINE LIDO__HIDDEN void *lido__malloc_not_tiny(size_t size);    // size > LIDO__TINY_MAX
LIDO__NOINLINE LIDO__HIDDEN void lido__free_slow(void *p);
// The pool of a size class, made if need be. Requires: 1 <= size <= LIDO__SMALL_MAX.
LIDO__HIDDEN lido_pool *lido__class_pool(size_t size);
// A block of a class, the slow way; NULL without memory. Its way is settled when it is made: one that was made before check mode
// was on is not watched, one that was made then is for good.
LIDO_INLINE void *lido__class_alloc(lido_pool *pool) {
    return pool->way == LIDO__WAY_WATCHED ? lido__watched_alloc(pool) : lido__bin_alloc_slow(pool);
}
// lido_usable_size, which reports in the name of `call`.
LIDO__HIDDEN size_t lido__usable_size(const void *p, const char *call);

LIDO_INLINE void *lido__malloc(size_t size) {
    if (LIDO_UNLIKELY(size > LIDO__TINY_MAX)) return lido__malloc_not_tiny(size);
    void *block = lido__bin_pop(lido__bin_at(lido__self, lido__tiny_entry(size)));
    return LIDO_LIKELY(block != NULL) ? block : lido__malloc_tiny_refill(size);
}

LIDO_INLINE bool lido__free_fast(void *p) {
    return LIDO_LIKELY(lido__bin_push(lido__bin_at(lido__self, lido__window_entry(p)), p));
}
LIDO_INLINE void lido__free(void *p) {
    if (!lido__free_fast(p)) lido__free_slow(p);
}

// For calls that say how the block was made, or its size (SIZE_MAX: not): as good, and told to check mode.
LIDO__NOINLINE LIDO__HIDDEN void lido__free_as(void *p, lido__check_call call, size_t bytes);
LIDO_INLINE void lido__free_sized(void *p, lido__check_call call, size_t bytes) {
    if (!lido__free_fast(p)) lido__free_as(p, call, bytes);
}
// The slow halves of new: lido__malloc's, told to check mode. `size` 0 is 1.
LIDO__NOINLINE LIDO__HIDDEN void *lido__new_refill(size_t size, lido__check_call call);
LIDO_INLINE void *lido__new(size_t size, lido__check_call call) {
    if (LIDO_UNLIKELY(size > LIDO__TINY_MAX)) return lido__new_refill(size, call);
    void *block = lido__bin_pop(lido__bin_at(lido__self, lido__tiny_entry(size)));
    return LIDO_LIKELY(block != NULL) ? block : lido__new_refill(size, call);
}

// What to do with blocks that the C library's own malloc gave out before ours was in place, or behind its back. NULL in the
// plain library, where such a block is a mistake; src/malloc defines it.
typedef struct lido__foreign {
    void (*free)(void *p);
    void *(*realloc)(void *p, size_t size);
    size_t (*usable_size)(const void *p);
} lido__foreign;
extern LIDO__HIDDEN lido__foreign lido__foreign_malloc;
// True if p is the C library's and the hooks are there, or the loader's; reports it otherwise.
LIDO__HIDDEN bool lido__foreign_block(const char *call, const void *p, bool *loader);

// Large and huge objects (large.c). `heap` is NULL for the process's own.
LIDO__HIDDEN void *lido__large_alloc(size_t size, size_t alignment, lido_heap *heap, bool *zero);
LIDO__HIDDEN void lido__large_free(void *p);
LIDO__HIDDEN bool lido__large_check_start(const void *p, const char *call);    // false, after a report, if it is not
LIDO__HIDDEN size_t lido__large_usable(const void *p);                         // requires: the start of one
LIDO__HIDDEN bool lido__huge_free(void *p);              // false: p is not the start of a huge object
LIDO__HIDDEN size_t lido__huge_usable(const void *p);    // 0: likewise
// In place, or by moving page tables; NULL: allocate, copy, free.
LIDO__HIDDEN void *lido__large_resize(void *p, size_t size);
LIDO__HIDDEN void *lido__huge_resize(void *p, size_t size);

// First-class heaps (first_class.c).
LIDO__HIDDEN void lido__heap_free_small(lido_pool *pool, void *p);
LIDO__HIDDEN void lido__heap_free_bumped(lido_heap *heap, void *p);    // checks it
LIDO__HIDDEN bool lido__heap_check_bumped(lido_heap *heap, const void *p, const char *call);
LIDO__HIDDEN void lido__heap_list_large(lido_heap *heap, lido__slab *run);
LIDO__HIDDEN void lido__heap_unlist_large(lido_heap *heap, lido__slab *run);

#endif
