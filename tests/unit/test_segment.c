// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// Segments, case by case: runs of every length and alignment and what the window says of them, resizing, the zero flag,
// which place is taken, what is given back, commit steps, huge pages, and short segments under a limit.
//
// Nothing else in this program uses lido, so every test starts and ends without a segment.
#include "support.h"

#include "base/options.h"
#include "os/os.h"
#include "slab/segment.h"

#include <fcntl.h>
#include <lido/options.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

enum { SLICE = LIDO__SLICE_BYTES, ENTRY = LIDO__POOL_FIRST_BIN * LIDO__BIN_BYTES };

static int no_segments(void **state) {
    (void)state;
    lido__segments_purge(true, 0);
    lido__segment_totals now = lido__segments_totals();
    return now.segments == 0 && now.reserved_bytes == 0 && now.committed_bytes == 0 && now.used_bytes == 0 &&
                   now.dirty_free_bytes == 0 && lido_options_set("purge_delay_ms=4294967294:huge_from_mb=never") == 0
               ? 0
               : -1;
}

static lido__slab *run_new(size_t count, size_t alignment) {
    bool zero;
    return lido__run_new(LIDO__RUN_SLAB, count, alignment, ENTRY, &zero);
}

static void assert_entries(const char *memory, size_t slices, unsigned entry) {
    for (size_t i = 0; i < slices; i++) {
        assert_int_equal(lido__window_entry(memory + i * SLICE), entry);
        assert_int_equal(lido__window_entry(memory + i * SLICE + SLICE - 1), entry);
    }
}

static void assert_run(lido__slab *run, size_t count) {
    assert_non_null(run);
    char *memory = lido__slab_memory(run);
    size_t first = lido__slab_slice(run);
    assert_true(first >= LIDO__HEADER_SLICES && first + count <= LIDO__SEGMENT_SLICES);
    assert_ptr_equal(memory, (char *)lido__segment_of(run) + first * SLICE);
    assert_int_equal(run->slice_count, count);
    for (size_t i = 0; i < count; i++) {
        assert_ptr_equal(lido__slab_of(memory + i * SLICE), run);
        assert_ptr_equal(lido__slab_of(memory + i * SLICE + SLICE - 1), run);
    }
}

// --- runs -----------------------------------------------------------------------------------------------------------

static void every_length(void **state) {
    (void)state;
    for (size_t count = 1; count <= LIDO__RUN_MAX_SLICES; count++) {
        bool zero;
        lido__slab *run = lido__run_new(LIDO__RUN_LARGE, count, 1, LIDO__ENTRY_LARGE, &zero);
        assert_run(run, count);
        assert_int_equal(run->kind, LIDO__RUN_LARGE);
        char *memory = lido__slab_memory(run);
        assert_entries(memory, count, LIDO__ENTRY_LARGE);
        memory[0] = memory[count * SLICE - 1] = 1;
        size_t rest = LIDO__RUN_MAX_SLICES - count;
        lido__slab *other = rest == 0 ? NULL : run_new(rest, 1);    // the two fill a segment
        if (other != NULL) {
            assert_run(other, rest);
            assert_ptr_equal(lido__slab_memory(other), memory + count * SLICE);
            assert_entries(memory, count, LIDO__ENTRY_LARGE);
            assert_entries(memory + count * SLICE, rest, ENTRY);
            lido__run_free(other);
        }
        assert_int_equal(lido__segments_totals().segments, 1);
        assert_int_equal(lido__segments_totals().used_bytes, count * SLICE);
        lido__run_free(run);
        assert_entries(memory, LIDO__RUN_MAX_SLICES, LIDO__ENTRY_NONE);
        assert_true(lido__segments_verify());
    }
}

// Where even an empty segment has no place for it, the answer is NULL, and no segment is left behind by the attempts.
static void every_alignment(void **state) {
    (void)state;
    static const size_t counts[] = {1, 2, 3, 31, 64, 255, 256, 257, 448, 480, 500, 504, 506, 507};
    for (size_t alignment = 1; alignment <= LIDO__SEGMENT_SLICES; alignment *= 2) {
        for (size_t i = 0; i < COUNT_OF(counts); i++) {
            size_t first = lido__round_up(LIDO__HEADER_SLICES, alignment);
            bool possible = first + counts[i] <= LIDO__SEGMENT_SLICES;
            lido__slab *in_the_way = run_new(1, 1);
            lido__slab *run = run_new(counts[i], alignment);
            assert_int_equal(run != NULL, possible);
            if (possible) {
                assert_run(run, counts[i]);
                assert_int_equal(lido__slab_slice(run) % alignment, 0);
                lido__run_free(run);
            }
            assert_in_range(lido__segments_totals().segments, 1, 2);
            lido__run_free(in_the_way);
            lido__segments_purge(true, 0);
        }
    }
}

static void outside_of_the_window(void **state) {
    (void)state;
    int local = 0;
    lido__slab *run = run_new(1, 1);
    const lido__window *window = &lido__the_window;
    const void *end = (const void *)(window->base + (window->slices << LIDO__SLICE_SHIFT));
    const void *const outside[] = {
        NULL, &local, &outside_of_the_window, (const void *)UINTPTR_MAX, (const char *)window->base - 1, end};
    for (size_t i = 0; i < COUNT_OF(outside); i++) assert_int_equal(lido__window_entry(outside[i]), LIDO__ENTRY_NONE);
    const char *segment = (const char *)lido__segment_of(run);
    assert_entries(segment, LIDO__HEADER_SLICES, LIDO__ENTRY_NONE);    // nobody may free the header
    assert_int_equal(lido__window_entry(segment + LIDO__SEGMENT_BYTES - 1), LIDO__ENTRY_NONE);
    assert_int_equal(window->base % LIDO__SEGMENT_BYTES, 0);
    lido__run_free(run);
}

static void kinds_of_entries(void **state) {
    (void)state;
    for (unsigned entry = 0; entry <= UINT16_MAX; entry += LIDO__BIN_BYTES) {
        bool special = entry == LIDO__ENTRY_NONE || entry == LIDO__ENTRY_LARGE || entry == LIDO__ENTRY_SLOW ||
                       entry == LIDO__ENTRY_META || entry == LIDO__ENTRY_CHECK;
        assert_int_equal(lido__entry_has_bin(entry), !special);
        assert_int_equal(lido__entry_is_slab(entry), !special || entry == LIDO__ENTRY_SLOW);
    }
}

// --- resizing -------------------------------------------------------------------------------------------------------

static void resize_in_place(void **state) {
    (void)state;
    lido__slab *run = run_new(4, 1), *next = run_new(1, 1);
    char *memory = lido__slab_memory(run);
    memset(memory, 0x5A, 4 * SLICE);
    assert_true(lido__run_resize(run, 4));
    assert_false(lido__run_resize(run, 5));    // taken
    assert_run(run, 4);
    assert_run(next, 1);
    lido__run_free(next);
    assert_true(lido__run_resize(run, 5));
    assert_run(run, 5);
    assert_entries(memory, 5, ENTRY);
    assert_int_equal(lido__segments_totals().used_bytes, 5 * SLICE);
    assert_true(lido__run_resize(run, 2));
    assert_run(run, 2);
    assert_entries(memory, 2, ENTRY);
    assert_entries(memory + 2 * SLICE, 3, LIDO__ENTRY_NONE);
    assert_int_equal(lido__segments_totals().used_bytes, 2 * SLICE);
    assert_int_equal(lido__segments_totals().dirty_free_bytes, 3 * SLICE);
    for (size_t i = 0; i < 2 * SLICE; i += 4096) assert_int_equal(memory[i], 0x5A);
    assert_true(lido__run_resize(run, LIDO__RUN_MAX_SLICES));    // to the segment's end, and no further
    assert_false(lido__run_resize(run, LIDO__RUN_MAX_SLICES + 1));
    assert_run(run, LIDO__RUN_MAX_SLICES);
    memory[(size_t)LIDO__RUN_MAX_SLICES * SLICE - 1] = 1;
    assert_true(lido__run_resize(run, 1));
    assert_true(lido__segments_verify());
    lido__run_free(run);
}

static void refused_growth_changes_nothing(void **state) {
    (void)state;
    lido__slab *run = run_new(1, 1);
    lido__segment_totals before = lido__segments_totals();
    lido__os_fail_from(1, UINT32_MAX);
    assert_false(lido__run_resize(run, 400));    // needs a commit
    lido__os_fail_from(0, 0);
    lido__segment_totals after = lido__segments_totals();
    assert_memory_equal(&before, &after, sizeof before);
    assert_run(run, 1);
    assert_true(lido__segments_verify());
    assert_true(lido__run_resize(run, 400));
    lido__run_free(run);
}

// --- contents -------------------------------------------------------------------------------------------------------

static bool reads_zero(const char *memory, size_t bytes) {
    for (size_t i = 0; i < bytes; i++) {
        if (memory[i] != 0) return false;
    }
    return true;
}

static void zero_flag(void **state) {
    (void)state;
    bool zero;
    lido__slab *first = lido__run_new(LIDO__RUN_LARGE, 3, 1, LIDO__ENTRY_LARGE, &zero);
    assert_true(zero && reads_zero(lido__slab_memory(first), 3 * SLICE));    // never touched
    memset(lido__slab_memory(first), 1, 3 * SLICE);
    lido__run_free(first);
    lido__slab *second = lido__run_new(LIDO__RUN_LARGE, 2, 1, LIDO__ENTRY_LARGE, &zero);
    assert_ptr_equal(second, first);
    assert_false(zero);
    lido__slab *third = lido__run_new(LIDO__RUN_LARGE, 2, 1, LIDO__ENTRY_LARGE, &zero);
    assert_false(zero);    // one of its two slices was used
    lido__run_free(second);
    lido__run_free(third);
    assert_int_equal(lido__segments_purge(true, 1), 4 * SLICE);
    first = lido__run_new(LIDO__RUN_LARGE, 6, 1, LIDO__ENTRY_LARGE, &zero);
    assert_true(zero && reads_zero(lido__slab_memory(first), 6 * SLICE));    // purged
    memset(lido__slab_memory(first), 1, 6 * SLICE);
    lido__run_free(first);
    lido__os_fail_from(1, UINT32_MAX);
    assert_int_equal(lido__segments_purge(true, 1), 0);    // a refused purge must not count as done
    lido__os_fail_from(0, 0);
    assert_int_equal(lido__segments_totals().dirty_free_bytes, 6 * SLICE);
    first = lido__run_new(LIDO__RUN_LARGE, 1, 1, LIDO__ENTRY_LARGE, &zero);
    assert_false(zero);
    lido__run_free(first);
}

// --- which place, and what goes back --------------------------------------------------------------------------------

static void lowest_address_first(void **state) {
    (void)state;
    lido__slab *runs[100];
    for (size_t i = 0; i < 100; i++) runs[i] = run_new(10, 1);    // two segments
    assert_int_equal(lido__segments_totals().segments, 2);
    for (size_t i = 1; i < 100; i++) assert_true(runs[i] > runs[i - 1]);
    static const size_t holes[] = {70, 3, 51, 20, 99, 8};
    for (size_t i = 0; i < COUNT_OF(holes); i++) lido__run_free(runs[holes[i]]);
    static const size_t order[] = {3, 8, 20};
    for (size_t i = 0; i < COUNT_OF(order); i++) assert_ptr_equal(run_new(10, 1), runs[order[i]]);
    lido__slab *behind = run_new(7, 1);    // the tail of the first segment has 7 slices left
    assert_ptr_equal(behind, runs[49] + 10);
    assert_ptr_equal(run_new(10, 1), runs[51]);
    lido__run_free(runs[0]);
    lido__slab *small = run_new(1, 1);
    assert_ptr_equal(small, runs[0]);
    assert_ptr_equal(run_new(10, 1), runs[70]);    // too long for the hole of 9
    assert_true(lido__segments_verify());
    lido__run_free(small);
    lido__run_free(behind);
    for (size_t i = 1; i < 99; i++) lido__run_free(runs[i]);
}

static void empty_segments_go(void **state) {
    (void)state;
    lido__slab *runs[4];
    for (size_t i = 0; i < 4; i++) runs[i] = run_new(LIDO__RUN_MAX_SLICES, 1);
    assert_int_equal(lido__segments_totals().segments, 4);
    assert_int_equal(lido__segments_totals().reserved_bytes, 4u * LIDO__SEGMENT_BYTES);
    lido__run_free(runs[1]);
    assert_int_equal(lido__segments_purge(true, 0), (size_t)LIDO__RUN_MAX_SLICES * SLICE);
    assert_int_equal(lido__segments_totals().segments, 3);
    runs[1] = run_new(5, 1);    // its place is the lowest free one
    assert_true(runs[1] > runs[0] && runs[1] < runs[2]);
    lido__run_free(runs[1]);
    lido__run_free(runs[2]);
    lido__run_free(runs[3]);
    lido_options_set("purge_delay_ms=0");
    lido__segments_purge(false, 0);    // in passing, one empty segment is kept
    assert_int_equal(lido__segments_totals().segments, 2);
    lido__segments_purge(true, 1);    // also when something is to be kept
    assert_int_equal(lido__segments_totals().segments, 2);
    lido__run_free(runs[0]);
    lido__segments_purge(true, 0);
    assert_int_equal(lido__segments_totals().segments, 0);
}

// What is to be kept is kept also when its segments are empty.
static void purge_keeps_in_empty_segments(void **state) {
    (void)state;
    enum { ALL = LIDO__RUN_MAX_SLICES };
    lido__slab *runs[3];
    for (size_t i = 0; i < 3; i++) runs[i] = run_new(ALL, 1);
    for (size_t i = 0; i < 3; i++) lido__run_free(runs[i]);
    assert_int_equal(lido__segments_purge(true, 100 * SLICE), (3 * ALL - 100) * SLICE);
    assert_int_equal(lido__segments_totals().dirty_free_bytes, 100 * SLICE);
    assert_int_equal(lido__segments_totals().segments, 2);
    assert_true(lido__segments_verify());
    assert_int_equal(lido__segments_purge(true, 0), 100 * SLICE);
    assert_int_equal(lido__segments_totals().segments, 0);
}

static void purge_keeps_what_is_asked(void **state) {
    (void)state;
    lido__slab *runs[20];
    for (size_t i = 0; i < 20; i++) runs[i] = run_new(5, 1);
    for (size_t i = 0; i < 20; i += 2) lido__run_free(runs[i]);
    assert_int_equal(lido__segments_totals().dirty_free_bytes, 50 * SLICE);
    assert_int_equal(lido__segments_purge(false, 0), 0);    // not old enough
    assert_int_equal(lido__segments_purge(true, 50 * SLICE), 0);
    assert_int_equal(lido__segments_purge(true, 22 * SLICE), 28 * SLICE);
    assert_int_equal(lido__segments_totals().dirty_free_bytes, 22 * SLICE);
    lido_options_set("purge_delay_ms=0");
    assert_int_equal(lido__segments_purge(false, 0), 22 * SLICE);
    lido__run_free(runs[1]);    // with no delay a free purges at once
    assert_int_equal(lido__segments_totals().dirty_free_bytes, 0);
    assert_true(lido__segments_verify());
    for (size_t i = 3; i < 20; i += 2) lido__run_free(runs[i]);
}

// --- commit ---------------------------------------------------------------------------------------------------------

static void commit_steps(void **state) {
    (void)state;
    lido__slab *runs[LIDO__RUN_MAX_SLICES];
    lido__os_fail_from(UINT32_MAX, 1);
    for (size_t used = 1; used <= LIDO__RUN_MAX_SLICES; used++) {
        runs[used - 1] = run_new(1, 1);
        size_t committed = lido__segments_totals().committed_bytes / SLICE;
        assert_in_range(committed, LIDO__HEADER_SLICES + used, LIDO__HEADER_SLICES + used + lido__max(4, used / 8));
    }
    // window, header, and a step of 4 slices or an eighth: 8 steps to 32 slices, then at most 24 to 507
    assert_in_range(lido__os_fail_from(0, 0), 10, 40);
    for (size_t i = 0; i < LIDO__RUN_MAX_SLICES; i++) lido__run_free(runs[i]);
}

static void eager_commit_refused(void **state) {
    (void)state;
    lido__slab *first = run_new(100, 1);    // from here on a step is an eighth of that
    assert_int_equal(lido__segments_totals().committed_bytes, (LIDO__HEADER_SLICES + 100) * SLICE);
    lido__os_fail_from(1, 1);
    lido__slab *second = run_new(2, 1);    // the step is refused, exactly what is needed is not
    lido__os_fail_from(0, 0);
    assert_run(second, 2);
    assert_int_equal(lido__segments_totals().committed_bytes, (LIDO__HEADER_SLICES + 102) * SLICE);
    lido__os_fail_from(1, UINT32_MAX);
    assert_null(run_new(8, 1));
    lido__os_fail_from(0, 0);
    assert_true(lido__segments_verify());
    lido__run_free(first);
    lido__run_free(second);
}

static void huge_pages_from_a_size_on(void **state) {
    (void)state;
    lido_options_set("huge_from_mb=2");
    lido__slab *small = run_new(31, 1);
    lido__segment *segment = lido__segment_of(small);
    assert_int_equal(segment->huge_from, LIDO__SEGMENT_SLICES);    // nothing was in use before
    lido__slab *large = run_new(60, 1);
    assert_int_equal(segment->huge_from, LIDO__SEGMENT_SLICES);    // 31 slices: still less than 2 MiB
    lido__slab *larger = run_new(60, 1);
    assert_in_range(segment->huge_from, 96, 128);
    assert_int_equal(segment->huge_from % 32, 0);
    assert_int_equal(segment->committed % 32, 0);
    lido__run_free(small);
    lido__run_free(large);
    lido__run_free(larger);
}

// --- a system that refuses ------------------------------------------------------------------------------------------

static size_t address_space_bytes(void) {
    char text[64] = "";
    int fd = open("/proc/self/statm", O_RDONLY);
    UNIT_CHECK(fd >= 0 && read(fd, text, sizeof text - 1) > 0);
    close(fd);
    return strtoull(text, NULL, 10) * lido__os_page_bytes();
}

static void live_with_little(void *argument) {
    (void)argument;
    enum { MOST = 400 };
    static lido__slab *runs[MOST];
    struct rlimit old, limit;
    UNIT_CHECK(getrlimit(RLIMIT_AS, &old) == 0);
    limit = (struct rlimit){.rlim_cur = address_space_bytes() + (25 << 20), .rlim_max = old.rlim_max};
    UNIT_CHECK(setrlimit(RLIMIT_AS, &limit) == 0);
    size_t count = 0;
    for (size_t length = 27; length >= 1; length = length * 2 / 3) {
        for (size_t alignment = 1; alignment <= 4; alignment *= 2) {
            for (; count < MOST && (runs[count] = run_new(length, alignment)) != NULL; count++) {
                UNIT_CHECK(lido__slab_slice(runs[count]) % alignment == 0);
                memset(lido__slab_memory(runs[count]), 1, length * SLICE);
            }
        }
    }
    lido__segment_totals now = lido__segments_totals();
    UNIT_CHECK(now.segments >= 2 && now.reserved_bytes < (size_t)LIDO__SEGMENT_BYTES);    // all of them are short
    UNIT_CHECK(now.used_bytes > 8 << 20);
    UNIT_CHECK(run_new(LIDO__RUN_MAX_SLICES, 1) == NULL);
    UNIT_CHECK(lido__segments_verify());
    while (count > 0) lido__run_free(runs[--count]);
    UNIT_CHECK(lido__segments_verify());
    lido__segments_purge(true, 0);
    UNIT_CHECK(lido__segments_totals().segments == 0);
    UNIT_CHECK(setrlimit(RLIMIT_AS, &old) == 0);
    UNIT_CHECK(run_new(LIDO__RUN_MAX_SLICES, 1) != NULL);    // whole segments again
}

static void short_segments(void **state) {
    (void)state;
    if (UNIT_SANITIZED) skip();
    unit_child child = unit_fork(live_with_little, NULL);
    unit_assert_done(&child);
}

// 2 and 4 slices of alignment cost up to 3 slices behind the header of 5: a short segment that is a little too short must
// not be made again and again.
static void short_and_aligned(void *argument) {
    (void)argument;
    for (size_t length = 1; length <= 130; length++) {
        for (size_t alignment = 1; alignment <= 64; alignment *= 2) {
            lido__os_fail_from(2 + (lido__the_window.table == NULL ? 2 : 0), 1);
            lido__slab *run = run_new(length, alignment);
            uint32_t calls = lido__os_fail_from(0, 0);
            UNIT_CHECK(calls < 16);
            if (run != NULL) lido__run_free(run);
            UNIT_CHECK(lido__segments_totals().segments <= 1);
            lido__segments_purge(true, 0);
            lido__os_fail_from(1, 1);
            run = run_new(length, alignment);
            UNIT_CHECK(lido__os_fail_from(0, 0) < 16);
            if (run != NULL) lido__run_free(run);
            UNIT_CHECK(lido__segments_totals().segments <= 1);
            lido__segments_purge(true, 0);
        }
    }
}

static void short_segments_are_not_hoarded(void **state) {
    (void)state;
    unit_child child = unit_fork(short_and_aligned, NULL);
    unit_assert_done(&child);
}

int main(void) {
#define CASE(name) cmocka_unit_test_setup_teardown(name, no_segments, no_segments)
    const struct CMUnitTest tests[] = {
        CASE(outside_of_the_window),
        CASE(kinds_of_entries),
        CASE(every_length),
        CASE(every_alignment),
        CASE(resize_in_place),
        CASE(refused_growth_changes_nothing),
        CASE(zero_flag),
        CASE(lowest_address_first),
        CASE(empty_segments_go),
        CASE(purge_keeps_what_is_asked),
        CASE(purge_keeps_in_empty_segments),
        CASE(commit_steps),
        CASE(eager_commit_refused),
        CASE(huge_pages_from_a_size_on),
        CASE(short_segments),
        CASE(short_segments_are_not_hoarded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
