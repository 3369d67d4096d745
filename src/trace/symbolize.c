// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// See symbolize.h.
#include "trace/symbolize.h"

#include "base/format.h"
#include "trace/module.h"
#include "trace/symbolizer.h"
#include "trace/symbols.h"

#include <string.h>

static const char
    *rest;    // [owner of the symbolizer] triples of the last answer that were not asked for yet; NULL: none

// The end of a path says more than its start.
static void keep_end(char *place, const char *text, size_t length) {
    size_t room = LIDO__FRAME_TEXT_BYTES - 1;
    lido__text out = lido__text_over(place, LIDO__FRAME_TEXT_BYTES);
    if (length > room) {
        lido__text_string(&out, "...");
        text += length - (room - 3);
        length = room - 3;
    }
    lido__text_chars(&out, text, length);
}

static bool is_unknown(const char *text, size_t length) { return length == 0 || (length == 1 && text[0] == '?'); }

// The next field of an answer, and its length; *at is behind its tab then, NULL at the end.
static const char *take_field(const char **at, size_t *length) {
    const char *field = *at != NULL ? *at : "";
    *length = strcspn(field, "\t");
    *at = field[*length] == '\t' ? field + *length + 1 : NULL;
    return field;
}

static void take_triple(const char *answer, lido__frame *frame) {
    size_t length;
    uint64_t line = 0;
    const char *field = take_field(&answer, &length);
    frame->function[0] = frame->file[0] = '\0';
    lido__text name = lido__text_over(frame->function, sizeof frame->function);
    if (!is_unknown(field, length)) lido__text_chars(&name, field, length);
    field = take_field(&answer, &length);
    if (!is_unknown(field, length)) keep_end(frame->file, field, length);
    field = take_field(&answer, &length);
    frame->line = lido__parse_number(field, length, &line) && line <= UINT32_MAX ? (unsigned)line : 0;
    rest = answer;
}

void lido__frame_of(void *pc, lido__frame *frame) {
    uintptr_t address = (uintptr_t)pc - 1;
    lido__module module;
    bool mine = lido__symbolizer_is_mine();
    frame->pc = pc;
    frame->offset = frame->line = 0;
    frame->module[0] = frame->function[0] = frame->file[0] = '\0';
    if (mine) rest = NULL;
    if (!lido__module_of(address, &module)) return;
    frame->offset = address - module.base;
    if (module.path == NULL) return;
    keep_end(frame->module, module.path, strlen(module.path));
    const char *answer = mine ? lido__symbolizer_ask(module.path, frame->offset) : NULL;
    if (answer != NULL) take_triple(answer, frame);
    if (frame->function[0] == '\0')
        lido__symbol_name(module.path, frame->offset, frame->function, sizeof frame->function);
}

bool lido__frame_outward(lido__frame *frame) {
    if (!lido__symbolizer_is_mine() || rest == NULL) return false;
    take_triple(rest, frame);
    return true;
}

// --- whole stacks ---------------------------------------------------------------------------------------------------

static bool is_main(const lido__frame *frame) { return strcmp(frame->function, "main") == 0; }

// How many of the first addresses are calls within lido, which tell the reader nothing. Its functions that are no part of its
// interface have names with two underscores, or stand below one that has; those that are called last by one, and so may take its place
// in a stack, are named so although they are static.
static size_t own_frames(void *const *pcs, size_t count) {
    enum { DEEPEST = 8 };    // calls within lido are no deeper, also where nothing was inlined
    static const char prefix[] = "lido__";
    size_t own = 0;
    for (size_t i = 0; i < count && i < DEEPEST; i++) {
        lido__frame frame;
        lido__frame_of(pcs[i], &frame);
        while (lido__frame_outward(&frame)) {
        }
        if (strncmp(frame.function, prefix, sizeof prefix - 1) == 0) own = i + 1;
        if (is_main(&frame)) break;
    }
    return own < count ? own : 0;
}

void lido__stack_each(void *const *pcs, size_t count, lido__frame_sink sink, void *context) {
    bool opened = lido__symbolizer_open(), ends = false;
    size_t number = 0;
    for (size_t i = own_frames(pcs, count); i < count && !ends; i++, number++) {
        lido__frame frame;
        lido__frame_of(pcs[i], &frame);
        for (bool inlined = true; inlined;) {
            inlined = lido__symbolizer_is_mine() && rest != NULL;
            ends = is_main(&frame);
            sink(&frame, number, inlined, context);
            if (inlined) lido__frame_outward(&frame);
        }
    }
    if (opened) lido__symbolizer_close();
}

// --- as text --------------------------------------------------------------------------------------------------------

typedef struct text_sink {
    lido__stack_sink sink;
    void *context;
} text_sink;

static void write_line(const lido__frame *frame, size_t number, bool inlined, void *context) {
    const text_sink *to = (const text_sink *)context;
    char line[4 * LIDO__FRAME_TEXT_BYTES];
    lido__text text = lido__text_over(line, sizeof line - 1);    // room for the newline
    lido__text_format(&text, "    #%z %p", number, frame->pc);
    if (frame->function[0] != '\0') lido__text_format(&text, " in %s", frame->function);
    if (frame->file[0] != '\0') {
        lido__text_format(&text, " (%s:%u)", frame->file, frame->line);
    } else if (frame->module[0] != '\0') {
        bool named = frame->function[0] != '\0';
        lido__text_format(&text, "%s%s+%p%s", named ? " (" : " in ", frame->module, (const void *)frame->offset,
                          named ? ")" : "");
    }
    if (inlined) lido__text_string(&text, " inlined");
    line[text.length++] = '\n';
    to->sink(line, text.length, to->context);
}

void lido__stack_write(void *const *pcs, size_t count, lido__stack_sink sink, void *context) {
    text_sink to = {sink, context};
    lido__stack_each(pcs, count, write_line, &to);
}
