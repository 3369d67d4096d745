// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// Alignment: every block of a pool, for a cache line, a SIMD register or a page.
//
// Prints:
//     100 blocks aligned to 64
//     100 blocks aligned to 4096
#include <lido/pool.h>
#include <stdio.h>

int main(void) {
    static const size_t alignments[] = {64, 4096};
    for (int which = 0; which < 2; which++) {
        size_t alignment = alignments[which];
        lido_pool *pool = lido_pool_new(&(lido_pool_options){.block_size = 40, .alignment = alignment});
        if (pool == NULL) return perror("pool"), 1;
        int aligned = 0;
        for (int i = 0; i < 100; i++) {
            void *block = lido_pool_alloc(pool);
            if (block == NULL) return perror("pool"), 1;
            aligned += (uintptr_t)block % alignment == 0;
        }
        printf("%d blocks aligned to %zu\n", aligned, alignment);
        lido_pool_reset(pool);
        lido_pool_destroy(pool);
    }
    return 0;
}
