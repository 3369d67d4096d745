// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// Options: one grammar for the environment (LIDO_OPTIONS="purge_delay_ms=0:stats=exit"), for `lido run --set` and for
// this call: NAME=VALUE pairs divided by ':'. A name or value that is not understood is one line of warning on stderr
// and is otherwise ignored.
//
// Unless a call says otherwise: Requires: no pointer is NULL. Threads: any. Fails: never, and errno is left alone. Cost:
// proportional to the options.
#ifndef LIDO_OPTIONS_H
#define LIDO_OPTIONS_H

#include <lido/defs.h>
#include <stdbool.h>

LIDO_BEGIN_DECLS

// What `lido options` prints of one option.
typedef struct lido_option_info {
    const char *name;
    const char *value_help;    // what may stand on the right, e.g. "milliseconds" or "abort|continue"
    const char *default_text;
    const char *help;    // one line: what it does, and why the default is what it is
} lido_option_info;

// Sets options from text. Returns the number of pairs that were not understood, each of which was warned about.
// Threads: any, but best before the first allocation: an option that is read at start-up only says so in its help.
LIDO_API int lido_options_set(const char *text);

// The table, `*count` entries, static; in the order in which `lido options` lists them. Cost: constant.
LIDO_API const lido_option_info *lido_options_list(size_t *count);

// The current value of an option as text, written to `buffer` with its NUL, and cut to its size. Fails: false for an
// unknown name or a buffer of 0 bytes.
LIDO_API bool lido_option_text(const char *name, char *buffer, size_t buffer_bytes);

LIDO_END_DECLS

#endif
