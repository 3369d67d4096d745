// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// The look: one more pass whose calls of the slot are timed one by one. worker/slot.h times them in the backend's second
// compilation; here the times are kept, with the bytes alive and the bytes held from the system over the pass.
//
//   look_ticks() ; slot_alloc ; look_ticks()     the difference holds the cost of one reading, which is stated
//   live = bytes asked for and not yet given back, of all slots since they were opened, litter too
//   held = resident anonymous memory of the process, less the worker's own (static data and the histograms)
//
// Calls count while the pass is timed: between bench_start and bench_stop those of every thread, between
// bench_thread_start and bench_thread_stop those of that thread. The others move `live` alone.
// Nothing here allocates but by mmap, at a thread's first call.
#ifndef LIDO_BENCH_LOOK_H
#define LIDO_BENCH_LOOK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if !defined(__x86_64__) && !defined(__aarch64__)
#include <time.h>
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef enum look_kind { LOOK_ALLOC, LOOK_FREE, LOOK_RESIZE, LOOK_KINDS } look_kind;

// Fenced, so that the work between two readings is all of it and nothing else.
static inline __attribute__((always_inline)) uint64_t look_ticks(void) {
#if defined(__x86_64__)
    uint32_t low, high;
    __asm__ volatile("lfence\n\trdtsc\n\tlfence" : "=a"(low), "=d"(high) : : "memory");
    return (uint64_t)high << 32 | low;
#elif defined(__aarch64__)
    uint64_t ticks;
    __asm__ volatile("isb\n\tmrs %0, cntvct_el0\n\tisb" : "=r"(ticks) : : "memory");
    return ticks;
#else
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
#endif
}

// Any thread, after each call of a slot. `bytes` is what it added to the bytes alive.
void look_note(look_kind kind, uint64_t ticks, int64_t bytes);
// Any thread: blocks that came or went untimed.
void look_live(int64_t bytes);

// Any thread: memory that the worker itself took (positive) or gave back.
void look_own(int64_t bytes);

// Any thread. The size of a block that was resized, until it is freed or resized again. look_forget returns it, or
// `otherwise` for a block that never was.
void look_remember(const void *block, int64_t bytes);
int64_t look_forget(const void *block, int64_t otherwise);

// Around the timed part of all threads, or of the calling one. They do nothing before look_open.
void look_begin_all(void);
void look_end_all(void);
void look_begin_thread(void);
void look_end_thread(void);

// From here to look_close the process runs its look.
void look_open(void);
void look_close(void);
// After look_close, lines timer_ns= (one reading), timer_step_ns= (its grain), latency.KIND= and latency.KIND.MARK=, memory=.
void look_print(void);

#ifdef __cplusplus
}
#endif

#endif
