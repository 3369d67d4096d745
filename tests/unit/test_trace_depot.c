// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// The depot of stacks: one id a stack, also from many threads at once; what is kept stays; no memory gives id 0.
// With the word "time" it prints what a stack costs instead, beside the C library's backtrace().
#include "support.h"

#include "base/atomics.h"
#include "base/options.h"
#include "os/os.h"
#include "trace/stack.h"
#include "trace/unwind.h"

#include <execinfo.h>
#include <stdio.h>

enum { THREADS = 4, STACKS = 3000, DEPTH = 12 };

// Stack number n: n, then addresses that all of them share, so that only one tells them apart.
static size_t stack_number(unsigned n, void **pcs) {
    size_t count = 1 + n % DEPTH;
    for (size_t i = 0; i < count; i++) pcs[i] = (void *)(uintptr_t)(0x400000 + 16 * i);
    pcs[n % count] = (void *)(uintptr_t)(0x10000000 + n);
    return count;
}

static uint32_t ids[THREADS][STACKS];

static void keep_all(unsigned index, void *argument) {
    (void)argument;
    for (unsigned i = 0; i < STACKS; i++) {
        void *pcs[DEPTH];
        unsigned n = index % 2 == 0 ? i : STACKS - 1 - i;
        size_t count = stack_number(n, pcs);
        ids[index][n] = lido__stack_keep(pcs, count);
    }
}

static void one_id_a_stack(void **state) {
    (void)state;
    unit_threads(THREADS, keep_all, NULL);
    for (unsigned n = 0; n < STACKS; n++) {
        void *pcs[DEPTH], *const *kept;
        size_t count = stack_number(n, pcs);
        assert_int_not_equal(ids[0][n], 0);
        for (unsigned t = 1; t < THREADS; t++) assert_int_equal(ids[t][n], ids[0][n]);
        assert_int_equal(lido__stack_at(ids[0][n], &kept), count);
        assert_memory_equal(kept, pcs, count * sizeof(void *));
        if (n > 0) assert_int_not_equal(ids[0][n], ids[0][n - 1]);
    }
}

static LIDO__NOINLINE uint32_t from_below(unsigned skip) {
    uint32_t id = lido__stack_here(skip);
    __asm__ volatile("" ::: "memory");
    return id;
}

static void of_the_caller(void **state) {
    (void)state;
    void *const *whole, *const *rest;
    uint32_t seen[2];
    for (volatile unsigned i = 0; i < 2; i++) seen[i] = from_below(0);    // from one place: volatile, not unrolled
    assert_true(seen[0] != 0 && seen[0] == seen[1]);
    assert_true(lido__stack_at(seen[0], &whole) > 2);
    assert_true((uintptr_t)whole[0] - (uintptr_t)&from_below < 256);
    assert_true(lido__stack_at(from_below(1), &rest) > 1);
    assert_true((uintptr_t)rest[0] - (uintptr_t)&of_the_caller < 4096);
    assert_ptr_equal(rest[1], whole[2]);
}

static LIDO__NOINLINE uint32_t descend(unsigned depth) {
    uint32_t id = depth > 0 ? descend(depth - 1) : lido__stack_here(0);
    __asm__ volatile("" ::: "memory");
    return id;
}

static void depth(void **state) {
    (void)state;
    static const unsigned pairs[][2] = {{4, 4}, {1, 1}, {24, 24}, {1000, 24}, {16, 16}};
    void *const *pcs;
    for (unsigned i = 0; i < COUNT_OF(pairs); i++) {
        LIDO__ATOMIC_STORE(&lido__options.check_frames, pairs[i][0], relaxed);
        assert_int_equal(lido__stack_at(descend(50), &pcs), pairs[i][1]);
    }
}

static void no_stack(void **state) {
    (void)state;
    void *const *pcs;
    void *one[1] = {&pcs};
    uint32_t id = lido__stack_keep(one, 1);
    static const uint32_t wrong[] = {0, UINT32_MAX, UINT32_MAX / 2, 1u << 26, (1u << 26) - 1};
    assert_int_equal(lido__stack_keep(one, 0), 0);
    assert_int_equal(lido__stack_at(id, &pcs), 1);
    assert_int_equal(lido__stack_at(id + 1, &pcs), 0);    // within a record, or not handed out
    for (unsigned i = 0; i < COUNT_OF(wrong); i++) {
        assert_int_equal(lido__stack_at(wrong[i], &pcs), 0);
        assert_null(pcs);
    }
}

static void keep_in_child(void *argument) {
    void *pcs[DEPTH], *const *kept;
    size_t count = stack_number(1, pcs);
    UNIT_CHECK(lido__stack_keep(pcs, count) == *(const uint32_t *)argument);
    count = stack_number(STACKS + 1, pcs);
    uint32_t fresh = lido__stack_keep(pcs, count);
    UNIT_CHECK(fresh != 0 && lido__stack_at(fresh, &kept) == count && memcmp(kept, pcs, count * sizeof *pcs) == 0);
}

static void in_a_child(void **state) {
    (void)state;
    unit_child child = unit_fork(keep_in_child, &ids[0][1]);
    unit_assert_done(&child);
}

// The last: from here on every chunk is refused, until the one that is open is full; then again not.
static void no_memory(void **state) {
    (void)state;
    void *pcs[DEPTH];
    uint32_t id = 1;
    unsigned n = STACKS;
    lido__os_fail_from(1, UINT32_MAX);
    while (id != 0 && n < 1000000) id = lido__stack_keep(pcs, stack_number(++n, pcs));
    assert_int_equal(id, 0);
    size_t known = stack_number(5, pcs);
    assert_int_equal(lido__stack_keep(pcs, known), ids[0][5]);
    lido__os_fail_from(0, 0);
    size_t count = stack_number(n, pcs);
    id = lido__stack_keep(pcs, count);
    assert_int_not_equal(id, 0);
    assert_int_equal(lido__stack_keep(pcs, count), id);
}

// --- what it costs --------------------------------------------------------------------------------------------------

enum { FRAMES = 10, ROUNDS = 200000 };
static void *seen[FRAMES];
static void by_unwind(void) { lido__unwind(seen, FRAMES, 0); }
static void by_depot(void) { lido__stack_here(0); }
static void by_backtrace(void) { backtrace(seen, FRAMES); }

static LIDO__NOINLINE void measure(unsigned depth, const char *name, void (*call)(void)) {
    if (depth > 0) {
        measure(depth - 1, name, call);
    } else {
        double best = 1e9;
        for (unsigned repeat = 0; repeat < 5; repeat++) {
            uint64_t start = lido__os_time_ns();
            for (unsigned i = 0; i < ROUNDS; i++) call();
            double ns = (double)(lido__os_time_ns() - start) / ROUNDS;
            if (ns < best) best = ns;
        }
        printf("%-20s %8.1f ns, %5.1f a frame\n", name, best, best / FRAMES);
    }
    __asm__ volatile("" ::: "memory");
}

static int print_times(void) {
    LIDO__ATOMIC_STORE(&lido__options.check_frames, (uint32_t)FRAMES, relaxed);
    measure(20, "lido__unwind", by_unwind);
    measure(20, "lido__stack_here", by_depot);
    measure(20, "backtrace", by_backtrace);
    return 0;
}

int main(int argc, char **argv) {
    if (argc > 1 && strcmp(argv[1], "time") == 0) return print_times();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_id_a_stack), cmocka_unit_test(of_the_caller), cmocka_unit_test(depth),
        cmocka_unit_test(no_stack),       cmocka_unit_test(in_a_child),    cmocka_unit_test(no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
