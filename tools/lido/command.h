// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// The commands of bin/lido. Each gets the words after its own name (argv[0] is its name), prints errors as
// "lido NAME: what is wrong; the way out" on stderr, and returns the exit status.
#ifndef LIDO_TOOLS_COMMAND_H
#define LIDO_TOOLS_COMMAND_H

enum {
    LIDO_EXIT_OK = 0,
    LIDO_EXIT_FAILURE = 1,
    LIDO_EXIT_USAGE = 2,
    LIDO_EXIT_NO_LIBRARY = 125,    // as env and timeout do when they themselves fail
    LIDO_EXIT_CANNOT_RUN = 126,    // as a shell does
    LIDO_EXIT_NOT_FOUND = 127,
};

typedef struct lido_command {
    const char *name, *summary;
    int (*run)(int argc, char **argv);
    const char *help;    // printed by `lido help NAME` and `lido NAME --help`
} lido_command;

extern const lido_command lido_command_bench, lido_command_options, lido_command_report,
    lido_command_run, lido_command_symbolize, lido_command_version;

// Finds liblido-malloc.so: LIDO_MALLOC_LIB if it is set, else beside the executable. Writes an absolute path.
// Fails: returns -1 with one line in `why`.
int lido_locate_malloc(char *path, unsigned path_bytes, char *why, unsigned why_bytes);

#endif
