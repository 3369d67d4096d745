// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// The corpus over malloc by its standard names: a program that knows nothing of lido, and runs on whatever malloc it is given.
#include "corpus.h"

#include <stdlib.h>

// C23; not every C library has it, and then the case ends with status 77.
extern void free_sized(void *p, size_t bytes) __attribute__((weak));

static void end_sized(void *p, size_t bytes) {
    if (free_sized == NULL) {
        free(p);
        exit(77);
    }
    free_sized(p, bytes);
}

const family families[] = {
    {.name = "malloc", .any_size = true, .make = malloc, .end = free, .end_sized = end_sized, .change = realloc},
};
const size_t family_count = sizeof families / sizeof families[0];
