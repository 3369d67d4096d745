// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// `lido options`: the table that the library itself holds.
#include "command.h"

#include <lido/heap.h>
#include <lido/options.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 100, INDENT = 4 };

// Words of `text`, as many a line as fit.
static void print_wrapped(const char *text) {
    int column = 0;
    while (*text != '\0') {
        int length = (int)strcspn(text, " ");
        if (column > 0 && column + 1 + length > WIDTH) {
            putchar('\n');
            column = 0;
        }
        column += column == 0 ? printf("%*s%.*s", (int)INDENT, "", length, text) : printf(" %.*s", length, text);
        text += length;
        text += strspn(text, " ");
    }
    putchar('\n');
}

static int options_main(int argc, char **argv) {
    if (argc > 1) {
        fprintf(stderr, "lido options: unexpected word '%s'; it takes none\n", argv[1]);
        return LIDO_EXIT_USAGE;
    }
    const char *environment = getenv("LIDO_OPTIONS");
    bool shows_now = environment != NULL && environment[0] != '\0';
    lido_free(lido_malloc(1));    // starts the library, which reads LIDO_OPTIONS and says what it does not understand
    size_t count;
    const lido_option_info *options = lido_options_list(&count);
    printf("%-22s%-22s%-12s%s\n", "option", "value", "default", shows_now ? "now, by LIDO_OPTIONS" : "");
    for (size_t i = 0; i < count; i++) {
        char now[64] = "";
        if (shows_now && !lido_option_text(options[i].name, now, sizeof now)) now[0] = '\0';
        printf("%-22s%-22s%-12s%s\n", options[i].name, options[i].value_help, options[i].default_text, now);
        print_wrapped(options[i].help);
    }
    return LIDO_EXIT_OK;
}

const lido_command lido_command_options = {
    "options", "list the options of the library", options_main,
    "usage: lido options\n"
    "\n"
    "Lists what LIDO_OPTIONS=\"NAME=VALUE:NAME=VALUE\", 'lido run --set NAME=VALUE' and lido_options_set() take, with "
    "the\n"
    "defaults and the reasons for them. With LIDO_OPTIONS set, it also shows what that makes of them.\n"};
