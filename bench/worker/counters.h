// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// The processor's counters of the timed passes, through perf_event_open where the system gives them; user mode only,
// all threads of the process.
#ifndef LIDO_BENCH_COUNTERS_H
#define LIDO_BENCH_COUNTERS_H

#include <stdint.h>

// Before any thread is started: later threads inherit the counters.
void counters_open(void);
// Any thread; the counters run while anybody wants them. Nothing where there are none.
void counters_on(void);
void counters_off(void);
// Lines counter.NAME= per operation, or counters=REASON.
void counters_print(uint64_t ops);

#endif
