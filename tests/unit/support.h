// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// What several unit tests need besides cmocka: checks that may fail in a thread or in a forked child (where cmocka's
// longjmp must not go), children whose stderr is kept, stderr of this process caught for a while, and threads.
#ifndef LIDO_TESTS_SUPPORT_H
#define LIDO_TESTS_SUPPORT_H

#include "unit.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define UNIT_ASAN 1
#elif __has_feature(thread_sanitizer)
#define UNIT_TSAN 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define UNIT_ASAN 1
#endif
#if defined(__SANITIZE_THREAD__)
#define UNIT_TSAN 1
#endif
#ifndef UNIT_ASAN
#define UNIT_ASAN 0
#endif
#ifndef UNIT_TSAN
#define UNIT_TSAN 0
#endif

enum {
    // Sanitizers map terabytes, take faults of their own and slow everything down.
    UNIT_SANITIZED = UNIT_ASAN || UNIT_TSAN,
    UNIT_CHECK_STATUS = 99,
};
#ifdef NDEBUG
enum { UNIT_ASSERTIONS_ON = 0 };
#else
enum { UNIT_ASSERTIONS_ON = 1 };
#endif

// For threads and children: on failure a line on stderr and _exit(UNIT_CHECK_STATUS).
#define UNIT_CHECK(condition) ((condition) ? (void)0 : unit_check_failed(#condition, __FILE__, __LINE__))
_Noreturn void unit_check_failed(const char *what, const char *file, int line);

// The seed of a random test: LIDO_TEST_SEED, or `standard`. Printed, so that a failing run repeats.
uint64_t unit_seed(const char *test, uint64_t standard);

typedef struct unit_child {
    int status;         // of waitpid
    char text[4096];    // what the child wrote to stderr, cut if longer, with its NUL
} unit_child;

// Runs body(argument) in a fork; returning from it is _exit(0).
unit_child unit_fork(void (*body)(void *argument), void *argument);
// Asserts that the child came to its end, or aborted; shows its stderr otherwise.
void unit_assert_done(const unit_child *child);
void unit_assert_aborted(const unit_child *child);

// Between the two calls stderr of this process goes to a file; `end` gives what arrived, with its NUL.
void unit_catch_begin(void);
const char *unit_catch_end(void);

// Runs body(0, argument) .. body(count - 1, argument) in threads of their own and waits for all.
void unit_threads(unsigned count, void (*body)(unsigned index, void *argument), void *argument);

#endif
