// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// Medians, quartiles, ratios and their intervals. Why the bootstrap resamples both sides for themselves and not by round:
// docs/design/003-bench.md has the simulation.
#include "bench.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const bench_figure_info bench_figures[BENCH_FIGURE_COUNT] = {
    [BENCH_TIME] = {"ns_per_op", NULL},
    [BENCH_CPU_SHARE] = {"cpu_share", NULL},
    [BENCH_RSS_START] = {"rss_start_kb", "rss_start_kb"},
    [BENCH_RSS_PEAK] = {"rss_peak_kb", "rss_peak_kb"},
    [BENCH_RSS_FINAL] = {"rss_final_kb", "rss_final_kb"},
    [BENCH_LAZYFREE] = {"lazyfree_kb", "lazyfree_kb"},
    [BENCH_RSS_SETTLED] = {"rss_settled_kb", "rss_settled_kb"},
    [BENCH_SETTLE_MS] = {"settle_ms", "settle_ms"},
    [BENCH_FAULTS] = {"page_faults", "page_faults"},
    [BENCH_FAULTS_TIMED] = {"page_faults_timed", "page_faults_timed"},
    [BENCH_MAJOR_FAULTS] = {"major_faults", NULL},
    [BENCH_VOLUNTARY] = {"voluntary_switches", NULL},
    [BENCH_INVOLUNTARY] = {"involuntary_switches", NULL},
    [BENCH_USER_S] = {"user_s", NULL},
    [BENCH_SYSTEM_S] = {"system_s", NULL},
    [BENCH_CPU_USE] = {"cpu_use", NULL},
    [BENCH_INSTRUCTIONS] = {"instructions", "counter.instructions"},
    [BENCH_CYCLES] = {"cycles", "counter.cycles"},
    [BENCH_CACHE_MISSES] = {"cache_misses", "counter.cache_misses"},
    [BENCH_DTLB_MISSES] = {"dtlb_misses", "counter.dtlb_misses"},
};

const char *const bench_verdict_names[] = {
    [BENCH_IS_BASELINE] = "baseline",        [BENCH_FASTER] = "faster", [BENCH_SLOWER] = "slower",
    [BENCH_NO_DIFFERENCE] = "no difference", [BENCH_UNKNOWN] = "-",
};

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

bench_spread bench_row_spread(const bench_row *row, bench_figure figure) {
    double values[BENCH_SAMPLES_MAX];
    int count = 0;
    for (int i = 0; i < row->sample_count; i++)
        if (!isnan(row->samples[figure][i])) values[count++] = row->samples[figure][i];
    bench_spread none = {NAN, NAN, NAN};
    return count > 0 ? bench_spread_of(values, count) : none;
}

double bench_row_median(const bench_row *row, bench_figure figure) { return bench_row_spread(row, figure).median; }

uint64_t bench_draw(uint64_t *state) {
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static double median_of(bench_samples samples) {
    double values[BENCH_SAMPLES_MAX];
    memcpy(values, samples.values, (size_t)samples.count * sizeof *values);
    return bench_spread_of(values, samples.count).median;
}

static double median_redrawn(bench_samples samples, uint64_t *state) {
    double values[BENCH_SAMPLES_MAX];
    for (int i = 0; i < samples.count; i++) values[i] = samples.values[bench_draw(state) % (uint64_t)samples.count];
    return bench_spread_of(values, samples.count).median;
}

static bench_verdict judge(const bench_ratio *ratio) {
    if (ratio->high < 1) return BENCH_FASTER;
    return ratio->low > 1 ? BENCH_SLOWER : BENCH_NO_DIFFERENCE;
}

// The seed is fixed, so that the same samples always have the same interval.
bench_ratio bench_ratio_of(bench_samples a, bench_samples b, bench_samples c, bench_samples d) {
    static double drawn[BENCH_RESAMPLES];
    uint64_t state = 1;
    bool divided = c.values != NULL && d.values != NULL;
    for (int i = 0; i < BENCH_RESAMPLES; i++) {
        drawn[i] = median_redrawn(a, &state) / median_redrawn(b, &state);
        if (divided) drawn[i] /= median_redrawn(c, &state) / median_redrawn(d, &state);
    }
    qsort(drawn, BENCH_RESAMPLES, sizeof *drawn, ascending);
    double tail = (1 - BENCH_CONFIDENCE / 100.0) / 2;
    bench_ratio ratio = {median_of(a) / median_of(b), quantile(drawn, BENCH_RESAMPLES, tail),
                         quantile(drawn, BENCH_RESAMPLES, 1 - tail), BENCH_UNKNOWN};
    if (divided) ratio.value /= median_of(c) / median_of(d);
    bool enough = a.count >= BENCH_SAMPLES_LEAST && b.count >= BENCH_SAMPLES_LEAST;
    if (divided) enough = enough && c.count >= BENCH_SAMPLES_LEAST && d.count >= BENCH_SAMPLES_LEAST;
    if (enough)
        ratio.verdict = judge(&ratio);
    else
        ratio.low = ratio.high = NAN;
    return ratio;
}

void bench_ratios_make(bench_group *group, const char *baseline) {
    const bench_row *base = bench_row_find(group, baseline);
    for (int i = 0; i < group->row_count; i++) {
        bench_row *row = &group->rows[i];
        bench_ratio unknown = {NAN, NAN, NAN, BENCH_UNKNOWN}, itself = {1, 1, 1, BENCH_IS_BASELINE};
        row->ratio = row == base ? itself : unknown;
        if (base == NULL || row == base || !bench_row_ok(row)) continue;
        bench_samples mine = {row->samples[BENCH_TIME], row->sample_count}, none = {NULL, 0};
        bench_samples its = {base->samples[BENCH_TIME], base->sample_count};
        row->ratio = bench_ratio_of(mine, its, none, none);
    }
}

bool bench_row_disturbed(const bench_row *row) {
    const bench_workload *workload = row->group->workload;
    return workload != NULL && (workload->shape & BENCH_SHAPE_THREADS) == 0 && bench_row_ok(row) &&
           bench_row_median(row, BENCH_CPU_SHARE) < 0.95;
}

const bench_row *bench_row_find(const bench_group *group, const char *allocator) {
    for (int i = 0; i < group->row_count; i++) {
        const bench_row *row = &group->rows[i];
        if (strcmp(row->allocator->name, allocator) == 0 && bench_row_ok(row)) return row;
    }
    return NULL;
}

const bench_row *bench_row_best_peer(const bench_group *group) {
    const bench_row *best = NULL;
    double best_time = 0;
    for (int i = 0; i < group->row_count; i++) {
        const bench_row *row = &group->rows[i];
        if (!row->allocator->peer || !bench_row_ok(row)) continue;
        double time = bench_row_median(row, BENCH_TIME);
        if (best != NULL && time >= best_time) continue;
        best = row;
        best_time = time;
    }
    return best;
}

double bench_geomean(const bench_plan *plan, const char *allocator, const char *baseline, bench_figure figure,
                     int *count) {
    double sum = 0;
    *count = 0;
    for (int g = 0; g < plan->group_count; g++) {
        const bench_row *row = bench_row_find(&plan->groups[g], allocator);
        const bench_row *base = bench_row_find(&plan->groups[g], baseline);
        if (row == NULL || base == NULL) continue;
        double value = bench_row_median(row, figure), reference = bench_row_median(base, figure);
        if (!(value > 0) || !(reference > 0)) continue;
        sum += log(value / reference);
        ++*count;
    }
    return *count > 0 ? exp(sum / *count) : NAN;
}
