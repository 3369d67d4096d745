// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// The histogram of the look: its error over all times that it is for, that merging loses nothing, and that percentiles
// rise and are those of the values.
#include "../unit/unit.h"

#include "worker/histogram.h"

#include <stdlib.h>

static const uint64_t longest = (UINT64_C(1) << HISTOGRAM_TICK_BITS) - 1;

static histogram one, two, both;

// The bucket's name is at least the value and at most 1 % above it.
static void check_value(uint64_t ticks) {
    size_t bucket = histogram_bucket(ticks);
    assert_in_range(bucket, 0, HISTOGRAM_BUCKETS - 1);
    uint64_t name = histogram_highest(bucket);
    if (name < ticks || (name - ticks) * 100 > ticks)
        fail_msg("%llu ticks are counted as %llu", (unsigned long long)ticks, (unsigned long long)name);
}

static void error_is_at_most_1_percent(void **state) {
    (void)state;
    assert_true(longest > UINT64_C(100) * 1000000000 * 5);    // 100 s of a clock of 5 GHz
    for (uint64_t ticks = 0; ticks < 100000; ticks++) check_value(ticks);
    for (unsigned bit = 1; bit < HISTOGRAM_TICK_BITS; bit++)
        for (uint64_t off = 0; off <= 4; off++) check_value((UINT64_C(1) << bit) + off - 2);
    uint64_t dice = 1;
    for (int i = 0; i < 1000000; i++) check_value(unit_random(&dice) % longest >> unit_random(&dice) % 39);
    check_value(longest);
}

static void buckets_leave_no_gap(void **state) {
    (void)state;
    for (size_t bucket = 0; bucket + 1 < HISTOGRAM_BUCKETS; bucket++) {
        uint64_t last = histogram_highest(bucket);
        assert_int_equal(histogram_bucket(last), bucket);
        assert_int_equal(histogram_bucket(last + 1), bucket + 1);
    }
    assert_true(histogram_highest(HISTOGRAM_BUCKETS - 1) == longest);
}

static void longer_times_count_as_the_longest(void **state) {
    (void)state;
    assert_int_equal(histogram_bucket(longest + 1), HISTOGRAM_BUCKETS - 1);
    assert_int_equal(histogram_bucket(UINT64_MAX), HISTOGRAM_BUCKETS - 1);
}

static void merging_is_counting_in_one(void **state) {
    (void)state;
    uint64_t dice = 2;
    for (int i = 0; i < 100000; i++) {
        uint64_t ticks = unit_random(&dice) >> (24 + unit_random(&dice) % 40);
        histogram_add(unit_random(&dice) % 3 == 0 ? &one : &two, ticks);
        histogram_add(&both, ticks);
    }
    assert_true(one.total > 0 && two.total > one.total);
    histogram_merge(&one, &two);
    assert_memory_equal(&one, &both, sizeof one);
}

static int ascending(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static void percentiles_are_those_of_the_values(void **state) {
    (void)state;
    enum { COUNT = 20000 };
    static uint64_t values[COUNT];
    static histogram all;
    uint64_t dice = 3, before = 0;
    for (int i = 0; i < COUNT; i++) {
        values[i] = 20 + (unit_random(&dice) >> (30 + unit_random(&dice) % 34));
        histogram_add(&all, values[i]);
    }
    qsort(values, COUNT, sizeof values[0], ascending);
    for (int i = 1; i <= 10000; i++) {
        double share = i / 10000.0;
        uint64_t is = histogram_at(&all, share), exact = values[i * (COUNT / 10000) - 1];
        assert_true(is >= before);
        before = is;
        if (is < exact || (is - exact) * 100 > exact)
            fail_msg("share %.4f: %llu instead of %llu", share, (unsigned long long)is, (unsigned long long)exact);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(error_is_at_most_1_percent),          cmocka_unit_test(buckets_leave_no_gap),
        cmocka_unit_test(longer_times_count_as_the_longest),   cmocka_unit_test(merging_is_counting_in_one),
        cmocka_unit_test(percentiles_are_those_of_the_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
