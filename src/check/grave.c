// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// Structures of what was destroyed while checks were on: pools, heaps and the like stay readable for a while, so that a later call
// on one is told instead of working on memory that something else has got since. The last LIDO__GRAVES stay; a program that makes
// and destroys pools without end does not grow.
#include "check/check.h"

#include "os/lock.h"

enum { LIDO__GRAVES = 256 };    // guess: at most 0.4 MB of the largest structures

static lido__lock lock;
static struct grave {
    void *structure;    // NULL: empty
    void (*release)(void *structure);
} graves[LIDO__GRAVES];    // [lock:grave]
static unsigned next;      // [lock:grave] the oldest, or an empty one

void lido__check_bury(void *structure, void (*release)(void *structure)) {
    lido__lock_acquire(&lock, LIDO__RANK_CHECK);
    struct grave oldest = graves[next];
    graves[next] = (struct grave){structure, release};
    next = (next + 1) % LIDO__GRAVES;
    lido__lock_release(&lock, LIDO__RANK_CHECK);
    if (oldest.structure != NULL) oldest.release(oldest.structure);
}

void lido__check_clear_graves(void) {
    for (unsigned i = 0; i < LIDO__GRAVES; i++) lido__check_bury(NULL, NULL);
}

void lido__check_grave_lock(void (*call)(lido__lock *)) { call(&lock); }
