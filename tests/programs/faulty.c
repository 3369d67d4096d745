// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// Three mallocs over libc's, each with one defect that tests/programs/run must report (see selftest):
//   FAULT_NOISE   says something on stderr, under the prefix of the library's own messages
//   FAULT_REFUSE  refuses one request in the middle of a program
//   FAULT_DIRTY   gives calloc memory that is not zero
// The counters are plain: a race between threads only moves the moment of the defect.
#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *block, size_t size);
extern void __libc_free(void *block);

void *malloc(size_t size);
void *calloc(size_t count, size_t size);
void *realloc(void *block, size_t size);
void free(void *block);

// Late enough for every program to have started its work.
enum { START = 2000 };

#if defined(FAULT_NOISE) || defined(FAULT_REFUSE)
static unsigned malloc_calls;
#endif
#if defined(FAULT_DIRTY)
static unsigned calloc_calls;
#endif

void *malloc(size_t size) {
#if defined(FAULT_NOISE)
    static const char text[] = "lido: something is wrong\n";
    if (++malloc_calls == 50 && write(STDERR_FILENO, text, sizeof text - 1) < 0) return NULL;
#elif defined(FAULT_REFUSE)
    if (++malloc_calls == START) {
        errno = ENOMEM;
        return NULL;
    }
#endif
    return __libc_malloc(size);
}

void *calloc(size_t count, size_t size) {
    char *block = __libc_calloc(count, size);
#if defined(FAULT_DIRTY)
    if (block != NULL && ++calloc_calls > START / 4 && count * size > 32) block[count * size - 1] = 1;
#endif
    return block;
}

void *realloc(void *block, size_t size) { return __libc_realloc(block, size); }

void free(void *block) { __libc_free(block); }
