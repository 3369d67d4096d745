// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// A sorted set of address ranges that must not overlap: what a shadow model knows of live blocks. A treap over small
// numbers (the caller's slots), in the caller's memory; nothing is allocated.
#ifndef LIDO_TESTS_SPANS_H
#define LIDO_TESTS_SPANS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SPANS_MAX = 2048, SPANS_NONE = -1 };

typedef struct spans {
    struct {
        uintptr_t start, end;    // [start, end), end > start
        int16_t left, right;     // or SPANS_NONE
        uint32_t priority;
    } nodes[SPANS_MAX];
    int16_t root;
    uint32_t seed;
    size_t count;
} spans;

void spans_init(spans *set);
// Adds [start, start + bytes) as number `slot`. Returns SPANS_NONE, or the number of a span that it overlaps (and adds
// nothing). bytes 0 counts as 1.
int spans_insert(spans *set, int slot, const void *start, size_t bytes);
void spans_remove(spans *set, int slot);
// The number of the span that contains `p`, or SPANS_NONE.
int spans_find(const spans *set, const void *p);

#endif
