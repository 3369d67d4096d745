// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// See bounded.h.
#include "pool/bounded.h"

#include "os/os.h"
#include "pool/exhaustion.h"

#include <sched.h>

#define LOCK() lido__lock_acquire(lido__registry_lock(), LIDO__RANK_REGISTRY)
#define UNLOCK() lido__lock_release(lido__registry_lock(), LIDO__RANK_REGISTRY)

// From the calling thread's bin, the depot or the slabs; NULL if they are empty. The thread has entered.
static void *alloc_inside(lido_pool *pool, lido__thread *thread, bool *refused) {
    lido__bin *bin = lido__bin_at(thread, pool->bin);
    lido__bin_back *back = lido__bin_back_at(thread, pool->bin);
    void *block = lido__bin_take(bin, back);
    if (LIDO_LIKELY(block != NULL)) return block;
    uint32_t count;
    lido__link *batch = lido__depot_pop(&pool->depot, &count, thread->depot_start);
    if (batch == NULL) {
        lido__chain chain = lido__slabs_take(&pool->slabs, lido__bin_wants(pool, back));
        *refused = chain.refused;
        if (chain.count == 0) return NULL;
        batch = chain.first;
        count = chain.count;
    }
    lido__bin_fill(pool, bin, back, batch->next, count - 1);
    return batch;
}

static void empty_bin_of(lido__thread *thread, void *context) {
    lido_pool *pool = (lido_pool *)context;
    while (LIDO__ATOMIC_LOAD(&thread->busy, acquire) != 0) sched_yield();    // (d)
    lido__bin_back *back = lido__bin_back_at(thread, pool->bin);
    if (back->batch != 0) lido__bin_empty(pool, lido__bin_at(thread, pool->bin), back);
}

static void *take_one(lido_pool *pool, bool *refused) {
    lido__chain chain = lido__slabs_take(&pool->slabs, 1);
    *refused = chain.refused;
    return chain.first;
}

// Caller holds the registry's lock and has not entered. Recalls all bins if that has not happened.
static void recall_locked(lido_pool *pool) {
    // relaxed: changes under this lock only. Between fork handlers the other threads may stand in their bins, waiting for
    // locks that are ours.
    if (LIDO__ATOMIC_LOAD(&pool->recalled, relaxed) != 0 || lido__lock_exempt) return;
    LIDO__ATOMIC_STORE(&pool->recalled, 1u, relaxed);    // (c) the barrier orders it
    if (lido__os_barrier_everywhere()) {
        lido__threads_each_locked(empty_bin_of, pool);
        lido__depot_empty_locked(pool);
    } else {
        LIDO__ATOMIC_STORE(&pool->recalled, 0u, release);    // pairs with (b); no bin was touched
    }
}

// Takes a block before anybody can allow the bins again.
static void *recall_and_take(lido_pool *pool, bool *refused) {
    LOCK();
    recall_locked(pool);
    void *block = take_one(pool, refused);
    UNLOCK();
    return block;
}

bool lido__bounded_lower(lido_pool *pool, size_t capacity) {
    LOCK();
    recall_locked(pool);
    bool fits = lido__capacity_set(pool, capacity);
    UNLOCK();
    return fits;
}

// Not in the middle of a recall, and not while somebody waits: whoever begins to wait after that look recalls again, behind
// us in the lock.
static void allow_bins_again(lido_pool *pool) {
    LOCK();
    if (!lido__wait_queue_is_used(&pool->wait)) LIDO__ATOMIC_STORE(&pool->recalled, 0u, release);    // pairs with (b)
    UNLOCK();
}

void *lido__bounded_alloc(lido_pool *pool, bool *refused) {
    lido__thread *thread = lido__thread_self();
    if (thread != &lido__thread_none && lido__bounded_enter(thread, pool)) {
        void *block = alloc_inside(pool, thread, refused);
        lido__bounded_leave(thread);
        if (LIDO_LIKELY(block != NULL)) return block;
    }
    void *block = take_one(pool, refused);
    return block == NULL && !pool->always_recalled ? recall_and_take(pool, refused) : block;
}

void lido__bounded_free(lido_pool *pool, void *p) {
    lido__thread *thread = lido__thread_self();
    if (LIDO_LIKELY(thread != &lido__thread_none && lido__bounded_enter(thread, pool))) {
        uint32_t count;
        lido__link *leaves =
            lido__bin_put(pool, lido__bin_at(thread, pool->bin), lido__bin_back_at(thread, pool->bin), p, &count);
        if (leaves != NULL && !lido__depot_push(&pool->depot, leaves, count, thread->depot_start))
            lido__slabs_give(&pool->slabs, leaves);
        lido__bounded_leave(thread);
        return;
    }
    ((lido__link *)p)->next = NULL;
    size_t issued = lido__slabs_give(&pool->slabs, (lido__link *)p);
    lido__wait_queue_wake(&pool->wait);
    size_t capacity = lido__pool_capacity(pool);
    if (!pool->always_recalled && issued < capacity - capacity / 4) allow_bins_again(pool);
}
