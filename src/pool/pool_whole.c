// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// What concerns a pool as a whole: reset, trim, prewarm, visits, statistics.
//
// "Gather" is the step they share: every free block that waits outside of the slabs (face, stock, depot, bins) goes back
// into them, after which the slabs alone know what is alive.
#include "pool/checked.h"
#include "pool/exhaustion.h"
#include "pool/thread.h"
#include "pool/watched.h"

#include "os/os.h"
#include "os/report.h"

#include <errno.h>

static void gather_face(lido_pool *pool) {
    // the slabs want it to end with NULL; its order does not matter to them
    lido__link *list = NULL, *next;
    // it ends with NULL if it is a ring, after a double free: the second pass through the block finds its link turned
    for (lido__link *link = pool->face.free; link > LIDO__POOL_END; link = next) {
        next = link->next;
        link->next = list;
        list = link;
    }
    pool->face.free = LIDO__POOL_END;
    if (list != NULL) lido__slabs_give(&pool->slabs, list);
    size_t count = (size_t)(pool->fresh_end - pool->fresh_next) / pool->slabs.block_bytes;
    char *first = pool->fresh_next;
    pool->fresh_next = pool->fresh_end = NULL;
    if (count > 0) lido__slabs_give_range(&pool->slabs, first, count);
}

static void gather_stock(lido_pool *pool) {
    lido__stock_lock(pool);
    lido__link *list = pool->stock_first;
    pool->stock_first = pool->stock_last = NULL;
    lido__stock_unlock(pool);
    if (list != NULL) lido__slabs_give(&pool->slabs, list);
}

static void gather_depot(lido_pool *pool) {
    lido__lock_acquire(lido__registry_lock(), LIDO__RANK_REGISTRY);
    lido__depot_empty_locked(pool);
    lido__lock_release(lido__registry_lock(), LIDO__RANK_REGISTRY);
}

void lido__pool_gather(lido_pool *pool) {
    if (pool->way == LIDO__WAY_FACE) gather_face(pool);
    if (pool->way == LIDO__WAY_STOCK) gather_stock(pool);
    if (pool->bin == 0) return;
    lido__thread_flush_pool(pool);
    gather_depot(pool);
}

// Everything. Requires: nobody else uses the pool.
static void gather_all(lido_pool *pool) {
    lido__pool_gather(pool);
    if (pool->bin != 0) lido__threads_drain(pool);
}

// Under the lock: the figures of the process may be read at the same time.
static void forget_counts(lido_pool *pool) {
    lido__lock_acquire(&pool->lock, LIDO__RANK_POOL);
    pool->live = pool->high_water = 0;
    lido__lock_release(&pool->lock, LIDO__RANK_POOL);
}

void lido_pool_reset(lido_pool *pool) {
    if (lido__pool_is_dead(pool, "lido_pool_reset")) return;
    lido__pool_hold_waiting(pool);
    if (pool->way == LIDO__WAY_CHECKED) lido__checked_pool_end_all(pool, LIDO__END_RESET);
    gather_all(pool);
    lido__watch_end_all(pool);
    lido__slabs_reset(&pool->slabs);
    forget_counts(pool);
    lido__pool_serve_waiting(pool, true);
}

void lido_pool_free_all(lido_pool *pool) {
    if (lido__pool_is_dead(pool, "lido_pool_free_all")) return;
    lido__pool_hold_waiting(pool);
    if (pool->way == LIDO__WAY_CHECKED) lido__checked_pool_end_all(pool, LIDO__END_RESET);
    gather_all(pool);
    lido__watch_end_all(pool);
    lido__slabs_release(&pool->slabs);
    forget_counts(pool);
    lido__capacity_lower(pool);
    lido__pool_serve_waiting(pool, true);
    lido__segments_purge(true, 0);
}

size_t lido_pool_trim(lido_pool *pool) {
    lido__pool_gather(pool);
    lido__capacity_lower(pool);
    size_t bytes = lido__slabs_trim(&pool->slabs, true);
    return bytes + lido__segments_purge(true, 0);
}

// Way face: blocks that are out of the slabs already and may never have been touched go out before any others.
static size_t prewarm_fresh_range(lido_pool *pool) {
    size_t count = (size_t)(pool->fresh_end - pool->fresh_next) / pool->slabs.block_bytes, page = lido__os_page_bytes();
    if (count == 0) return 0;
    char *start = (char *)lido__round_down((uintptr_t)pool->fresh_next, page);
    lido__os_populate(start, lido__round_up((size_t)(pool->fresh_end - start), page));
    return count;
}

// What the slabs must have ready for `count` allocations. A refill takes more blocks than are asked for, and touches them.
static size_t blocks_to_prewarm(lido_pool *pool, size_t count) {
    size_t refill = pool->bin != 0 ? pool->batch_max : pool->way == LIDO__WAY_STOCK ? LIDO__STOCK_REFILL : 0;
    size_t ready = prewarm_fresh_range(pool);
    count = count > ready ? count - ready : 0;
    count = count < SIZE_MAX - refill ? count + refill : count;
    size_t capacity = lido__pool_capacity(pool);
    return capacity != 0 ? lido__min(count, capacity) : count;
}

int lido_pool_prewarm(lido_pool *pool, size_t count) {
    if (count == 0 || pool->way == LIDO__WAY_CHECKED) return 0;    // checked blocks are made one by one
    if (pool->bin != 0) lido__thread_prewarm(pool);
    size_t blocks = blocks_to_prewarm(pool, count);
    if (lido__slabs_prewarm(&pool->slabs, blocks)) return 0;
    lido__reclaim(0);
    if (lido__slabs_prewarm(&pool->slabs, blocks)) return 0;
    errno = ENOMEM;
    return -1;
}

size_t lido_pool_visit_live(lido_pool *pool, bool (*visit)(void *block, void *context), void *context) {
    if (pool->way == LIDO__WAY_CHECKED) return lido__checked_visit(pool->source, visit, context);
    gather_all(pool);
    return lido__slabs_visit(&pool->slabs, visit, context);
}

// Caller holds the registry's lock, for the bins.
static size_t free_outside_of_slabs(lido_pool *pool) {
    size_t blocks = 0;
    if (pool->bin != 0) return lido__depot_count(&pool->depot) + lido__threads_stock_locked(pool);
    for (const lido__link *link = pool->face.free; link > LIDO__POOL_END; link = link->next) {
        if (blocks++ < pool->slabs.issued) continue;
        lido__misuse("pool '%s': a block was freed twice: the list of its free blocks has no end", pool->name);
        break;
    }
    return blocks + (size_t)(pool->fresh_end - pool->fresh_next) / pool->slabs.block_bytes;
}

lido_pool_statistics lido__pool_stats_locked(lido_pool *pool, bool own) {
    lido__slab_set *slabs = &pool->slabs;
    bool visible = own || pool->threads == LIDO_SHARED, stock = visible && lido__pool_counts_live(pool);
    size_t outside = stock || !visible ? 0 : free_outside_of_slabs(pool);
    lido__lock_acquire(&pool->lock, LIDO__RANK_POOL);
    size_t stock_live = stock ? pool->live : 0, high_water = visible ? pool->high_water : 0;
    lido__lock_acquire(&slabs->lock, LIDO__RANK_SLABS);
    size_t live = stock ? stock_live : slabs->issued > outside ? slabs->issued - outside : 0;
    lido_pool_statistics statistics = {
        .block_size = slabs->block_bytes,
        .alignment = pool->alignment,
        .capacity = lido__pool_capacity(pool),
        .live = live,
        .high_water = pool->bin != 0 || !visible ? slabs->issued_most : high_water,
        .held_bytes = slabs->slab_count * slabs->slab_slices * LIDO__SLICE_BYTES,
        .committed_bytes = slabs->fresh * slabs->block_bytes,
        .slab_count = slabs->slab_count,
        .waiting = LIDO__ATOMIC_LOAD(&pool->wait.used, relaxed),
    };
    lido__lock_release(&slabs->lock, LIDO__RANK_SLABS);
    lido__lock_release(&pool->lock, LIDO__RANK_POOL);
    return statistics;
}

lido_pool_statistics lido_pool_stats(lido_pool *pool) {
    lido__lock_acquire(lido__registry_lock(), LIDO__RANK_REGISTRY);
    lido_pool_statistics statistics = lido__pool_stats_locked(pool, true);
    lido__lock_release(lido__registry_lock(), LIDO__RANK_REGISTRY);
    return statistics;
}
