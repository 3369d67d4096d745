// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// Instructions of lido's pools and, as the floor, of a bare intrusive list.
#include "instr.h"

#include <lido/fixed.h>
#include <lido/pool.h>

enum { BLOCK_BYTES = 64 };

static lido_pool *open_pool(lido_threads threads) {
    lido_pool_options options = {0};
    options.name = "instr";
    options.block_size = BLOCK_BYTES;
    options.threads = threads;
    lido_pool *pool = lido_pool_new(&options);
    if (pool == NULL) {
        perror("lido_pool_new");
        exit(1);
    }
    for (int i = 0; i < 1000; i++) lido_pool_free(pool, lido_pool_alloc(pool));
    return pool;
}

static uint64_t pool_pairs(lido_pool *pool, uint64_t count) {
    void *block = NULL;
    INSTR_HIDE(pool);
    for (uint64_t i = 0; i < count; i += INSTR_UNROLL) {
#pragma GCC unroll 16
        for (int k = 0; k < INSTR_UNROLL; k++) {
            block = lido_pool_alloc(pool);
            INSTR_USE(block);
            lido_pool_free(pool, block);
            INSTR_USE(pool);
        }
    }
    uint64_t low = (uint64_t)(uintptr_t)block & (BLOCK_BYTES - 1);    // 0: a 64-byte block of a 64-byte pool
    lido_pool_destroy(pool);
    return low;
}

static uint64_t local_pair(uint64_t count) { return pool_pairs(open_pool(LIDO_LOCAL), count); }

static uint64_t shared_pair(uint64_t count) { return pool_pairs(open_pool(LIDO_SHARED), count); }

static uint64_t fixed_pair(uint64_t count) {
    static unsigned char buffer[64 * BLOCK_BYTES];
    lido_fixed fixed, *pool = &fixed;
    if (!lido_fixed_init(pool, buffer, sizeof buffer, BLOCK_BYTES, 0)) exit(1);
    lido_fixed_free(pool, lido_fixed_alloc(pool));
    INSTR_HIDE(pool);
    for (uint64_t i = 0; i < count; i += INSTR_UNROLL) {
#pragma GCC unroll 16
        for (int k = 0; k < INSTR_UNROLL; k++) {
            void *block = lido_fixed_alloc(pool);
            INSTR_USE(block);
            lido_fixed_free(pool, block);
            INSTR_USE(pool);
        }
    }
    return lido_fixed_live(pool);
}

typedef struct bare_link {
    struct bare_link *next;
} __attribute__((may_alias)) bare_link;

static uint64_t bare_pair(uint64_t count) {
    static bare_link blocks[8];
    static bare_link *list;
    for (int i = 0; i < 8; i++) {
        blocks[i].next = list;
        list = &blocks[i];
    }
    bare_link **head = &list;
    INSTR_HIDE(head);
    for (uint64_t i = 0; i < count; i += INSTR_UNROLL) {
#pragma GCC unroll 16
        for (int k = 0; k < INSTR_UNROLL; k++) {
            bare_link *block = *head;
            if (__builtin_expect(block == NULL, 0)) return 1;
            *head = block->next;
            INSTR_USE(block);
            block->next = *head;
            *head = block;
            INSTR_USE(head);
        }
    }
    return 0;
}

static uint64_t empty_loop(uint64_t count) {
    for (uint64_t i = 0; i < count; i += INSTR_UNROLL) {
#pragma GCC unroll 16
        for (int k = 0; k < INSTR_UNROLL; k++) INSTR_USE(count);
    }
    return 0;
}

static const instr_case cases[] = {
    {"local-pair", "alloc and free of a LIDO_LOCAL pool, inline", local_pair},
    {"shared-pair", "alloc and free of a LIDO_SHARED pool", shared_pair},
    {"fixed-pair", "alloc and free of a lido_fixed, inline", fixed_pair},
    {"loop", "nothing, in the loop of the others", empty_loop},
    {"bare-pair", "push and pop of a bare intrusive list", bare_pair},
};

int main(int argc, char **argv) { return instr_main(argc, argv, cases, (int)(sizeof cases / sizeof cases[0])); }
