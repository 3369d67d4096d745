// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// What is counted in processes of its own because counting slows the program down: system calls by kind, under ptrace, over
// the whole life of one worker; and instructions for one operation, under callgrind, as the difference between two
// workers of which one does more.
#include "bench.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/ptrace.h>

enum { EXTRA_PASSES = 2, CALLGRIND_SLOWER = 60 };

static const struct {
    unsigned long long number;
    const char *name;
} named_calls[] = {
    {SYS_mmap, "mmap"},
    {SYS_munmap, "munmap"},
    {SYS_mremap, "mremap"},
    {SYS_madvise, "madvise"},
    {SYS_mprotect, "mprotect"},
    {SYS_brk, "brk"},
    {SYS_futex, "futex"},
    {SYS_clone3, "clone3"},
    {SYS_clone, "clone"},
    {SYS_sched_yield, "sched_yield"},
    {SYS_membarrier, "membarrier"},
    {SYS_getrandom, "getrandom"},
    {SYS_openat, "openat"},
    {SYS_read, "read"},
    {SYS_pread64, "pread64"},
    {SYS_clock_gettime, "clock_gettime"},
    {SYS_getrusage, "getrusage"},
    {SYS_prctl, "prctl"},
    {SYS_rseq, "rseq"},
    {SYS_sched_getaffinity, "sched_getaffinity"},
};

static const char *name_of(unsigned long long number) {
    for (size_t i = 0; i < sizeof named_calls / sizeof named_calls[0]; i++)
        if (named_calls[i].number == number) return named_calls[i].name;
    return "others";
}

static void count_call(bench_row *row, unsigned long long number) {
    const char *name = name_of(number);
    int at = 0;
    while (at < row->call_count && strcmp(row->calls[at].name, name) != 0) at++;
    if (at == BENCH_CALLS_MAX) return;
    if (at == row->call_count) {
        snprintf(row->calls[at].name, sizeof row->calls[0].name, "%s", name);
        row->calls[row->call_count++].count = 0;
    }
    row->calls[at].count++;
}

static void become_traced(const bench_words *words, const char *preload) {
    int null = open("/dev/null", O_RDWR);
    if (null >= 0) {
        dup2(null, 0);
        dup2(null, 1);
        dup2(null, 2);
    }
    if (preload != NULL)
        setenv("LD_PRELOAD", preload, 1);
    else
        unsetenv("LD_PRELOAD");
    if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0) _exit(125);
    raise(SIGSTOP);
    execv(words->argv[0], (char *const *)words->argv);
    _exit(127);
}

// One stop of one thread: counts it if it is the entry of a call. Returns the signal to deliver.
static int look_at_stop(bench_row *row, pid_t thread, int status) {
    int signal_number = WSTOPSIG(status);
    if (signal_number == (SIGTRAP | 0x80)) {
        struct ptrace_syscall_info info;
        if (ptrace(PTRACE_GET_SYSCALL_INFO, thread, (void *)sizeof info, &info) > 0 &&
            info.op == PTRACE_SYSCALL_INFO_ENTRY)
            count_call(row, info.entry.nr);
        return 0;
    }
    return signal_number == SIGTRAP || signal_number == SIGSTOP ? 0 : signal_number;
}

// Until the child and all its threads are gone. Returns false if it failed or was stopped.
static bool trace(bench_row *row, pid_t child, double deadline) {
    int status, result = 1;
    if (waitpid(child, &status, __WALL) != child || !WIFSTOPPED(status)) return false;
    long options = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK | PTRACE_O_EXITKILL;
    if (ptrace(PTRACE_SETOPTIONS, child, NULL, (void *)options) != 0) return false;
    ptrace(PTRACE_SYSCALL, child, NULL, NULL);
    for (;;) {
        pid_t thread = waitpid(-1, &status, __WALL);
        if (thread < 0 && errno == EINTR) continue;
        if (thread < 0) break;
        if (bench_interrupted() || bench_seconds() > deadline) kill(child, SIGKILL);
        if (WIFSTOPPED(status)) {
            int signal_number = look_at_stop(row, thread, status);
            ptrace(PTRACE_SYSCALL, thread, NULL, (void *)(long)signal_number);
        } else if (thread == child)
            result = WIFEXITED(status) ? WEXITSTATUS(status) : 1;
    }
    return result == 0;
}

static void count_system_calls(bench_row *row, const bench_options *options) {
    bench_words words;
    bench_words_make(&words, row, EXTRA_PASSES, false, 0);
    row->call_count = 0;
    pid_t child = fork();
    if (child == 0) become_traced(&words, row->allocator->preload);
    if (child > 0 && trace(row, child, bench_seconds() + options->timeout_s * 10)) return;
    row->call_count = 0;
    if (child > 0) {
        kill(child, SIGKILL);
        waitpid(child, NULL, __WALL);
    }
}

typedef struct collected {
    double instructions, ops;    // of all passes; NAN if the worker could not run
} collected;

static double number_after(const char *text, const char *key) {
    const char *line = strstr(text, key);
    return line != NULL ? strtod(line + strlen(key), NULL) : NAN;
}

static collected collect(const bench_row *row, const bench_machine *machine, const bench_options *options, int passes,
                         const char *count) {
    bench_words words;
    const char *argv[BENCH_WORDS_MAX + 5] = {"valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null",
                                             "--log-fd=1"};
    bench_words_make(&words, row, passes, false, 0);
    for (int i = 0; i < words.count; i++) argv[4 + i] = words.argv[i];
    argv[4 + words.count] = count;    // the last one holds
    bench_command command = {.argv = argv,
                             .preload = row->allocator->preload,
                             .cpu = machine->pinned_cpu,
                             .timeout_s = options->timeout_s * CALLGRIND_SLOWER,
                             .output_fd = -1};
    static bench_outcome outcome;
    bench_spawn(&command, &outcome);
    collected result = {NAN, NAN};
    if (!outcome.ok) return result;
    result.instructions = number_after(outcome.output, "Collected :");
    result.ops = number_after(outcome.output, "\nops=") * number_after(outcome.output, "\npasses=");
    return result;
}

// One pass more, or, of a workload that has but one, twice the count.
static double instructions_of_op(const bench_row *row, const bench_machine *machine, const bench_options *options) {
    const bench_group *group = row->group;
    char doubled[64];
    collected fewer = collect(row, machine, options, EXTRA_PASSES, NULL);
    collected more = collect(row, machine, options, EXTRA_PASSES + 1, NULL);
    for (int i = 0; i < group->workload->param_count && more.ops == fewer.ops; i++) {
        if (strcmp(group->workload->params[i].name, "count") != 0) continue;
        snprintf(doubled, sizeof doubled, "count=%llu", 2 * (unsigned long long)group->values[i]);
        more = collect(row, machine, options, EXTRA_PASSES, doubled);
    }
    return more.ops > fewer.ops ? (more.instructions - fewer.instructions) / (more.ops - fewer.ops) : NAN;
}

static int most_first(const void *a, const void *b) {
    uint64_t x = ((const bench_calls *)a)->count, y = ((const bench_calls *)b)->count;
    return (x < y) - (x > y);
}

void bench_extras_run(bench_plan *plan, const bench_machine *machine, const bench_options *options) {
    bool told = false;
    for (int i = 0; i < plan->row_count && !bench_interrupted(); i++) {
        bench_row *row = &plan->rows[i];
        if (row->group->workload == NULL || !bench_row_ok(row)) continue;
        if (options->system_calls) count_system_calls(row, options);
        qsort(row->calls, (size_t)row->call_count, sizeof row->calls[0], most_first);
        if (!options->instructions) continue;
        row->callgrind = instructions_of_op(row, machine, options);
        if (!isnan(row->callgrind) || told) continue;
        told = true;
        fprintf(stderr,
                "lido bench: --instructions: %s on %s could not be counted; it needs valgrind (package valgrind)\n",
                row->group->workload->name, row->allocator->name);
    }
}
