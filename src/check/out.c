// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// See out.h.
#include "check/out.h"

#include "base/atomics.h"
#include "base/options.h"
#include "os/os.h"
#include "os/report.h"
#include "trace/symbolize.h"

#include <stdarg.h>
#include <string.h>

static _Atomic uint32_t reporting;    // [atomic:out] the thread whose report is being written; 0: none

static bool enter(uint32_t self) {
    uint64_t deadline = lido__os_time_ns() + UINT64_C(1000000000);
    for (uint32_t other = 0; !LIDO__ATOMIC_CAS(&reporting, &other, self, acquire); other = 0) {
        if (other == self) return false;
        if (!lido__os_wait_until(&reporting, other, deadline)) break;    // it died, or hangs: better mixed than none
    }
    return true;
}

void lido__out_open(lido__out *out) {
    out->symbolizer = lido__symbolizer_open();
    const char *path = lido__option_texts_now.report;
    out->length = 0;
    out->json = LIDO__ATOMIC_LOAD(&lido__options.report_json, relaxed) != 0;    // relaxed: see base/options.h
    out->nested = !enter(lido__os_thread_id());
    out->file = path[0] != '\0' ? lido__os_append_to(path) : -1;
    if (path[0] != '\0' && out->file < 0)
        lido__warn("the file '%s' of the option report cannot be written; the report follows", path);
}

static void flush(lido__out *out) {
    lido__os_write_to(out->file, out->bytes, out->length);
    out->length = 0;
}

void lido__out_close(lido__out *out) {
    flush(out);
    if (out->file >= 0) lido__os_close(out->file);
    if (out->symbolizer) lido__symbolizer_close();
    if (out->nested) return;
    LIDO__ATOMIC_STORE(&reporting, 0u, release);    // pairs with the acquire in enter
    lido__os_wake_one(&reporting);
}

static void append(lido__out *out, const char *bytes, size_t length) {
    if (out->length + length > LIDO__OUT_BYTES) flush(out);
    memcpy(out->bytes + out->length, bytes, length);
    out->length += length;
}

void lido__out_format(lido__out *out, const char *format, ...) {
    char piece[512];
    lido__text text = lido__text_over(piece, sizeof piece);
    va_list arguments;
    va_start(arguments, format);
    lido__text_vformat(&text, format, arguments);
    va_end(arguments);
    append(out, piece, text.length);
}

void lido__out_json(lido__out *out, const char *s) {
    char piece[LIDO__OUT_BYTES];
    lido__text text = lido__text_over(piece, sizeof piece);
    lido__text_json(&text, s);
    append(out, piece, text.length);
}

// --- stacks ---------------------------------------------------------------------------------------------------------

static void append_line(const char *text, size_t length, void *context) { append((lido__out *)context, text, length); }

static void frame_as_json(const lido__frame *frame, size_t number, bool inlined, void *context) {
    lido__out *out = (lido__out *)context;
    bool first = out->bytes[out->length - 1] == '[';
    lido__out_format(out, "%s{\"number\":%z,\"pc\":\"%p\",\"function\":", first ? "" : ",", number, frame->pc);
    lido__out_json(out, frame->function);
    lido__out_format(out, ",\"inlined\":%s,\"file\":", inlined ? "true" : "false");
    lido__out_json(out, frame->file);
    lido__out_format(out, ",\"line\":%u,\"module\":", frame->line);
    lido__out_json(out, frame->module);
    lido__out_format(out, ",\"offset\":\"%p\"}", (const void *)frame->offset);
}

void lido__out_frames(lido__out *out, void *const *pcs, size_t count) {
    if (!out->json) {
        lido__stack_write(pcs, count, append_line, out);
        return;
    }
    append(out, "[", 1);
    lido__stack_each(pcs, count, frame_as_json, out);
    append(out, "]", 1);
}
