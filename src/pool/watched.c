// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// See watched.h.
#include "pool/watched.h"

#include "os/probes.h"
#include "os/report.h"
#include "os/tools.h"
#include "pool/thread.h"
#include "slab/state.h"

// Where the block's byte is; NULL if the system had no memory for it, and then nothing is watched.
static _Atomic uint8_t *state_of(const lido_pool *pool, void *p) {
    lido__slab *slab = lido__slab_of(p);
    _Atomic uint8_t *states = lido__slab_states(slab);
    bool exact;
    return states != NULL ? states + lido__slab_index(&pool->slabs, slab, p, &exact) : NULL;
}

void lido__watch_out(const lido_pool *pool, void *p) {
    _Atomic uint8_t *state = state_of(pool, p);
    // relaxed: whoever looks has got the block from here
    if (state != NULL) LIDO__ATOMIC_STORE(state, (uint8_t)LIDO__BLOCK_ALIVE, relaxed);
    // the drop-in malloc is watched as malloc
    if (lido__tools_count() && !pool->anonymous) lido__tools_count_out(p, pool->slabs.block_bytes);
    LIDO__PROBE4(pool_alloc, pool, pool->name, p, pool->slabs.block_bytes);
}

bool lido__watch_back(const lido_pool *pool, void *p) {
    LIDO__PROBE4(pool_free, pool, pool->name, p, pool->slabs.block_bytes);
    _Atomic uint8_t *state = state_of(pool, p);
    if (state == NULL) return true;
    uint8_t was = LIDO__ATOMIC_LOAD(state, relaxed);    // as above
    if (LIDO_LIKELY(was == LIDO__BLOCK_ALIVE)) {
        LIDO__ATOMIC_STORE(state, (uint8_t)LIDO__BLOCK_FREED, relaxed);    // as above
        if (lido__tools_count() && !pool->anonymous) lido__tools_count_back(p);
        return true;
    }
    size_t bytes = pool->slabs.block_bytes;
    if (was == LIDO__BLOCK_FREED) {
        lido__misuse("free(%p): double free of a block of %z bytes", p, bytes);
    } else {
        lido__misuse("free(%p): a block of %z bytes that nobody has; never given out, or ended by a reset of its pool",
                     p, bytes);
    }
    return false;
}

static bool count_back(void *block, void *context) {
    (void)context;
    lido__tools_count_back(block);
    return true;
}

void lido__watch_end_all(lido_pool *pool) {
    if (lido__tools_count() && pool->watched && !pool->anonymous) lido__slabs_visit(&pool->slabs, count_back, NULL);
}

void *lido__watched_alloc(lido_pool *pool) {
    void *block = lido__bin_pop(lido__bin_at(lido__self, pool->bin));
    if (LIDO_UNLIKELY(block == NULL)) block = lido__bin_alloc_slow(pool);
    if (LIDO_LIKELY(block != NULL)) lido__watch_out(pool, block);
    return block;
}

void lido__watched_free(lido_pool *pool, void *p) {
    if (!lido__watch_back(pool, p)) return;
    if (LIDO_UNLIKELY(!lido__bin_push(lido__bin_at(lido__self, pool->bin), p))) lido__bin_free_slow(pool, p);
}
