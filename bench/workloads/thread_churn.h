// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// Threads that start, allocate 64 blocks, free them and end: what it costs an allocator to receive a thread and to take back what
// it cached. Pools that are not shared are opened and closed by each thread.
#include "workloads/parts/crew.h"

enum { THREAD_CHURN_BLOCKS_MAX = 4096 };

static uint64_t thread_churn_work(crew_member *member, uint64_t count) {
    uint64_t *blocks[THREAD_CHURN_BLOCKS_MAX], sum = 0;
    for (uint64_t i = 0; i < count; i++) {
        blocks[i] = (uint64_t *)bench_need(member->all->run, slot_alloc(member->slot));
        *blocks[i] = i + member->index;
    }
    bench_escape(blocks);
    for (uint64_t i = 0; i < count; i++) {
        sum += *blocks[i] * (i + 1);
        slot_free(member->slot, blocks[i]);
    }
    return sum;
}

// Starting and ending the threads is the point: the time is the whole pass. A slot that no thread uses holds the litter, if there
// is any, where each thread has its own.
static void thread_churn_run(bench_run *run) {
    uint64_t threads = bench_value(run, "threads"), rounds = bench_value(run, "count"),
             blocks = bench_value(run, "blocks");
    crew *all = crew_of(run, thread_churn_work, threads, blocks, threads * blocks);
    all->clean = true;
    if (!SLOT_IS_SHARED && !slot_open(&all->slots[0], &all->options)) bench_fail(run, "cannot open the allocator");
    crew_go(all);
    while (bench_more(run)) {
        uint64_t from_ns = bench_now(), cpu_from_ns = bench_cpu_now(), cpu_ns = 0, sum = 0;
        for (uint64_t round = 0; round < rounds; round++) {
            crew_result result = crew_go(all);
            sum += result.sum;
            cpu_ns += result.cpu_ns;
        }
        bench_pass(run, rounds * threads, sum, bench_now() - from_ns, cpu_ns + bench_cpu_now() - cpu_from_ns);
    }
    slot_close(all->slots[0]);
}

BENCH_WORKLOAD_NAMED(thread_churn, "thread-churn", BENCH_THREADS, "one thread started and ended",
                     "threads start, allocate 64 blocks, free them and end, a few at a time",
                     {"count", 500, 1, 1000000, "times that the threads start in a pass"},
                     {"threads", 2, 1, CREW_MAX, "threads at a time"},
                     {"blocks", 64, 1, THREAD_CHURN_BLOCKS_MAX, "blocks of each thread"},
                     {"size", 64, 8, 65536, "bytes of a block"});
