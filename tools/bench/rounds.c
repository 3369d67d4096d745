// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// Each round runs every row once, in an order drawn anew, so that a slow minute of the machine hits all alike. A row
// that failed once is not run again.
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { ARGV_MAX = BENCH_PARAMS_MAX + 8, QUICK_PASSES = 3 };

static double seconds_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

// splitmix64
static uint64_t draw(uint64_t *state) {
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static void shuffle(int *order, int count, uint64_t *state) {
    for (int i = 0; i < count; i++) order[i] = i;
    for (int i = count - 1; i > 0; i--) {
        int other = (int)(draw(state) % (uint64_t)(i + 1)), kept = order[i];
        order[i] = order[other];
        order[other] = kept;
    }
}

static void fail(bench_row *row, int round, const char *why) {
    snprintf(row->fault, sizeof row->fault, "%.230s (round %d)", why, round);
}

static void take_count(bench_row *row, const char *name, uint64_t value) {
    for (int i = 0; i < row->count_count; i++) {
        if (strcmp(row->counts[i].name, name) != 0) continue;
        row->counts[i].value = value;
        return;
    }
    if (row->count_count == BENCH_COUNTS_MAX) return;
    snprintf(row->counts[row->count_count].name, sizeof row->counts[0].name, "%s", name);
    row->counts[row->count_count++].value = value;
}

typedef struct worker_answer {
    bench_sample sample;
    double wall_ns, cpu_ns;
    uint64_t ops, checksum;
    const char *malloc_library, *free_library;
} worker_answer;

static void take_pair(bench_row *row, worker_answer *answer, const char *key, const char *value) {
    bench_sample *sample = &answer->sample;
    if (strcmp(key, "ns_per_op") == 0)
        answer->wall_ns = strtod(value, NULL);
    else if (strcmp(key, "cpu_ns_per_op") == 0)
        answer->cpu_ns = strtod(value, NULL);
    else if (strcmp(key, "ops") == 0)
        answer->ops = strtoull(value, NULL, 10);
    else if (strcmp(key, "checksum") == 0)
        answer->checksum = strtoull(value, NULL, 10);
    else if (strcmp(key, "rss_peak_kb") == 0)
        sample->rss_peak_kb = strtol(value, NULL, 10);
    else if (strcmp(key, "rss_final_kb") == 0)
        sample->rss_final_kb = strtol(value, NULL, 10);
    else if (strcmp(key, "page_faults") == 0)
        sample->page_faults = strtol(value, NULL, 10);
    else if (strcmp(key, "page_faults_timed") == 0)
        sample->page_faults_timed = strtol(value, NULL, 10);
    else if (strcmp(key, "malloc_library") == 0)
        answer->malloc_library = value;
    else if (strcmp(key, "free_library") == 0)
        answer->free_library = value;
    else if (strncmp(key, "count.", 6) == 0)
        take_count(row, key + 6, strtoull(value, NULL, 10));
}

static bool is_libc(const char *path) {
    const char *base = strrchr(path, '/');
    return base != NULL && strncmp(base, "/libc.so", 8) == 0;
}

// Whether the malloc under test is the one that served this process. A preload that the linker skipped measures libc.
static bool served_by(const bench_allocator *allocator, const char *library) {
    if (allocator->kind != BENCH_MALLOC) return true;
    if (library == NULL) return false;
    if (allocator->preload == NULL) return is_libc(library);
    char wanted[PATH_MAX];
    return realpath(allocator->preload, wanted) != NULL && strcmp(wanted, library) == 0;
}

static void parse(bench_row *row, worker_answer *answer, char *output) {
    memset(answer, 0, sizeof *answer);
    for (char *rest = output; rest != NULL;) {
        char *value = strsep(&rest, "\n"), *key = strsep(&value, "=");
        if (value != NULL) take_pair(row, answer, key, value);
    }
}

// Writes why the answer cannot count; returns false if it can.
static bool objection(const bench_row *row, const worker_answer *answer, char *why, size_t bytes) {
    const char *from = answer->malloc_library != NULL ? answer->malloc_library : "?";
    const char *back = answer->free_library != NULL ? answer->free_library : "?";
    if (!(answer->wall_ns > 0) || !(answer->cpu_ns > 0) || answer->ops == 0)
        snprintf(why, bytes, "the worker gave no figure");
    else if (!served_by(row->allocator, from) || !served_by(row->allocator, back))
        snprintf(why, bytes, "the preload had no effect: malloc comes from %.80s, free from %.80s", from, back);
    else if (row->sample_count > 0 && (answer->checksum != row->checksum || answer->ops != row->ops))
        snprintf(why, bytes, "another checksum than in the round before");
    else
        return false;
    return true;
}

static void take_outcome(bench_row *row, int round, bench_clock clock, bench_outcome *outcome) {
    worker_answer answer;
    char why[240];
    if (!outcome->ok) {
        fail(row, round, outcome->fault);
        return;
    }
    parse(row, &answer, outcome->output);
    if (objection(row, &answer, why, sizeof why)) {
        fail(row, round, why);
        return;
    }
    bool threads = (row->workload->shape & BENCH_SHAPE_THREADS) != 0;
    answer.sample.ns_per_op = clock == BENCH_CLOCK_CPU && !threads ? answer.cpu_ns : answer.wall_ns;
    answer.sample.cpu_share = answer.cpu_ns / answer.wall_ns;
    row->ops = answer.ops;
    row->checksum = answer.checksum;
    snprintf(row->library, sizeof row->library, "%s", answer.malloc_library != NULL ? answer.malloc_library : "?");
    answer.sample.user_s = outcome->user_s;
    answer.sample.system_s = outcome->system_s;
    answer.sample.voluntary_switches = outcome->voluntary_switches;
    answer.sample.involuntary_switches = outcome->involuntary_switches;
    row->samples[row->sample_count++] = answer.sample;
}

static void run_row(bench_row *row, const uint64_t *values, int round, const bench_machine *machine,
                    const bench_options *options) {
    const bench_workload *workload = row->workload;
    char words[ARGV_MAX][64];
    const char *argv[ARGV_MAX] = {row->allocator->worker, workload->name, row->allocator->backend};
    int count = 3;
    if (options->quick) {
        snprintf(words[count], sizeof words[0], "passes=%d", (int)QUICK_PASSES);
        argv[count] = words[count];
        count++;
    }
    for (int i = 0; i < workload->param_count; i++, count++) {
        snprintf(words[count], sizeof words[0], "%s=%llu", workload->params[i].name, (unsigned long long)values[i]);
        argv[count] = words[count];
    }
    argv[count] = NULL;
    bool threads = (workload->shape & BENCH_SHAPE_THREADS) != 0;
    bench_command command = {argv, row->allocator->preload, threads ? -1 : machine->pinned_cpu, options->timeout_s};
    static bench_outcome outcome;
    bench_spawn(&command, &outcome);
    if (bench_interrupted()) return;    // what the child says then is about the interrupt
    take_outcome(row, round, options->clock, &outcome);
}

typedef struct run_progress {
    bool shown;
    int done, wanted;    // processes, of the rounds that were asked for
    double started;
} run_progress;

static void show(const run_progress *progress, const bench_row *row, int round) {
    if (!progress->shown) return;
    double spent = seconds_now() - progress->started;
    int left = progress->done > 0 ? (int)(spent / progress->done * (progress->wanted - progress->done) + 0.5) : 0;
    if (left < 0) left = 0;
    fprintf(stderr, "\r\033[K[%d/%d] round %d: %s on %s", progress->done + 1, progress->wanted, round,
            row->workload->name, row->allocator->name);
    if (progress->done > 0 && progress->done < progress->wanted)
        fprintf(stderr, ", %d:%02d left", left / 60, left % 60);
    fflush(stderr);
}

static void run_round(bench_plan *plan, int *order, int round, run_progress *progress, const bench_catalog *catalog,
                      const bench_machine *machine, const bench_options *options) {
    for (int i = 0; i < plan->row_count && !bench_interrupted(); i++) {
        bench_row *row = &plan->rows[order[i]];
        show(progress, row, round);
        if (row->fault[0] == '\0')
            run_row(row, plan->values[row->workload - catalog->workloads], round, machine, options);
        progress->done++;
    }
}

void bench_rounds_run(bench_plan *plan, const bench_catalog *catalog, const bench_machine *machine,
                      const bench_options *options) {
    int *order = calloc((size_t)plan->row_count, sizeof *order);
    if (order == NULL) abort();
    uint64_t state = plan->seed;
    run_progress progress = {isatty(2) != 0, 0, plan->row_count * options->rounds, seconds_now()};
    double last_round = 0;
    while (plan->rounds_done < BENCH_ROUNDS_MAX && !bench_interrupted()) {
        double now = seconds_now();
        bool asked = plan->rounds_done < options->rounds;
        if (!asked && now + last_round - progress.started > options->budget_s) break;
        shuffle(order, plan->row_count, &state);
        run_round(plan, order, plan->rounds_done + 1, &progress, catalog, machine, options);
        last_round = seconds_now() - now;
        if (!bench_interrupted()) plan->rounds_done++;
    }
    plan->interrupted = bench_interrupted();
    if (progress.shown) fprintf(stderr, "\r\033[K");
    free(order);
}

// What most rows of the workload say; of equals the first.
static uint64_t common_checksum(const bench_row *rows, int count) {
    uint64_t best = 0;
    int best_votes = 0;
    for (int i = 0; i < count; i++) {
        int votes = 0;
        for (int j = 0; j < count; j++)
            votes += bench_row_ok(&rows[i]) && bench_row_ok(&rows[j]) && rows[i].checksum == rows[j].checksum;
        if (votes > best_votes) {
            best_votes = votes;
            best = rows[i].checksum;
        }
    }
    return best;
}

void bench_checksums_compare(bench_plan *plan) {
    for (int from = 0; from < plan->row_count;) {
        int to = from;
        while (to < plan->row_count && plan->rows[to].workload == plan->rows[from].workload) to++;
        uint64_t right = common_checksum(&plan->rows[from], to - from);
        for (int i = from; i < to; i++) {
            bench_row *row = &plan->rows[i];
            if (!bench_row_ok(row) || row->checksum == right) continue;
            snprintf(row->fault, sizeof row->fault, "wrong contents: checksum %llu, most others have %llu",
                     (unsigned long long)row->checksum, (unsigned long long)right);
        }
        from = to;
    }
}
