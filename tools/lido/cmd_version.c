// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// `lido version`: what a bug report needs.
#include "command.h"

#include <lido/defs.h>
#include <limits.h>
#include <stdio.h>

#if defined(__clang__)
#define COMPILER "clang " __clang_version__
#else
#define COMPILER "gcc " __VERSION__
#endif

#ifdef NDEBUG
#define ASSERTIONS "off"
#else
#define ASSERTIONS "on"
#endif

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED "yes"
#else
#define SANITIZED "no"
#endif

static int version_main(int argc, char **argv) {
    char path[PATH_MAX], why[PATH_MAX + 200];
    if (argc > 1) {
        fprintf(stderr, "lido version: unexpected word '%s'; it takes none\n", argv[1]);
        return LIDO_EXIT_USAGE;
    }
    printf("lido %d.%d.%d\n", LIDO_VERSION_MAJOR, LIDO_VERSION_MINOR, LIDO_VERSION_PATCH);
    printf("compiler: %s,%s\n", COMPILER, LIDO_BUILD_FLAGS);
    printf("assertions: %s; sanitizers: %s\n", ASSERTIONS, SANITIZED);
    if (lido_locate_malloc(path, sizeof path, why, sizeof why) == 0)
        printf("malloc: %s\n", path);
    else
        printf("malloc: %s\n", why);
    return LIDO_EXIT_OK;
}

const lido_command lido_command_version = {"version", "print the version, how it was built, and where the malloc is",
                                           version_main,
                                           "usage: lido version\n"
                                           "\n"
                                           "Prints the version, the compiler and its flags, what is compiled in, and "
                                           "which liblido-malloc.so 'lido run' uses.\n"};
