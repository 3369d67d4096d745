// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// Which mallocs other people make, under which file names Debian and their authors install them, and how one is found.
#ifndef LIDO_TOOLS_BENCH_CATALOG_H
#define LIDO_TOOLS_BENCH_CATALOG_H

#include <stddef.h>

enum { BENCH_PEER_FILES_MAX = 4 };

typedef struct bench_known_peer {
    const char *name;
    const char *files[BENCH_PEER_FILES_MAX];    // the first that exists in any folder is taken
    const char *help;
} bench_known_peer;

extern const bench_known_peer bench_known_peers[];
extern const size_t bench_known_peer_count;

// The path of a worker or of the witness, NULL if it is not there. Memory is never freed.
const char *bench_find_helper(const char *name);

// The absolute path of a library by its file name, in LD_LIBRARY_PATH and then the system's folders; NULL if there is
// none. Memory is never freed.
const char *bench_find_library(const char *file);

#endif
