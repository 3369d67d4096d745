// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// What people write first for several threads: an intrusive free list behind one mutex, that grows by chunks.
#include "worker/worker.h"

#include <pthread.h>
#include <stdlib.h>

typedef struct mutex_link {
    struct mutex_link *next;
} __attribute__((may_alias)) mutex_link;

typedef struct mutex_pool {
    pthread_mutex_t lock;
    mutex_link *free, *chunks;    // [lock:lock]
    size_t size, chunk_bytes;     // [const]
} mutex_pool;

typedef mutex_pool *bench_slot;

enum { SLOT_IS_SHARED = 1, SLOT_IS_HEAP = 0, MUTEX_POOL_CHUNK_BYTES = 64 << 10 };

// The first 16 bytes of a chunk link it to the others.
static __attribute__((noinline)) void mutex_pool_grow_locked(mutex_pool *pool) {
    unsigned char *chunk = (unsigned char *)malloc(pool->chunk_bytes);
    if (chunk == NULL) return;
    mutex_link *head = (mutex_link *)(void *)chunk;
    head->next = pool->chunks;
    pool->chunks = head;
    for (size_t at = 16; at + pool->size <= pool->chunk_bytes; at += pool->size) {
        mutex_link *link = (mutex_link *)(void *)(chunk + at);
        link->next = pool->free;
        pool->free = link;
    }
}

static inline void *slot_alloc(bench_slot slot) {
    pthread_mutex_lock(&slot->lock);
    if (__builtin_expect(slot->free == NULL, 0)) mutex_pool_grow_locked(slot);
    mutex_link *block = slot->free;
    if (block != NULL) slot->free = block->next;
    pthread_mutex_unlock(&slot->lock);
    return block;
}

static inline void slot_free(bench_slot slot, void *block) {
    mutex_link *link = (mutex_link *)block;
    pthread_mutex_lock(&slot->lock);
    link->next = slot->free;
    slot->free = link;
    pthread_mutex_unlock(&slot->lock);
}

static inline bool slot_open(bench_slot *slot, const bench_slot_options *options) {
    mutex_pool *pool = (mutex_pool *)calloc(1, sizeof *pool);
    if (pool == NULL) return false;
    pthread_mutex_init(&pool->lock, NULL);
    pool->size = (options->size + 15) & ~(size_t)15;
    pool->chunk_bytes = 16 + pool->size * 16;
    if (pool->chunk_bytes < MUTEX_POOL_CHUNK_BYTES) pool->chunk_bytes = MUTEX_POOL_CHUNK_BYTES;
    *slot = pool;
    return true;
}

static inline void slot_close(bench_slot slot) {
    while (slot->chunks != NULL) {
        mutex_link *chunk = slot->chunks;
        slot->chunks = chunk->next;
        free(chunk);
    }
    pthread_mutex_destroy(&slot->lock);
    free(slot);
}

static inline bench_requests slot_requests(const bench_slot *slot) {
    bench_requests asked = {0, 0};
    for (const mutex_link *chunk = (*slot)->chunks; chunk != NULL; chunk = chunk->next) {
        asked.count++;
        asked.bytes += (*slot)->chunk_bytes;
    }
    return asked;
}

#include "workloads_all.h"

BENCH_BACKEND(mutex_pool_backend, "mutex-pool", BENCH_THREADS | BENCH_CROSS | BENCH_CROSS_SIZES,
              "an intrusive free list behind one mutex");
