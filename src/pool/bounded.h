// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// A capacity that is exact although threads keep bins.
//
// The slabs issue at most `capacity` blocks. When they have none left, free blocks may still lie in bins of other
// threads, and a request must get one of those. So the thread that runs dry recalls: it tells every thread to keep its
// hands off the bins of this pool, waits until nobody is inside one, empties them all into the slabs, and asks again. What
// it does not find then does not exist. While a pool is recalled all its blocks go to and from the slabs one by one, under
// their lock; once a quarter of the capacity is free again, bins are allowed again.
//
//      owner                               recalling thread
//      busy = 1              (a)           recalled = 1                          (c)
//      recalled?             (b)           barrier in every thread
//        0: use the bin                    for each thread: wait for busy == 0   (d)
//        1: go to the slabs                empty its bin
//      busy = 0              (e)
//
// (a) and (b) need no fence of their own: the barrier that the system makes every thread pass orders them against (c) and
// (d), so either the owner sees recalled == 1 or the other sees busy == 1 and waits (asymmetric Dekker; membarrier(2)).
// (e) releases, (d) acquires: the bin's contents. Clearing `recalled` releases, (b) acquires: the emptied bin.
// Inside (a)..(e) a thread takes no lock but that of the slabs.
#ifndef LIDO_POOL_BOUNDED_H
#define LIDO_POOL_BOUNDED_H

#include "pool/thread.h"

LIDO__HIDDEN void *lido__bounded_alloc(lido_pool *pool);
// Requires: p is a block of the pool (its start).
LIDO__HIDDEN void lido__bounded_free(lido_pool *pool, void *p);

LIDO_INLINE void lido__bounded_leave(lido__thread *thread) {
    LIDO__ATOMIC_STORE(&thread->busy, 0u, release);    // (e)
}
// True: the calling thread may use its bin of this pool until it leaves. False: it may not, and has left.
LIDO_INLINE bool lido__bounded_enter(lido__thread *thread, lido_pool *pool) {
    LIDO__ATOMIC_STORE(&thread->busy, 1u, relaxed);    // (a)
    atomic_signal_fence(memory_order_seq_cst);         // the compiler keeps the order; the barrier in (c) does the rest
    if (LIDO_LIKELY(LIDO__ATOMIC_LOAD(&pool->recalled, acquire) == 0)) return true;    // (b)
    lido__bounded_leave(thread);
    return false;
}

#endif
