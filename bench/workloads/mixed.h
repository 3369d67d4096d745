// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// Blocks of 1, 16, 64, 256 and 1024 bytes at random, each of which lives 1 to `life` steps; a step creates one.
//
//   wheel[t mod (life + 1)]  the blocks that die at step t, a list of cells (index 0 ends it)
//   alive <= life            so cells never run out
//
// A pool backend takes a slot for each size. The wheel is outside the allocator under test.
#include <string.h>

enum { MIXED_SIZES = 5, MIXED_LIFE_MAX = 1 << 18 };
static const size_t mixed_size[MIXED_SIZES] = {1, 16, 64, 256, 1024};

typedef struct mixed_cell {
    unsigned char *block;
    uint32_t next;
    uint32_t kind;
} mixed_cell;
static mixed_cell mixed_cells[MIXED_LIFE_MAX + 2];
static uint32_t mixed_wheel[MIXED_LIFE_MAX + 1];
static uint32_t mixed_free_cell;

static void mixed_prepare(uint64_t life) {
    for (uint32_t i = 1; i <= life + 1; i++) mixed_cells[i].next = i <= life ? i + 1 : 0;
    mixed_free_cell = 1;
    memset(mixed_wheel, 0, (life + 1) * sizeof mixed_wheel[0]);
}

// `weight` differs from step to step, so that the sum tells blocks that were swapped or given out twice.
static inline uint64_t mixed_bury(const bench_slot *slots, uint64_t spoke, uint64_t weight) {
    uint64_t sum = 0;
    uint32_t index = mixed_wheel[spoke];
    mixed_wheel[spoke] = 0;
    while (index != 0) {
        mixed_cell *cell = &mixed_cells[index];
        uint32_t next = cell->next;
        sum += weight * (cell->block[0] + 3u * cell->block[mixed_size[cell->kind] - 1]);
        bench_escape(cell->block);
        slot_free(slots[cell->kind], cell->block);
        cell->next = mixed_free_cell;
        mixed_free_cell = index;
        index = next;
    }
    return sum;
}

static inline void mixed_bear(const bench_run *run, const bench_slot *slots, uint32_t kind, uint64_t step,
                              uint64_t spoke) {
    uint32_t index = mixed_free_cell;
    mixed_cell *cell = &mixed_cells[index];
    mixed_free_cell = cell->next;
    unsigned char *block = (unsigned char *)bench_need(run, slot_alloc(slots[kind]));
    block[0] = (unsigned char)step;
    block[mixed_size[kind] - 1] = (unsigned char)(step >> 8);
    bench_escape(block);
    cell->block = block;
    cell->kind = kind;
    cell->next = mixed_wheel[spoke];
    mixed_wheel[spoke] = index;
}

static uint64_t mixed_pass(const bench_run *run, const bench_slot *slots, uint64_t count, uint64_t life) {
    uint64_t sum = 0, state = 88172645463325252u, now = 0;
    for (uint64_t step = 0; step < count; step++) {
        uint64_t dice = bench_random(&state);
        uint32_t kind = (uint32_t)((dice >> 32) * MIXED_SIZES >> 32);
        uint64_t end = now + 1 + ((dice & 0xffffffff) * life >> 32);
        if (end > life) end -= life + 1;
        sum += mixed_bury(slots, now, step + 1);
        mixed_bear(run, slots, kind, step, end);
        if (++now > life) now = 0;
    }
    for (uint64_t spoke = 0; spoke <= life; spoke++) sum += mixed_bury(slots, spoke, spoke + 1);
    return sum;
}

static void mixed_run(bench_run *run) {
    uint64_t count = bench_value(run, "count"), life = bench_value(run, "life");
    bench_slot slots[MIXED_SIZES];
    for (int i = 0; i < MIXED_SIZES; i++) {
        bench_slot_options options = {mixed_size[i], 0, life + 1};
        if (!slot_open(&slots[i], &options)) bench_fail(run, "cannot open the allocator");
    }
    mixed_prepare(life);
    mixed_pass(run, slots, count / 10 + 1, life);
    while (bench_more(run)) {
        bench_start(run);
        uint64_t sum = mixed_pass(run, slots, count, life);
        bench_stop(run, count, sum);
    }
    for (int i = 0; i < MIXED_SIZES; i++) slot_close(slots[i]);
}

BENCH_WORKLOAD(mixed, BENCH_SIZES, "one block created and one destroyed",
               "blocks of 1, 16, 64, 256 and 1024 bytes at random, each alive for a random number of steps",
               {"count", 1000000, 1, 1000000000, "steps in a pass"},
               {"life", 1000, 1, MIXED_LIFE_MAX, "steps that a block lives at most"});
