// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// A run against an earlier one. What is compared is not the time but its ratio to the baseline of the same run, so that a
// machine that is slower today cancels out; rows whose run has no baseline compare times, and say so. Each change has a
// bootstrap interval over the samples of all (two or four) rows. A regression is an interval above 1 with a change beyond the
// threshold.
#include "bench.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct change {
    char where[200];
    const char *allocator;
    bench_ratio ratio;
    bool absolute;    // of times, not of ratios
} change;

typedef struct change_counts {
    int faster, slower, regressions, same, missing;
    int near;    // changes within the threshold, whatever is certain of them
} change_counts;

static const char *text_of(const json_t *object, const char *key) {
    const char *text = json_string_value(json_object_get(object, key));
    return text != NULL ? text : "";
}

// Whether two workload entries, or two programs, did the same work.
static bool same_work(const json_t *a, const json_t *b) {
    static const char *const keys[] = {"name", "litter", "parameters", "command"};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        json_t *one = json_object_get(a, keys[i]), *other = json_object_get(b, keys[i]);
        if ((one == NULL) != (other == NULL) || (one != NULL && !json_equal(one, other))) return false;
    }
    return true;
}

static const json_t *find_work(const json_t *document, const char *list, const json_t *work) {
    size_t i;
    json_t *candidate;
    json_array_foreach(json_object_get(document, list), i, candidate) if (same_work(candidate, work)) return candidate;
    return NULL;
}

static const json_t *find_allocator(const json_t *work, const char *name) {
    size_t i;
    json_t *row;
    json_array_foreach(json_object_get(work, "allocators"), i,
                       row) if (strcmp(text_of(row, "name"), name) == 0) return row;
    return NULL;
}

// The samples of a row's times into `values`; none if it failed or there is no row.
static bench_samples samples_of(const json_t *row, double *values) {
    const json_t *time = json_object_get(row, "ns_per_op");
    if (time == NULL) time = json_object_get(row, "wall_s");
    const json_t *list = json_object_get(time, "samples");
    bench_samples samples = {values, 0};
    for (size_t i = 0; i < json_array_size(list) && samples.count < BENCH_ROUNDS_MAX; i++) {
        double value = json_number_value(json_array_get(list, i));
        if (value > 0) values[samples.count++] = value;
    }
    return samples;
}

// Returns false if one of the two has no samples.
static bool compare_row(const json_t *before, const json_t *now, const char *allocator, const char *baseline,
                        change *result) {
    static double values[4][BENCH_ROUNDS_MAX];
    bench_samples new_row = samples_of(find_allocator(now, allocator), values[0]);
    bench_samples old_row = samples_of(find_allocator(before, allocator), values[1]);
    bench_samples new_base = samples_of(find_allocator(now, baseline), values[2]);
    bench_samples old_base = samples_of(find_allocator(before, baseline), values[3]), none = {NULL, 0};
    if (new_row.count == 0 || old_row.count == 0) return false;
    result->allocator = allocator;
    result->absolute = new_base.count == 0 || old_base.count == 0 || strcmp(allocator, baseline) == 0;
    result->ratio = result->absolute ? bench_ratio_of(new_row, old_row, none, none)
                                     : bench_ratio_of(new_row, old_row, new_base, old_base);
    return true;
}

static void name_work(const json_t *work, change *result) {
    const json_t *litter = json_object_get(work, "litter"), *command = json_object_get(work, "command");
    if (command != NULL)
        snprintf(result->where, sizeof result->where, "%s ...", json_string_value(json_array_get(command, 0)));
    else if (json_is_integer(litter))
        snprintf(result->where, sizeof result->where, "%.100s, littered %d %%", text_of(work, "name"),
                 (int)json_integer_value(litter));
    else
        snprintf(result->where, sizeof result->where, "%.180s", text_of(work, "name"));
}

static void print_change(const change *it, const char *word, bool markdown) {
    printf(markdown ? "| %s | %s | %.3f | %.3f to %.3f | %s%s |\n" : "  %-28s%-18s%9.3f   %.3f to %.3f   %s%s\n",
           it->where, it->allocator, it->ratio.value, it->ratio.low, it->ratio.high, word,
           it->absolute ? ", times without a baseline" : "");
}

static void judge(const change *it, const bench_options *options, change_counts *counts) {
    bool markdown = options->format == BENCH_MARKDOWN;
    double threshold = 1 + options->threshold;
    counts->near += it->ratio.value < threshold && it->ratio.value > 1 / threshold;
    if (it->ratio.verdict == BENCH_SLOWER && it->ratio.value >= threshold) {
        counts->regressions++;
        print_change(it, "REGRESSION", markdown);
    } else if (it->ratio.verdict == BENCH_SLOWER) {
        counts->slower++;
        print_change(it, "slower, within the threshold", markdown);
    } else if (it->ratio.verdict == BENCH_FASTER) {
        counts->faster++;
        print_change(it, "faster", markdown);
    } else
        counts->same++;
}

static void compare_list(const json_t *before, const json_t *now, const char *list, const bench_options *options,
                         change_counts *counts) {
    size_t w, a;
    json_t *work, *row;
    json_array_foreach(json_object_get(now, list), w, work) {
        const json_t *earlier = find_work(before, list, work);
        json_array_foreach(json_object_get(work, "allocators"), a, row) {
            change result;
            const char *name = text_of(row, "name");
            if (strcmp(name, options->baseline) == 0 && json_array_size(json_object_get(work, "allocators")) > 1)
                continue;
            name_work(work, &result);
            if (earlier != NULL && compare_row(earlier, work, name, options->baseline, &result))
                judge(&result, options, counts);
            else
                counts->missing++;
        }
    }
}

int bench_compare(const json_t *before, const json_t *now, const bench_options *options) {
    change_counts counts = {0, 0, 0, 0, 0, 0};
    bool markdown = options->format == BENCH_MARKDOWN;
    if (markdown)
        printf("\n### against %s\n\n| row | allocator | change | %d %% interval | |\n|---|---|---:|---:|---|\n",
               options->compare, (int)BENCH_CONFIDENCE);
    else
        printf("\nagainst %s: time relative to then%s\n", options->compare, " (1 is no change, above 1 is slower)");
    compare_list(before, now, "workloads", options, &counts);
    compare_list(before, now, "programs", options, &counts);
    int compared = counts.faster + counts.slower + counts.regressions + counts.same;
    printf("%s%d rows compared: %d no difference, %d faster, %d slower within %.0f %%, %d regressions; medians within "
           "%.0f %% "
           "in %d",
           markdown ? "\n" : "  ", compared, counts.same, counts.faster, counts.slower, options->threshold * 100,
           counts.regressions, options->threshold * 100, counts.near);
    if (counts.missing > 0) printf("; %d rows have no counterpart", counts.missing);
    printf("\n");
    if (compared == 0) {
        fprintf(stderr,
                "lido bench: --compare %s: no row there has a counterpart in this run; choose the same workloads, "
                "parameters and allocators\n",
                options->compare);
        return 2;
    }
    return counts.regressions > 0 ? 1 : 0;
}
