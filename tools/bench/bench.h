// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// The parts of `lido bench`, in the order in which they work:
//
//   options.c    the command line                          -> bench_options
//   catalog.c    what the workers hold, which mallocs there are -> bench_catalog
//   machine.c    what the figures were measured on         -> bench_machine
//   plan.c       the rows: a workload on an allocator      -> bench_plan
//   rounds.c     every row once a round, in random order   -> samples in the rows
//   spawn.c      one process: pinned, preloaded, timed out -> its output
//   stats.c      medians, quartiles, ratios
//   report_*.c   the table and the JSON
//
// Invariants: a row that failed has a text in `fault` and keeps the samples it had; nothing ends the run but the user.
// All is single-threaded, and memory lives until the process ends.
#ifndef LIDO_TOOLS_BENCH_H
#define LIDO_TOOLS_BENCH_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum {
    BENCH_WORKLOADS_MAX = 64,
    BENCH_ALLOCATORS_MAX = 64,
    BENCH_PARAMS_MAX = 8,
    BENCH_CHOICES_MAX = 64,
    BENCH_COUNTS_MAX = 8,
    BENCH_ROUNDS_MAX = 200,
    BENCH_ROUNDS_LEAST = 5,    // below that a median says little; such a run is marked
    BENCH_OUTPUT_MAX = 16384,
    BENCH_SHAPE_THREADS = 8,    // as in the workers
};

typedef enum bench_kind {
    BENCH_MALLOC,    // a malloc of the process, by preload
    BENCH_POOL,      // called by its own name
} bench_kind;

typedef enum bench_clock {
    BENCH_CLOCK_WALL,
    BENCH_CLOCK_CPU,    // of the process: for a machine that others use too; rows of threads stay with wall time
} bench_clock;

typedef struct bench_param {
    const char *name, *help;
    uint64_t value, least, most;
} bench_param;

typedef struct bench_workload {
    const char *name, *op, *help;
    unsigned shape;
    bench_param params[BENCH_PARAMS_MAX];
    int param_count;
} bench_workload;

typedef struct bench_allocator {
    const char *name, *help;
    const char *worker;     // path of the executable
    const char *backend;    // its name there
    const char *preload;    // path, NULL for none
    unsigned shapes;        // of workloads that it can run
    bench_kind kind;
    bool peer;    // a malloc that lido is compared with: neither libc's nor lido's nor NAME=path.so
} bench_allocator;

typedef struct bench_catalog {
    bench_workload workloads[BENCH_WORKLOADS_MAX];
    int workload_count;
    bench_allocator allocators[BENCH_ALLOCATORS_MAX];
    int allocator_count;
    bool optimized;                  // all workers are
    const char *compiler, *flags;    // of the workers
    const char *absent;              // known mallocs that are not installed, divided by ", "; "" for none
} bench_catalog;

typedef struct bench_options {
    const char *workloads[BENCH_CHOICES_MAX], *allocators[BENCH_CHOICES_MAX], *params[BENCH_CHOICES_MAX];
    int workload_count, allocator_count, param_count;
    const char *json;    // path, NULL for none
    int rounds;
    double budget_s, timeout_s;
    uint64_t seed;
    bench_clock clock;
    bool seed_given, quick, list, help;
} bench_options;

typedef struct bench_machine {
    char model[128], kernel[256], libc[64], thp[64], governor[64], turbo[64];
    int cpus, pinned_cpu;    // online; the one for rows of one thread, -1 if it is not known
    double memory_gb, load;
    bool virtual_machine, smt;
} bench_machine;

typedef struct bench_sample {
    double ns_per_op;    // by the clock that was chosen
    double cpu_share;    // CPU time by wall time of the timed passes: below 1 others had the CPU
    long rss_peak_kb, rss_final_kb, page_faults, page_faults_timed;
    long voluntary_switches, involuntary_switches;
    double user_s, system_s;
} bench_sample;

typedef struct bench_row {
    const bench_workload *workload;
    const bench_allocator *allocator;
    bench_sample samples[BENCH_ROUNDS_MAX];
    int sample_count;
    uint64_t ops, checksum;
    struct {
        char name[32];
        uint64_t value;
    } counts[BENCH_COUNTS_MAX];
    int count_count;
    char library[PATH_MAX];    // that served malloc
    char fault[256];           // "" while all is well; the first thing that went wrong otherwise
} bench_row;

typedef struct bench_plan {
    bench_row *rows;    // grouped by workload, each group in the order of the allocators
    int row_count;
    uint64_t values[BENCH_WORKLOADS_MAX][BENCH_PARAMS_MAX];    // by index in the catalog
    int rounds_done;
    uint64_t seed;
    bool interrupted;
} bench_plan;

typedef struct bench_spread {
    double median, q1, q3;
} bench_spread;

// What one process left behind.
typedef struct bench_outcome {
    bool ok;
    char output[BENCH_OUTPUT_MAX];    // of its stdout
    char fault[256];                  // why it is not ok
    double user_s, system_s;
    long voluntary_switches, involuntary_switches;
} bench_outcome;

typedef struct bench_command {
    const char *const *argv;
    const char *preload;    // NULL: the environment's LD_PRELOAD is removed
    int cpu;                // to pin to, -1 for all
    double timeout_s;
} bench_command;

// Return 0 or the exit status to end with; they print what is wrong.
int bench_options_read(bench_options *options, int argc, char **argv);
int bench_catalog_make(bench_catalog *catalog, const bench_options *options);
int bench_plan_make(bench_plan *plan, const bench_catalog *catalog, const bench_options *options);

void bench_catalog_print(const bench_catalog *catalog);
void bench_machine_read(bench_machine *machine);
void bench_machine_warn(const bench_machine *machine);

// Runs one process to its end, or kills it: a crash, a status other than 0 and a time-out are outcomes, not errors.
void bench_spawn(const bench_command *command, bench_outcome *outcome);
// Ctrl-C stops the child and then the rounds; what was measured stays. False until then.
bool bench_interrupted(void);
void bench_catch_interrupt(void);

void bench_rounds_run(bench_plan *plan, const bench_catalog *catalog, const bench_machine *machine,
                      const bench_options *options);
// Rows of one workload must agree on the checksum: those that differ from what most say fail.
void bench_checksums_compare(bench_plan *plan);

// Requires: count >= 1. `values` is sorted in place. Quartiles interpolate between neighbours.
bench_spread bench_spread_of(double *values, int count);
typedef double (*bench_figure)(const bench_sample *sample);
double bench_figure_time(const bench_sample *sample);
double bench_figure_cpu_share(const bench_sample *sample);
double bench_figure_rss(const bench_sample *sample);
double bench_figure_faults(const bench_sample *sample);
double bench_figure_timed_faults(const bench_sample *sample);
double bench_figure_final_rss(const bench_sample *sample);
// Requires: the row has a sample.
bench_spread bench_row_spread(const bench_row *row, bench_figure figure);
static inline bool bench_row_ok(const bench_row *row) { return row->fault[0] == '\0' && row->sample_count > 0; }
// A row of one thread that had less than 95 % of its CPU: its wall time is partly that of others.
bool bench_row_disturbed(const bench_row *row);
// The row of an allocator on a workload, NULL if there is none or it failed.
const bench_row *bench_row_find(const bench_plan *plan, const bench_workload *workload, const char *allocator);
// The fastest row of an installed peer malloc on a workload, NULL if there is none.
const bench_row *bench_row_best_peer(const bench_plan *plan, const bench_workload *workload);
// Geometric mean of figure(allocator) / figure(glibc) over the workloads where both have a row; *count says how many.
double bench_geomean(const bench_plan *plan, const bench_catalog *catalog, const char *allocator, bench_figure figure,
                     int *count);
// The allocator that ratios refer to.
extern const char bench_baseline[];

void bench_report_text(const bench_plan *plan, const bench_catalog *catalog, const bench_machine *machine,
                       const bench_options *options);
// Returns 0, or 1 after saying why the file could not be written.
int bench_report_json(const bench_plan *plan, const bench_catalog *catalog, const bench_machine *machine,
                      const bench_options *options);

#endif
