// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// measure LIBRARY WORKLOAD [SCALE]: one workload of docs/design/001-core.md on the malloc and free of one library, loaded beside the
// program's own. Prints NAME=VALUE pairs on one line: ns_* are nanoseconds of CPU time for one operation (all threads of
// the process together), faults the page faults while the clock ran (-1 where they cannot be counted), rss_* growth of the peak
// resident memory.
//
// CPU time and not the clock on the wall, because the machine may be shared; what this process itself takes from the
// system by mmap is touched before the clock starts. Every block carries a tag in its first word from its allocation to its
// free; a wrong one ends the program with status 1, so a library that mixes blocks up gives no figure.
//
// LIBRARY is a path, or libc for the C library's own. SCALE multiplies the number of operations (default 1).
#include "measure.h"

#include <dlfcn.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

void *(*m_alloc)(size_t size);
void (*m_free)(void *p);
int (*m_trim)(size_t pad);
double m_scale = 1;

uint64_t m_cpu_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

// Times the program was stopped by a page fault. ru_minflt would not do: it also counts pages that a call brought in.
static long faults_read(int counter) {
    uint64_t count = 0;
    return counter >= 0 && read(counter, &count, sizeof count) == (ssize_t)sizeof count ? (long)count : -1;
}

long m_faults(void) {
    static int counter = -2;
    if (counter == -2) {
        struct perf_event_attr attributes = {.size = sizeof attributes,
                                             .type = PERF_TYPE_SOFTWARE,
                                             .config = PERF_COUNT_SW_PAGE_FAULTS,
                                             .exclude_kernel = 1};
        counter = (int)syscall(SYS_perf_event_open, &attributes, 0, -1, -1, 0);
    }
    return faults_read(counter);
}

// A line of /proc/self/status, in KiB. ru_maxrss would do for the peak, but it is inherited through exec.
long m_status_kb(const char *name) {
    char line[128];
    long kb = -1;
    FILE *file = fopen("/proc/self/status", "r");
    if (file == NULL) m_fail("/proc/self/status cannot be read");
    while (fgets(line, sizeof line, file) != NULL) {
        if (strncmp(line, name, strlen(name)) == 0) kb = strtol(line + strlen(name) + 1, NULL, 10);
    }
    fclose(file);
    return kb;
}

void m_fail(const char *what) {
    fprintf(stderr, "measure: %s\n", what);
    exit(1);
}

void *m_map(size_t bytes) {
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (memory == MAP_FAILED) m_fail("mmap was refused");
    return memory;
}

static void load(const char *library) {
    void *handle = dlopen(strcmp(library, "libc") == 0 ? "libc.so.6" : library, RTLD_NOW | RTLD_LOCAL);
    if (handle == NULL) m_fail(dlerror());
    *(void **)&m_alloc = dlsym(handle, "malloc");
    *(void **)&m_free = dlsym(handle, "free");
    *(void **)&m_trim = dlsym(handle, "malloc_trim");
    if (m_alloc == NULL || m_free == NULL) m_fail("the library has no malloc and free");
}

int main(int argc, char **argv) {
    if (argc < 3) {
        fprintf(stderr, "usage: measure LIBRARY WORKLOAD [SCALE]; workloads:");
        for (const m_workload *w = m_workloads; w->name != NULL; w++) fprintf(stderr, " %s", w->name);
        fprintf(stderr, "\n");
        return 2;
    }
    load(argv[1]);
    if (argc > 3) m_scale = strtod(argv[3], NULL);
    if (!(m_scale > 0)) m_fail("SCALE must be a number above 0");
    for (const m_workload *w = m_workloads; w->name != NULL; w++) {
        if (strcmp(w->name, argv[2]) != 0) continue;
        w->run();
        printf("\n");
        return 0;
    }
    m_fail("no workload of that name");
}
