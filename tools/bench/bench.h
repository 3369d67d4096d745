// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// The parts of `lido bench`, in the order in which they work:
//
//   options.c    the command line                                  -> bench_options
//   catalog.c    what the workers hold, which mallocs there are    -> bench_catalog
//   machine.c    what the figures were measured on                 -> bench_machine
//   plan.c       the groups (a workload, or a program) and their rows (one for each allocator) -> bench_plan
//   rounds.c     every row once a round, the baseline's more often, in random order, until the intervals are narrow
//   spawn.c      one process: pinned, preloaded, timed out         -> bench_outcome
//   answer.c     what a worker said                                -> samples in the row
//   program.c    what a whole program did                          -> samples in the row
//   extras.c     system calls and instructions, one more process each, if asked for
//   stats.c      medians, ratios, intervals;  latency.c  histograms
//   table.c      text, markdown, CSV;  document.c  the JSON;  compare.c  against an earlier JSON
//
// Invariants: a row that failed has a text in `fault` and keeps the samples it had; nothing ends the run but the user.
// A figure that was not measured is NAN from the sample to the report. All is single-threaded, and memory lives until the
// process ends.
#ifndef LIDO_TOOLS_BENCH_H
#define LIDO_TOOLS_BENCH_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

enum {
    BENCH_WORKLOADS_MAX = 64,
    BENCH_ALLOCATORS_MAX = 64,
    BENCH_PARAMS_MAX = 8,
    BENCH_CHOICES_MAX = 64,
    BENCH_COUNTS_MAX = 8,
    BENCH_ROUNDS_MAX = 200,
    BENCH_ROUNDS_LEAST = 5,    // below that a median says little; such a run is marked
    BENCH_REPEATS_BASE = 3,    // samples of the baseline in a round: each ratio of its group depends on it
    BENCH_REPEATS_WIDE = 2,    // times as many, of a row whose interval is too wide and of its baseline
    BENCH_SAMPLES_MAX = BENCH_ROUNDS_MAX * BENCH_REPEATS_BASE,    // of a row; one that has so many takes no more
    BENCH_OUTPUT_MAX = 262144,
    BENCH_POINTS_MAX = 64,
    BENCH_CALLS_MAX = 24,
    BENCH_SHAPE_THREADS = 8 + 128 + 256,    // THREADS, CROSS and CROSS_SIZES of bench/worker/worker.h
    BENCH_SAMPLES_LEAST = 3,                // on each side of an interval
    BENCH_RESAMPLES = 2000,                 // of a bootstrap interval
    BENCH_CONFIDENCE = 95,                  // percent, of every interval
    BENCH_CLEAN = -1,                       // in place of the percentage of litter
};

typedef enum bench_kind {
    BENCH_MALLOC,    // a malloc of the process, by preload
    BENCH_POOL,      // called by its own name
} bench_kind;

typedef enum bench_clock {
    BENCH_CLOCK_WALL,
    BENCH_CLOCK_CPU,    // of the process: for a machine that others use too; rows of threads stay with wall time
} bench_clock;

typedef enum bench_format { BENCH_TEXT, BENCH_MARKDOWN, BENCH_CSV, BENCH_JSON } bench_format;

// What one process is measured by. names and units: bench_figures in stats.c.
typedef enum bench_figure {
    BENCH_TIME,    // of workloads ns for one op, of programs s, by the clock that was chosen
    BENCH_CPU_SHARE,
    BENCH_RSS_START,
    BENCH_RSS_PEAK,
    BENCH_RSS_FINAL,
    BENCH_LAZYFREE,
    BENCH_RSS_SETTLED,
    BENCH_SETTLE_MS,
    BENCH_FAULTS,
    BENCH_FAULTS_TIMED,
    BENCH_MAJOR_FAULTS,
    BENCH_VOLUNTARY,
    BENCH_INVOLUNTARY,
    BENCH_USER_S,
    BENCH_SYSTEM_S,
    BENCH_CPU_USE,
    BENCH_INSTRUCTIONS,
    BENCH_CYCLES,
    BENCH_CACHE_MISSES,
    BENCH_DTLB_MISSES,
    BENCH_FIGURE_COUNT
} bench_figure;

typedef struct bench_figure_info {
    const char *name;          // in JSON and CSV
    const char *worker_key;    // in a worker's output, NULL if the figure comes from elsewhere
} bench_figure_info;

extern const bench_figure_info bench_figures[BENCH_FIGURE_COUNT];

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
    int level;                       // the optimization level of all workers, -1 if they differ or have assertions in
    const char *compiler, *flags;    // of the workers
    const char *absent;              // known mallocs that are not installed, divided by ", "; "" for none
} bench_catalog;

typedef struct bench_options {
    const char *workloads[BENCH_CHOICES_MAX], *allocators[BENCH_CHOICES_MAX], *params[BENCH_CHOICES_MAX];
    int workload_count, allocator_count, param_count;
    char *const *command;           // of a whole program, NULL for workloads
    const char *baseline;           // the allocator that ratios refer to
    const char *save, *compare;     // paths of JSON, NULL for none
    int rounds;                     // at least
    double budget_s, timeout_s;     // for all rounds, NAN for so much a row; for one process
    double precision, threshold;    // shares: an interval this narrow (to each side) ends a group; a regression
    int litter;                     // percent that stays, BENCH_CLEAN for none
    int settle_ms, level;
    int looks;    // rounds with a look
    uint64_t seed;
    bench_clock clock;
    bench_format format;
    bool seed_given, quick, list, help, instructions, system_calls;
} bench_options;

enum { BENCH_NOTES_MAX = 12 };

typedef struct bench_machine {
    char model[128], kernel[256], libc[64], thp[64], governor[64], turbo[64];
    int cpus, pinned_cpu;    // online; the one for rows of one thread, -1 if it is not known
    double memory_gb, load;
    bool virtual_machine, smt;
    char notes[BENCH_NOTES_MAX][160];    // what disturbs, and what could not be read
    int note_count;
} bench_machine;

// Latencies as buckets, ascending by ns, each ns once.
typedef struct bench_bucket {
    double ns;    // the highest value that the bucket counts
    uint64_t count;
} bench_bucket;

typedef struct bench_histogram {
    bench_bucket *buckets;
    int count, room;
} bench_histogram;

typedef struct bench_point {    // workloads: operations, live bytes, held bytes; programs: seconds, 0, resident bytes
    double at, live, held;
} bench_point;

typedef enum bench_verdict {
    BENCH_IS_BASELINE,
    BENCH_FASTER,
    BENCH_SLOWER,
    BENCH_NO_DIFFERENCE,
    BENCH_UNKNOWN
} bench_verdict;

typedef struct bench_ratio {
    double value, low, high;    // NAN where there is nothing to compare with
    bench_verdict verdict;
} bench_ratio;

typedef struct bench_calls {
    char name[24];
    uint64_t count;
} bench_calls;

typedef struct bench_group bench_group;

typedef struct bench_row {
    const bench_group *group;
    const bench_allocator *allocator;
    double samples[BENCH_FIGURE_COUNT][BENCH_SAMPLES_MAX];
    int sample_count;          // rows of a group may differ in it
    uint64_t ops, checksum;    // of programs the checksum is that of their output
    struct {
        char name[32];
        uint64_t value;
    } counts[BENCH_COUNTS_MAX];
    int count_count;
    bench_histogram allocs, frees;    // latencies, of all rounds together
    double timer_ns;
    bench_point points[BENCH_POINTS_MAX];    // of the first round
    int point_count;
    bench_calls calls[BENCH_CALLS_MAX];    // system calls of one process, if they were counted
    int call_count;
    double callgrind;          // instructions of one op, NAN if they were not counted
    char no_counters[96];      // why there are no hardware counters
    int exit_status;           // of a program
    bool output_varies;        // of a program: from round to round
    char library[PATH_MAX];    // that served malloc
    char fault[256];           // "" while all is well; the first thing that went wrong otherwise
    bench_ratio ratio;         // of times to the baseline's; see bench_ratios_make
    int round;                 // in which it ran last, 0 before
    bool wide;                 // its interval was seen to be wider than asked
} bench_row;

struct bench_group {
    const bench_workload *workload;    // NULL for a program
    uint64_t values[BENCH_PARAMS_MAX];
    int litter;    // percent, or BENCH_CLEAN
    bench_row *rows;
    int row_count;
    bool settled;    // its intervals are narrow: no more rounds
    bool wide;       // one of them was seen to be too wide
};

typedef struct bench_plan {
    bench_group *groups;
    int group_count;
    bench_row *rows;    // of all groups, one group after another
    int row_count;
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
    double wall_s, user_s, system_s;
    long minor_faults, major_faults, rss_peak_kb, voluntary_switches, involuntary_switches;
    int exit_status;    // 0 if it was killed
} bench_outcome;

typedef struct bench_command {
    const char *const *argv;
    const char *preload;    // NULL: the environment's LD_PRELOAD is removed
    const char *witness;    // path for LIDO_BENCH_WITNESS, NULL for none
    int cpu;                // to pin to, -1 for all
    double timeout_s;
    int output_fd;      // where stdout goes in place of `output`, -1 for there
    bool any_status;    // an exit status other than 0 is no fault
    void (*watch)(void *context, pid_t child, double seconds);    // about every 10 ms while it runs, NULL for none
    void *watch_context;
} bench_command;

// Return 0 or the exit status to end with; they print what is wrong.
int bench_options_read(bench_options *options, int argc, char **argv);
int bench_catalog_make(bench_catalog *catalog, const bench_options *options);
int bench_plan_make(bench_plan *plan, const bench_catalog *catalog, const bench_options *options);

void bench_catalog_print(const bench_catalog *catalog);
void bench_machine_read(bench_machine *machine);

// Runs one process to its end, or kills it: a crash, a status other than 0 and a time-out are outcomes, not errors.
void bench_spawn(const bench_command *command, bench_outcome *outcome);
// Ctrl-C stops the child and then the rounds; what was measured stays. False until then.
bool bench_interrupted(void);
void bench_catch_interrupt(void);
double bench_seconds(void);    // monotonic

enum { BENCH_WORDS_MAX = BENCH_PARAMS_MAX + 12 };

typedef struct bench_words {
    char text[BENCH_WORDS_MAX][64];
    const char *argv[BENCH_WORDS_MAX];
    int count;
} bench_words;

// The command line of a row's worker. look, settle_ms and passes as in bench/README.md; passes 0 for as many as needed.
void bench_words_make(bench_words *words, const bench_row *row, int passes, bool look, int settle_ms);

// Seconds that rounds beyond those that were asked for may take all together with them.
double bench_budget(const bench_plan *plan, const bench_options *options);
void bench_rounds_run(bench_plan *plan, const bench_machine *machine, const bench_options *options);
// What a process of a round says becomes samples of the row, or its fault.
void bench_answer_take(bench_row *row, int round, const bench_options *options, bench_outcome *outcome);
void bench_program_run(bench_row *row, int round, const bench_options *options);
// Its output and exit status against those of the baseline: "reference", "same", "differs", "varies" (by itself) or "-".
const char *bench_program_output(const bench_row *row, const char *baseline);
void bench_row_fail(bench_row *row, int round, const char *why);
// A row's next sample: all figures NAN. Returns its index.
int bench_row_sample(bench_row *row);
// Rows of one group must agree on the checksum: those that differ from what most say fail. Of a program the baseline's
// output is right; one whose output is never the same twice is not judged by it.
void bench_checksums_compare(bench_plan *plan);
// System calls and instructions of each row, as the options ask.
void bench_extras_run(bench_plan *plan, const bench_machine *machine, const bench_options *options);

// Requires: count >= 1. `values` is sorted in place. Quartiles interpolate between neighbours.
bench_spread bench_spread_of(double *values, int count);
// Requires: the row has a sample. NAN if no sample has the figure.
bench_spread bench_row_spread(const bench_row *row, bench_figure figure);
double bench_row_median(const bench_row *row, bench_figure figure);
static inline bool bench_row_ok(const bench_row *row) { return row->fault[0] == '\0' && row->sample_count > 0; }
// Splitmix64.
uint64_t bench_draw(uint64_t *state);
// The percentile bootstrap interval of median(a) / median(b), each resampled for itself. c and d, if given, divide it by
// median(c) / median(d). Requires: counts >= 1 where there is an array. With fewer than BENCH_SAMPLES_LEAST on a side there is
// no interval and no verdict.
typedef struct bench_samples {
    const double *values;
    int count;
} bench_samples;
bench_ratio bench_ratio_of(bench_samples a, bench_samples b, bench_samples c, bench_samples d);
// Fills `ratio` of every row of the group.
void bench_ratios_make(bench_group *group, const char *baseline);
extern const char *const bench_verdict_names[];
// A row of one thread that had less than 95 % of its CPU: its wall time is partly that of others.
bool bench_row_disturbed(const bench_row *row);
// The row of an allocator in a group, NULL if there is none or it failed.
const bench_row *bench_row_find(const bench_group *group, const char *allocator);
// The fastest row of an installed peer malloc in a group, NULL if there is none.
const bench_row *bench_row_best_peer(const bench_group *group);
// Geometric mean of figure(allocator) / figure(baseline) over the groups where both have a row; *count says how many.
double bench_geomean(const bench_plan *plan, const char *allocator, const char *baseline, bench_figure figure,
                     int *count);
// Name of the group as reports show it: "churn", "churn, littered 20 %", or the command.
void bench_group_title(const bench_group *group, const bench_options *options, char *text, size_t bytes);

// Adds "NS:COUNT,NS:COUNT,..." to the histogram. Returns false if the text is damaged.
bool bench_histogram_add(bench_histogram *histogram, const char *text);
void bench_histogram_merge(bench_histogram *histogram, const bench_histogram *other);
uint64_t bench_histogram_total(const bench_histogram *histogram);
// The least value that `share` of all latencies do not exceed; NAN of an empty histogram.
double bench_histogram_at(const bench_histogram *histogram, double share);

void bench_table_print(const bench_plan *plan, const bench_catalog *catalog, const bench_machine *machine,
                       const bench_options *options);
struct json_t;
// The document of schema lido-bench/2.
struct json_t *bench_document_make(const bench_plan *plan, const bench_catalog *catalog, const bench_machine *machine,
                                   const bench_options *options);
// path "-" is stdout. Returns 0, or 1 after saying why the file could not be written.
int bench_document_write(const struct json_t *document, const char *path);
// Reads an earlier document, NULL after saying what is wrong with it.
struct json_t *bench_document_read(const char *path);
// What changed since `before`: counts and a list, the "comparison" of a document.
struct json_t *bench_compare(const struct json_t *before, const struct json_t *now, const bench_options *options);
// Prints the summary and the rows that differ, as markdown or text.
void bench_compare_print(const struct json_t *comparison, const bench_options *options, FILE *out);
// 1 if there is a regression beyond the threshold, 2, after saying so, if nothing could be compared, else 0.
int bench_compare_status(const struct json_t *comparison, const bench_options *options);

#endif
