// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// Drives the operation sequences:
//
//   stress_ops random  [--seed N] [--runs N] [--bytes N]                one machine at a time, random programs
//   stress_ops threads [--seed N] [--runs N] [--bytes N] [--threads N]  machines in threads, blocks wander between them
//   stress_ops faults  [--seed N] [--runs N] [--bytes N]                every OS call of a program is made to fail in turn
//   stress_ops replay FILE...                                           saved programs ("-" is standard input)
//
// Each prints its seed, and a run that fails prints the seed of that run alone: `--runs 1 --seed N` repeats it (with threads,
// as far as the scheduler allows).
#include "ops.h"

#include "os/os.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { THREADS_MAX = 16 };

typedef struct settings {
    uint64_t seed;
    unsigned runs, threads;
    size_t bytes;
} settings;

static uint64_t present_seed;
static bool trace;

static uint64_t next_random(uint64_t *state) {
    uint64_t x = *state += UINT64_C(0x9E3779B97F4A7C15);
    x = (x ^ (x >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94D049BB133111EB);
    return x ^ (x >> 31);
}

// Machines and programs come from the system directly, so that they do not stir the allocator under test. Shared with
// children, who report their counts there.
static void *pages(size_t bytes) {
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) {
        perror("mmap");
        exit(2);
    }
    return p;
}

static void write_program(uint8_t *program, size_t bytes, uint64_t seed) {
    for (size_t i = 0; i < bytes; i += 8) {
        uint64_t r = next_random(&seed);
        memcpy(program + i, &r, bytes - i < 8 ? bytes - i : 8);
    }
}

static void on_abort(int number) {
    char line[80];
    int length = snprintf(line, sizeof line, "this run: --runs 1 --seed %" PRIu64 "\n", present_seed);
    if (write(STDERR_FILENO, line, (size_t)length) < 0) _exit(3);
    signal(number, SIG_DFL);
    raise(number);
}

// --- one machine ----------------------------------------------------------------------------------------------------

static int run_random(const settings *s) {
    ops_machine *m = pages(sizeof *m);
    uint8_t *program = pages(s->bytes);
    size_t steps = 0;
    for (unsigned run = 0; run < s->runs; run++) {
        present_seed = s->seed + run;
        write_program(program, s->bytes, present_seed);
        ops_init(m);
        m->trace = trace;
        ops_run(m, program, s->bytes);
        ops_finish(m);
        steps += m->step;
    }
    printf("%u runs, %zu operations, seed %" PRIu64 "\n", s->runs, steps, s->seed);
    return steps > s->runs ? 0 : 1;
}

// --- the system refuses ---------------------------------------------------------------------------------------------

typedef struct fault_counts {
    uint32_t calls;    // OS calls that the program made
    size_t refused;    // allocations that were NULL
} fault_counts;

// Each run is a process of its own: only a fresh allocator asks the system for much.
static void run_with_fault(const settings *s, const uint8_t *program, uint32_t first, uint32_t count,
                           fault_counts *counts) {
    pid_t child = fork();
    if (child < 0) abort();
    if (child == 0) {
        ops_machine *m = pages(sizeof *m);
        ops_init(m);
        m->may_fail = true;
        lido__os_fail_from(first, count);
        ops_run(m, program, s->bytes);
        counts->calls = lido__os_fail_from(0, 0);
        ops_finish(m);
        counts->refused += m->failures;
        _exit(0);
    }
    int status;
    if (waitpid(child, &status, 0) != child || status != 0) {
        fprintf(stderr, "OS calls %u to %u refused: the run ended with status %#x\n", first, first + count - 1,
                (unsigned)status);
        exit(1);
    }
}

// Makes the Nth OS call of a program fail, alone and with those that follow, for every N until a run has fewer calls.
static int run_faults(const settings *s) {
    static const uint32_t counts_of_mode[] = {1, 6, UINT32_MAX};
    fault_counts *counts = pages(sizeof *counts);
    uint8_t *program = pages(s->bytes);
    size_t runs = 0;
    for (unsigned run = 0; run < s->runs; run++) {
        present_seed = s->seed + run;
        write_program(program, s->bytes, present_seed);
        for (int mode = 0; mode < 3; mode++) {
            for (uint32_t first = 1;; first++, runs++) {
                run_with_fault(s, program, first, counts_of_mode[mode], counts);
                if (counts->calls < first) break;
            }
        }
    }
    printf("%zu runs, %zu allocations refused, seed %" PRIu64 "\n", runs, counts->refused, s->seed);
    return counts->refused > 0 && runs > 20 ? 0 : 1;
}

// --- threads --------------------------------------------------------------------------------------------------------

typedef struct worker {
    ops_shared *shared;
    uint64_t seed;
    size_t bytes, steps;
    pthread_t thread;
} worker;

static void *work(void *argument) {
    worker *w = argument;
    ops_machine *m = pages(sizeof *m);
    uint8_t *program = pages(w->bytes);
    ops_init(m);
    m->shared = w->shared;
    m->serial = w->seed << 8;
    write_program(program, w->bytes, w->seed);
    ops_run(m, program, w->bytes);
    ops_finish(m);
    w->steps = m->step;
    munmap(program, w->bytes);
    munmap(m, sizeof *m);
    return NULL;
}

static int run_threads(const settings *s) {
    static ops_shared shared;
    size_t steps = 0;
    for (unsigned run = 0; run < s->runs; run++) {
        worker workers[THREADS_MAX];
        present_seed = s->seed + run;
        ops_shared_init(&shared);
        // Twice, so that threads that come later find what ended ones have left.
        for (int round = 0; round < 2; round++) {
            for (unsigned i = 0; i < s->threads; i++) {
                workers[i] = (worker){
                    .shared = &shared, .seed = present_seed * 1000 + i * 2 + (unsigned)round, .bytes = s->bytes};
                if (pthread_create(&workers[i].thread, NULL, work, &workers[i]) != 0) abort();
            }
            for (unsigned i = 0; i < s->threads; i++) {
                pthread_join(workers[i].thread, NULL);
                steps += workers[i].steps;
            }
        }
        ops_shared_finish(&shared);
    }
    printf("%u runs of twice %u threads, %zu operations, seed %" PRIu64 "\n", s->runs, s->threads, steps, s->seed);
    return steps > s->runs ? 0 : 1;
}

// --- saved programs -------------------------------------------------------------------------------------------------

static int replay(int count, char **names) {
    static uint8_t program[1 << 20];
    ops_machine *m = pages(sizeof *m);
    size_t steps = 0;
    for (int i = 0; i < count; i++) {
        FILE *file = strcmp(names[i], "-") == 0 ? stdin : fopen(names[i], "rb");
        if (file == NULL) {
            fprintf(stderr, "cannot open %s: %s\n", names[i], strerror(errno));
            return 2;
        }
        size_t bytes = fread(program, 1, sizeof program, file);
        if (file != stdin) fclose(file);
        ops_init(m);
        ops_run(m, program, bytes);
        ops_finish(m);
        steps += m->step;
    }
    printf("%d programs, %zu operations\n", count, steps);
    return count > 0 ? 0 : 2;
}

static int usage(void) {
    fprintf(stderr, "usage: stress_ops random|threads|faults [--seed N] [--runs N] [--bytes N] [--threads N] [--trace "
                    "1], or stress_ops replay "
                    "FILE...\n");
    return 2;
}

int main(int argc, char **argv) {
    if (argc < 2) return usage();
    signal(SIGABRT, on_abort);
    signal(SIGSEGV, on_abort);
    if (strcmp(argv[1], "replay") == 0) return replay(argc - 2, argv + 2);
    settings s = {.seed = (uint64_t)time(NULL), .runs = 20, .threads = 4, .bytes = 20000};
    for (int i = 2; i < argc; i += 2) {
        char *end;
        if (i + 1 == argc) return usage();
        uint64_t value = strtoull(argv[i + 1], &end, 10);
        if (*end != '\0') return usage();
        if (strcmp(argv[i], "--seed") == 0)
            s.seed = value;
        else if (strcmp(argv[i], "--runs") == 0)
            s.runs = (unsigned)value;
        else if (strcmp(argv[i], "--bytes") == 0)
            s.bytes = value;
        else if (strcmp(argv[i], "--threads") == 0 && value >= 1 && value <= THREADS_MAX)
            s.threads = (unsigned)value;
        else if (strcmp(argv[i], "--trace") == 0)
            trace = value != 0;
        else
            return usage();
    }
    printf("%s: seed %" PRIu64 "\n", argv[1], s.seed);
    fflush(stdout);
    if (strcmp(argv[1], "random") == 0) return run_random(&s);
    if (strcmp(argv[1], "threads") == 0) return run_threads(&s);
    if (strcmp(argv[1], "faults") == 0) return run_faults(&s);
    return usage();
}
