// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// What is in the blocks: realloc keeps it, calloc clears it, no two blocks share any of it.
#include "case.h"

#include <malloc.h>
#include <sys/mman.h>

// Around the places where an allocator changes its ways: pages, slices, thresholds of large and huge objects.
static const size_t steps[] = {
    1,      7,      8,       9,       15,      16,      17,      31,      33,       64,       100,     128,    129,
    255,    257,    500,     1000,    1023,    1025,    2000,    4095,    4096,     4097,     8192,    10000,  16384,
    20000,  32767,  32769,   50000,   65535,   65536,   65537,   100000,  131072,   131073,   200000,  262145, 400000,
    524289, 800000, 1048576, 1048577, 2000000, 4194304, 4194305, 9000000, 33554432, 33554433, 50000000};
enum { STEP_COUNT = sizeof steps / sizeof steps[0] };

static char *grow_or_shrink(char *p, size_t from, size_t to) {
    uint64_t tag = from * 31 + to;
    case_fill(p, from, tag);
    p = realloc(p, to);
    CHECK(p != NULL, "realloc from %zu to %zu", from, to);
    CHECK(case_filled(p, (from < to ? from : to) & ~(size_t)7, tag), "realloc from %zu to %zu lost content", from, to);
    CHECK(malloc_usable_size(p) >= to, "usable size after realloc from %zu to %zu", from, to);
    if (to > 0) p[to - 1] = 1;
    return p;
}

void case_realloc_steps(void) {
    // One block up and down through all sizes, others between.
    char *p = malloc(1), *between[STEP_COUNT];
    for (int i = 1; i < STEP_COUNT; i++) {
        p = grow_or_shrink(p, steps[i - 1], steps[i]);
        between[i] = malloc(steps[i] % 5000 + 1);
    }
    for (int i = STEP_COUNT - 1; i > 0; i--) {
        free(between[i]);
        p = grow_or_shrink(p, steps[i], steps[i - 1]);
    }
    free(p);
    // Each size to each size, the largest only now and then.
    for (int i = 0; i < STEP_COUNT; i++) {
        for (int k = 0; k < STEP_COUNT; k++) {
            if (steps[i] + steps[k] > (2u << 20) && (i + k) % 7 != 0) continue;
            free(grow_or_shrink(malloc(steps[i]), steps[i], steps[k]));
        }
    }
    // Byte by byte, which crosses every class boundary.
    p = malloc(1);
    for (size_t n = 1; n < 3000; n++) p = grow_or_shrink(p, n, n + 1);
    for (size_t n = 3000; n > 1; n--) p = grow_or_shrink(p, n, n - 1);
    free(p);
}

void case_realloc_random(void) {
    enum { SLOTS = 200, ROUNDS = 60000 };
    static struct {
        char *p;
        size_t size;
        uint64_t tag;
    } slots[SLOTS];
    uint64_t seed = 42;
    for (int round = 0; round < ROUNDS; round++) {
        uint64_t r = case_random(&seed);
        unsigned i = r % SLOTS, bits = (r >> 16) % (round % 500 == 0 ? 24 : 15);
        size_t size = ((r >> 32) & (((size_t)1 << bits) - 1)) + 1;
        size_t common = slots[i].size < size ? slots[i].size : size;
        char *p = realloc(slots[i].p, size);
        CHECK(p != NULL, "realloc to %zu", size);
        CHECK(case_filled(p, common & ~(size_t)7, slots[i].tag), "content lost from %zu to %zu, round %d",
              slots[i].size, size, round);
        slots[i].p = p;
        slots[i].size = size;
        slots[i].tag = r;
        case_fill(p, size, r);
        if (r % 7 == 0) {
            free(slots[i].p);
            slots[i].p = NULL;
            slots[i].size = 0;
        }
    }
    for (int i = 0; i < SLOTS; i++) {
        if (slots[i].p != NULL) CHECK(case_filled(slots[i].p, slots[i].size, slots[i].tag), "content lost at the end");
        free(slots[i].p);
    }
}

void case_realloc_aligned(void) {
    for (size_t alignment = 16; alignment <= (4 << 20); alignment *= 2) {
        for (size_t size = 1; size < 300000; size = size * 3 + 5) {
            for (size_t to = 1; to < 300000; to = to * 5 + 3) {
                char *p = aligned_alloc(alignment, size);
                CHECK(p != NULL, "aligned_alloc(%zu, %zu)", alignment, size);
                free(grow_or_shrink(p, size, to));
            }
        }
    }
}

// Blocks full of ones go back; then calloc must find zeroes, whether the memory is new, reused, or was trimmed.
void case_calloc_after_dirt(void) {
    enum { BLOCKS = 64 };
    void *blocks[BLOCKS];
    for (size_t size = 1; size <= (2 << 20); size = size < 1100 ? size + 7 : size + size / 9) {
        int count = size > 100000 ? 4 : BLOCKS;
        for (int round = 0; round < 3; round++) {
            for (int i = 0; i < count; i++) {
                blocks[i] = round == 1 ? malloc(size) : calloc(size, 1);
                CHECK(blocks[i] != NULL, "no memory for %zu", size);
                CHECK(round == 1 || case_is_zero(blocks[i], size), "calloc(%zu) is not zero, round %d", size, round);
                memset(blocks[i], 0xFF, malloc_usable_size(blocks[i]));
            }
            for (int i = 0; i < count; i++) free(blocks[i * 7 % count]);
        }
        if (size % 16 == 1) malloc_trim(0);
    }
}

void case_calloc_all_sizes(void) {
    uint64_t seed = 7;
    for (int round = 0; round < 3; round++) {
        for (size_t size = 1; size <= (2u << 20);
             size = size < 5000 ? size + 1 : size + 1 + case_random(&seed) % (size / 20)) {
            char *dirty = malloc(size);
            CHECK(dirty != NULL, "no memory for %zu", size);
            memset(dirty, 0x5A, size);
            free(dirty);
            char *p = calloc(1, size), *q = calloc(size, 1);
            CHECK(p != NULL && q != NULL, "no memory for %zu", size);
            CHECK(case_is_zero(p, size) && case_is_zero(q, size), "calloc(%zu) is not zero", size);
            memset(p, 1, size);
            memset(q, 1, size);
            free(p);
            free(q);
        }
    }
    // Huge, freed dirty, and again.
    for (int round = 0; round < 4; round++) {
        char *p = calloc(1, 40 << 20);
        CHECK(p != NULL && case_is_zero(p, 40 << 20), "calloc of 40 MiB is not zero, round %d", round);
        memset(p, 1, 40 << 20);
        if (round % 2 == 0) p = realloc(p, 60 << 20);
        CHECK(p != NULL && p[0] == 1 && p[(40 << 20) - 1] == 1, "realloc to 60 MiB");
        free(p);
    }
}

void case_no_overlap(void) {
    enum { SLOTS = 4000, ROUNDS = 400000 };
    static struct {
        char *p;
        size_t size;
        uint64_t tag;
    } slots[SLOTS];
    uint64_t seed = 99;
    for (int round = 0; round < ROUNDS; round++) {
        uint64_t r = case_random(&seed);
        unsigned i = r % SLOTS;
        if (slots[i].p != NULL) {
            CHECK(case_filled(slots[i].p, slots[i].size, slots[i].tag), "a block of %zu changed, round %d",
                  slots[i].size, round);
            free(slots[i].p);
            slots[i].p = NULL;
            continue;
        }
        size_t size = r % 1000 == 0 ? (r >> 20) % 300000 + 1 : (r >> 20) % ((r >> 50) % 4 == 0 ? 3000 : 200) + 1;
        slots[i].p = malloc(size);
        CHECK(slots[i].p != NULL, "no memory");
        slots[i].size = size;
        slots[i].tag = r;
        case_fill(slots[i].p, size, r);
    }
    for (int i = 0; i < SLOTS; i++) free(slots[i].p);
}
