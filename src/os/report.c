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

static void write_line(const char *format, va_list arguments) {
    char line[LINE_BYTES];
    lido__text text = lido__text_over(line, sizeof line - 1);    // room for the newline
    lido__text_string(&text, "lido: ");
    lido__text_vformat(&text, format, arguments);
    line[text.length++] = '\n';
    lido__os_write_error(line, text.length);
}

void lido__warn(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    write_line(format, arguments);
    va_end(arguments);
}

void lido__misuse(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    write_line(format, arguments);
    va_end(arguments);
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
