// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// The document of a run, schema lido-bench/2, described in docs/bench-json.md. Figures without a unit in their name are ratios
// or counts; what was not measured is null, and a row that failed has "failed" with the reason in place of its figures.
#include "bench.h"

#include <errno.h>
#include <jansson.h>
#include <lido/defs.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char schema[] = "lido-bench/2";

static json_t *real_or_null(double value) { return isfinite(value) ? json_real(value) : json_null(); }

static json_t *text_or_null(const char *text) { return text != NULL ? json_string(text) : json_null(); }

static void put(json_t *object, const char *key, json_t *value) { json_object_set_new(object, key, value); }

static void put_real(json_t *object, const char *key, double value) { put(object, key, real_or_null(value)); }

static void put_text(json_t *object, const char *key, const char *value) { put(object, key, text_or_null(value)); }

static void put_int(json_t *object, const char *key, long long value) { put(object, key, json_integer(value)); }

static json_t *machine_of(const bench_machine *machine) {
    json_t *out = json_object();
    put_text(out, "cpu", machine->model);
    put_int(out, "cpus", machine->cpus);
    put_real(out, "memory_gb", machine->memory_gb);
    put_text(out, "kernel", machine->kernel);
    put_text(out, "libc", machine->libc);
    put_text(out, "thp", machine->thp);
    put_text(out, "governor", machine->governor);
    put_text(out, "turbo", machine->turbo);
    put(out, "virtual_machine", json_boolean(machine->virtual_machine));
    put(out, "core_is_shared", json_boolean(machine->smt));
    put_real(out, "load_at_start", machine->load);
    return out;
}

static json_t *notes_of(const bench_plan *plan, const bench_machine *machine) {
    json_t *out = json_array();
    for (int i = 0; i < machine->note_count; i++) json_array_append_new(out, json_string(machine->notes[i]));
    for (int i = 0; i < plan->row_count; i++) {
        if (plan->rows[i].no_counters[0] == '\0') continue;
        json_array_append_new(out, json_sprintf("no hardware counters: %s", plan->rows[i].no_counters));
        break;
    }
    return out;
}

static json_t *method_of(const bench_plan *plan, const bench_machine *machine, const bench_options *options) {
    json_t *out = json_object();
    bool enough = plan->rounds_done >= BENCH_ROUNDS_LEAST;
    put_int(out, "rounds", plan->rounds_done);
    put_int(out, "baseline_repeats", BENCH_REPEATS_BASE);
    put_real(out, "precision", options->precision);
    put_real(out, "budget_s", bench_budget(plan, options));
    put_int(out, "seed", (long long)plan->seed);
    put_int(out, "pinned_cpu", machine->pinned_cpu);
    put_text(out, "clock", options->clock == BENCH_CLOCK_CPU ? "cpu" : "wall");
    put(out, "quick", json_boolean(options->quick));
    put(out, "interrupted", json_boolean(plan->interrupted));
    put(out, "quotable", json_boolean(!options->quick && enough && options->level > 0));
    put(out, "litter", options->litter == BENCH_CLEAN ? json_null() : json_integer(options->litter));
    put_int(out, "optimize", options->level);
    put_text(out, "baseline", options->baseline);
    put_real(out, "confidence", BENCH_CONFIDENCE / 100.0);
    put_int(out, "bootstrap", BENCH_RESAMPLES);
    return out;
}

// Median, quartiles and the samples of the times.
static json_t *spread_of(const bench_row *row) {
    json_t *out = json_object(), *samples = json_array();
    bench_spread time = bench_row_spread(row, BENCH_TIME);
    put_real(out, "median", time.median);
    put_real(out, "q1", time.q1);
    put_real(out, "q3", time.q3);
    for (int i = 0; i < row->sample_count; i++)
        json_array_append_new(samples, real_or_null(row->samples[BENCH_TIME][i]));
    put(out, "samples", samples);
    return out;
}

static json_t *ratio_of(const bench_ratio *ratio) {
    json_t *out = json_object();
    put_real(out, "median", ratio->value);
    put_real(out, "low", ratio->low);
    put_real(out, "high", ratio->high);
    put_text(out, "verdict", bench_verdict_names[ratio->verdict]);
    return out;
}

static json_t *histogram_of(const bench_histogram *histogram) {
    json_t *out = json_object(), *buckets = json_array();
    put_real(out, "p50", bench_histogram_at(histogram, 0.5));
    put_real(out, "p99", bench_histogram_at(histogram, 0.99));
    put_real(out, "p999", bench_histogram_at(histogram, 0.999));
    put_real(out, "p9999", bench_histogram_at(histogram, 0.9999));
    put_real(out, "max", bench_histogram_at(histogram, 1));
    put_int(out, "count", (long long)bench_histogram_total(histogram));
    for (int i = 0; i < histogram->count; i++)
        json_array_append_new(buckets,
                              json_pack("[f, I]", histogram->buckets[i].ns, (json_int_t)histogram->buckets[i].count));
    put(out, "histogram", buckets);
    return out;
}

static json_t *latency_of(const bench_row *row) {
    if (row->allocs.count == 0) return json_null();
    json_t *out = json_object();
    put_real(out, "timer_ns", row->timer_ns);
    put(out, "alloc", histogram_of(&row->allocs));
    put(out, "free", row->frees.count > 0 ? histogram_of(&row->frees) : json_null());
    return out;
}

static json_t *memory_of(const bench_row *row) {
    if (row->point_count == 0) return json_null();
    json_t *out = json_array();
    for (int i = 0; i < row->point_count; i++) {
        const bench_point *point = &row->points[i];
        json_array_append_new(out, row->group->workload != NULL
                                       ? json_pack("[f, f, f]", point->at, point->live, point->held)
                                       : json_pack("[f, f]", point->at, point->held / 1024));
    }
    return out;
}

static json_t *counters_of(const bench_row *row) {
    if (isnan(bench_row_median(row, BENCH_INSTRUCTIONS)) && isnan(bench_row_median(row, BENCH_CYCLES)))
        return json_null();
    json_t *out = json_object();
    for (int f = BENCH_INSTRUCTIONS; f <= BENCH_DTLB_MISSES; f++)
        put_real(out, bench_figures[f].name, bench_row_median(row, (bench_figure)f));
    return out;
}

static json_t *calls_of(const bench_row *row) {
    if (row->call_count == 0) return json_null();
    json_t *out = json_object();
    for (int i = 0; i < row->call_count; i++) put_int(out, row->calls[i].name, (long long)row->calls[i].count);
    return out;
}

static json_t *counts_of(const bench_row *row) {
    json_t *out = json_object();
    for (int i = 0; i < row->count_count; i++) put_int(out, row->counts[i].name, (long long)row->counts[i].value);
    return out;
}

static void put_figures(json_t *out, const bench_row *row) {
    for (int f = BENCH_CPU_SHARE; f < BENCH_INSTRUCTIONS; f++)
        put_real(out, bench_figures[f].name, bench_row_median(row, (bench_figure)f));
    put(out, "ratio", ratio_of(&row->ratio));
    put(out, "memory", memory_of(row));
}

static json_t *row_of(const bench_row *row, const bench_row *peer) {
    json_t *out = json_object();
    put_text(out, "name", row->allocator->name);
    put_text(out, "kind", row->allocator->kind == BENCH_MALLOC ? "malloc" : "pool");
    if (!bench_row_ok(row)) {
        put_text(out, "failed", row->fault[0] != '\0' ? row->fault : "not run");
        return out;
    }
    put_text(out, "library", row->library);
    put_figures(out, row);
    if (row->group->workload == NULL) {
        put(out, "wall_s", spread_of(row));
        put_int(out, "exit_status", row->exit_status);
        return out;
    }
    double median = bench_row_median(row, BENCH_TIME);
    put(out, "ns_per_op", spread_of(row));
    put_real(out, "ops_per_s", 1e9 / median);
    put(out, "disturbed", json_boolean(bench_row_disturbed(row)));
    put(out, "latency", latency_of(row));
    put(out, "counters", counters_of(row));
    put_real(out, "callgrind_instructions", row->callgrind);
    put(out, "system_calls", calls_of(row));
    put(out, "counts", counts_of(row));
    put_int(out, "ops", (long long)row->ops);
    put(out, "checksum", json_sprintf("%llu", (unsigned long long)row->checksum));
    put_real(out, "ratio_to_best_peer", peer != NULL ? median / bench_row_median(peer, BENCH_TIME) : NAN);
    return out;
}

static json_t *rows_of(const bench_group *group, const bench_options *options) {
    json_t *out = json_array();
    const bench_row *peer = bench_row_best_peer(group);
    for (int i = 0; i < group->row_count; i++) {
        json_t *row = row_of(&group->rows[i], peer);
        if (group->workload == NULL && bench_row_ok(&group->rows[i]))
            put_text(row, "output", bench_program_output(&group->rows[i], options->baseline));
        json_array_append_new(out, row);
    }
    return out;
}

static json_t *workload_of(const bench_group *group, const bench_options *options) {
    json_t *out = json_object(), *parameters = json_object();
    const bench_row *peer = bench_row_best_peer(group);
    put_text(out, "name", group->workload->name);
    put_text(out, "op", group->workload->op);
    put_text(out, "help", group->workload->help);
    put(out, "litter", group->litter == BENCH_CLEAN ? json_null() : json_integer(group->litter));
    for (int i = 0; i < group->workload->param_count; i++)
        put_int(parameters, group->workload->params[i].name, (long long)group->values[i]);
    put(out, "parameters", parameters);
    put_text(out, "best_peer", peer != NULL ? peer->allocator->name : NULL);
    put(out, "allocators", rows_of(group, options));
    return out;
}

static json_t *program_of(const bench_group *group, const bench_options *options) {
    json_t *out = json_object(), *command = json_array();
    for (char *const *word = options->command; *word != NULL; word++)
        json_array_append_new(command, json_stringn_nocheck(*word, strlen(*word)));
    put(out, "command", command);
    put(out, "allocators", rows_of(group, options));
    return out;
}

static json_t *means_of(const bench_plan *plan, const bench_catalog *catalog, const bench_options *options) {
    json_t *out = json_array();
    for (int a = 0; a < catalog->allocator_count && options->command == NULL; a++) {
        const bench_allocator *allocator = &catalog->allocators[a];
        int count, same;
        double time = bench_geomean(plan, allocator->name, options->baseline, BENCH_TIME, &count);
        if (allocator->kind != BENCH_MALLOC || count == 0) continue;
        json_t *mean = json_object();
        put_text(mean, "allocator", allocator->name);
        put_real(mean, "time", time);
        put_real(mean, "rss_peak", bench_geomean(plan, allocator->name, options->baseline, BENCH_RSS_PEAK, &same));
        put_int(mean, "workloads", count);
        json_array_append_new(out, mean);
    }
    return out;
}

json_t *bench_document_make(const bench_plan *plan, const bench_catalog *catalog, const bench_machine *machine,
                            const bench_options *options) {
    json_t *out = json_object(), *workloads = json_array(), *programs = json_array(), *build = json_object();
    put_text(out, "schema", schema);
    put(out, "lido", json_sprintf("%d.%d.%d", LIDO_VERSION_MAJOR, LIDO_VERSION_MINOR, LIDO_VERSION_PATCH));
    put_text(out, "kind", options->command != NULL ? "program" : "workloads");
    put(out, "machine", machine_of(machine));
    put(out, "notes", notes_of(plan, machine));
    put_text(build, "compiler", catalog->compiler);
    put_text(build, "flags", catalog->flags);
    put(out, "build", build);
    put(out, "method", method_of(plan, machine, options));
    for (int g = 0; g < plan->group_count; g++) {
        const bench_group *group = &plan->groups[g];
        if (group->workload != NULL)
            json_array_append_new(workloads, workload_of(group, options));
        else
            json_array_append_new(programs, program_of(group, options));
    }
    put(out, "workloads", workloads);
    put(out, "geometric_mean", means_of(plan, catalog, options));
    put(out, "programs", programs);
    return out;
}

static int cannot_write(const char *path, int error) {
    fprintf(stderr, "lido bench: cannot write %s: %s\n", path, strerror(error));
    return 1;
}

// Through a temporary name, so that a failed write leaves what was there.
int bench_document_write(const json_t *document, const char *path) {
    size_t flags = JSON_INDENT(1) | JSON_REAL_PRECISION(10);
    if (strcmp(path, "-") == 0) {
        bool written = json_dumpf(document, stdout, flags) == 0 && putchar('\n') != EOF && fflush(stdout) == 0;
        return written ? 0 : cannot_write("the output", errno);
    }
    char part[PATH_MAX];
    snprintf(part, sizeof part, "%s.part", path);
    if (json_dump_file(document, part, flags) == 0 && rename(part, path) == 0) return 0;
    int error = errno;
    unlink(part);
    return cannot_write(path, error);
}

json_t *bench_document_read(const char *path) {
    json_error_t error;
    json_t *document = json_load_file(path, 0, &error);
    if (document == NULL) {
        if (error.line < 0)
            fprintf(stderr, "lido bench: --compare %s: %s\n", path, error.text);
        else
            fprintf(stderr, "lido bench: --compare %s, line %d: not JSON (%s); give a file that --save wrote\n", path,
                    error.line, error.text);
        return NULL;
    }
    const char *its = json_string_value(json_object_get(document, "schema"));
    if (its != NULL && strcmp(its, schema) == 0) return document;
    fprintf(stderr, "lido bench: --compare %s: its schema is '%s', not '%s'; measure again with --save\n", path,
            its != NULL ? its : "missing", schema);
    json_decref(document);
    return NULL;
}
