// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// A process that starts, allocates one block, frees it and ends: this worker again, with pair64 and a count of 1, on the same
// allocator (a preload is inherited). All of exec, the dynamic linker and exit are in it.
#include "worker/worker.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

static void startup_once(const bench_run *run, const posix_spawn_file_actions_t *actions) {
    char *argv[] = {(char *)"startup", (char *)"pair64",   (char *)run->backend->name,
                    (char *)"count=1", (char *)"passes=1", NULL};
    pid_t child;
    int status;
    if (posix_spawn(&child, "/proc/self/exe", actions, NULL, argv, environ) != 0)
        bench_fail(run, "cannot start a process");
    while (waitpid(child, &status, 0) < 0) continue;    // EINTR
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) bench_fail(run, "a process that it started failed");
}

static void startup_run(bench_run *run) {
    uint64_t count = bench_value(run, "count");
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    startup_once(run, &actions);
    while (bench_more(run)) {
        bench_start(run);
        for (uint64_t i = 0; i < count; i++) startup_once(run, &actions);
        bench_stop(run, count, count);
    }
    posix_spawn_file_actions_destroy(&actions);
}

BENCH_WORKLOAD(startup, BENCH_PAIR, "one process started and ended",
               "a process starts with the allocator, allocates one block, frees it and ends",
               {"count", 30, 1, 100000, "processes in a pass"});
