// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// The command line of `lido bench`. Names are checked later, against the catalog.
#include "../lido/command.h"
#include "bench.h"

#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    OPT_WORKLOAD = 256,
    OPT_ALLOCATOR,
    OPT_PARAM,
    OPT_BASELINE,
    OPT_ROUNDS,
    OPT_BUDGET,
    OPT_PRECISION,
    OPT_TIMEOUT,
    OPT_SEED,
    OPT_CLOCK,
    OPT_LITTER,
    OPT_OPTIMIZE,
    OPT_LOOKS,
    OPT_SETTLE,
    OPT_SAVE,
    OPT_COMPARE,
    OPT_THRESHOLD,
    OPT_FORMAT,
    OPT_INSTRUCTIONS,
    OPT_SYSCALLS,
};

static const struct option long_options[] = {
    {"workload", required_argument, NULL, OPT_WORKLOAD},
    {"allocator", required_argument, NULL, OPT_ALLOCATOR},
    {"param", required_argument, NULL, OPT_PARAM},
    {"baseline", required_argument, NULL, OPT_BASELINE},
    {"rounds", required_argument, NULL, OPT_ROUNDS},
    {"budget", required_argument, NULL, OPT_BUDGET},
    {"precision", required_argument, NULL, OPT_PRECISION},
    {"timeout", required_argument, NULL, OPT_TIMEOUT},
    {"seed", required_argument, NULL, OPT_SEED},
    {"clock", required_argument, NULL, OPT_CLOCK},
    {"litter", required_argument, NULL, OPT_LITTER},
    {"optimize", required_argument, NULL, OPT_OPTIMIZE},
    {"looks", required_argument, NULL, OPT_LOOKS},
    {"settle", required_argument, NULL, OPT_SETTLE},
    {"save", required_argument, NULL, OPT_SAVE},
    {"compare", required_argument, NULL, OPT_COMPARE},
    {"threshold", required_argument, NULL, OPT_THRESHOLD},
    {"format", required_argument, NULL, OPT_FORMAT},
    {"instructions", no_argument, NULL, OPT_INSTRUCTIONS},
    {"syscalls", no_argument, NULL, OPT_SYSCALLS},
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

static int read_whole(const char *option, const char *text, long least, long most, int *out) {
    char *end, range[64];
    errno = 0;
    long value = strtol(text, &end, 10);
    snprintf(range, sizeof range, "a number from %ld to %ld", least, most);
    if (errno != 0 || end == text || *end != '\0' || value < least || value > most)
        return complain(option, text, range);
    *out = (int)value;
    return 0;
}

// A number of percent becomes a share.
static int read_percent(const char *option, const char *text, double *out) {
    char *end;
    double value = strtod(text, &end);
    if (end == text || *end != '\0' || !(value > 0) || value > 1000)
        return complain(option, text, "a number of percent above 0");
    *out = value / 100;
    return 0;
}

static int read_level(const char *text, int *out) {
    if (strcmp(text, "0") != 0 && strcmp(text, "2") != 0) return complain("optimize", text, "0 or 2");
    *out = text[0] - '0';
    return 0;
}

static int read_format(const char *text, bench_format *out) {
    static const char *const names[] = {"text", "markdown", "csv", "json"};
    for (int i = 0; i < 4; i++) {
        if (strcmp(names[i], text) != 0) continue;
        *out = (bench_format)i;
        return 0;
    }
    return complain("format", text, "text, markdown, csv or json");
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
        case OPT_BASELINE: o->baseline = optarg; return 0;
        case OPT_ROUNDS: return read_whole("rounds", optarg, 1, BENCH_ROUNDS_MAX, &o->rounds);
        case OPT_BUDGET: return read_seconds("budget", optarg, 0, &o->budget_s);
        case OPT_PRECISION: return read_percent("precision", optarg, &o->precision);
        case OPT_TIMEOUT: return read_seconds("timeout", optarg, 0.01, &o->timeout_s);
        case OPT_SEED: return read_seed(optarg, o);
        case OPT_CLOCK: return read_clock(optarg, &o->clock);
        case OPT_LITTER: return read_whole("litter", optarg, 0, 99, &o->litter);
        case OPT_OPTIMIZE: return read_level(optarg, &o->level);
        case OPT_LOOKS: return read_whole("looks", optarg, 0, BENCH_ROUNDS_MAX, &o->looks);
        case OPT_SETTLE: return read_whole("settle", optarg, 0, 60000, &o->settle_ms);
        case OPT_SAVE: o->save = optarg; return 0;
        case OPT_COMPARE: o->compare = optarg; return 0;
        case OPT_THRESHOLD: return read_percent("threshold", optarg, &o->threshold);
        case OPT_FORMAT: return read_format(optarg, &o->format);
        case OPT_INSTRUCTIONS: o->instructions = true; return 0;
        case OPT_SYSCALLS: o->system_calls = true; return 0;
        case 'q': o->quick = true; return 0;
        case 'l': o->list = true; return 0;
        case 'h': o->help = true; return 0;
        default: return LIDO_EXIT_USAGE;
    }
}

// What follows "--" is a program; without "--" there is no room for words.
static int take_command(bench_options *options, int argc, char **argv) {
    bool divided = optind > 1 && strcmp(argv[optind - 1], "--") == 0;
    if (optind < argc && !divided) {
        fprintf(stderr, "lido bench: unexpected word '%s'; a program to run stands behind '--'\n", argv[optind]);
        return LIDO_EXIT_USAGE;
    }
    if (!divided) return 0;
    if (optind == argc) {
        fprintf(stderr, "lido bench: no program behind '--'\n");
        return LIDO_EXIT_USAGE;
    }
    if (options->workload_count > 0 || options->param_count > 0 || options->litter != BENCH_CLEAN ||
        options->instructions || options->system_calls || options->quick || options->level == 0) {
        fprintf(stderr,
                "lido bench: --workload, --param, --litter, --optimize, --quick, --instructions and --syscalls are "
                "for workloads, not for a program\n");
        return LIDO_EXIT_USAGE;
    }
    options->command = argv + optind;
    return 0;
}

int bench_options_read(bench_options *options, int argc, char **argv) {
    *options = (bench_options){.rounds = BENCH_ROUNDS_LEAST,
                               .timeout_s = 60,
                               .budget_s = NAN,
                               .precision = 0.03,
                               .threshold = 0.05,
                               .litter = BENCH_CLEAN,
                               .looks = 2,
                               .settle_ms = 1500,
                               .level = 2,
                               .baseline = "glibc"};
    optind = 1;
    opterr = 0;
    int option;
    while ((option = getopt_long(argc, argv, "+:", long_options, NULL)) != -1) {
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
    return take_command(options, argc, argv);
}
