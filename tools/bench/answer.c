// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// What a worker printed (bench/README.md lists its lines) becomes a sample of its row, or the reason why it cannot count.
#include "bench.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct worker_answer {
    double figures[BENCH_FIGURE_COUNT];
    double wall_ns, cpu_ns, timer_ns;
    uint64_t ops, checksum;
    const char *malloc_library, *free_library, *allocs, *frees, *points, *no_counters;
} worker_answer;

void bench_row_fail(bench_row *row, int round, const char *why) {
    snprintf(row->fault, sizeof row->fault, "%.230s (round %d)", why, round);
}

int bench_row_sample(bench_row *row) {
    for (int f = 0; f < BENCH_FIGURE_COUNT; f++) row->samples[f][row->sample_count] = NAN;
    return row->sample_count++;
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

static bool take_text(worker_answer *answer, const char *key, const char *value) {
    const struct {
        const char *key;
        const char **to;
    } texts[] = {
        {"malloc_library", &answer->malloc_library},
        {"free_library", &answer->free_library},
        {"latency.alloc", &answer->allocs},
        {"latency.free", &answer->frees},
        {"memory", &answer->points},
        {"counters", &answer->no_counters},
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        if (strcmp(texts[i].key, key) != 0) continue;
        *texts[i].to = value;
        return true;
    }
    return false;
}

static void take_pair(bench_row *row, worker_answer *answer, const char *key, const char *value) {
    for (int f = 0; f < BENCH_FIGURE_COUNT; f++)
        if (bench_figures[f].worker_key != NULL && strcmp(bench_figures[f].worker_key, key) == 0)
            answer->figures[f] = strtod(value, NULL);
    if (strcmp(key, "ns_per_op") == 0)
        answer->wall_ns = strtod(value, NULL);
    else if (strcmp(key, "cpu_ns_per_op") == 0)
        answer->cpu_ns = strtod(value, NULL);
    else if (strcmp(key, "timer_ns") == 0)
        answer->timer_ns = strtod(value, NULL);
    else if (strcmp(key, "ops") == 0)
        answer->ops = strtoull(value, NULL, 10);
    else if (strcmp(key, "checksum") == 0)
        answer->checksum = strtoull(value, NULL, 10);
    else if (strncmp(key, "count.", 6) == 0)
        take_count(row, key + 6, strtoull(value, NULL, 10));
    else
        take_text(answer, key, value);
}

static void parse(bench_row *row, worker_answer *answer, char *output) {
    memset(answer, 0, sizeof *answer);
    for (int f = 0; f < BENCH_FIGURE_COUNT; f++) answer->figures[f] = NAN;
    answer->timer_ns = NAN;
    for (char *rest = output; rest != NULL;) {
        char *value = strsep(&rest, "\n"), *key = strsep(&value, "=");
        if (value != NULL) take_pair(row, answer, key, value);
    }
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

static void take_points(bench_row *row, const char *text) {
    while (row->point_count < BENCH_POINTS_MAX && *text != '\0') {
        bench_point *point = &row->points[row->point_count];
        if (sscanf(text, "%lf:%lf:%lf", &point->at, &point->live, &point->held) != 3) return;
        row->point_count++;
        text += strcspn(text, ",");
        text += *text == ',';
    }
}

// Returns what is wrong with the look pass, NULL if nothing is.
static const char *take_look(bench_row *row, const worker_answer *answer) {
    if (answer->allocs != NULL && !bench_histogram_add(&row->allocs, answer->allocs)) return "a damaged histogram";
    if (answer->frees != NULL && !bench_histogram_add(&row->frees, answer->frees)) return "a damaged histogram";
    if (answer->points != NULL && row->point_count == 0) take_points(row, answer->points);
    if (!isnan(answer->timer_ns)) row->timer_ns = answer->timer_ns;
    if (answer->no_counters != NULL) snprintf(row->no_counters, sizeof row->no_counters, "%.90s", answer->no_counters);
    return NULL;
}

static void fill_sample(bench_row *row, const worker_answer *answer, bench_clock clock, const bench_outcome *outcome) {
    int at = bench_row_sample(row);
    bool threads = (row->group->workload->shape & BENCH_SHAPE_THREADS) != 0;
    for (int f = 0; f < BENCH_FIGURE_COUNT; f++) row->samples[f][at] = answer->figures[f];
    row->samples[BENCH_TIME][at] = clock == BENCH_CLOCK_CPU && !threads ? answer->cpu_ns : answer->wall_ns;
    row->samples[BENCH_CPU_SHARE][at] = answer->cpu_ns / answer->wall_ns;
    row->samples[BENCH_MAJOR_FAULTS][at] = (double)outcome->major_faults;
    row->samples[BENCH_VOLUNTARY][at] = (double)outcome->voluntary_switches;
    row->samples[BENCH_INVOLUNTARY][at] = (double)outcome->involuntary_switches;
    row->samples[BENCH_USER_S][at] = outcome->user_s;
    row->samples[BENCH_SYSTEM_S][at] = outcome->system_s;
    row->samples[BENCH_CPU_USE][at] = (outcome->user_s + outcome->system_s) / outcome->wall_s;
}

void bench_answer_take(bench_row *row, int round, const bench_options *options, bench_outcome *outcome) {
    worker_answer answer;
    char why[240];
    if (!outcome->ok) {
        bench_row_fail(row, round, outcome->fault);
        return;
    }
    parse(row, &answer, outcome->output);
    if (objection(row, &answer, why, sizeof why)) {
        bench_row_fail(row, round, why);
        return;
    }
    const char *damaged = take_look(row, &answer);
    if (damaged != NULL) {
        bench_row_fail(row, round, damaged);
        return;
    }
    fill_sample(row, &answer, options->clock, outcome);
    row->ops = answer.ops;
    row->checksum = answer.checksum;
    snprintf(row->library, sizeof row->library, "%s", answer.malloc_library != NULL ? answer.malloc_library : "?");
}
