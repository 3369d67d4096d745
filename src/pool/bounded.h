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
// While a thread waits for a block (wait.h), bins stay recalled: every free goes to the slabs, where the waiting thread looks.
// Inside (a)..(e) a thread takes no lock but that of the slabs.
#ifndef LIDO_POOL_BOUNDED_H
#define LIDO_POOL_BOUNDED_H

#include "pool/thread.h"

LIDO__HIDDEN void *lido__bounded_alloc(lido_pool *pool, bool *refused);
// Recalls all bins, so that only blocks that are alive are issued, and lowers the capacity of the slabs. False: more are alive.
LIDO__HIDDEN bool lido__bounded_lower(lido_pool *pool, size_t capacity);
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

// The common halves: within the thread's bin. NULL, or false: nothing has happened, take the others. A thread without a
// structure comes here too: its bins are empty and have no room.
LIDO_INLINE void *lido__bounded_pop(lido_pool *pool) {
    lido__thread *thread = lido__self;
    if (LIDO_UNLIKELY(!lido__bounded_enter(thread, pool))) return NULL;
    void *block = lido__bin_pop(lido__bin_at(thread, pool->bin));
    lido__bounded_leave(thread);
    return block;
}
// Requires: the window says that p is in this pool's memory.
LIDO_INLINE bool lido__bounded_push(lido_pool *pool, void *p) {
    if (LIDO_UNLIKELY(!lido__is_multiple((uint16_t)(uintptr_t)p, pool->block_check))) return false;
    lido__thread *thread = lido__self;
    if (LIDO_UNLIKELY(!lido__bounded_enter(thread, pool))) return false;
    lido__bin *bin = lido__bin_at(thread, pool->bin);
    bool fits = bin->room > 0;
    if (LIDO_LIKELY(fits)) {
        lido__link *link = (lido__link *)p;
        bin->room--;
        link->next = bin->head;
        bin->head = link;
    }
    lido__bounded_leave(thread);
    return fits;
}

#endif
