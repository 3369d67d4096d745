// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// Threads: their first call, their last calls, blocks that wander between them, their cancellation, and the end of the
// process while they run.
#include "case.h"

#include <limits.h>
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

static void *first_free(void *p) {
    free(p);
    return NULL;
}

static void *first_realloc(void *p) {
    char *q = realloc(p, 5000);
    CHECK(q != NULL && case_filled(q, 96, 1), "realloc of another thread's block");
    return q;
}

static void *first_usable(void *p) {
    CHECK(malloc_usable_size(p) >= 100, "usable size of another thread's block");
    return p;
}

static void *first_free_null(void *p) {
    free(NULL);
    return p;
}

static void *first_failing(void *p) {
    volatile size_t too_large = SIZE_MAX;
    CHECK(malloc(too_large) == NULL, "malloc(SIZE_MAX)");
    return p;
}

static void *first_trim(void *p) {
    malloc_trim(0);
    return p;
}

void case_first_call_is_foreign(void) {
    case_thread_function *const functions[] = {first_free,      first_realloc, first_usable,
                                               first_free_null, first_failing, first_trim};
    for (int round = 0; round < 200; round++) {
        for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
            size_t size = round % 3 == 0 ? 100 : round % 3 == 1 ? 3000000 : 40000;
            char *p = malloc(size);
            case_fill(p, size, 1);
            void *result = case_thread_join(case_thread_start(functions[i], p, 0));
            if (result != NULL) free(result);
        }
    }
}

// Keys whose destructors allocate, free, and set their key again until the last round that there is.
enum { KEYS = 24 };
static pthread_key_t keys[KEYS], early_key;
static bool early_key_made;
static _Thread_local int rounds_seen;
static int deepest_round;

static void destroy_value(void *value) {
    char *old = value, *more[20];
    CHECK(case_filled(old + 8, 32, 5), "a thread's value changed before its destructor ran");
    uint64_t number;
    memcpy(&number, old, 8);
    if (number < KEYS) {
        for (int i = 0; i < 20; i++) more[i] = malloc((size_t)(i + 1) * (number + 3));
        void *again = memset(malloc(40 + number), 0, 8);
        memcpy(again, &number, 8);
        case_fill((char *)again + 8, 32, 5);
        pthread_setspecific(keys[number], again);
        if (++rounds_seen > __atomic_load_n(&deepest_round, __ATOMIC_RELAXED)) {
            __atomic_store_n(&deepest_round, rounds_seen, __ATOMIC_RELAXED);
        }
        for (int i = 0; i < 20; i++) free(more[i]);
        free(calloc(1, 70000));
    }
    free(old);
}

static void set_values(void) {
    for (uint64_t number = 0; number < KEYS; number++) {
        char *value = malloc(40 + number * 50);
        memcpy(value, &number, 8);
        case_fill(value + 8, 32, 5);
        CHECK(pthread_setspecific(keys[number], value) == 0, "pthread_setspecific");
    }
}

static void *live_with_keys(void *block) {
    if (early_key_made) pthread_setspecific(early_key, malloc(123));
    set_values();
    free(block);
    return malloc(77);
}

// Before main: this key comes before any that a malloc makes later, and its destructor runs before theirs.
__attribute__((constructor)) static void make_early_key(void) {
    early_key_made = pthread_key_create(&early_key, free) == 0;
}

static void make_keys(void) {
    for (int i = 0; i < KEYS; i++) CHECK(pthread_key_create(&keys[i], destroy_value) == 0, "pthread_key_create");
}

void case_key_destructors(void) {
    make_keys();
    for (int i = 0; i < 300; i++) {
        unsigned long threads[4];
        for (int k = 0; k < 4; k++) threads[k] = case_thread_start(live_with_keys, malloc(50), 0);
        for (int k = 0; k < 4; k++) free(case_thread_join(threads[k]));
    }
    case_note("destructors called again %d times in a thread", deepest_round);
    CHECK(deepest_round >= KEYS * (PTHREAD_DESTRUCTOR_ITERATIONS - 1), "the destructors did not run in all rounds");
}

// The blocks that the last round of destructors set are lost, by the test's own doing: KEYS small blocks a thread. The
// thread's heap must not be lost with them.
void case_key_destructors_leave_nothing(void) {
    enum { LOST_KB = KEYS * 64 / 1024 };
    make_keys();
    for (int i = 0; i < 500; i++) free(case_thread_join(case_thread_start(live_with_keys, malloc(50), 0)));
    long before = case_rss_kb(), mappings = case_mappings();
    for (int i = 0; i < 2000; i++) free(case_thread_join(case_thread_start(live_with_keys, malloc(50), 0)));
    long after = case_rss_kb();
    case_note("2,000 threads: %ld KiB before, %ld KiB after; mappings %ld, %ld", before, after, mappings,
              case_mappings());
    CHECK(after - before <= 2000L * (LOST_KB + 1), "%.1f KiB stay for each ended thread",
          (double)(after - before) / 2000);
    CHECK(case_mappings() - mappings < 100, "mappings grew from %ld to %ld", mappings, case_mappings());
}

// Blocks go round through shared slots: whoever finds one checks it, frees or resizes it, and puts another there.
enum { SLOTS = 500, TURNS = 200000 };
static void *slots[SLOTS];

static void *pass_blocks(void *argument) {
    uint64_t seed = *(uint64_t *)argument;
    for (int i = 0; i < TURNS; i++) {
        uint64_t r = case_random(&seed);
        size_t size = 24 + (r >> 20) % (r % 200 == 0 ? 100000 : 500);
        size_t *fresh = malloc(size);
        CHECK(fresh != NULL, "no memory");
        fresh[0] = size;
        case_fill(fresh + 1, size - 8, size);
        size_t *found = __atomic_exchange_n(&slots[r / 7 % SLOTS], fresh, __ATOMIC_ACQ_REL);
        if (found == NULL) continue;
        CHECK(case_filled(found + 1, found[0] - 8, found[0]), "a block of %zu changed on its way", found[0]);
        if (r % 5 == 0) {
            size_t old = found[0], to = old / 2 + 16;
            found = realloc(found, to);
            CHECK(case_filled(found + 1, (old < to ? old : to) / 8 * 8 - 8, old), "realloc of a wandering block");
        }
        free(found);
    }
    return NULL;
}

void case_threads_pass_blocks(void) {
    unsigned long threads[8];
    uint64_t seeds[8];
    for (int i = 0; i < 8; i++) {
        seeds[i] = (uint64_t)i * 1000 + 17;
        threads[i] = case_thread_start(pass_blocks, &seeds[i], 0);
    }
    for (int i = 0; i < 8; i++) case_thread_join(threads[i]);
    for (int i = 0; i < SLOTS; i++) free(slots[i]);
}

static void *everything(void *unused) {
    for (size_t size = 1; size < 20000000; size = size * 5 / 2 + 1) {
        char *p = calloc(1, size), *q = malloc(size), *r = aligned_alloc(4096, size);
        CHECK(p != NULL && q != NULL && r != NULL, "no memory");
        p = realloc(p, size * 2);
        q = realloc(q, size / 2 + 1);
        free(r);
        free(p);
        free(q);
    }
    malloc_trim(0);
    return unused;
}

void case_small_stacks(void) {
    size_t least = (size_t)sysconf(_SC_THREAD_STACK_MIN);
    for (int i = 0; i < 20; i++) case_thread_join(case_thread_start(everything, NULL, least < 16384 ? 16384 : least));
}

static void *allocate_until_cancelled(void *argument) {
    for (uint64_t seed = *(uint64_t *)argument;;) {
        void *blocks[50];
        for (int i = 0; i < 50; i++) blocks[i] = malloc(case_random(&seed) % 2000);
        for (int i = 0; i < 50; i++) free(blocks[i]);
        pthread_testcancel();
    }
    return NULL;
}

void case_cancelled_threads(void) {
    uint64_t seeds[4] = {1, 2, 3, 4};
    for (int round = 0; round < 150; round++) {
        unsigned long threads[4];
        for (int i = 0; i < 4; i++) threads[i] = case_thread_start(allocate_until_cancelled, &seeds[i], 0);
        if (round % 2 == 0) usleep(500);
        for (int i = 0; i < 4; i++) CHECK(pthread_cancel(threads[i]) == 0, "pthread_cancel");
        for (int i = 0; i < 4; i++)
            CHECK(case_thread_join(threads[i]) == PTHREAD_CANCELED, "a thread was not cancelled");
        free(malloc(100));
    }
}

static void free_at_exit(void) { free(malloc(10000)); }

void case_exit_while_threads_run(void) {
    static uint64_t seeds[3] = {1, 2, 3};
    for (int round = 0; round < 60; round++) {
        pid_t child = fork();
        CHECK(child >= 0, "fork");
        if (child == 0) {
            alarm(20);
            atexit(free_at_exit);
            for (int i = 0; i < 3; i++) case_thread_start(allocate_until_cancelled, &seeds[i], 0);
            if (round % 3 == 0) usleep(1000);
            exit(23);
        }
        int status;
        CHECK(waitpid(child, &status, 0) == child, "waitpid");
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 23, "round %d: the child ended with status %#x", round,
              status);
    }
}
