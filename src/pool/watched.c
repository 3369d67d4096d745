// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// See watched.h.
#include "pool/watched.h"

#include "os/report.h"

static LIDO__COLD void report(const lido_pool *pool, const void *p, uint8_t was, const char *call, const char *freed) {
    size_t bytes = pool->slabs.block_bytes;
    const char *of = pool->anonymous ? "" : " of pool '", *name = pool->anonymous ? "" : pool->name,
               *end = pool->anonymous ? "" : "'";
    if (was == lido__state_of(LIDO__BLOCK_FREED, p)) {
        lido__misuse("%s(%p): %s a block of %z bytes%s%s%s", call, p, freed, bytes, of, name, end);
    } else {
        lido__misuse(
            "%s(%p): a block of %z bytes%s%s%s that nobody has; never given out, or ended by a reset of its pool", call,
            p, bytes, of, name, end);
    }
}

bool lido__watch_require(const lido_pool *pool, const void *p, const char *call, const char *freed) {
    _Atomic uint8_t *state = pool->watched ? lido__state_if_any(p) : NULL;
    if (state == NULL) return true;
    uint8_t is = LIDO__ATOMIC_LOAD(state, relaxed);    // see slab/state.h
    if (LIDO_LIKELY(is == lido__state_of(LIDO__BLOCK_ALIVE, p))) return true;
    report(pool, p, is, call, freed);
    return false;
}

bool lido__watch_back(const lido_pool *pool, void *p) {
    _Atomic uint8_t *state = lido__state_at(p);
    if (state == NULL) return true;
    uint8_t was = LIDO__ATOMIC_LOAD(state, relaxed);    // see slab/state.h
    if (LIDO_LIKELY(was == lido__state_of(LIDO__BLOCK_ALIVE, p))) {
        LIDO__ATOMIC_STORE(state, lido__state_of(LIDO__BLOCK_FREED, p), relaxed);    // as above
        if (lido__watch_is_told(pool)) lido__tools_count_back(p);
        LIDO__PROBE4(pool_free, pool, pool->name, p, pool->slabs.block_bytes);
        return true;
    }
    report(pool, p, was, "free", LIDO__DOUBLE_FREE);
    return false;
}

static bool count_back(void *block, void *context) {
    (void)context;
    lido__tools_count_back(block);
    return true;
}

void lido__watch_end_all(lido_pool *pool) {
    if (pool->watched && lido__watch_is_told(pool)) lido__slabs_visit(&pool->slabs, count_back, NULL);
}

void *lido__watched_alloc(lido_pool *pool) {
    void *block = lido__watched_pop(pool);
    if (LIDO_LIKELY(block != NULL)) return block;
    block = lido__bin_alloc_slow(pool);
    if (LIDO_LIKELY(block != NULL)) lido__watch_out(pool, block);
    return block;
}

void lido__watched_free(lido_pool *pool, void *p) {
    if (!lido__watch_back(pool, p)) return;
    if (LIDO_UNLIKELY(!lido__bin_push(lido__bin_at(lido__self, pool->bin), p))) lido__bin_free_slow(pool, p);
}
