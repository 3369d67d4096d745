// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// Idle objects: the stripes of a pool, and what fork needs to know of their locks.
#include "object/object.h"

#include "os/report.h"
#include "pool/thread.h"

#include <lido/heap.h>
#include <pthread.h>

enum { FIRST_ROOM = 32 };    // guess: an array of 256 bytes

LIDO_INLINE void lock_if_shared(lido_object_pool *pool, lido__stripe *stripe) {
    if (pool->shared) lido__lock_acquire(&stripe->lock, LIDO__RANK_STRIPE);
}
LIDO_INLINE void unlock_if_shared(lido_object_pool *pool, lido__stripe *stripe) {
    if (pool->shared) lido__lock_release(&stripe->lock, LIDO__RANK_STRIPE);
}

// Tokens are addresses of thread-local variables, which differ in their middle bits: a multiplication spreads them
// (Fibonacci hashing, Knuth 6.4).
static unsigned stripe_of_thread(const lido_object_pool *pool) {
    uint64_t token = (uint64_t)(uintptr_t)lido__thread_token() >> 6;
    return (unsigned)((token * UINT64_C(0x9E3779B97F4A7C15)) >> 60) & pool->stripe_mask;
}

// Under the stripe's lock. The array, not the object, is what may be missing.
static bool has_room(lido__stripe *stripe, size_t count) {
    if (LIDO_LIKELY(count < stripe->room)) return true;
    size_t room = stripe->room == 0 ? FIRST_ROOM : 2 * stripe->room;
    void **objects = (void **)lido_realloc(stripe->objects, room * sizeof *objects);
    if (objects == NULL) return false;
    stripe->objects = objects;
    stripe->room = room;
    return true;
}

// relaxed: the count alone is exact whatever the order; the objects themselves pass under the stripe's lock.
static bool one_more(lido_object_pool *pool) {
    if (pool->idle_max == 0) return true;
    if (LIDO__ATOMIC_ADD(&pool->idle_count, 1, relaxed) < pool->idle_max) return true;
    LIDO__ATOMIC_SUB(&pool->idle_count, 1, relaxed);
    return false;
}
static void one_less(lido_object_pool *pool) {
    if (pool->idle_max != 0) LIDO__ATOMIC_SUB(&pool->idle_count, 1, relaxed);
}

bool lido__idle_put(lido_object_pool *pool, void *object) {
    if (!one_more(pool)) return false;
    lido__stripe *stripe = &pool->stripes[stripe_of_thread(pool)];
    lock_if_shared(pool, stripe);
    size_t count = LIDO__ATOMIC_LOAD(&stripe->count, relaxed);    // ours: under the lock
    bool twice = count > 0 && stripe->objects[count - 1] == object;
    bool kept = !twice && has_room(stripe, count);
    if (kept) {
        stripe->objects[count] = object;
        LIDO__ATOMIC_STORE(&stripe->count, count + 1, relaxed);    // a reader without the lock then takes it
    }
    unlock_if_shared(pool, stripe);
    if (!kept) one_less(pool);
    if (twice)
        lido__misuse("lido_object_release(%p): the object of type '%s' was released before", object, pool->type.name);
    return kept || twice;
}

static void *take_from(lido_object_pool *pool, lido__stripe *stripe, bool surely) {
    void *object = NULL;
    if (!surely && LIDO__ATOMIC_LOAD(&stripe->count, relaxed) == 0) return NULL;    // a hint: decides whether to lock
    lock_if_shared(pool, stripe);
    size_t count = LIDO__ATOMIC_LOAD(&stripe->count, relaxed);    // ours: under the lock
    if (count > 0) {
        object = stripe->objects[count - 1];
        LIDO__ATOMIC_STORE(&stripe->count, count - 1, relaxed);    // as in lido__idle_put
    }
    unlock_if_shared(pool, stripe);
    if (object != NULL) one_less(pool);
    return object;
}

void *lido__idle_take(lido_object_pool *pool, bool surely) {
    unsigned start = stripe_of_thread(pool);
    for (unsigned i = 0; i <= pool->stripe_mask; i++) {
        void *object = take_from(pool, &pool->stripes[(start + i) & pool->stripe_mask], surely);
        if (object != NULL) return object;
    }
    return NULL;
}

size_t lido__idle_count(lido_object_pool *pool) {
    size_t count = 0;
    for (unsigned i = 0; i <= pool->stripe_mask; i++)
        count += LIDO__ATOMIC_LOAD(&pool->stripes[i].count, relaxed);    // each was true at some moment
    return count;
}

void lido__idle_release(lido_object_pool *pool) {
    for (unsigned i = 0; i <= pool->stripe_mask; i++) {
        lido__stripe *stripe = &pool->stripes[i];
        lock_if_shared(pool, stripe);
        if (LIDO__ATOMIC_LOAD(&stripe->count, relaxed) == 0) {    // ours: under the lock
            lido_free(stripe->objects);
            stripe->objects = NULL;
            stripe->room = 0;
        }
        unlock_if_shared(pool, stripe);
    }
}

// --- fork -----------------------------------------------------------------------------------------------------------

static lido__lock list_lock;
static lido_object_pool *all_pools;    // [lock:objects]

static void each_lock(void (*call)(lido__lock *)) {
    for (lido_object_pool *pool = all_pools; pool != NULL; pool = pool->next)
        for (unsigned i = 0; i <= pool->stripe_mask; i++) call(&pool->stripes[i].lock);
}
// The lock of the list first, and last after the fork: nobody may change the list while it is walked.
static void before_fork(void) {
    lido__lock_acquire_unranked(&list_lock);
    each_lock(lido__lock_acquire_unranked);
}
static void after_fork_in_parent(void) {
    each_lock(lido__lock_release_unranked);
    lido__lock_release_unranked(&list_lock);
}
static void after_fork_in_child(void) {
    each_lock(lido__lock_reset);
    lido__lock_reset(&list_lock);
}

// Handlers that are registered later run earlier before a fork: these before those of heaps and pools, whose locks are
// taken under a stripe's. A heap made later than the first object pool takes its own first; nobody holds one while it asks
// for a stripe, so that order is as good.
static void watch_forks(void) {
    static atomic_flag watching = ATOMIC_FLAG_INIT;
    if (!atomic_flag_test_and_set(&watching)) pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

void lido__objects_list(lido_object_pool *pool) {
    watch_forks();
    lido__lock_acquire(&list_lock, LIDO__RANK_OBJECTS);
    pool->next = all_pools;
    if (all_pools != NULL) all_pools->previous = pool;
    all_pools = pool;
    lido__lock_release(&list_lock, LIDO__RANK_OBJECTS);
}

void lido__objects_unlist(lido_object_pool *pool) {
    lido__lock_acquire(&list_lock, LIDO__RANK_OBJECTS);
    if (pool->previous != NULL) {
        pool->previous->next = pool->next;
    } else {
        all_pools = pool->next;
    }
    if (pool->next != NULL) pool->next->previous = pool->previous;
    lido__lock_release(&list_lock, LIDO__RANK_OBJECTS);
}
