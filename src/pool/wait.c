// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// See wait.h.
#include "pool/wait.h"

#include "os/os.h"
#include "pool/pool.h"

#include <errno.h>

// Where the system would not recall the bins (it did when the pool was made), blocks may lie there unseen: look again so often.
enum { LOOK_AGAIN_MS = 10 };

#define NS_PER_MS UINT64_C(1000000)

void lido__wait_queue_wake_slow(lido__wait_queue *queue) {
    LIDO__ATOMIC_ADD(&queue->turn, 1u, release);    // (f), pairs with (b)
    lido__os_wake_one(&queue->turn);                // nobody but the head sleeps there
}

void lido__wait_queue_forget(lido__wait_queue *queue) {
    lido__lock_reset(&queue->lock);
    queue->head = NULL;
    LIDO__ATOMIC_STORE(&queue->used, 0u, relaxed);    // the child has one thread
}

static void join(lido__wait_queue *queue, lido__waiter *self) {
    lido__lock_acquire(&queue->lock, LIDO__RANK_WAIT);
    lido__waiter **link = &queue->head;
    while (*link != NULL) link = &(*link)->next;
    *link = self;
    LIDO__ATOMIC_STORE(&self->first, queue->head == self ? 1u : 0u, relaxed);    // ours until the lock is free
    LIDO__ATOMIC_ADD(&queue->used, 1u, relaxed);                                 // (a), ordered by L in (c)
    lido__lock_release(&queue->lock, LIDO__RANK_WAIT);
}

static void leave_locked(lido__wait_queue *queue, lido__waiter *self) {
    bool was_head = queue->head == self;
    lido__waiter **link = &queue->head, *next = self->next;
    while (*link != self) link = &(*link)->next;
    *link = next;
    LIDO__ATOMIC_SUB(&queue->used, 1u, relaxed);
    if (!was_head || next == NULL) return;
    LIDO__ATOMIC_STORE(&next->first, 1u, release);    // pairs with the load in is_head
    lido__os_wake_one(&next->first);                  // under the lock: afterwards its stack may be gone
}

// Sleeps until it is our turn to try; false if the time is over.
static bool wait_to_be_head(lido__waiter *self, uint64_t deadline) {
    while (LIDO__ATOMIC_LOAD(&self->first, acquire) == 0) {    // pairs with the release in leave_locked
        if (!lido__os_wait_until(&self->first, 0, deadline)) return false;
    }
    return true;
}

// As head, until `turn` is no longer what it was; false if the time is over.
static bool wait_for_turn(lido_pool *pool, uint32_t turn, uint64_t deadline) {
    bool unseen = pool->way == LIDO__WAY_BOUNDED && LIDO__ATOMIC_LOAD(&pool->recalled, relaxed) == 0;
    uint64_t again = unseen ? lido__os_time_ns() + LOOK_AGAIN_MS * NS_PER_MS : UINT64_MAX;
    if (again >= deadline) return lido__os_wait_until(&pool->wait.turn, turn, deadline);
    lido__os_wait_until(&pool->wait.turn, turn, again);
    return true;
}

void *lido__wait_for(lido_pool *pool, lido__attempt *attempt, void *context, void (*gave_up)(lido_pool *, void *),
                     int *error) {
    lido__wait_queue *queue = &pool->wait;
    uint64_t deadline = pool->wait_ms != 0 ? lido__os_time_ns() + pool->wait_ms * NS_PER_MS : UINT64_MAX;
    lido__waiter self = {NULL, 0};
    void *got = NULL;
    bool refused = false, in_time = true;
    join(queue, &self);
    in_time = wait_to_be_head(&self, deadline);
    while (in_time) {
        uint32_t turn = LIDO__ATOMIC_LOAD(&queue->turn, acquire);    // (b), pairs with (f)
        lido__lock_acquire(&queue->lock, LIDO__RANK_WAIT);
        got = attempt(pool, context, &refused);    // (c)
        lido__lock_release(&queue->lock, LIDO__RANK_WAIT);
        if (got != NULL || refused) break;
        in_time = wait_for_turn(pool, turn, deadline);
    }
    lido__lock_acquire(&queue->lock, LIDO__RANK_WAIT);
    if (got == NULL && gave_up != NULL) gave_up(pool, context);
    leave_locked(queue, &self);
    lido__lock_release(&queue->lock, LIDO__RANK_WAIT);
    if (got == NULL) *error = refused ? ENOMEM : ETIMEDOUT;
    return got;
}
