// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// The tables: text for a terminal, markdown for a page, CSV for a program. Text and markdown have one block a group with the
// columns below, CSV has one line a row with every figure. Ratios are of times: below 1 is faster than what they refer to.
#include "bench.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { CELL_MAX = 320 };

typedef struct cell_place {
    const bench_row *row, *peer;
    const bench_options *options;
} cell_place;

typedef void cell_writer(const cell_place *at, char *text);

static void number(char *text, int decimals, double value) {
    if (isnan(value))
        snprintf(text, CELL_MAX, "-");
    else
        snprintf(text, CELL_MAX, "%.*f", decimals, value);
}

// Nanoseconds in the unit that reads best.
static void duration(char *text, double ns) {
    if (isnan(ns))
        snprintf(text, CELL_MAX, "-");
    else if (ns < 9999.5)
        snprintf(text, CELL_MAX, "%.0f ns", ns);
    else if (ns < 9999500)
        snprintf(text, CELL_MAX, "%.0f us", ns / 1e3);
    else
        snprintf(text, CELL_MAX, "%.0f ms", ns / 1e6);
}

static void cell_name(const cell_place *at, char *text) {
    snprintf(text, CELL_MAX, "%s%s", at->row->allocator->name, bench_row_disturbed(at->row) ? " *" : "");
}

static void cell_time(const cell_place *at, char *text) { number(text, 2, bench_row_median(at->row, BENCH_TIME)); }

static void cell_ratio(const cell_place *at, char *text) { number(text, 2, at->row->ratio.value); }

static void cell_interval(const cell_place *at, char *text) {
    const bench_ratio *ratio = &at->row->ratio;
    if (isnan(ratio->low) || ratio->verdict == BENCH_IS_BASELINE)
        snprintf(text, CELL_MAX, "-");
    else
        snprintf(text, CELL_MAX, "%.2f to %.2f", ratio->low, ratio->high);
}

static void cell_verdict(const cell_place *at, char *text) {
    snprintf(text, CELL_MAX, "%s", bench_verdict_names[at->row->ratio.verdict]);
}

static void cell_peer(const cell_place *at, char *text) {
    number(text, 2,
           at->peer == NULL ? NAN : bench_row_median(at->row, BENCH_TIME) / bench_row_median(at->peer, BENCH_TIME));
}

// Of allocations and frees together.
static double latency_at(const bench_row *row, double share) {
    bench_histogram all = {NULL, 0, 0};
    bench_histogram_merge(&all, &row->allocs);
    bench_histogram_merge(&all, &row->frees);
    return bench_histogram_at(&all, share);
}

static void cell_p50(const cell_place *at, char *text) { duration(text, latency_at(at->row, 0.5)); }
static void cell_p99(const cell_place *at, char *text) { duration(text, latency_at(at->row, 0.99)); }
static void cell_p9999(const cell_place *at, char *text) { duration(text, latency_at(at->row, 0.9999)); }
static void cell_max(const cell_place *at, char *text) { duration(text, latency_at(at->row, 1)); }

static void cell_rss(const cell_place *at, char *text) {
    number(text, 1, bench_row_median(at->row, BENCH_RSS_PEAK) / 1024);
}
static void cell_faults(const cell_place *at, char *text) { number(text, 0, bench_row_median(at->row, BENCH_FAULTS)); }
static void cell_cpu(const cell_place *at, char *text) {
    number(text, 2, bench_row_median(at->row, BENCH_USER_S) + bench_row_median(at->row, BENCH_SYSTEM_S));
}
static void cell_switches(const cell_place *at, char *text) {
    number(text, 0, bench_row_median(at->row, BENCH_VOLUNTARY) + bench_row_median(at->row, BENCH_INVOLUNTARY));
}
static void cell_status(const cell_place *at, char *text) { snprintf(text, CELL_MAX, "%d", at->row->exit_status); }
static void cell_output(const cell_place *at, char *text) {
    snprintf(text, CELL_MAX, "%s", bench_program_output(at->row, at->options->baseline));
}

static void cell_instructions(const cell_place *at, char *text) { number(text, 1, at->row->callgrind); }

static void cell_calls(const cell_place *at, char *text) {
    size_t used = 0;
    text[0] = '\0';
    for (int i = 0; i < at->row->call_count && used < CELL_MAX; i++)
        used += (size_t)snprintf(text + used, CELL_MAX - used, "%s%s %llu", used > 0 ? ", " : "",
                                 at->row->calls[i].name, (unsigned long long)at->row->calls[i].count);
}

enum { FOR_WORKLOADS = 1, FOR_PROGRAMS = 2, FOR_BOTH = 3 };

static const struct column {
    const char *title;
    int width;    // in text; the first is left-aligned
    unsigned kinds;
    cell_writer *write;
} columns[] = {
    {"allocator", 18, FOR_BOTH, cell_name},
    {"ns/op", 9, FOR_WORKLOADS, cell_time},
    {"wall s", 9, FOR_PROGRAMS, cell_time},
    {"ratio", 7, FOR_BOTH, cell_ratio},
    {"95 % interval", 15, FOR_BOTH, cell_interval},
    {"verdict", 15, FOR_BOTH, cell_verdict},
    {"/ best peer", 13, FOR_BOTH, cell_peer},
    {"p50", 9, FOR_WORKLOADS, cell_p50},
    {"p99", 9, FOR_WORKLOADS, cell_p99},
    {"p99.99", 10, FOR_WORKLOADS, cell_p9999},
    {"max", 10, FOR_WORKLOADS, cell_max},
    {"CPU s", 8, FOR_PROGRAMS, cell_cpu},
    {"RSS MB", 9, FOR_BOTH, cell_rss},
    {"faults", 9, FOR_BOTH, cell_faults},
    {"switches", 10, FOR_PROGRAMS, cell_switches},
    {"status", 8, FOR_PROGRAMS, cell_status},
    {"output", 11, FOR_PROGRAMS, cell_output},
};
enum { COLUMN_COUNT = sizeof columns / sizeof columns[0] };

static bool column_applies(const struct column *column, const bench_group *group) {
    return (column->kinds & (group->workload != NULL ? FOR_WORKLOADS : FOR_PROGRAMS)) != 0;
}

static void print_cell(const struct column *column, const char *text, bool markdown) {
    if (markdown)
        printf("| %s ", text);
    else if (column == &columns[0])
        printf("  %-*s", column->width, text);
    else
        printf("%*s", column->width, text);
}

static void print_head(const bench_group *group, bool markdown) {
    for (int c = 0; c < COLUMN_COUNT; c++)
        if (column_applies(&columns[c], group)) print_cell(&columns[c], columns[c].title, markdown);
    printf("%s\n", markdown ? "|" : "");
    if (!markdown) return;
    for (int c = 0; c < COLUMN_COUNT; c++)
        if (column_applies(&columns[c], group)) printf(c == 0 ? "|---" : "|---:");
    printf("|\n");
}

static void print_row(const cell_place *at, bool markdown) {
    char text[CELL_MAX];
    if (!bench_row_ok(at->row)) {
        const char *why = at->row->fault[0] != '\0' ? at->row->fault : "not run";
        printf(markdown ? "| %s | FAILED: %s |\n" : "  %-18sFAILED: %s\n", at->row->allocator->name, why);
        return;
    }
    for (int c = 0; c < COLUMN_COUNT; c++) {
        if (!column_applies(&columns[c], at->row->group)) continue;
        columns[c].write(at, text);
        print_cell(&columns[c], text, markdown);
    }
    printf("%s\n", markdown ? "|" : "");
}

// What a workload counted, if it counts: names as the head, a line for each allocator.
static void print_counts(const bench_group *group) {
    const bench_row *first = NULL;
    for (int i = 0; i < group->row_count && first == NULL; i++)
        if (bench_row_ok(&group->rows[i]) && group->rows[i].count_count > 0) first = &group->rows[i];
    if (first == NULL) return;
    printf("  %-18s", "counts");
    for (int c = 0; c < first->count_count; c++) printf("%18s", first->counts[c].name);
    printf("\n");
    for (int i = 0; i < group->row_count; i++) {
        const bench_row *row = &group->rows[i];
        if (!bench_row_ok(row) || row->count_count != first->count_count) continue;
        printf("  %-18s", row->allocator->name);
        for (int c = 0; c < first->count_count; c++) printf("%18llu", (unsigned long long)row->counts[c].value);
        printf("\n");
    }
}

static void print_extra(const bench_group *group, const bench_options *options, const char *title, cell_writer *write) {
    char text[CELL_MAX];
    printf("  %s\n", title);
    for (int i = 0; i < group->row_count; i++) {
        cell_place at = {&group->rows[i], NULL, options};
        if (!bench_row_ok(at.row)) continue;
        write(&at, text);
        printf("  %-18s%s\n", at.row->allocator->name, text[0] != '\0' ? text : "not counted");
    }
}

static void print_group(const bench_group *group, const bench_options *options) {
    bool markdown = options->format == BENCH_MARKDOWN;
    char title[256];
    bench_group_title(group, options, title, sizeof title);
    printf(markdown ? "\n### %s\n\n" : "\n%s", title);
    if (group->workload != NULL) {
        printf("%s%s%sone op is %s", markdown ? "" : ": ", group->workload->help, markdown ? ". " : "\n  ",
               group->workload->op);
        for (int i = 0; i < group->workload->param_count; i++)
            printf("%s%s=%llu", i == 0 ? "; " : " ", group->workload->params[i].name,
                   (unsigned long long)group->values[i]);
    }
    printf(markdown ? "\n\n" : "\n");
    print_head(group, markdown);
    const bench_row *peer = bench_row_best_peer(group);
    for (int i = 0; i < group->row_count; i++) {
        cell_place at = {&group->rows[i], peer, options};
        print_row(&at, markdown);
    }
    if (markdown) return;
    print_counts(group);
    if (options->instructions) print_extra(group, options, "instructions of one op", cell_instructions);
    if (options->system_calls) print_extra(group, options, "system calls of one process", cell_calls);
}

static void print_machine(const bench_plan *plan, const bench_catalog *catalog, const bench_machine *machine,
                          const bench_options *options) {
    printf("%s, %d CPUs%s; %s; %s; THP %s; governor %s; turbo %s\n", machine->model, machine->cpus,
           machine->virtual_machine ? " (virtual)" : "", machine->kernel, machine->libc, machine->thp,
           machine->governor, machine->turbo);
    if (options->command == NULL)
        printf("workers: %s,%s; one process a sample, rows of one thread pinned to CPU %d\n", catalog->compiler,
               catalog->flags, machine->pinned_cpu);
    printf("%d rounds in random order, %s %d times in each, seed %llu; %s; load at the start %.1f\n", plan->rounds_done,
           options->baseline, (int)BENCH_REPEATS_BASE, (unsigned long long)plan->seed,
           options->clock == BENCH_CLOCK_CPU ? "CPU time but for threads" : "wall time", machine->load);
    printf("ratio: of medians to %s, with its %d %% bootstrap interval; 'no difference': the interval holds 1\n",
           options->baseline, (int)BENCH_CONFIDENCE);
    if (options->command != NULL || plan->row_count == 0) return;
    double timer = NAN;
    for (int i = 0; i < plan->row_count && isnan(timer); i++) timer = plan->rows[i].timer_ns;
    if (!isnan(timer))
        printf("p50 to max: each slot_alloc and slot_free, in a pass of their own; reading the timer takes %.0f ns of "
               "each\n",
               timer);
}

static void print_means(const bench_plan *plan, const bench_catalog *catalog, const bench_options *options) {
    bool titled = false, markdown = options->format == BENCH_MARKDOWN;
    for (int a = 0; a < catalog->allocator_count && options->command == NULL; a++) {
        const bench_allocator *allocator = &catalog->allocators[a];
        int count, same;
        double time = bench_geomean(plan, allocator->name, options->baseline, BENCH_TIME, &count);
        double rss = bench_geomean(plan, allocator->name, options->baseline, BENCH_RSS_PEAK, &same);
        if (allocator->kind != BENCH_MALLOC || count == 0) continue;
        if (!titled && markdown)
            printf("\n### geometric mean relative to %s\n\n| malloc | time | peak RSS | rows |\n|---|---:|---:|---:|\n",
                   options->baseline);
        else if (!titled)
            printf("\ngeometric mean relative to %s\n  %-18s%9s%10s%8s\n", options->baseline, "malloc", "time",
                   "peak RSS", "rows");
        titled = true;
        printf(markdown ? "| %s | %.3f | %.3f | %d |\n" : "  %-18s%9.3f%10.3f%8d\n", allocator->name, time, rss, count);
    }
}

static void print_notes(const bench_plan *plan, const bench_catalog *catalog, const bench_options *options) {
    if (plan->interrupted) printf("\ninterrupted: this is what was measured until then\n");
    int disturbed = 0;
    for (int i = 0; i < plan->row_count; i++) disturbed += bench_row_disturbed(&plan->rows[i]);
    if (disturbed > 0 && options->clock == BENCH_CLOCK_WALL)
        printf("\n* %d rows had less than 95 %% of their CPU: other programs ran; repeat on an idle machine or with "
               "--clock cpu\n",
               disturbed);
    if (options->quick) printf("\nquick: a tenth of the work; not for figures to quote\n");
    if (options->level == 0) printf("\n-O0: what a debug build of the program does; not for figures to quote\n");
    if (plan->rounds_done < BENCH_ROUNDS_LEAST)
        printf("\nfewer than %d rounds: not for figures to quote\n", (int)BENCH_ROUNDS_LEAST);
    if (catalog->absent[0] != '\0') printf("\nnot installed: %s\n", catalog->absent);
}

// A field in quotes, with quotes inside doubled.
static void print_field(const char *text) {
    putchar('"');
    for (; *text != '\0'; text++) {
        if (*text == '"') putchar('"');
        putchar(*text);
    }
    putchar('"');
}

static void print_value(double value) {
    putchar(',');
    if (!isnan(value)) printf("%.8g", value);
}

static void print_csv_row(const bench_row *row, const bench_row *peer, const bench_options *options) {
    static const double shares[] = {0.5, 0.99, 0.999, 0.9999, 1};
    char title[256];
    bench_group_title(row->group, options, title, sizeof title);
    print_field(title);
    putchar(',');
    print_field(row->allocator->name);
    printf(",%s,", row->allocator->kind == BENCH_MALLOC ? "malloc" : "pool");
    print_field(row->fault);
    printf(",%d", row->sample_count);
    if (!bench_row_ok(row)) {
        putchar('\n');
        return;
    }
    for (int f = 0; f < BENCH_FIGURE_COUNT; f++) print_value(bench_row_median(row, (bench_figure)f));
    print_value(row->ratio.value);
    print_value(row->ratio.low);
    print_value(row->ratio.high);
    printf(",%s", bench_verdict_names[row->ratio.verdict]);
    print_value(peer == NULL ? NAN : bench_row_median(row, BENCH_TIME) / bench_row_median(peer, BENCH_TIME));
    for (int i = 0; i < 5; i++) print_value(latency_at(row, shares[i]));
    print_value(row->callgrind);
    putchar('\n');
}

static void print_csv(const bench_plan *plan, const bench_options *options) {
    printf("workload,allocator,kind,failed,samples");
    for (int f = 0; f < BENCH_FIGURE_COUNT; f++)
        printf(",%s", f == BENCH_TIME && options->command != NULL ? "wall_s" : bench_figures[f].name);
    printf(",ratio,ratio_low,ratio_high,verdict,ratio_to_best_peer,p50_ns,p99_ns,p999_ns,p9999_ns,max_ns,"
           "callgrind_instructions\n");
    for (int g = 0; g < plan->group_count; g++) {
        const bench_group *group = &plan->groups[g];
        const bench_row *peer = bench_row_best_peer(group);
        for (int i = 0; i < group->row_count; i++) print_csv_row(&group->rows[i], peer, options);
    }
}

void bench_table_print(const bench_plan *plan, const bench_catalog *catalog, const bench_machine *machine,
                       const bench_options *options) {
    if (options->format == BENCH_CSV) {
        print_csv(plan, options);
        return;
    }
    print_machine(plan, catalog, machine, options);
    for (int g = 0; g < plan->group_count; g++) print_group(&plan->groups[g], options);
    print_means(plan, catalog, options);
    print_notes(plan, catalog, options);
}
