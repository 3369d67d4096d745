// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// See support.h.
#include "support.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

_Noreturn void unit_check_failed(const char *what, const char *file, int line) {
    char text[512];
    int length = snprintf(text, sizeof text, "%s:%d: %s does not hold\n", file, line, what);
    if (write(STDERR_FILENO, text, (size_t)length) < 0) _exit(UNIT_CHECK_STATUS + 1);
    _exit(UNIT_CHECK_STATUS);
}

uint64_t unit_seed(const char *test, uint64_t standard) {
    const char *given = getenv("LIDO_TEST_SEED");
    uint64_t seed = given != NULL ? strtoull(given, NULL, 0) : standard;
    print_message("%s: seed %#" PRIx64 " (LIDO_TEST_SEED sets another)\n", test, seed);
    return seed;
}

static void read_all(int fd, char *text, size_t bytes) {
    size_t length = 0;
    char rest[512];
    for (;;) {
        bool room = length + 1 < bytes;
        ssize_t n = room ? read(fd, text + length, bytes - length - 1) : read(fd, rest, sizeof rest);
        if (n <= 0) break;
        if (room) length += (size_t)n;
    }
    text[length] = '\0';
}

// Of a coverage build; a child would otherwise take its counts with it.
extern void __gcov_dump(void) __attribute__((weak));

unit_child unit_fork(void (*body)(void *argument), void *argument) {
    unit_child child = {.status = -1};
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        close(ends[0]);
        dup2(ends[1], STDERR_FILENO);
        close(ends[1]);
        body(argument);
        if (__gcov_dump != NULL) __gcov_dump();
        _exit(0);
    }
    assert_true(pid > 0);
    close(ends[1]);
    read_all(ends[0], child.text, sizeof child.text);
    close(ends[0]);
    assert_int_equal(waitpid(pid, &child.status, 0), pid);
    return child;
}

void unit_assert_done(const unit_child *child) {
    if (WIFEXITED(child->status) && WEXITSTATUS(child->status) == 0) return;
    fail_msg("child: status %#x\n%s", (unsigned)child->status, child->text);
}

void unit_assert_aborted(const unit_child *child) {
    if (WIFSIGNALED(child->status) && WTERMSIG(child->status) == SIGABRT) return;
    fail_msg("child did not abort: status %#x\n%s", (unsigned)child->status, child->text);
}

static int caught = -1, true_stderr = -1;
static char caught_text[16384];

void unit_catch_begin(void) {
    fflush(stderr);
    caught = memfd_create("stderr", MFD_CLOEXEC);
    true_stderr = dup(STDERR_FILENO);
    assert_true(caught >= 0 && true_stderr >= 0 && dup2(caught, STDERR_FILENO) >= 0);
}

const char *unit_catch_end(void) {
    fflush(stderr);
    assert_true(dup2(true_stderr, STDERR_FILENO) >= 0);
    assert_int_equal(lseek(caught, 0, SEEK_SET), 0);
    read_all(caught, caught_text, sizeof caught_text);
    close(caught);
    close(true_stderr);
    return caught_text;
}

typedef struct thread_start {
    void (*body)(unsigned index, void *argument);
    unsigned index;
    void *argument;
} thread_start;

static void *thread_main(void *argument) {
    const thread_start *start = (const thread_start *)argument;
    start->body(start->index, start->argument);
    return NULL;
}

void unit_threads(unsigned count, void (*body)(unsigned index, void *argument), void *argument) {
    enum { MOST = 64 };
    pthread_t threads[MOST];
    thread_start starts[MOST];
    UNIT_CHECK(count <= MOST);
    for (unsigned i = 0; i < count; i++) {
        starts[i] = (thread_start){body, i, argument};
        UNIT_CHECK(pthread_create(&threads[i], NULL, thread_main, &starts[i]) == 0);
    }
    for (unsigned i = 0; i < count; i++) UNIT_CHECK(pthread_join(threads[i], NULL) == 0);
}
