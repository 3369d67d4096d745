// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// Bulk: many blocks in one call, all or nothing.
//
// Prints:
//     64 blocks in one call
//     40 more: refused, and none taken: 64 alive of 100
//     0 alive
#include <errno.h>
#include <lido/pool.h>
#include <stdio.h>

int main(void) {
    void *blocks[64], *more[40];
    lido_pool *pool = lido_pool_new(
        &(lido_pool_options){.name = "packet", .block_size = 2048, .threads = LIDO_SHARED, .capacity = 100});
    if (pool == NULL || lido_pool_alloc_bulk(pool, blocks, 64) != 0) return perror("packet"), 1;
    printf("64 blocks in one call\n");
    if (lido_pool_alloc_bulk(pool, more, 40) == 0 || errno != ENOMEM) return 1;
    lido_pool_statistics now = lido_pool_stats(pool);
    printf("40 more: refused, and none taken: %zu alive of %zu\n", now.live, now.capacity);
    lido_pool_free_bulk(pool, blocks, 64);
    printf("%zu alive\n", lido_pool_stats(pool).live);
    lido_pool_destroy(pool);
    return 0;
}
