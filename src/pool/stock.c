// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// The way "stock": one queue of free blocks under the pool's lock. For pools whose promises need every call to be seen:
// an exact capacity among threads, FIFO order, a confined pool's check of the thread. About 20 ns a call, no system
// call and no wait but for the lock.
#include "pool/thread.h"

#include "os/os.h"
#include "os/report.h"

#include <errno.h>

enum { REFILL_BLOCKS = 16 };    // guess: keeps the second lock out of most calls, and little memory tied up

static bool thread_is_right(const lido_pool *pool, const char *call) {
    if (pool->threads != LIDO_CONFINED) return true;
    if (LIDO_LIKELY(lido__thread_token() == pool->owner)) return true;
    lido__misuse("%s: pool '%s' is confined to thread %u and was called from thread %u", call, pool->name,
                 (unsigned)pool->owner_thread, (unsigned)lido__os_thread_id());
    return false;
}

// The first of the stock, filled up first if it is empty; NULL if the capacity is reached or the system refuses.
static lido__link *stock_take_locked(lido_pool *pool) {
    if (pool->capacity != 0 && pool->live >= pool->capacity) return NULL;
    if (pool->stock_first == NULL) {
        lido__chain chain = lido__slabs_take(&pool->slabs, REFILL_BLOCKS);
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

void *lido__stock_alloc(lido_pool *pool) {
    if (!thread_is_right(pool, "lido_pool_alloc")) return NULL;
    for (int attempt = 0;; attempt++) {
        lido__lock_acquire(&pool->lock, LIDO__RANK_POOL);
        lido__link *block = stock_take_locked(pool);
        bool full = block == NULL && pool->capacity != 0 && pool->live >= pool->capacity;
        lido__lock_release(&pool->lock, LIDO__RANK_POOL);
        if (block != NULL) return block;
        if (full || attempt > 0) break;
        lido__reclaim(0);
    }
    errno = ENOMEM;
    return NULL;
}

void lido__stock_free(lido_pool *pool, void *p) {
    if (!thread_is_right(pool, "lido_pool_free")) return;
    lido__link *link = (lido__link *)p;
    lido__lock_acquire(&pool->lock, LIDO__RANK_POOL);
    if (LIDO_UNLIKELY(pool->live == 0)) {
        lido__lock_release(&pool->lock, LIDO__RANK_POOL);
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
    lido__lock_release(&pool->lock, LIDO__RANK_POOL);
}
