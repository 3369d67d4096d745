// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// What slabs say of blocks that cannot come back: the exact line, that the offending block is left out, that the others
// are taken, and that the process ends there unless on_misuse=continue.
#include "support.h"

#include "slab/slab.h"

#include <lido/options.h>
#include <stdio.h>
#include <unistd.h>

enum { ENTRY = LIDO__POOL_FIRST_BIN * LIDO__BIN_BYTES, BLOCK = 48 };

static lido__slab_set set, other;

static int fresh_sets(void **state) {
    (void)state;
    lido__slabs_init(&set, BLOCK, 16, 0, ENTRY);
    lido__slabs_init(&other, 64, 16, 0, ENTRY + LIDO__BIN_BYTES);
    return lido_options_set("on_misuse=continue:purge_delay_ms=0");
}

static int nothing_is_left(void **state) {
    (void)state;
    assert_true(lido__slabs_verify(&set) && lido__slabs_verify(&other));
    lido__slabs_release(&set);
    lido__slabs_release(&other);
    lido__segments_purge(true, 0);
    return lido__segments_totals().segments == 0 ? 0 : -1;
}

static void *take_one(lido__slab_set *from) {
    lido__chain chain = lido__slabs_take(from, 1);
    assert_int_equal(chain.count, 1);
    return chain.first;
}

static lido__link *chain_of(void *const *blocks, size_t count) {
    lido__link *first = NULL;
    for (size_t i = count; i > 0; i--) {
        ((lido__link *)blocks[i - 1])->next = first;
        first = (lido__link *)blocks[i - 1];
    }
    return first;
}

// Gives a chain and asserts what stderr says.
static void give_and_expect(void *const *blocks, size_t count, const char *expected) {
    unit_catch_begin();
    lido__slabs_give(&set, chain_of(blocks, count));
    assert_string_equal(unit_catch_end(), expected);
    assert_true(lido__slabs_verify(&set));
}

static const char *line(const char *format, ...) {
    static char text[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return text;
}

static void double_free(void **state) {
    (void)state;
    void *keep = take_one(&set), *block = take_one(&set);
    give_and_expect(&block, 1, "");
    give_and_expect(&block, 1, line("lido: free(%p): double free of a block of 48 bytes\n", block));
    assert_int_equal(set.issued, 1);
    assert_ptr_equal(take_one(&set), block);    // once, not twice
    assert_ptr_not_equal(take_one(&set), block);
    (void)keep;
}

static void never_handed_out(void **state) {
    (void)state;
    char *block = take_one(&set);
    void *next = block + BLOCK, *last = block + (size_t)(set.blocks_per_slab - 1) * BLOCK;
    give_and_expect(&next, 1, line("lido: free(%p): double free of a block of 48 bytes\n", next));
    give_and_expect(&last, 1, line("lido: free(%p): double free of a block of 48 bytes\n", last));
    assert_int_equal(set.issued, 1);
}

static void slab_started_again(void **state) {
    (void)state;
    void *block = take_one(&set);
    give_and_expect(&block, 1, "");    // the slab is empty and begins anew
    give_and_expect(&block, 1, line("lido: free(%p): double free of a block of 48 bytes\n", block));
    assert_int_equal(set.issued, 0);
}

static void inside_a_block(void **state) {
    (void)state;
    static const size_t offsets[] = {8, 16, 40};
    char *first = take_one(&set), *second = take_one(&set);
    for (size_t i = 0; i < COUNT_OF(offsets); i++) {
        void *inside = second + offsets[i];
        give_and_expect(&inside, 1,
                        line("lido: free(%p): inside a block, %zu bytes after its start at %p\n", inside, offsets[i],
                             (void *)second));
    }
    assert_int_equal(set.issued, 2);
    (void)first;
}

static void behind_the_last_block(void **state) {
    (void)state;
    char *first = take_one(&set);
    void *behind = first + (size_t)set.blocks_per_slab * BLOCK;    // 16 bytes of the slice are left over
    assert_ptr_equal(lido__slab_of(behind), lido__slab_of(first));
    unit_catch_begin();
    lido__slabs_give(&set, chain_of(&behind, 1));
    const char *text = unit_catch_end();
    assert_ptr_equal(strstr(text, line("lido: free(%p): ", behind)), text);
    assert_int_equal(set.issued, 1);
    assert_true(lido__slabs_verify(&set));
}

static void block_of_another_set(void **state) {
    (void)state;
    void *mine = take_one(&set), *theirs = take_one(&other);
    give_and_expect(&theirs, 1,
                    line("lido: free(%p): block of another pool, or freed twice and its slab is gone\n", theirs));
    assert_int_equal(set.issued, 1);
    assert_int_equal(other.issued, 1);
    give_and_expect(&mine, 1, "");
}

// Its slab went back to the segments meanwhile, and may serve as something else.
static void slab_is_gone(void **state) {
    (void)state;
    void *blocks[2 * 1365];
    size_t count = 0;
    for (int i = 0; i < 2; i++) {
        lido__chain chain = lido__slabs_take(&set, 1365);
        for (lido__link *link = chain.first; link != NULL; link = link->next) blocks[count++] = link;
    }
    assert_int_equal(count, 2 * 1365);
    void *gone = blocks[1365];
    lido__slabs_give(&set, chain_of(blocks, 1));
    lido__slabs_give(&set, chain_of(blocks + 1365, 1365));
    assert_int_equal(set.slab_count, 1);
    void *theirs = take_one(&other);
    assert_ptr_equal(lido__slab_of(theirs), lido__slab_of(gone));
    unit_catch_begin();
    lido__slabs_give(&set, chain_of(&gone, 1));
    assert_string_equal(unit_catch_end(),
                        line("lido: free(%p): block of another pool, or freed twice and its slab is gone\n", gone));
    bool zero;
    lido__slabs_release(&other);
    lido__slab *large = lido__run_new(LIDO__RUN_LARGE, 1, 1, LIDO__ENTRY_LARGE, &zero);
    assert_ptr_equal(large, lido__slab_of(gone));
    large->large_heap = NULL;
    unit_catch_begin();
    lido__slabs_give(&set, chain_of(&gone, 1));
    const char *text = unit_catch_end();
    assert_ptr_equal(strstr(text, line("lido: free(%p): ", gone)), text);
    lido__run_free(large);
}

static void the_rest_of_the_chain_is_taken(void **state) {
    (void)state;
    void *b[8];
    for (size_t i = 0; i < 7; i++) b[i] = take_one(&set);
    void *theirs = take_one(&other);
    void *chain[] = {b[0], (char *)b[1] + 16, b[2], theirs, b[3]};
    char expected[512];
    snprintf(expected, sizeof expected,
             "lido: free(%p): inside a block, 16 bytes after its start at %p\n"
             "lido: free(%p): block of another pool, or freed twice and its slab is gone\n",
             chain[1], b[1], theirs);
    give_and_expect(chain, COUNT_OF(chain), expected);
    assert_int_equal(set.issued, 4);
    assert_ptr_equal(take_one(&set), b[0]);
    assert_ptr_equal(take_one(&set), b[2]);
    assert_ptr_equal(take_one(&set), b[3]);
}

// A block that was pushed on one free list twice makes it a ring: one report, and no endless walk.
static void give_a_ring(void *argument) {
    (void)argument;
    alarm(20);
    lido__link *links[100];
    for (size_t i = 0; i < 100; i++) links[i] = take_one(&set);
    for (size_t i = 0; i < 99; i++) links[i]->next = links[i + 1];
    links[99]->next = links[50];
    lido__slabs_give(&set, links[0]);
    UNIT_CHECK(lido__slabs_verify(&set));
    UNIT_CHECK(set.issued == 0);
    fprintf(stderr, "%p\n", (void *)links[50]);
}

static void a_ring_ends(void **state) {
    (void)state;
    unit_child child = unit_fork(give_a_ring, NULL);
    unit_assert_done(&child);
    char *first = strstr(child.text, "lido: free(");
    assert_ptr_equal(first, child.text);
    assert_null(strstr(first + 1, "lido: free("));
    char *end = strchr(child.text, '\n');
    char block[32];
    snprintf(block, sizeof block, "%s", end + 1);
    block[strcspn(block, "\n")] = '\0';
    *end = '\0';
    assert_string_equal(child.text, line("lido: free(%s): double free of a block of 48 bytes", block));
}

static void range_with_a_free_block(void **state) {
    (void)state;
    size_t got;
    char *first = lido__slabs_take_fresh(&set, 10, &got);
    void *fourth = first + 3 * BLOCK;
    give_and_expect(&fourth, 1, "");
    unit_catch_begin();
    lido__slabs_give_range(&set, first + BLOCK, 5);
    assert_string_equal(unit_catch_end(), line("lido: free(%p): double free of a block of 48 bytes\n", fourth));
    assert_int_equal(set.issued, 5);
}

static void free_twice(void *argument) {
    void *block = argument;
    lido__slabs_give(&set, chain_of(&block, 1));
    lido__slabs_give(&set, chain_of(&block, 1));
}

static void misuse_aborts(void **state) {
    (void)state;
    void *keep = take_one(&set), *block = take_one(&set);
    lido_options_set("on_misuse=abort");
    unit_child child = unit_fork(free_twice, block);
    unit_assert_aborted(&child);
    assert_string_equal(child.text, line("lido: free(%p): double free of a block of 48 bytes\n", block));
    (void)keep;
}

int main(void) {
#define CASE(name) cmocka_unit_test_setup_teardown(name, fresh_sets, nothing_is_left)
    const struct CMUnitTest tests[] = {
        CASE(double_free),           CASE(never_handed_out),
        CASE(slab_started_again),    CASE(inside_a_block),
        CASE(behind_the_last_block), CASE(block_of_another_set),
        CASE(slab_is_gone),          CASE(the_rest_of_the_chain_is_taken),
        CASE(a_ring_ends),           CASE(range_with_a_free_block),
        CASE(misuse_aborts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
