// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// Threads in a ring: each allocates blocks and sends them to the next, and frees those that the one before sent. All allocate
// and all free, but nobody frees a block of its own.
#include "workloads/parts/crew.h"
#include "workloads/parts/ring.h"

static ring handoff_rings[CREW_MAX];    // [i] leads from thread i to the next

static uint64_t handoff_end(crew_member *member, uint64_t *block, uint64_t turn) {
    uint64_t sum = *block * (turn + 1);
    slot_free(member->slot, block);
    return sum;
}

static uint64_t handoff_work(crew_member *member, uint64_t count) {
    uint64_t threads = member->all->threads, sum = 0, taken = 0;
    ring *to = &handoff_rings[member->index], *from = &handoff_rings[(member->index + threads - 1) % threads];
    for (uint64_t i = 0; i < count; i++) {
        uint64_t *block = (uint64_t *)bench_need(member->all->run, slot_alloc(member->slot)), *other;
        *block = i + member->index;
        while (!ring_try_send(to, block)) {    // the next thread may wait for the one after: take while waiting
            if ((other = (uint64_t *)ring_try_take(from)) != NULL)
                sum += handoff_end(member, other, taken++);
            else
                sched_yield();
        }
        if ((other = (uint64_t *)ring_try_take(from)) != NULL) sum += handoff_end(member, other, taken++);
    }
    for (; taken < count; taken++) sum += handoff_end(member, (uint64_t *)ring_take(from), taken);
    return sum;
}

static void handoff_run(bench_run *run) {
    uint64_t threads = bench_value(run, "threads"), count = bench_value(run, "count");
    crew *all = crew_of(run, handoff_work, threads, count, threads * (RING_ROOM + 2));
    while (bench_more(run)) crew_pass(all, count * threads);
    crew_dismiss(all);
}

BENCH_WORKLOAD(handoff, BENCH_CROSS, "one block handed to the next thread",
               "a ring of threads, each of which frees what the one before it allocated",
               {"threads", 4, 2, CREW_MAX, "threads"}, {"count", 200000, 1, 1000000000, "blocks of a thread in a pass"},
               {"size", 64, 8, 65536, "bytes of a block"});
