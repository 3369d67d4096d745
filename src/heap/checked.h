// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// malloc, heaps and operator new in check mode: the slow halves come here, and with checks on no block of theirs is ever in a
// bin that the fast halves look at, so every call does.
//
// Threads: any.
#ifndef LIDO_HEAP_CHECKED_H
#define LIDO_HEAP_CHECKED_H

#include "check/check.h"
#include "pool/pool.h"
#include "slab/window.h"

#include <lido/heap.h>

// True in any check mode. For slow halves that may be the first call of a process: they see to it that the options are read.
LIDO_INLINE bool lido__heap_has_checks(void) {
    lido__start();
    return LIDO_UNLIKELY(lido__check_now() != LIDO_CHECK_OFF);
}
// True if malloc is to give out checked blocks.
LIDO_INLINE bool lido__heap_is_checked(void) { return LIDO_UNLIKELY(lido__check_now() >= LIDO_CHECK_GUARD); }

// Whether p lies in a checked block, of anybody and whatever the level is now. `entry`: that of the window.
LIDO_INLINE bool lido__heap_is_checked_block(const void *p, unsigned entry) {
    if (LIDO_LIKELY(entry != LIDO__ENTRY_NONE)) return entry == LIDO__ENTRY_CHECK;
    return lido__checked_find(p) != NULL;    // a mapping of its own
}
// `alignment`: a power of two. NULL with ENOMEM. `call` is how the block must be freed.
LIDO__HIDDEN void *lido__heap_checked_alloc(lido__check_source *source, size_t size, size_t alignment,
                                            lido__check_call call);
// malloc in whatever check mode is on: a checked block, or a plain one of a class that is watched, or a large one. size: any;
// alignment: a power of two. *zero: its memory is known to be zero.
LIDO__HIDDEN void *lido__malloc_checked(size_t size, size_t alignment, lido__check_call call, bool *zero);
// False, after a report, if p is the start of a block of a watched pool, and that block is not alive. Requires: p is not inside of
// a block. Large blocks that were freed have no start any more.
LIDO__HIDDEN bool lido__heap_is_live(const void *p, const char *call);
// Frees a checked block of anybody. `bytes`: SIZE_MAX if the call names no size. Requires: lido__checked_find(p) is not NULL.
LIDO__HIDDEN void lido__heap_checked_free(void *p, lido__check_call call, size_t bytes);
// False, after a report in the name of `call`, if p is not the start of a live checked block of malloc or a heap.
LIDO__HIDDEN bool lido__heap_checked_require(const void *p, const char *call, size_t *bytes);
// As realloc; p is a checked block, size is not 0.
LIDO__HIDDEN void *lido__heap_checked_realloc(void *p, size_t size);
// Bytes of the block; 0, after a report in the name of `call`, if p is not the start of a live one.
LIDO__HIDDEN size_t lido__heap_checked_bytes(const void *p, const char *call);

#endif
