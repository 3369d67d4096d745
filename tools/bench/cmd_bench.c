// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// `lido bench`: what it does in which order. Exit status: 0, 1 if a row of lido failed or a file could not be written,
// 2 for a wrong command line or a build that must not be measured, 130 after Ctrl-C.
#include "../lido/command.h"
#include "bench.h"

#include <stdio.h>
#include <string.h>

static bool lido_failed(const bench_plan *plan) {
    for (int i = 0; i < plan->row_count; i++)
        if (strncmp(plan->rows[i].allocator->name, "lido", 4) == 0 && plan->rows[i].fault[0] != '\0') return true;
    return false;
}

static int refuse_unoptimized(const bench_catalog *catalog) {
    if (catalog->optimized) return 0;
    fprintf(stderr,
            "lido bench: the workers were built without optimization or with assertions or sanitizers (%s,%s); their "
            "times mean nothing. Build the release preset: script/build release\n",
            catalog->compiler, catalog->flags);
    return LIDO_EXIT_USAGE;
}

static int bench_main(int argc, char **argv) {
    static bench_options options;
    static bench_catalog catalog;
    static bench_machine machine;
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
        return 0;
    }
    status = refuse_unoptimized(&catalog);
    if (status == 0) status = bench_plan_make(&plan, &catalog, &options);
    if (status != 0) return status;

    bench_machine_read(&machine);
    bench_machine_warn(&machine);
    bench_catch_interrupt();
    bench_rounds_run(&plan, &catalog, &machine, &options);
    bench_checksums_compare(&plan);
    if (options.json == NULL || strcmp(options.json, "-") != 0) bench_report_text(&plan, &catalog, &machine, &options);
    if (options.json != NULL) status = bench_report_json(&plan, &catalog, &machine, &options);
    if (plan.interrupted) return 130;
    return status != 0 || lido_failed(&plan) ? LIDO_EXIT_FAILURE : LIDO_EXIT_OK;
}

const lido_command lido_command_bench = {
    "bench", "compare allocators on this machine", bench_main,
    "usage: lido bench [OPTION]...\n"
    "\n"
    "Runs workloads on lido's pools and malloc, on libc's malloc and on every other malloc that is installed, each in\n"
    "a process of its own, in random order, and prints a table.\n"
    "\n"
    "  --workload NAME,...      only these workloads (repeatable)\n"
    "  --allocator NAME,...     only these allocators (repeatable); NAME=path.so adds any other malloc\n"
    "  --param [WORKLOAD.]K=V   set a parameter of the workloads that have it (repeatable)\n"
    "  --rounds N               rounds, at least 5 for figures to quote (default 5)\n"
    "  --budget SECONDS         more rounds as long as this time lasts (default 0)\n"
    "  --timeout SECONDS        for one process (default 60)\n"
    "  --seed N                 the order of an earlier run\n"
    "  --clock wall|cpu         time by the clock on the wall (default), or CPU time, for a machine that is not idle;\n"
    "                           rows of several threads are always by the wall\n"
    "  --quick                  a tenth of the work: for a look, not for figures to quote\n"
    "  --json FILE              write everything there too (schema lido-bench/1); - is stdout, without the table\n"
    "  --list                   explain workloads, their parameters and the allocators, and measure nothing\n"
    "\n"
    "Exit status: 0; 1 if a row of lido failed; 2 for a wrong command line or a build that must not be measured.\n"};
