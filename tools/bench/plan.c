// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// From choices to rows: which workloads on which allocators with which parameters. A name that is not there ends the
// command before anything runs.
#include "../lido/command.h"
#include "bench.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { QUICK_DIVISOR = 10 };

static bool chosen(const char *name, const char *const *choices, int count) {
    for (int i = 0; i < count; i++)
        if (strcmp(choices[i], name) == 0) return true;
    return count == 0;
}

static int unknown(const char *kind, const char *name) {
    fprintf(stderr, "lido bench: no %s '%s'; 'lido bench --list' shows what there is\n", kind, name);
    return LIDO_EXIT_USAGE;
}

static int check_choices(const bench_catalog *catalog, const bench_options *options) {
    for (int i = 0; i < options->workload_count; i++) {
        bool found = false;
        for (int w = 0; w < catalog->workload_count; w++)
            found = found || strcmp(catalog->workloads[w].name, options->workloads[i]) == 0;
        if (!found) return unknown("workload", options->workloads[i]);
    }
    for (int i = 0; i < options->allocator_count; i++) {
        bool found = false;
        for (int a = 0; a < catalog->allocator_count; a++)
            found = found || strcmp(catalog->allocators[a].name, options->allocators[i]) == 0;
        if (!found) return unknown("allocator", options->allocators[i]);
    }
    return 0;
}

// "[WORKLOAD.]NAME=VALUE" for one workload. Returns 1 if it was set, 0 if it does not concern the workload, -1 if the value
// is wrong (and says so).
static int set_param(const bench_workload *workload, uint64_t *values, const char *text) {
    const char *dot = strchr(text, '.'), *equals = strchr(text, '=');
    const char *name = text;
    if (dot != NULL && dot < equals) {
        if (strlen(workload->name) != (size_t)(dot - text) || strncmp(text, workload->name, (size_t)(dot - text)) != 0)
            return 0;
        name = dot + 1;
    }
    for (int i = 0; i < workload->param_count; i++) {
        const bench_param *param = &workload->params[i];
        if (strlen(param->name) != (size_t)(equals - name) || strncmp(param->name, name, strlen(param->name)) != 0)
            continue;
        char *end;
        errno = 0;
        uint64_t value = strtoull(equals + 1, &end, 10);
        bool number = errno == 0 && end != equals + 1 && *end == '\0' && equals[1] != '-';
        if (!number || value < param->least || value > param->most) {
            fprintf(stderr, "lido bench: --param %s: '%s' of %s is a number from %llu to %llu\n", text, param->name,
                    workload->name, (unsigned long long)param->least, (unsigned long long)param->most);
            return -1;
        }
        values[i] = value;
        return 1;
    }
    return 0;
}

static void set_defaults(const bench_workload *workload, uint64_t *values, bool quick) {
    for (int i = 0; i < workload->param_count; i++) {
        const bench_param *param = &workload->params[i];
        values[i] = param->value;
        if (quick && strcmp(param->name, "count") == 0) values[i] = param->value / QUICK_DIVISOR;
    }
}

static int set_params(bench_plan *plan, const bench_catalog *catalog, const bench_options *options) {
    for (int w = 0; w < catalog->workload_count; w++)
        set_defaults(&catalog->workloads[w], plan->values[w], options->quick);
    for (int i = 0; i < options->param_count; i++) {
        const char *text = options->params[i];
        if (strchr(text, '=') == NULL) {
            fprintf(stderr, "lido bench: --param %s: write NAME=VALUE or WORKLOAD.NAME=VALUE\n", text);
            return LIDO_EXIT_USAGE;
        }
        int used = 0;
        for (int w = 0; w < catalog->workload_count; w++) {
            if (!chosen(catalog->workloads[w].name, options->workloads, options->workload_count)) continue;
            int set = set_param(&catalog->workloads[w], plan->values[w], text);
            if (set < 0) return LIDO_EXIT_USAGE;
            used += set;
        }
        if (used == 0) {
            fprintf(stderr, "lido bench: --param %s: none of the chosen workloads has it; see 'lido bench --list'\n",
                    text);
            return LIDO_EXIT_USAGE;
        }
    }
    return 0;
}

static void add_rows(bench_plan *plan, const bench_catalog *catalog, const bench_options *options) {
    for (int w = 0; w < catalog->workload_count; w++) {
        const bench_workload *workload = &catalog->workloads[w];
        if (!chosen(workload->name, options->workloads, options->workload_count)) continue;
        for (int a = 0; a < catalog->allocator_count; a++) {
            const bench_allocator *allocator = &catalog->allocators[a];
            if ((allocator->shapes & workload->shape) == 0) continue;
            if (!chosen(allocator->name, options->allocators, options->allocator_count)) continue;
            plan->rows[plan->row_count].workload = workload;
            plan->rows[plan->row_count++].allocator = allocator;
        }
    }
}

int bench_plan_make(bench_plan *plan, const bench_catalog *catalog, const bench_options *options) {
    int status = check_choices(catalog, options);
    if (status == 0) status = set_params(plan, catalog, options);
    if (status != 0) return status;
    plan->rows = calloc((size_t)catalog->workload_count * (size_t)catalog->allocator_count, sizeof *plan->rows);
    if (plan->rows == NULL) abort();
    add_rows(plan, catalog, options);
    if (plan->row_count == 0) {
        fprintf(stderr,
                "lido bench: none of the chosen allocators can run the chosen workloads; see 'lido bench --list'\n");
        return LIDO_EXIT_USAGE;
    }
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    plan->seed =
        options->seed_given ? options->seed : ((uint64_t)now.tv_sec * 1000003u ^ (uint64_t)now.tv_nsec) % 1000000 + 1;
    return 0;
}
