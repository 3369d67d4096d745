// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// The geometry of slabs for every kind of block size, and the division by multiplication that finds a block's index: for
// all sizes to 8 KiB at every offset, above at every edge of a block and at random offsets up to a segment's end.
#include "support.h"

#include "slab/slab.h"

enum {
    SLICE = LIDO__SLICE_BYTES,
    ENTRY = LIDO__POOL_FIRST_BIN * LIDO__BIN_BYTES,
    BLOCK_MAX = LIDO_POOL_BLOCK_SIZE_MAX,
};

static lido__slab_set set;
static lido__slab *slab;    // the first of a segment: room for offsets almost to 2^25
static char *memory;

static int get_slab(void **state) {
    (void)state;
    bool zero;
    slab = lido__run_new(LIDO__RUN_SLAB, LIDO__RUN_MAX_SLICES, 1, ENTRY, &zero);
    memory = slab != NULL ? lido__slab_memory(slab) : NULL;
    return slab != NULL ? 0 : -1;
}

static int put_slab(void **state) {
    (void)state;
    lido__run_free(slab);
    return 0;
}

static void check(size_t offset) {
    bool exact;
    size_t index = lido__slab_index(&set, slab, memory + offset, &exact);
    if (index == offset / set.block_bytes && exact == (offset % set.block_bytes == 0)) return;
    fail_msg("block size %u, offset %zu: index %zu exact %d", set.block_bytes, offset, index, exact);
}

// Equations of slab.h for the set as it stands.
static void check_geometry(size_t alignment, size_t least) {
    size_t slices = set.slab_slices, first = lido__round_up(LIDO__HEADER_SLICES, set.slab_alignment);
    assert_true(set.blocks_per_slab >= 1 && slices >= 1);
    assert_true((uint64_t)set.blocks_per_slab * set.block_bytes <= slices * SLICE);
    assert_true(set.blocks_per_slab <= slices * LIDO__BITMAP_BLOCKS);
    assert_true(first + slices <= LIDO__SEGMENT_SLICES);    // an empty segment has room for one
    assert_int_equal(set.slab_alignment, lido__max(alignment / SLICE, 1));
    assert_int_equal(set.block_bytes % alignment, 0);
    if (set.block_bytes <= 8192 && least == 0) assert_true(lido__slabs_are_slices(&set));
    // at least what was asked for, as far as half a segment goes
    size_t room = (size_t)(LIDO__SEGMENT_SLICES - first) * SLICE / 2;
    size_t spread = lido__max(set.block_bytes, SLICE / LIDO__BITMAP_BLOCKS);
    assert_true(set.blocks_per_slab >= lido__min(least, lido__max(room / spread, 1)));
    if (set.block_bytes >= 16 && set.block_bytes <= room) {    // an eighth lost at the slab's end at most
        assert_true((uint64_t)set.blocks_per_slab * set.block_bytes * 8 >= (uint64_t)slices * SLICE * 7 ||
                    set.block_bytes > room / 8);
    }
}

static void small_blocks_at_every_offset(void **state) {
    (void)state;
    size_t step = UNIT_SANITIZED ? 7 : 1;
    for (size_t bytes = 8; bytes <= 8192; bytes += 8) {
        lido__slabs_init(&set, bytes, 8, 0, ENTRY);
        check_geometry(8, 0);
        for (size_t offset = 0; offset < SLICE; offset += step) check(offset);
    }
}

static void check_edges(void) {
    size_t end = (size_t)LIDO__RUN_MAX_SLICES * SLICE, bytes = set.block_bytes, blocks = end / bytes;
    size_t stride = blocks > 4096 ? blocks / 4096 : 1;
    for (size_t i = 0; i < blocks; i += stride) {
        size_t start = i * bytes;
        check(start);
        check(start + 1);
        check(start + bytes / 2);
        check(start + bytes - 1);
        if (start > 0) check(start - 1);
    }
    check(end - 1);
}

static void large_blocks_at_every_edge(void **state) {
    (void)state;
    uint64_t random = unit_seed("large_blocks_at_every_edge", 7);
    for (size_t bytes = 8200; bytes <= BLOCK_MAX;
         bytes += bytes < 131072 ? 264 : 8 * (1 + unit_random(&random) % (bytes / 128))) {
        lido__slabs_init(&set, bytes, 8, 0, ENTRY);
        check_geometry(8, 0);
        check_edges();
        for (int i = 0; i < 200; i++) check(unit_random(&random) % ((size_t)LIDO__RUN_MAX_SLICES * SLICE));
    }
    lido__slabs_init(&set, BLOCK_MAX, 8, 0, ENTRY);
    check_geometry(8, 0);
    check_edges();
}

// With `growth` small blocks too get slabs of many slices.
static void small_blocks_in_large_slabs(void **state) {
    (void)state;
    static const size_t least[] = {1, 1000, 4097, 10000, 100000, 1000000, SIZE_MAX};
    for (size_t bytes = 8; bytes <= 70000; bytes += bytes < 600 ? 8 : 1496) {
        for (size_t i = 0; i < COUNT_OF(least); i++) {
            lido__slabs_init(&set, bytes, 8, least[i], ENTRY);
            check_geometry(8, least[i]);
        }
        check_edges();
    }
}

static void every_alignment(void **state) {
    (void)state;
    uint64_t random = unit_seed("every_alignment", 8);
    for (size_t alignment = 8; alignment <= LIDO_POOL_ALIGNMENT_MAX; alignment *= 2) {
        for (int i = 0; i < 60; i++) {
            size_t bytes = lido__round_up(1 + unit_random(&random) % (i < 30 ? 4 * alignment : BLOCK_MAX), alignment);
            if (bytes > BLOCK_MAX) continue;
            size_t least = i % 3 == 0 ? unit_random(&random) % 5000 : 0;
            lido__slabs_init(&set, bytes, alignment, least, ENTRY);
            check_geometry(alignment, least);
            check_edges();
        }
    }
}

// The slabs that these sets make really come, with aligned blocks inside them.
static void slabs_of_every_geometry(void **state) {
    (void)state;
    for (size_t alignment = 8; alignment <= LIDO_POOL_ALIGNMENT_MAX; alignment *= 4) {
        for (size_t factor = 1; factor * alignment <= BLOCK_MAX; factor = factor * 3 + 1) {
            lido__slabs_init(&set, factor * alignment, alignment, 0, ENTRY);
            size_t got;
            char *first = lido__slabs_take_fresh(&set, SIZE_MAX, &got);
            assert_non_null(first);
            assert_int_equal(got, set.blocks_per_slab);
            assert_int_equal((uintptr_t)first % alignment, 0);
            first[0] = first[got * set.block_bytes - 1] = 1;
            lido__slabs_release(&set);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_blocks_at_every_offset), cmocka_unit_test(large_blocks_at_every_edge),
        cmocka_unit_test(small_blocks_in_large_slabs),  cmocka_unit_test(every_alignment),
        cmocka_unit_test(slabs_of_every_geometry),
    };
    return cmocka_run_group_tests(tests, get_slab, put_slab);
}
