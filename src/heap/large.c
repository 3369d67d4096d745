// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// Large objects (runs of slices) and huge ones (mappings): allocation, free, resizing. See heap.h for who is which.
#include "heap/heap.h"

#include "os/os.h"
#include "os/report.h"
#include "slab/mapping.h"

#include <errno.h>
#include <string.h>

// From here on an object that grows is given a mapping: mremap costs about as much as copying this much (guess).
enum { GROWING_FROM = 256 << 10 };

static void *run_alloc(size_t size, size_t alignment, lido_heap *heap, bool *zero) {
    size_t slices = lido__round_up(size, LIDO__SLICE_BYTES) >> LIDO__SLICE_SHIFT;
    lido__slab *run =
        lido__run_new(LIDO__RUN_LARGE, slices, lido__max(alignment >> LIDO__SLICE_SHIFT, 1), LIDO__ENTRY_LARGE, zero);
    if (run == NULL) return NULL;
    run->large_heap = heap;
    if (heap != NULL) lido__heap_list_large(heap, run);
    return lido__slab_memory(run);
}

static void *try_alloc(size_t size, size_t alignment, lido_heap *heap, bool *zero) {
    void *p = NULL;
    // an alignment of more than 2 MiB would leave most of a segment unused
    if (size <= LIDO__LARGE_MAX && alignment <= LIDO_POOL_ALIGNMENT_MAX) p = run_alloc(size, alignment, heap, zero);
    return p != NULL ? p : lido__mapping_new(size, alignment, heap, zero).start;
}

void *lido__large_alloc(size_t size, size_t alignment, lido_heap *heap, bool *zero) {
    void *p = NULL;
    if (size <= PTRDIFF_MAX && alignment <= PTRDIFF_MAX - size) {
        p = try_alloc(size, alignment, heap, zero);
        if (LIDO_UNLIKELY(p == NULL)) {
            lido__reclaim(0);
            p = try_alloc(size, alignment, heap, zero);
        }
    }
    if (p == NULL) errno = ENOMEM;
    return p;
}

bool lido__large_check_start(const void *p, const char *call) {
    const char *start = lido__slab_memory(lido__slab_of(p));
    if (LIDO_LIKELY(start == p)) return true;
    lido__misuse("%s(%p): inside a block, %z bytes after its start at %p", call, p, (size_t)((const char *)p - start),
                 (const void *)start);
    return false;
}

void lido__large_free(void *p) {
    if (!lido__large_check_start(p, "free")) return;
    lido__slab *run = lido__slab_of(p);
    if (run->large_heap != NULL) lido__heap_unlist_large(run->large_heap, run);
    lido__run_free(run);
}

size_t lido__large_usable(const void *p) { return (size_t)lido__slab_of(p)->slice_count << LIDO__SLICE_SHIFT; }

void *lido__large_resize(void *p, size_t size) {
    lido__slab *run = lido__slab_of(p);
    size_t old_bytes = (size_t)run->slice_count << LIDO__SLICE_SHIFT;
    if (size <= LIDO__SMALL_MAX) return NULL;
    if (size <= LIDO__LARGE_MAX) {
        size_t slices = lido__round_up(size, LIDO__SLICE_BYTES) >> LIDO__SLICE_SHIFT;
        if (slices == run->slice_count || lido__run_resize(run, slices)) return p;
    }
    if (size < GROWING_FROM || size < old_bytes) return NULL;
    bool zero;
    void *moved = lido__mapping_new(size, 1, run->large_heap, &zero).start;
    if (moved == NULL) return NULL;
    memcpy(moved, p, old_bytes);
    lido__large_free(p);
    return moved;
}

bool lido__huge_free(void *p) { return lido__mapping_free(p); }

size_t lido__huge_usable(const void *p) { return lido__mapping_find(p).bytes; }

void *lido__huge_resize(void *p, size_t size) {
    lido__mapping mapping = lido__mapping_find(p);
    size_t bytes = lido__round_up(size, lido__os_page_bytes());
    if (bytes == mapping.bytes) return p;
    if (size < GROWING_FROM / 2) return NULL;    // small enough to move into the segments
    return lido__mapping_resize(p, size).start;
}
