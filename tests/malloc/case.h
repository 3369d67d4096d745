// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// What the malloc cases share. They are black boxes: they use the standard names only and run on any malloc, linked or
// preloaded. One program holds all cases and runs one a process (main.c); cases.h lists them.
//
// A failed CHECK prints one line and ends the process with status 1.
#ifndef LIDO_TESTS_MALLOC_CASE_H
#define LIDO_TESTS_MALLOC_CASE_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CASE(name, seconds) void case_##name(void);
#include "cases.h"
#undef CASE

__attribute__((format(printf, 3, 4), noreturn)) void case_failed(const char *file, int line, const char *format, ...);
// Prints what this environment lacks and ends with status 77.
__attribute__((format(printf, 1, 2), noreturn)) void case_skip(const char *format, ...);
// A figure for the log.
__attribute__((format(printf, 1, 2))) void case_note(const char *format, ...);

#define CHECK(condition, ...)                                           \
    do {                                                                \
        if (!(condition)) case_failed(__FILE__, __LINE__, __VA_ARGS__); \
    } while (0)

// True where the C library's own malloc is under test: it differs from lido in a few documented answers.
bool case_under_libc(void);

// The full path of a file that was built beside this program.
const char *case_sibling(const char *name);
// Runs this program, or another, as a child with LD_PRELOAD as given (NULL: none), and returns its exit status, or 128 plus
// its signal. Up to `bytes` - 1 bytes of its output land in `output` (NULL: not wanted).
int case_run_child(const char *const *argv, const char *preload, char *output, size_t bytes);
const char *case_preload(void);    // LD_PRELOAD of this process, "" for none

// Resident memory of this process in KiB, exact (smaps_rollup, not the batched counters of statm), and its number of mappings.
long case_rss_kb(void);
long case_mappings(void);

uint64_t case_random(uint64_t *state);
// Fills or checks `bytes` at p with a pattern that follows from `tag`.
void case_fill(void *p, size_t bytes, uint64_t tag);
bool case_filled(const void *p, size_t bytes, uint64_t tag);
bool case_is_zero(const void *p, size_t bytes);

// The compiler must not know what these calls do: pointers go through here.
void *case_opaque(void *p);

typedef void *case_thread_function(void *);
// pthread_create and pthread_join with a check; stack_bytes 0 is the default.
unsigned long case_thread_start(case_thread_function *function, void *argument, size_t stack_bytes);
void *case_thread_join(unsigned long thread);

#ifdef __cplusplus
}
#endif
#endif
