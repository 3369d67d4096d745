// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// The worker: `--describe`, or WORKLOAD BACKEND [passes=N] [PARAMETER=VALUE]... run once. `lido bench` starts it; it also
// runs by hand. Fields of a line are divided by tabs.
//
//   --describe   build OPTIMIZED COMPILER FLAGS | workload NAME SHAPE OP HELP | param WORKLOAD NAME DEFAULT LEAST MOST HELP |
//                backend NAME SHAPES HELP
//   a run        KEY=VALUE lines, and count.KEY=VALUE for what the workload counted
//
// Status 0, or 1 with one line on stderr, or 2 for a wrong command line.
#include "worker/worker.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

// Both halves matter: optimized code, and a core without assertions. -Og defines __OPTIMIZE__ too, but not NDEBUG.
#if defined(__OPTIMIZE__) && defined(NDEBUG) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
enum { WORKER_OPTIMIZED = 1 };
#else
enum { WORKER_OPTIMIZED = 0 };
#endif
#if defined(__clang__)
#define WORKER_COMPILER "clang " __clang_version__
#else
#define WORKER_COMPILER "gcc " __VERSION__
#endif

static bench_backend *backends;    // written by constructors, before main

void bench_register(bench_backend *backend) {
    bench_backend **at = &backends;
    while (*at != NULL && strcmp((*at)->name, backend->name) < 0) at = &(*at)->next;
    backend->next = *at;
    *at = backend;
}

static void describe(void) {
    printf("build\t%d\t%s\t%s\n", WORKER_OPTIMIZED, WORKER_COMPILER, BENCH_FLAGS);
    for (size_t i = 0; backends != NULL && i < backends->workload_count; i++) {
        const bench_workload *workload = backends->workloads[i];
        printf("workload\t%s\t%u\t%s\t%s\n", workload->name, workload->shape, workload->op, workload->help);
        for (const bench_param *p = workload->params; p < workload->params + BENCH_PARAMS_MAX && p->name != NULL; p++)
            printf("param\t%s\t%s\t%llu\t%llu\t%llu\t%s\n", workload->name, p->name, (unsigned long long)p->value,
                   (unsigned long long)p->least, (unsigned long long)p->most, p->help);
    }
    for (bench_backend *b = backends; b != NULL; b = b->next)
        printf("backend\t%s\t%u\t%s\n", b->name, b->shapes, b->help);
}

static void wrong(const char *text, const char *what) {
    fprintf(stderr, "lido-bench worker: %s '%s'; --describe lists what there is\n", text, what);
    exit(2);
}

static void find(bench_run *run, const char *workload, const char *backend) {
    for (bench_backend *b = backends; b != NULL; b = b->next)
        if (strcmp(b->name, backend) == 0) run->backend = b;
    if (run->backend == NULL) wrong("no backend", backend);
    for (size_t i = 0; i < run->backend->workload_count; i++)
        if (strcmp(run->backend->workloads[i]->name, workload) == 0) run->workload = run->backend->workloads[i];
    if (run->workload == NULL) wrong("no workload", workload);
    if ((run->backend->shapes & run->workload->shape) == 0) wrong("this backend cannot run", workload);
}

static void set_value(bench_run *run, const char *pair) {
    const char *equals = strchr(pair, '=');
    if (equals == NULL) wrong("not NAME=VALUE:", pair);
    char *end;
    errno = 0;
    uint64_t value = strtoull(equals + 1, &end, 10);
    if (errno != 0 || end == equals + 1 || *end != '\0' || equals[1] == '-') wrong("not a number:", pair);
    size_t length = (size_t)(equals - pair);
    if (length == 6 && strncmp(pair, "passes", 6) == 0) {
        run->pass_limit = value < BENCH_PASSES_MAX ? (unsigned)value : BENCH_PASSES_MAX;
        return;
    }
    for (int i = 0; i < BENCH_PARAMS_MAX && run->workload->params[i].name != NULL; i++) {
        const bench_param *p = &run->workload->params[i];
        if (strlen(p->name) != length || strncmp(p->name, pair, length) != 0) continue;
        if (value < p->least || value > p->most) wrong("out of range:", pair);
        run->values[i] = value;
        return;
    }
    wrong("no such parameter:", pair);
}

// Which file serves a function of the malloc family in this process; realpath of it, so that links do not matter.
static const char *library_of(const char *function, char *buffer) {
    Dl_info info;
    void *address = dlsym(RTLD_DEFAULT, function);
    if (address == NULL || dladdr(address, &info) == 0 || info.dli_fname == NULL) return "?";
    char *path = realpath(info.dli_fname, buffer);
    return path != NULL ? path : info.dli_fname;
}

typedef struct resident {
    long peak_kb, now_kb;    // 0 where /proc cannot be read
} resident;

static long number_after(const char *text, const char *key) {
    const char *line = strstr(text, key);
    return line != NULL ? strtol(line + strlen(key), NULL, 10) : 0;
}

// One read, without stdio: a second one would already see the pages that the first one touched.
static resident resident_now(void) {
    static char text[8192];
    resident is = {0, 0};
    int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
    if (fd < 0) return is;
    ssize_t got = read(fd, text, sizeof text - 1);
    close(fd);
    if (got <= 0) return is;
    text[got] = '\0';
    is.peak_kb = number_after(text, "VmHWM:");
    is.now_kb = number_after(text, "VmRSS:");
    return is;
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

// Sorts the passes.
static double median(double *passes, unsigned n) {
    qsort(passes, n, sizeof passes[0], ascending);
    return n % 2 != 0 ? passes[n / 2] : (passes[n / 2 - 1] + passes[n / 2]) / 2;
}

static void report(bench_run *run) {
    resident memory = resident_now();    // before printf, which allocates
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    char malloc_path[PATH_MAX], free_path[PATH_MAX];
    if (run->pass_count == 0) bench_fail(run, "did no pass");
    printf("ns_per_op=%.4f\ncpu_ns_per_op=%.4f\n", median(run->pass_ns, run->pass_count),
           median(run->pass_cpu_ns, run->pass_count));
    printf("ops=%llu\npasses=%u\nchecksum=%llu\n", (unsigned long long)run->ops, run->pass_count,
           (unsigned long long)run->checksum);
    printf("rss_peak_kb=%ld\nrss_final_kb=%ld\n", memory.peak_kb, memory.now_kb);
    printf("page_faults=%ld\npage_faults_timed=%ld\n", usage.ru_minflt + usage.ru_majflt, run->faults_timed);
    printf("malloc_library=%s\nfree_library=%s\n", library_of("malloc", malloc_path), library_of("free", free_path));
    for (unsigned i = 0; i < run->count_count; i++)
        printf("count.%s=%llu\n", run->counts[i].name, (unsigned long long)run->counts[i].value);
}

int main(int argc, char **argv) {
    if (argc == 2 && strcmp(argv[1], "--describe") == 0) {
        describe();
        return fflush(stdout) == 0 ? 0 : 1;
    }
    if (argc < 3) {
        fprintf(stderr, "usage: %s --describe | WORKLOAD BACKEND [passes=N] [PARAMETER=VALUE]...\n", argv[0]);
        return 2;
    }
    static bench_run run;
    find(&run, argv[1], argv[2]);
    for (int i = 0; i < BENCH_PARAMS_MAX; i++) run.values[i] = run.workload->params[i].value;
    for (int i = 3; i < argc; i++) set_value(&run, argv[i]);
    run.workload->run(&run);
    report(&run);
    return fflush(stdout) == 0 ? 0 : 1;
}
