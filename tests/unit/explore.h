// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// Runs real lock-free code through all interleavings of its atomic steps.
//
// The code under test is compiled with LIDO_EXPLORE: each macro of src/base/atomics.h calls lido__explore_point() before
// its step, which returns to the scheduler here. Virtual threads are coroutines. A state is the shared memory plus the
// used stack and registers of every coroutine; the search is depth first over states, restores them by copying, and
// goes into no state twice. So the whole graph is covered, not only the interleavings up to some bound, and every path
// to a bad end has been looked at once.
//
// What it covers: sequentially consistent interleavings. Memory orders are not covered (ThreadSanitizer and the labels in
// the source are for those).
#ifndef LIDO_TESTS_EXPLORE_H
#define LIDO_TESTS_EXPLORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    EXPLORE_THREADS_MAX = 4,
    EXPLORE_STEPS_MAX = 512,    // of all threads together, on one path
};

typedef struct explore_scenario {
    unsigned threads;
    // Everything that threads share, and everything they remember beyond their own stack. No pointers into heap memory.
    void *shared;
    size_t shared_bytes;
    void (*thread)(unsigned id, void *shared);
    // After each step of any thread; a text is a violation. May write to `shared` (monitors). NULL: none.
    const char *(*after_step)(void *shared);
    // When all threads have ended; a text is a violation.
    const char *(*at_end)(void *shared);
} explore_scenario;

typedef struct explore_result {
    const char *violation;                   // NULL: none found
    char schedule[EXPLORE_STEPS_MAX + 1];    // of the violation: the thread that made each step, "0120..."
    size_t states, steps, ends;              // distinct states, steps taken, distinct states in which all had ended
} explore_result;

// Explores from the present contents of `shared`. Stops at the first violation.
explore_result explore(const explore_scenario *scenario);

#endif
