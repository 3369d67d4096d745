// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// Giving memory back: trim hands free memory to the system, reset frees all blocks and keeps the memory, free_all frees
// all and keeps nothing.
//
// Prints:
//     half freed, trimmed: some memory went back, 5000 alive
//     reset: 0 alive, memory kept
//     free_all: 0 alive, memory gone
#include <lido/pool.h>
#include <stdbool.h>
#include <stdio.h>

enum { COUNT = 10000 };

static bool fill(lido_pool *pool, void **blocks) {
    for (int i = 0; i < COUNT; i++)
        if ((blocks[i] = lido_pool_alloc(pool)) == NULL) return false;
    return true;
}

int main(void) {
    static void *blocks[COUNT];
    lido_pool *pool = lido_pool_new(&(lido_pool_options){.block_size = 1024});
    if (pool == NULL || !fill(pool, blocks)) return perror("pool"), 1;

    for (int i = 0; i < COUNT / 2; i++) lido_pool_free(pool, blocks[i]);
    size_t bytes = lido_pool_trim(pool);
    printf("half freed, trimmed: %s memory went back, %zu alive\n", bytes > 0 ? "some" : "no",
           lido_pool_stats(pool).live);

    lido_pool_reset(pool);
    lido_pool_statistics now = lido_pool_stats(pool);
    printf("reset: %zu alive, memory %s\n", now.live, now.held_bytes > 0 ? "kept" : "gone");

    if (!fill(pool, blocks)) return perror("pool"), 1;
    lido_pool_free_all(pool);
    now = lido_pool_stats(pool);
    printf("free_all: %zu alive, memory %s\n", now.live, now.committed_bytes > 0 ? "kept" : "gone");
    lido_pool_destroy(pool);
    return 0;
}
