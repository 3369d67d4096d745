// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// What a pool does when its capacity is reached: refuse, grow by steps, ask the program, or wait for a free.
//
// Prints:
//     fail: none, capacity 4
//     grow: a block, capacity 8
//     call: a block, capacity 4
//     wait: a block, capacity 4
#include <lido/lido.h>

#include <errno.h>
#include <pthread.h>
#include <stdio.h>

enum { BUFFERS = 4 };

// An old buffer goes when a new one is wanted.
static void *oldest;
static bool drop_oldest(lido_pool *pool, size_t attempt, void *context) {
    (void)context;
    if (attempt > 1 || oldest == NULL) return false;
    lido_pool_free(pool, oldest);
    oldest = NULL;
    return true;
}

static void *free_later(void *pool) {
    while (lido_pool_stats(pool).waiting == 0) {
    }
    lido_pool_free(pool, oldest);
    return NULL;
}

static lido_pool *full_pool(lido_on_exhausted on_exhausted) {
    lido_pool *pool = lido_pool_new(&(lido_pool_options){.name = "buffers",
                                                         .block_size = 1024,
                                                         .threads = LIDO_SHARED,
                                                         .capacity_bytes = BUFFERS * 1024,
                                                         .growth = 4,
                                                         .on_exhausted = on_exhausted,
                                                         .exhausted = drop_oldest,
                                                         .wait_ms = 10000});
    for (int i = 0; i < BUFFERS && pool != NULL; i++) oldest = lido_pool_alloc(pool);
    return pool;
}

int main(void) {
    static const char *const names[] = {"fail", "grow", "call", "wait"};
    for (int what = LIDO_FAIL; what <= LIDO_WAIT; what++) {
        lido_pool *pool = full_pool((lido_on_exhausted)what);
        pthread_t thread;
        if (pool == NULL || oldest == NULL) return perror("buffers"), 1;
        if (what == LIDO_WAIT && pthread_create(&thread, NULL, free_later, pool) != 0) return 1;
        errno = 0;
        void *one_more = lido_pool_alloc(pool);
        printf("%s: %s, capacity %zu\n", names[what], one_more != NULL ? "a block" : "none",
               lido_pool_stats(pool).capacity);
        if ((one_more == NULL) != (what == LIDO_FAIL) || (one_more == NULL && errno != ENOMEM)) return 1;
        if (what == LIDO_WAIT) pthread_join(thread, NULL);
        lido_pool_reset(pool);
        lido_pool_destroy(pool);
    }
    return 0;
}
