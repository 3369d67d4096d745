// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// The mallocs that are looked for by name. Versioned names come first: an unversioned one belongs to a -dev package or to
// somebody's own build.
#include "catalog.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const bench_known_peer bench_known_peers[] = {
    {"jemalloc", {"libjemalloc.so.2", "libjemalloc.so"}, "jemalloc"},
    {"tcmalloc", {"libtcmalloc_minimal.so.4", "libtcmalloc_minimal.so"}, "tcmalloc of gperftools, minimal"},
    {"mimalloc", {"libmimalloc.so.3", "libmimalloc.so.2.0", "libmimalloc.so.2", "libmimalloc.so"}, "mimalloc"},
    {"tbbmalloc", {"libtbbmalloc_proxy.so.2", "libtbbmalloc_proxy.so"}, "the scalable allocator of oneTBB"},
    {"hardened", {"libhardened_malloc.so", "libhardened_malloc-light.so"}, "hardened_malloc"},
    {"hoard", {"libhoard.so"}, "Hoard"},
    {"rpmalloc", {"librpmallocwrap.so", "librpmalloc.so"}, "rpmalloc"},
    {"snmalloc", {"libsnmallocshim.so"}, "snmalloc"},
};
const size_t bench_known_peer_count = sizeof bench_known_peers / sizeof bench_known_peers[0];

// Multiarch folders first, as the dynamic linker does on Debian.
static const char *const system_folders[] = {
    "/usr/local/lib/" LIDO_MULTIARCH, "/usr/local/lib", "/lib/" LIDO_MULTIARCH,
    "/usr/lib/" LIDO_MULTIARCH,       "/usr/lib64",     "/usr/lib",
};

static const char *look_in(const char *folder, int length, const char *file) {
    char *path;
    if (length == 0 || asprintf(&path, "%.*s/%s", length, folder, file) < 0) return NULL;
    char *real = access(path, R_OK) == 0 ? realpath(path, NULL) : NULL;
    free(path);
    return real;
}

const char *bench_find_library(const char *file) {
    const char *at = getenv("LD_LIBRARY_PATH");
    while (at != NULL && *at != '\0') {
        size_t length = strcspn(at, ":");
        const char *found = look_in(at, (int)length, file);
        if (found != NULL) return found;
        at += length + (at[length] == ':');
    }
    for (size_t i = 0; i < sizeof system_folders / sizeof system_folders[0]; i++) {
        const char *found = look_in(system_folders[i], (int)strlen(system_folders[i]), file);
        if (found != NULL) return found;
    }
    return NULL;
}
