// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// A library that is loaded and unloaded: blocks made when it comes, freed when it goes, one of a thread's own, and blocks
// that outlive it.
#include "case.h"

__attribute__((visibility("default"))) void *plugin_make(size_t size);
__attribute__((visibility("default"))) void plugin_drop(void *p);

static void *held[50];
static _Thread_local char *of_this_thread;    // allocated on first use, by the loader's TLS machinery

__attribute__((constructor)) static void arrive(void) {
    for (int i = 0; i < 50; i++) held[i] = memset(malloc((size_t)i * 300 + 1), 1, 1);
}

__attribute__((destructor)) static void leave(void) {
    for (int i = 0; i < 50; i++) free(held[i]);
}

void *plugin_make(size_t size) {
    of_this_thread = malloc(64);
    free(of_this_thread);
    unsigned char *p = malloc(size);
    if (p == NULL) return NULL;
    for (size_t i = 0; i + 8 <= size; i += 8) {    // as case_fill, which lives in the program
        uint64_t word = (size + i) * UINT64_C(0x9E3779B97F4A7C15);
        memcpy(p + i, &word, 8);
    }
    return p;
}

void plugin_drop(void *p) { free(p); }
