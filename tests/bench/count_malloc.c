// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// Preloaded: counts the blocks that a process asks malloc for and writes "mallocs=N" to stderr at its end.
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *block, size_t bytes);

static _Atomic unsigned long mallocs;    // relaxed: a sum

static void count(void) { atomic_fetch_add_explicit(&mallocs, 1, memory_order_relaxed); }

void *malloc(size_t bytes) {
    count();
    return __libc_malloc(bytes);
}

void *calloc(size_t number, size_t bytes) {
    count();
    return __libc_calloc(number, bytes);
}

void *realloc(void *block, size_t bytes) {
    count();
    return __libc_realloc(block, bytes);
}

__attribute__((destructor)) static void tell(void) {
    char line[64];
    snprintf(line, sizeof line, "mallocs=%lu\n", (unsigned long)mallocs);
    ssize_t wrote = write(STDERR_FILENO, line, strlen(line));
    (void)wrote;
}
