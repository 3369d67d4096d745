// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// What is alive, by call site and source. Live blocks are counted into a table of groups of their own mapping, sorted by
// bytes and written; groups with a frame or a source that fits a suppression are left out.
//
// A block that is alive is not proven to be lost: this is the list to read at a moment when all should be gone.
#include "check/out.h"
#include "check/zone.h"

#include "os/os.h"
#include "os/report.h"
#include "trace/stack.h"
#include "trace/symbolize.h"

#include <string.h>

typedef struct group {
    const lido__check_source *source;    // NULL: this place in the table is empty
    uint32_t stack, oldest_ms;
    size_t count, bytes;
} group;

typedef struct table {
    group *groups;
    size_t room, used;                 // room: a power of two
    const lido__check_source *only;    // NULL: all
    uint64_t after;                    // numbers above this
    size_t lost;                       // blocks for whose group there was no room
} table;

static size_t live_now(const lido__check_source *only) {
    size_t count = 0;
    for (const lido__check_source *s = lido__check_sources(); s != NULL; s = s->next) {
        if (only == NULL || s == only) count += s->live;
    }
    return count;
}

static bool table_open(table *t, const lido__check_source *only, uint64_t after) {
    size_t live = live_now(only), room = 256;
    while (room < 2 * live && room < (size_t)1 << 20) room *= 2;
    *t = (table){.groups = (group *)lido__os_map(room * sizeof(group)), .room = room, .only = only, .after = after};
    return t->groups != NULL;
}

static void table_close(table *t) { lido__os_release(t->groups, t->room * sizeof(group)); }

// The group's place, by linear probing; NULL if the table is full.
static group *group_for(table *t, const lido__check_source *source, uint32_t stack) {
    uint64_t hash = ((uint64_t)(uintptr_t)source ^ stack * UINT64_C(0x9E3779B97F4A7C15)) * UINT64_C(0x9E3779B97F4A7C15);
    for (size_t i = hash >> 40, tries = 0; tries < t->room; i++, tries++) {
        group *g = &t->groups[i & (t->room - 1)];
        if (g->source == NULL) {
            if (t->used == t->room / 4 * 3) return NULL;
            t->used++;
            *g = (group){.source = source, .stack = stack, .oldest_ms = UINT32_MAX};
        }
        if (g->source == source && g->stack == stack) return g;
    }
    return NULL;
}

static void count_zone(lido__zone *zone, void *context) {
    table *t = (table *)context;
    for (uint32_t i = 0; i < zone->slot_count; i++) {
        const lido__checked *record = &zone->records[i];
        if (lido__checked_state(record) != LIDO__CHECK_LIVE) continue;
        if ((t->only != NULL && record->source != t->only) || record->number <= t->after) continue;
        group *g = group_for(t, record->source, record->made_stack);
        if (g == NULL) {
            t->lost++;
            continue;
        }
        g->count++;
        g->bytes += record->bytes;
        g->oldest_ms = (uint32_t)lido__min(g->oldest_ms, record->made_ms);
    }
}

// --- order ----------------------------------------------------------------------------------------------------------

// The groups to the front, then by bytes, the most first: a heap sort, which needs no memory.
static void sift(group *g, size_t root, size_t count) {
    for (size_t child; (child = 2 * root + 1) < count; root = child) {
        if (child + 1 < count && g[child + 1].bytes < g[child].bytes) child++;
        if (g[root].bytes <= g[child].bytes) return;
        group moved = g[root];
        g[root] = g[child];
        g[child] = moved;
    }
}

static size_t in_order(table *t) {
    size_t count = 0;
    for (size_t i = 0; i < t->room; i++) {
        if (t->groups[i].source != NULL) t->groups[count++] = t->groups[i];
    }
    for (size_t i = count / 2; i > 0; i--) sift(t->groups, i - 1, count);
    for (size_t end = count; end > 1; end--) {
        group least = t->groups[0];
        t->groups[0] = t->groups[end - 1];
        t->groups[end - 1] = least;
        sift(t->groups, 0, end - 1);
    }
    return count;
}

// --- suppressions ---------------------------------------------------------------------------------------------------

static char patterns[8192];    // read once, lines ending with NUL, "" at the end; [owner] whoever writes a report

static void read_patterns(void) {
    const char *path = lido__option_texts_now.suppressions;
    if (path[0] == '\0' || patterns[0] != '\0') return;
    ptrdiff_t n = lido__os_read_file(path, patterns, sizeof patterns - 2);
    if (n < 0) lido__warn("the file '%s' of the option suppressions cannot be read; nothing is suppressed", path);
    if (n == (ptrdiff_t)sizeof patterns - 2)
        lido__warn("the file '%s' of the option suppressions is longer than 8190 bytes; the rest is ignored", path);
    for (ptrdiff_t i = 0; i < n; i++) {
        if (patterns[i] == '\n') patterns[i] = '\0';
    }
}

// With '*' for any characters.
static bool fits(const char *pattern, const char *text) {
    if (*pattern == '\0') return *text == '\0';
    if (*pattern != '*') return *pattern == *text && fits(pattern + 1, text + 1);
    do {
        if (fits(pattern + 1, text)) return true;
    } while (*text++ != '\0');
    return false;
}

static bool any_fits(const char *text) {
    for (const char *p = patterns; p < patterns + sizeof patterns && *p != '\0'; p += strlen(p) + 1) {
        if (*p != '#' && fits(p, text)) return true;
    }
    return false;
}

static bool is_suppressed(const group *g) {
    if (patterns[0] == '\0') return false;
    if (any_fits(g->source->name)) return true;
    void *const *pcs = NULL;
    size_t count = lido__stack_at(g->stack, &pcs);
    for (size_t i = 0; i < count; i++) {
        lido__frame frame;
        lido__frame_of(pcs[i], &frame);
        if (any_fits(frame.function) || any_fits(frame.file) || any_fits(frame.module)) return true;
    }
    return false;
}

// --- the list -------------------------------------------------------------------------------------------------------

static void write_group(lido__out *out, const group *g) {
    uint32_t age = lido__os_age_ms(lido__os_clock_ms(), g->oldest_ms);
    void *const *pcs = NULL;
    size_t count = lido__stack_at(g->stack, &pcs);
    if (out->json) {
        lido__out_format(out, "{\"what\":\"alive\",\"kind\":");
        lido__out_json(out, g->source->kind);
        lido__out_format(out, ",\"source\":");
        lido__out_json(out, g->source->name);
        lido__out_format(out, ",\"count\":%z,\"bytes\":%z,\"oldest_ms\":%u,\"stack\":", g->count, g->bytes,
                         (unsigned)age);
        lido__out_frames(out, pcs, count);
        lido__out_format(out, "}\n");
        return;
    }
    bool named = g->source->kind[0] != '\0';
    lido__out_format(out, "lido: alive: %z blocks, %z bytes, of %s%s%s%s, the oldest for %u ms, allocated at\n",
                     g->count, g->bytes, g->source->kind, named ? " '" : "", g->source->name, named ? "'" : "",
                     (unsigned)age);
    lido__out_frames(out, pcs, count);
}

static size_t write_table(table *t) {
    lido__out out;
    size_t count = in_order(t), shown = 0, blocks = t->lost, bytes = 0;
    lido__out_open(&out);
    read_patterns();
    for (size_t i = 0; i < count; i++) {
        if (is_suppressed(&t->groups[i])) continue;
        write_group(&out, &t->groups[i]);
        blocks += t->groups[i].count;
        bytes += t->groups[i].bytes;
        shown++;
    }
    if (!out.json && (shown > 0 || t->lost > 0))
        lido__out_format(&out, "lido: alive in all: %z blocks, %z bytes, from %z places; %z places are suppressed\n",
                         blocks, bytes, shown, count - shown);
    lido__out_close(&out);
    return shown;
}

size_t lido__check_alive(const lido__check_source *only, uint64_t after) {
    table t;
    if (!table_open(&t, only, after)) {
        lido__warn("no memory for the list of live blocks");
        return 0;
    }
    lido__zones_each(count_zone, &t);
    size_t shown = write_table(&t);
    table_close(&t);
    return shown;
}

size_t lido_check_leaks(void) { return lido_check_leaks_since(0); }
size_t lido_check_leaks_since(uint64_t moment) {
    lido__check_clear_graves();
    return lido__check_alive(NULL, moment);
}
