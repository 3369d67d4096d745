// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// Huge objects: the calls one by one, the cache, owners, the table grown past 10,000 entries and shrunk in random order
// against a shadow list, what happens when the system refuses, and threads.
#include "support.h"

#include "base/options.h"
#include "os/os.h"
#include "slab/mapping.h"

#include <lido/options.h>
#include <stdlib.h>
#include <unistd.h>

enum { PAGE = 4096, HUGE = 1 << 20 };

static int nothing_is_left(void **state) {
    (void)state;
    lido__mappings_purge(true);
    lido__mapping_totals now = lido__mappings_totals();
    return now.count == 0 && now.bytes == 0 && now.cached_bytes == 0 && lido_options_set("purge_delay_ms=60000") == 0
               ? 0
               : -1;
}

static void assert_totals(size_t count, size_t bytes, size_t cached_bytes) {
    lido__mapping_totals now = lido__mappings_totals();
    assert_int_equal(now.count, count);
    assert_int_equal(now.bytes, bytes);
    assert_int_equal(now.cached_bytes, cached_bytes);
}

static char *new_of(size_t bytes, size_t alignment, void *owner, bool expect_zero) {
    bool zero;
    lido__mapping mapping = lido__mapping_new(bytes, alignment, owner, &zero);
    assert_non_null(mapping.start);
    assert_int_equal(zero, expect_zero);
    assert_true(mapping.bytes >= bytes && mapping.bytes % PAGE == 0);
    assert_ptr_equal(mapping.owner, owner);
    assert_int_equal((uintptr_t)mapping.start % (alignment > PAGE ? alignment : PAGE), 0);
    char *memory = mapping.start;
    if (zero) assert_true(memory[0] == 0 && memory[mapping.bytes / 2] == 0 && memory[mapping.bytes - 1] == 0);
    memory[0] = memory[bytes - 1] = 0x5A;
    return memory;
}

static void new_find_free(void **state) {
    (void)state;
    char *memory = new_of(HUGE + 1, 1, NULL, true);
    lido__mapping found = lido__mapping_find(memory);
    assert_ptr_equal(found.start, memory);
    assert_int_equal(found.bytes, HUGE + PAGE);
    assert_totals(1, HUGE + PAGE, 0);
    assert_null(lido__mapping_find(memory + PAGE).start);    // only by its first address
    assert_null(lido__mapping_find(memory + 1).start);
    assert_null(lido__mapping_find(NULL).start);
    assert_null(lido__mapping_find(&found).start);
    assert_false(lido__mapping_free(memory + PAGE));
    assert_false(lido__mapping_free(NULL));
    assert_false(lido__mapping_free(&found));
    assert_totals(1, HUGE + PAGE, 0);
    assert_true(lido__mapping_free(memory));
    assert_false(lido__mapping_free(memory));    // freed already, though it lies in the cache
    assert_null(lido__mapping_find(memory).start);
    assert_totals(0, 0, HUGE + PAGE);
    assert_int_equal(lido__mappings_purge(true), HUGE + PAGE);
    assert_totals(0, 0, 0);
    char name[16];
    assert_int_equal(lido__os_describe(memory, name, sizeof name), LIDO__PLACE_UNMAPPED);
}

static void alignments(void **state) {
    (void)state;
    for (size_t alignment = 1; alignment <= (size_t)1 << 30; alignment *= 2) {
        char *first = new_of(HUGE + 5 * PAGE, alignment, NULL, true), *second = new_of(3 * PAGE, alignment, NULL, true);
        assert_true(lido__mapping_free(first) && lido__mapping_free(second));
        lido__mappings_purge(true);
    }
    bool zero;
    assert_null(lido__mapping_new(HUGE, (size_t)1 << 62, NULL, &zero).start);
    assert_null(lido__mapping_new(PTRDIFF_MAX - PAGE, (size_t)1 << 62, NULL, &zero).start);
    assert_null(lido__mapping_new((size_t)1 << 50, 1, NULL, &zero).start);
    assert_totals(0, 0, 0);
}

static void resizing(void **state) {
    (void)state;
    int owner;
    char *memory = new_of(HUGE, 1, &owner, true);
    lido__mapping grown = lido__mapping_resize(memory, 64 * HUGE + 1);
    assert_int_equal(grown.bytes, 64 * HUGE + PAGE);
    assert_ptr_equal(grown.owner, &owner);
    memory = grown.start;
    assert_true(memory[0] == 0x5A && memory[HUGE - 1] == 0x5A && memory[HUGE] == 0 && memory[64 * HUGE] == 0);
    assert_totals(1, 64 * HUGE + PAGE, 0);
    assert_ptr_equal(lido__mapping_find(memory).start, memory);
    lido__mapping shrunk = lido__mapping_resize(memory, PAGE);
    assert_int_equal(shrunk.bytes, PAGE);
    memory = shrunk.start;
    assert_int_equal(memory[0], 0x5A);
    assert_totals(1, PAGE, 0);
    lido__os_fail_from(1, 1);
    assert_null(lido__mapping_resize(memory, HUGE).start);
    lido__os_fail_from(0, 0);
    assert_null(lido__mapping_resize(memory, (size_t)1 << 50).start);
    assert_null(lido__mapping_resize(memory + PAGE, HUGE).start);    // not one
    assert_totals(1, PAGE, 0);
    assert_int_equal(memory[0], 0x5A);
    assert_int_equal(lido__mapping_find(memory).bytes, PAGE);
    assert_true(lido__mapping_free(memory));
}

// --- the cache ------------------------------------------------------------------------------------------------------

static void cache_reuses_what_fits(void **state) {
    (void)state;
    char *a = new_of(100 * PAGE, 1, NULL, true), *b = new_of(120 * PAGE, 1, NULL, true);
    assert_true(lido__mapping_free(b) && lido__mapping_free(a));
    assert_totals(0, 0, 220 * PAGE);
    bool zero;
    int owner;
    assert_ptr_not_equal(new_of(70 * PAGE, 1, NULL, true), a);    // more than a quarter too large
    assert_ptr_equal(new_of(98 * PAGE, 1, &owner, false), a);     // the one that fits best
    assert_ptr_equal(lido__mapping_find(a).owner, &owner);
    assert_int_equal(lido__mapping_find(a).bytes, 100 * PAGE);
    assert_ptr_equal(new_of(96 * PAGE, 1, NULL, false), b);    // exactly a quarter
    assert_totals(3, 290 * PAGE, 0);
    lido__mapping fresh = lido__mapping_new(96 * PAGE, 1, NULL, &zero);
    assert_true(zero && fresh.start != NULL);
    lido__mappings_free_of(NULL);    // also those without an owner
    lido__mappings_free_of(&owner);
}

static void cache_minds_the_alignment(void **state) {
    (void)state;
    char *memory = new_of(100 * PAGE, 1 << 21, NULL, true);
    lido__mapping moved = lido__mapping_resize(memory, 100 * PAGE);
    assert_ptr_equal(moved.start, memory);
    assert_true(lido__mapping_free(memory));
    bool fits = (uintptr_t)memory % (1 << 23) == 0;
    char *other = new_of(100 * PAGE, 1 << 23, NULL, !fits);
    char *same = new_of(100 * PAGE, 1 << 21, NULL, fits);
    assert_int_equal(same == memory, !fits);
    assert_true(lido__mapping_free(other) && lido__mapping_free(same));
}

static void cache_is_bounded(void **state) {
    (void)state;
    enum { COUNT = 80 };
    char *small[COUNT];
    for (size_t i = 0; i < COUNT; i++) small[i] = new_of((i + 1) * PAGE, 1, NULL, true);
    for (size_t i = 0; i < COUNT; i++) assert_true(lido__mapping_free(small[i]));
    size_t bytes = 0;
    for (size_t i = 0; i < 32; i++) bytes += (i + 1) * PAGE;    // 32 slots; what finds none goes at once
    assert_totals(0, 0, bytes);
    lido__mappings_purge(true);
    char *large = new_of((size_t)65 << 20, 1, NULL, true);
    assert_true(lido__mapping_free(large));
    assert_totals(0, 0, 0);    // more than the cache may hold in all
    char *half[3];
    for (size_t i = 0; i < 3; i++) half[i] = new_of((size_t)30 << 20, 1, NULL, true);
    for (size_t i = 0; i < 3; i++) assert_true(lido__mapping_free(half[i]));
    assert_totals(0, 0, (size_t)60 << 20);    // the oldest went
    bool zero;
    lido__mapping again = lido__mapping_new((size_t)30 << 20, 1, NULL, &zero);
    assert_true(!zero && (again.start == half[1] || again.start == half[2]));
    assert_true(lido__mapping_free(again.start));
}

static void cache_in_time(void **state) {
    (void)state;
    lido_options_set("purge_delay_ms=0");
    assert_true(lido__mapping_free(new_of(HUGE, 1, NULL, true)));
    assert_totals(0, 0, 0);    // nothing is kept
    lido_options_set("purge_delay_ms=60000");
    assert_true(lido__mapping_free(new_of(HUGE, 1, NULL, true)));
    assert_int_equal(lido__mappings_purge(false), 0);
    assert_totals(0, 0, HUGE);
    lido_options_set("purge_delay_ms=20");
    usleep(50000);
    assert_int_equal(lido__mappings_purge(false), HUGE);
    assert_totals(0, 0, 0);
    lido_options_set("purge_delay_ms=1000");
    assert_true(lido__mapping_free(new_of(HUGE, 1, NULL, true)));
    usleep(1050000);
    assert_true(
        lido__mapping_free(new_of(5 * HUGE, 1, NULL, true)));    // in passing it takes the one that is due along
    assert_totals(0, 0, 5 * HUGE);
}

// --- the table ------------------------------------------------------------------------------------------------------

typedef struct shadow {
    char *start;
    size_t bytes;
    uintptr_t owner;
} shadow;

static void check_shadow(const shadow *entry) {
    lido__mapping found = lido__mapping_find(entry->start);
    UNIT_CHECK(found.start == entry->start && found.bytes == entry->bytes && (uintptr_t)found.owner == entry->owner);
    UNIT_CHECK(*(uintptr_t *)(void *)entry->start == (uintptr_t)entry->start);
}

static shadow shadow_new(uint64_t random) {
    bool zero;
    lido__mapping mapping = lido__mapping_new(PAGE * (1 + random % 3), 1, (void *)(uintptr_t)(random % 5), &zero);
    UNIT_CHECK(mapping.start != NULL);
    *(uintptr_t *)mapping.start = (uintptr_t)mapping.start;
    return (shadow){mapping.start, mapping.bytes, random % 5};
}

static void table_against_shadow(void **state) {
    (void)state;
    if (UNIT_TSAN) skip();    // one thread, and each mapping costs it a millisecond
    enum { MOST = 12000 };
    static shadow entries[MOST];
    size_t count = 0, bytes = 0;
    uint64_t random = unit_seed("table_against_shadow", 201);
    lido_options_set("purge_delay_ms=0");
    for (unsigned i = 0; i < 60000; i++) {
        bool grow = i < 22000 || (i >= 40000 && i < 50000);    // past 10,000, down, up, down
        uint64_t pick = unit_random(&random) % 100;
        if (pick < (grow ? 80 : 25) && count < MOST) {
            entries[count] = shadow_new(unit_random(&random));
            bytes += entries[count++].bytes;
        } else if (pick < 95 && count > 0) {
            shadow *entry = &entries[unit_random(&random) % count];
            check_shadow(entry);
            UNIT_CHECK(lido__mapping_free(entry->start));
            bytes -= entry->bytes;
            *entry = entries[--count];
        } else if (count > 0) {
            shadow *entry = &entries[unit_random(&random) % count];
            lido__mapping mapping = lido__mapping_resize(entry->start, PAGE * (1 + unit_random(&random) % 6));
            UNIT_CHECK(mapping.start != NULL && (uintptr_t)mapping.owner == entry->owner);
            bytes += mapping.bytes - entry->bytes;
            *entry = (shadow){mapping.start, mapping.bytes, entry->owner};
            *(uintptr_t *)mapping.start = (uintptr_t)mapping.start;
        }
        if (i == 22000) assert_true(count > 10000);
        if (i % 5000 == 0) {
            for (size_t j = 0; j < count; j++) check_shadow(&entries[j]);
            assert_totals(count, bytes, 0);
        }
    }
    for (size_t i = 0; i < count; i++) UNIT_CHECK(lido__mapping_free(entries[i].start));
}

static void owners(void **state) {
    (void)state;
    if (UNIT_TSAN) skip();    // likewise
    enum { COUNT = 3000 };
    static shadow entries[COUNT];
    uint64_t random = unit_seed("owners", 202);
    lido_options_set("purge_delay_ms=0");
    for (size_t i = 0; i < COUNT; i++) entries[i] = shadow_new(unit_random(&random));
    for (uintptr_t owner = 4; owner + 1 > 0; owner--) {
        lido__mappings_free_of((void *)owner);
        size_t left = 0;
        for (size_t i = 0; i < COUNT; i++) {
            if (entries[i].owner < owner) check_shadow(&entries[i]);
            if (entries[i].owner >= owner) assert_null(lido__mapping_find(entries[i].start).start);
            left += entries[i].owner < owner;
        }
        assert_int_equal(lido__mappings_totals().count, left);
    }
}

// With pages that the system has set aside: the same promises, in whole huge pages; without any, the ordinary way.
static void huge_pages_that_were_set_aside(void **state) {
    (void)state;
    enum { HUGE_PAGE = 2 << 20 };
    void *probe = lido__os_map_huge(HUGE_PAGE);
    if (probe != NULL) lido__os_release(probe, HUGE_PAGE);
    lido_options_set("hugetlb=1:purge_delay_ms=0");
    bool zero;
    lido__mapping mapping = lido__mapping_new(HUGE_PAGE + 5, 1 << 20, NULL, &zero);
    char *memory = mapping.start;
    assert_true(memory != NULL && zero && mapping.bytes >= HUGE_PAGE + 5 && (uintptr_t)memory % (1 << 20) == 0);
    memory[0] = memory[HUGE_PAGE + 4] = 0x5A;
    lido__mapping resized = lido__mapping_resize(memory, HUGE_PAGE - 9);    // a system may refuse it for such pages
    if (resized.start != NULL) memory = resized.start;
    assert_int_equal(memory[0], 0x5A);
    assert_ptr_equal(lido__mapping_find(memory).start, memory);
    assert_int_equal(lido__mappings_totals().bytes, lido__mapping_find(memory).bytes);
    assert_true(lido__mapping_free(memory));
    assert_totals(0, 0, 0);
    lido_options_set("hugetlb=0");
    if (probe == NULL) skip();    // there are none: only the way without was seen
}

// --- refusals and threads -------------------------------------------------------------------------------------------

static void refusals(void **state) {
    (void)state;
    bool zero;
    for (uint32_t first = 1; first <= 3; first++) {
        for (size_t alignment = 1; alignment <= 1 << 21; alignment <<= 21) {
            lido__os_fail_from(first, UINT32_MAX);
            lido__mapping mapping = lido__mapping_new(HUGE, alignment, NULL, &zero);
            lido__os_fail_from(0, 0);
            assert_totals(mapping.start != NULL, mapping.start != NULL ? mapping.bytes : 0, 0);
            if (mapping.start != NULL) assert_true(lido__mapping_free(mapping.start));
            lido__mappings_purge(true);
        }
    }
}

// A table that may not grow is filled to the last place but one, and no further.
static void a_table_that_cannot_grow(void *argument) {
    (void)argument;
    static char *starts[1024];
    size_t count = 0;
    lido_options_set("purge_delay_ms=60000");
    for (; count < 1024; count++) {
        bool zero;
        lido__os_fail_from(2, UINT32_MAX);    // the mapping itself is the first call; the table would be the next
        lido__mapping mapping = lido__mapping_new(PAGE, 1, NULL, &zero);
        lido__os_fail_from(0, 0);
        if (mapping.start == NULL) {
            if (count > 0) break;
            mapping = lido__mapping_new(PAGE, 1, NULL, &zero);    // the first table of all
        }
        starts[count] = mapping.start;
    }
    UNIT_CHECK(count == 255);
    for (size_t i = 0; i < count; i++) UNIT_CHECK(lido__mapping_find(starts[i]).start == starts[i]);
    UNIT_CHECK(lido__mapping_find(argument).start == NULL);
    for (size_t i = 0; i < count; i++) UNIT_CHECK(lido__mapping_free(starts[i]));
    UNIT_CHECK(lido__mappings_totals().count == 0);
}

static void full_table(void **state) {
    (void)state;
    unit_child child = unit_fork(a_table_that_cannot_grow, NULL);
    unit_assert_done(&child);
}

static void map_and_unmap(unsigned index, void *argument) {
    shadow mine[20] = {0};
    uint64_t random = *(uint64_t *)argument + index;
    for (unsigned i = 0; i < 3000; i++) {
        shadow *entry = &mine[unit_random(&random) % 20];
        if (entry->start == NULL) {
            *entry = shadow_new(unit_random(&random));
            continue;
        }
        check_shadow(entry);
        if (unit_random(&random) % 4 == 0) {
            lido__mapping mapping = lido__mapping_resize(entry->start, PAGE * (1 + unit_random(&random) % 40));
            *entry = (shadow){mapping.start, mapping.bytes, entry->owner};
            *(uintptr_t *)mapping.start = (uintptr_t)mapping.start;
        } else {
            UNIT_CHECK(lido__mapping_free(entry->start));
            entry->start = NULL;
        }
        if (unit_random(&random) % 100 == 0) lido__mappings_purge(unit_random(&random) % 2 == 0);
    }
    for (size_t i = 0; i < 20; i++) {
        if (mine[i].start != NULL) UNIT_CHECK(lido__mapping_free(mine[i].start));
    }
}

static void threads_map_and_unmap(void **state) {
    (void)state;
    uint64_t seed = unit_seed("threads_map_and_unmap", 203);
    lido_options_set("purge_delay_ms=3");
    unit_threads(4, map_and_unmap, &seed);
}

int main(void) {
#define CASE(name) cmocka_unit_test_setup_teardown(name, nothing_is_left, nothing_is_left)
    const struct CMUnitTest tests[] = {
        CASE(full_table),    // first: it wants the first table
        CASE(new_find_free),
        CASE(alignments),
        CASE(resizing),
        CASE(cache_reuses_what_fits),
        CASE(cache_minds_the_alignment),
        CASE(cache_is_bounded),
        CASE(cache_in_time),
        CASE(table_against_shadow),
        CASE(owners),
        CASE(huge_pages_that_were_set_aside),
        CASE(refusals),
        CASE(threads_map_and_unmap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
