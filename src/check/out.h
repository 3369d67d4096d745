// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// Where reports of check mode go: the file of the option `report`, or stderr. One report at a time; the file is opened for
// each and appended to, so that processes and forks can share it. If it cannot be opened, stderr gets the report and a line that
// says why.
//
// Threads: any; a report waits for another's end, but a second at most, as the other may have died inside.
#ifndef LIDO_CHECK_OUT_H
#define LIDO_CHECK_OUT_H

#include "base/format.h"

enum { LIDO__OUT_BYTES = 1024 };

typedef struct lido__out {
    int file;
    bool json;
    bool nested;        // within a report of the same thread: the lock is not ours
    bool symbolizer;    // is ours to close
    char bytes[LIDO__OUT_BYTES];
    size_t length;
} lido__out;

LIDO__HIDDEN void lido__out_open(lido__out *out);
LIDO__HIDDEN void lido__out_close(lido__out *out);
// As lido__text_format; a piece of at most 512 bytes.
LIDO__HIDDEN void lido__out_format(lido__out *out, const char *format, ...);
// A string, with its quotes; what has over 160 characters may be cut.
LIDO__HIDDEN void lido__out_json(lido__out *out, const char *s);
// A stack, as lido__stack_each names it: a line for each function, or an array of objects.
LIDO__HIDDEN void lido__out_frames(lido__out *out, void *const *pcs, size_t count);

#endif
