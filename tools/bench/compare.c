// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// A run against an earlier one. What is compared is not the time but its ratio to the baseline of the same run, so that a
// machine that is slower today cancels out; rows whose run has no baseline compare times, and say so. Each change has a
// bootstrap interval over the samples of all (two or four) rows. A regression is an interval above 1 with a change beyond the
// threshold. Rows agree whose change is within the threshold, whatever is certain of it: that is what two runs of the same must
// do. All of it is in the document too, as "comparison".
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
    int agree;    // changes within the threshold, whatever is certain of them
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
    for (size_t i = 0; i < json_array_size(list) && samples.count < BENCH_SAMPLES_MAX; i++) {
        double value = json_number_value(json_array_get(list, i));
        if (value > 0) values[samples.count++] = value;
    }
    return samples;
}

// Returns false if one of the two has no samples.
static bool compare_row(const json_t *before, const json_t *now, const char *allocator, const char *baseline,
                        change *result) {
    static double values[4][BENCH_SAMPLES_MAX];
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

static const char *judge(const change *it, double threshold, change_counts *counts) {
    counts->agree += it->ratio.value <= 1 + threshold && it->ratio.value >= 1 / (1 + threshold);
    if (it->ratio.verdict == BENCH_FASTER) {
        counts->faster++;
        return "faster";
    }
    if (it->ratio.verdict != BENCH_SLOWER) {
        counts->same++;
        return "no difference";
    }
    bool beyond = it->ratio.value >= 1 + threshold;
    counts->regressions += beyond;
    counts->slower += !beyond;
    return beyond ? "REGRESSION" : "slower, within the threshold";
}

static json_t *change_of(const change *it, const char *word) {
    bool interval = isfinite(it->ratio.low) && isfinite(it->ratio.high);
    return json_pack("{s:o, s:s, s:f, s:o, s:o, s:s, s:b}", "row", json_string_nocheck(it->where), "allocator",
                     it->allocator, "change", it->ratio.value, "low", interval ? json_real(it->ratio.low) : json_null(),
                     "high", interval ? json_real(it->ratio.high) : json_null(), "verdict", word, "absolute",
                     it->absolute);
}

static void compare_list(const json_t *before, const json_t *now, const char *list, const bench_options *options,
                         change_counts *counts, json_t *changes) {
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
                json_array_append_new(changes, change_of(&result, judge(&result, options->threshold, counts)));
            else
                counts->missing++;
        }
    }
}

json_t *bench_compare(const json_t *before, const json_t *now, const bench_options *options) {
    change_counts counts = {0, 0, 0, 0, 0, 0};
    json_t *changes = json_array();
    compare_list(before, now, "workloads", options, &counts, changes);
    compare_list(before, now, "programs", options, &counts, changes);
    return json_pack("{s:o, s:f, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:o}", "against",
                     json_string_nocheck(options->compare), "threshold", options->threshold, "rows",
                     (int)json_array_size(changes), "no_difference", counts.same, "faster", counts.faster, "slower",
                     counts.slower, "regressions", counts.regressions, "agree", counts.agree, "missing", counts.missing,
                     "changes", changes);
}

static int count_of(const json_t *comparison, const char *key) {
    return (int)json_integer_value(json_object_get(comparison, key));
}

static void print_change(const json_t *it, bool markdown, FILE *out) {
    const char *absolute = json_is_true(json_object_get(it, "absolute")) ? ", times without a baseline" : "";
    double low = json_number_value(json_object_get(it, "low")), high = json_number_value(json_object_get(it, "high"));
    fprintf(out, markdown ? "| %s | %s | %.3f | %.3f to %.3f | %s%s |\n" : "  %-28s%-18s%9.3f   %.3f to %.3f   %s%s\n",
            text_of(it, "row"), text_of(it, "allocator"), json_number_value(json_object_get(it, "change")), low, high,
            text_of(it, "verdict"), absolute);
}

static void print_summary(const json_t *comparison, bool markdown, FILE *out) {
    double percent = json_number_value(json_object_get(comparison, "threshold")) * 100;
    int compared = count_of(comparison, "rows"), agree = count_of(comparison, "agree");
    int missing = count_of(comparison, "missing");
    fprintf(out, "%s%d rows compared: %d no difference, %d faster, %d slower within %.0f %%, %d regressions",
            markdown ? "\n" : "  ", compared, count_of(comparison, "no_difference"), count_of(comparison, "faster"),
            count_of(comparison, "slower"), percent, count_of(comparison, "regressions"));
    if (missing > 0) fprintf(out, "; %d rows have no counterpart", missing);
    if (compared > 0)
        fprintf(out, "%smedians agree within %.0f %% in %d of %d rows: %.1f %%", markdown ? "\n\n" : "\n  ", percent,
                agree, compared, 100.0 * agree / compared);
    fprintf(out, "\n");
}

void bench_compare_print(const json_t *comparison, const bench_options *options, FILE *out) {
    bool markdown = options->format == BENCH_MARKDOWN;
    if (markdown)
        fprintf(out, "\n### against %s\n\n| row | allocator | change | %d %% interval | |\n|---|---|---:|---:|---|\n",
                options->compare, (int)BENCH_CONFIDENCE);
    else
        fprintf(out, "\nagainst %s: time relative to then (1 is no change, above 1 is slower)\n", options->compare);
    size_t i;
    json_t *it;
    json_array_foreach(json_object_get(comparison, "changes"), i,
                       it) if (strcmp(text_of(it, "verdict"), "no difference") != 0) print_change(it, markdown, out);
    print_summary(comparison, markdown, out);
}

int bench_compare_status(const json_t *comparison, const bench_options *options) {
    if (count_of(comparison, "rows") > 0) return count_of(comparison, "regressions") > 0 ? 1 : 0;
    fprintf(stderr,
            "lido bench: --compare %s: no row there has a counterpart in this run; choose the same workloads, "
            "parameters and allocators\n",
            options->compare);
    return 2;
}
