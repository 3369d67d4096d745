// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// Litter, over lido's pool for one thread, which hands out neighbours as long as it is clean: what stays alive is what was
// asked for, blocks are scattered, a hard limit leaves the workload its capacity, and closing takes all of it away.
#include "../unit/unit.h"

#include "worker/worker.h"

#include <lido/pool.h>
#include <stdio.h>
#include <stdlib.h>

typedef lido_pool *bench_slot;

enum { SIZE = 64, BLOCKS = 2000, MEGABYTE = 1 << 20 };

static uint64_t destroyed_alive;    // blocks alive when the last pool was destroyed

static bool slot_open(bench_slot *slot, const bench_slot_options *options) {
    *slot = lido_pool_new(&(lido_pool_options){
        .name = "litter", .block_size = options->size, .capacity = options->capacity, .threads = LIDO_LOCAL});
    return *slot != NULL;
}
static void slot_close(bench_slot slot) {
    destroyed_alive = lido_pool_stats(slot).live;
    lido_pool_destroy(slot);
}
static inline void *slot_alloc(bench_slot slot) { return lido_pool_alloc(slot); }
static inline void slot_free(bench_slot slot, void *block) { lido_pool_free(slot, block); }

#include "worker/slot.h"

static bench_slot open_slot(size_t size, size_t capacity) {
    bench_slot slot;
    bench_slot_options options = {size, capacity, BLOCKS};
    assert_true(slot_open(&slot, &options));
    return slot;
}

// Of consecutive allocations, in percent, how many stand right beside the one before.
static unsigned neighbours(bench_slot slot, char **blocks) {
    unsigned beside = 0;
    for (int i = 0; i < BLOCKS; i++) {
        blocks[i] = (char *)slot_alloc(slot);
        assert_non_null(blocks[i]);
        if (i > 0 && labs((long)(blocks[i] - blocks[i - 1])) == SIZE) beside++;
    }
    for (int i = 0; i < BLOCKS; i++) slot_free(slot, blocks[i]);
    return beside * 100 / BLOCKS;
}

static void check_litter(unsigned percent, unsigned megabytes) {
    static char *blocks[BLOCKS];
    litter_set(percent, (size_t)megabytes * MEGABYTE);
    bench_slots_bytes(0);
    bench_slot slot = open_slot(SIZE, 0);
    size_t filled = percent != 0 ? (size_t)megabytes * MEGABYTE / SIZE : 0;
    assert_int_equal(lido_pool_stats(slot).live, filled * percent / 100);
    unsigned beside = neighbours(slot, blocks);
    if (percent == 0)
        assert_in_range(beside, 95, 100);
    else
        assert_in_range(beside, 0, 5);
    slot_close(slot);
    assert_int_equal(destroyed_alive, 0);
}

static void clean_slots_give_neighbours(void **state) {
    (void)state;
    check_litter(0, 4);
}

static void littered_slots_give_none(void **state) {
    (void)state;
    check_litter(1, 4);
    check_litter(30, 4);
    check_litter(75, 8);
}

// All blocks of the litter fit beside the capacity, also while it is laid.
static void a_hard_limit_leaves_the_capacity(void **state) {
    (void)state;
    static char *blocks[BLOCKS];
    litter_set(50, MEGABYTE);
    bench_slots_bytes(0);
    bench_slot slot = open_slot(SIZE, BLOCKS);
    for (int i = 0; i < BLOCKS; i++) assert_non_null(blocks[i] = (char *)slot_alloc(slot));
    for (int i = 0; i < BLOCKS; i++) slot_free(slot, blocks[i]);
    slot_close(slot);
    assert_int_equal(destroyed_alive, 0);
}

// Each slot gets as many blocks as the others, and together they have the bytes that were asked for.
static void slots_share_by_size(void **state) {
    (void)state;
    static const size_t sizes[] = {16, 112, 384};
    bench_slot slots[COUNT_OF(sizes)];
    litter_set(50, MEGABYTE);
    bench_slots_bytes(512);
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        slots[i] = open_slot(sizes[i], 0);
        assert_int_equal(lido_pool_stats(slots[i]).live, MEGABYTE / 512 / 2);
    }
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        slot_close(slots[i]);
        assert_int_equal(destroyed_alive, 0);
    }
}

static void a_clean_opening_has_none(void **state) {
    (void)state;
    litter_set(50, MEGABYTE);
    bench_slots_bytes(0);
    bench_slot slot;
    bench_slot_options options = {SIZE, 0, 1};
    assert_true(slot_open_clean(&slot, &options));
    assert_int_equal(lido_pool_stats(slot).live, 0);
    slot_close_clean(slot);
}

// The books of two slots are not mixed up, whichever is closed first.
static void each_slot_has_its_own(void **state) {
    (void)state;
    litter_set(40, MEGABYTE);
    bench_slots_bytes(0);
    bench_slot first = open_slot(SIZE, 0), second = open_slot(2 * SIZE, 0);
    slot_close(first);
    assert_int_equal(destroyed_alive, 0);
    assert_int_equal(lido_pool_stats(second).live, MEGABYTE / (2 * SIZE) * 40 / 100);
    slot_close(second);
    assert_int_equal(destroyed_alive, 0);
}

static void the_tick_gives_back_what_it_takes(void **state) {
    (void)state;
    litter_set(50, MEGABYTE);
    destroyed_alive = 1;
    slot__tick(BENCH_TICK_OPEN);
    for (int i = 0; i < 100; i++) slot__tick(BENCH_TICK_BEAT);
    assert_int_equal(destroyed_alive, 1);
    slot__tick(BENCH_TICK_CLOSE);
    assert_int_equal(destroyed_alive, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(clean_slots_give_neighbours),       cmocka_unit_test(littered_slots_give_none),
        cmocka_unit_test(a_hard_limit_leaves_the_capacity),  cmocka_unit_test(slots_share_by_size),
        cmocka_unit_test(a_clean_opening_has_none),          cmocka_unit_test(each_slot_has_its_own),
        cmocka_unit_test(the_tick_gives_back_what_it_takes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
