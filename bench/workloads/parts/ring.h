// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// A queue from one thread to one other, without a lock. Who finds it full or empty gives the CPU away and looks again.
//
//   head - tail = blocks on the way, 0 to RING_ROOM; head is the sender's alone, tail the receiver's
#ifndef LIDO_BENCH_RING_H
#define LIDO_BENCH_RING_H

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>

enum { RING_ROOM = 256, RING_LINE = 64 };

typedef struct ring {
    uint64_t head __attribute__((aligned(RING_LINE)));    // [atomic:R1]
    uint64_t tail __attribute__((aligned(RING_LINE)));    // [atomic:R2]
    void *cells[RING_ROOM] __attribute__((aligned(RING_LINE)));
} ring;

static inline bool ring_try_send(ring *to, void *block) {
    uint64_t head = __atomic_load_n(&to->head, __ATOMIC_RELAXED);                          // own
    if (head - __atomic_load_n(&to->tail, __ATOMIC_ACQUIRE) == RING_ROOM) return false;    // pairs with R2
    to->cells[head % RING_ROOM] = block;
    __atomic_store_n(&to->head, head + 1, __ATOMIC_RELEASE);    // R1
    return true;
}

static inline void *ring_try_take(ring *from) {
    uint64_t tail = __atomic_load_n(&from->tail, __ATOMIC_RELAXED);             // own
    if (__atomic_load_n(&from->head, __ATOMIC_ACQUIRE) == tail) return NULL;    // pairs with R1
    void *block = from->cells[tail % RING_ROOM];
    __atomic_store_n(&from->tail, tail + 1, __ATOMIC_RELEASE);    // R2
    return block;
}

static inline void ring_send(ring *to, void *block) {
    while (!ring_try_send(to, block)) sched_yield();
}

static inline void *ring_take(ring *from) {
    void *block;
    while ((block = ring_try_take(from)) == NULL) sched_yield();
    return block;
}

#endif
