// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// What can be measured: the workloads and pools that the workers hold (they are asked with --describe), and the mallocs
// of this machine. A worker that is missing leaves out its part; the malloc worker must be there.
#include "catalog.h"
#include "../lido/command.h"
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FIELDS_MAX = 8, LEVEL_UNKNOWN = -2 };

static unsigned malloc_shapes;    // what any malloc can run, as its worker says

static char *copy(const char *text) {
    char *own = strdup(text);
    if (own == NULL) abort();
    return own;
}

// Workers and the witness stand beside bin/lido in a build, and in libexec once installed.
const char *bench_find_helper(const char *name) {
    static const char *const folders[] = {"", LIDO_LIBEXEC_FROM_BIN "/"};
    char self[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    if (length <= 0) return NULL;
    self[length] = '\0';
    *strrchr(self, '/') = '\0';
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
        char *path;
        if (asprintf(&path, "%s/%s%s", self, folders[i], name) < 0) abort();
        if (access(path, R_OK) == 0) return path;
        free(path);
    }
    return NULL;
}

static bench_workload *workload_named(bench_catalog *catalog, const char *name) {
    for (int i = 0; i < catalog->workload_count; i++)
        if (strcmp(catalog->workloads[i].name, name) == 0) return &catalog->workloads[i];
    return NULL;
}

static void take_workload(bench_catalog *catalog, char **field) {
    if (workload_named(catalog, field[1]) != NULL || catalog->workload_count == BENCH_WORKLOADS_MAX) return;
    bench_workload *workload = &catalog->workloads[catalog->workload_count++];
    workload->name = copy(field[1]);
    workload->shape = (unsigned)strtoul(field[2], NULL, 10);
    workload->op = copy(field[3]);
    workload->help = copy(field[4]);
}

// Every worker describes every workload: a parameter that is there already is skipped.
static void take_param(bench_catalog *catalog, char **field) {
    bench_workload *workload = workload_named(catalog, field[1]);
    if (workload == NULL || workload->param_count == BENCH_PARAMS_MAX) return;
    for (int i = 0; i < workload->param_count; i++)
        if (strcmp(workload->params[i].name, field[2]) == 0) return;
    bench_param *param = &workload->params[workload->param_count++];
    param->name = copy(field[2]);
    param->value = strtoull(field[3], NULL, 10);
    param->least = strtoull(field[4], NULL, 10);
    param->most = strtoull(field[5], NULL, 10);
    param->help = copy(field[6]);
}

static bench_allocator *add_allocator(bench_catalog *catalog, const char *name, const char *help, bench_kind kind) {
    if (catalog->allocator_count == BENCH_ALLOCATORS_MAX) return NULL;
    bench_allocator *allocator = &catalog->allocators[catalog->allocator_count++];
    allocator->name = copy(name);
    allocator->help = copy(help);
    allocator->kind = kind;
    return allocator;
}

static void take_backend(bench_catalog *catalog, char **field, const char *worker) {
    if (strcmp(field[1], "malloc") == 0) {    // the mallocs are added by name
        malloc_shapes = (unsigned)strtoul(field[2], NULL, 10);
        return;
    }
    bench_allocator *allocator = add_allocator(catalog, field[1], field[3], BENCH_POOL);
    if (allocator == NULL) return;
    allocator->worker = worker;
    allocator->backend = allocator->name;
    allocator->shapes = (unsigned)strtoul(field[2], NULL, 10);
}

static void take_line(bench_catalog *catalog, char *line, const char *worker) {
    char *field[FIELDS_MAX];
    int count = 0;
    for (char *rest = line; rest != NULL && count < FIELDS_MAX;) field[count++] = strsep(&rest, "\t");
    if (count >= 4 && strcmp(field[0], "build") == 0) {
        int level = (int)strtol(field[1], NULL, 10);
        catalog->level = catalog->level == LEVEL_UNKNOWN || catalog->level == level ? level : -1;
        catalog->compiler = copy(field[2]);
        catalog->flags = copy(field[3]);
    }
    if (count >= 5 && strcmp(field[0], "workload") == 0) take_workload(catalog, field);
    if (count >= 7 && strcmp(field[0], "param") == 0) take_param(catalog, field);
    if (count >= 4 && strcmp(field[0], "backend") == 0) take_backend(catalog, field, worker);
}

// Returns the worker's path, NULL if it is not there or does not answer.
static const char *ask_worker(bench_catalog *catalog, const char *name) {
    const char *worker = bench_find_helper(name);
    if (worker == NULL) return NULL;
    const char *argv[] = {worker, "--describe", NULL};
    bench_command command = {.argv = argv, .cpu = -1, .timeout_s = 10, .output_fd = -1};
    static bench_outcome outcome;
    bench_spawn(&command, &outcome);
    if (!outcome.ok) {
        fprintf(stderr, "lido bench: %s --describe: %s\n", worker, outcome.fault);
        return NULL;
    }
    for (char *rest = outcome.output; rest != NULL;) take_line(catalog, strsep(&rest, "\n"), worker);
    return worker;
}

static void add_malloc(bench_catalog *catalog, const char *worker, const char *name, const char *help,
                       const char *preload, bool peer) {
    bench_allocator *allocator = add_allocator(catalog, name, help, BENCH_MALLOC);
    if (allocator == NULL) return;
    allocator->worker = worker;
    allocator->backend = "malloc";
    allocator->preload = preload;
    allocator->shapes = malloc_shapes;
    allocator->peer = peer;
}

static void add_lido(bench_catalog *catalog, const char *worker) {
    char path[PATH_MAX], why[PATH_MAX + 200];
    if (lido_locate_malloc(path, sizeof path, why, sizeof why) == 0)
        add_malloc(catalog, worker, "lido", "malloc of liblido-malloc.so", copy(path), false);
    else
        fprintf(stderr, "lido bench: there is no row 'lido': %s\n", why);
}

static void add_peers(bench_catalog *catalog, const char *worker) {
    char absent[512] = "";
    for (size_t i = 0; i < bench_known_peer_count; i++) {
        const bench_known_peer *peer = &bench_known_peers[i];
        const char *path = NULL;
        for (int f = 0; f < BENCH_PEER_FILES_MAX && path == NULL && peer->files[f] != NULL; f++)
            path = bench_find_library(peer->files[f]);
        if (path != NULL)
            add_malloc(catalog, worker, peer->name, peer->help, path, true);
        else {
            size_t used = strlen(absent);
            snprintf(absent + used, sizeof absent - used, "%s%s", used > 0 ? ", " : "", peer->name);
        }
    }
    catalog->absent = copy(absent);
}

// A choice NAME=path.so defines an allocator; the choice is then its name.
static int add_given(bench_catalog *catalog, const char *worker, const char **choice) {
    const char *equals = strchr(*choice, '=');
    if (equals == NULL) return 0;
    char *name = strndup(*choice, (size_t)(equals - *choice));
    char *path = realpath(equals + 1, NULL);
    if (name == NULL || name[0] == '\0' || path == NULL) {
        fprintf(stderr, "lido bench: --allocator %s: no such file; write NAME=path.so\n", *choice);
        return LIDO_EXIT_USAGE;
    }
    if (strpbrk(path, " :") != NULL) {
        fprintf(stderr, "lido bench: '%s' holds a space or a colon, which LD_PRELOAD cannot name; copy the file\n",
                path);
        return LIDO_EXIT_USAGE;
    }
    for (int i = 0; i < catalog->allocator_count; i++) {
        if (strcmp(catalog->allocators[i].name, name) != 0) continue;
        fprintf(stderr, "lido bench: there is an allocator '%s' already; give this one another name\n", name);
        return LIDO_EXIT_USAGE;
    }
    add_malloc(catalog, worker, name, path, path, false);
    *choice = name;
    return 0;
}

int bench_catalog_make(bench_catalog *catalog, const bench_options *options) {
    bool plain = options->level == 0;
    catalog->level = LEVEL_UNKNOWN;
    const char *worker = ask_worker(catalog, plain ? "lido-bench-malloc-O0" : "lido-bench-malloc");
    if (worker == NULL) {
        fprintf(stderr,
                "lido bench: the worker lido-bench-malloc%s is not beside this program; build the release preset: "
                "script/build release\n",
                plain ? "-O0" : "");
        return LIDO_EXIT_FAILURE;
    }
    add_malloc(catalog, worker, "glibc", "malloc of the C library, without preload", NULL, false);
    add_lido(catalog, worker);
    add_peers(catalog, worker);
    ask_worker(catalog, plain ? "lido-bench-pools-O0" : "lido-bench-pools");
    ask_worker(catalog, plain ? "lido-bench-peers-O0" : "lido-bench-peers");
    ask_worker(catalog, plain ? "lido-bench-cxx-O0" : "lido-bench-cxx");
    for (int i = 0; i < options->allocator_count; i++) {
        int status = add_given(catalog, worker, (const char **)&options->allocators[i]);
        if (status != 0) return status;
    }
    return 0;
}

void bench_catalog_print(const bench_catalog *catalog) {
    printf("workloads (set a parameter with --param NAME=VALUE)\n");
    for (int i = 0; i < catalog->workload_count; i++) {
        const bench_workload *workload = &catalog->workloads[i];
        printf("  %-16s %s\n", workload->name, workload->help);
        for (int p = 0; p < workload->param_count; p++)
            printf("    %-14s %llu (%llu to %llu): %s\n", workload->params[p].name,
                   (unsigned long long)workload->params[p].value, (unsigned long long)workload->params[p].least,
                   (unsigned long long)workload->params[p].most, workload->params[p].help);
    }
    printf("\nallocators\n");
    for (int i = 0; i < catalog->allocator_count; i++) {
        const bench_allocator *a = &catalog->allocators[i];
        printf("  %-16s %s%s%s%s\n", a->name, a->help, a->preload != NULL ? " (" : "",
               a->preload != NULL ? a->preload : "", a->preload != NULL ? ")" : "");
    }
    if (catalog->absent[0] != '\0') printf("\nnot installed: %s\n", catalog->absent);
}
