// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// The contended halves of lock.h, and the rank check of debug builds.
#include "os/lock.h"

#include "os/os.h"

// Critical sections are tens to hundreds of nanoseconds, so a short spin usually sees the release. Guess: 64 rounds,
// about a microsecond; on one processor, or with the holder preempted, the wait below takes over.
enum { SPIN_ROUNDS = 64 };

__thread bool lido__lock_exempt __attribute__((tls_model("initial-exec")));

LIDO_INLINE void pause_briefly(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

void lido__lock_acquire_slow(lido__lock *lock) {
    for (int i = 0; i < SPIN_ROUNDS; i++) {
        uint32_t expected = 0;
        // relaxed: only a look; the exchange below orders
        if (LIDO__ATOMIC_LOAD(&lock->word, relaxed) == 0 && LIDO__ATOMIC_CAS(&lock->word, &expected, 1u, acquire))
            return;
        pause_briefly();
    }
    // acquire, pairs with the release in lido__lock_release
    while (LIDO__ATOMIC_EXCHANGE(&lock->word, 2u, acquire) != 0) lido__os_wait(&lock->word, 2u);
}

void lido__lock_release_slow(lido__lock *lock) { lido__os_wake_one(&lock->word); }

#ifndef NDEBUG
static _Thread_local uint32_t ranks_held;    // bit per rank

void lido__rank_check_acquire(lido__rank rank) {
    LIDO_ASSERT((ranks_held >> (unsigned)rank) == 0);
    ranks_held |= 1u << (unsigned)rank;
}

void lido__rank_check_release(lido__rank rank) {
    LIDO_ASSERT((ranks_held & (1u << (unsigned)rank)) != 0);
    ranks_held &= ~(1u << (unsigned)rank);
}
#else
void lido__rank_check_acquire(lido__rank rank) { (void)rank; }
void lido__rank_check_release(lido__rank rank) { (void)rank; }
#endif
