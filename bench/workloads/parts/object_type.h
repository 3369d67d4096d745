// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// The object of BENCH_OBJECTS: a use of it sets `serial`, its constructor fills the rest once. An object that was kept
// constructed is the same as a new one, so the checksum cannot tell them apart, and the constructor's work is what is saved.
#ifndef LIDO_BENCH_OBJECT_TYPE_H
#define LIDO_BENCH_OBJECT_TYPE_H

#include <stddef.h>
#include <stdint.h>

typedef struct built_object {
    uint64_t serial;    // [user]
    uint64_t built;     // [constructor] a constant while the object exists
                        // [constructor] and a table to the end of the block
} built_object;

enum { BUILT_MARK = 0x5eed, BUILT_SIZE_LEAST = 32 };

// A table that takes a multiplication and an addition a word, as one of a parser or a cipher might.
static inline void built_construct(void *block, size_t size) {
    built_object *object = (built_object *)block;
    object->built = BUILT_MARK;
    uint32_t value = 1, *table = (uint32_t *)(object + 1);
    for (size_t i = 0; i < (size - sizeof *object) / sizeof *table; i++) {
        table[i] = value;
        value = value * 1664525u + 1013904223u;    // a linear congruence of Numerical Recipes
    }
}

static inline uint32_t built_last(const built_object *object, size_t size) {
    return ((const uint32_t *)(object + 1))[(size - sizeof *object) / sizeof(uint32_t) - 1];
}

static inline void built_destroy(void *block) { ((built_object *)block)->built = 0; }

#endif
