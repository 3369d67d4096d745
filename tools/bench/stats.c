// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// Medians, quartiles and ratios of the samples that the rounds left.
#include "bench.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char bench_baseline[] = "glibc";

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

// Linear between the two neighbours of position share * (count - 1).
static double quantile(const double *sorted, int count, double share) {
    double position = share * (count - 1);
    int below = (int)position;
    if (below + 1 >= count) return sorted[count - 1];
    return sorted[below] + (position - below) * (sorted[below + 1] - sorted[below]);
}

bench_spread bench_spread_of(double *values, int count) {
    qsort(values, (size_t)count, sizeof *values, ascending);
    bench_spread spread = {quantile(values, count, 0.5), quantile(values, count, 0.25), quantile(values, count, 0.75)};
    return spread;
}

double bench_figure_time(const bench_sample *sample) { return sample->ns_per_op; }

double bench_figure_cpu_share(const bench_sample *sample) { return sample->cpu_share; }

double bench_figure_rss(const bench_sample *sample) { return (double)sample->rss_peak_kb; }

double bench_figure_final_rss(const bench_sample *sample) { return (double)sample->rss_final_kb; }

double bench_figure_faults(const bench_sample *sample) { return (double)sample->page_faults; }

double bench_figure_timed_faults(const bench_sample *sample) { return (double)sample->page_faults_timed; }

bench_spread bench_row_spread(const bench_row *row, bench_figure figure) {
    double values[BENCH_ROUNDS_MAX];
    for (int i = 0; i < row->sample_count; i++) values[i] = figure(&row->samples[i]);
    return bench_spread_of(values, row->sample_count);
}

bool bench_row_disturbed(const bench_row *row) {
    return (row->workload->shape & BENCH_SHAPE_THREADS) == 0 && bench_row_ok(row) &&
           bench_row_spread(row, bench_figure_cpu_share).median < 0.95;
}

const bench_row *bench_row_find(const bench_plan *plan, const bench_workload *workload, const char *allocator) {
    for (int i = 0; i < plan->row_count; i++) {
        const bench_row *row = &plan->rows[i];
        if (row->workload == workload && strcmp(row->allocator->name, allocator) == 0 && bench_row_ok(row)) return row;
    }
    return NULL;
}

const bench_row *bench_row_best_peer(const bench_plan *plan, const bench_workload *workload) {
    const bench_row *best = NULL;
    double best_ns = 0;
    for (int i = 0; i < plan->row_count; i++) {
        const bench_row *row = &plan->rows[i];
        if (row->workload != workload || !row->allocator->peer || !bench_row_ok(row)) continue;
        double ns = bench_row_spread(row, bench_figure_time).median;
        if (best != NULL && ns >= best_ns) continue;
        best = row;
        best_ns = ns;
    }
    return best;
}

double bench_geomean(const bench_plan *plan, const bench_catalog *catalog, const char *allocator, bench_figure figure,
                     int *count) {
    double sum = 0;
    *count = 0;
    for (int w = 0; w < catalog->workload_count; w++) {
        const bench_row *row = bench_row_find(plan, &catalog->workloads[w], allocator);
        const bench_row *base = bench_row_find(plan, &catalog->workloads[w], bench_baseline);
        if (row == NULL || base == NULL) continue;
        double value = bench_row_spread(row, figure).median, reference = bench_row_spread(base, figure).median;
        if (!(value > 0) || !(reference > 0)) continue;
        sum += log(value / reference);
        ++*count;
    }
    return *count > 0 ? exp(sum / *count) : 0;
}
