// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// `lido run`: becomes another program, with lido's malloc in place of its own.
#include "command.h"
#include "program.h"

#include <errno.h>
#include <lido/options.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct run_request {
    char *options;     // joined by ':', NULL for none
    char **program;    // and its arguments
} run_request;

static int complain(int status, const char *text) {
    fprintf(stderr, "lido run: %s\n", text);
    return status;
}

static char *joined(const char *first, const char *second) {
    char *text;
    if (first == NULL || first[0] == '\0') return strdup(second);
    return asprintf(&text, "%s:%s", first, second) < 0 ? NULL : text;
}

// Checked here, where the user sees it, and not only by the library in the program's start.
static int add_option(run_request *request, const char *pair) {
    if (pair == NULL || strchr(pair, '=') == NULL || pair[0] == '=') {
        fprintf(stderr, "lido run: --set wants OPTION=VALUE, not '%s'; 'lido options' lists them\n", pair ? pair : "");
        return LIDO_EXIT_USAGE;
    }
    if (lido_options_set(pair) != 0) {
        fprintf(stderr, "lido run: --set %s: no such option or value; 'lido options' lists them\n", pair);
        return LIDO_EXIT_USAGE;
    }
    request->options = joined(request->options, pair);
    return request->options != NULL ? 0 : complain(LIDO_EXIT_FAILURE, "out of memory");
}

static int read_words(run_request *request, int argc, char **argv) {
    int at = 1;
    while (at < argc && argv[at][0] == '-') {
        const char *word = argv[at++];
        int status = 0;
        if (strcmp(word, "--") == 0) break;
        if (strcmp(word, "--set") == 0)
            status = add_option(request, at < argc ? argv[at++] : NULL);
        else if (strncmp(word, "--set=", 6) == 0)
            status = add_option(request, word + 6);
        else {
            fprintf(stderr, "lido run: unknown option '%s'; a program's own options come after its name\n", word);
            return LIDO_EXIT_USAGE;
        }
        if (status != 0) return status;
    }
    if (at == argc)
        return complain(LIDO_EXIT_USAGE, "which program? lido run [--set OPTION=VALUE]... -- PROGRAM [ARGUMENT]...");
    request->program = &argv[at];
    return 0;
}

static int set_environment(const run_request *request, const char *library) {
    const char *preloaded = getenv("LD_PRELOAD");
    char *preload = preloaded != NULL && preloaded[0] != '\0' ? joined(library, preloaded) : strdup(library);
    if (preload == NULL || setenv("LD_PRELOAD", preload, 1) != 0) return -1;
    if (request->options == NULL) return 0;
    char *options = joined(getenv("LIDO_OPTIONS"), request->options);
    return options == NULL ? -1 : setenv("LIDO_OPTIONS", options, 1);
}

// Never returns on success. A file that the kernel does not know is a shell script without "#!", as for a shell.
static int become(const char *path, char **words) {
    execv(path, words);
    if (errno == ENOEXEC) {
        size_t count = 0;
        while (words[count] != NULL) count++;
        char **script = calloc(count + 2, sizeof *script);
        if (script == NULL) return complain(LIDO_EXIT_FAILURE, "out of memory");
        script[0] = (char *)"sh";
        script[1] = (char *)path;
        for (size_t i = 1; i < count; i++) script[i + 1] = words[i];
        execv("/bin/sh", script);
    }
    fprintf(stderr, "lido run: cannot run '%s': %s\n", path, strerror(errno));
    return LIDO_EXIT_CANNOT_RUN;
}

static int run_main(int argc, char **argv) {
    char library[PATH_MAX], path[PATH_MAX], why[PATH_MAX + 200];
    run_request request = {NULL, NULL};
    int status = read_words(&request, argc, argv);
    if (status != 0) return status;
    if (lido_locate_malloc(library, sizeof library, why, sizeof why) != 0) return complain(LIDO_EXIT_NO_LIBRARY, why);
    status = lido_program_find(request.program[0], path, sizeof path, why, sizeof why);
    if (status != 0) return complain(status, why);
    const char *ignores = lido_program_ignores_preload(path);
    if (ignores != NULL)
        fprintf(stderr, "lido run: warning: '%s' will keep its own malloc: %s\n", request.program[0], ignores);
    if (set_environment(&request, library) != 0) return complain(LIDO_EXIT_FAILURE, "out of memory");
    return become(path, request.program);
}

const lido_command lido_command_run = {
    "run", "run a program with lido's malloc", run_main,
    "usage: lido run [--set OPTION=VALUE]... [--] PROGRAM [ARGUMENT]...\n"
    "\n"
    "Runs PROGRAM with liblido-malloc.so in place of the malloc of libc: sets LD_PRELOAD (in front of what is there) "
    "and\n"
    "LIDO_OPTIONS (behind what is there) and becomes the program. 'lido options' lists the options.\n"
    "\n"
    "Environment: LIDO_MALLOC_LIB names the library, if it is not the one that belongs to this program.\n"
    "\n"
    "Exit status: the program's own; 2 for a wrong command line, 125 if the library is missing, 126 if the program\n"
    "cannot be run, 127 if there is no such program.\n"};
