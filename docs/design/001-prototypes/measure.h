// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// Between measure.c (loading, clocks) and the workloads.
#ifndef MEASURE_H
#define MEASURE_H

#include <stddef.h>
#include <stdint.h>

typedef struct m_workload {
    const char *name;    // NULL ends the list
    void (*run)(void);
} m_workload;

extern const m_workload m_workloads[];
extern void *(*m_alloc)(size_t size);
extern void (*m_free)(void *p);
extern int (*m_trim)(size_t pad);    // NULL: the library has none
extern double m_scale;

uint64_t m_cpu_ns(void);               // of all threads of the process
long m_faults(void);                   // so far, of the calling thread; -1: unknown
long m_status_kb(const char *name);    // "VmRSS", "VmHWM"
void *m_map(size_t bytes);             // touched
_Noreturn void m_fail(const char *what);

#endif
