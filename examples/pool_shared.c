// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// A pool that threads share (one makes, another frees), and a pool that is one thread's own and says so.
//
// Prints:
//     shared: 100 freed by another thread, 0 alive
//     confined: another thread gets no block
#include <lido/lido.h>

#include <errno.h>
#include <pthread.h>
#include <stdio.h>

enum { COUNT = 100 };

struct parcel {
    lido_pool *pool;
    void *blocks[COUNT];
    int freed;
};

static void *free_all(void *argument) {
    struct parcel *parcel = (struct parcel *)argument;
    for (; parcel->freed < COUNT; parcel->freed++) lido_pool_free(parcel->pool, parcel->blocks[parcel->freed]);
    return NULL;
}

static void *trespass(void *pool) {
    errno = 0;
    void *block = lido_pool_alloc((lido_pool *)pool);    // one line on stderr
    return block == NULL && errno == EPERM ? pool : NULL;
}

static void *in_a_thread(void *(*call)(void *), void *argument) {
    pthread_t thread;
    void *result = NULL;
    if (pthread_create(&thread, NULL, call, argument) == 0) pthread_join(thread, &result);
    return result;
}

int main(void) {
    struct parcel parcel = {.pool = lido_pool_new(&(lido_pool_options){.block_size = 48, .threads = LIDO_SHARED})};
    if (parcel.pool == NULL) return perror("pool"), 1;
    for (int i = 0; i < COUNT; i++) parcel.blocks[i] = lido_pool_alloc(parcel.pool);
    in_a_thread(free_all, &parcel);
    printf("shared: %d freed by another thread, %zu alive\n", parcel.freed, lido_pool_stats(parcel.pool).live);
    lido_pool_destroy(parcel.pool);

    if (lido_options_set("on_misuse=continue") != 0) return 1;    // the default, after the line, is abort()
    lido_pool *own = lido_pool_new(&(lido_pool_options){.name = "own", .block_size = 48, .threads = LIDO_CONFINED});
    if (own == NULL) return perror("own"), 1;
    printf("confined: another thread gets %s\n", in_a_thread(trespass, own) == own ? "no block" : "a block");
    lido_pool_destroy(own);
    return 0;
}
