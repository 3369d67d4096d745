// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// Huge objects: one system mapping each, page aligned, anywhere in the address space, found through a hash table by
// their first address. What is freed waits a while in a small cache, because unmapping and faulting in again costs
// far more than keeping it (a page fault is 0.25 to 3 microseconds).
//
// Threads: any; one lock, rank HUGE. System calls are made without it where others could wait for them.
#ifndef LIDO_SLAB_MAPPING_H
#define LIDO_SLAB_MAPPING_H

#include "os/lock.h"

typedef struct lido__mapping {
    void *start;     // NULL: no such mapping
    size_t bytes;    // mapped, whole OS pages
    void *owner;     // first-class heap or NULL
} lido__mapping;

// A mapping of at least `bytes`, aligned to `alignment` (a power of two; up to an OS page is free of charge). *zero: it
// reads as zero. start is NULL when the system refuses.
LIDO__HIDDEN lido__mapping lido__mapping_new(size_t bytes, size_t alignment, void *owner, bool *zero);
LIDO__HIDDEN lido__mapping lido__mapping_find(const void *start);
// False if there is no mapping that starts here.
LIDO__HIDDEN bool lido__mapping_free(void *start);
// Grows or shrinks, moving if need be; start is NULL when refused or unknown, and nothing has changed. New bytes read as zero.
LIDO__HIDDEN lido__mapping lido__mapping_resize(void *start, size_t bytes);
// Frees all mappings of an owner.
LIDO__HIDDEN void lido__mappings_free_of(const void *owner);
// Unmaps what has been in the cache for the option purge_delay_ms, or all of it. Returns the bytes.
LIDO__HIDDEN size_t lido__mappings_purge(bool all);

typedef struct lido__mapping_totals {
    size_t count, bytes, cached_bytes;
} lido__mapping_totals;
LIDO__HIDDEN lido__mapping_totals lido__mappings_totals(void);
LIDO__HIDDEN lido__lock *lido__mappings_lock(void);

#endif
