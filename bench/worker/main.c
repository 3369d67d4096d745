// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// The worker: `--describe`, or WORKLOAD BACKEND [KEY=VALUE]... run once. `lido bench` starts it; it also runs by hand.
// Fields of a line are divided by tabs.
//
//   passes=N        timed passes; 0, the default, is at least three and as many as 0.1 s takes
//   settle=MS       then wait that long at most for memory to fall
//   look=1          then one more pass, whose calls are timed one by one
//   litter=PERCENT  before the work fill the slots with blocks and keep that many of them: litter_mb=N of them, 32
//   PARAMETER=VALUE of the workload
//
//   --describe   build OPTIMIZATION COMPILER FLAGS | workload NAME SHAPE OP HELP | param WORKLOAD NAME DEFAULT LEAST MOST HELP |
//                backend NAME SHAPES HELP
//   a run        KEY=VALUE lines, and count.KEY=VALUE for what the workload counted
//
// Status 0, or 1 with one line on stderr, or 2 for a wrong command line.
#include "worker/answer.h"
#include "worker/counters.h"
#include "worker/litter.h"
#include "worker/look.h"
#include "worker/worker.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// The optimization level, or -1 for a build that must not be measured: with assertions or sanitizers in it. -Og counts as 2,
// but defines no NDEBUG.
#if !defined(NDEBUG) || defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { WORKER_OPTIMIZATION = -1 };
#elif defined(__OPTIMIZE__)
enum { WORKER_OPTIMIZATION = 2 };
#else
enum { WORKER_OPTIMIZATION = 0 };
#endif
#if defined(__clang__)
#define WORKER_COMPILER "clang " __clang_version__
#else
#define WORKER_COMPILER "gcc " __VERSION__
#endif

enum {
    SETTLE_MS_MAX = 60000,
    LITTER_MB_MAX = 4096,
    LITTER_MB = 32,
};

typedef struct worker_options {
    uint64_t settle_ms, look, litter, litter_mb;
} worker_options;

static bench_backend *backends, *looking_backends;    // written by constructors, before main

void bench_register(bench_backend *backend) {
    bench_backend **at = backend->look ? &looking_backends : &backends;
    while (*at != NULL && strcmp((*at)->name, backend->name) < 0) at = &(*at)->next;
    backend->next = *at;
    *at = backend;
}

static void describe(void) {
    printf("build\t%d\t%s\t%s\n", WORKER_OPTIMIZATION, WORKER_COMPILER, BENCH_FLAGS);
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
    for (bench_backend *b = looking_backends; b != NULL; b = b->next)
        if (strcmp(b->name, backend) == 0) run->look = b;
    if (run->backend == NULL) wrong("no backend", backend);
    for (size_t i = 0; i < run->backend->workload_count; i++)
        if (strcmp(run->backend->workloads[i]->name, workload) == 0) run->workload = run->backend->workloads[i];
    if (run->workload == NULL) wrong("no workload", workload);
    if ((run->backend->shapes & run->workload->shape) == 0) wrong("this backend cannot run", workload);
}

// Whether the pair is one of the worker's own.
static bool set_option(worker_options *options, bench_run *run, const char *pair, size_t length, uint64_t value) {
    uint64_t passes = 0;
    const struct {
        const char *name;
        uint64_t *value, most;
    } known[] = {{"passes", &passes, BENCH_PASSES_MAX},
                 {"settle", &options->settle_ms, SETTLE_MS_MAX},
                 {"look", &options->look, 1},
                 {"litter", &options->litter, 99},
                 {"litter_mb", &options->litter_mb, LITTER_MB_MAX}};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (strlen(known[i].name) != length || strncmp(known[i].name, pair, length) != 0) continue;
        if (value > known[i].most) wrong("out of range:", pair);
        *known[i].value = value;
        if (i == 0) run->pass_limit = (unsigned)passes;
        return true;
    }
    return false;
}

static void set_value(worker_options *options, bench_run *run, const char *pair) {
    const char *equals = strchr(pair, '=');
    if (equals == NULL) wrong("not NAME=VALUE:", pair);
    char *end;
    errno = 0;
    uint64_t value = strtoull(equals + 1, &end, 10);
    if (errno != 0 || end == equals + 1 || *end != '\0' || equals[1] == '-') wrong("not a number:", pair);
    size_t length = (size_t)(equals - pair);
    if (set_option(options, run, pair, length, value)) return;
    for (int i = 0; i < BENCH_PARAMS_MAX && run->workload->params[i].name != NULL; i++) {
        const bench_param *p = &run->workload->params[i];
        if (strlen(p->name) != length || strncmp(p->name, pair, length) != 0) continue;
        if (value < p->least || value > p->most) wrong("out of range:", pair);
        run->values[i] = value;
        return;
    }
    wrong("no such parameter:", pair);
}

static void refuse(const char *text, const char *what) {
    fprintf(stderr, "lido-bench worker: '%s': %s\n", what, text);
    exit(2);
}

static void check(const worker_options *options, const bench_run *run) {
    if (options->look != 0 && run->look == NULL)
        refuse("this worker has no look; the one without -O0 has", run->backend->name);
    if (options->litter != 0 && (run->workload->shape & BENCH_CAPACITY) != 0)
        refuse("litter would raise the hard limit that this workload measures; run it without", run->workload->name);
    if (options->litter != 0 && options->litter_mb == 0) refuse("no litter fits; ask for 1 or more", "litter_mb=0");
}

// The same work in the second compilation. Its checksum must be that of the timed passes.
static void look(const bench_run *run) {
    static bench_run again;
    again.workload = run->workload;
    again.backend = run->look;
    memcpy(again.values, run->values, sizeof again.values);
    again.pass_limit = 1;
    look_open();
    for (size_t i = 0; i < run->look->workload_count; i++)
        if (strcmp(run->look->workloads[i]->name, run->workload->name) == 0) run->look->workloads[i]->run(&again);
    look_close();
    if (again.pass_count == 0 || again.checksum != run->checksum)
        bench_fail(run, "the look gave other contents than the timed passes");
}

int main(int argc, char **argv) {
    if (argc == 2 && strcmp(argv[1], "--describe") == 0) {
        describe();
        return fflush(stdout) == 0 ? 0 : 1;
    }
    if (argc < 3) {
        fprintf(
            stderr,
            "usage: %s --describe | WORKLOAD BACKEND [passes=N] [look=0|1] [settle=MS] [litter=PERCENT] [litter_mb=N] "
            "[PARAMETER=VALUE]...\n",
            argv[0]);
        return 2;
    }
    static bench_run run;
    static answer answers;
    worker_options options = {.litter_mb = LITTER_MB};
    find(&run, argv[1], argv[2]);
    for (int i = 0; i < BENCH_PARAMS_MAX; i++) run.values[i] = run.workload->params[i].value;
    for (int i = 3; i < argc; i++) set_value(&options, &run, argv[i]);
    check(&options, &run);
    litter_set((unsigned)options.litter, (size_t)options.litter_mb << 20);
    counters_open();
    answer_begin(&answers);
    run.workload->run(&run);
    answer_end(&answers, &run);
    if (options.settle_ms != 0) answer_settle(&answers, run.backend, options.settle_ms);
    if (options.look != 0) look(&run);
    answer_print(&answers, &run);
    counters_print(run.timed_ops);
    if (options.look != 0) look_print();
    return fflush(stdout) == 0 ? 0 : 1;
}
