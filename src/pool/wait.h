// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// The queue of threads that wait for a block of a pool whose capacity is reached (LIDO_WAIT).
//
//      head ──► waiter ──► waiter ──► waiter      on the stacks of the threads that wait, oldest first
//                │ sleeps on `turn`     │ sleeps on its own `first`
//
// Only the head tries to take a block, and whoever comes while the queue is used goes to its end: first come, first served.
// A free makes no decision: it raises `turn`, which wakes the head. The head that leaves, with a block or because its
// time is over, makes the next one head, and that one tries before it sleeps; so one wake-up that comes too late for a head serves the next.
//
// No wake-up is lost. Let L be the lock under which blocks come and go (of the slabs, the stock or idle objects):
//
//      head                                        thread that frees
//      used = 1, once                  (a)         L: the block is free             (d)
//      t = turn                        (b)         used?                            (e)
//      L: take a block                 (c)           turn = turn + 1, wake          (f)
//      none: sleep while turn == t
//
// If (d) comes before (c) in the order of L, (c) finds the block. Otherwise (c) is before (d), so (e) sees what (a) wrote, and
// (f) changes `turn` after (b) read it. Blocks in bins do not pass through L: bounded pools keep their bins recalled while the
// queue is used (bounded.h). Modelled in docs/models/wait.pml.
//
// The queue's lock is held while the head tries, so that a reset, which holds it too, comes before or after a try. A free
// takes no lock of the queue. Fork does not wait for it either: in the child nobody waits.
#ifndef LIDO_POOL_WAIT_H
#define LIDO_POOL_WAIT_H

#include "base/atomics.h"
#include "os/lock.h"

struct lido_pool;

typedef struct lido__waiter {
    struct lido__waiter *next;    // [lock:wait]
    _Atomic uint32_t first;       // [atomic:first] 1: this is the head
} lido__waiter;

typedef struct lido__wait_queue {
    lido__lock lock;
    _Atomic uint32_t turn;    // [atomic:turn] raised when a block may be free
    _Atomic uint32_t used;    // [lock:wait] written: how many wait. Read relaxed: (e) is ordered by L
    uint32_t resets;          // [lock:wait] how often all blocks were declared free
    lido__waiter *head;       // [lock:wait]
} lido__wait_queue;

LIDO_INLINE bool lido__wait_queue_is_used(const lido__wait_queue *queue) {
    return LIDO__ATOMIC_LOAD(&queue->used, relaxed) != 0;    // (e)
}

LIDO__COLD LIDO__HIDDEN void lido__wait_queue_wake_slow(lido__wait_queue *queue);
// A block is free now, or the capacity is higher: to be called behind L.
LIDO_INLINE void lido__wait_queue_wake(lido__wait_queue *queue) {
    if (LIDO_UNLIKELY(lido__wait_queue_is_used(queue))) lido__wait_queue_wake_slow(queue);
}

// In the child of a fork.
LIDO__HIDDEN void lido__wait_queue_forget(lido__wait_queue *queue);

// Takes what the caller wants from the pool, without waiting; NULL if it cannot be had. *refused, which is false before: because the
// system refuses memory, so that waiting is no use. `context` is the caller's.
typedef void *lido__attempt(struct lido_pool *pool, void *context, bool *refused);

// Queues, and makes attempts when it is this thread's turn, until one succeeds, the system refuses, or `wait_ms` (0: no limit) are
// over. NULL: *error is ENOMEM or ETIMEDOUT, and gave_up(pool, context) was called under the queue's lock, unless it is NULL.
LIDO__HIDDEN void *lido__wait_for(struct lido_pool *pool, lido__attempt *attempt, void *context,
                                  void (*gave_up)(struct lido_pool *pool, void *context), int *error);

#endif
