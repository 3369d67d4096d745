// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// What a run answers: KEY=VALUE lines of the figures that were taken around the work.
#ifndef LIDO_BENCH_ANSWER_H
#define LIDO_BENCH_ANSWER_H

#include "worker/memory.h"
#include "worker/worker.h"

typedef struct answer {
    long start_kb, settled_kb, settle_ms;    // settled_kb is MEMORY_UNKNOWN if nobody waited
    memory_state memory;
    long faults;
} answer;

// Just before the work; just after it, when all slots are closed and nothing has printed yet.
void answer_begin(answer *is);
void answer_end(answer *is, bench_run *run);
// Waits until resident memory has fallen to the start + 10 % of what the work added, `most_ms` at most.
void answer_settle(answer *is, const bench_backend *backend, uint64_t most_ms);
void answer_print(const answer *is, bench_run *run);

#endif
