// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// What an address of a call stack means. Within this process: the file that it belongs to, and the function's name from
// that file's symbols. Between lido__symbolizer_open and _close also what debug information knows: source file, line,
// and functions that were inlined; a process of its own (`lido symbolize`) reads that, as this one may be broken.
//
// Threads: any, also in malloc and signal handlers; no malloc, no stdio, no lock with glibc 2.35 or later. Only the
// thread that opened the symbolizer asks it. errno stays as it was. A lido__frame is 0.5 KB, mind the stack.
#ifndef LIDO_TRACE_SYMBOLIZE_H
#define LIDO_TRACE_SYMBOLIZE_H

#include "base/base.h"

enum { LIDO__FRAME_TEXT_BYTES = 128 };

// Texts that do not fit lose their start (paths) or their end (function); "" and line 0 stand for unknown.
typedef struct lido__frame {
    void *pc;                               // as given
    char module[LIDO__FRAME_TEXT_BYTES];    // path of the program or library
    size_t offset;                          // of the byte before pc, in the module's own addresses
    char function[LIDO__FRAME_TEXT_BYTES];
    char file[LIDO__FRAME_TEXT_BYTES];
    unsigned line;
} lido__frame;

// Cost: 50 us for a small program, 150 us for libc, more for more symbols: the module's file is opened and searched. With the
// symbolizer 8 ms for the first question about a small program and 50 us for the next; 2.5 ms to close it.
LIDO__HIDDEN void lido__frame_of(void *pc, lido__frame *frame);
// After lido__frame_of, in the thread that opened the symbolizer: turns the frame of an inlined function into that of
// the function around it. False, and the frame as it was: there is none.
LIDO__HIDDEN bool lido__frame_outward(lido__frame *frame);

// The command that is started is the one of the option symbolizer: a path, a name for PATH, or "none". If it cannot be run,
// bin/lido beside the library or the program is tried; if that is not there either, frames are known without lines.

// For one report. False: another report has it open, or none is wanted; this one's frames are known without lines, and _close is
// not due.
// The process is started by the first question. A question that takes over 5 seconds ends it, quietly.
LIDO__HIDDEN bool lido__symbolizer_open(void);
LIDO__HIDDEN void lido__symbolizer_close(void);

// Calls `sink` for each function of a stack, the innermost first; one that was inlined has the number of the one around it.
// Calls within lido at its start are left out, and so is what comes before main.
typedef void (*lido__frame_sink)(const lido__frame *frame, size_t number, bool inlined, void *context);
LIDO__HIDDEN void lido__stack_each(void *const *pcs, size_t count, lido__frame_sink sink, void *context);

// One line a frame:    #0 0x55d0c0a1 in parse_request (server.c:120)    or    #0 0x55d0c0a1 in /usr/bin/server+0x4a1
typedef void (*lido__stack_sink)(const char *text, size_t length, void *context);
LIDO__HIDDEN void lido__stack_write(void *const *pcs, size_t count, lido__stack_sink sink, void *context);

#endif
