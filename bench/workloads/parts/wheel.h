// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// Blocks of several sizes, each of which lives a number of steps that is known when it is created; a step creates one.
//
//   wheel[t mod (life + 1)]  the blocks that die at step t, a list of cells (index 0 ends it)
//   alive <= life            so cells never run out
//
// A pool backend takes a slot for each size. The wheel is outside the allocator under test.
#ifndef LIDO_BENCH_WHEEL_H
#define LIDO_BENCH_WHEEL_H

#include "worker/worker.h"

#include <string.h>

enum { WHEEL_SIZES_MAX = 8, WHEEL_LIFE_MAX = 1 << 18 };

typedef struct wheel_cell {
    unsigned char *block;
    uint32_t next;
    uint32_t kind;
} wheel_cell;
BENCH_TABLE wheel_cell wheel_cells[WHEEL_LIFE_MAX + 2];
BENCH_TABLE uint32_t wheel_spokes[WHEEL_LIFE_MAX + 1];
static uint32_t wheel_free_cell;

// A block to be born: the index of its size, and how many steps it lives, 1 to the workload's `life`.
typedef struct wheel_fate {
    uint32_t kind;
    uint64_t steps;
} wheel_fate;

// What a workload turns the wheel with. `draw` makes a fate of one random number, the same for every allocator.
typedef struct wheel_plan {
    const size_t *sizes;
    int size_count;
    wheel_fate (*draw)(uint64_t dice, uint64_t life);
} wheel_plan;

static void wheel_prepare(uint64_t life) {
    for (uint32_t i = 1; i <= life + 1; i++) wheel_cells[i].next = i <= life ? i + 1 : 0;
    wheel_free_cell = 1;
    memset(wheel_spokes, 0, (life + 1) * sizeof wheel_spokes[0]);
}

// `weight` differs from step to step, so that the sum tells blocks that were swapped or given out twice.
static inline uint64_t wheel_bury(const wheel_plan *plan, const bench_slot *slots, uint64_t spoke, uint64_t weight) {
    uint64_t sum = 0;
    uint32_t index = wheel_spokes[spoke];
    wheel_spokes[spoke] = 0;
    while (index != 0) {
        wheel_cell *cell = &wheel_cells[index];
        uint32_t next = cell->next;
        sum += weight * (cell->block[0] + 3u * cell->block[plan->sizes[cell->kind] - 1]);
        bench_escape(cell->block);
        slot_free(slots[cell->kind], cell->block);
        cell->next = wheel_free_cell;
        wheel_free_cell = index;
        index = next;
    }
    return sum;
}

static inline void wheel_bear(const bench_run *run, const wheel_plan *plan, const bench_slot *slots, uint32_t kind,
                              uint64_t step, uint64_t spoke) {
    uint32_t index = wheel_free_cell;
    wheel_cell *cell = &wheel_cells[index];
    wheel_free_cell = cell->next;
    unsigned char *block = (unsigned char *)bench_need(run, slot_alloc(slots[kind]));
    block[0] = (unsigned char)step;
    block[plan->sizes[kind] - 1] = (unsigned char)(step >> 8);
    bench_escape(block);
    cell->block = block;
    cell->kind = kind;
    cell->next = wheel_spokes[spoke];
    wheel_spokes[spoke] = index;
}

static inline __attribute__((always_inline)) uint64_t
wheel_pass(const bench_run *run, const wheel_plan *plan, const bench_slot *slots, uint64_t count, uint64_t life) {
    uint64_t sum = 0, state = 88172645463325252u, now = 0;
    for (uint64_t step = 0; step < count; step++) {
        wheel_fate fate = plan->draw(bench_random(&state), life);
        uint64_t end = now + fate.steps;
        if (end > life) end -= life + 1;
        sum += wheel_bury(plan, slots, now, step + 1);
        wheel_bear(run, plan, slots, fate.kind, step, end);
        if (++now > life) now = 0;
    }
    for (uint64_t spoke = 0; spoke <= life; spoke++) sum += wheel_bury(plan, slots, spoke, spoke + 1);
    return sum;
}

// Inlined into each workload, so that its draw is too.
static inline __attribute__((always_inline)) void wheel_run(bench_run *run, const wheel_plan *plan) {
    uint64_t count = bench_value(run, "count"), life = bench_value(run, "life");
    bench_slot slots[WHEEL_SIZES_MAX];
    size_t all = 0;
    for (int i = 0; i < plan->size_count; i++) all += plan->sizes[i];
    bench_slots_bytes(all);
    for (int i = 0; i < plan->size_count; i++) {
        bench_slot_options options = {plan->sizes[i], 0, (size_t)life + 1};
        if (!slot_open(&slots[i], &options)) bench_fail(run, "cannot open the allocator");
    }
    wheel_prepare(life);
    wheel_pass(run, plan, slots, count / 10 + 1, life);
    while (bench_more(run)) {
        bench_start(run);
        uint64_t sum = wheel_pass(run, plan, slots, count, life);
        bench_stop(run, count, sum);
    }
    for (int i = 0; i < plan->size_count; i++) slot_close(slots[i]);
}

#endif
