// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// Pools in check mode guard and page (way checked): each block is one of check/check.h, and the pool keeps its
// counts. No slab, no bin; the face is NULL, so that every inline call comes here.
//
// A pool that was destroyed while checks are on stays for a while as it is but for its way (dead), see check/grave.c.
#include "pool/checked.h"

#include "os/os.h"
#include "os/report.h"

#include <string.h>

bool lido__checked_pool_init(lido_pool *pool) {
    pool->way = LIDO__WAY_CHECKED;
    pool->source = lido__check_source_new("pool", pool->name, pool, pool->slabs.block_bytes, pool->owner_thread);
    return pool->source != NULL;
}

void *lido__checked_pool_alloc(lido_pool *pool, bool *refused) {
    lido__stock_lock(pool);
    size_t capacity = lido__pool_capacity(pool);
    bool room = capacity == 0 || pool->live < capacity;
    if (room && ++pool->live > pool->high_water) pool->high_water = pool->live;
    lido__stock_unlock(pool);
    if (!room) return NULL;
    void *block = lido__checked_alloc(pool->source, (lido_check_level)pool->check, pool->asked_bytes,
                                      lido__max(pool->alignment, 1), LIDO__CALL_POOL, 0);
    if (block != NULL) return block;
    *refused = true;
    lido__stock_lock(pool);
    pool->live--;
    lido__stock_unlock(pool);
    return NULL;
}

static void one_less(lido_pool *pool) {
    lido__stock_lock(pool);
    if (pool->live > 0) pool->live--;
    lido__stock_unlock(pool);
    lido__wait_queue_wake(&pool->wait);
}

bool lido__checked_pool_free(lido_pool *pool, void *p, const char *call) {
    lido__check_claim claim = {.name = call, .call = LIDO__CALL_POOL, .source = pool->source, .bytes = SIZE_MAX};
    if (lido__checked_find(p) == NULL) {
        lido__misuse("%s(%p): not a block of pool '%s'", call, p, pool->name);
        return false;
    }
    if (!lido__checked_free(p, &claim)) return false;
    one_less(pool);
    return true;
}

bool lido__checked_pool_is_live(const lido_pool *pool, const void *p, const char *call) {
    lido__check_claim claim = {.name = call, .call = LIDO__CALL_POOL, .source = pool->source, .bytes = SIZE_MAX};
    return lido__checked_require(p, &claim);
}

lido_pool *lido__checked_pool_of(const void *p) {
    const lido__checked *record = lido__checked_find(p);
    if (record == NULL || lido__checked_state(record) == LIDO__CHECK_FREE) return NULL;
    bool within = (const char *)p >= record->block && (const char *)p < record->block + lido__max(record->bytes, 1);
    const lido__check_source *source = record->source;
    if (!within || record->call != LIDO__CALL_POOL || LIDO__ATOMIC_LOAD(&source->ended, relaxed) != 0) return NULL;
    return (lido_pool *)(uintptr_t)source->owner;
}

void lido__checked_pool_end_all(lido_pool *pool, lido__check_end how) { lido__checked_end_all(pool->source, 0, how); }

static void release_structure(void *pool) { lido__pool_structure_free((lido_pool *)pool); }

void lido__pool_bury(lido_pool *pool) {
    pool->face.free = NULL;
    pool->bin = 0;
    pool->watched = false;
    pool->way = LIDO__WAY_DEAD;
    lido__check_bury(pool, release_structure);
}

bool lido__pool_is_dead(const lido_pool *pool, const char *call) {
    if (LIDO_LIKELY(pool->way != LIDO__WAY_DEAD)) return false;
    lido__misuse("%s: pool '%s' was destroyed before", call, pool->name);
    return true;
}
