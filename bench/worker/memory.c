// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// Each file of /proc is read at once into a static buffer, without stdio, whose own pages would show.
#include "worker/memory.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGES_A_CALL = 4096 };    // of mincore

extern char __bss_start, _end;    // the linker's: static data that is zero at the start

static int held_file = -1;

static long number_after(const char *text, const char *key) {
    const char *line = strstr(text, key);
    return line != NULL ? strtol(line + strlen(key), NULL, 10) : MEMORY_UNKNOWN;
}

// NULL where it cannot be read.
static const char *read_whole(const char *path) {
    static char text[8192];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return NULL;
    ssize_t got = read(fd, text, sizeof text - 1);
    close(fd);
    if (got <= 0) return NULL;
    text[got] = '\0';
    return text;
}

memory_state memory_now(void) {
    memory_state is = {MEMORY_UNKNOWN, MEMORY_UNKNOWN, MEMORY_UNKNOWN};
    const char *text = read_whole("/proc/self/status");
    if (text != NULL) {
        is.peak_kb = number_after(text, "VmHWM:");
        is.now_kb = number_after(text, "VmRSS:");
    }
    text = read_whole("/proc/self/smaps_rollup");
    if (text != NULL) is.lazyfree_kb = number_after(text, "LazyFree:");
    return is;
}

long memory_settled_kb(void) {
    const char *text = read_whole("/proc/self/smaps_rollup");
    if (text == NULL) return MEMORY_UNKNOWN;
    long lazy_kb = number_after(text, "LazyFree:");
    return number_after(text, "Rss:") - (lazy_kb > 0 ? lazy_kb : 0);
}

void memory_held_open(void) { held_file = open("/proc/self/statm", O_RDONLY | O_CLOEXEC); }

int64_t memory_resident(const void *from, size_t bytes) {
    static unsigned char pages[PAGES_A_CALL];
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    int64_t resident = 0;
    char *at = (char *)(uintptr_t)from;
    for (size_t left = (bytes + page - 1) / page; left > 0;) {
        size_t count = left < PAGES_A_CALL ? left : PAGES_A_CALL;
        if (mincore(at, count * page, pages) != 0) return resident;
        for (size_t i = 0; i < count; i++) resident += (pages[i] & 1) != 0 ? (int64_t)page : 0;
        at += count * page;
        left -= count;
    }
    return resident;
}

static int64_t resident_statics(void) {
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t from = ((uintptr_t)&__bss_start + page - 1) / page * page, to = (uintptr_t)&_end / page * page;
    return to > from ? memory_resident((const void *)from, to - from) : 0;
}

int64_t memory_held(void) {
    char text[128];
    ssize_t got = held_file >= 0 ? pread(held_file, text, sizeof text - 1, 0) : 0;
    if (got <= 0) return 0;
    text[got] = '\0';
    char *end;
    strtol(text, &end, 10);
    int64_t resident = strtol(end, &end, 10), shared = strtol(end, &end, 10);
    return (resident - shared) * sysconf(_SC_PAGESIZE) - resident_statics();
}
