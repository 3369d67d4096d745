// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// The command line of `lido bench`. Names are checked later, against the catalog.
#include "../lido/command.h"
#include "bench.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    OPT_WORKLOAD = 256,
    OPT_ALLOCATOR,
    OPT_PARAM,
    OPT_ROUNDS,
    OPT_BUDGET,
    OPT_TIMEOUT,
    OPT_SEED,
    OPT_JSON,
    OPT_CLOCK
};

static const struct option long_options[] = {
    {"workload", required_argument, NULL, OPT_WORKLOAD},
    {"allocator", required_argument, NULL, OPT_ALLOCATOR},
    {"param", required_argument, NULL, OPT_PARAM},
    {"rounds", required_argument, NULL, OPT_ROUNDS},
    {"budget", required_argument, NULL, OPT_BUDGET},
    {"timeout", required_argument, NULL, OPT_TIMEOUT},
    {"seed", required_argument, NULL, OPT_SEED},
    {"json", required_argument, NULL, OPT_JSON},
    {"clock", required_argument, NULL, OPT_CLOCK},
    {"quick", no_argument, NULL, 'q'},
    {"list", no_argument, NULL, 'l'},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

static int complain(const char *option, const char *value, const char *expected) {
    fprintf(stderr, "lido bench: --%s wants %s, not '%s'\n", option, expected, value);
    return LIDO_EXIT_USAGE;
}

// Adds "a,b,c" as three choices. The text is cut at its commas.
static int add_choices(const char **list, int *count, char *text, bool split) {
    char *rest = text;
    while (rest != NULL) {
        char *word = split ? strsep(&rest, ",") : rest;
        if (!split) rest = NULL;
        if (word[0] == '\0') continue;
        if (*count == BENCH_CHOICES_MAX) {
            fprintf(stderr, "lido bench: more than %d names in the command line\n", BENCH_CHOICES_MAX);
            return LIDO_EXIT_USAGE;
        }
        list[(*count)++] = word;
    }
    return 0;
}

static int read_seconds(const char *option, const char *text, double least, double *out) {
    char *end;
    double value = strtod(text, &end);
    if (end == text || *end != '\0' || !(value >= least) || value > 1e6) return complain(option, text, "seconds");
    *out = value;
    return 0;
}

static int read_rounds(const char *text, int *out) {
    char *end;
    errno = 0;
    long value = strtol(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || value < 1 || value > BENCH_ROUNDS_MAX)
        return complain("rounds", text, "a number from 1 to 200");
    *out = (int)value;
    return 0;
}

static int read_clock(const char *text, bench_clock *out) {
    if (strcmp(text, "wall") != 0 && strcmp(text, "cpu") != 0) return complain("clock", text, "wall or cpu");
    *out = text[0] == 'c' ? BENCH_CLOCK_CPU : BENCH_CLOCK_WALL;
    return 0;
}

static int read_seed(const char *text, bench_options *options) {
    char *end;
    errno = 0;
    options->seed = strtoull(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || text[0] == '-' || options->seed == 0)
        return complain("seed", text, "a whole number above 0");
    options->seed_given = true;
    return 0;
}

static int read_one(bench_options *o, int option) {
    switch (option) {
        case OPT_WORKLOAD: return add_choices(o->workloads, &o->workload_count, optarg, true);
        case OPT_ALLOCATOR: return add_choices(o->allocators, &o->allocator_count, optarg, true);
        case OPT_PARAM: return add_choices(o->params, &o->param_count, optarg, false);
        case OPT_ROUNDS: return read_rounds(optarg, &o->rounds);
        case OPT_BUDGET: return read_seconds("budget", optarg, 0, &o->budget_s);
        case OPT_TIMEOUT: return read_seconds("timeout", optarg, 0.01, &o->timeout_s);
        case OPT_SEED: return read_seed(optarg, o);
        case OPT_CLOCK: return read_clock(optarg, &o->clock);
        case OPT_JSON: o->json = optarg; return 0;
        case 'q': o->quick = true; return 0;
        case 'l': o->list = true; return 0;
        case 'h': o->help = true; return 0;
        default: return LIDO_EXIT_USAGE;
    }
}

int bench_options_read(bench_options *options, int argc, char **argv) {
    options->rounds = BENCH_ROUNDS_LEAST;
    options->timeout_s = 60;
    optind = 1;
    opterr = 0;
    int option;
    while ((option = getopt_long(argc, argv, ":", long_options, NULL)) != -1) {
        if (option == ':') {
            fprintf(stderr, "lido bench: %s needs a value; try 'lido help bench'\n", argv[optind - 1]);
            return LIDO_EXIT_USAGE;
        }
        if (option == '?') {
            fprintf(stderr, "lido bench: unknown option '%s'; try 'lido help bench'\n", argv[optind - 1]);
            return LIDO_EXIT_USAGE;
        }
        int status = read_one(options, option);
        if (status != 0) return status;
    }
    if (optind < argc) {
        fprintf(stderr, "lido bench: unexpected word '%s'; try 'lido help bench'\n", argv[optind]);
        return LIDO_EXIT_USAGE;
    }
    return 0;
}
