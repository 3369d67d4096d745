// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// One event each rather than a group: a group cannot be read with the threads that inherited it. A counter that shared
// the processor's registers with others is scaled by the time that it ran.
#include "worker/counters.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    COUNTERS = 4,
    DTLB_READ_MISSES =
        PERF_COUNT_HW_CACHE_DTLB | PERF_COUNT_HW_CACHE_OP_READ << 8 | PERF_COUNT_HW_CACHE_RESULT_MISS << 16,
};

static struct counter {
    const char *name;
    uint32_t type, event;
    int fd;
} counters[COUNTERS] = {
    {"instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, -1},
    {"cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, -1},
    {"cache_misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES, -1},
    {"dtlb_misses", PERF_TYPE_HW_CACHE, DTLB_READ_MISSES, -1},
};
static int refusal;           // errno of the first event that was refused; 0 if none was
static bool any;              // an event is open
static _Atomic int wanted;    // threads inside their timed part; relaxed: who is first or last is all it tells

void counters_open(void) {
    for (int i = 0; i < COUNTERS; i++) {
        struct perf_event_attr event;
        memset(&event, 0, sizeof event);
        event.size = sizeof event;
        event.type = counters[i].type;
        event.config = counters[i].event;
        event.disabled = 1;
        event.inherit = 1;
        event.exclude_kernel = 1;
        event.exclude_hv = 1;
        event.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
        counters[i].fd = (int)syscall(SYS_perf_event_open, &event, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
        if (counters[i].fd >= 0)
            any = true;
        else if (refusal == 0)
            refusal = errno;
    }
}

static void switch_all(unsigned long request) {
    for (int i = 0; i < COUNTERS; i++)
        if (counters[i].fd >= 0) ioctl(counters[i].fd, request, 0);
}

void counters_on(void) {
    if (any && atomic_fetch_add_explicit(&wanted, 1, memory_order_relaxed) == 0) switch_all(PERF_EVENT_IOC_ENABLE);
}

void counters_off(void) {
    if (any && atomic_fetch_sub_explicit(&wanted, 1, memory_order_relaxed) == 1) switch_all(PERF_EVENT_IOC_DISABLE);
}

void counters_print(uint64_t ops) {
    bool printed = false;
    for (int i = 0; i < COUNTERS; i++) {
        uint64_t is[3];    // value, time enabled, time running
        if (counters[i].fd < 0 || read(counters[i].fd, is, sizeof is) != sizeof is || is[2] == 0) continue;
        double value = (double)is[0] * ((double)is[1] / (double)is[2]);
        printf("counter.%s=%.4f\n", counters[i].name, value / (double)ops);
        printed = true;
    }
    if (printed) return;
    if (refusal != 0)
        printf("counters=perf_event_open: %s\n", strerror(refusal));
    else
        printf("counters=perf_event_open: the counters never ran\n");
}
