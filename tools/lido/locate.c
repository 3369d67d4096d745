// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// Where liblido-malloc.so is: in a build beside bin/ in lib/, once installed in the folder for libraries. The environment
// variable LIDO_MALLOC_LIB overrides that, and is then the only place.
#include "command.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int accept(const char *found, char *path, unsigned path_bytes, char *why, unsigned why_bytes) {
    if (strpbrk(found, " :") != NULL) {
        snprintf(why, why_bytes,
                 "'%s' holds a space or a colon, which LD_PRELOAD cannot name; copy the library to another "
                 "place and set LIDO_MALLOC_LIB",
                 found);
        return -1;
    }
    return snprintf(path, path_bytes, "%s", found) < (int)path_bytes ? 0 : -1;
}

int lido_locate_malloc(char *path, unsigned path_bytes, char *why, unsigned why_bytes) {
    static const char *const places[] = {"../lib", LIDO_LIBDIR_FROM_BIN, "."};
    char self[PATH_MAX], candidate[PATH_MAX + 64], real[PATH_MAX];
    const char *given = getenv("LIDO_MALLOC_LIB");
    if (given != NULL && given[0] != '\0') {
        if (access(given, R_OK) == 0 && realpath(given, real) != NULL)
            return accept(real, path, path_bytes, why, why_bytes);
        snprintf(why, why_bytes, "LIDO_MALLOC_LIB names '%s', which is not there or not readable", given);
        return -1;
    }
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    if (length <= 0) {
        snprintf(why, why_bytes, "/proc is not mounted; set LIDO_MALLOC_LIB to the path of liblido-malloc.so");
        return -1;
    }
    self[length] = '\0';
    *strrchr(self, '/') = '\0';
    for (unsigned i = 0; i < sizeof places / sizeof places[0]; i++) {
        snprintf(candidate, sizeof candidate, "%s/%s/liblido-malloc.so", self, places[i]);
        if (access(candidate, R_OK) == 0 && realpath(candidate, real) != NULL)
            return accept(real, path, path_bytes, why, why_bytes);
    }
    snprintf(why, why_bytes, "no liblido-malloc.so in %s/../lib; build it (script/build) or set LIDO_MALLOC_LIB", self);
    return -1;
}
