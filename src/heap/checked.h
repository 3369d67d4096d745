// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// malloc, heaps and operator new in check mode guard and page: the slow halves come here, and with checks on no block of
// theirs is ever in a bin, so every call does.
//
// Threads: any.
#ifndef LIDO_HEAP_CHECKED_H
#define LIDO_HEAP_CHECKED_H

#include "check/check.h"

#include <lido/heap.h>

// True if malloc is to give out checked blocks.
LIDO_INLINE bool lido__heap_is_checked(void) { return LIDO_UNLIKELY(lido__check_now() >= LIDO_CHECK_GUARD); }

// `alignment`: a power of two. NULL with ENOMEM. `call` is how the block must be freed.
LIDO__HIDDEN void *lido__heap_checked_alloc(lido__check_source *source, size_t size, size_t alignment,
                                            lido__check_call call);
// A block of a size class in whatever check mode is on; `pool` is that of the class.
LIDO__HIDDEN void *lido__heap_small_checked(lido_pool *pool, size_t size, lido__check_call call);
// Frees a checked block of anybody. `bytes`: SIZE_MAX if the call names no size. Requires: lido__checked_find(p) is not NULL.
LIDO__HIDDEN void lido__heap_checked_free(void *p, lido__check_call call, size_t bytes);
// As realloc; p is a checked block, size is not 0.
LIDO__HIDDEN void *lido__heap_checked_realloc(void *p, size_t size);
// Bytes of the block; 0, after a report in the name of `call`, if p is not the start of a live one.
LIDO__HIDDEN size_t lido__heap_checked_bytes(const void *p, const char *call);

#endif
