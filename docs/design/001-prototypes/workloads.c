// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// The workloads of measure.c. Each prints what it measured; what each models stands above it.
#include "measure.h"

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MILLION = 1000000 };

static size_t scaled(size_t operations) {
    double n = (double)operations * m_scale;
    return n < 1 ? 1 : (size_t)n;
}

static inline uint64_t random_next(uint64_t *state) {    // xorshift64*, upper half
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return (*state * UINT64_C(0x2545F4914F6CDD1D)) >> 32;
}

// A block with its tag; the tag differs between blocks, so that two owners of one block find out.
static inline uint64_t tag_of(const void *p) { return (uintptr_t)p ^ UINT64_C(0xA5A5A5A5A5A5A5A5); }
static inline void *take(size_t size) {
    uint64_t *block = m_alloc(size);
    if (__builtin_expect(block == NULL, 0)) m_fail("the allocator returned NULL");
    *(volatile uint64_t *)block = tag_of(block);
    return block;
}
static inline void give(void *block) {
    if (__builtin_expect(*(volatile uint64_t *)block != tag_of(block), 0)) m_fail("a block lost its tag");
    *(volatile uint64_t *)block = 0;
    m_free(block);
}

static void print_ns(const char *name, uint64_t started, size_t operations) {
    printf("%s=%.3f ", name, (double)(m_cpu_ns() - started) / (double)operations);
}

static void pin(int cpu) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    (void)pthread_setaffinity_np(pthread_self(), sizeof set, &set);    // fewer processors: then unpinned
}

// --- one thread -----------------------------------------------------------------------------------------------------

// 64 bytes, allocated and freed at once. One other block of the size is alive, as in any program.
static void pair64(void) {
    size_t n = scaled(8 * MILLION);
    void *other = take(64);
    uint64_t started = m_cpu_ns();
    for (size_t i = 0; i < n; i++) give(take(64));
    print_ns("ns", started, n);
    give(other);
}

// `alive` blocks of one size, one in a random place replaced each step and written whole.
static void steady(size_t size, size_t n) {
    enum { ALIVE = 256 };
    void *blocks[ALIVE];
    uint64_t random = 88172645463325252u;
    for (int i = 0; i < ALIVE; i++) blocks[i] = take(size);
    uint64_t started = m_cpu_ns();
    for (size_t i = 0; i < n; i++) {
        size_t at = random_next(&random) % ALIVE;
        give(blocks[at]);
        blocks[at] = take(size);
        memset((char *)blocks[at] + 8, 1, size - 8);
    }
    print_ns("ns", started, n);
    for (int i = 0; i < ALIVE; i++) give(blocks[i]);
}
static void steady56(void) { steady(56, scaled(5 * MILLION)); }
static void steady1024(void) { steady(1024, scaled(3 * MILLION)); }

// 16 to 1016 bytes at random, `alive` of them alive; first word written.
static void mixed(size_t alive, size_t n) {
    void **blocks = m_map(alive * sizeof *blocks);
    uint64_t random = 88172645463325252u;
    for (size_t i = 0; i < alive; i++) blocks[i] = take(16 + random_next(&random) % 1001);
    uint64_t started = m_cpu_ns();
    for (size_t i = 0; i < n; i++) {
        uint64_t dice = random_next(&random);
        size_t at = dice % alive;
        give(blocks[at]);
        blocks[at] = take(16 + (dice >> 16) % 1001);
    }
    print_ns("ns", started, n);
    for (size_t i = 0; i < alive; i++) give(blocks[i]);
}
static void mixed1000(void) { mixed(1000, scaled(5 * MILLION)); }
static void mixed200k(void) {
    long before = m_status_kb("VmHWM:");
    mixed(200000, scaled(3 * MILLION));
    printf("rss_mb=%.2f ", (double)(m_status_kb("VmHWM:") - before) / 1024);
}

// 1,000 blocks of 64 bytes taken, then freed in reverse: what passes through a thread's stock and comes back.
static void swing(void) {
    enum { COUNT = 1000 };
    void *blocks[COUNT];
    size_t rounds = scaled(5000);
    uint64_t started = m_cpu_ns();
    for (size_t r = 0; r < rounds; r++) {
        for (int i = 0; i < COUNT; i++) blocks[i] = take(64);
        for (int i = COUNT; i-- > 0;) give(blocks[i]);
    }
    print_ns("ns", started, rounds * COUNT);
}

// A million blocks of 128 bytes: the first batch (fresh memory) apart from four more. `live` is what they take.
static void batch128(void) {
    size_t count = scaled(MILLION);
    void **blocks = m_map(count * sizeof *blocks);
    long rss = m_status_kb("VmRSS:"), faults = m_faults();
    uint64_t started = m_cpu_ns();
    for (size_t i = 0; i < count; i++) blocks[i] = take(128);
    print_ns("ns_alloc_cold", started, count);
    printf("faults=%ld ", m_faults() - faults);
    printf("rss_mb=%.2f live_mb=%.2f ", (double)(m_status_kb("VmRSS:") - rss) / 1024, (double)count * 128 / (1 << 20));
    started = m_cpu_ns();
    for (size_t i = 0; i < count; i++) give(blocks[i]);
    print_ns("ns_free_cold", started, count);
    started = m_cpu_ns();
    for (int round = 0; round < 4; round++) {
        for (size_t i = 0; i < count; i++) blocks[i] = take(128);
        for (size_t i = 0; i < count; i++) give(blocks[i]);
    }
    print_ns("ns_warm", started, 4 * count);
}

// A million blocks of 128 bytes freed in random order, taken again, and read in the order in which they were taken.
static void random1m(void) {
    size_t count = scaled(MILLION);
    uint64_t **blocks = m_map(count * sizeof *blocks), random = 88172645463325252u, sum = 0;
    for (size_t i = 0; i < count; i++) blocks[i] = take(128);
    for (size_t i = count - 1; i > 0; i--) {
        size_t j = random_next(&random) % (i + 1);
        uint64_t *other = blocks[i];
        blocks[i] = blocks[j];
        blocks[j] = other;
    }
    uint64_t started = m_cpu_ns();
    for (size_t i = 0; i < count; i++) give(blocks[i]);
    print_ns("ns_free", started, count);
    started = m_cpu_ns();
    for (size_t i = 0; i < count; i++) blocks[i] = take(128);
    print_ns("ns_again", started, count);
    started = m_cpu_ns();
    for (size_t i = 0; i < count; i++) sum += *(volatile uint64_t *)blocks[i] == tag_of(blocks[i]);
    print_ns("ns_read", started, count);
    if (sum != count) m_fail("a block lost its tag");
}

// A million blocks of 128 bytes, all freed in random order: what is still held, and what is left after a trim (-1: the
// library has none). Says something of libraries that give free memory back at once.
static void pinned(void) {
    size_t count = scaled(MILLION);
    void **blocks = m_map(count * sizeof *blocks);
    uint64_t random = 88172645463325252u;
    long before = m_status_kb("VmRSS:");
    for (size_t i = 0; i < count; i++) blocks[i] = take(128);
    for (size_t i = count; i > 0; i--) {
        size_t j = random_next(&random) % i;
        give(blocks[j]);
        blocks[j] = blocks[i - 1];
    }
    printf("held_mb=%.2f ", (double)(m_status_kb("VmRSS:") - before) / 1024);
    if (m_trim != NULL) m_trim(0);
    printf("trimmed_mb=%.2f ", m_trim != NULL ? (double)(m_status_kb("VmRSS:") - before) / 1024 : -1);
}

// Every size, written whole and compared: does the library keep blocks apart? Prints no time.
static void check(void) {
    enum { ALIVE = 3000 };
    static unsigned char *blocks[ALIVE];
    static size_t sizes[ALIVE];
    uint64_t random = 7;
    for (size_t step = 0; step < MILLION; step++) {
        size_t at = random_next(&random) % ALIVE;
        for (size_t i = 0; i < sizes[at]; i++) {
            if (blocks[at][i] != (unsigned char)at) m_fail("a block was overwritten");
        }
        if (blocks[at] != NULL) m_free(blocks[at]);
        sizes[at] = 16 + random_next(&random) % 1009;
        blocks[at] = m_alloc(sizes[at]);
        if (((uintptr_t)blocks[at] & 15) != 0) m_fail("a block is not aligned to 16");
        memset(blocks[at], (unsigned char)at, sizes[at]);
    }
    printf("ok=1 ");
}

// --- several threads ------------------------------------------------------------------------------------------------

static void run_threads(int count, void *(*body)(void *)) {
    pthread_t threads[64];
    for (int i = 0; i < count; i++) {
        if (pthread_create(&threads[i], NULL, body, (void *)(intptr_t)i) != 0) m_fail("no thread could be started");
    }
    for (int i = 0; i < count; i++) pthread_join(threads[i], NULL);
}

// One thread allocates 64 bytes, the other frees them, 2,000 pointers a message and 8 messages on the way.
enum { MESSAGE = 2000, MESSAGES = 8 };
static struct {
    void *messages[MESSAGES][MESSAGE];
    sem_t empty, full;
    size_t rounds;
} pipe_state;

static void *pipe_end(void *argument) {
    bool produces = argument == NULL;
    pin(produces ? 0 : 1);
    for (size_t r = 0; r < pipe_state.rounds; r++) {
        while (sem_wait(produces ? &pipe_state.empty : &pipe_state.full) != 0) {
        }
        void **message = pipe_state.messages[r % MESSAGES];
        for (int i = 0; i < MESSAGE; i++) {
            if (produces) {
                message[i] = take(64);
            } else {
                give(message[i]);
            }
        }
        sem_post(produces ? &pipe_state.full : &pipe_state.empty);
    }
    return NULL;
}
static void producer(void) {
    sem_init(&pipe_state.empty, 0, MESSAGES);
    sem_init(&pipe_state.full, 0, 0);
    pipe_state.rounds = scaled(2000);
    memset(pipe_state.messages, 0, sizeof pipe_state.messages);
    long before = m_status_kb("VmHWM:");
    uint64_t started = m_cpu_ns();
    run_threads(2, pipe_end);
    print_ns("ns", started, pipe_state.rounds * MESSAGE);
    printf("rss_mb=%.2f ", (double)(m_status_kb("VmHWM:") - before) / 1024);
}

// Eight threads on two processors, each as mixed1000; every eighth block is exchanged with what another thread left on a
// shelf, so that one in eight frees is remote.
enum { SHELF = 64 };
static _Atomic(void *) shelf[SHELF];
static size_t mixed8_steps;

static void *mixed8_body(void *argument) {
    enum { ALIVE = 1000 };
    void *blocks[ALIVE];
    uint64_t random = 88172645463325252u * (uint64_t)((intptr_t)argument + 1);
    pin((int)((intptr_t)argument % 2));
    for (int i = 0; i < ALIVE; i++) blocks[i] = take(16 + random_next(&random) % 1001);
    for (size_t i = 0; i < mixed8_steps; i++) {
        uint64_t dice = random_next(&random);
        size_t at = dice % ALIVE;
        if (i % 8 == 0) {
            void *other = atomic_exchange(&shelf[random_next(&random) % SHELF], blocks[at]);
            blocks[at] = other != NULL ? other : take(64);
        }
        give(blocks[at]);
        blocks[at] = take(16 + (dice >> 16) % 1001);
    }
    for (int i = 0; i < ALIVE; i++) give(blocks[i]);
    return NULL;
}
static void mixed8(void) {
    mixed8_steps = scaled(1500000);
    long before = m_status_kb("VmHWM:");
    uint64_t started = m_cpu_ns();
    run_threads(8, mixed8_body);
    print_ns("ns", started, 8 * mixed8_steps);
    printf("rss_mb=%.2f ", (double)(m_status_kb("VmHWM:") - before) / 1024);
}

// Two threads each free a small block that a third allocated next to the other's, then allocate and free such blocks and
// write to them 100 times: does the allocator put two threads on one cache line for good? (Passive false sharing.)
static void *handed_over[2];
static pthread_barrier_t scratch_start;

static void *scratch_body(void *argument) {
    size_t me = (size_t)(intptr_t)argument, rounds = scaled(600000);
    pin((int)me);
    pthread_barrier_wait(&scratch_start);
    give(handed_over[me]);
    for (size_t r = 0; r < rounds; r++) {
        volatile uint64_t *block = take(16);
        for (int i = 0; i < 100; i++) block[1]++;
        give((void *)(uintptr_t)block);
    }
    return NULL;
}
static void scratch(void) {
    pthread_barrier_init(&scratch_start, NULL, 2);
    for (int i = 0; i < 2; i++) handed_over[i] = take(16);
    uint64_t started = m_cpu_ns();
    run_threads(2, scratch_body);
    print_ns("ns_write", started, 2 * scaled(600000) * 100);
}

// What a shared cache line costs on this machine, whatever the allocator: two threads add atomically to words of one line, and
// to words 256 bytes apart. If the two figures are alike, no workload here can show false sharing.
static _Atomic uint64_t line_words[64];
static size_t line_stride;

static void *lines_body(void *argument) {
    size_t me = (size_t)(intptr_t)argument;
    pin((int)me);
    pthread_barrier_wait(&scratch_start);
    for (size_t i = 0; i < scaled(4 * MILLION); i++) atomic_fetch_add(&line_words[me * line_stride], 1);
    return NULL;
}
static void lines(void) {
    pthread_barrier_init(&scratch_start, NULL, 2);
    for (line_stride = 1; line_stride <= 32; line_stride += 31) {
        uint64_t started = m_cpu_ns();
        run_threads(2, lines_body);
        print_ns(line_stride == 1 ? "ns_together" : "ns_apart", started, 2 * scaled(4 * MILLION));
    }
}

// 64 threads that used 16 sizes, 200 blocks of each, freed them all and now wait: memory a thread.
enum { IDLERS = 64 };
static pthread_barrier_t idle_done, idle_end;

static void *idle_body(void *argument) {
    void *blocks[200];
    (void)argument;
    for (size_t size = 32; size <= 512; size += 32) {
        for (int i = 0; i < 200; i++) blocks[i] = take(size);
        for (int i = 0; i < 200; i++) give(blocks[i]);
    }
    pthread_barrier_wait(&idle_done);
    pthread_barrier_wait(&idle_end);
    return NULL;
}
static void idle(void) {
    pthread_t threads[IDLERS];
    pthread_barrier_init(&idle_done, NULL, IDLERS + 1);
    pthread_barrier_init(&idle_end, NULL, IDLERS + 1);
    long before = m_status_kb("VmRSS:");
    for (int i = 0; i < IDLERS; i++) {
        if (pthread_create(&threads[i], NULL, idle_body, NULL) != 0) m_fail("no thread could be started");
    }
    pthread_barrier_wait(&idle_done);
    printf("kb_per_thread=%.2f ", (double)(m_status_kb("VmRSS:") - before) / IDLERS);    // with 12 KB or so of stack
    pthread_barrier_wait(&idle_end);
    for (int i = 0; i < IDLERS; i++) pthread_join(threads[i], NULL);
}

const m_workload m_workloads[] = {
    {"pair64", pair64},       {"steady56", steady56}, {"steady1024", steady1024}, {"mixed1000", mixed1000},
    {"mixed200k", mixed200k}, {"swing", swing},       {"batch128", batch128},     {"random1m", random1m},
    {"producer", producer},   {"mixed8", mixed8},     {"scratch", scratch},       {"idle", idle},
    {"lines", lines},         {"pinned", pinned},     {"check", check},           {NULL, NULL},
};
