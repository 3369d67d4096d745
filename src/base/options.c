// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// The option table, its grammar, and the environment. No allocation, no stdio: this runs inside the first malloc.
#include "base/options.h"

#include "base/atomics.h"
#include "base/format.h"

#include <lido/check.h>
#include <string.h>

// A library that is itself built with AddressSanitizer is so for its own tests, which look at pools as they are without it.
#if defined(__SANITIZE_ADDRESS__)
#define TOOLS_DEFAULT 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TOOLS_DEFAULT 0
#endif
#endif
#ifndef TOOLS_DEFAULT
#define TOOLS_DEFAULT 1
#endif

lido__option_values lido__options = {
    .purge_delay_ms = 1000,
    .huge_from_mb = 16,
    .hugetlb = 0,
    .populate = 1,
    .misuse_continues = 0,
    .stats_at_exit = 0,
    .check = LIDO_CHECK_OFF,
    .check_sample = 1000,
    .check_rest_kb = 8 << 10,
    .check_frames = 16,
    .check_front = 0,
    .leaks_at_exit = 0,
    .report_json = 0,
    .tools = TOOLS_DEFAULT,
};
lido__option_texts lido__option_texts_now;

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
    {"check", "off|light|sample:N|guard|page", "off",
     "find misuse of memory, see <lido/check.h>: in malloc, and in pools that are made from then on; "
     "pool.NAME.check=... for "
     "the pools of one name. Read at start-up. Without N one allocation in 1000 is picked"},
    {"check_rest_kb", "KiB", "8192",
     "how much freed memory check=guard keeps from being used again: as much as most programs free in some "
     "milliseconds"},
    {"check_frames", "1..24", "16", "how many callers a stack of check mode has: enough for most, and each costs time"},
    {"check_edge", "rear|front", "rear",
     "which edge of a block check=page and sample put at an inaccessible page: rear sees reads behind a block, front "
     "those before it"},
    {"leaks", "none|exit", "none",
     "exit reports what is alive when the process ends, by call site; needs check=guard or page"},
    {"report", "FILE", "-", "where reports of check mode go; the default is stderr"},
    {"report_format", "text|json", "text", "json is one object a line"},
    {"symbolizer", "PATH|none", "-",
     "the command lido, which finds lines for stacks; the default is the one in PATH. none starts no process"},
    {"suppressions", "FILE", "-",
     "patterns, one a line: leaks with a function, file or pool that fits are not reported"},
    {"fault", "RULE,...", "-",
     "make allocations fail: at=N, every=N, chance=PERCENT, seed=N, pool=NAME (malloc is one), site=FUNCTION"},
    {"tools", "on|off", TOOLS_DEFAULT != 0 ? "on" : "off",
     "where AddressSanitizer, Valgrind's memcheck or heaptrack watches the process, tell it of each block; if check is "
     "off, it becomes guard then (for heaptrack light). Read at start-up"},
};
enum { OPTION_COUNT = sizeof table / sizeof table[0] };

// Which entry is which: the order of the table.
enum {
    PURGE_DELAY_MS,
    HUGE_FROM_MB,
    HUGETLB,
    POPULATE,
    ON_MISUSE,
    STATS,
    CHECK,
    CHECK_REST_KB,
    CHECK_FRAMES,
    CHECK_EDGE,
    LEAKS,
    REPORT,
    REPORT_FORMAT,
    SYMBOLIZER,
    SUPPRESSIONS,
    FAULT,
    TOOLS,
};
_Static_assert(TOOLS + 1 == OPTION_COUNT, "each entry of the table has its name here");

// NULL for an option whose value is text.
static _Atomic uint32_t *value_of(size_t option) {
    static _Atomic uint32_t *const values[OPTION_COUNT] = {
        [PURGE_DELAY_MS] = &lido__options.purge_delay_ms,
        [HUGE_FROM_MB] = &lido__options.huge_from_mb,
        [HUGETLB] = &lido__options.hugetlb,
        [POPULATE] = &lido__options.populate,
        [ON_MISUSE] = &lido__options.misuse_continues,
        [STATS] = &lido__options.stats_at_exit,
        [CHECK] = &lido__options.check,
        [CHECK_REST_KB] = &lido__options.check_rest_kb,
        [CHECK_FRAMES] = &lido__options.check_frames,
        [CHECK_EDGE] = &lido__options.check_front,
        [LEAKS] = &lido__options.leaks_at_exit,
        [REPORT_FORMAT] = &lido__options.report_json,
        [TOOLS] = &lido__options.tools,
    };
    return values[option];
}

static char *text_of(size_t option) {
    switch (option) {
        case REPORT: return lido__option_texts_now.report;
        case SYMBOLIZER: return lido__option_texts_now.symbolizer;
        case SUPPRESSIONS: return lido__option_texts_now.suppressions;
        case FAULT: return lido__option_texts_now.fault;
        default: return NULL;
    }
}

// The words that stand for numbers. An option that is listed here takes these words; "never" besides numbers.
static const struct {
    uint8_t option;
    bool numbers_too;
    const char *word;
    uint32_t value;
} words[] = {
    {HUGE_FROM_MB, true, "never", UINT32_MAX},
    {HUGETLB, false, "0", 0},
    {HUGETLB, false, "1", 1},
    {POPULATE, false, "0", 0},
    {POPULATE, false, "1", 1},
    {ON_MISUSE, false, "abort", 0},
    {ON_MISUSE, false, "continue", 1},
    {STATS, false, "none", 0},
    {STATS, false, "exit", 1},
    {CHECK, false, "off", LIDO_CHECK_OFF},
    {CHECK, false, "light", LIDO_CHECK_LIGHT},
    {CHECK, false, "sample", LIDO_CHECK_SAMPLE},
    {CHECK, false, "guard", LIDO_CHECK_GUARD},
    {CHECK, false, "page", LIDO_CHECK_PAGE},
    {CHECK_EDGE, false, "rear", 0},
    {CHECK_EDGE, false, "front", 1},
    {LEAKS, false, "none", 0},
    {LEAKS, false, "exit", 1},
    {REPORT_FORMAT, false, "text", 0},
    {REPORT_FORMAT, false, "json", 1},
    {TOOLS, false, "off", 0},
    {TOOLS, false, "on", 1},
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
    if (option == CHECK_FRAMES && (n < 1 || n > 24)) return false;
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

// Levels of single pools.
enum { POOL_RULES_MAX = 32 };
static struct {
    char name[32];    // as long as a pool's
    uint32_t check;
} pool_rules[POOL_RULES_MAX];
static unsigned pool_rule_count;

uint32_t lido__options_check_of(const char *pool_name) {
    for (unsigned i = pool_rule_count; i > 0; i--) {    // the last word counts
        if (strcmp(pool_rules[i - 1].name, pool_name) == 0) return pool_rules[i - 1].check;
    }
    return LIDO__ATOMIC_LOAD(&lido__options.check, relaxed);    // relaxed: see options.h
}

// pool.NAME.check=LEVEL
static bool set_pool_pair(const char *pair, size_t length, const char *equals) {
    static const char suffix[] = ".check";
    enum { PREFIX = sizeof "pool." - 1, SUFFIX = sizeof suffix - 1 };
    size_t name_length = (size_t)(equals - pair);
    if (name_length <= PREFIX + SUFFIX || memcmp(equals - SUFFIX, suffix, SUFFIX) != 0) {
        warn_pair("unknown name", pair, length, "of a pool: pool.NAME.check");
        return false;
    }
    uint32_t level;
    if (!parse_value(CHECK, equals + 1, length - name_length - 1, &level)) {
        warn_pair("bad value", pair, length, table[CHECK].value_help);
        return false;
    }
    name_length -= PREFIX + SUFFIX;
    if (pool_rule_count == POOL_RULES_MAX || name_length >= sizeof pool_rules[0].name) {
        warn_pair("cannot be kept", pair, length, "32 pools at most, with names of 31 bytes at most");
        return false;
    }
    memcpy(pool_rules[pool_rule_count].name, pair + PREFIX, name_length);
    pool_rules[pool_rule_count++].check = level;
    return true;
}

static bool set_text(size_t option, const char *pair, size_t length, const char *value, size_t value_length) {
    if (value_length >= LIDO__OPTION_TEXT_BYTES) {
        warn_pair("too long", pair, length, "255 bytes at most");
        return false;
    }
    if (same(value, value_length, "-")) value_length = 0;    // none, as the table's default says
    memcpy(text_of(option), value, value_length);
    text_of(option)[value_length] = '\0';
    // calls must come to the slow halves to be made to fail
    if (option == FAULT && value_length > 0 && LIDO__ATOMIC_LOAD(&lido__options.check, relaxed) == LIDO_CHECK_OFF)
        LIDO__ATOMIC_STORE(&lido__options.check, (uint32_t)LIDO_CHECK_LIGHT, relaxed);    // relaxed: see options.h
    return true;
}

static bool set_pair(const char *pair, size_t length) {
    const char *equals = memchr(pair, '=', length);
    if (equals == NULL) {
        warn_pair("no value", pair, length, "write NAME=VALUE");
        return false;
    }
    size_t name_length = (size_t)(equals - pair);
    if (name_length > 5 && memcmp(pair, "pool.", 5) == 0) return set_pool_pair(pair, length, equals);
    for (size_t i = 0; i < OPTION_COUNT; i++) {
        if (!same(pair, name_length, table[i].name)) continue;
        const char *value = equals + 1;
        size_t value_length = length - name_length - 1;
        if (text_of(i) != NULL) return set_text(i, pair, length, value, value_length);
        uint32_t number;
        if (!parse_value(i, value, value_length, &number)) {
            warn_pair("bad value", pair, length, table[i].value_help);
            return false;
        }
        LIDO__ATOMIC_STORE(value_of(i), number, relaxed);    // relaxed: see options.h
        return true;
    }
    warn_pair("unknown name", pair, length, "'lido options' lists them");
    return false;
}

// The N of check=sample:N, which is a piece of its own. False: there is none.
static bool set_sample(const char *text, size_t length) {
    static const char after[] = "check=sample:";
    enum { AFTER = sizeof after - 1 };
    uint64_t n;
    if (memcmp(text - AFTER, after, AFTER) != 0 || !lido__parse_number(text, length, &n)) return false;
    if (n == 0 || n >= UINT32_MAX) return false;
    LIDO__ATOMIC_STORE(&lido__options.check_sample, (uint32_t)n, relaxed);    // relaxed: see options.h
    return true;
}

int lido_options_set(const char *text) {
    int bad = 0;
    for (const char *piece = text; piece != NULL && *piece != '\0';) {
        size_t length = strcspn(piece, ":");
        bool sample = piece - text >= (ptrdiff_t)sizeof "check=sample:" - 1 && set_sample(piece, length);
        if (length > 0 && !sample && !set_pair(piece, length)) bad++;
        piece += length;
        if (*piece == ':') piece++;
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
        if (text_of(i) != NULL) {
            lido__text_string(&text, text_of(i)[0] != '\0' ? text_of(i) : "-");
            return true;
        }
        uint32_t value = LIDO__ATOMIC_LOAD(value_of(i), relaxed);
        for (size_t w = 0; w < WORD_COUNT; w++) {
            if (words[w].option != i || words[w].value != value) continue;
            lido__text_string(&text, words[w].word);
            if (i == CHECK && value == LIDO_CHECK_SAMPLE)
                lido__text_format(&text, ":%u", (unsigned)LIDO__ATOMIC_LOAD(&lido__options.check_sample, relaxed));
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
