// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// Schema lido-bench/1. Figures without a unit in their name are ratios or counts; a figure that could not be measured is
// null, and a row that failed has "failed" with the reason in place of its figures.
//
//   {schema, lido, machine{}, build{}, method{}, workloads[{name, op, parameters{}, best_peer, allocators[{name, kind,
//    library, ns_per_op{median, q1, q3, samples[]}, rss_peak_kb, rss_final_kb, page_faults, page_faults_timed, counts{},
//    ratio_to_glibc, ratio_to_best_peer} or {name, kind, failed}]}], geometric_mean[{allocator, time, rss_peak, workloads}]}
#include "bench.h"

#include <errno.h>
#include <lido/defs.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

// Values are written by put_*, each with its key; `comma` says whether one stands before.
typedef struct json_out {
    FILE *file;
    bool comma;
} json_out;

static void put_text(json_out *out, const char *text) {
    fputc('"', out->file);
    for (const unsigned char *at = (const unsigned char *)text; *at != '\0'; at++) {
        if (*at == '"' || *at == '\\')
            fprintf(out->file, "\\%c", *at);
        else if (*at < 0x20)
            fprintf(out->file, "\\u%04x", *at);
        else
            fputc(*at, out->file);
    }
    fputc('"', out->file);
}

static void put_key(json_out *out, const char *key) {
    if (out->comma) fputs(", ", out->file);
    out->comma = true;
    if (key == NULL) return;
    put_text(out, key);
    fputs(": ", out->file);
}

// key NULL: an element of a list.
static void open_group(json_out *out, const char *key, char bracket) {
    put_key(out, key);
    fputc(bracket, out->file);
    out->comma = false;
}

// An element of a list that starts a line of its own.
static void open_line(json_out *out, const char *indent) {
    fprintf(out->file, "%s\n%s{", out->comma ? "," : "", indent);
    out->comma = false;
}

static void close_group(json_out *out, char bracket) {
    fputc(bracket, out->file);
    out->comma = true;
}

static void put_string(json_out *out, const char *key, const char *value) {
    put_key(out, key);
    if (value == NULL)
        fputs("null", out->file);
    else
        put_text(out, value);
}

static void put_number(json_out *out, const char *key, double value) {
    put_key(out, key);
    if (isfinite(value))
        fprintf(out->file, "%.10g", value);
    else
        fputs("null", out->file);
}

static void put_count(json_out *out, const char *key, uint64_t value) {
    put_key(out, key);
    fprintf(out->file, "%llu", (unsigned long long)value);
}

static void put_bool(json_out *out, const char *key, bool value) {
    put_key(out, key);
    fputs(value ? "true" : "false", out->file);
}

static void put_machine(json_out *out, const bench_machine *machine) {
    open_group(out, "machine", '{');
    put_string(out, "cpu", machine->model);
    put_number(out, "cpus", machine->cpus);
    put_number(out, "memory_gb", machine->memory_gb);
    put_string(out, "kernel", machine->kernel);
    put_string(out, "libc", machine->libc);
    put_string(out, "thp", machine->thp);
    put_string(out, "governor", machine->governor);
    put_string(out, "turbo", machine->turbo);
    put_bool(out, "virtual_machine", machine->virtual_machine);
    put_bool(out, "core_is_shared", machine->smt);
    put_number(out, "load_at_start", machine->load);
    close_group(out, '}');
}

static void put_method(json_out *out, const bench_plan *plan, const bench_catalog *catalog,
                       const bench_machine *machine, const bench_options *options) {
    open_group(out, "build", '{');
    put_string(out, "compiler", catalog->compiler);
    put_string(out, "flags", catalog->flags);
    close_group(out, '}');
    open_group(out, "method", '{');
    put_number(out, "rounds", plan->rounds_done);
    put_count(out, "seed", plan->seed);
    put_number(out, "pinned_cpu", machine->pinned_cpu);
    put_string(out, "clock", options->clock == BENCH_CLOCK_CPU ? "cpu" : "wall");
    put_bool(out, "quick", options->quick);
    put_bool(out, "interrupted", plan->interrupted);
    put_bool(out, "quotable", !options->quick && plan->rounds_done >= BENCH_ROUNDS_LEAST);
    close_group(out, '}');
}

static void put_ratio(json_out *out, const char *key, double value, const bench_row *to) {
    put_number(out, key, to != NULL ? value / bench_row_spread(to, bench_figure_time).median : NAN);
}

static void put_figures(json_out *out, const bench_row *row, const bench_row *base, const bench_row *peer) {
    bench_spread ns = bench_row_spread(row, bench_figure_time);
    put_string(out, "library", row->library);
    open_group(out, "ns_per_op", '{');
    put_number(out, "median", ns.median);
    put_number(out, "q1", ns.q1);
    put_number(out, "q3", ns.q3);
    open_group(out, "samples", '[');
    for (int i = 0; i < row->sample_count; i++) put_number(out, NULL, row->samples[i].ns_per_op);
    close_group(out, ']');
    close_group(out, '}');
    put_number(out, "cpu_share", bench_row_spread(row, bench_figure_cpu_share).median);
    put_bool(out, "disturbed", bench_row_disturbed(row));
    put_number(out, "rss_peak_kb", bench_row_spread(row, bench_figure_rss).median);
    put_number(out, "rss_final_kb", bench_row_spread(row, bench_figure_final_rss).median);
    put_number(out, "page_faults", bench_row_spread(row, bench_figure_faults).median);
    put_number(out, "page_faults_timed", bench_row_spread(row, bench_figure_timed_faults).median);
    put_ratio(out, "ratio_to_glibc", ns.median, base);
    put_ratio(out, "ratio_to_best_peer", ns.median, peer);
    put_count(out, "ops", row->ops);
    put_count(out, "checksum", row->checksum);
    if (row->count_count == 0) return;
    open_group(out, "counts", '{');
    for (int i = 0; i < row->count_count; i++) put_count(out, row->counts[i].name, row->counts[i].value);
    close_group(out, '}');
}

static void put_row(json_out *out, const bench_row *row, const bench_row *base, const bench_row *peer) {
    open_line(out, "    ");
    put_string(out, "name", row->allocator->name);
    put_string(out, "kind", row->allocator->kind == BENCH_MALLOC ? "malloc" : "pool");
    if (bench_row_ok(row))
        put_figures(out, row, base, peer);
    else
        put_string(out, "failed", row->fault[0] != '\0' ? row->fault : "not run");
    close_group(out, '}');
}

// Writes the rows from `from` that belong to one workload; returns the index behind them.
static int put_workload(json_out *out, const bench_plan *plan, const bench_catalog *catalog, int from) {
    const bench_workload *workload = plan->rows[from].workload;
    const bench_row *base = bench_row_find(plan, workload, bench_baseline), *peer = bench_row_best_peer(plan, workload);
    open_line(out, "  ");
    put_string(out, "name", workload->name);
    put_string(out, "op", workload->op);
    put_string(out, "help", workload->help);
    open_group(out, "parameters", '{');
    for (int i = 0; i < workload->param_count; i++)
        put_count(out, workload->params[i].name, plan->values[workload - catalog->workloads][i]);
    close_group(out, '}');
    put_string(out, "best_peer", peer != NULL ? peer->allocator->name : NULL);
    open_group(out, "allocators", '[');
    int to = from;
    while (to < plan->row_count && plan->rows[to].workload == workload) put_row(out, &plan->rows[to++], base, peer);
    close_group(out, ']');
    close_group(out, '}');
    return to;
}

static void put_means(json_out *out, const bench_plan *plan, const bench_catalog *catalog) {
    open_group(out, "geometric_mean", '[');
    for (int a = 0; a < catalog->allocator_count; a++) {
        const bench_allocator *allocator = &catalog->allocators[a];
        int count, same;
        double time = bench_geomean(plan, catalog, allocator->name, bench_figure_time, &count);
        if (allocator->kind != BENCH_MALLOC || count == 0) continue;
        open_line(out, "  ");
        put_string(out, "allocator", allocator->name);
        put_number(out, "time", time);
        put_number(out, "rss_peak", bench_geomean(plan, catalog, allocator->name, bench_figure_rss, &same));
        put_number(out, "workloads", count);
        close_group(out, '}');
    }
    close_group(out, ']');
}

int bench_report_json(const bench_plan *plan, const bench_catalog *catalog, const bench_machine *machine,
                      const bench_options *options) {
    bool to_stdout = strcmp(options->json, "-") == 0;
    json_out out = {to_stdout ? stdout : fopen(options->json, "we"), false};
    if (out.file == NULL) {
        fprintf(stderr, "lido bench: --json %s: %s\n", options->json, strerror(errno));
        return 1;
    }
    open_group(&out, NULL, '{');
    char version[32];
    snprintf(version, sizeof version, "%d.%d.%d", LIDO_VERSION_MAJOR, LIDO_VERSION_MINOR, LIDO_VERSION_PATCH);
    put_string(&out, "schema", "lido-bench/1");
    put_string(&out, "lido", version);
    put_string(&out, "baseline", bench_baseline);
    put_machine(&out, machine);
    put_method(&out, plan, catalog, machine, options);
    open_group(&out, "workloads", '[');
    for (int from = 0; from < plan->row_count;) from = put_workload(&out, plan, catalog, from);
    close_group(&out, ']');
    put_means(&out, plan, catalog);
    close_group(&out, '}');
    fputc('\n', out.file);
    bool written = fflush(out.file) == 0 && ferror(out.file) == 0;
    int error = errno;
    if (!to_stdout && fclose(out.file) != 0) written = false;
    if (!written) fprintf(stderr, "lido bench: --json %s: %s\n", options->json, strerror(error));
    return written ? 0 : 1;
}
