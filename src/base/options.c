// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// The option table, its grammar, and the environment. No allocation, no stdio: this runs inside the first malloc.
#include "base/options.h"

#include "base/atomics.h"
#include "base/format.h"

#include <string.h>

lido__option_values lido__options = {
    .purge_delay_ms = 1000,
    .huge_from_mb = 16,
    .hugetlb = 0,
    .populate = 1,
    .misuse_continues = 0,
    .stats_at_exit = 0,
};

void (*lido__options_warn)(const char *format, ...);

static const lido_option_info table[] = {
    {"purge_delay_ms", "milliseconds", "1000",
     "give free memory back after this long, at the next free of a slab, large or huge object; 0 at once. A second "
     "outlasts the phases of most programs; each return costs faults later"},
    {"huge_from_mb", "MiB|never", "16",
     "ask for huge pages once the heap is this large: a half-used 2 MiB page then wastes at most an eighth"},
    {"hugetlb", "0|1", "0",
     "take huge objects (above 8 MiB, or grown by realloc) of 2 MiB and more from the huge pages that the system has "
     "set aside (vm.nr_hugepages), while there are "
     "any; they are nobody else's then"},
    {"populate", "0|1", "1", "bring in the fresh slabs of a growing pool in one call instead of a fault per page"},
    {"on_misuse", "abort|continue", "abort",
     "after the line that reports a misuse; continue ignores the offending call"},
    {"stats", "none|exit", "none", "exit writes one line of totals to stderr when the process ends"},
};
enum { OPTION_COUNT = sizeof table / sizeof table[0] };

static _Atomic uint32_t *value_of(size_t option) {
    _Atomic uint32_t *const values[OPTION_COUNT] = {
        &lido__options.purge_delay_ms, &lido__options.huge_from_mb,     &lido__options.hugetlb,
        &lido__options.populate,       &lido__options.misuse_continues, &lido__options.stats_at_exit,
    };
    return values[option];
}

// The words that stand for numbers. An option that is listed here takes these words; "never" besides numbers.
static const struct {
    uint8_t option;
    bool numbers_too;
    const char *word;
    uint32_t value;
} words[] = {
    {1, true, "never", UINT32_MAX},
    {2, false, "0", 0},
    {2, false, "1", 1},
    {3, false, "0", 0},
    {3, false, "1", 1},
    {4, false, "abort", 0},
    {4, false, "continue", 1},
    {5, false, "none", 0},
    {5, false, "exit", 1},
};
enum { WORD_COUNT = sizeof words / sizeof words[0] };

static bool same(const char *a, size_t a_length, const char *b) {
    return strlen(b) == a_length && memcmp(a, b, a_length) == 0;
}

static bool parse_value(size_t option, const char *s, size_t length, uint32_t *out) {
    bool numbers = true;
    for (size_t i = 0; i < WORD_COUNT; i++) {
        if (words[i].option != option) continue;
        if (same(s, length, words[i].word)) {
            *out = words[i].value;
            return true;
        }
        numbers = words[i].numbers_too;
    }
    uint64_t n;
    if (!numbers || !lido__parse_number(s, length, &n) || n >= UINT32_MAX) return false;
    *out = (uint32_t)n;
    return true;
}

static void warn_pair(const char *what, const char *pair, size_t length, const char *hint) {
    if (lido__options_warn == NULL) return;
    char text[80];
    lido__text copy = lido__text_over(text, sizeof text);
    lido__text_chars(&copy, pair, length);
    lido__options_warn("option '%s': %s (%s); ignored", text, what, hint);
}

static bool set_pair(const char *pair, size_t length) {
    const char *equals = memchr(pair, '=', length);
    if (equals == NULL) {
        warn_pair("no value", pair, length, "write NAME=VALUE");
        return false;
    }
    size_t name_length = (size_t)(equals - pair);
    for (size_t i = 0; i < OPTION_COUNT; i++) {
        if (!same(pair, name_length, table[i].name)) continue;
        uint32_t value;
        if (!parse_value(i, equals + 1, length - name_length - 1, &value)) {
            warn_pair("bad value", pair, length, table[i].value_help);
            return false;
        }
        LIDO__ATOMIC_STORE(value_of(i), value, relaxed);    // relaxed: see options.h
        return true;
    }
    warn_pair("unknown name", pair, length, "'lido options' lists them");
    return false;
}

int lido_options_set(const char *text) {
    int bad = 0;
    while (text != NULL && *text != '\0') {
        size_t length = strcspn(text, ":");
        if (length > 0 && !set_pair(text, length)) bad++;
        text += length;
        if (*text == ':') text++;
    }
    return bad;
}

const lido_option_info *lido_options_list(size_t *count) {
    *count = OPTION_COUNT;
    return table;
}

bool lido_option_text(const char *name, char *buffer, size_t buffer_bytes) {
    if (buffer_bytes == 0) return false;
    lido__text text = lido__text_over(buffer, buffer_bytes);
    for (size_t i = 0; i < OPTION_COUNT; i++) {
        if (strcmp(name, table[i].name) != 0) continue;
        uint32_t value = LIDO__ATOMIC_LOAD(value_of(i), relaxed);
        for (size_t w = 0; w < WORD_COUNT; w++) {
            if (words[w].option != i || words[w].value != value) continue;
            lido__text_string(&text, words[w].word);
            return true;
        }
        lido__text_number(&text, value);
        return true;
    }
    return false;
}

void lido__options_load(char *const *environment) {
    static atomic_flag loaded = ATOMIC_FLAG_INIT;
    if (environment == NULL || atomic_flag_test_and_set_explicit(&loaded, memory_order_relaxed)) return;
    static const char name[] = "LIDO_OPTIONS=";
    for (; *environment != NULL; environment++) {
        if (strncmp(*environment, name, sizeof name - 1) == 0) {
            lido_options_set(*environment + sizeof name - 1);
            return;
        }
    }
}
