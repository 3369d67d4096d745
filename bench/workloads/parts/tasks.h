// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// Create a task, destroy it at once. The constructor writes what every task has (two words at the start) and the last word;
// the destructor reads all three and clears the second.
#ifndef LIDO_BENCH_TASKS_H
#define LIDO_BENCH_TASKS_H

#include "worker/worker.h"

enum { TASKS_SIZE_LEAST = 16 };

static inline uint64_t *tasks_construct(void *block, uint64_t serial, uint64_t last) {
    uint64_t *words = (uint64_t *)block;
    words[0] = serial;
    words[last] = serial + 7;
    words[1] = serial * 3 + 1;    // after the last one, which it is in a task of two words
    return words;
}

static inline uint64_t tasks_destroy(uint64_t *words, uint64_t last) {
    uint64_t sum = words[0] + 5 * words[1] + 11 * words[last];
    words[1] = 0;
    return sum;
}

static uint64_t tasks_pass(const bench_run *run, bench_slot slot, uint64_t count, uint64_t last) {
    uint64_t sum = 0;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t *task = tasks_construct(bench_need(run, slot_alloc(slot)), i, last);
        bench_escape(task);
        sum += tasks_destroy(task, last);
        bench_escape(task);
        slot_free(slot, task);
    }
    return sum;
}

static void tasks_run(bench_run *run) {
    uint64_t count = bench_value(run, "count"), size = bench_value(run, "size"), last = size / 8 - 1;
    bench_slot_options options = {(size_t)size, 0, 1};
    bench_slot slot;
    if (!slot_open(&slot, &options)) bench_fail(run, "cannot open the allocator");
    tasks_pass(run, slot, count / 10 + 1, last);
    while (bench_more(run)) {
        bench_start(run);
        uint64_t sum = tasks_pass(run, slot, count, last);
        bench_stop(run, count, sum);
    }
    slot_close(slot);
}

#endif
