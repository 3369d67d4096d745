// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// One process from start to end. The child is a process group of its own, so that Ctrl-C on the terminal reaches only
// this program, which then ends the child itself.
#include "bench.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t interrupted;    // written by the handler only

static void on_interrupt(int signal_number) {
    (void)signal_number;
    interrupted = 1;
}

void bench_catch_interrupt(void) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = on_interrupt;    // no SA_RESTART: poll must return
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

bool bench_interrupted(void) { return interrupted != 0; }

double bench_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

// Between fork and exec: never returns.
static void become(const bench_command *command, int out, int err) {
    setpgid(0, 0);
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    if (command->cpu >= 0) {
        cpu_set_t set;
        CPU_ZERO(&set);
        CPU_SET((size_t)command->cpu, &set);
        if (sched_setaffinity(0, sizeof set, &set) != 0) {
            dprintf(err, "cannot pin to CPU %d: %s\n", command->cpu, strerror(errno));
            _exit(125);
        }
    }
    struct rlimit no_core = {0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
    if (command->preload != NULL)
        setenv("LD_PRELOAD", command->preload, 1);
    else
        unsetenv("LD_PRELOAD");
    if (command->witness != NULL) setenv("LIDO_BENCH_WITNESS", command->witness, 1);
    int null = open("/dev/null", O_RDONLY);
    if (null >= 0) dup2(null, 0);
    dup2(out, 1);
    dup2(err, 2);
    execvp(command->argv[0], (char *const *)command->argv);
    dprintf(2, "cannot run %s: %s\n", command->argv[0], strerror(errno));
    _exit(127);
}

// Appends what is there; returns false at the end of the stream. What does not fit is read and dropped.
static bool drain(int fd, char *text, size_t bytes) {
    char spill[4096];
    size_t used = strlen(text), room = bytes - 1 - used;
    ssize_t got = read(fd, room > 0 ? text + used : spill, room > 0 ? room : sizeof spill);
    if (got > 0 && room > 0) text[used + (size_t)got] = '\0';
    return got > 0 || (got < 0 && (errno == EINTR || errno == EAGAIN));
}

typedef struct run_streams {
    int out, err;    // -1 once it ended
    char errors[1024];
    double started;
} run_streams;

enum { WATCH_MS = 10 };

// Reads both streams until they end. Returns NULL, or why it stopped waiting.
static const char *read_all(const bench_command *command, run_streams *streams, bench_outcome *outcome, pid_t child) {
    struct pollfd fds[2] = {{streams->out, POLLIN, 0}, {streams->err, POLLIN, 0}};
    while (fds[0].fd >= 0 || fds[1].fd >= 0) {
        if (interrupted) return "interrupted";
        double spent = bench_seconds() - streams->started, left = command->timeout_s - spent;
        if (left <= 0) return "timed out";
        int wait_ms = left < 1000 ? (int)(left * 1000) + 1 : 1000000;
        if (command->watch != NULL) {
            command->watch(command->watch_context, child, spent);
            if (wait_ms > WATCH_MS) wait_ms = WATCH_MS;
        }
        int ready = poll(fds, 2, wait_ms);
        if (ready < 0 && errno != EINTR) return "poll failed";
        if (ready <= 0) continue;
        if (fds[0].revents != 0 && !drain(fds[0].fd, outcome->output, BENCH_OUTPUT_MAX)) fds[0].fd = -1;
        if (fds[1].revents != 0 && !drain(fds[1].fd, streams->errors, sizeof streams->errors)) fds[1].fd = -1;
    }
    return NULL;
}

// The signal, or the status and the child's first line of complaint.
static void explain(bench_outcome *outcome, int status, const char *stopped, double timeout_s, const char *errors) {
    int length = (int)strcspn(errors, "\n");
    const char *divider = length > 0 ? ": " : "";
    if (stopped != NULL && strcmp(stopped, "timed out") == 0)
        snprintf(outcome->fault, sizeof outcome->fault, "timed out after %g s", timeout_s);
    else if (stopped != NULL)
        snprintf(outcome->fault, sizeof outcome->fault, "%s", stopped);
    else if (WIFSIGNALED(status))
        snprintf(outcome->fault, sizeof outcome->fault, "killed by signal %d (%s)%s%.*s", WTERMSIG(status),
                 strsignal(WTERMSIG(status)), divider, length, errors);
    else if (WEXITSTATUS(status) != 0)
        snprintf(outcome->fault, sizeof outcome->fault, "exit status %d%s%.*s", WEXITSTATUS(status), divider, length,
                 errors);
}

static void take_usage(bench_outcome *outcome, const struct rusage *usage) {
    outcome->user_s = (double)usage->ru_utime.tv_sec + (double)usage->ru_utime.tv_usec * 1e-6;
    outcome->system_s = (double)usage->ru_stime.tv_sec + (double)usage->ru_stime.tv_usec * 1e-6;
    outcome->minor_faults = usage->ru_minflt;
    outcome->major_faults = usage->ru_majflt;
    outcome->rss_peak_kb = usage->ru_maxrss;
    outcome->voluntary_switches = usage->ru_nvcsw;
    outcome->involuntary_switches = usage->ru_nivcsw;
}

static void supervise(const bench_command *command, bench_outcome *outcome, pid_t child, run_streams *streams) {
    const char *stopped = read_all(command, streams, outcome, child);
    if (stopped != NULL) kill(-child, SIGKILL);
    struct rusage usage;
    int status;
    while (wait4(child, &status, 0, &usage) < 0 && errno == EINTR) {
    }
    outcome->wall_s = bench_seconds() - streams->started;
    outcome->exit_status = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
    bool excused = command->any_status && stopped == NULL && WIFEXITED(status) && outcome->exit_status < 125;
    if (!excused) explain(outcome, status, stopped, command->timeout_s, streams->errors);
    outcome->ok = outcome->fault[0] == '\0';
    take_usage(outcome, &usage);
}

void bench_spawn(const bench_command *command, bench_outcome *outcome) {
    int out[2], err[2];
    memset(outcome, 0, sizeof *outcome);
    if (pipe2(out, O_CLOEXEC) != 0 || pipe2(err, O_CLOEXEC) != 0) {
        snprintf(outcome->fault, sizeof outcome->fault, "no pipe: %s", strerror(errno));
        return;
    }
    run_streams streams = {out[0], err[0], "", bench_seconds()};
    pid_t child = fork();
    if (child == 0) become(command, command->output_fd >= 0 ? command->output_fd : out[1], err[1]);
    close(out[1]);
    close(err[1]);
    if (child < 0)
        snprintf(outcome->fault, sizeof outcome->fault, "no process: %s", strerror(errno));
    else {
        setpgid(child, child);    // whichever of the two comes first
        supervise(command, outcome, child, &streams);
    }
    close(out[0]);
    close(err[0]);
}
