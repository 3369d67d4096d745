// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// `lido report`: the command line.
#include "report.h"

#include "../lido/command.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

typedef struct report_options {
    const char *input, *output;
} report_options;

// The value of an option "-oVALUE", "--output=VALUE" or "-o VALUE"; NULL if `word` is another word. Moves *at on when it
// takes the next word. A value that is not there is "".
static const char *output_value(int argc, char **argv, int *at) {
    const char *word = argv[*at], *equals = "--output=";
    if (strncmp(word, equals, strlen(equals)) == 0) return word + strlen(equals);
    if (strcmp(word, "-o") == 0 || strcmp(word, "--output") == 0) return *at + 1 < argc ? argv[++*at] : "";
    return strncmp(word, "-o", 2) == 0 ? word + 2 : NULL;
}

static int options_read(report_options *options, int argc, char **argv) {
    bool plain = false;
    for (int i = 1; i < argc; i++) {
        const char *word = argv[i], *output = plain ? NULL : output_value(argc, argv, &i);
        if (output != NULL) {
            options->output = output;
        } else if (!plain && strcmp(word, "--") == 0) {
            plain = true;
        } else if (!plain && word[0] == '-' && word[1] != '\0') {
            fprintf(stderr, "lido report: unknown option '%s'; there is -o FILE\n", word);
            return LIDO_EXIT_USAGE;
        } else if (options->input != NULL) {
            fprintf(stderr, "lido report: '%s' is one file too many; a report is made of one\n", word);
            return LIDO_EXIT_USAGE;
        } else {
            options->input = word;
        }
    }
    if (options->input == NULL || options->input[0] == '\0') {
        fputs("lido report: which file? lido report FILE.json, as 'lido bench --save FILE.json' writes it\n", stderr);
        return LIDO_EXIT_USAGE;
    }
    if (options->output != NULL && options->output[0] == '\0') {
        fputs("lido report: -o needs the name of a file, or - for stdout\n", stderr);
        return LIDO_EXIT_USAGE;
    }
    return LIDO_EXIT_OK;
}

// bench.json makes bench.html, and what comes from stdin goes to stdout. NULL without memory.
static char *default_output(const char *input) {
    if (strcmp(input, "-") == 0) return strdup(input);
    const char *suffix = ".json", *end = input + strlen(input);
    if (end - input > (long)strlen(suffix) && strcmp(end - strlen(suffix), suffix) == 0) end -= strlen(suffix);
    char *output;
    return asprintf(&output, "%.*s.html", (int)(end - input), input) < 0 ? NULL : output;
}

// The page must not replace the figures that it shows.
static bool is_same_file(const char *a, const char *b) {
    struct stat first, second;
    if (strcmp(a, "-") == 0 || strcmp(b, "-") == 0) return false;
    if (stat(a, &first) != 0 || stat(b, &second) != 0) return false;
    return S_ISREG(first.st_mode) && first.st_dev == second.st_dev && first.st_ino == second.st_ino;
}

static int make_page(const char *input, const char *output) {
    report_data data;
    if (report_data_read(&data, input) != 0) return LIDO_EXIT_FAILURE;
    int status = report_data_check(&data);
    if (status == 0) status = report_page_write(&data, output);
    report_data_free(&data);
    return status == 0 ? LIDO_EXIT_OK : LIDO_EXIT_FAILURE;
}

static int report_main(int argc, char **argv) {
    report_options options = {NULL, NULL};
    int status = options_read(&options, argc, argv);
    if (status != LIDO_EXIT_OK) return status;
    char *output = options.output != NULL ? strdup(options.output) : default_output(options.input);
    if (output == NULL) {
        fprintf(stderr, "lido report: %s\n", strerror(ENOMEM));
        return LIDO_EXIT_FAILURE;
    }
    if (is_same_file(options.input, output)) {
        fprintf(stderr, "lido report: -o %s: that is the file to read; give the page another name\n", output);
        status = LIDO_EXIT_USAGE;
    } else {
        status = make_page(options.input, output);
    }
    free(output);
    return status;
}

const lido_command lido_command_report = {
    "report", "make a page with charts of what bench measured", report_main,
    "usage: lido report FILE.json [-o FILE.html]\n"
    "\n"
    "Makes one page of what 'lido bench --save FILE.json' wrote: a summary, times with their intervals, latency, "
    "memory\n"
    "over time, the machine, the method, and a table that sorts. The page holds everything, the data too, and loads\n"
    "nothing from anywhere: it can be mailed, kept and printed.\n"
    "\n"
    "  -o, --output FILE        the page; default: the name of the input with .html; - is stdout\n"
    "\n"
    "FILE.json may be - for stdin; the page goes to stdout then.\n"
    "\n"
    "Exit status: 0; 1 if the data cannot be read or the page not be written; 2 for a wrong command line.\n"};
