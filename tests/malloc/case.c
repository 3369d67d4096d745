// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// See case.h. Nothing here allocates unless it says so: memory figures are taken in between.
#include "case.h"

#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <stdarg.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static void write_line(int to, const char *format, va_list arguments) {
    char line[600];
    int length = vsnprintf(line, sizeof line - 1, format, arguments);
    if (length < 0) length = 0;
    if ((size_t)length > sizeof line - 2) length = sizeof line - 2;
    line[length++] = '\n';
    if (write(to, line, (size_t)length) < 0) _exit(1);
}

void case_failed(const char *file, int line, const char *format, ...) {
    char place[800];
    const char *name = strrchr(file, '/');
    snprintf(place, sizeof place, "%s:%d: %s (errno %d)", name == NULL ? file : name + 1, line, format, errno);
    va_list arguments;
    va_start(arguments, format);
    write_line(STDERR_FILENO, place, arguments);
    va_end(arguments);
    _exit(1);
}

void case_skip(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    write_line(STDOUT_FILENO, format, arguments);
    va_end(arguments);
    _exit(77);
}

void case_note(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    write_line(STDOUT_FILENO, format, arguments);
    va_end(arguments);
}

const char *case_preload(void) {
    const char *preload = getenv("LD_PRELOAD");
    return preload == NULL ? "" : preload;
}

bool case_under_libc(void) {
    const char *name = getenv("LIDO_TEST_MALLOC");
    return name != NULL && strcmp(name, "libc") == 0;
}

const char *case_sibling(const char *name) {
    static char path[4096];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 100);
    CHECK(length > 0, "cannot read /proc/self/exe");
    path[length] = '\0';
    char *slash = strrchr(path, '/');
    snprintf(slash + 1, sizeof path - (size_t)(slash + 1 - path), "%s", name);
    return path;
}

static char **environment_with(const char *preload, char *setting, size_t bytes) {
    static char *copy[1024];
    size_t count = 0;
    for (char **e = environ; *e != NULL && count < 1000; e++) {
        if (strncmp(*e, "LD_PRELOAD=", 11) != 0) copy[count++] = *e;
    }
    if (preload != NULL && *preload != '\0') {
        snprintf(setting, bytes, "LD_PRELOAD=%s", preload);
        copy[count++] = setting;
    }
    copy[count] = NULL;
    return copy;
}

int case_run_child(const char *const *argv, const char *preload, char *output, size_t bytes) {
    char setting[8192];
    int ends[2], status;
    size_t length = 0;
    pid_t child;
    posix_spawn_file_actions_t actions;
    CHECK(pipe(ends) == 0, "pipe");
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_addclose(&actions, ends[0]);
    int error = posix_spawn(&child, argv[0], &actions, NULL, (char *const *)argv,
                            environment_with(preload, setting, sizeof setting));
    CHECK(error == 0, "cannot start %s: error %d", argv[0], error);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    for (;;) {
        char waste[256];
        bool room = output != NULL && length + 1 < bytes;
        ssize_t got = room ? read(ends[0], output + length, bytes - 1 - length) : read(ends[0], waste, sizeof waste);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) break;
        if (room) length += (size_t)got;
    }
    if (output != NULL && bytes > 0) output[length] = '\0';
    close(ends[0]);
    CHECK(waitpid(child, &status, 0) == child, "waitpid");
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

long case_rss_kb(void) {
    char text[4096];
    int file = open("/proc/self/smaps_rollup", O_RDONLY | O_CLOEXEC);
    CHECK(file >= 0, "cannot open /proc/self/smaps_rollup");
    ssize_t length = read(file, text, sizeof text - 1);
    close(file);
    CHECK(length > 0, "cannot read /proc/self/smaps_rollup");
    text[length] = '\0';
    const char *rss = strstr(text, "\nRss:");
    CHECK(rss != NULL, "no Rss in /proc/self/smaps_rollup");
    return strtol(rss + 5, NULL, 10);
}

long case_mappings(void) {
    char text[16384];
    long lines = 0;
    int file = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    CHECK(file >= 0, "cannot open /proc/self/maps");
    for (ssize_t length; (length = read(file, text, sizeof text)) > 0;) {
        for (ssize_t i = 0; i < length; i++) lines += text[i] == '\n';
    }
    close(file);
    return lines;
}

uint64_t case_random(uint64_t *state) {
    uint64_t x = *state += UINT64_C(0x9E3779B97F4A7C15);
    x = (x ^ (x >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94D049BB133111EB);
    return x ^ (x >> 31);
}

void case_fill(void *p, size_t bytes, uint64_t tag) {
    unsigned char *to = p;
    for (size_t i = 0; i < bytes; i += 8) {
        uint64_t word = (tag + i) * UINT64_C(0x9E3779B97F4A7C15);
        memcpy(to + i, &word, bytes - i < 8 ? bytes - i : 8);
    }
}

bool case_filled(const void *p, size_t bytes, uint64_t tag) {
    const unsigned char *from = p;
    for (size_t i = 0; i < bytes; i += 8) {
        uint64_t word = (tag + i) * UINT64_C(0x9E3779B97F4A7C15);
        if (memcmp(from + i, &word, bytes - i < 8 ? bytes - i : 8) != 0) return false;
    }
    return true;
}

bool case_is_zero(const void *p, size_t bytes) {
    const unsigned char *from = p;
    return bytes == 0 || (from[0] == 0 && memcmp(from, from + 1, bytes - 1) == 0);
}

void *case_opaque(void *p) {
    __asm__ volatile("" : "+r"(p) : : "memory");
    return p;
}

unsigned long case_thread_start(case_thread_function *function, void *argument, size_t stack_bytes) {
    pthread_t thread;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    if (stack_bytes != 0)
        CHECK(pthread_attr_setstacksize(&attributes, stack_bytes) == 0, "stack of %zu bytes", stack_bytes);
    int error = pthread_create(&thread, &attributes, function, argument);
    CHECK(error == 0, "pthread_create: error %d", error);
    pthread_attr_destroy(&attributes);
    return thread;
}

void *case_thread_join(unsigned long thread) {
    void *result;
    CHECK(pthread_join(thread, &result) == 0, "pthread_join");
    return result;
}
