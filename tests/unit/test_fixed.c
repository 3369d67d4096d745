// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// The fixed pool: bad arguments, rounding, alignment, exact capacity and counters, order of reuse, lazy carving, and a long
// random sequence against a plain model.
#include "unit.h"

#include <lido/fixed.h>

#include <stdlib.h>

// The promised figure: 4096 blocks of 56 bytes in exactly this many bytes, without any overhead.
_Static_assert(LIDO_FIXED_BYTES(4096, 56, 0) == 229376, "no overhead");
_Static_assert(LIDO_FIXED_BYTES(10, 1, 0) == 10 * sizeof(void *), "a block holds a link");
_Static_assert(LIDO_FIXED_BYTES(10, 1, 1) == 10 * sizeof(void *), "a block holds a link");
_Static_assert(LIDO_FIXED_BYTES(3, 100, 64) == 3 * 128, "rounded to the alignment");
_Static_assert(LIDO_FIXED_ALIGNMENT(48, 0) == 16 && LIDO_FIXED_ALIGNMENT(56, 0) == 8, "natural alignment");
_Static_assert(LIDO_FIXED_ALIGNMENT(4096, 0) == 2 * sizeof(void *), "natural alignment is bounded");

LIDO_FIXED_BUFFER(buffer_56, 4096, 56, 0);
static _Alignas(64) unsigned char arena[8192];

static void bad_arguments(void **state) {
    (void)state;
    lido_fixed before, f = {0};
    memset(&before, 0x5A, sizeof before);
    f = before;
    assert_false(lido_fixed_init(NULL, arena, sizeof arena, 16, 0));
    assert_false(lido_fixed_init(&f, NULL, sizeof arena, 16, 0));
    assert_false(lido_fixed_init(&f, arena, sizeof arena, 0, 0));
    assert_false(lido_fixed_init(&f, arena, 0, 16, 0));
    assert_false(lido_fixed_init(&f, arena, 15, 16, 0));
    assert_false(lido_fixed_init(&f, arena, sizeof arena, 16, 3));
    assert_false(lido_fixed_init(&f, arena, sizeof arena, 16, 24));
    assert_false(lido_fixed_init(&f, arena, sizeof arena, SIZE_MAX, 0));
    assert_false(lido_fixed_init(&f, arena, sizeof arena, SIZE_MAX - 1, 16));
    assert_false(lido_fixed_init(&f, arena, sizeof arena, 16, (SIZE_MAX >> 1) + 1));
    assert_false(lido_fixed_init(&f, arena + 1, 63, 16, 64));    // the aligned start lies at its end
    assert_memory_equal(&f, &before, sizeof f);                  // a refusal leaves the structure alone
    assert_true(lido_fixed_init(&f, arena + 1, 63 + 64, 16, 64));
    assert_int_equal(lido_fixed_capacity(&f), 1);
}

static void exact_figure(void **state) {
    (void)state;
    lido_fixed f = {0};
    assert_int_equal(sizeof buffer_56, 229376);
    assert_true(lido_fixed_init(&f, buffer_56, sizeof buffer_56, 56, 0));
    assert_int_equal(lido_fixed_capacity(&f), 4096);
    unsigned char *last = NULL;
    for (int i = 0; i < 4096; i++) {
        unsigned char *p = lido_fixed_alloc(&f);
        assert_non_null(p);
        assert_true(p >= buffer_56 && p + 56 <= buffer_56 + sizeof buffer_56);
        assert_true(last == NULL || p == last + 56);
        last = p;
    }
    assert_null(lido_fixed_alloc(&f));
    assert_true(lido_fixed_init(&f, buffer_56, sizeof buffer_56 - 1, 56, 0));
    assert_int_equal(lido_fixed_capacity(&f), 4095);
}

// Every size and alignment, at every misalignment of the buffer: blocks are aligned, inside, apart, and as many as fit.
static void sizes_and_alignments(void **state) {
    (void)state;
    static const size_t alignments[] = {0, 1, 2, 4, 8, 16, 32, 64, 256};
    for (size_t size = 1; size <= 200; size++) {
        for (size_t a = 0; a < COUNT_OF(alignments); a++) {
            size_t misalignment = (size * 7 + a) % 64, bytes = 4000;
            size_t align = LIDO_FIXED_ALIGNMENT(size, alignments[a]);
            unsigned char *buffer = arena + misalignment;
            size_t skip = (align - (uintptr_t)buffer % align) % align;
            lido_fixed f = {0};
            assert_true(lido_fixed_init(&f, buffer, bytes, size, alignments[a]));
            assert_int_equal(lido_fixed_block_size(&f), LIDO_FIXED_BLOCK_BYTES(size, alignments[a]));
            assert_true(lido_fixed_block_size(&f) >= size && lido_fixed_block_size(&f) >= sizeof(void *));
            assert_int_equal(lido_fixed_capacity(&f), (bytes - skip) / lido_fixed_block_size(&f));
            uintptr_t end_of_last = (uintptr_t)buffer;
            size_t count = 0;
            for (void *p; (p = lido_fixed_alloc(&f)) != NULL; count++) {
                assert_int_equal((uintptr_t)p % align, 0);
                assert_true((uintptr_t)p >= end_of_last);
                end_of_last = (uintptr_t)p + size;
                assert_true(end_of_last <= (uintptr_t)buffer + bytes);
            }
            assert_int_equal(count, lido_fixed_capacity(&f));
        }
    }
}

static void counters(void **state) {
    (void)state;
    lido_fixed f = {0};
    void *p[10];
    assert_true(lido_fixed_init(&f, arena, 10 * 32, 32, 0));
    assert_int_equal(lido_fixed_live(&f), 0);
    assert_int_equal(lido_fixed_high_water(&f), 0);
    for (int i = 0; i < 7; i++) p[i] = lido_fixed_alloc(&f);
    for (int i = 0; i < 5; i++) lido_fixed_free(&f, p[i]);
    assert_int_equal(lido_fixed_live(&f), 2);
    assert_int_equal(lido_fixed_high_water(&f), 7);
    lido_fixed_free(&f, NULL);
    assert_int_equal(lido_fixed_live(&f), 2);
    for (int i = 4; i >= 0; i--) assert_ptr_equal(lido_fixed_alloc(&f), p[i]);    // the last one freed comes first
    assert_int_equal(lido_fixed_high_water(&f), 7);
    for (int i = 7; i < 10; i++) assert_non_null(lido_fixed_alloc(&f));
    assert_null(lido_fixed_alloc(&f));
    assert_int_equal(lido_fixed_live(&f), 10);
    assert_int_equal(lido_fixed_high_water(&f), 10);
    lido_fixed_free(&f, p[3]);
    assert_ptr_equal(lido_fixed_alloc(&f), p[3]);
    assert_null(lido_fixed_alloc(&f));
    lido_fixed_reset(&f);
    assert_int_equal(lido_fixed_live(&f), 0);
    assert_int_equal(lido_fixed_high_water(&f), 0);
    assert_int_equal(lido_fixed_capacity(&f), 10);
    assert_ptr_equal(lido_fixed_alloc(&f), p[0]);
}

static void owns(void **state) {
    (void)state;
    lido_fixed f = {0};
    assert_true(lido_fixed_init(&f, arena + 3, 1000, 24, 8));
    unsigned char *first = lido_fixed_alloc(&f);
    for (unsigned char *p = arena; p < arena + sizeof arena; p++) {
        bool in = p >= first && p < first + 24 * lido_fixed_capacity(&f);
        assert_int_equal(lido_fixed_owns(&f, p), in && (size_t)(p - first) % 24 == 0);
    }
    assert_false(lido_fixed_owns(&f, NULL));
    assert_false(lido_fixed_owns(&f, &f));
    assert_false(lido_fixed_owns(&f, (void *)UINTPTR_MAX));
}

// No byte is written by init, reset or alloc; free writes into the block it was given and nowhere else.
static void lazy(void **state) {
    (void)state;
    lido_fixed f = {0};
    memset(arena, 0xA5, sizeof arena);
    assert_true(lido_fixed_init(&f, arena, sizeof arena, 64, 0));
    unsigned char *a = lido_fixed_alloc(&f), *b = lido_fixed_alloc(&f);
    lido_fixed_reset(&f);
    a = lido_fixed_alloc(&f);
    b = lido_fixed_alloc(&f);
    for (size_t i = 0; i < sizeof arena; i++) assert_int_equal(arena[i], 0xA5);
    lido_fixed_free(&f, b);
    for (size_t i = 0; i < sizeof arena; i++) {
        if (arena + i < b || arena + i >= b + 64) assert_int_equal(arena[i], 0xA5);
    }
    assert_ptr_not_equal(a, b);
}

static void random_against_model(void **state) {
    (void)state;
    enum { CAPACITY = 100, STEPS = 200000 };
    static uint32_t storage[CAPACITY * 5];
    struct {
        uint32_t *p, stamp;
    } live[CAPACITY];
    size_t count = 0, high = 0;
    uint64_t seed = 20261201;
    lido_fixed f = {0};
    assert_true(lido_fixed_init(&f, storage, sizeof storage, 20, 4));    // 20 bytes become 24: 83 blocks
    size_t capacity = lido_fixed_capacity(&f);
    assert_int_equal(capacity, sizeof storage / 24);
    for (uint32_t step = 0; step < STEPS; step++) {
        uint64_t r = unit_random(&seed);
        bool grow = (r >> 8) % 1000 < (step / 1000 % 2 == 0 ? 700u : 300u);
        if (r % 5000 == 0) {
            lido_fixed_reset(&f);
            count = high = 0;
        } else if (grow) {
            uint32_t *p = lido_fixed_alloc(&f);
            assert_int_equal(p != NULL, count < capacity);
            if (p == NULL) continue;
            assert_true(lido_fixed_owns(&f, p));
            for (int i = 0; i < 5; i++) p[i] = step;
            live[count].p = p;
            live[count++].stamp = step;
            if (count > high) high = count;
        } else if (count > 0) {
            size_t i = (r >> 32) % count;
            for (int k = 0; k < 5; k++) assert_int_equal(live[i].p[k], live[i].stamp);
            lido_fixed_free(&f, live[i].p);
            live[i] = live[--count];
        }
        if (step % 64 == 0) {
            assert_int_equal(lido_fixed_live(&f), count);
            assert_int_equal(lido_fixed_high_water(&f), high);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_arguments),
        cmocka_unit_test(exact_figure),
        cmocka_unit_test(sizes_and_alignments),
        cmocka_unit_test(counters),
        cmocka_unit_test(owns),
        cmocka_unit_test(lazy),
        cmocka_unit_test(random_against_model),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
