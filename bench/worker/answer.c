// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// Figures are taken first and printed last, because printing allocates.
#include "worker/answer.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

enum {
    TICK_NS = 10000000,
    SETTLED_TENTHS = 1,    // of what the work added may still be there
};

// Which file serves a function of the malloc family in this process; realpath of it, so that links do not matter.
static const char *library_of(const char *function, char *buffer) {
    Dl_info info;
    void *address = dlsym(RTLD_DEFAULT, function);
    if (address == NULL || dladdr(address, &info) == 0 || info.dli_fname == NULL) return "?";
    char *path = realpath(info.dli_fname, buffer);
    return path != NULL ? path : info.dli_fname;
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

void answer_begin(answer *is) {
    is->settled_kb = MEMORY_UNKNOWN;
    is->start_kb = memory_now().now_kb;
}

void answer_end(answer *is, bench_run *run) {
    is->memory = memory_now();
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    is->faults = usage.ru_minflt + usage.ru_majflt;
    if (run->pass_count == 0) bench_fail(run, "did no pass");
}

void answer_settle(answer *is, const bench_backend *backend, uint64_t most_ms) {
    long enough_kb = is->start_kb + (is->memory.peak_kb - is->start_kb) * SETTLED_TENTHS / 10;
    struct timespec tick = {0, TICK_NS};
    uint64_t from_ns = bench_now(), passed_ms = 0;
    backend->tick(BENCH_TICK_OPEN);
    for (;;) {
        is->settled_kb = memory_settled_kb();
        passed_ms = (bench_now() - from_ns) / 1000000;
        if (is->settled_kb <= enough_kb || passed_ms >= most_ms) break;
        nanosleep(&tick, NULL);
        backend->tick(BENCH_TICK_BEAT);
    }
    is->settle_ms = is->settled_kb <= enough_kb ? (long)passed_ms : -1;
    backend->tick(BENCH_TICK_CLOSE);
}

static void print_memory(const answer *is) {
    const struct {
        const char *name;
        long kb;
    } lines[] = {{"rss_start_kb", is->start_kb},
                 {"rss_peak_kb", is->memory.peak_kb},
                 {"rss_final_kb", is->memory.now_kb},
                 {"lazyfree_kb", is->memory.lazyfree_kb},
                 {"rss_settled_kb", is->settled_kb}};
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++)
        if (lines[i].kb != MEMORY_UNKNOWN) printf("%s=%ld\n", lines[i].name, lines[i].kb);
    if (is->settled_kb != MEMORY_UNKNOWN) printf("settle_ms=%ld\n", is->settle_ms);
}

void answer_print(const answer *is, bench_run *run) {
    char malloc_path[PATH_MAX], free_path[PATH_MAX];
    printf("ns_per_op=%.4f\ncpu_ns_per_op=%.4f\n", median(run->pass_ns, run->pass_count),
           median(run->pass_cpu_ns, run->pass_count));
    printf("ops=%llu\npasses=%u\nchecksum=%llu\n", (unsigned long long)run->ops, run->pass_count,
           (unsigned long long)run->checksum);
    print_memory(is);
    printf("page_faults=%ld\npage_faults_timed=%ld\n", is->faults, run->faults_timed);
    printf("malloc_library=%s\nfree_library=%s\n", library_of("malloc", malloc_path), library_of("free", free_path));
    for (unsigned i = 0; i < run->count_count; i++)
        printf("count.%s=%llu\n", run->counts[i].name, (unsigned long long)run->counts[i].value);
}
