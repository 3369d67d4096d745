// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// base: arithmetic against loops that cannot be wrong, text without stdio cut at every length, numbers at their limits.
#include "support.h"

#include "base/base.h"
#include "base/format.h"

#include <inttypes.h>
#include <stdio.h>

// --- bits -----------------------------------------------------------------------------------------------------------

static void powers_of_two(void **state) {
    (void)state;
    assert_false(lido__is_power_of_two(0));
    for (unsigned bit = 0; bit < 64; bit++) {
        size_t power = (size_t)1 << bit;
        assert_true(lido__is_power_of_two(power));
        assert_int_equal(lido__is_power_of_two(power + 1), power == 1);
        if (power > 2) assert_false(lido__is_power_of_two(power - 1));
        if (bit > 0) assert_false(lido__is_power_of_two(power | 1));
    }
}

static void rounding(void **state) {
    (void)state;
    for (size_t to = 1; to <= 4096; to *= 2) {
        for (size_t n = 0; n <= 3 * to + 1; n++) {
            size_t up = n, down = n;
            while (up % to != 0) up++;
            while (down % to != 0) down--;
            assert_int_equal(lido__round_up(n, to), up);
            assert_int_equal(lido__round_down(n, to), down);
        }
    }
    assert_int_equal(lido__round_up(SIZE_MAX - 4095, 4096), SIZE_MAX - 4095);
    assert_int_equal(lido__round_down(SIZE_MAX, (size_t)1 << 63), (size_t)1 << 63);
}

static void highest_and_lowest_bit(void **state) {
    (void)state;
    uint64_t random = unit_seed("highest_and_lowest_bit", 1);
    for (unsigned low = 0; low < 64; low++) {
        for (unsigned high = low; high < 64; high++) {
            uint64_t between = high - low < 2 ? 0 : ((UINT64_C(1) << (high - low - 1)) - 1) << (low + 1);
            uint64_t n = UINT64_C(1) << low | UINT64_C(1) << high | (unit_random(&random) & between);
            assert_int_equal(lido__lowest_bit(n), low);
            assert_int_equal(lido__highest_bit(n), high);
        }
    }
}

static void small_helpers(void **state) {
    (void)state;
    struct outer {
        int before;
        double inner;
    } object;
    assert_ptr_equal(LIDO__OWNER_OF(&object.inner, struct outer, inner), &object);
    assert_int_equal(lido__min(3, SIZE_MAX), 3);
    assert_int_equal(lido__min(SIZE_MAX, 3), 3);
    assert_int_equal(lido__max(3, SIZE_MAX), SIZE_MAX);
    assert_int_equal(lido__max(SIZE_MAX, 3), SIZE_MAX);
}

static void fail_an_assertion(void *argument) {
    bool *touched = (bool *)argument;
    LIDO_ASSERT((*touched = true, false));
}

static void assertions(void **state) {
    (void)state;
    bool touched = false;
    if (!UNIT_ASSERTIONS_ON) {
        fail_an_assertion(&touched);    // neither aborts nor evaluates
        assert_false(touched);
        return;
    }
    unit_child child = unit_fork(fail_an_assertion, &touched);
    unit_assert_aborted(&child);
    assert_ptr_equal(strstr(child.text, "lido: internal error: (*touched = true, false) does not hold at "),
                     child.text);
    assert_non_null(strstr(child.text, "test_base.c:"));
    assert_non_null(strstr(child.text, "; please report it\n"));
}

// --- text -----------------------------------------------------------------------------------------------------------

static void assert_text(const char *expected, const char *format, ...) {
    char buffer[256];
    va_list arguments;
    lido__text text = lido__text_over(buffer, sizeof buffer);
    va_start(arguments, format);
    lido__text_vformat(&text, format, arguments);
    va_end(arguments);
    assert_string_equal(buffer, expected);
    assert_int_equal(text.length, strlen(expected));
    assert_ptr_equal(text.start, buffer);
}

static void every_directive(void **state) {
    (void)state;
    assert_text("", "");
    assert_text("plain", "plain");
    assert_text("<word>", "<%s>", "word");
    assert_text("<>", "<%s>", "");
    assert_text("(null)", "%s", (const char *)NULL);
    assert_text("0 7 4294967295", "%u %u %u", 0u, 7u, UINT32_MAX);
    assert_text("0 18446744073709551615", "%z %z", (size_t)0, SIZE_MAX);
    assert_text("0x0 0xdeadbeef 0xffffffffffffffff", "%p %p %p", (void *)0, (void *)0xDEADBEEF, (void *)UINTPTR_MAX);
    assert_text("100%", "%u%%", 100u);
    assert_text("50% of 'all'", "%u%% of '%s'", 50u, "all");
    assert_text("d is no directive", "%d is no directive");
    assert_text("ends with", "ends with%");
    assert_text("%", "%%");
}

static void numbers_as_stdio_writes_them(void **state) {
    (void)state;
    for (unsigned bit = 0; bit < 64; bit++) {
        for (int step = -1; step <= 1; step++) {
            uint64_t n = (UINT64_C(1) << bit) + (uint64_t)(int64_t)step;
            char expected[32], buffer[32];
            lido__text text = lido__text_over(buffer, sizeof buffer);
            lido__text_number(&text, n);
            snprintf(expected, sizeof expected, "%" PRIu64, n);
            assert_string_equal(buffer, expected);
            text = lido__text_over(buffer, sizeof buffer);
            lido__text_address(&text, (const void *)(uintptr_t)n);
            snprintf(expected, sizeof expected, "0x%" PRIx64, n);
            assert_string_equal(buffer, expected);
        }
    }
}

// In a buffer of every size the text is the front of the whole text, ends with NUL, and nothing behind it is written.
static void cut_at_every_length(void **state) {
    (void)state;
    static const char whole[] = "block 0xabc of 'task': 4096 bytes, 17 of 100% (null)";
    for (size_t bytes = 1; bytes <= sizeof whole + 2; bytes++) {
        char buffer[sizeof whole + 8];
        memset(buffer, '#', sizeof buffer);
        lido__text text = lido__text_over(buffer, bytes);
        assert_int_equal(buffer[0], '\0');
        lido__text_format(&text, "block %p of '%s': %z bytes, %u of 100%% %s", (void *)0xABC, "task", (size_t)4096, 17u,
                          (char *)NULL);
        size_t length = lido__min(bytes, sizeof whole) - 1;
        assert_int_equal(text.length, length);
        assert_memory_equal(buffer, whole, length);
        assert_int_equal(buffer[length], '\0');
        for (size_t i = bytes; i < sizeof buffer; i++) assert_int_equal(buffer[i], '#');
    }
}

static void pieces_append(void **state) {
    (void)state;
    char buffer[12];
    lido__text text = lido__text_over(buffer, sizeof buffer);
    lido__text_string(&text, "ab");
    lido__text_chars(&text, "cdefgh", 2);
    assert_string_equal(buffer, "abcd");
    lido__text_chars(&text, "unused", 0);
    assert_string_equal(buffer, "abcd");
    lido__text_number(&text, 1234567890);
    assert_string_equal(buffer, "abcd1234567");
    lido__text_string(&text, "full");
    assert_string_equal(buffer, "abcd1234567");
    assert_int_equal(text.length, sizeof buffer - 1);
}

// --- numbers --------------------------------------------------------------------------------------------------------

static void assert_parsed(const char *s, uint64_t expected) {
    uint64_t n = 77;
    assert_true(lido__parse_number(s, strlen(s), &n));
    assert_int_equal(n, expected);
}

static void assert_refused(const char *s, size_t length) {
    uint64_t n = 77;
    assert_false(lido__parse_number(s, length, &n));
    assert_int_equal(n, 77);    // a refusal leaves the result alone
}

static void parse_number_limits(void **state) {
    (void)state;
    assert_parsed("0", 0);
    assert_parsed("9", 9);
    assert_parsed("4294967296", UINT64_C(1) << 32);
    assert_parsed("18446744073709551615", UINT64_MAX);
    assert_parsed("0000000000000000000000000000018446744073709551615", UINT64_MAX);
    assert_refused("18446744073709551616", 20);    // overflows in the addition
    assert_refused("18446744073709551620", 20);    // in the multiplication
    assert_refused("99999999999999999999", 20);
    assert_refused("184467440737095516150", 21);
    uint64_t n = 0;
    assert_true(lido__parse_number("123456", 3, &n));
    assert_int_equal(n, 123);
}

static void parse_number_junk(void **state) {
    (void)state;
    static const char *const junk[] = {" 1", "1 ", "+1", "-1", "0x10", "1e3", "1.5", "12a", "a12", "1,000", "\n", "1k"};
    assert_refused("", 0);
    assert_refused("5", 0);
    for (size_t i = 0; i < COUNT_OF(junk); i++) assert_refused(junk[i], strlen(junk[i]));
    assert_refused("1\0"
                   "2",
                   3);
    for (int c = 0; c < 256; c++) {
        char s[1] = {(char)c};
        uint64_t n = 77;
        bool digit = c >= '0' && c <= '9';
        assert_int_equal(lido__parse_number(s, 1, &n), digit);
        assert_int_equal(n, digit ? (uint64_t)(c - '0') : 77);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(powers_of_two),
        cmocka_unit_test(rounding),
        cmocka_unit_test(highest_and_lowest_bit),
        cmocka_unit_test(small_helpers),
        cmocka_unit_test(assertions),
        cmocka_unit_test(every_directive),
        cmocka_unit_test(numbers_as_stdio_writes_them),
        cmocka_unit_test(cut_at_every_length),
        cmocka_unit_test(pieces_append),
        cmocka_unit_test(parse_number_limits),
        cmocka_unit_test(parse_number_junk),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
