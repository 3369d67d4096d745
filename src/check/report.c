// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// A finding in words: one line that says it all, then who allocated, who freed, who was seen, and the bytes. As text, or
// as one JSON object a line.
//
// Runs wherever misuse is seen, also in a signal handler: no malloc, no stdio, no lock but the one that keeps reports of
// threads apart, and that one gives up after a while rather than hang.
#include "check/out.h"
#include "check/zone.h"

#include "os/os.h"
#include "os/report.h"
#include "os/tools.h"
#include "trace/stack.h"
#include "trace/unwind.h"

static const char *made_by(const lido__checked *record) {
    static const char *const names[] = {
        [LIDO__CALL_MALLOC] = "malloc",          [LIDO__CALL_NEW] = "new",
        [LIDO__CALL_NEW_ARRAY] = "new[]",        [LIDO__CALL_POOL] = "lido_pool_alloc",
        [LIDO__CALL_ARENA] = "lido_arena_alloc", [LIDO__CALL_HANDLE] = "lido_handle_new"};
    return names[record->call];
}

static const char *ended_by(const lido__checked *record) {
    static const char *const names[] = {[LIDO__END_FREE] = "",
                                        [LIDO__END_RESET] = "reset",
                                        [LIDO__END_DESTROY] = "destroy",
                                        [LIDO__END_REWIND] = "rewind"};
    return names[record->end];
}

// --- where an address is --------------------------------------------------------------------------------------------

typedef struct place {
    const char *side;    // "into", "behind", "before"
    size_t bytes;        // from the start, behind the end, before the start
} place;

static place place_of(const void *address, const lido__checked *record) {
    const char *p = (const char *)address, *end = record->block + record->bytes;
    if (p < record->block) return (place){"before", (size_t)(record->block - p)};
    if (p >= end && p != record->block) return (place){"behind", (size_t)(p - end)};
    return (place){"into", (size_t)(p - record->block)};
}

static bool had_end(const lido__checked *record) {
    // relaxed: a report on what is being changed may be off
    return lido__checked_state(record) == LIDO__CHECK_RESTING;
}

// --- text -----------------------------------------------------------------------------------------------------------

static void name_source(lido__out *out, const lido__check_source *source) {
    if (source->kind[0] == '\0') {
        lido__out_format(out, "%s", source->name);
    } else {
        lido__out_format(out, "%s '%s'", source->kind, source->name);
    }
}

static void headline(lido__out *out, const lido__finding *finding) {
    const lido__checked *record = finding->record;
    lido__out_format(out, finding->call != NULL ? "lido: %s(%p): %s" : "lido: %s%p: %s",
                     finding->call != NULL ? finding->call : "", finding->address, finding->what);
    if (record != NULL) {
        place at = place_of(finding->address, record);
        lido__out_format(out, "; %z bytes %s a block of %z bytes of ", at.bytes, at.side, record->bytes);
        name_source(out, record->source);
        if (finding->expected != NULL && finding->expected != record->source) {
            lido__out_format(out, ", not of ");
            name_source(out, finding->expected);
        }
        if (finding->claimed_bytes != SIZE_MAX && finding->claimed_bytes != record->bytes)
            lido__out_format(out, ", said to have %z", finding->claimed_bytes);
        if (record->call == LIDO__CALL_NEW || record->call == LIDO__CALL_NEW_ARRAY)
            lido__out_format(out, ", made by %s", made_by(record));
    }
    if (finding->damaged_bytes != 0) lido__out_format(out, "; %z bytes damaged", finding->damaged_bytes);
    lido__out_format(out, "\n");
}

static void write_stack(lido__out *out, uint32_t stack) {
    void *const *pcs = NULL;
    size_t count = lido__stack_at(stack, &pcs);
    lido__out_frames(out, pcs, count);
}

static void seen_stack(const lido__finding *finding, void **pcs, size_t most, size_t *count) {
    *count = finding->context != NULL ? lido__unwind_from(pcs, most, finding->context) : lido__unwind(pcs, most, 3);
}

enum { SEEN_FRAMES = 24 };

// Who freed and who allocated it.
static void history_as_text(lido__out *out, const lido__checked *record) {
    uint32_t now = lido__os_clock_ms();
    if (had_end(record)) {
        const char *by = ended_by(record);
        lido__out_format(out, "  freed in thread %u, %u ms ago%s%s:\n", (unsigned)record->ended_thread,
                         (unsigned)lido__os_age_ms(now, record->ended_ms), by[0] != '\0' ? ", by " : "", by);
        write_stack(out, record->ended_stack);
    }
    lido__out_format(out, "  allocated in thread %u, %u ms ago, by %s, as number %z:\n", (unsigned)record->made_thread,
                     (unsigned)lido__os_age_ms(now, record->made_ms), made_by(record), (size_t)record->number);
    write_stack(out, record->made_stack);
    if (record->source->thread != 0)
        lido__out_format(out, "  %s '%s' is confined to thread %u\n", record->source->kind, record->source->name,
                         (unsigned)record->source->thread);
}

static void stacks_as_text(lido__out *out, const lido__finding *finding) {
    const lido__checked *record = finding->record;
    void *pcs[SEEN_FRAMES];
    size_t count;
    seen_stack(finding, pcs, SEEN_FRAMES, &count);
    lido__out_format(out, "  seen in thread %u:\n", (unsigned)lido__os_thread_id());
    lido__out_frames(out, pcs, count);
    if (record != NULL) history_as_text(out, record);
}

// --- memory ---------------------------------------------------------------------------------------------------------

enum { ROW_BYTES = 16, ROWS = 4 };

typedef struct view {
    const unsigned char *start, *end;    // NULL: nothing can be shown
} view;

// Some rows around the address, within what can be read of the slot.
static view visible(const lido__finding *finding) {
    const lido__checked *record = finding->record;
    const lido__zone *zone = record != NULL ? lido__zone_of(record->block) : NULL;
    if (zone == NULL || (zone->paged && had_end(record)) || lido__tools_see_accesses()) return (view){NULL, NULL};
    const char *slot = lido__zone_slot(zone, record), *slot_end = slot + zone->data_bytes;
    const char *start = (const char *)lido__round_down((uintptr_t)finding->address, ROW_BYTES) - ROW_BYTES;
    const char *end = start + ROWS * ROW_BYTES;
    if (start < slot) start = slot;
    if (end > slot_end) end = slot_end;
    if (start >= end) return (view){NULL, NULL};
    return (view){(const unsigned char *)start, (const unsigned char *)end};
}

static bool is_damaged(const lido__finding *finding, const unsigned char *p) {
    const unsigned char *first = (const unsigned char *)finding->damaged;
    return first != NULL && p >= first && p < first + finding->damaged_bytes;
}

static void hex(lido__out *out, unsigned char byte) {
    static const char digits[] = "0123456789abcdef";
    char text[3] = {digits[byte >> 4], digits[byte & 15], '\0'};
    lido__out_format(out, "%s", text);
}

static void memory_as_text(lido__out *out, const lido__finding *finding) {
    view shown = visible(finding);
    if (shown.start == NULL) return;
    lido__out_format(out, finding->damaged_bytes != 0 ? "  memory, damaged bytes in brackets:\n" : "  memory:\n");
    for (const unsigned char *row = shown.start; row < shown.end; row += ROW_BYTES) {
        lido__out_format(out, "    %p ", (const void *)row);
        for (const unsigned char *p = row; p < row + ROW_BYTES && p < shown.end; p++) {
            bool damaged = is_damaged(finding, p);
            lido__out_format(out, damaged ? "[" : " ");
            hex(out, *p);
            lido__out_format(out, damaged ? "]" : " ");
        }
        lido__out_format(out, "\n");
    }
}

// --- JSON -----------------------------------------------------------------------------------------------------------

static void block_as_json(lido__out *out, const lido__finding *finding) {
    const lido__checked *record = finding->record;
    place at = place_of(finding->address, record);
    lido__out_format(out, ",\"offset\":%z,\"side\":\"%s\",\"block\":{\"address\":\"%p\",\"bytes\":%z,\"number\":%z,",
                     at.bytes, at.side, (const void *)record->block, record->bytes, (size_t)record->number);
    lido__out_format(out, "\"by\":\"%s\",\"source\":{\"kind\":", made_by(record));
    lido__out_json(out, record->source->kind);
    lido__out_format(out, ",\"name\":");
    lido__out_json(out, record->source->name);
    lido__out_format(
        out, ",\"block_bytes\":%z},\"allocated\":{\"thread\":%u,\"ms_ago\":%u,\"stack\":", record->source->block_bytes,
        (unsigned)record->made_thread, (unsigned)lido__os_age_ms(lido__os_clock_ms(), record->made_ms));
    write_stack(out, record->made_stack);
    if (had_end(record)) {
        lido__out_format(
            out, "},\"freed\":{\"thread\":%u,\"ms_ago\":%u,\"by\":\"%s\",\"stack\":", (unsigned)record->ended_thread,
            (unsigned)lido__os_age_ms(lido__os_clock_ms(), record->ended_ms), ended_by(record));
        write_stack(out, record->ended_stack);
    }
    lido__out_format(out, "}}");
}

static void as_json(lido__out *out, const lido__finding *finding) {
    void *pcs[SEEN_FRAMES];
    size_t count;
    seen_stack(finding, pcs, SEEN_FRAMES, &count);
    lido__out_format(out, "{\"what\":");
    lido__out_json(out, finding->what);
    lido__out_format(out, ",\"call\":");
    lido__out_json(out, finding->call != NULL ? finding->call : "");
    lido__out_format(out, ",\"address\":\"%p\",\"thread\":%u,\"stack\":", finding->address,
                     (unsigned)lido__os_thread_id());
    lido__out_frames(out, pcs, count);
    if (finding->record != NULL) block_as_json(out, finding);
    if (finding->expected != NULL && finding->record != NULL && finding->expected != finding->record->source) {
        lido__out_format(out, ",\"expected\":{\"kind\":");
        lido__out_json(out, finding->expected->kind);
        lido__out_format(out, ",\"name\":");
        lido__out_json(out, finding->expected->name);
        lido__out_format(out, "}");
    }
    if (finding->claimed_bytes != SIZE_MAX) lido__out_format(out, ",\"claimed_bytes\":%z", finding->claimed_bytes);
    if (finding->damaged_bytes != 0)
        lido__out_format(out, ",\"damaged\":{\"address\":\"%p\",\"bytes\":%z}", (const void *)finding->damaged,
                         finding->damaged_bytes);
    view shown = visible(finding);
    if (shown.start != NULL) {
        lido__out_format(out, ",\"memory\":{\"address\":\"%p\",\"hex\":\"", (const void *)shown.start);
        for (const unsigned char *p = shown.start; p < shown.end; p++) hex(out, *p);
        lido__out_format(out, "\"}");
    }
    lido__out_format(out, "}\n");
}

// --- the report -----------------------------------------------------------------------------------------------------

void lido__check_report(const lido__finding *finding) {
    lido__out out;
    lido__out_open(&out);
    if (out.json) {
        as_json(&out, finding);
    } else {
        headline(&out, finding);
        stacks_as_text(&out, finding);
        memory_as_text(&out, finding);
    }
    lido__out_close(&out);
    lido__misuse_end();
}

void lido__check_describe(const void *address) {
    const lido__checked *record = lido__checked_find(address);
    // relaxed: whoever reports it has stopped the thread that uses it, or it is a race anyhow
    if (record == NULL || lido__checked_state(record) == LIDO__CHECK_FREE) return;
    lido__finding finding = {
        .what = "reported by AddressSanitizer", .address = address, .record = record, .claimed_bytes = SIZE_MAX};
    lido__out out;
    lido__out_open(&out);
    if (out.json) {
        as_json(&out, &finding);
    } else {
        headline(&out, &finding);
        history_as_text(&out, record);
    }
    lido__out_close(&out);
}
