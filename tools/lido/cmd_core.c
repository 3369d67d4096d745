// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// `lido core`: what the gdb commands of lido (tools/gdb/lido-gdb.py, which is part of this program) say of a core file.
//
//      lido  ──── script, with the question as its last line ────►  gdb -batch  ──── the answer ────►  lido
//              a file in memory, by its number                       what else gdb says is looked at only if
//                                                                    there is no answer
#include "command.h"
#include "core_file.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

__asm__(".pushsection .rodata\n"
        "lido_gdb_script: .incbin \"" LIDO_GDB_SCRIPT "\"\n"
        "lido_gdb_script_end: .byte 0\n"
        ".popsection\n");
extern const char lido_gdb_script[], lido_gdb_script_end[];

typedef struct question {
    const char *core, *program;
    char words[512];    // of the gdb command behind `lido`
} question;

static int complain(int status, const char *text) {
    fprintf(stderr, "lido core: %s\n", text);
    return status;
}

// Which words each answer takes: none, -a, or an address.
static int read_answer_words(question *asked, int argc, char **argv) {
    static const char *const plain[] = {"pools", "heap", "leaks", "threads"};
    const char *word = argc > 0 ? argv[0] : "pools", *more = argc > 1 ? argv[1] : "";
    bool known = false, block = strcmp(word, "block") == 0,
         lists = strcmp(word, "pools") == 0 || strcmp(word, "leaks") == 0;
    for (unsigned i = 0; i < sizeof plain / sizeof plain[0]; i++) known = known || strcmp(word, plain[i]) == 0;
    if (!known && !block) {
        fprintf(stderr, "lido core: there is no answer '%s'; there are pools, block ADDRESS, heap, leaks and threads\n",
                word);
        return LIDO_EXIT_USAGE;
    }
    if (block && more[0] == '\0')
        return complain(LIDO_EXIT_USAGE, "which address? lido core CORE PROGRAM block ADDRESS");
    if (argc > 2 || (!block && more[0] != '\0' && !(lists && strcmp(more, "-a") == 0))) {
        fprintf(stderr, "lido core: unexpected word '%s' behind %s\n", argc > 2 ? argv[2] : more, word);
        return LIDO_EXIT_USAGE;
    }
    int length = snprintf(asked->words, sizeof asked->words, "%s %s", word, more);
    bool fits = length < (int)sizeof asked->words && strpbrk(asked->words, "\n\r") == NULL;
    return fits ? 0 : complain(LIDO_EXIT_USAGE, "the address must be one line of at most 500 bytes");
}

// The script, and behind it the question: as numbers, which need no quotes.
static int write_script(const question *asked, int answer_fd) {
    size_t length = (size_t)(lido_gdb_script_end - lido_gdb_script);
    int fd = memfd_create("lido-gdb.py", 0);
    FILE *file = fd >= 0 ? fdopen(dup(fd), "w") : NULL;
    if (file == NULL) return -1;
    fwrite(lido_gdb_script, 1, length, file);
    fprintf(file, "\nanswer(%d, bytes([", answer_fd);
    for (const char *c = asked->words; *c != '\0'; c++) fprintf(file, "%d,", (unsigned char)*c);
    fprintf(file, "]).decode(errors='replace'))\n");
    return fclose(file) == 0 ? fd : -1;
}

// In the child; returns only if there is no gdb.
static void become_gdb(const question *asked, int script, int noise) {
    char run[128], core[PATH_MAX + 16], program[PATH_MAX + 16];
    snprintf(run, sizeof run, "python exec(compile(open('/proc/self/fd/%d').read(), 'lido-gdb.py', 'exec'))", script);
    snprintf(core, sizeof core, "--core=%s", asked->core);
    snprintf(program, sizeof program, "--se=%s", asked->program);
    dup2(noise, STDOUT_FILENO);
    dup2(noise, STDERR_FILENO);
    // nothing of the user's settings, no scripts of the files, no questions to the network
    execlp("gdb", "gdb", "-batch", "-nx", "-iex", "set auto-load off", "-iex", "set debuginfod enabled off", "-iex",
           "set pagination off", "-iex", "set width 0", core, program, "-ex", run, (char *)NULL);
}

static char *read_all(int fd, size_t *length) {
    size_t room = 1 << 16;
    char *text = malloc(room);
    *length = 0;
    while (text != NULL) {
        ssize_t got = read(fd, text + *length, room - *length - 1);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) break;
        *length += (size_t)got;
        if (room - *length > 1) continue;
        char *larger = realloc(text, room *= 2);
        if (larger == NULL) free(text);
        text = larger;
    }
    if (text != NULL) text[*length] = '\0';
    return text;
}

// The last line that gdb wrote, for when there is no answer.
static int explain(int noise, int status) {
    size_t length;
    lseek(noise, 0, SEEK_SET);
    char *text = read_all(noise, &length);
    while (text != NULL && length > 0 && text[length - 1] == '\n') text[--length] = '\0';
    const char *line = text != NULL && strrchr(text, '\n') != NULL ? strrchr(text, '\n') + 1 : text;
    if (WIFEXITED(status) && WEXITSTATUS(status) == LIDO_EXIT_NOT_FOUND && length == 0) {
        complain(LIDO_EXIT_NOT_FOUND, "there is no gdb, which reads the core; install the package gdb");
        status = LIDO_EXIT_NOT_FOUND;
    } else {
        bool python = text != NULL && strstr(text, "ython scripting is not supported") != NULL;
        fprintf(stderr, "lido core: gdb gave no answer: %s\n",
                python                            ? "it was built without Python; install a full gdb"
                : line != NULL && line[0] != '\0' ? line
                                                  : "it died");
        status = LIDO_EXIT_FAILURE;
    }
    free(text);
    return status;
}

// The answer is one letter, 'k' or 'e' (an error), and then what there is to say.
static int print_answer(const char *answer, size_t length) {
    if (answer[0] == 'k') {
        fwrite(answer + 1, 1, length - 1, stdout);
        return LIDO_EXIT_OK;
    }
    answer++;
    const char *colon = strncmp(answer, "lido", 4) == 0 ? strchr(answer, ':') : NULL;
    return complain(LIDO_EXIT_FAILURE, colon != NULL ? colon + 2 : answer);
}

static int ask(const question *asked) {
    int ends[2], noise = memfd_create("noise", 0), status = 0;
    if (noise < 0 || pipe(ends) != 0) return complain(LIDO_EXIT_FAILURE, strerror(errno));
    int script = write_script(asked, ends[1]);
    pid_t child = script >= 0 ? fork() : -1;
    if (child < 0) return complain(LIDO_EXIT_FAILURE, strerror(errno));
    if (child == 0) {
        close(ends[0]);
        become_gdb(asked, script, noise);
        _exit(LIDO_EXIT_NOT_FOUND);
    }
    close(ends[1]);
    size_t length;
    char *answer = read_all(ends[0], &length);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    if (answer == NULL) return complain(LIDO_EXIT_FAILURE, "out of memory");
    int result = length > 0 ? print_answer(answer, length) : explain(noise, status);
    free(answer);
    return result;
}

static int core_main(int argc, char **argv) {
    char why[2 * PATH_MAX + 200];
    question asked;
    if (argc < 3)
        return complain(LIDO_EXIT_USAGE,
                        "which core of which program? lido core CORE PROGRAM [pools | block ADDRESS | heap | "
                        "leaks | threads]");
    asked.core = argv[1];
    asked.program = argv[2];
    int status = read_answer_words(&asked, argc - 3, argv + 3);
    if (status != 0) return status;
    if (lido_core_check(asked.core, asked.program, why, sizeof why) != 0) return complain(LIDO_EXIT_FAILURE, why);
    return ask(&asked);
}

const lido_command lido_command_core = {
    "core", "say what a core file knows of pools and blocks", core_main,
    "usage: lido core CORE PROGRAM [pools [-a] | block ADDRESS | heap | leaks [-a] | threads]\n"
    "\n"
    "Asks gdb, with the commands that lido brings for it, what a program's memory was when it left the core file:\n"
    "  pools           every pool and what it holds (the default); with -a also the size classes of malloc and heaps\n"
    "  block ADDRESS   which pool and block an address lies in, live or free; in check mode who allocated and freed "
    "it\n"
    "  heap            segments, pools, huge objects and threads in figures\n"
    "  leaks           live blocks of check mode guard and page by place of allocation; -a: all, not the 20 largest\n"
    "  threads         the free blocks that each thread keeps\n"
    "ADDRESS may be any expression that gdb can work out without running the program, such as 'conn->next'.\n"
    "\n"
    "Needs gdb, and debug information in the library (not stripped).\n"
    "\n"
    "Exit status: 0; 1 if the files do not fit together or cannot be read, 2 for a wrong command line, 127 without "
    "gdb.\n"};
