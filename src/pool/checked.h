// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// The way of pools in check mode guard and page. See checked.c.
//
// Threads: as the pool's kind; its lock is taken inside, and never held while blocks are made or freed.
#ifndef LIDO_POOL_CHECKED_H
#define LIDO_POOL_CHECKED_H

#include "check/check.h"
#include "pool/pool.h"

// Makes a pool that is filled in otherwise one of this way. False: no memory.
LIDO__HIDDEN bool lido__checked_pool_init(lido_pool *pool);
// NULL: the capacity is reached, or, with *refused, the system has no memory.
LIDO__HIDDEN void *lido__checked_pool_alloc(lido_pool *pool, bool *refused);
// False, after a report in the name of `call`, if p is not a live block of the pool.
LIDO__HIDDEN bool lido__checked_pool_free(lido_pool *pool, void *p, const char *call);
LIDO__HIDDEN bool lido__checked_pool_is_live(const lido_pool *pool, const void *p, const char *call);
// The pool in a block of which p lies, alive or at rest; NULL if there is none. Any address.
LIDO__HIDDEN lido_pool *lido__checked_pool_of(const void *p);
// Ends all live blocks.
LIDO__HIDDEN void lido__checked_pool_end_all(lido_pool *pool, lido__check_end how);

// Any way: the structure of a destroyed pool that shall stay, so that a later call can be told. True, after a report, if it is one.
LIDO__HIDDEN void lido__pool_bury(lido_pool *pool);
LIDO__HIDDEN bool lido__pool_is_dead(const lido_pool *pool, const char *call);

#endif
