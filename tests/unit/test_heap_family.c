// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// The lido_malloc family: zeroed memory, products that overflow, bad alignments, sizes that cannot be, good sizes; and what it
// says of pointers that are not its own, each by the exact line.
#include "support.h"

#include "heap/heap.h"

#include <lido/heap.h>
#include <lido/options.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { ODD_ERRNO = 12345, MIB = 1 << 20 };

static const char *line(const char *format, ...) {
    static char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return text;
}

// The compiler must not see what is asked for.
static size_t hidden(size_t size) {
    static volatile size_t value;
    value = size;
    return value;
}

static void calloc_clears(void **state) {
    (void)state;
    static const size_t sizes[] = {1, 16, 100, 1000, 5000, 32768, 32769, 70000, MIB, 9 * MIB};
    for (int round = 0; round < 3; round++) {    // from the second round on the memory is used already
        for (size_t i = 0; i < COUNT_OF(sizes); i++) {
            char *p = lido_calloc(1 + sizes[i] % 7, (sizes[i] + 6) / 7);
            assert_non_null(p);
            for (size_t j = 0; j < (1 + sizes[i] % 7) * ((sizes[i] + 6) / 7); j++) UNIT_CHECK(p[j] == 0);
            memset(p, 0x5A, lido_usable_size(p));
            lido_free(p);
        }
        if (round == 1) lido_trim(0);
    }
    char *p = lido_calloc(0, 100);    // unique, and to be freed
    char *q = lido_calloc(100, 0);
    assert_true(p != NULL && q != NULL && p != q);
    lido_free_sized(p, 0);
    lido_free(q);
}

static void refuse(void *p) {
    assert_null(p);
    assert_int_equal(errno, ENOMEM);
    errno = 0;
}

static void impossible_requests(void **state) {
    (void)state;
    static const size_t sizes[] = {SIZE_MAX, SIZE_MAX - 15, (size_t)PTRDIFF_MAX + 1, (size_t)1 << 50};
    char *p = lido_malloc(100);
    memset(p, 7, 100);
    errno = 0;
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        refuse(lido_malloc(hidden(sizes[i])));
        refuse(lido_calloc(1, hidden(sizes[i])));
        refuse(lido_aligned_alloc(64, hidden(sizes[i])));
        refuse(lido_aligned_alloc((size_t)1 << 62, hidden(sizes[i] / 2)));
        refuse(lido_realloc(p, hidden(sizes[i])));
        refuse(lido_reallocarray(p, hidden(sizes[i]), 1));
        assert_int_equal(lido_posix_memalign((void **)&p, 64, hidden(sizes[i])), ENOMEM);
        assert_int_equal(errno, 0);
    }
    refuse(lido_calloc(hidden(SIZE_MAX / 2), 3));
    refuse(lido_calloc(hidden((size_t)1 << 32), (size_t)1 << 32));
    refuse(lido_reallocarray(p, hidden(SIZE_MAX / 4), 5));
    assert_int_equal(lido_good_size(SIZE_MAX), 0);
    assert_int_equal(lido_good_size((size_t)PTRDIFF_MAX + 1), 0);
    for (size_t i = 0; i < 100; i++) assert_int_equal(p[i], 7);
    lido_free(p);
}

static void alignments(void **state) {
    (void)state;
    static const size_t bad[] = {0, 3, 6, 24, 100, SIZE_MAX};
    void *untouched = &untouched, *out = untouched;
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        errno = 0;
        assert_null(lido_aligned_alloc(bad[i], 100));
        assert_int_equal(errno, EINVAL);
        errno = ODD_ERRNO;
        assert_int_equal(lido_posix_memalign(&out, bad[i], 100), EINVAL);
        assert_true(errno == ODD_ERRNO && out == untouched);
    }
    assert_int_equal(lido_posix_memalign(&out, 4, 100), EINVAL);    // a power of two, but less than a pointer
    for (size_t alignment = 8; alignment <= 64 * MIB; alignment *= 2) {
        static const size_t sizes[] = {0, 1, 1000, 40000, 9 * MIB};
        for (size_t i = 0; i < COUNT_OF(sizes); i++) {
            assert_int_equal(lido_posix_memalign(&out, alignment, sizes[i]), 0);
            assert_true((uintptr_t)out % alignment == 0 && lido_usable_size(out) >= sizes[i]);
            *(char *)out = 1;
            lido_free_aligned_sized(out, alignment, sizes[i]);
        }
    }
    assert_int_equal(errno, ODD_ERRNO);
}

static void small_promises(void **state) {
    (void)state;
    errno = ODD_ERRNO;
    lido_free(NULL);
    lido_free_sized(NULL, 10);
    lido_free_aligned_sized(NULL, 64, 10);
    assert_int_equal(lido_usable_size(NULL), 0);
    assert_null(lido_realloc(lido_malloc(10), 0));    // frees, as glibc does
    void *p = lido_realloc(NULL, 10);
    assert_ptr_equal(lido_realloc(p, 12), p);    // fits where it is
    p = lido_reallocarray(p, 100, 7);
    assert_true(lido_usable_size(p) >= 700);
    lido_free_sized(p, 700);
    for (size_t size = 1; size <= 20 * MIB; size = size * 9 / 8 + 1) {
        assert_true(lido_good_size(size) >= size);
        p = lido_malloc(size);
        assert_true(lido_usable_size(p) >= size);
        if (size <= LIDO__SMALL_MAX) assert_int_equal(lido_usable_size(p), lido_good_size(size));
        lido_free(p);
    }
    assert_int_equal(errno, ODD_ERRNO);
}

// --- pointers of others ---------------------------------------------------------------------------------------------

static int static_data;

static void say(const char *text, void *p, size_t size) {
    char expected[512];    // `text` may be of line()
    snprintf(expected, sizeof expected, "%s", text);
    static const char *const calls[] = {"free", "realloc", "malloc_usable_size"};
    for (size_t call = 0; call < COUNT_OF(calls); call++) {
        errno = ODD_ERRNO;
        unit_catch_begin();
        if (call == 0) lido_free(p);
        if (call == 1) assert_null(lido_realloc(p, size));
        if (call == 2) assert_int_equal(lido_usable_size(p), 0);
        assert_string_equal(unit_catch_end(), line("lido: %s(%p): %s\n", calls[call], p, expected));
        assert_int_equal(errno, ODD_ERRNO);
    }
}

static void foreign_pointers(void **state) {
    (void)state;
    lido_options_set("on_misuse=continue:purge_delay_ms=0");
    char program[256] = "", expected[400];
    assert_true(readlink("/proc/self/exe", program, sizeof program - 1) > 0);
    snprintf(expected, sizeof expected, "static data of %.159s", program);
    say(expected, &static_data, 100);
    say("on the stack", __builtin_frame_address(0), 100);
    say("not mapped; never allocated, or freed already", (void *)(uintptr_t)0x1000, 100);
    if (!UNIT_SANITIZED) {    // there malloc is theirs
        void *of_libc = malloc(100);
        say("in the heap of the C library", of_libc, 100);
        free(of_libc);
    }
    void *huge = lido_malloc(20 * MIB);
    lido_free(huge);
    say("not mapped; never allocated, or freed already", huge, 100);
    lido_options_set("on_misuse=abort:purge_delay_ms=1000");
}

static void inside_and_freed(void **state) {
    (void)state;
    lido_options_set("on_misuse=continue:purge_delay_ms=0");
    char *small = lido_malloc(100), *large = lido_malloc(200000);
    say(line("inside a block, 16 bytes after its start at %p", (void *)small), small + 16, 200);
    say(line("inside a block, 70000 bytes after its start at %p", (void *)large), large + 70000, 200);
    char *block = lido_malloc(9000), *tail = lido__slab_memory(lido__slab_of(block)) + (size_t)21 * 9216;
    unit_catch_begin();
    lido_free(tail);
    assert_string_equal(
        unit_catch_end(),
        line("lido: free(%p): behind the last block of a slab; nothing was ever allocated there\n", (void *)tail));
    lido_free(block);
    lido_free(large);
    unit_catch_begin();
    lido_free(large);    // its run is gone
    const char *said = unit_catch_end();
    assert_ptr_equal(strstr(said, line("lido: free(%p): ", (void *)large)), said);
    lido_free(small);
    lido_options_set("on_misuse=abort:purge_delay_ms=1000");
}

static void free_the_stack(void *argument) {
    (void)argument;
    lido_free(__builtin_frame_address(0));
}

static void misuse_aborts(void **state) {
    (void)state;
    unit_child child = unit_fork(free_the_stack, NULL);
    unit_assert_aborted(&child);
    assert_non_null(strstr(child.text, "): on the stack\n"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calloc_clears),  cmocka_unit_test(impossible_requests), cmocka_unit_test(alignments),
        cmocka_unit_test(small_promises), cmocka_unit_test(foreign_pointers),    cmocka_unit_test(inside_and_freed),
        cmocka_unit_test(misuse_aborts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
