// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// Options: the grammar, every option with good and bad values, the exact warnings, and LIDO_OPTIONS of the environment,
// which a second run of this program (argument "print") reads at its start.
#include "support.h"

#include "base/options.h"
#include "pool/pool.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

// Off in a library that was itself built with AddressSanitizer, see src/os/tools.h.
#if UNIT_ASAN
#define TOOLS "off"
#else
#define TOOLS "on"
#endif

// A row for each option; a new option without a row fails every_option.
typedef struct option_case {
    const char *name, *start;
    const char *good[8];    // as written and as read back; NULL ends
    const char *bad[8];
} option_case;

static const option_case cases[] = {
    {"purge_delay_ms",
     "1000",
     {"0", "1", "4294967294", "1000"},
     {"", "-1", "4294967295", "4294967296", "never", "1s", " 1"}},
    {"huge_from_mb", "16", {"0", "never", "4294967294", "16"}, {"", "NEVER", "neve", "nevers", "4294967295", "1m"}},
    {"hugetlb", "0", {"1", "0"}, {"", "2", "never", "on", "00"}},
    {"populate", "1", {"0", "1"}, {"", "2", "01", "yes", "true", "10"}},
    {"on_misuse", "abort", {"continue", "abort"}, {"", "0", "1", "Abort", "abor", "aborts"}},
    {"stats", "none", {"exit", "none"}, {"", "0", "yes", "exits"}},
    {"check", "off", {"light", "sample:7", "sample:1000", "guard", "page", "off"}, {"", "1", "on", "sampled", "Guard"}},
    {"check_rest_kb", "8192", {"0", "4294967294", "8192"}, {"", "never", "-1", "1k"}},
    {"check_frames", "16", {"1", "24", "16"}, {"", "0", "25"}},
    {"check_edge", "rear", {"front", "rear"}, {"", "0", "both"}},
    {"leaks", "none", {"exit", "none"}, {"", "1"}},
    {"report", "-", {"some/file", "-"}, {NULL}},
    {"report_format", "text", {"json", "text"}, {"", "JSON"}},
    {"symbolizer", "-", {"/usr/bin/lido", "-"}, {NULL}},
    {"suppressions", "-", {"a file", "-"}, {NULL}},
    {"fault", "-", {"at=5,every=2", "-"}, {NULL}},    // its rules are read when first needed
    {"tools", TOOLS, {"on", "off", TOOLS}, {"", "1", "auto"}},
};

static void assert_reads(const char *name, const char *expected) {
    char buffer[64] = "";
    assert_true(lido_option_text(name, buffer, sizeof buffer));
    assert_string_equal(buffer, expected);
}

static int set_quietly(const char *text) {
    unit_catch_begin();
    int bad = lido_options_set(text);
    unit_catch_end();
    return bad;
}

static void every_option(void **state) {
    (void)state;
    size_t count;
    const lido_option_info *list = lido_options_list(&count);
    assert_int_equal(count, COUNT_OF(cases));
    for (size_t i = 0; i < count; i++) {
        assert_string_equal(list[i].name, cases[i].name);
        assert_string_equal(list[i].default_text, cases[i].start);
        assert_true(strlen(list[i].help) > 20 && strchr(list[i].help, '\n') == NULL);
        assert_reads(cases[i].name, cases[i].start);
        char pair[80];
        for (size_t g = 0; cases[i].good[g] != NULL; g++) {
            snprintf(pair, sizeof pair, "%s=%s", cases[i].name, cases[i].good[g]);
            assert_int_equal(lido_options_set(pair), 0);
            assert_reads(cases[i].name, cases[i].good[g]);
        }
        assert_reads(cases[i].name, cases[i].start);    // the last good value is the default
        for (size_t b = 0; cases[i].bad[b] != NULL; b++) {
            char expected[256];
            snprintf(pair, sizeof pair, "%s=%s", cases[i].name, cases[i].bad[b]);
            snprintf(expected, sizeof expected, "lido: option '%s': bad value (%s); ignored\n", pair,
                     list[i].value_help);
            unit_catch_begin();
            int bad = lido_options_set(pair);
            assert_string_equal(unit_catch_end(), expected);
            assert_int_equal(bad, 1);
            assert_reads(cases[i].name, cases[i].start);
        }
    }
}

static void assert_warns(const char *text, int bad, const char *expected) {
    unit_catch_begin();
    int got = lido_options_set(text);
    assert_string_equal(unit_catch_end(), expected);
    assert_int_equal(got, bad);
}

static void grammar_and_warnings(void **state) {
    (void)state;
    assert_warns(NULL, 0, "");
    assert_warns("", 0, "");
    assert_warns(":::", 0, "");
    assert_warns("populate", 1, "lido: option 'populate': no value (write NAME=VALUE); ignored\n");
    assert_warns("=1", 1, "lido: option '=1': unknown name ('lido options' lists them); ignored\n");
    assert_warns("populat=1", 1, "lido: option 'populat=1': unknown name ('lido options' lists them); ignored\n");
    assert_warns("populates=1", 1, "lido: option 'populates=1': unknown name ('lido options' lists them); ignored\n");
    assert_warns("Populate=1", 1, "lido: option 'Populate=1': unknown name ('lido options' lists them); ignored\n");
    assert_warns(" populate=1", 1, "lido: option ' populate=1': unknown name ('lido options' lists them); ignored\n");
    assert_warns("populate=1=1", 1, "lido: option 'populate=1=1': bad value (0|1); ignored\n");
    // a long pair is cut at 79 characters
    assert_warns("aaaaaaaaa1aaaaaaaaa2aaaaaaaaa3aaaaaaaaa4aaaaaaaaa5aaaaaaaaa6aaaaaaaaa7aaaaaaaaa8=x", 1,
                 "lido: option 'aaaaaaaaa1aaaaaaaaa2aaaaaaaaa3aaaaaaaaa4aaaaaaaaa5aaaaaaaaa6aaaaaaaaa7aaaaaaaaa':"
                 " unknown name ('lido options' lists them); ignored\n");
}

static void bad_pairs_do_not_stop_good_ones(void **state) {
    (void)state;
    assert_warns(":purge_delay_ms=5:nonsense::stats=maybe:populate=0:", 2,
                 "lido: option 'nonsense': no value (write NAME=VALUE); ignored\n"
                 "lido: option 'stats=maybe': bad value (none|exit); ignored\n");
    assert_reads("purge_delay_ms", "5");
    assert_reads("populate", "0");
    assert_int_equal(lido_options_set("purge_delay_ms=1:purge_delay_ms=1000:populate=1"), 0);    // the last one counts
    assert_reads("purge_delay_ms", "1000");
    assert_int_equal(set_quietly("a=b:c=d:e"), 3);
}

static void reading_back(void **state) {
    (void)state;
    char buffer[8] = "before";
    assert_false(lido_option_text("unknown", buffer, sizeof buffer));
    assert_false(lido_option_text("", buffer, sizeof buffer));
    assert_false(lido_option_text("populate", buffer, 0));
    assert_true(lido_option_text("on_misuse", buffer, 3));
    assert_string_equal(buffer, "ab");
    assert_true(lido_option_text("purge_delay_ms", buffer, 1));
    assert_string_equal(buffer, "");
}

static void values_reach_their_readers(void **state) {
    (void)state;
    assert_int_equal(
        lido_options_set("purge_delay_ms=7:huge_from_mb=never:hugetlb=1:populate=0:on_misuse=continue:stats=exit"), 0);
    assert_int_equal(lido__options.purge_delay_ms, 7);
    assert_int_equal(lido__options.huge_from_mb, UINT32_MAX);
    assert_int_equal(lido__options.hugetlb, 1);
    assert_int_equal(lido__options.populate, 0);
    assert_int_equal(lido__options.misuse_continues, 1);
    assert_int_equal(lido__options.stats_at_exit, 1);
    assert_int_equal(
        lido_options_set("purge_delay_ms=1000:huge_from_mb=16:hugetlb=0:populate=1:on_misuse=abort:stats=none"), 0);
}

static void before_the_warner_is_known(void **state) {
    (void)state;
    void (*warner)(const char *, ...) = lido__options_warn;
    lido__options_warn = NULL;
    assert_warns("nonsense=1", 1, "");    // silent, counted, no crash
    lido__options_warn = warner;
}

// --- the environment ------------------------------------------------------------------------------------------------

// What "print" does: the values as they stand when main begins; then a second load, which must change nothing.
static int print_options(void) {
    size_t count;
    const lido_option_info *list = lido_options_list(&count);
    for (int load = 0; load < 2; load++) {
        for (size_t i = 0; i < count; i++) {
            char value[64];
            if (!lido_option_text(list[i].name, value, sizeof value)) return 1;
            fprintf(stderr, "%s=%s ", list[i].name, value);
        }
        char *other[] = {"LIDO_OPTIONS=purge_delay_ms=99", NULL};
        lido__options_load(other);
        lido__options_load(NULL);
    }
    fflush(stderr);
    return 0;
}

static void run_print(void *environment) {
    char *arguments[] = {"test", "print", NULL};
    execve("/proc/self/exe", arguments, (char **)environment);
}

static void assert_environment(char *variable, const char *expected_warning, const char *expected_values) {
    char *environment[] = {"OTHER=1", "LIDO_OPTIONSX=purge_delay_ms=4", variable, "LIDO_OPTIONS=populate=0", NULL};
    if (variable == NULL) environment[2] = environment[3] = NULL;
    unit_child child = unit_fork(run_print, environment);
    unit_assert_done(&child);
    char expected[1024];
    snprintf(expected, sizeof expected, "%s%s%s", expected_warning, expected_values, expected_values);
    assert_string_equal(child.text, expected);
}

static void environment_is_read_once(void **state) {
    (void)state;
#define OF_CHECK_MODE                                                                                    \
    "check=off check_rest_kb=8192 check_frames=16 check_edge=rear leaks=none report=- report_format=text symbolizer=- " \
    "suppressions=- "                                                                                    \
    "fault=- tools=" TOOLS " "
    static const char defaults[] =
        "purge_delay_ms=1000 huge_from_mb=16 hugetlb=0 populate=1 on_misuse=abort stats=none " OF_CHECK_MODE;
    assert_environment(NULL, "", defaults);
    assert_environment("LIDO_OPTIONS=", "", defaults);
    assert_environment(
        "LIDO_OPTIONS=purge_delay_ms=0:on_misuse=continue", "",
        "purge_delay_ms=0 huge_from_mb=16 hugetlb=0 populate=1 on_misuse=continue stats=none " OF_CHECK_MODE);
    assert_environment(
        "LIDO_OPTIONS=verbose=1:huge_from_mb=never",
        "lido: option 'verbose=1': unknown name ('lido options' lists them); ignored\n",
        "purge_delay_ms=1000 huge_from_mb=never hugetlb=0 populate=1 on_misuse=abort stats=none " OF_CHECK_MODE);
}

int main(int count, char **arguments) {
    lido__start();    // also links the file that says where warnings go
    if (count == 2 && strcmp(arguments[1], "print") == 0) return print_options();
    unsetenv("LIDO_OPTIONS");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_option),
        cmocka_unit_test(grammar_and_warnings),
        cmocka_unit_test(bad_pairs_do_not_stop_good_ones),
        cmocka_unit_test(reading_back),
        cmocka_unit_test(values_reach_their_readers),
        cmocka_unit_test(before_the_warner_is_known),
        cmocka_unit_test(environment_is_read_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
