// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// Slabs, case by case: taking and giving in every order, fresh runs, memory ahead of time, reset, release, visits, trim.
// Misuse is in test_slab_misuse.c, the arithmetic of indices in test_slab_index.c.
//
// Nothing else in this program uses lido: every test starts and ends without a segment.
#include "support.h"

#include "os/os.h"
#include "slab/slab.h"

#include <lido/options.h>
#include <stdlib.h>
#include <sys/mman.h>

enum { SLICE = LIDO__SLICE_BYTES, ENTRY = LIDO__POOL_FIRST_BIN * LIDO__BIN_BYTES, PAGE = 4096 };

static lido__slab_set set;

static int nothing_is_left(void **state) {
    (void)state;
    lido__segments_purge(true, 0);
    return lido__segments_totals().segments == 0 && lido_options_set("purge_delay_ms=4294967294:populate=0") == 0 ? 0
                                                                                                                  : -1;
}

static void set_init(size_t block_bytes, size_t alignment, size_t least) {
    lido__slabs_init(&set, block_bytes, alignment, least, ENTRY);
}

static void assert_state(size_t issued, size_t fresh, size_t slabs) {
    assert_true(lido__slabs_verify(&set));
    assert_int_equal(set.issued, issued);
    assert_int_equal(set.fresh, fresh);
    assert_int_equal(set.slab_count, slabs);
}

static size_t index_of(const void *block) {
    bool exact;
    size_t index = lido__slab_index(&set, lido__slab_of(block), block, &exact);
    assert_true(exact);
    return index;
}

// A chain as an array; asserts that it is well formed.
static void spread(lido__chain chain, void **blocks, size_t count) {
    assert_int_equal(chain.count, count);
    lido__link *link = chain.first, *last = NULL;
    for (size_t i = 0; i < count; i++, link = link->next) {
        assert_non_null(link);
        assert_int_equal(lido__window_entry(link), ENTRY);
        blocks[i] = last = link;
    }
    assert_null(link);
    if (count > 0) assert_ptr_equal(chain.last, last);
}

static void give(void *const *blocks, size_t count) {
    lido__link *first = NULL;
    for (size_t i = count; i > 0; i--) {
        lido__link *link = (lido__link *)blocks[i - 1];
        link->next = first;
        first = link;
    }
    lido__slabs_give(&set, first);
}

static void shuffle(void **blocks, size_t count, uint64_t *random) {
    for (size_t i = count; i > 1; i--) {
        size_t j = unit_random(random) % i;
        void *block = blocks[j];
        blocks[j] = blocks[i - 1];
        blocks[i - 1] = block;
    }
}

// --- taking and giving ----------------------------------------------------------------------------------------------

static void take_in_order(void **state) {
    (void)state;
    void *blocks[2000];
    set_init(64, 16, 0);
    assert_int_equal(set.blocks_per_slab, 1024);
    assert_state(0, 0, 0);
    spread(lido__slabs_take(&set, 1), blocks, 1);
    spread(lido__slabs_take(&set, 100), blocks + 1, 100);
    for (size_t i = 0; i < 101; i++) assert_ptr_equal(blocks[i], (char *)blocks[0] + i * 64);
    assert_state(101, 101, 1);
    // fewer rather than a second slab, and a second slab only when there is no other way
    spread(lido__slabs_take(&set, 2000), blocks + 101, 923);
    assert_state(1024, 1024, 1);
    assert_null(set.available);
    spread(lido__slabs_take(&set, 2000), blocks, 1024);
    assert_state(2048, 2048, 2);
    spread(lido__slabs_take(&set, 3), blocks, 3);
    assert_state(2051, 2051, 3);
    lido__slabs_release(&set);
}

static void take_spans_slabs(void **state) {
    (void)state;
    static void *blocks[3][1024], *again[3072];
    set_init(64, 16, 0);
    for (size_t i = 0; i < 3; i++) spread(lido__slabs_take(&set, 1024), blocks[i], 1024);
    for (size_t i = 0; i < 3; i++) give(blocks[i] + 100, 10);
    assert_state(3042, 3072, 3);
    spread(lido__slabs_take(&set, 3072), again, 30);    // from all three, and no fourth
    assert_state(3072, 3072, 3);
    assert_int_equal(lido__slabs_take(&set, 1).count, 1);
    assert_state(3073, 3073, 4);
    lido__slabs_release(&set);
}

static void nothing_to_take(void **state) {
    (void)state;
    set_init(64, 16, 0);
    lido__os_fail_from(1, UINT32_MAX);
    lido__chain chain = lido__slabs_take(&set, 5);
    assert_int_equal(chain.count, 0);
    assert_null(chain.first);
    size_t got = 77;
    assert_null(lido__slabs_take_fresh(&set, 5, &got));
    assert_int_equal(got, 0);
    assert_false(lido__slabs_prewarm(&set, 5));
    lido__os_fail_from(0, 0);
    assert_state(0, 0, 0);
    lido__slabs_give(&set, NULL);
    assert_true(lido__slabs_prewarm(&set, 0));
    assert_state(0, 0, 0);
    assert_int_equal(lido__slabs_visit(&set, NULL, NULL), 0);
    assert_int_equal(lido__slabs_trim(&set, true), 0);
    lido__slabs_release(&set);
}

// Whatever the order of the frees, blocks of a slab go out by ascending address.
static void ascending_after_random_frees(void **state) {
    (void)state;
    void *blocks[1365], *again[1365];
    uint64_t random = unit_seed("ascending_after_random_frees", 5);
    set_init(48, 16, 0);
    assert_int_equal(set.blocks_per_slab, 1365);
    spread(lido__slabs_take(&set, 1365), blocks, 1365);
    for (int round = 0; round < 50; round++) {
        size_t count = 1 + unit_random(&random) % 1364;    // not all: an empty slab starts again
        shuffle(blocks, 1365, &random);
        for (size_t i = 0; i < count;) {
            size_t some = lido__min(1 + unit_random(&random) % 64, count - i);
            give(blocks + i, some);
            i += some;
        }
        assert_state(1365 - count, 1365, 1);
        size_t half = count / 2;
        spread(lido__slabs_take(&set, (uint32_t)half), again, half);
        spread(lido__slabs_take(&set, (uint32_t)(count - half)), again + half, count - half);
        for (size_t i = 1; i < count; i++) assert_true(again[i] > again[i - 1]);
        memcpy(blocks, again, count * sizeof *again);
    }
    lido__slabs_release(&set);
}

static void an_empty_slab_starts_again(void **state) {
    (void)state;
    void *blocks[200], *again[200];
    set_init(64, 16, 0);
    spread(lido__slabs_take(&set, 200), blocks, 200);
    give(blocks, 199);
    assert_state(1, 200, 1);
    give(blocks + 199, 1);
    assert_state(0, 0, 1);    // kept, and its blocks count as never handed out
    spread(lido__slabs_take(&set, 3), again, 3);
    for (size_t i = 0; i < 3; i++) assert_ptr_equal(again[i], blocks[i]);
    lido__slabs_release(&set);
}

static void empty_slabs_go_back(void **state) {
    (void)state;
    static void *blocks[4][1024];
    set_init(64, 16, 0);
    for (size_t i = 0; i < 4; i++) spread(lido__slabs_take(&set, 1024), blocks[i], 1024);
    give(blocks[1], 1024);
    assert_state(3072, 3072, 4);    // the only one to take from stays
    give(blocks[2], 1024);
    assert_state(2048, 2048, 3);
    assert_int_equal(lido__segments_totals().used_bytes, 3 * SLICE);
    give(blocks[0], 1024);
    give(blocks[3], 1024);
    assert_state(0, 0, 1);
    assert_int_equal(lido__segments_totals().used_bytes, SLICE);
    lido__slabs_release(&set);
    assert_int_equal(lido__segments_totals().used_bytes, 0);
}

// A slab that was full comes first: filling nearly full slabs lets the others run empty.
static void nearly_full_slabs_first(void **state) {
    (void)state;
    static void *blocks[2][1024];
    void *block;
    set_init(64, 16, 0);
    for (size_t i = 0; i < 2; i++) spread(lido__slabs_take(&set, 1024), blocks[i], 1024);
    give(blocks[0] + 1, 1000);
    give(blocks[1] + 7, 1);
    spread(lido__slabs_take(&set, 1), &block, 1);
    assert_ptr_equal(block, blocks[1][7]);
    spread(lido__slabs_take(&set, 1), &block, 1);
    assert_ptr_equal(block, blocks[0][1]);
    lido__slabs_release(&set);
}

static void many_slices(void **state) {
    (void)state;
    enum { BLOCK = 20480 };
    void *blocks[16];
    set_init(BLOCK, 4096, 0);
    assert_in_range(set.blocks_per_slab, 16, 16);
    assert_int_equal(set.slab_slices, 5);
    spread(lido__slabs_take(&set, 16), blocks, 16);
    for (size_t i = 0; i < 16; i++) {
        assert_int_equal((uintptr_t)blocks[i] % 4096, 0);
        assert_int_equal(index_of(blocks[i]), i);
        memset(blocks[i], (int)i, BLOCK);
    }
    give(blocks, 15);
    for (size_t i = 0; i < BLOCK; i++) assert_int_equal(((unsigned char *)blocks[15])[i], 15);
    assert_state(1, 16, 1);
    give(blocks + 15, 1);
    lido__slabs_release(&set);
}

// --- runs of fresh blocks -------------------------------------------------------------------------------------------

static void fresh_side_by_side(void **state) {
    (void)state;
    size_t got;
    void *taken[3];
    set_init(80, 16, 0);
    char *first = lido__slabs_take_fresh(&set, 10, &got);
    assert_int_equal(got, 10);
    assert_int_equal(index_of(first), 0);
    assert_state(10, 10, 1);
    assert_ptr_equal(lido__slabs_take_fresh(&set, 5, &got), first + 10 * 80);
    lido__slabs_give_range(&set, first + 3 * 80, 4);    // now the slab has free blocks: they go first
    assert_state(11, 15, 1);
    assert_null(lido__slabs_take_fresh(&set, 5, &got));
    assert_int_equal(got, 0);
    spread(lido__slabs_take(&set, 3), taken, 3);
    for (size_t i = 0; i < 3; i++) assert_ptr_equal(taken[i], first + (3 + i) * 80);
    assert_null(lido__slabs_take_fresh(&set, 5, &got));
    spread(lido__slabs_take(&set, 1), taken, 1);
    assert_ptr_equal(lido__slabs_take_fresh(&set, SIZE_MAX, &got), first + 15 * 80);
    assert_int_equal(got, set.blocks_per_slab - 15);
    assert_state(set.blocks_per_slab, set.blocks_per_slab, 1);
    assert_non_null(lido__slabs_take_fresh(&set, SIZE_MAX, &got));    // another slab
    assert_int_equal(got, set.blocks_per_slab);
    assert_state(2 * set.blocks_per_slab, 2 * set.blocks_per_slab, 2);
    lido__slabs_give_range(&set, first, set.blocks_per_slab);
    assert_state(set.blocks_per_slab, set.blocks_per_slab, 2);
    lido__slabs_release(&set);
}

// --- memory ahead of time -------------------------------------------------------------------------------------------

static size_t present_pages(const void *start, size_t bytes) {
    unsigned char present[64];
    size_t count = 0;
    assert_true(bytes / PAGE <= sizeof present && mincore((void *)(uintptr_t)start, bytes, present) == 0);
    for (size_t i = 0; i < bytes / PAGE; i++) count += present[i] & 1;
    return count;
}

static void prewarm_makes_present(void **state) {
    (void)state;
    static void *blocks[4096];
    set_init(64, 16, 0);
    assert_true(lido__slabs_prewarm(&set, 3000));
    assert_state(0, 0, 3);
    spread(lido__slabs_take(&set, 3000), blocks, 3000);    // taking spans slabs that are there
    for (size_t i = 0; i < 3000; i++)
        assert_int_equal(present_pages((void *)lido__round_down((uintptr_t)blocks[i], PAGE), PAGE), 1);
    assert_state(3000, 3000, 3);
    give(blocks, 3000);
    assert_state(0, 0, 3);    // what was made ready stays
    assert_true(lido__slabs_prewarm(&set, 3072));
    assert_state(0, 0, 3);
    lido__slabs_trim(&set, true);    // trim takes it back
    assert_state(0, 0, 0);
    lido__slabs_release(&set);
}

static void prewarm_refused(void **state) {
    (void)state;
    set_init(64, 16, 0);
    assert_true(lido__slabs_prewarm(&set, 10));
    void *block;
    spread(lido__slabs_take(&set, 1), &block, 1);
    lido__os_fail_from(1, UINT32_MAX);
    assert_false(lido__slabs_prewarm(&set, 1000000));
    lido__os_fail_from(0, 0);
    assert_true(lido__slabs_verify(&set));
    give(&block, 1);
    lido__slabs_release(&set);
}

// From the ninth slab on a growing set brings a whole slab in with one call; with the option off it does not.
static void growth_is_populated(void **state) {
    (void)state;
    for (int on = 0; on <= 1; on++) {
        lido_options_set(on ? "populate=1" : "populate=0");
        set_init(64, 16, 0);
        for (size_t i = 0; i < 12; i++) {
            lido__chain chain = lido__slabs_take(&set, 1);
            assert_int_equal(chain.count, 1);
            size_t present = present_pages(lido__slab_memory(lido__slab_of(chain.first)), SLICE);
            assert_int_equal(present, on && i >= 8 ? SLICE / PAGE : 1);
            lido__slabs_take(&set, 1023);
        }
        lido__slabs_release(&set);
        lido__segments_purge(true, 0);
    }
}

// --- whole sets -----------------------------------------------------------------------------------------------------

static void assert_bitmaps_zero(const lido__segment *segment) {
    const uint64_t *words = segment->bitmaps[0];
    for (size_t i = 0; i < (size_t)LIDO__SEGMENT_SLICES * LIDO__BITMAP_WORDS; i++) assert_int_equal(words[i], 0);
}

static void reset_keeps_memory(void **state) {
    (void)state;
    static void *blocks[3000];
    set_init(64, 16, 0);
    spread(lido__slabs_take(&set, 1024), blocks, 1024);
    spread(lido__slabs_take(&set, 1024), blocks + 1024, 1024);
    spread(lido__slabs_take(&set, 500), blocks + 2048, 500);
    give(blocks + 100, 50);
    lido__slabs_reset(&set);
    assert_state(0, 0, 3);
    assert_int_equal(set.issued_most, 0);
    assert_null(set.full);
    lido__segment *segment = lido__segment_of(blocks[0]);
    assert_bitmaps_zero(segment);
    spread(lido__slabs_take(&set, 3000), blocks, 3000);
    assert_state(3000, 3000, 3);
    give(blocks + 7, 70);
    lido__slabs_release(&set);
    assert_state(0, 0, 0);
    assert_bitmaps_zero(segment);    // also of slices in no slab
    assert_int_equal(lido__segments_totals().used_bytes, 0);
}

static bool note_visit(void *block, void *context) {
    void ***next = (void ***)context;
    *(*next)++ = block;
    return true;
}

static bool stop_at_third(void *block, void *context) {
    (void)block;
    return ++*(int *)context < 3;
}

static bool give_every_other(void *block, void *context) {
    int *number = (int *)context;
    if ((*number)++ % 2 == 0) give(&block, 1);
    return true;
}

static int by_address(const void *a, const void *b) {
    uintptr_t x = *(const uintptr_t *)a, y = *(const uintptr_t *)b;
    return (x > y) - (x < y);
}

static void visits(void **state) {
    (void)state;
    static void *blocks[2500], *seen[2500], **next = seen;
    uint64_t random = unit_seed("visits", 6);
    set_init(64, 16, 0);
    for (size_t i = 0; i < 2500; i += 500) {
        lido__chain chain = lido__slabs_take(&set, 500);
        lido__chain rest = lido__slabs_take(&set, 500 - chain.count);
        if (chain.count > 0) spread(chain, blocks + i, chain.count);
        if (rest.count > 0) spread(rest, blocks + i + chain.count, rest.count);
    }
    shuffle(blocks, 2500, &random);
    give(blocks, 700);
    assert_int_equal(lido__slabs_visit(&set, note_visit, &next), 1800);
    assert_int_equal(next - seen, 1800);
    for (size_t i = 1; i < 1800; i++) {
        bool same_slab = lido__slab_of(seen[i]) == lido__slab_of(seen[i - 1]);
        assert_true(!same_slab || seen[i] > seen[i - 1]);
    }
    qsort(seen, 1800, sizeof *seen, by_address);
    qsort(blocks + 700, 1800, sizeof *blocks, by_address);
    assert_memory_equal(seen, blocks + 700, 1800 * sizeof *seen);
    int count = 0;
    assert_int_equal(lido__slabs_visit(&set, stop_at_third, &count), 3);
    count = 0;
    assert_int_equal(lido__slabs_visit(&set, give_every_other, &count), 1800);    // the visitor gives back
    assert_true(lido__slabs_verify(&set));
    assert_int_equal(set.issued, 900);
    next = seen;
    assert_int_equal(lido__slabs_visit(&set, note_visit, &next), 900);
    lido__slabs_release(&set);
}

static bool give_it(void *block, void *context) {
    (void)context;
    give(&block, 1);
    return true;
}

static void visitor_gives_all(void **state) {
    (void)state;
    static void *blocks[1024];
    set_init(64, 16, 0);
    for (int i = 0; i < 3; i++) spread(lido__slabs_take(&set, 1024), blocks, 1024);
    assert_int_equal(lido__slabs_visit(&set, give_it, NULL), 3072);
    assert_true(lido__slabs_verify(&set));
    assert_int_equal(set.issued, 0);
    assert_int_equal(set.fresh, 0);    // empty slabs begin anew
    assert_int_equal(lido__slabs_visit(&set, give_it, NULL), 0);
    lido__slabs_release(&set);
}

static void trim_gives_pages_back(void **state) {
    (void)state;
    static void *blocks[3072];
    set_init(64, 16, 0);
    for (size_t i = 0; i < 3; i++) spread(lido__slabs_take(&set, 1024), blocks + i * 1024, 1024);
    for (size_t i = 0; i < 3072; i++) memset(blocks[i], 0x5A, 64);
    give(blocks, 1024);                // all of the first slab: it goes
    give(blocks + 1024, 64);           // the first page of the second
    give(blocks + 1024 + 100, 60);     // no whole page
    give(blocks + 2048 + 512, 512);    // the upper half of the third
    assert_int_equal(lido__slabs_trim(&set, true), PAGE + SLICE / 2);
    assert_state(2048 - 64 - 60 - 512, 2048, 2);
    assert_int_equal(present_pages(blocks[1024], SLICE), 15);
    assert_int_equal(present_pages(blocks[2048], SLICE), 8);
    for (size_t i = 1024; i < 3072; i++) {
        bool is_free = i < 1088 || (i >= 1124 && i < 1184) || i >= 2560;
        for (size_t b = 0; !is_free && b < 64; b++) assert_int_equal(((char *)blocks[i])[b], 0x5A);
    }
    spread(lido__slabs_take(&set, 3072), blocks, 64 + 60 + 512);
    lido__slabs_release(&set);
}

static void trim_never_issued_pages(void **state) {
    (void)state;
    void *blocks[1];
    lido_options_set("populate=0");
    set_init(4096, 4096, 0);
    assert_true(lido__slabs_prewarm(&set, 16));
    spread(lido__slabs_take(&set, 1), blocks, 1);
    assert_int_equal(present_pages(blocks[0], SLICE), 16);
    assert_int_equal(lido__slabs_trim(&set, true), 15 * PAGE);
    assert_int_equal(present_pages(blocks[0], SLICE), 1);
    give(blocks, 1);
    lido__slabs_release(&set);
}

int main(void) {
#define CASE(name) cmocka_unit_test_setup_teardown(name, nothing_is_left, nothing_is_left)
    const struct CMUnitTest tests[] = {
        CASE(take_in_order),
        CASE(take_spans_slabs),
        CASE(nothing_to_take),
        CASE(ascending_after_random_frees),
        CASE(an_empty_slab_starts_again),
        CASE(empty_slabs_go_back),
        CASE(nearly_full_slabs_first),
        CASE(many_slices),
        CASE(fresh_side_by_side),
        CASE(prewarm_makes_present),
        CASE(prewarm_refused),
        CASE(growth_is_populated),
        CASE(reset_keeps_memory),
        CASE(visits),
        CASE(visitor_gives_all),
        CASE(trim_gives_pages_back),
        CASE(trim_never_issued_pages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
