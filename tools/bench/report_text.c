// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// The table for a terminal: one block a workload, then the geometric means of the mallocs. Ratios are of times: below 1 is
// faster than what the column names.
#include "bench.h"

#include <stdio.h>
#include <string.h>

static void print_machine(const bench_plan *plan, const bench_catalog *catalog, const bench_machine *machine,
                          const bench_options *options) {
    printf("%s, %d CPUs%s; %s; %s; THP %s; governor %s; turbo %s\n", machine->model, machine->cpus,
           machine->virtual_machine ? " (virtual)" : "", machine->kernel, machine->libc, machine->thp,
           machine->governor, machine->turbo);
    printf("workers: %s,%s; one process a row and round, rows of one thread pinned to CPU %d\n", catalog->compiler,
           catalog->flags, machine->pinned_cpu);
    printf("%d rounds in random order, seed %llu; %s; load at the start %.1f\n", plan->rounds_done,
           (unsigned long long)plan->seed, options->clock == BENCH_CLOCK_CPU ? "CPU time but for threads" : "wall time",
           machine->load);
}

static void print_title(const bench_workload *workload, const uint64_t *values) {
    printf("\n%s: %s\n  one op is %s", workload->name, workload->help, workload->op);
    for (int i = 0; i < workload->param_count; i++)
        printf("%s%s=%llu", i == 0 ? "; " : " ", workload->params[i].name, (unsigned long long)values[i]);
    printf("\n  %-16s%10s%22s%10s%14s%10s%10s\n", "allocator", "ns/op", "quartiles", "/ glibc", "/ best peer", "RSS MB",
           "faults");
}

static void print_ratio(int width, double value, const bench_row *to) {
    if (to == NULL)
        printf("%*s", width, "-");
    else
        printf("%*.2f", width, value / bench_row_spread(to, bench_figure_time).median);
}

static void print_row(const bench_row *row, const bench_row *base, const bench_row *peer) {
    if (!bench_row_ok(row)) {
        printf("  %-16sFAILED: %s\n", row->allocator->name, row->fault[0] != '\0' ? row->fault : "not run");
        return;
    }
    char quartiles[48];
    bench_spread ns = bench_row_spread(row, bench_figure_time);
    snprintf(quartiles, sizeof quartiles, "%.2f to %.2f", ns.q1, ns.q3);
    printf("  %-16s%10.2f%22s", row->allocator->name, ns.median, quartiles);
    print_ratio(10, ns.median, base);
    print_ratio(14, ns.median, peer);
    printf("%10.1f%10.0f%s\n", bench_row_spread(row, bench_figure_rss).median / 1024,
           bench_row_spread(row, bench_figure_faults).median, bench_row_disturbed(row) ? "  *" : "");
}

// What a workload counted, if it counts: names as the head, a line for each allocator.
static void print_counts(const bench_row *rows, int count) {
    const bench_row *first = NULL;
    for (int i = 0; i < count && first == NULL; i++)
        if (bench_row_ok(&rows[i]) && rows[i].count_count > 0) first = &rows[i];
    if (first == NULL) return;
    printf("  %-16s", "counts");
    for (int c = 0; c < first->count_count; c++) printf("%18s", first->counts[c].name);
    printf("\n");
    for (int i = 0; i < count; i++) {
        if (!bench_row_ok(&rows[i]) || rows[i].count_count != first->count_count) continue;
        printf("  %-16s", rows[i].allocator->name);
        for (int c = 0; c < first->count_count; c++) printf("%18llu", (unsigned long long)rows[i].counts[c].value);
        printf("\n");
    }
}

static void print_means(const bench_plan *plan, const bench_catalog *catalog) {
    bool titled = false;
    for (int a = 0; a < catalog->allocator_count; a++) {
        const bench_allocator *allocator = &catalog->allocators[a];
        int count, same;
        double time = bench_geomean(plan, catalog, allocator->name, bench_figure_time, &count);
        double rss = bench_geomean(plan, catalog, allocator->name, bench_figure_rss, &same);
        if (allocator->kind != BENCH_MALLOC || count == 0) continue;
        if (!titled)
            printf("\ngeometric mean relative to %s\n  %-16s%10s%10s%12s\n", bench_baseline, "malloc", "time",
                   "peak RSS", "workloads");
        titled = true;
        printf("  %-16s%10.3f%10.3f%12d\n", allocator->name, time, rss, count);
    }
}

static void print_notes(const bench_plan *plan, const bench_catalog *catalog, const bench_options *options) {
    if (plan->interrupted) printf("\ninterrupted: this is what was measured until then\n");
    int disturbed = 0;
    for (int i = 0; i < plan->row_count; i++) disturbed += bench_row_disturbed(&plan->rows[i]);
    if (disturbed > 0 && options->clock == BENCH_CLOCK_WALL)
        printf("\n* %d rows had less than 95 %% of their CPU: other programs ran; repeat on an idle machine or with "
               "--clock "
               "cpu\n",
               disturbed);
    if (options->quick) printf("\nquick: a tenth of the work; not for figures to quote\n");
    if (plan->rounds_done < BENCH_ROUNDS_LEAST)
        printf("\nfewer than %d rounds: not for figures to quote\n", (int)BENCH_ROUNDS_LEAST);
    if (catalog->absent[0] != '\0') printf("\nnot installed: %s\n", catalog->absent);
}

void bench_report_text(const bench_plan *plan, const bench_catalog *catalog, const bench_machine *machine,
                       const bench_options *options) {
    print_machine(plan, catalog, machine, options);
    for (int from = 0; from < plan->row_count;) {
        const bench_workload *workload = plan->rows[from].workload;
        const bench_row *base = bench_row_find(plan, workload, bench_baseline);
        const bench_row *peer = bench_row_best_peer(plan, workload);
        int to = from;
        print_title(workload, plan->values[workload - catalog->workloads]);
        while (to < plan->row_count && plan->rows[to].workload == workload) print_row(&plan->rows[to++], base, peer);
        print_counts(&plan->rows[from], to - from);
        from = to;
    }
    print_means(plan, catalog);
    print_notes(plan, catalog, options);
}
