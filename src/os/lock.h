// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// A lock of four bytes that is valid when zero, needs no allocation, and can be put right in the child of a fork.
// States: 0 free, 1 held, 2 held and somebody may wait (the classic three-state futex mutex, Drepper 2011,
// "Futexes Are Tricky").
//
// Ranks: a thread may only take a lock of a higher rank than every lock it holds (locks of one rank are never nested,
// except by fork, which takes all). Debug builds check it.
#ifndef LIDO_OS_LOCK_H
#define LIDO_OS_LOCK_H

#include "base/atomics.h"
#include "base/base.h"

typedef enum lido__rank {
    LIDO__RANK_FREE = 0,
    LIDO__RANK_OBJECTS,       // the list of object pools
    LIDO__RANK_HANDLES,       // the slots of one handle pool
    LIDO__RANK_WAIT,          // the queue of one pool
    LIDO__RANK_STRIPE,        // some idle objects of one of them
    LIDO__RANK_HEAPS,         // the list of first-class heaps
    LIDO__RANK_HEAP,          // one of them
    LIDO__RANK_HEAP_LARGE,    // its list of large objects
    LIDO__RANK_MAKING,        // a size class, or the pool of pools, is being made
    LIDO__RANK_REGISTRY,      // the lists of threads and of pools
    LIDO__RANK_POOL,          // stock and counters of one pool
    LIDO__RANK_SLABS,         // the slabs of one pool
    LIDO__RANK_CHECK,         // a shape or a source of checked blocks
    LIDO__RANK_SEGMENTS,      // slices, segments, the window
    LIDO__RANK_HUGE,          // the table and cache of huge objects
} lido__rank;

typedef struct lido__lock {
    _Atomic uint32_t word;    // [atomic:lock]
} lido__lock;

// Set while the calling thread takes and releases no locks: between lido's fork handlers, which hold all of them, so that the
// handlers of others that run in between may allocate; and on the way to abort after a misuse, which may have been seen
// under a lock, so that a handler of SIGABRT may allocate.
extern LIDO__HIDDEN __thread bool lido__lock_exempt __attribute__((tls_model("initial-exec")));

LIDO__HIDDEN void lido__lock_acquire_slow(lido__lock *lock);
LIDO__HIDDEN void lido__lock_release_slow(lido__lock *lock);
LIDO__HIDDEN void lido__rank_check_acquire(lido__rank rank);
LIDO__HIDDEN void lido__rank_check_release(lido__rank rank);

LIDO_INLINE void lido__lock_acquire(lido__lock *lock, lido__rank rank) {
    if (LIDO_UNLIKELY(lido__lock_exempt)) return;
#ifndef NDEBUG
    lido__rank_check_acquire(rank);
#else
    (void)rank;
#endif
    uint32_t expected = 0;
    // acquire, pairs with the release in lido__lock_release
    if (LIDO_UNLIKELY(!LIDO__ATOMIC_CAS(&lock->word, &expected, 1u, acquire))) lido__lock_acquire_slow(lock);
}

LIDO_INLINE void lido__lock_release(lido__lock *lock, lido__rank rank) {
    if (LIDO_UNLIKELY(lido__lock_exempt)) return;
#ifndef NDEBUG
    lido__rank_check_release(rank);
#else
    (void)rank;
#endif
    // release, pairs with the acquires in lido__lock_acquire and lido__lock_acquire_slow
    if (LIDO_UNLIKELY(LIDO__ATOMIC_EXCHANGE(&lock->word, 0u, release) == 2u)) lido__lock_release_slow(lock);
}

// For fork handlers, which hold every lock at once: without the check of ranks.
LIDO_INLINE void lido__lock_acquire_unranked(lido__lock *lock) {
    uint32_t expected = 0;
    // acquire, as above
    if (!LIDO__ATOMIC_CAS(&lock->word, &expected, 1u, acquire)) lido__lock_acquire_slow(lock);
}
LIDO_INLINE void lido__lock_release_unranked(lido__lock *lock) {
    // release, as above
    if (LIDO__ATOMIC_EXCHANGE(&lock->word, 0u, release) == 2u) lido__lock_release_slow(lock);
}

// In the child of a fork, where the other threads are gone: the lock is free again, whoever held it.
LIDO_INLINE void lido__lock_reset(lido__lock *lock) { LIDO__ATOMIC_STORE(&lock->word, 0u, relaxed); }

#endif
