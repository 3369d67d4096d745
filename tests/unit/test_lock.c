// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// The lock: exclusion and progress with more threads than processors, its three states, the waiting calls beneath, and the
// check of ranks in debug builds.
#include "support.h"

#include "os/lock.h"
#include "os/os.h"

#include <errno.h>
#include <sched.h>
#include <time.h>
#include <unistd.h>

enum { THREADS = 8, ROUNDS = UNIT_SANITIZED ? 4000 : 20000 };

typedef struct guarded {
    lido__lock lock;
    unsigned long counter, shadow;
    unsigned inside;
} guarded;

static void count_up(unsigned index, void *argument) {
    guarded *g = (guarded *)argument;
    for (unsigned i = 0; i < ROUNDS; i++) {
        lido__lock_acquire(&g->lock, LIDO__RANK_POOL);
        UNIT_CHECK(g->inside++ == 0);
        g->counter++;
        if ((i + index) % 64 == 0) sched_yield();    // away while holding it: the others sleep in the kernel
        g->shadow++;
        UNIT_CHECK(g->counter == g->shadow && --g->inside == 0);
        lido__lock_release(&g->lock, LIDO__RANK_POOL);
    }
}

static void eight_threads_count(void **state) {
    (void)state;
    guarded g = {0};
    unit_threads(THREADS, count_up, &g);
    assert_int_equal(g.counter, (unsigned long)THREADS * ROUNDS);
    assert_int_equal(g.lock.word, 0);
}

static void count_up_unranked(unsigned index, void *argument) {
    (void)index;
    guarded *g = (guarded *)argument;
    for (unsigned i = 0; i < ROUNDS / 4; i++) {
        lido__lock_acquire_unranked(&g->lock);
        g->counter++;
        lido__lock_release_unranked(&g->lock);
    }
}

static void unranked_excludes_too(void **state) {
    (void)state;
    guarded g = {0};
    unit_threads(THREADS, count_up_unranked, &g);
    assert_int_equal(g.counter, (unsigned long)THREADS * (ROUNDS / 4));
    assert_int_equal(g.lock.word, 0);
}

static void states_of_the_word(void **state) {
    (void)state;
    lido__lock lock = {0};
    lido__lock_acquire(&lock, LIDO__RANK_POOL);
    assert_int_equal(lock.word, 1);
    lido__lock_release(&lock, LIDO__RANK_POOL);
    assert_int_equal(lock.word, 0);
    for (uint32_t word = 0; word <= 2; word++) {    // in a fork's child it may be found in any state
        lock.word = word;
        lido__lock_reset(&lock);
        assert_int_equal(lock.word, 0);
    }
    lock.word = 2;    // nobody waits: the wake-up call finds no one
    errno = 12345;
    lido__lock_release_unranked(&lock);
    assert_int_equal(lock.word, 0);
    assert_int_equal(errno, 12345);
}

// --- waiting and waking ---------------------------------------------------------------------------------------------

typedef struct meeting {
    _Atomic uint32_t word;
    _Atomic uint32_t awake;
} meeting;

static void wait_for_change(unsigned index, void *argument) {
    meeting *m = (meeting *)argument;
    if (index > 0) {
        while (m->word == 0) lido__os_wait(&m->word, 0);
        m->awake++;
        return;
    }
    usleep(20000);    // most likely they sleep by now
    m->word = 1;
    struct timespec start, now;
    clock_gettime(CLOCK_MONOTONIC, &start);
    for (uint32_t woken = 1; m->awake < 3; woken++) {
        if (woken <= 3) lido__os_wake_one(&m->word);
        usleep(1000);
        clock_gettime(CLOCK_MONOTONIC, &now);
        UNIT_CHECK(now.tv_sec - start.tv_sec < 30);    // three calls must be enough for three who wait
    }
}

static void wait_and_wake(void **state) {
    (void)state;
    meeting m = {0};
    errno = 12345;
    lido__os_wait(&m.word, 1);    // another value already: returns at once
    lido__os_wake_one(&m.word);
    assert_int_equal(errno, 12345);
    unit_threads(4, wait_for_change, &m);
    assert_int_equal(m.awake, 3);
}

// --- waiting costs nothing ------------------------------------------------------------------------------------------

static uint64_t own_processor_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static void hold_or_wait(unsigned index, void *argument) {
    guarded *g = (guarded *)argument;
    while (index > 0 && g->lock.word == 0) sched_yield();
    lido__lock_acquire(&g->lock, LIDO__RANK_POOL);
    if (index == 0) usleep(300000);
    g->counter++;
    lido__lock_release(&g->lock, LIDO__RANK_POOL);
}

static void waiters_sleep(void **state) {
    (void)state;
    guarded g = {0};
    uint64_t before = own_processor_ms();
    unit_threads(5, hold_or_wait, &g);
    assert_int_equal(g.counter, 5);
    assert_true(own_processor_ms() - before < 150);    // spinning, four threads would use 300 ms of each processor
}

// --- ranks ----------------------------------------------------------------------------------------------------------

static lido__lock a, b;

static void take_in_order(void *argument) {
    (void)argument;
    for (unsigned low = LIDO__RANK_HEAPS; low <= LIDO__RANK_HUGE; low++) {
        for (unsigned high = low + 1; high <= LIDO__RANK_HUGE; high++) {
            lido__lock_acquire(&a, (lido__rank)low);
            lido__lock_acquire(&b, (lido__rank)high);
            if ((low + high) % 2 == 0) {    // the order of release is free
                lido__lock_release(&a, (lido__rank)low);
                lido__lock_release(&b, (lido__rank)high);
            } else {
                lido__lock_release(&b, (lido__rank)high);
                lido__lock_release(&a, (lido__rank)low);
            }
        }
    }
}

static void take_downwards(void *argument) {
    (void)argument;
    lido__lock_acquire(&a, LIDO__RANK_SLABS);
    lido__lock_acquire(&b, LIDO__RANK_POOL);
}
static void take_equal(void *argument) {
    (void)argument;
    lido__lock_acquire(&a, LIDO__RANK_SLABS);
    lido__lock_acquire(&b, LIDO__RANK_SLABS);
}
static void take_between(void *argument) {
    (void)argument;
    lido__lock_acquire(&a, LIDO__RANK_POOL);
    lido__lock_acquire(&b, LIDO__RANK_HUGE);
    lido__lock_release(&a, LIDO__RANK_POOL);
    lido__lock_acquire(&a, LIDO__RANK_SEGMENTS);    // HUGE is still held
}
static void release_unheld(void *argument) {
    (void)argument;
    lido__lock_acquire(&a, LIDO__RANK_POOL);
    lido__lock_release(&a, LIDO__RANK_SLABS);
}

static void ranks_are_checked(void **state) {
    (void)state;
    static void (*const wrong[])(void *) = {take_downwards, take_equal, take_between, release_unheld};
    unit_child child = unit_fork(take_in_order, NULL);
    unit_assert_done(&child);
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        child = unit_fork(wrong[i], NULL);
        if (!UNIT_ASSERTIONS_ON) {
            unit_assert_done(&child);    // release builds do not look
            continue;
        }
        unit_assert_aborted(&child);
        assert_ptr_equal(strstr(child.text, "lido: internal error: (ranks_held "), child.text);
        assert_non_null(strstr(child.text, "lock.c:"));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(eight_threads_count), cmocka_unit_test(unranked_excludes_too),
        cmocka_unit_test(states_of_the_word),  cmocka_unit_test(wait_and_wake),
        cmocka_unit_test(waiters_sleep),       cmocka_unit_test(ranks_are_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
