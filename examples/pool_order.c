// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// Order of reuse: LIFO gives the block that was freed last, which is still in the cache; FIFO the one that has rested longest.
//
// Prints:
//     LIFO: 3 2 1
//     FIFO: 1 2 3
#include <lido/pool.h>
#include <stdio.h>

// Frees blocks 1, 2, 3 and says in which order they come again.
static int show(const char *name, lido_order order) {
    lido_pool *pool = lido_pool_new(&(lido_pool_options){.block_size = 32, .order = order, .capacity = 3});
    if (pool == NULL) return perror(name), 1;
    void *blocks[3];
    for (int i = 0; i < 3; i++) blocks[i] = lido_pool_alloc(pool);
    for (int i = 0; i < 3; i++) lido_pool_free(pool, blocks[i]);
    printf("%s:", name);
    for (int i = 0; i < 3; i++) {
        const void *again = lido_pool_alloc(pool);
        for (int n = 0; n < 3; n++)
            if (blocks[n] == again) printf(" %d", n + 1);
    }
    printf("\n");
    lido_pool_free_all(pool);
    lido_pool_destroy(pool);
    return 0;
}

int main(void) { return show("LIFO", LIDO_LIFO) + show("FIFO", LIDO_FIFO); }
