// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// Allocate, write one word, free: alone, and in several threads.
#ifndef LIDO_BENCH_PAIRS_H
#define LIDO_BENCH_PAIRS_H

#include "workloads/parts/crew.h"

static uint64_t pairs_pass(const bench_run *run, bench_slot slot, uint64_t count) {
    uint64_t sum = 0;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t *block = (uint64_t *)bench_need(run, slot_alloc(slot));
        *block = i;
        bench_escape(block);
        sum += *block;
        slot_free(slot, block);
    }
    return sum;
}

static void pairs_run(bench_run *run) {
    uint64_t count = bench_value(run, "count");
    bench_slot_options options = {(size_t)bench_value(run, "size"), 0, 1};
    bench_slot slot;
    if (!slot_open(&slot, &options)) bench_fail(run, "cannot open the allocator");
    pairs_pass(run, slot, count / 10 + 1);
    while (bench_more(run)) {
        bench_start(run);
        uint64_t sum = pairs_pass(run, slot, count);
        bench_stop(run, count, sum);
    }
    slot_close(slot);
}

static uint64_t pairs_work(crew_member *member, uint64_t count) {
    return pairs_pass(member->all->run, member->slot, count);
}

static void pairs_threads_run(bench_run *run) {
    uint64_t threads = bench_value(run, "threads"), count = bench_value(run, "count");
    crew *all = crew_of(run, pairs_work, threads, count, threads);
    all->warm = count / 100 + 1;
    while (bench_more(run)) crew_pass(all, count * threads);
    crew_dismiss(all);
}

#endif
