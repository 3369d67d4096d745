// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// Mistakes with blocks of pools and arenas, one a word, for tools that watch memory; "right" makes none of them. Prints
// "survived" if nobody stops it.
#include <lido/lido.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BYTES = 56 };

static lido_pool *pool_of(lido_threads threads) {
    lido_pool *pool = lido_pool_new(&(lido_pool_options){.name = "victim", .block_size = BYTES, .threads = threads});
    if (pool == NULL) abort();
    return pool;
}

// volatile: the compiler must neither drop the access nor see the mistake, and a tool must see that the value is used
static volatile char sink;
static char read_byte(const volatile char *p) { return sink = *p; }

static char pool_mistake(const char *what, lido_threads threads) {
    lido_pool *pool = pool_of(threads);
    char *block = (char *)lido_pool_alloc(pool), *kept = (char *)lido_pool_alloc(pool), seen = 0;
    memset(block, 1, BYTES);
    memset(kept, 1, BYTES);
    if (strcmp(what, "behind") == 0) seen = read_byte(block + BYTES);
    if (strcmp(what, "before") == 0) seen = read_byte(block - 1);
    lido_pool_free(pool, block);
    if (strcmp(what, "freed") == 0) seen = read_byte(block);
    if (strcmp(what, "freed-end") == 0) seen = read_byte(block + BYTES - 1);
    lido_pool_free(pool, kept);
    block = (char *)lido_pool_alloc(pool);
    if (strcmp(what, "unset") == 0 && read_byte(block) != 0) puts("set");
    lido_pool_free(pool, block);
    lido_pool_destroy(pool);
    if (strcmp(what, "destroyed") == 0) seen = read_byte(kept);
    return seen;
}

static char arena_mistake(const char *what) {
    lido_arena *arena = lido_arena_new(NULL);
    char seen = 0, *before = (char *)lido_arena_alloc(arena, 40);
    lido_arena_point point = lido_arena_mark(arena);
    char *block = (char *)lido_arena_alloc(arena, 40);
    memset(before, 1, 40);
    memset(block, 1, 40);
    lido_arena_rewind(arena, point);
    if (strcmp(what, "rewound") == 0) seen = read_byte(block + 8);
    seen = (char)(seen + read_byte(before + 8));
    lido_arena_reset(arena);
    if (strcmp(what, "reset") == 0) seen = read_byte(before + 8);
    block = (char *)lido_arena_alloc(arena, 40);
    memset(block, 1, 40);
    lido_arena_free(arena);
    return seen;
}

// All kinds of blocks made, used and freed as they should be, often enough for memory to come back in another shape.
static void right(void) {
    for (int round = 0; round < 3; round++) {
        lido_pool *pool = pool_of(round == 1 ? LIDO_SHARED : LIDO_LOCAL);
        lido_arena *arena = lido_arena_new(NULL);
        char *blocks[400];
        for (int i = 0; i < 400; i++) {
            blocks[i] = (char *)lido_pool_alloc(pool);
            memset(blocks[i], i, BYTES);
            memset(lido_arena_alloc(arena, (size_t)i + 1), i, (size_t)i + 1);
        }
        for (int i = 0; i < 400; i++) lido_pool_free(pool, blocks[i]);
        char *text = (char *)lido_calloc(50, (size_t)1000 << round),
             *more = (char *)lido_realloc(text, (size_t)90000 << round);
        memset(more, 2, (size_t)90000 << round);
        lido_free(more);
        lido_arena_free(arena);
        lido_pool_destroy(pool);
    }
}

// Blocks that end with the others of their pool: a round of 100 each by reset, free_all and destroy.
static void ended_at_once(void) {
    lido_pool *pool = NULL;
    for (int round = 0; round < 6; round++) {
        if (round % 3 == 0) pool = pool_of(round < 3 ? LIDO_SHARED : LIDO_LOCAL);
        lido_pool_free(pool, lido_pool_alloc(pool));
        for (int i = 0; i < 100; i++) *(volatile char *)lido_pool_alloc(pool) = (char)i;
        if (round % 3 == 0) lido_pool_reset(pool);
        if (round % 3 == 1) lido_pool_free_all(pool);
        if (round % 3 == 2) lido_pool_destroy(pool);
    }
}

// Only the pool's block knows of what malloc gave: no leak.
static void held_by_block(void) {
    lido_pool *pool = pool_of(LIDO_LOCAL);
    char **block = (char **)lido_pool_alloc(pool);
    *block = (char *)malloc(100);
    static lido_pool *kept;
    kept = pool;
    (void)kept;
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "";
    lido_threads threads = argc > 2 && strcmp(argv[2], "shared") == 0 ? LIDO_SHARED : LIDO_LOCAL;
    if (strcmp(what, "malloc") == 0) {    // of whoever has its name
        char *volatile block = (char *)reallocarray(NULL, 10, 10);
        memset(block, 1, 100);
        free(block);
    } else if (strcmp(what, "right") == 0) {
        right();
    } else if (strcmp(what, "ended") == 0) {
        ended_at_once();
    } else if (strcmp(what, "held") == 0) {
        held_by_block();
    } else if (strcmp(what, "rewound") == 0 || strcmp(what, "reset") == 0) {
        (void)arena_mistake(what);
    } else {
        (void)pool_mistake(what, threads);
    }
    puts("survived");
    return 0;
}
