// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// From choices to groups and rows: which workloads, clean and littered, or which program, on which allocators with which
// parameters. A name that is not there ends the command before anything runs.
#include "../lido/command.h"
#include "bench.h"

#include <errno.h>
#include <math.h>
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

static void set_defaults(bench_group *group, bool quick) {
    for (int i = 0; i < group->workload->param_count; i++) {
        const bench_param *param = &group->workload->params[i];
        group->values[i] = param->value;
        if (quick && strcmp(param->name, "count") == 0 && param->value / QUICK_DIVISOR >= param->least)
            group->values[i] = param->value / QUICK_DIVISOR;
    }
}

static int set_params(bench_plan *plan, const bench_options *options) {
    for (int g = 0; g < plan->group_count; g++) set_defaults(&plan->groups[g], options->quick);
    for (int i = 0; i < options->param_count; i++) {
        const char *text = options->params[i];
        if (strchr(text, '=') == NULL) {
            fprintf(stderr, "lido bench: --param %s: write NAME=VALUE or WORKLOAD.NAME=VALUE\n", text);
            return LIDO_EXIT_USAGE;
        }
        int used = 0;
        for (int g = 0; g < plan->group_count; g++) {
            int set = set_param(plan->groups[g].workload, plan->groups[g].values, text);
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

// Appends the group with the rows of all allocators that were chosen and can run it; without rows there is no group.
static void add_group(bench_plan *plan, const bench_catalog *catalog, const bench_options *options,
                      const bench_workload *workload, int litter) {
    bench_group *group = &plan->groups[plan->group_count];
    group->workload = workload;
    group->litter = litter;
    group->rows = &plan->rows[plan->row_count];
    for (int a = 0; a < catalog->allocator_count; a++) {
        const bench_allocator *allocator = &catalog->allocators[a];
        if (workload != NULL ? (allocator->shapes & workload->shape) == 0 : allocator->kind != BENCH_MALLOC) continue;
        if (!chosen(allocator->name, options->allocators, options->allocator_count)) continue;
        bench_row *row = &group->rows[group->row_count++];
        row->group = group;
        row->allocator = allocator;
        row->timer_ns = row->callgrind = NAN;
    }
    plan->row_count += group->row_count;
    if (group->row_count > 0) plan->group_count++;
}

static void add_groups(bench_plan *plan, const bench_catalog *catalog, const bench_options *options) {
    for (int w = 0; w < catalog->workload_count; w++) {
        const bench_workload *workload = &catalog->workloads[w];
        if (!chosen(workload->name, options->workloads, options->workload_count)) continue;
        add_group(plan, catalog, options, workload, BENCH_CLEAN);
        if (options->litter != BENCH_CLEAN) add_group(plan, catalog, options, workload, options->litter);
    }
}

static int check_baseline(const bench_catalog *catalog, const bench_options *options) {
    for (int a = 0; a < catalog->allocator_count; a++)
        if (strcmp(catalog->allocators[a].name, options->baseline) == 0) return 0;
    return unknown("allocator", options->baseline);
}

int bench_plan_make(bench_plan *plan, const bench_catalog *catalog, const bench_options *options) {
    int status = check_choices(catalog, options);
    if (status == 0) status = check_baseline(catalog, options);
    if (status != 0) return status;
    size_t most = 2 * (size_t)catalog->workload_count + 1;
    plan->groups = calloc(most, sizeof *plan->groups);
    plan->rows = calloc(most * (size_t)catalog->allocator_count, sizeof *plan->rows);
    if (plan->groups == NULL || plan->rows == NULL) abort();
    if (options->command != NULL)
        add_group(plan, catalog, options, NULL, BENCH_CLEAN);
    else
        add_groups(plan, catalog, options);
    if (plan->row_count == 0) {
        fprintf(stderr,
                "lido bench: none of the chosen allocators can run the chosen workloads; see 'lido bench --list'\n");
        return LIDO_EXIT_USAGE;
    }
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    plan->seed =
        options->seed_given ? options->seed : ((uint64_t)now.tv_sec * 1000003u ^ (uint64_t)now.tv_nsec) % 1000000 + 1;
    return options->command == NULL ? set_params(plan, options) : 0;
}

void bench_group_title(const bench_group *group, const bench_options *options, char *text, size_t bytes) {
    if (group->workload == NULL) {
        size_t used = 0;
        for (char *const *word = options->command; *word != NULL && used < bytes; word++)
            used += (size_t)snprintf(text + used, bytes - used, "%s%s", used > 0 ? " " : "", *word);
    } else if (group->litter == BENCH_CLEAN)
        snprintf(text, bytes, "%s", group->workload->name);
    else
        snprintf(text, bytes, "%s, littered %d %%", group->workload->name, group->litter);
}
