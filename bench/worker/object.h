// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// The object of churn, steady and ledger: 56 bytes, of which the constructor fills a 28-byte buffer and sets a tag; the
// destructor reads both (for the checksum) and clears the tag. Larger blocks carry it at their start.
#ifndef LIDO_BENCH_OBJECT_H
#define LIDO_BENCH_OBJECT_H

#include <assert.h>
#include <stdint.h>
#include <string.h>

typedef struct bench_object {
    uint64_t untouched[3];
    char text[28];
    uint32_t tag;
} bench_object;

enum { BENCH_OBJECT_SIZE = 56 };
static_assert(sizeof(bench_object) == BENCH_OBJECT_SIZE, "the published workloads use 56 bytes");

static inline bench_object *object_construct(void *block, uint64_t serial) {
    bench_object *object = (bench_object *)block;
    memset(object->text, (int)(serial & 0x7f), sizeof object->text);
    object->tag = 0x80000000u | (uint32_t)serial;
    return object;
}

static inline uint64_t object_destroy(bench_object *object) {
    uint64_t sum = object->tag + (uint64_t)object->text[27];
    object->tag = 0;
    return sum;
}

#endif
