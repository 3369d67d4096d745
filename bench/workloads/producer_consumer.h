// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// Half of the threads allocate and write, the other half read and free: memory flows one way, and an allocator that keeps
// freed blocks with the thread that freed them grows, or must send them back. A ring of 256 cells joins each pair.
#include "workloads/parts/crew.h"
#include "workloads/parts/ring.h"

static ring producer_consumer_rings[CREW_MAX / 2];

static uint64_t producer_consumer_work(crew_member *member, uint64_t count) {
    ring *way = &producer_consumer_rings[member->index / 2];
    uint64_t sum = 0;
    for (uint64_t i = 0; member->index % 2 == 0 && i < count; i++) {
        uint64_t *block = (uint64_t *)bench_need(member->all->run, slot_alloc(member->slot));
        *block = i + member->index;
        ring_send(way, block);
    }
    for (uint64_t i = 0; member->index % 2 == 1 && i < count; i++) {
        uint64_t *block = (uint64_t *)ring_take(way);
        sum += *block * (i + 1);
        slot_free(member->slot, block);
    }
    return sum;
}

static void producer_consumer_run(bench_run *run) {
    uint64_t pairs = bench_value(run, "pairs"), count = bench_value(run, "count");
    crew *all = crew_of(run, producer_consumer_work, 2 * pairs, count, pairs * (RING_ROOM + 2));
    while (bench_more(run)) crew_pass(all, count * pairs);
    crew_dismiss(all);
}

BENCH_WORKLOAD_NAMED(producer_consumer, "producer-consumer", BENCH_CROSS, "one block sent from a thread to another",
                     "threads that only allocate, each with a thread that only frees",
                     {"pairs", 1, 1, CREW_MAX / 2, "pairs of threads"},
                     {"count", 300000, 1, 1000000000, "blocks of a pair in a pass"},
                     {"size", 64, 8, 65536, "bytes of a block"});
