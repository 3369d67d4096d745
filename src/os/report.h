// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// The one place where lido talks to the user of a program: single lines, "lido: ...", on stderr, written with one
// write(2), from a buffer on the stack. Safe inside malloc, in signal handlers, and in a process that is dying.
#ifndef LIDO_OS_REPORT_H
#define LIDO_OS_REPORT_H

#include "base/base.h"

// Formats as base/format.h. Warns, and returns.
LIDO__COLD LIDO__HIDDEN void lido__warn(const char *format, ...);
// Misuse by the program: one line where the options report and report_format want it, then abort unless on_misuse=continue.
LIDO__COLD LIDO__HIDDEN void lido__misuse(const char *format, ...);
// The second half of it, for reports that are longer than a line.
LIDO__COLD LIDO__HIDDEN void lido__misuse_end(void);

#endif
