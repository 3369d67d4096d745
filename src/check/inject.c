// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// See inject.h.
#include "check/inject.h"

#include "base/atomics.h"
#include "base/format.h"
#include "os/os.h"
#include "os/report.h"
#include "trace/symbolize.h"
#include "trace/unwind.h"

#include <string.h>

typedef struct rules {
    uint64_t at, every, seed;
    uint64_t chance;    // out of 2^32
    char pool[64], site[64];
} rules;

static rules now;                   // written once, see ready
static _Atomic uint32_t state;      // 0 not read, 1 being read, 2 ready, 3 no good: nothing fails
static _Atomic uint64_t counted;    // relaxed: only the number counts

// Digits, and after a point as many as three more: in thousandths.
static bool parse_thousandths(const char *s, size_t length, uint64_t *out) {
    const char *point = (const char *)memchr(s, '.', length);
    uint64_t whole = 0, rest = 0, scale = 1000;
    size_t before = point != NULL ? (size_t)(point - s) : length;
    if (!lido__parse_number(s, before, &whole) || whole > 100) return false;
    if (point != NULL) {
        size_t after = length - before - 1;
        if (after == 0 || after > 3 || !lido__parse_number(point + 1, after, &rest)) return false;
        for (size_t i = 0; i < after; i++) scale /= 10;
        rest *= scale;
    }
    *out = whole * 1000 + rest;
    return *out <= 100 * 1000;
}

static bool keep_name(char *place, size_t room, const char *value, size_t length) {
    if (length == 0 || length >= room) return false;
    memcpy(place, value, length);
    place[length] = '\0';    // the last of two names counts
    return true;
}

static bool parse_rule(const char *rule, size_t length) {
    const char *equals = (const char *)memchr(rule, '=', length);
    if (equals == NULL) return false;
    size_t name = (size_t)(equals - rule), rest = length - name - 1;
    const char *value = equals + 1;
    uint64_t thousandths;
    if (name == 2 && memcmp(rule, "at", 2) == 0) return lido__parse_number(value, rest, &now.at) && now.at > 0;
    if (name == 5 && memcmp(rule, "every", 5) == 0) return lido__parse_number(value, rest, &now.every) && now.every > 0;
    if (name == 4 && memcmp(rule, "seed", 4) == 0) return lido__parse_number(value, rest, &now.seed);
    if (name == 4 && memcmp(rule, "pool", 4) == 0) return keep_name(now.pool, sizeof now.pool, value, rest);
    if (name == 4 && memcmp(rule, "site", 4) == 0) return keep_name(now.site, sizeof now.site, value, rest);
    if (name != 6 || memcmp(rule, "chance", 6) != 0 || !parse_thousandths(value, rest, &thousandths)) return false;
    now.chance = (thousandths << 32) / (100 * 1000);
    return true;
}

// False, after a line, if a rule is not understood.
static bool parse_all(const char *text) {
    now.seed = lido__os_random();
    while (*text != '\0') {
        size_t length = strcspn(text, ",");
        if (!parse_rule(text, length)) {
            lido__warn("option fault: '%s' is not understood (at=N, every=N, chance=PERCENT, seed=N, pool=NAME, "
                       "site=FUNCTION, "
                       "divided by commas); nothing fails",
                       text);
            return false;
        }
        text += length;
        if (*text == ',') text++;
    }
    if (now.at != 0 || now.every != 0 || now.chance != 0) return true;
    lido__warn("option fault: says where, but not when (at=N, every=N or chance=PERCENT); nothing fails");
    return false;
}

static bool is_ready(void) {
    uint32_t seen = LIDO__ATOMIC_LOAD(&state, acquire);    // pairs with the release below
    if (LIDO_LIKELY(seen >= 2)) return seen == 2;
    // another thread reads them: this one goes free
    if (seen != 0 || !LIDO__ATOMIC_CAS(&state, &seen, 1u, relaxed)) return false;
    bool good = parse_all(lido__option_texts_now.fault);
    LIDO__ATOMIC_STORE(&state, good ? 2u : 3u, release);
    return good;
}

// --- call sites -----------------------------------------------------------------------------------------------------

enum { SITES = 4096, FRAMES = 24 };
static _Atomic uint64_t known[SITES];    // an address and in bit 0 whether it lies in the function; 0: none yet

static bool lies_in_site(void *pc) {
    uint64_t address = (uint64_t)(uintptr_t)pc << 1;
    _Atomic uint64_t *place = &known[(address * UINT64_C(0x9E3779B97F4A7C15)) >> 52];
    uint64_t seen = LIDO__ATOMIC_LOAD(place, relaxed);    // one word says all
    if ((seen & ~UINT64_C(1)) == address) return (seen & 1) != 0;
    lido__frame frame;
    lido__frame_of(pc, &frame);
    bool lies = strcmp(frame.function, now.site) == 0;
    LIDO__ATOMIC_STORE(place, address | lies, relaxed);    // as above
    return lies;
}

static bool is_under_site(void) {
    void *pcs[FRAMES];
    size_t count = lido__unwind(pcs, FRAMES, 2);
    for (size_t i = 0; i < count; i++) {
        if (lies_in_site(pcs[i])) return true;
    }
    return false;
}

// --- the decision ---------------------------------------------------------------------------------------------------

// A number of 32 bits out of the seed and how many came before (the finalizer of MurmurHash3, Appleby 2011).
static uint64_t roll(uint64_t n) {
    uint64_t x = now.seed + n * UINT64_C(0x9E3779B97F4A7C15);
    x = (x ^ x >> 33) * UINT64_C(0xff51afd7ed558ccd);
    x = (x ^ x >> 33) * UINT64_C(0xc4ceb9fe1a85ec53);
    return (x ^ x >> 33) >> 32;
}

bool lido__inject_now(const char *name) {
    if (!is_ready() || (now.pool[0] != '\0' && strcmp(now.pool, name) != 0)) return false;
    if (now.site[0] != '\0' && !is_under_site()) return false;
    uint64_t n = LIDO__ATOMIC_ADD(&counted, 1u, relaxed) + 1;
    return n == now.at || (now.every != 0 && n % now.every == 0) || (now.chance != 0 && roll(n) < now.chance);
}
