// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// See spans.h.
#include "spans.h"

void spans_init(spans *set) {
    set->root = SPANS_NONE;
    set->seed = 1;
    set->count = 0;
}

// All spans of `tree` that start below `at` go to *low, the others to *high.
static void split(spans *set, int16_t tree, uintptr_t at, int16_t *low, int16_t *high) {
    if (tree == SPANS_NONE) {
        *low = *high = SPANS_NONE;
    } else if (set->nodes[tree].start < at) {
        split(set, set->nodes[tree].right, at, &set->nodes[tree].right, high);
        *low = tree;
    } else {
        split(set, set->nodes[tree].left, at, low, &set->nodes[tree].left);
        *high = tree;
    }
}

// Every span of `low` lies below every span of `high`.
static int16_t merge(spans *set, int16_t low, int16_t high) {
    if (low == SPANS_NONE) return high;
    if (high == SPANS_NONE) return low;
    if (set->nodes[low].priority > set->nodes[high].priority) {
        set->nodes[low].right = merge(set, set->nodes[low].right, high);
        return low;
    }
    set->nodes[high].left = merge(set, low, set->nodes[high].left);
    return high;
}

// The last span that starts at or below `at`.
static int16_t at_or_below(const spans *set, uintptr_t at) {
    int16_t found = SPANS_NONE;
    for (int16_t node = set->root; node != SPANS_NONE;) {
        bool below = set->nodes[node].start <= at;
        if (below) found = node;
        node = below ? set->nodes[node].right : set->nodes[node].left;
    }
    return found;
}

int spans_find(const spans *set, const void *p) {
    int16_t node = at_or_below(set, (uintptr_t)p);
    return node != SPANS_NONE && (uintptr_t)p < set->nodes[node].end ? node : SPANS_NONE;
}

int spans_insert(spans *set, int slot, const void *start, size_t bytes) {
    uintptr_t from = (uintptr_t)start, to = from + (bytes == 0 ? 1 : bytes);
    int16_t before = at_or_below(set, to - 1);
    if (before != SPANS_NONE && set->nodes[before].end > from) return before;
    set->seed = set->seed * 1664525u + 1013904223u;
    set->nodes[slot].start = from;
    set->nodes[slot].end = to;
    set->nodes[slot].left = set->nodes[slot].right = SPANS_NONE;
    set->nodes[slot].priority = set->seed >> 4;
    int16_t low, high;
    split(set, set->root, from, &low, &high);
    set->root = merge(set, merge(set, low, (int16_t)slot), high);
    set->count++;
    return SPANS_NONE;
}

void spans_remove(spans *set, int slot) {
    int16_t low, middle, high;
    split(set, set->root, set->nodes[slot].start, &low, &high);
    split(set, high, set->nodes[slot].start + 1, &middle, &high);
    set->root = merge(set, low, high);
    set->count--;
}
