// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// The corpus of misuse: what a family of calls is, and so what can be done wrong with it.
//
//      corpus.c              what is done wrong: one function a kind of misuse, the same for every family
//      family_standard.c     malloc and free by their standard names: a plain C program, for any malloc
//      family_lido.c         pools, objects, heaps, arenas, lido_malloc
//
// A family without one of the calls (NULL) has no case that needs it.
#ifndef CORPUS_H
#define CORPUS_H

#include <stdbool.h>
#include <stddef.h>

typedef struct family {
    const char *name;
    bool any_size;         // else its blocks have BLOCK_BYTES
    bool confined;         // to the thread that opened it
    void (*open)(void);    // first; NULL: nothing to do
    void *(*make)(size_t bytes);
    void (*end)(void *p);
    void (*end_in_another)(void *p);    // through another pool than the one it is of
    void (*end_sized)(void *p, size_t bytes);
    void *(*change)(void *p, size_t bytes);    // realloc
    void (*mark)(void);                        // what is made from here on ends with `rewind`
    void (*rewind)(void);
    void (*wipe)(void);     // ends all blocks, and the family goes on
    void (*close)(void);    // ends all blocks and the family; also at the end of each case
} family;

// A multiple of 16, so that no alignment leaves room behind a block.
enum { BLOCK_BYTES = 96 };

extern const family families[];
extern const size_t family_count;

// The compiler must not see what it could warn of, or remove.
static inline void *hide(const volatile void *p) {
    void *hidden = (void *)(size_t)p;
    __asm__ volatile("" : "+r"(hidden) : : "memory");
    return hidden;
}

#endif
