// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// One run of a whole program on one malloc. Which library served malloc is said by the program itself: witness.c is preloaded
// before the malloc and writes it down when the program starts, in every process that the program starts in turn.
#include "bench.h"
#include "catalog.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// Memory over time in at most BENCH_POINTS_MAX points: when they are full, every second one goes and the step doubles.
typedef struct memory_watch {
    bench_row *row;    // NULL: not watched
    int step, skipped;
    double page_bytes;
} memory_watch;

enum { CHILDREN_MAX = 64, DEPTH_MAX = 8 };

static double resident_of(pid_t process, int depth) {
    char path[64], text[1024];
    snprintf(path, sizeof path, "/proc/%d/statm", (int)process);
    FILE *file = fopen(path, "re");
    if (file == NULL) return 0;
    double size = 0, pages = 0;
    if (fscanf(file, "%lf %lf", &size, &pages) != 2) pages = 0;
    fclose(file);
    snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)process, (int)process);
    file = depth < DEPTH_MAX ? fopen(path, "re") : NULL;
    if (file == NULL) return pages;
    size_t got = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[got] = '\0';
    int seen = 0;
    for (char *rest = text; rest != NULL && seen < CHILDREN_MAX; seen++) {
        pid_t child = (pid_t)strtol(strsep(&rest, " "), NULL, 10);
        if (child > 0) pages += resident_of(child, depth + 1);
    }
    return pages;
}

static void watch(void *context, pid_t child, double seconds) {
    memory_watch *watch = context;
    bench_row *row = watch->row;
    if (row == NULL || ++watch->skipped < watch->step) return;
    watch->skipped = 0;
    if (row->point_count == BENCH_POINTS_MAX) {
        for (int i = 0; i < BENCH_POINTS_MAX / 2; i++) row->points[i] = row->points[2 * i];
        row->point_count = BENCH_POINTS_MAX / 2;
        watch->step *= 2;
    }
    bench_point point = {seconds, 0, resident_of(child, 0) * watch->page_bytes};
    row->points[row->point_count++] = point;
}

// FNV-1a of all that was written to stdout.
static uint64_t hash_of(int fd) {
    unsigned char bytes[65536];
    uint64_t hash = 0xcbf29ce484222325u;
    ssize_t got;
    if (lseek(fd, 0, SEEK_SET) != 0) return 0;
    while ((got = read(fd, bytes, sizeof bytes)) > 0)
        for (ssize_t i = 0; i < got; i++) hash = (hash ^ bytes[i]) * 0x100000001b3u;
    return hash;
}

// Whether a line of the witness names the library that ought to serve. Writes what it names otherwise.
static bool right_line(const bench_row *row, char *line, char *why, size_t bytes) {
    char *library = line, *program = strchr(line, '\t');
    if (program != NULL) *program++ = '\0';
    char wanted[PATH_MAX];
    const char *base = strrchr(library, '/');
    bool right = row->allocator->preload != NULL
                     ? realpath(row->allocator->preload, wanted) != NULL && strcmp(wanted, library) == 0
                     : base != NULL && strncmp(base, "/libc.so", 8) == 0;
    if (!right)
        snprintf(why, bytes, "%s does not serve malloc: it comes from %.120s in %.60s", row->allocator->name, library,
                 program != NULL ? program : "?");
    return right;
}

// Reads what the witness wrote. Returns false, with the reason, unless every process had the right malloc.
static bool served(bench_row *row, const char *path, char *why, size_t bytes) {
    char line[PATH_MAX + 256];
    bool any = false, right = true;
    FILE *file = fopen(path, "re");
    while (file != NULL && right && fgets(line, sizeof line, file) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        right = right_line(row, line, why, bytes);
        if (!any) snprintf(row->library, sizeof row->library, "%.4000s", line);
        any = true;
    }
    if (file != NULL) fclose(file);
    if (!any)
        snprintf(why, bytes,
                 "nothing proves which malloc served it: a static or set-user-ID program ignores a preload");
    return any && right;
}

static void fill_sample(bench_row *row, const bench_outcome *outcome) {
    int at = bench_row_sample(row);
    row->samples[BENCH_TIME][at] = outcome->wall_s;
    row->samples[BENCH_USER_S][at] = outcome->user_s;
    row->samples[BENCH_SYSTEM_S][at] = outcome->system_s;
    row->samples[BENCH_CPU_USE][at] = (outcome->user_s + outcome->system_s) / outcome->wall_s;
    row->samples[BENCH_RSS_PEAK][at] = (double)outcome->rss_peak_kb;
    row->samples[BENCH_FAULTS][at] = (double)(outcome->minor_faults + outcome->major_faults);
    row->samples[BENCH_MAJOR_FAULTS][at] = (double)outcome->major_faults;
    row->samples[BENCH_VOLUNTARY][at] = (double)outcome->voluntary_switches;
    row->samples[BENCH_INVOLUNTARY][at] = (double)outcome->involuntary_switches;
}

static void take(bench_row *row, int round, bench_clock clock, const bench_outcome *outcome, int output,
                 const char *witness) {
    char why[240];
    if (!outcome->ok || !served(row, witness, why, sizeof why)) {
        bench_row_fail(row, round, outcome->ok ? why : outcome->fault);
        return;
    }
    uint64_t hash = hash_of(output);
    if (row->sample_count > 0 && outcome->exit_status != row->exit_status) {
        bench_row_fail(row, round, "another exit status than in the round before");
        return;
    }
    if (row->sample_count > 0 && hash != row->checksum) row->output_varies = true;
    row->checksum = hash;
    row->exit_status = outcome->exit_status;
    fill_sample(row, outcome);
    if (clock == BENCH_CLOCK_CPU) row->samples[BENCH_TIME][row->sample_count - 1] = outcome->user_s + outcome->system_s;
}

// mkostemp, or the end of the command.
static int temporary(char *name) {
    int fd = mkostemp(name, O_CLOEXEC);
    if (fd < 0) {
        fprintf(stderr, "lido bench: no temporary file %s: %s\n", name, strerror(errno));
        exit(1);
    }
    return fd;
}

void bench_program_run(bench_row *row, int round, const bench_options *options) {
    char witness[] = "/tmp/lido-bench-witness-XXXXXX", output_name[] = "/tmp/lido-bench-output-XXXXXX";
    const char *library = bench_find_helper("lido-bench-witness.so");
    if (library == NULL) {
        bench_row_fail(row, round, "lido-bench-witness.so is not beside this program: script/build release");
        return;
    }
    char preload[2 * PATH_MAX];
    const char *own = row->allocator->preload;
    snprintf(preload, sizeof preload, "%s%s%s", library, own != NULL ? ":" : "", own != NULL ? own : "");
    int output = temporary(output_name), proof = temporary(witness);
    unlink(output_name);
    memory_watch memory = {row->sample_count == 0 ? row : NULL, 1, 0, (double)sysconf(_SC_PAGESIZE)};
    bench_command command = {.argv = (const char *const *)options->command,
                             .preload = preload,
                             .witness = witness,
                             .cpu = -1,
                             .timeout_s = options->timeout_s,
                             .output_fd = output,
                             .any_status = true,
                             .watch = watch,
                             .watch_context = &memory};
    static bench_outcome outcome;
    bench_spawn(&command, &outcome);
    if (!bench_interrupted()) take(row, round, options->clock, &outcome, output, witness);
    close(output);
    close(proof);
    unlink(witness);
}

const char *bench_program_output(const bench_row *row, const char *baseline) {
    const bench_row *base = bench_row_find(row->group, baseline);
    if (row == base) return row->output_varies ? "varies" : "reference";
    if (base == NULL) return "-";
    if (row->exit_status != base->exit_status) return "differs";
    if (base->output_varies || row->output_varies) return "varies";
    return row->checksum == base->checksum ? "same" : "differs";
}
