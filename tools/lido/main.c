// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// bin/lido: finds the command and hands it the rest of the line. A command is one entry in the table below.
#include "command.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static const lido_command lido_command_help;

static const lido_command *const commands[] = {
    &lido_command_bench,     &lido_command_options, &lido_command_report, &lido_command_run,
    &lido_command_symbolize, &lido_command_version, &lido_command_help,
};
enum { COMMAND_COUNT = sizeof commands / sizeof commands[0] };

static const lido_command *find(const char *name) {
    for (int i = 0; i < COMMAND_COUNT; i++)
        if (strcmp(commands[i]->name, name) == 0) return commands[i];
    return NULL;
}

static void print_usage(FILE *out) {
    fprintf(out, "usage: lido COMMAND [ARGUMENT]...\n\ncommands:\n");
    for (int i = 0; i < COMMAND_COUNT; i++) fprintf(out, "  %-10s%s\n", commands[i]->name, commands[i]->summary);
    fprintf(out, "\n'lido help COMMAND' explains one of them.\n");
}

static int unknown(const char *name) {
    fprintf(stderr, "lido: there is no command '%s'; 'lido help' lists the commands\n", name);
    return LIDO_EXIT_USAGE;
}

static int help_main(int argc, char **argv) {
    if (argc < 2) {
        print_usage(stdout);
        return LIDO_EXIT_OK;
    }
    const lido_command *command = find(argv[1]);
    if (command == NULL) return unknown(argv[1]);
    fputs(command->help, stdout);
    return LIDO_EXIT_OK;
}

static const lido_command lido_command_help = {"help", "explain a command", help_main, "usage: lido help [COMMAND]\n"};

static bool is_word(const char *text, const char *word, const char *letter) {
    return strcmp(text, word) == 0 || strcmp(text, letter) == 0;
}

int main(int argc, char **argv) {
    if (argc < 2) {
        print_usage(stderr);
        return LIDO_EXIT_USAGE;
    }
    const char *name = argv[1];
    if (is_word(name, "--help", "-h")) name = "help";
    if (is_word(name, "--version", "-V")) name = "version";
    const lido_command *command = find(name);
    if (command == NULL) return unknown(name);
    int status = LIDO_EXIT_OK;
    if (argc > 2 && is_word(argv[2], "--help", "-h"))
        fputs(command->help, stdout);
    else
        status = command->run(argc - 1, argv + 1);
    if ((fflush(stdout) != 0 || ferror(stdout)) && status == LIDO_EXIT_OK) {
        fprintf(stderr, "lido %s: cannot write the output\n", command->name);
        return LIDO_EXIT_FAILURE;
    }
    return status;
}
