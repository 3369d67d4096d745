// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// `lido bench`: what it does in which order.
#include "../lido/command.h"
#include "bench.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

enum { EXIT_INTERRUPTED = 130 };

static bool lido_failed(const bench_plan *plan) {
    for (int i = 0; i < plan->row_count; i++)
        if (strncmp(plan->rows[i].allocator->name, "lido", 4) == 0 && plan->rows[i].fault[0] != '\0') return true;
    return false;
}

static int refuse_unoptimized(const bench_catalog *catalog, const bench_options *options) {
    if (catalog->level == options->level) return 0;
    fprintf(stderr,
            "lido bench: the workers were built without optimization or with assertions or sanitizers (%s,%s); their "
            "times mean nothing. Build the release preset: script/build release\n",
            catalog->compiler, catalog->flags);
    return LIDO_EXIT_USAGE;
}

static void warn(const bench_machine *machine) {
    for (int i = 0; i < machine->note_count; i++) fprintf(stderr, "lido bench: note: %s\n", machine->notes[i]);
}

// Everything that is printed or written, and the comparison. Returns the exit status.
static int report(const bench_plan *plan, const bench_catalog *catalog, const bench_machine *machine,
                  const bench_options *options, const json_t *before) {
    int status = LIDO_EXIT_OK;
    json_t *document = bench_document_make(plan, catalog, machine, options);
    json_t *comparison = before != NULL ? bench_compare(before, document, options) : NULL;
    if (comparison != NULL) json_object_set(document, "comparison", comparison);
    if (options->format == BENCH_JSON)
        status = bench_document_write(document, "-");
    else
        bench_table_print(plan, catalog, machine, options);
    // Behind CSV the text would be read as rows.
    if (comparison != NULL && options->format != BENCH_JSON)
        bench_compare_print(comparison, options, options->format == BENCH_CSV ? stderr : stdout);
    if (options->save != NULL && bench_document_write(document, options->save) != 0) status = LIDO_EXIT_FAILURE;
    if (comparison != NULL) {
        int compared = bench_compare_status(comparison, options);
        if (status == LIDO_EXIT_OK) status = compared;
    }
    json_decref(comparison);
    json_decref(document);
    return status;
}

static int measure(bench_plan *plan, const bench_catalog *catalog, const bench_options *options, const json_t *before) {
    static bench_machine machine;
    bench_machine_read(&machine);
    warn(&machine);
    bench_catch_interrupt();
    bench_rounds_run(plan, &machine, options);
    bench_checksums_compare(plan);
    for (int g = 0; g < plan->group_count; g++) bench_ratios_make(&plan->groups[g], options->baseline);
    if (options->system_calls || options->instructions) bench_extras_run(plan, &machine, options);
    int status = report(plan, catalog, &machine, options, before);
    if (plan->interrupted) return EXIT_INTERRUPTED;
    return status == LIDO_EXIT_OK && lido_failed(plan) ? LIDO_EXIT_FAILURE : status;
}

static int bench_main(int argc, char **argv) {
    static bench_options options;
    static bench_catalog catalog;
    static bench_plan plan;

    int status = bench_options_read(&options, argc, argv);
    if (status != 0) return status;
    if (options.help) {
        fputs(lido_command_bench.help, stdout);
        return LIDO_EXIT_OK;
    }
    status = bench_catalog_make(&catalog, &options);
    if (status != 0) return status;
    if (options.list) {
        bench_catalog_print(&catalog);
        return LIDO_EXIT_OK;
    }
    status = refuse_unoptimized(&catalog, &options);
    if (status == 0) status = bench_plan_make(&plan, &catalog, &options);
    if (status != 0) return status;
    json_t *before = options.compare != NULL ? bench_document_read(options.compare) : NULL;
    if (options.compare != NULL && before == NULL) return LIDO_EXIT_USAGE;
    status = measure(&plan, &catalog, &options, before);
    json_decref(before);
    return status;
}

const lido_command lido_command_bench = {
    "bench", "compare allocators on this machine", bench_main,
    "usage: lido bench [OPTION]...\n"
    "       lido bench [OPTION]... -- PROGRAM [ARGUMENT]...\n"
    "\n"
    "Runs workloads on lido's pools and malloc, on libc's malloc and on every other malloc that is installed, each in\n"
    "a process of its own, in random order, and prints a table. With a program it runs that under each malloc.\n"
    "\n"
    "  --workload NAME,...      only these workloads (repeatable)\n"
    "  --allocator NAME,...     only these allocators (repeatable); NAME=path.so adds any other malloc\n"
    "  --param [WORKLOAD.]K=V   set a parameter of the workloads that have it (repeatable)\n"
    "  --litter PERCENT         every workload also on a heap that was filled and of which this percentage stays\n"
    "  --optimize 0|2           workloads built with -O0, or -O2 (default)\n"
    "  --list                   explain workloads, their parameters and the allocators, and measure nothing\n"
    "\n"
    "  --baseline NAME          the allocator that ratios refer to (default glibc)\n"
    "  --rounds N               rounds at least, 5 or more for figures to quote (default 5); the baseline runs three\n"
    "                           times in each\n"
    "  --budget SECONDS         more rounds while this time lasts (default 2.6 a row, more with looks and --settle;\n"
    "                           120 at least) ...\n"
    "  --precision PERCENT      ... and an interval is wider than this to each side (default 3)\n"
    "  --timeout SECONDS        for one process (default 60)\n"
    "  --seed N                 the order of an earlier run\n"
    "  --clock wall|cpu         time by the clock on the wall (default), or CPU time, for a machine that is not idle;\n"
    "                           workloads of several threads are always by the wall\n"
    "  --looks N                rounds whose calls are timed one by one too, for the latencies (default 2)\n"
    "  --settle MS              how long the first round waits for memory to fall back (default 1500)\n"
    "  --quick                  a tenth of the work: for a look, not for figures to quote\n"
    "  --instructions           count instructions too, under callgrind (slow)\n"
    "  --syscalls               count system calls too, by kind, under ptrace\n"
    "\n"
    "  --format FORMAT          text (default), markdown, csv, json\n"
    "  --save FILE              write everything there as JSON; 'lido report FILE' makes a page of it\n"
    "  --compare FILE           against what --save wrote earlier: exit status 1 on a regression ...\n"
    "  --threshold PERCENT      ... that is certain and beyond this (default 5)\n"
    "\n"
    "Exit status: 0; 1 if a row of lido failed, on a regression, or if a file could not be written; 2 for a wrong\n"
    "command line, a build that must not be measured, or nothing to compare; 130 after Ctrl-C.\n"};
