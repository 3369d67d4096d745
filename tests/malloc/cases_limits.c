// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// The system refuses memory: NULL and ENOMEM, nothing broken, and after frees the memory is there for any other size.
#include "case.h"

#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

enum { MB = 1 << 20, ROOM_MB = 512 };

static size_t status_kb(const char *field) {
    char text[4096];
    int file = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
    CHECK(file >= 0, "cannot open /proc/self/status");
    ssize_t length = read(file, text, sizeof text - 1);
    close(file);
    CHECK(length > 0, "cannot read /proc/self/status");
    text[length] = '\0';
    const char *at = strstr(text, field);
    CHECK(at != NULL, "no %s in /proc/self/status", field);
    return strtoul(at + strlen(field), NULL, 10);
}

static void limit_to_room(int resource, const char *field) {
    struct rlimit limit;
    CHECK(getrlimit(resource, &limit) == 0, "getrlimit");
    limit.rlim_cur = (status_kb(field) + ROOM_MB * 1024) * 1024;
    CHECK(setrlimit(resource, &limit) == 0, "setrlimit");
}

// Allocates until NULL; the blocks are linked through their first word. Returns the bytes.
static size_t fill_up(size_t size, void **list) {
    size_t total = 0;
    *list = NULL;
    for (;; total += size) {
        errno = 0;
        void **p = malloc(size);
        if (p == NULL) break;
        memset(p, 1, size < 4096 ? size : 4096);
        *p = *list;
        *list = p;
        CHECK(total < (size_t)4 * ROOM_MB * MB, "the limit does not hold: %zu MB of %zu bytes", total / MB, size);
    }
    CHECK(errno == ENOMEM, "refused with another errno than ENOMEM");
    return total;
}

static void free_list(void *list) {
    while (list != NULL) {
        void *next = *(void **)list;
        free(list);
        list = next;
    }
}

static void under_limit(int resource, const char *field) {
    static const size_t sizes[] = {64 << 10, 100, 3000, 300000, 40, 20 << 20, 16, 1 << 20, 700, 150 << 20, 64 << 10};
    void *first = memset(malloc(1000), 1, 1000), *list;
    limit_to_room(resource, field);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        size_t total = fill_up(sizes[i], &list);
        case_note("blocks of %zu bytes: %zu MB of %d", sizes[i], total / MB, ROOM_MB);
        // Small blocks pay for their class's waste, huge ones for what is left beside the last.
        size_t least = sizes[i] > 100 * MB ? (size_t)150 * MB : (size_t)ROOM_MB * MB / 2;
        CHECK(total >= least, "only %zu MB in blocks of %zu bytes, after other sizes were freed", total / MB, sizes[i]);
        // With everything taken, the other calls fail in their way, and what is there stays.
        errno = 0;
        CHECK(calloc(1, 200 * MB) == NULL && errno == ENOMEM, "calloc found 200 MB");
        errno = 0;
        CHECK(aligned_alloc(1 << 21, 200 * MB) == NULL && errno == ENOMEM, "aligned_alloc found 200 MB");
        void *grown = realloc(first, (size_t)600 * MB);
        CHECK(grown == NULL && *(char *)first == 1, "realloc found 600 MB");
        free_list(list);
    }
    free(first);
}

void case_limit_address_space(void) { under_limit(RLIMIT_AS, "\nVmSize:"); }

void case_limit_data(void) { under_limit(RLIMIT_DATA, "\nVmData:"); }

static void *fill_in_thread(void *argument) {
    void *list;
    for (int round = 0; round < 2; round++) {
        *(size_t *)argument = 0;
        size_t size = round == 0 ? 6000 : 700;
        for (list = NULL;;) {
            void **p = malloc(size);
            if (p == NULL) break;
            *p = list;
            list = p;
            *(size_t *)argument += size;
        }
        free_list(list);
    }
    return argument;
}

// Four threads run into the wall at once, again and again; nobody deadlocks, crashes, or keeps what is free.
void case_limit_threads(void) {
    unsigned long threads[4];
    size_t totals[4];
    void *list;
    limit_to_room(RLIMIT_AS, "\nVmSize:");
    for (int i = 0; i < 4; i++) threads[i] = case_thread_start(fill_in_thread, &totals[i], 64 * 1024);
    for (int i = 0; i < 4; i++) case_thread_join(threads[i]);
    size_t total = fill_up(500, &list);
    case_note("after 4 threads ended: %zu MB of %d", total / MB, ROOM_MB);
    CHECK(total >= (size_t)ROOM_MB * MB / 3, "only %zu MB after the threads ended", total / MB);
    free_list(list);
}

// A vector that grows by doubling until refused keeps its content and can shrink.
void case_limit_realloc(void) {
    limit_to_room(RLIMIT_AS, "\nVmSize:");
    for (int round = 0; round < 5; round++) {
        size_t size = 1000;
        char *p = malloc(size);
        for (;;) {
            case_fill(p, 1000, 3);
            p[size - 1] = 7;
            errno = 0;
            char *q = realloc(p, size * 2);
            if (q == NULL) break;
            p = q;
            size *= 2;
            CHECK(size < ((size_t)1 << 32), "the limit does not hold");
        }
        CHECK(errno == ENOMEM && size >= 100 * MB, "refused at %zu bytes", size);
        CHECK(case_filled(p, 1000, 3) && p[size - 1] == 7, "a refused realloc changed the block");
        p = realloc(p, size / 3);
        CHECK(p != NULL && case_filled(p, 1000, 3), "realloc to a third");
        p = realloc(p, 100);
        CHECK(p != NULL && case_filled(p, 96, 3), "realloc to 100");
        free(p);
    }
}
