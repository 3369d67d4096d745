// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// What an allocation does when it finds no block: the order of its attempts, and the pool's option on_exhausted.
//
//      attempt ──► memory refused? give back what is free elsewhere, attempt
//              ──► capacity reached?  FAIL  NULL
//                                     GROW  raise the capacity by a step, attempt
//                                     CALL  ask the program, attempt, as often as it says true
//                                     WAIT  queue (wait.h), attempt when it is our turn
//
// An attempt is a function: one block, many, or an object that may also be an idle one. While threads wait, an allocation makes
// no attempt before it is its turn.
#ifndef LIDO_POOL_EXHAUSTION_H
#define LIDO_POOL_EXHAUSTION_H

#include "pool/pool.h"

// A block from wherever the pool has one, in one attempt; for pools that the calling thread may use.
LIDO__HIDDEN void *lido__pool_take(lido_pool *pool, bool *refused);
// lido__pool_take as an attempt; no context.
LIDO__HIDDEN void *lido__attempt_block(lido_pool *pool, void *context, bool *refused);
// Without a word to on_exhausted. NULL: errno is ENOMEM.
LIDO__HIDDEN void *lido__pool_try(lido_pool *pool);

// The whole of the above. NULL: errno is set; gave_up as in lido__wait_for. Success leaves errno as it was.
// gave_up may be called twice.
LIDO__HIDDEN void *lido__pool_obtain(lido_pool *pool, lido__attempt *attempt, void *context,
                                     void (*gave_up)(lido_pool *pool, void *context));

// How many blocks a pool that has `held` takes at a time.
LIDO__HIDDEN size_t lido__growth_step(const lido_pool *pool, size_t held);
// Sets it if no more blocks are out; those in bins and face count as out.
LIDO__HIDDEN bool lido__capacity_set(lido_pool *pool, size_t capacity);
// LIDO_GROW: the capacity after a trim: as it was at first, or what is alive if that is more.
LIDO__HIDDEN void lido__capacity_lower(lido_pool *pool);

// Between the two, no thread that waits makes an attempt; the second says whether all blocks were declared free.
LIDO__HIDDEN void lido__pool_hold_waiting(lido_pool *pool);
LIDO__HIDDEN void lido__pool_serve_waiting(lido_pool *pool, bool reset);

#endif
