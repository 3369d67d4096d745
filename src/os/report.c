// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// See report.h.
#include "os/report.h"

#include "base/atomics.h"
#include "base/format.h"
#include "base/options.h"
#include "os/lock.h"
#include "os/os.h"

#include <stdarg.h>
#include <stdlib.h>

enum { LINE_BYTES = 512 };

void lido__warn(const char *format, ...) {
    char line[LINE_BYTES];
    lido__text text = lido__text_over(line, sizeof line - 1);    // room for the newline
    va_list arguments;
    va_start(arguments, format);
    lido__text_string(&text, "lido: ");
    lido__text_vformat(&text, format, arguments);
    va_end(arguments);
    line[text.length++] = '\n';
    lido__os_write_error(line, text.length);
}

// To where reports of check mode go, and like them.
static void write_misuse(const char *what) {
    char line[2 * LINE_BYTES];
    lido__text text = lido__text_over(line, sizeof line - 1);                   // as above
    bool json = LIDO__ATOMIC_LOAD(&lido__options.report_json, relaxed) != 0;    // relaxed: see options.h
    const char *path = lido__option_texts_now.report;
    int file = path[0] != '\0' ? lido__os_append_to(path) : -1;
    lido__text_string(&text, json ? "{\"what\":\"misuse\",\"text\":" : "lido: ");
    (json ? lido__text_json : lido__text_string)(&text, what);
    if (json) lido__text_string(&text, "}");
    line[text.length++] = '\n';
    lido__os_write_to(file, line, text.length);
    if (file >= 0) lido__os_close(file);
}

void lido__misuse(const char *format, ...) {
    char what[LINE_BYTES];
    lido__text text = lido__text_over(what, sizeof what);
    va_list arguments;
    va_start(arguments, format);
    lido__text_vformat(&text, format, arguments);
    va_end(arguments);
    write_misuse(what);
    lido__misuse_end();
}

void lido__misuse_end(void) {
    if (LIDO__ATOMIC_LOAD(&lido__options.misuse_continues, relaxed) != 0) return;    // relaxed: see options.h
    lido__lock_exempt = true;
    abort();
}

void lido__assert_failed(const char *what, const char *file, int line) {
    lido__warn("internal error: %s does not hold at %s:%u; please report it", what, file, (unsigned)line);
    abort();
}
