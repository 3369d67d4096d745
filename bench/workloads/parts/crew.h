// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// Threads that do a workload together: all are started, wait for each other, and work. What counts is the time from the first
// start to the last end, not that of starting and joining.
#ifndef LIDO_BENCH_CREW_H
#define LIDO_BENCH_CREW_H

#include "worker/worker.h"

#include <pthread.h>

enum { CREW_MAX = 64, CREW_SLOTS_MAX = 8 };

typedef struct crew crew;

typedef struct crew_member {
    crew *all;
    pthread_t thread;
    uint64_t index;
    bench_slot slot;    // the one to work with; of several, see the crew's
    uint64_t sum;
    bench_span span;
} crew_member;

struct crew {
    bench_run *run;
    // The work of a thread, `count` operations of it; returns its part of the checksum.
    uint64_t (*work)(crew_member *member, uint64_t count);
    uint64_t threads, count, warm;       // warm: operations before all start together
    bool clean;                          // threads' own slots get no litter, as they are opened over and over
    bench_slot_options options;          // of each thread's own slot, where slots are not shared
    bench_slot slots[CREW_SLOTS_MAX];    // shared ones: member->slot is the first
    pthread_barrier_t gate;
    crew_member members[CREW_MAX];
};

// The crew of this backend: one at a time, and too large for a stack.
static crew crew_here;

typedef struct crew_result {
    uint64_t sum, from_ns, to_ns, cpu_ns;
} crew_result;

static void *crew_main(void *context) {
    crew_member *member = (crew_member *)context;
    crew *all = member->all;
    bool open = true;
    if (SLOT_IS_SHARED)
        member->slot = all->slots[0];
    else if (all->clean)
        open = slot_open_clean(&member->slot, &all->options);
    else
        open = slot_open(&member->slot, &all->options);
    if (!open) bench_fail(all->run, "cannot open the allocator in a thread");
    if (all->warm != 0) all->work(member, all->warm);
    pthread_barrier_wait(&all->gate);
    bench_thread_start(&member->span);
    member->sum = all->work(member, all->count);
    bench_thread_stop(&member->span);
    if (!SLOT_IS_SHARED) slot_close(member->slot);
    return NULL;
}

static crew_result crew_go(crew *all) {
    pthread_barrier_init(&all->gate, NULL, (unsigned)all->threads);
    for (uint64_t i = 0; i < all->threads; i++) {
        crew_member *member = &all->members[i];
        member->all = all;
        member->index = i;
        if (pthread_create(&member->thread, NULL, crew_main, member) != 0)
            bench_fail(all->run, "cannot start a thread");
    }
    crew_result result = {0, UINT64_MAX, 0, 0};
    for (uint64_t i = 0; i < all->threads; i++) {
        const crew_member *member = &all->members[i];
        pthread_join(member->thread, NULL);
        result.sum += member->sum;
        result.cpu_ns += member->span.cpu_ns;
        if (member->span.from_ns < result.from_ns) result.from_ns = member->span.from_ns;
        if (member->span.to_ns > result.to_ns) result.to_ns = member->span.to_ns;
    }
    pthread_barrier_destroy(&all->gate);
    return result;
}

static void crew_pass(crew *all, uint64_t ops) {
    crew_result result = crew_go(all);
    bench_pass(all->run, ops, result.sum, result.to_ns - result.from_ns, result.cpu_ns);
}

// A crew for one size, whose shared slot is open. The caller sets warm and calls crew_pass, then crew_dismiss.
static crew *crew_of(bench_run *run, uint64_t (*work)(crew_member *, uint64_t), uint64_t threads, uint64_t count,
                     uint64_t live) {
    crew *all = &crew_here;
    all->run = run;
    all->work = work;
    all->threads = threads;
    all->count = count;
    all->warm = 0;
    all->clean = false;
    bench_slot_options options = {(size_t)bench_value(run, "size"), 0, (size_t)live};
    all->options = options;
    bench_slots_bytes(SLOT_IS_SHARED ? options.size : options.size * threads);
    if (SLOT_IS_SHARED && !slot_open(&all->slots[0], &options)) bench_fail(run, "cannot open the allocator");
    return all;
}

static void crew_dismiss(crew *all) {
    if (SLOT_IS_SHARED) slot_close(all->slots[0]);
}

#endif
