// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// Size classes: for every request what its class is and wastes, the arithmetic of entries, aligned classes; and the table
// of docs/size-classes.md, which is what this program prints with the argument --print.
#include "support.h"

#include "heap/size_class.h"

#include <lido/heap.h>
#include <stdio.h>
#include <stdlib.h>

static void every_size(void **state) {
    (void)state;
    unsigned last = 0;
    for (size_t size = 1; size <= LIDO__SMALL_MAX; size++) {
        unsigned size_class = lido__class_of(size);
        size_t bytes = lido__class_bytes(size_class), waste = bytes - size;
        assert_true(size_class < LIDO__CLASS_COUNT);
        assert_true(bytes >= size);
        assert_true(size_class == 0 || lido__class_bytes(size_class - 1) < size);    // the least that will do
        assert_true(size_class == last || size_class == last + 1);                   // monotone, no class left out
        if (size <= 1024) assert_true(waste <= 15);
        if (size > 1024) assert_true(waste * 8 < size);
        if (size > 128) assert_true(waste * 8 <= size);    // an eighth, that is 12.5 %
        last = size_class;
    }
    assert_int_equal(last, LIDO__CLASS_COUNT - 1);
}

static void classes_ascend(void **state) {
    (void)state;
    for (unsigned i = 0; i < LIDO__CLASS_COUNT; i++) {
        size_t bytes = lido__class_bytes(i);
        assert_int_equal(bytes % 16, 0);
        assert_int_equal(lido__class_of(bytes), i);
        if (i > 0) assert_true(bytes > lido__class_bytes(i - 1));
    }
    assert_int_equal(lido__class_bytes(0), 16);
    assert_int_equal(lido__class_bytes(63), LIDO__TINY_MAX);
    assert_int_equal(lido__class_bytes(LIDO__CLASS_COUNT - 1), LIDO__SMALL_MAX);
}

static void entries(void **state) {
    (void)state;
    assert_int_equal(lido__tiny_entry(0), LIDO__ENTRY_NONE);
    for (size_t size = 1; size <= LIDO__TINY_MAX; size++) {
        assert_int_equal(lido__tiny_entry(size), lido__class_entry(lido__class_of(size)));
        assert_int_equal(lido__tiny_entry(size),
                         lido__class_bytes(lido__class_of(size)));    // entry and size are one number
    }
    for (unsigned i = 0; i < LIDO__CLASS_COUNT; i++) {
        assert_true(lido__entry_has_bin(lido__class_entry(i)));
        assert_int_equal(lido__class_entry(i) % LIDO__BIN_BYTES, 0);
        assert_int_equal(lido__class_entry(i) / LIDO__BIN_BYTES, LIDO__CLASS_FIRST_BIN + i);
        assert_true(lido__class_entry(i) < LIDO__ENTRY_LARGE);
    }
}

static void check_aligned(size_t size, size_t alignment) {
    size_t rounded = lido__round_up(size, alignment);
    if (rounded > LIDO__SMALL_MAX) return;
    size_t bytes = lido__aligned_class_bytes(size, alignment);
    unsigned size_class = lido__class_of(bytes);
    assert_true(bytes >= size && bytes <= LIDO__SMALL_MAX);
    assert_int_equal(lido__class_bytes(size_class), bytes);
    assert_int_equal(bytes % alignment, 0);
    for (unsigned i = lido__class_of(size); i < size_class; i++) assert_true(lido__class_bytes(i) % alignment != 0);
}

static void aligned_classes(void **state) {
    (void)state;
    for (size_t alignment = 1; alignment <= LIDO__SMALL_MAX; alignment *= 2) {
        size_t step = alignment <= 64 ? 1 : alignment / 16;
        for (size_t size = 1; size <= LIDO__SMALL_MAX; size += step) check_aligned(size, alignment);
        for (size_t edge = alignment; edge <= LIDO__SMALL_MAX; edge += alignment) {
            check_aligned(edge, alignment);
            check_aligned(edge - 1 + (edge == 1), alignment);
            if (edge < LIDO__SMALL_MAX) check_aligned(edge + 1, alignment);
        }
    }
}

static void what_malloc_promises(void **state) {
    (void)state;
    for (size_t size = 0; size <= LIDO__SMALL_MAX; size += size < 2100 ? 1 : 61) {
        char *p = lido_malloc(size);
        size_t good = lido__class_bytes(lido__class_of(size != 0 ? size : 1));
        assert_non_null(p);
        assert_int_equal((uintptr_t)p % 16, 0);
        assert_int_equal(lido_usable_size(p), good);
        assert_int_equal(lido_good_size(size), good);
        lido_free(p);
    }
    for (size_t alignment = 1; alignment <= LIDO__SMALL_MAX; alignment *= 2) {
        for (size_t size = 0; size <= LIDO__SMALL_MAX; size = size * 5 / 4 + 1) {
            void *blocks[5];
            for (size_t i = 0; i < 5; i++) {
                blocks[i] = lido_aligned_alloc(alignment, size);
                assert_non_null(blocks[i]);
                assert_int_equal((uintptr_t)blocks[i] % alignment, 0);
                assert_true(lido_usable_size(blocks[i]) >= size);
            }
            for (size_t i = 0; i < 5; i++) lido_free(blocks[i]);
        }
    }
}

// --- the table of the documentation ---------------------------------------------------------------------------------

static void print_table(FILE *out) {
    fputs("# Size classes\n\n"
          "The classes of `lido_malloc` for requests to 32 KiB: 16 to 1024 bytes in steps of 16, then eight to a "
          "doubling. A request is\n"
          "served by the least class that holds it. The worst case of a class is its smallest request: at most 15 "
          "bytes up to 1 KiB, and\n"
          "never more than an eighth (12.5 %) of a request above 128 bytes. Every block is aligned to the largest "
          "power of two that\n"
          "divides its size, which is 16 at least.\n\n"
          "A slab is 64 KiB, or from 9 KiB on as many slices of 64 KiB as 16 blocks need; what its last columns call "
          "unused is address\n"
          "space behind the last block that is never touched. This table is printed by the code (`test_unit_size-class "
          "--print`), and a\n"
          "test compares the two.\n\n"
          "| class | block bytes | requests | worst waste, bytes | worst waste | blocks a slab | slab KiB | unused "
          "bytes |\n"
          "|---:|---:|---:|---:|---:|---:|---:|---:|\n",
          out);
    size_t from = 1;
    for (unsigned i = 0; i < LIDO__CLASS_COUNT; i++) {
        size_t bytes = lido__class_bytes(i), waste = bytes - from;
        lido__slab_set set;
        lido__slabs_init(&set, bytes, 16, 0, lido__class_entry(i));
        size_t slab_bytes = (size_t)set.slab_slices * LIDO__SLICE_BYTES;
        fprintf(out, "| %u | %zu | %zu to %zu | %zu | %.1f %% | %u | %zu | %zu |\n", i, bytes, from, bytes, waste,
                100.0 * (double)waste / (double)from, set.blocks_per_slab, slab_bytes / 1024,
                slab_bytes - (size_t)set.blocks_per_slab * bytes);
        from = bytes + 1;
    }
}

static void documented_table(void **state) {
    (void)state;
    char *expected = NULL, *written = calloc(1, 65536);
    size_t length = 0;
    FILE *memory = open_memstream(&expected, &length), *file = fopen(LIDO_SOURCE_DIR "/docs/size-classes.md", "r");
    assert_true(memory != NULL && file != NULL && written != NULL);
    print_table(memory);
    fclose(memory);
    size_t got = fread(written, 1, 65535, file);
    fclose(file);
    assert_int_equal(got, length);    // if not: test_unit_size-class --print > docs/size-classes.md
    assert_string_equal(written, expected);
    free(expected);
    free(written);
}

int main(int count, char **arguments) {
    if (count == 2 && strcmp(arguments[1], "--print") == 0) {
        print_table(stdout);
        return 0;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_size),      cmocka_unit_test(classes_ascend),       cmocka_unit_test(entries),
        cmocka_unit_test(aligned_classes), cmocka_unit_test(what_malloc_promises), cmocka_unit_test(documented_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
