// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// The clock of a run, its passes, counts and failures. No call here allocates.
#include "worker/counters.h"
#include "worker/look.h"
#include "worker/worker.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

enum {
    TIMED_NS_LEAST = 100000000,    // enough that one interruption of 1 ms moves a pass, not the median
    PASSES_LEAST = 3,
};

static uint64_t read_clock(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t bench_now(void) { return read_clock(CLOCK_MONOTONIC); }

static uint64_t ns_of(struct timeval time) {
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_usec * 1000;
}

// Of this thread, and of processes that it started and waited for: all that `startup` is about.
uint64_t bench_cpu_now(void) {
    struct rusage ended;
    getrusage(RUSAGE_CHILDREN, &ended);
    return read_clock(CLOCK_THREAD_CPUTIME_ID) + ns_of(ended.ru_utime) + ns_of(ended.ru_stime);
}

static long faults_now(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_minflt + usage.ru_majflt;
}

uint64_t bench_value(const bench_run *run, const char *name) {
    for (int i = 0; i < BENCH_PARAMS_MAX && run->workload->params[i].name != NULL; i++)
        if (strcmp(run->workload->params[i].name, name) == 0) return run->values[i];
    fprintf(stderr, "%s: reads the parameter '%s', which it does not register\n", run->workload->name, name);
    abort();
}

void bench_fail(const bench_run *run, const char *what) {
    fprintf(stderr, "%s on %s: %s\n", run->workload->name, run->backend->name, what);
    exit(1);
}

bool bench_more(const bench_run *run) {
    if (run->pass_count == BENCH_PASSES_MAX) return false;
    if (run->pass_limit != 0) return run->pass_count < run->pass_limit;
    return run->pass_count < PASSES_LEAST || run->timed_ns < TIMED_NS_LEAST;
}

void bench_start(bench_run *run) {
    run->faults_before = faults_now();
    look_begin_all();
    counters_on();
    run->started_cpu_ns = bench_cpu_now();    // outside, as it is a system call
    run->started_ns = bench_now();
}

void bench_stop(bench_run *run, uint64_t ops, uint64_t checksum) {
    uint64_t ns = bench_now() - run->started_ns;
    uint64_t cpu_ns = bench_cpu_now() - run->started_cpu_ns;
    counters_off();
    look_end_all();
    run->faults_timed += faults_now() - run->faults_before;
    bench_pass(run, ops, checksum, ns, cpu_ns);
}

void bench_pass(bench_run *run, uint64_t ops, uint64_t checksum, uint64_t ns, uint64_t cpu_ns) {
    if (run->pass_count != 0 && checksum != run->checksum) bench_fail(run, "two passes gave different contents");
    run->ops = ops;
    run->checksum = checksum;
    run->pass_cpu_ns[run->pass_count] = (double)cpu_ns / (double)ops;
    run->pass_ns[run->pass_count++] = (double)ns / (double)ops;
    run->timed_ns += ns;
    run->timed_ops += ops;
}

void bench_thread_start(bench_span *span) {
    look_begin_thread();
    counters_on();
    span->cpu_ns = bench_cpu_now();
    span->from_ns = bench_now();
}

void bench_thread_stop(bench_span *span) {
    span->to_ns = bench_now();
    span->cpu_ns = bench_cpu_now() - span->cpu_ns;
    counters_off();
    look_end_thread();
}

void bench_count(bench_run *run, const char *name, uint64_t value) {
    if (run->count_count == BENCH_COUNTS_MAX) bench_fail(run, "registers too many counts");
    run->counts[run->count_count].name = name;
    run->counts[run->count_count++].value = value;
}
