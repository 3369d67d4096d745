// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// Stands in for heaptrack's library: has the two functions that allocators report to, and says at exit what was reported.
#include <stddef.h>
#include <stdio.h>

static size_t allocated, freed, bytes_now;

void heaptrack_malloc(void *block, size_t bytes);
void heaptrack_free(void *block);

void heaptrack_malloc(void *block, size_t bytes) {
    if (block == NULL) return;
    allocated++;
    bytes_now += bytes;
}
void heaptrack_free(void *block) { freed += block != NULL; }

__attribute__((destructor)) static void say(void) {
    fprintf(stderr, "counter: %zu allocated, %zu bytes, %zu freed\n", allocated, bytes_now, freed);
}
