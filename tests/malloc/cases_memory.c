// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// Memory goes back, threads are cheap, and a process does not run out of mappings. Bounds are those that lido promises;
// other mallocs may miss some of them.
#include "case.h"

#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

enum { MB = 1 << 20, TRIM_SLACK_KB = 4096 };

// Touched blocks of all kinds: a third small, a third medium, a third large. Linked through their first word.
static void *build_list(size_t total, uint64_t seed) {
    void **head = NULL;
    for (size_t done = 0; done < total;) {
        uint64_t r = case_random(&seed);
        size_t size = r % 3 == 0 ? 16 + r / 3 % 1000 : r % 3 == 1 ? 1000 + r / 3 % 60000 : 60000 + r / 3 % 3000000;
        if (r % 3 == 0) size = 16 + r / 3 % 200;
        // As many bytes of each kind, not as many blocks.
        int repeat = r % 3 == 0 ? 2000 : r % 3 == 1 ? 30 : 1;
        for (int i = 0; i < repeat && done < total; i++, done += size) {
            void **p = malloc(size);
            CHECK(p != NULL, "no memory for %zu", size);
            memset(p, 1, size);
            *p = head;
            head = p;
        }
    }
    return head;
}

static void free_list(void *list) {
    while (list != NULL) {
        void *next = *(void **)list;
        free(list);
        list = next;
    }
}

static void expect_back(long before, const char *what) {
    malloc_trim(0);
    long after = case_rss_kb();
    case_note("%s: %ld KiB before, %ld KiB after", what, before, after);
    CHECK(after - before <= TRIM_SLACK_KB, "%s: %ld KiB stay resident", what, after - before);
}

void case_trim_returns(void) {
    free_list(build_list(2 * MB, 1));
    long before = case_rss_kb();
    for (uint64_t round = 0; round < 2; round++) {
        void *list = build_list((size_t)300 * MB, round);
        CHECK(case_rss_kb() - before > 250 * 1024, "the 300 MB were not there to begin with");
        free_list(list);
        expect_back(before, "300 MB freed and trimmed");
    }
    free_list(build_list(2 * MB, 1));
}

static void *build_in_thread(void *argument) {
    free_list(build_list(MB, 9));
    return build_list((size_t)75 * MB, *(uint64_t *)argument);
}

void case_trim_after_threads(void) {
    unsigned long threads[4];
    uint64_t seeds[4] = {1, 2, 3, 4};
    void *lists[4];
    free_list(build_list(2 * MB, 1));
    long before = case_rss_kb();
    for (int i = 0; i < 4; i++) threads[i] = case_thread_start(build_in_thread, &seeds[i], 0);
    for (int i = 0; i < 4; i++) lists[i] = case_thread_join(threads[i]);
    CHECK(case_rss_kb() - before > 250 * 1024, "the 300 MB were not there to begin with");
    for (int i = 0; i < 4; i++) free_list(lists[i]);
    expect_back(before, "300 MB of ended threads");
}

static pthread_barrier_t meeting;

static void *build_free_and_wait(void *argument) {
    free_list(build_list((size_t)75 * MB, *(uint64_t *)argument));
    pthread_barrier_wait(&meeting);    // freed
    pthread_barrier_wait(&meeting);    // measured
    return NULL;
}

// The threads are alive and asleep while the main thread trims. What sits in their bins stays, and that is little.
void case_trim_idle_threads(void) {
    unsigned long threads[4];
    uint64_t seeds[4] = {1, 2, 3, 4};
    free_list(build_list(2 * MB, 1));
    long before = case_rss_kb();
    pthread_barrier_init(&meeting, NULL, 5);
    for (int i = 0; i < 4; i++) threads[i] = case_thread_start(build_free_and_wait, &seeds[i], 0);
    pthread_barrier_wait(&meeting);
    malloc_trim(0);
    long after = case_rss_kb();
    case_note("300 MB freed by 4 idle threads, trimmed by another: %ld KiB before, %ld KiB after", before, after);
    CHECK(after - before <= 16 * 1024, "%ld KiB stay resident, more than 4 MiB a thread", after - before);
    pthread_barrier_wait(&meeting);
    for (int i = 0; i < 4; i++) case_thread_join(threads[i]);
    expect_back(before, "the same when the threads have ended");
}

enum { LEFT_BLOCKS = 100 };

static void *short_life(void *argument) {
    void **left = argument;
    void *own[LEFT_BLOCKS];
    for (int i = 0; i < LEFT_BLOCKS; i++) {
        own[i] = memset(malloc(16 + (size_t)i * 20), 1, 16);
        left[i] = memset(malloc(16 + (size_t)i * 30), 1, 16);
    }
    for (int i = 0; i < LEFT_BLOCKS; i++) free(own[i]);
    return NULL;
}

static void short_lives(int count) {
    void *left[LEFT_BLOCKS];
    for (int i = 0; i < count; i++) {
        case_thread_join(case_thread_start(short_life, left, 0));
        for (int k = 0; k < LEFT_BLOCKS; k++) free(left[k]);
    }
}

void case_threads_in_sequence(void) {
    short_lives(1000);
    long before = case_rss_kb(), mappings = case_mappings();
    short_lives(9000);
    long after = case_rss_kb();
    case_note("10,000 threads: %ld KiB after 1,000, %ld KiB after 10,000; mappings %ld, %ld", before, after, mappings,
              case_mappings());
    CHECK(after - before <= 1024, "RSS grew by %ld KiB over 9,000 threads", after - before);
    CHECK(case_mappings() - mappings <= 20, "mappings grew from %ld to %ld", mappings, case_mappings());
}

enum { IDLE_THREADS = 200 };

// A worker that did a little of everything and now waits for its next request.
static void *idle_life(void *unused) {
    void *blocks[8];
    pthread_barrier_wait(&meeting);    // alive
    pthread_barrier_wait(&meeting);    // base measured
    for (size_t size = 16; size < 5000; size += size / 4) {
        for (int i = 0; i < 8; i++) blocks[i] = memset(malloc(size), 1, 16);
        for (int i = 0; i < 8; i++) free(blocks[i]);
    }
    pthread_barrier_wait(&meeting);    // did its work
    pthread_barrier_wait(&meeting);    // measured
    return unused;
}

void case_idle_threads_are_cheap(void) {
    unsigned long threads[IDLE_THREADS];
    pthread_barrier_init(&meeting, NULL, IDLE_THREADS + 1);
    free_list(build_list(2 * MB, 1));
    for (int i = 0; i < IDLE_THREADS; i++) threads[i] = case_thread_start(idle_life, NULL, 128 * 1024);
    pthread_barrier_wait(&meeting);
    long base = case_rss_kb();
    pthread_barrier_wait(&meeting);
    pthread_barrier_wait(&meeting);
    long with = case_rss_kb();
    case_note("%d idle threads: %.1f KiB each", IDLE_THREADS, (double)(with - base) / IDLE_THREADS);
    CHECK(with - base <= 64L * IDLE_THREADS, "%ld KiB a thread", (with - base) / IDLE_THREADS);
    pthread_barrier_wait(&meeting);
    for (int i = 0; i < IDLE_THREADS; i++) case_thread_join(threads[i]);
}

enum { RING = 1 << 16, PASSES = 3000000 };
static void *ring[RING];    // [atomic] a block, or NULL; release by the producer, acquire by the consumer

static void *consume(void *unused) {
    for (int i = 0; i < PASSES; i++) {
        void *p;
        while ((p = __atomic_exchange_n(&ring[i % RING], NULL, __ATOMIC_ACQUIRE)) == NULL) sched_yield();
        free(p);
    }
    return unused;
}

// One thread only allocates, another only frees; about RING blocks are alive at any time.
void case_producer_consumer(void) {
    uint64_t seed = 5, live_estimate = 0;
    long before = case_rss_kb(), peak = 0;
    unsigned long thread = 0;
    for (int i = 0; i < PASSES; i++) {
        size_t size = 64 + case_random(&seed) % 900;
        void *p = malloc(size);
        CHECK(p != NULL, "no memory");
        memset(p, 1, size);
        if (i < RING) live_estimate += size;
        if (i == RING - 1) thread = case_thread_start(consume, NULL, 0);
        while (__atomic_load_n(&ring[i % RING], __ATOMIC_RELAXED) != NULL) sched_yield();
        __atomic_store_n(&ring[i % RING], p, __ATOMIC_RELEASE);
        if (i % 100000 == 0) {
            long rss = case_rss_kb() - before;
            if (rss > peak) peak = rss;
        }
    }
    case_thread_join(thread);
    long live = (long)(live_estimate / 1024);
    case_note("producer and consumer: at most %ld KiB alive, %ld KiB resident (%.2f)", live, peak,
              (double)peak / (double)live);
    CHECK(peak * 2 <= live * 3, "resident memory is %.2f times the live size", (double)peak / (double)live);
}

void case_few_mappings(void) {
    enum { SMALL = 1000000, LARGE = 12000 };
    void **small = calloc(SMALL, sizeof *small), **large = calloc(LARGE, sizeof *large);
    uint64_t seed = 3;
    for (int i = 0; i < SMALL; i++) {
        size_t size = 16 + case_random(&seed) % (i % 50 == 0 ? 8000 : 200);
        small[i] = memset(malloc(size), 1, 16);
    }
    for (int i = 0; i < LARGE; i++) {
        large[i] = malloc(50000 + case_random(&seed) % 300000);
        CHECK(large[i] != NULL, "no memory for large blocks");
        *(char *)large[i] = 1;
    }
    for (int i = 0; i < SMALL; i++) {
        if (case_random(&seed) % 2 == 0) free(small[i]), small[i] = NULL;
    }
    for (int i = 0; i < LARGE; i += 2) free(large[i]), large[i] = NULL;
    malloc_trim(0);
    long mappings = case_mappings();
    case_note("half of %d small and %d large blocks freed and trimmed: %ld mappings", SMALL, LARGE, mappings);
    CHECK(mappings < 20000, "%ld mappings", mappings);
    for (int i = 0; i < SMALL; i++) free(small[i]);
    for (int i = 0; i < LARGE; i++) free(large[i]);
    free(small);
    free(large);
}

static long hello_kb(const char *preload) {
    long least = 0;
    for (int i = 0; i < 5; i++) {
        char output[200];
        const char *const argv[] = {case_sibling("malloc_hello"), NULL};
        int status = case_run_child(argv, preload, output, sizeof output);
        CHECK(status == 0, "malloc_hello ended with %d", status);
        long kb = strtol(output, NULL, 10);
        CHECK(kb > 100, "malloc_hello printed: %s", output);
        if (least == 0 || kb < least) least = kb;
    }
    return least;
}

void case_hello_world(void) {
    if (*case_preload() == '\0') case_skip("nothing is preloaded that could be compared with libc");
    long libc = hello_kb(NULL), ours = hello_kb(case_preload());
    case_note("hello world: %ld KiB with libc's malloc, %ld KiB with the preloaded one", libc, ours);
    CHECK(ours - libc <= 600, "%ld KiB more than with libc's malloc", ours - libc);
}
