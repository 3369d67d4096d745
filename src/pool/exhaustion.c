// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// See exhaustion.h. Where a capacity stands: lido_pool.capacity for statistics and the way stock, slabs.capacity for the
// others; both are written together under the pool's lock, and the second under the slabs' too.
#include "pool/exhaustion.h"

#include "check/inject.h"
#include "pool/bounded.h"

#include <errno.h>

#define CAPACITY_MAX SIZE_MAX

// --- growing --------------------------------------------------------------------------------------------------------

size_t lido__growth_step(const lido_pool *pool, size_t held) {
    size_t least = pool->growth != 0 ? pool->growth : pool->slabs.blocks_per_slab;
    return pool->growth_max == 0 ? least : lido__min(lido__max(held, least), pool->growth_max);
}

// False, and nothing has changed, if more blocks than that are out.
static bool set_capacity_locked(lido_pool *pool, size_t capacity) {
    // what a stock holds is issued too, so the slabs' limit may stay above its own, which counts
    bool fits = lido__slabs_set_capacity(&pool->slabs, capacity);
    if (lido__pool_counts_live(pool)) fits = pool->live <= capacity;
    if (fits) LIDO__ATOMIC_STORE(&pool->capacity, capacity, relaxed);    // see lido__pool_capacity
    return fits;
}

bool lido__capacity_set(lido_pool *pool, size_t capacity) {
    lido__lock_acquire(&pool->lock, LIDO__RANK_POOL);
    bool fits = set_capacity_locked(pool, capacity);
    lido__lock_release(&pool->lock, LIDO__RANK_POOL);
    return fits;
}

static bool is_full_locked(lido_pool *pool, size_t capacity) {
    if (lido__pool_counts_live(pool)) return pool->live >= capacity;
    lido__lock_acquire(&pool->slabs.lock, LIDO__RANK_SLABS);
    bool full = pool->slabs.issued >= capacity;
    lido__lock_release(&pool->slabs.lock, LIDO__RANK_SLABS);
    return full;
}

// One step, unless another thread has just made it.
static void grow(lido_pool *pool) {
    lido__lock_acquire(&pool->lock, LIDO__RANK_POOL);
    size_t capacity = lido__pool_capacity(pool), step = lido__growth_step(pool, capacity);
    if (is_full_locked(pool, capacity))
        set_capacity_locked(pool, capacity <= CAPACITY_MAX - step ? capacity + step : CAPACITY_MAX);
    lido__lock_release(&pool->lock, LIDO__RANK_POOL);
}

void lido__capacity_lower(lido_pool *pool) {
    if (pool->on_exhausted != LIDO_GROW) return;
    lido__lock_acquire(&pool->lock, LIDO__RANK_POOL);
    lido__lock_acquire(&pool->slabs.lock, LIDO__RANK_SLABS);
    size_t out = lido__pool_counts_live(pool) ? pool->live : pool->slabs.issued;
    size_t capacity = lido__max(pool->capacity_first, out);
    pool->slabs.capacity = lido__max(capacity, pool->slabs.issued);
    LIDO__ATOMIC_STORE(&pool->capacity, capacity, relaxed);    // see lido__pool_capacity
    lido__lock_release(&pool->slabs.lock, LIDO__RANK_SLABS);
    lido__lock_release(&pool->lock, LIDO__RANK_POOL);
}

// --- an allocation --------------------------------------------------------------------------------------------------

void *lido__attempt_block(lido_pool *pool, void *context, bool *refused) {
    (void)context;
    return lido__pool_take(pool, refused);
}

static void *attempt_twice(lido_pool *pool, lido__attempt *attempt, void *context, bool *refused) {
    *refused = false;
    void *got = attempt(pool, context, refused);
    if (LIDO_LIKELY(got != NULL) || !*refused) return got;
    if (lido__pool_reclaims(pool) || lido__reclaim(0) == 0) return NULL;    // then it has done that itself
    *refused = false;
    return attempt(pool, context, refused);
}

// Only pools in check mode are asked: the inline halves of the others do not come here.
static bool fails_on_demand(const lido_pool *pool) {
    if (LIDO_LIKELY(pool->check <= LIDO_CHECK_OFF) || !lido__inject(pool->name)) return false;
    errno = ENOMEM;
    return true;
}

void *lido__pool_try(lido_pool *pool) {
    if (fails_on_demand(pool)) return NULL;
    bool refused;
    void *block = attempt_twice(pool, lido__attempt_block, NULL, &refused);
    if (block == NULL) errno = ENOMEM;
    return block;
}

static void *grow_for(lido_pool *pool, lido__attempt *attempt, void *context) {
    bool refused = false;
    while (!refused && lido__pool_capacity(pool) < CAPACITY_MAX) {    // others may take what has been added
        grow(pool);
        void *got = attempt_twice(pool, attempt, context, &refused);
        if (got != NULL) return got;
    }
    return NULL;
}

static void *ask_for(lido_pool *pool, lido__attempt *attempt, void *context) {
    bool refused = false;
    for (size_t i = 1; !refused && pool->exhausted(pool, i, pool->exhausted_context); i++) {
        void *got = attempt_twice(pool, attempt, context, &refused);
        if (got != NULL) return got;
    }
    return NULL;
}

// Between fork handlers every lock is held: nobody could free a block.
static void *queue_for(lido_pool *pool, lido__attempt *attempt, void *context, void (*gave_up)(lido_pool *, void *),
                       int *error) {
    if (lido__lock_exempt) return NULL;
    if (gave_up != NULL)
        gave_up(pool, context);    // only the head may hold what it gathers: others would block each other
    void *got = lido__wait_for(pool, attempt, context, gave_up, error);
    if (got != NULL || *error != ENOMEM || lido__reclaim(0) == 0) return got;
    return lido__wait_for(pool, attempt, context, gave_up, error);
}

void *lido__pool_obtain(lido_pool *pool, lido__attempt *attempt, void *context, void (*gave_up)(lido_pool *, void *)) {
    bool refused = false;
    void *got = NULL;
    if (fails_on_demand(pool)) {
        if (gave_up != NULL) gave_up(pool, context);
        return NULL;
    }
    int before = errno, error = ENOMEM;
    if (LIDO_LIKELY(!lido__wait_queue_is_used(&pool->wait)) || lido__lock_exempt) {
        got = attempt_twice(pool, attempt, context, &refused);
        if (LIDO_LIKELY(got != NULL)) return got;
    }
    if (!refused) {
        switch (pool->on_exhausted) {
            case LIDO_FAIL: break;
            case LIDO_GROW: got = grow_for(pool, attempt, context); break;
            case LIDO_CALL: got = ask_for(pool, attempt, context); break;
            case LIDO_WAIT: got = queue_for(pool, attempt, context, gave_up, &error); break;
        }
    }
    if (got == NULL && gave_up != NULL) gave_up(pool, context);
    errno = got != NULL ? before : error;
    return got;
}

// --- waiting threads and the pool as a whole ------------------------------------------------------------------------

void lido__pool_hold_waiting(lido_pool *pool) {
    if (pool->on_exhausted == LIDO_WAIT) lido__lock_acquire(&pool->wait.lock, LIDO__RANK_WAIT);
}

void lido__pool_serve_waiting(lido_pool *pool, bool reset) {
    if (pool->on_exhausted != LIDO_WAIT) return;
    if (reset) pool->wait.resets++;
    lido__lock_release(&pool->wait.lock, LIDO__RANK_WAIT);
    lido__wait_queue_wake(&pool->wait);
}

int lido_pool_set_capacity(lido_pool *pool, size_t capacity) {
    if (capacity == 0 || pool->capacity_first == 0) {
        errno = EINVAL;
        return -1;
    }
    if (!lido__stock_allows(pool, "lido_pool_set_capacity")) {
        errno = EPERM;
        return -1;
    }
    bool lower = capacity < lido__pool_capacity(pool);
    if (lower) lido__pool_gather(pool);
    if (!(lower && pool->way == LIDO__WAY_BOUNDED ? lido__bounded_lower : lido__capacity_set)(pool, capacity)) {
        errno = EBUSY;
        return -1;
    }
    lido__wait_queue_wake(&pool->wait);
    return 0;
}
