// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// The way "stock": one queue of free blocks, under the pool's lock if threads share it. For pools whose promises need every
// call to be seen: FIFO order, and a confined pool's check of the thread.
#include "pool/thread.h"

#include "os/os.h"
#include "os/report.h"
#include "pool/watched.h"

bool lido__stock_allows(const lido_pool *pool, const char *call) {
    if (pool->threads != LIDO_CONFINED) return true;
    if (LIDO_LIKELY(lido__thread_token() == pool->owner)) return true;
    lido__misuse("%s: pool '%s' is confined to thread %u and was called from thread %u", call, pool->name,
                 (unsigned)pool->owner_thread, (unsigned)lido__os_thread_id());
    return false;
}

// The first of the stock, filled up first if it is empty; NULL if the capacity is reached or the system refuses.
static lido__link *stock_take_locked(lido_pool *pool, bool *refused) {
    size_t capacity = lido__pool_capacity(pool);
    if (capacity != 0 && pool->live >= capacity) return NULL;
    if (pool->stock_first == NULL) {
        lido__chain chain = lido__slabs_take(&pool->slabs, LIDO__STOCK_REFILL);
        *refused = chain.refused;
        if (chain.count == 0) return NULL;
        pool->stock_first = chain.first;
        pool->stock_last = chain.last;
    }
    lido__link *block = pool->stock_first;
    pool->stock_first = block->next;
    pool->live++;
    if (pool->high_water < pool->live) pool->high_water = pool->live;
    return block;
}

void *lido__stock_alloc(lido_pool *pool, bool *refused) {
    lido__stock_lock(pool);
    lido__link *block = stock_take_locked(pool, refused);
    lido__stock_unlock(pool);
    if (LIDO_UNLIKELY(pool->watched) && block != NULL) lido__watch_out(block);
    return block;
}

void lido__stock_free(lido_pool *pool, void *p) {
    if (!lido__stock_allows(pool, "lido_pool_free")) return;
    if (LIDO_UNLIKELY(pool->watched) && !lido__watch_back(pool, p)) return;
    lido__link *link = (lido__link *)p;
    lido__stock_lock(pool);
    if (LIDO_UNLIKELY(pool->live == 0)) {
        lido__stock_unlock(pool);
        lido__misuse("free(%p): double free: no block of pool '%s' is alive", p, pool->name);
        return;
    }
    pool->live--;
    if (pool->order == LIDO_LIFO || pool->stock_first == NULL) {
        link->next = pool->stock_first;
        if (pool->stock_first == NULL) pool->stock_last = link;
        pool->stock_first = link;
    } else {
        link->next = NULL;
        pool->stock_last->next = link;
        pool->stock_last = link;
    }
    lido__stock_unlock(pool);
    lido__wait_queue_wake(&pool->wait);
}
