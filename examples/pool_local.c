// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// A pool for one thread: the common case. Its allocation and its free are a few inline instructions.
//
// Prints:
//     pool "task", blocks of 64 bytes, 1000 alive
//     0 alive, at most 1000 at once
#include <lido/pool.h>
#include <stdio.h>

struct task {
    struct task *next;
    char work[56];
};

int main(void) {
    lido_pool *pool = lido_pool_new(&(lido_pool_options){.name = "task", .block_size = sizeof(struct task)});
    if (pool == NULL) return perror("task"), 1;
    struct task *queue = NULL;
    for (int i = 0; i < 1000; i++) {
        struct task *task = (struct task *)lido_pool_alloc(pool);
        if (task == NULL) return perror("task"), 1;
        task->next = queue;
        queue = task;
    }
    printf("pool \"%s\", blocks of %zu bytes, %zu alive\n", lido_pool_name(pool), lido_pool_block_size(pool),
           lido_pool_stats(pool).live);
    while (queue != NULL) {
        struct task *task = queue;
        queue = task->next;
        lido_pool_free(pool, task);
    }
    lido_pool_statistics after = lido_pool_stats(pool);
    printf("%zu alive, at most %zu at once\n", after.live, after.high_water);
    lido_pool_destroy(pool);
    return 0;
}
