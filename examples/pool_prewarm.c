// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// Memory ready before the first request: after prewarm the allocations touch no new page, so none waits for the system.
//
// Prints:
//     10000 blocks, no page fault on the way
#include <lido/pool.h>
#include <stdio.h>
#include <sys/resource.h>

static long page_faults(void) {
    struct rusage usage;
    return getrusage(RUSAGE_SELF, &usage) == 0 ? usage.ru_minflt : -1;
}

int main(void) {
    enum { COUNT = 10000, TOLERATED = 5 };    // of the stack and of libc
    lido_pool *pool = lido_pool_new(&(lido_pool_options){.name = "order", .block_size = 256, .prewarm = COUNT});
    if (pool == NULL) return perror("order"), 1;
    long before = page_faults();
    int count = 0;
    for (; count < COUNT; count++) {
        char *block = (char *)lido_pool_alloc(pool);
        if (block == NULL) return perror("order"), 1;
        block[0] = block[255] = 1;
    }
    long faults = page_faults() - before;
    if (faults < TOLERATED) {
        printf("%d blocks, no page fault on the way\n", count);
    } else {
        printf("%d blocks, %ld page faults\n", count, faults);
    }
    lido_pool_reset(pool);
    lido_pool_destroy(pool);
    return 0;
}
