// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// What a workload and an allocator backend share: one process runs one workload once on one allocator.
//
//   workload   bench/workloads/NAME.h: what is done, written against a slot, ends with its registration
//   backend    bench/backends/NAME.c: what a slot is, then every workload is compiled into that file, so that the
//              allocator's inline functions are inlined as in a program that uses it
//   slot       blocks of one size from one allocator: slot_open, slot_alloc, slot_free, slot_close, slot_requests
//   pass       the whole workload once. A process warms up, then times passes; its figure is the median pass
//
//   ns_per_op = (time from bench_start to bench_stop) / ops, the median over the passes
//   checksum  = the same in every pass of every allocator, because the work is the same
//
// Before the workloads, worker/slot.h stands in for the backend's slot_open and slot_close (litter) and, in the second
// compilation of the backend, for its slot_alloc and slot_free too (look).
//
// Nothing here allocates between bench_start and bench_stop but the allocator under test. Everything is called from the
// main thread, unless a function says otherwise.
#ifndef LIDO_BENCH_WORKER_H
#define LIDO_BENCH_WORKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    BENCH_PARAMS_MAX = 8,
    BENCH_PASSES_MAX = 1000,
    BENCH_COUNTS_MAX = 8,
};

// What a workload asks for, and what a backend can give. "Given back" is by slot_free unless it says otherwise.
enum {
    BENCH_SINGLE = 1,           // one size, one thread
    BENCH_BATCH = 2,            // one size, one thread, as many blocks alive as the program likes
    BENCH_SIZES = 4,            // several sizes, one thread: a slot for each
    BENCH_THREADS = 8,          // one size, several threads: on one slot if slots are shared, else on one each
    BENCH_LEDGER = 16,          // one size, and slot_requests counts what the allocator asks for
    BENCH_PAIR = 32,            // one size, one thread, one block alive at most: a region may forget all in slot_free
    BENCH_REGION = 64,          // one or several sizes, one thread, blocks given back all at once, by slot_release
    BENCH_CROSS = 128,          // one size, several threads, blocks given back by other threads: slots are shared
    BENCH_CROSS_SIZES = 256,    // the same with several sizes: a slot for each
    BENCH_REALLOC = 512,        // a block is resized by slot_resize
    BENCH_CAPACITY = 1024,      // one size, one thread, and the hard limit is exact: the call beyond it is NULL
    BENCH_OBJECTS = 2048,       // one type, one thread: the workload constructs, or slot_alloc does (SLOT_CONSTRUCTS)
};

// What most backends do not have stands in workloads/parts/optional.h, with what is done in its place:
//
//   #define SLOT_RELEASES 1     void slot_release(slot, blocks, count): all blocks of the slot, which are these
//   #define SLOT_RESIZES 1      void *slot_resize(slot, block, size): realloc
//   #define SLOT_LITTERS_OUTSIDE 1   nothing: litter lies in the process's malloc, as the slot cannot hold many blocks
//   #define SLOT_CONSTRUCTS 1   slot_alloc gives constructed objects of workloads/parts/object_type.h

typedef struct bench_run bench_run;
typedef struct bench_workload bench_workload;
typedef struct bench_backend bench_backend;

typedef struct bench_param {
    const char *name;
    uint64_t value, least, most;    // default and range, both ends allowed
    const char *help;
} bench_param;

// While the process waits for memory to fall, it still allocates and frees a block of 64 bytes now and then.
typedef enum bench_tick { BENCH_TICK_OPEN, BENCH_TICK_BEAT, BENCH_TICK_CLOSE } bench_tick;

struct bench_workload {
    const char *name, *help;
    const char *op;    // what one operation is
    unsigned shape;    // exactly one of the shapes above
    void (*run)(bench_run *run);
    bench_param params[BENCH_PARAMS_MAX];    // ends at the first without a name
};

struct bench_backend {
    const char *name, *help;
    unsigned shapes;    // mask
    bool look;          // the second compilation, whose calls are timed one by one (worker/look.h)
    void (*tick)(bench_tick what);
    const bench_workload *const *workloads;
    size_t workload_count;
    bench_backend *next;
};

typedef struct bench_slot_options {
    size_t size;         // of a block, bytes
    size_t capacity;     // hard limit that the workload asks for, 0 for none
    size_t most_live;    // blocks alive at once that the workload can reach
} bench_slot_options;

// What an allocator asked its own source (heap or system) for, to hand out blocks.
typedef struct bench_requests {
    uint64_t count, bytes;
} bench_requests;

// The timed part of one thread.
typedef struct bench_span {
    uint64_t from_ns, to_ns, cpu_ns;
} bench_span;

struct bench_run {
    const bench_workload *workload;
    const bench_backend *backend;
    const bench_backend *look;    // its second compilation, NULL if the worker has none
    uint64_t values[BENCH_PARAMS_MAX];
    uint64_t ops, checksum;
    double pass_cpu_ns[BENCH_PASSES_MAX];    // the same by CPU time of the process
    double pass_ns[BENCH_PASSES_MAX];        // ns per op of each pass
    unsigned pass_count, pass_limit;         // pass_limit 0: as long as the time lasts
    uint64_t timed_ns, timed_ops, started_ns, started_cpu_ns;
    long faults_before, faults_timed;    // page faults, minor and major, between start and stop
    struct {
        const char *name;
        uint64_t value;
    } counts[BENCH_COUNTS_MAX];
    unsigned count_count;
};

// Called by the constructor that BENCH_BACKEND defines, before main.
void bench_register(bench_backend *backend);

// The value of a parameter of this workload. Requires: the workload registers it.
uint64_t bench_value(const bench_run *run, const char *name);
// One line on stderr and exit status 1.
void bench_fail(const bench_run *run, const char *what) __attribute__((noreturn));
// Whether to run one more pass: at least three, until 0.1 s of timed work is done or the limit is reached.
bool bench_more(const bench_run *run);
void bench_start(bench_run *run);
// Ends the pass that did `ops` operations with this checksum. Fails the process if an earlier pass had another one.
void bench_stop(bench_run *run, uint64_t ops, uint64_t checksum);
// The same for work that timed itself (threads): from first start to last end, and CPU time of all threads.
void bench_pass(bench_run *run, uint64_t ops, uint64_t checksum, uint64_t ns, uint64_t cpu_ns);
// Any thread. The timed part of a thread of a workload that calls bench_pass; looked at and counted like the rest between
// bench_start and bench_stop. Fills the span.
void bench_thread_start(bench_span *span);
void bench_thread_stop(bench_span *span);
// Before slots are opened, by a workload that has several open at once: the sum of their block sizes (of the slots of all
// threads). Litter is laid in proportion. Without it every slot is taken to be alone.
void bench_slots_bytes(size_t bytes);
// A figure of the last pass that is shown beside the times, such as the number of heap allocations.
void bench_count(bench_run *run, const char *name, uint64_t value);
// Any thread. Nanoseconds of the monotonic clock.
uint64_t bench_now(void);
// Any thread. Nanoseconds of CPU time of the calling thread.
uint64_t bench_cpu_now(void);

// The compiler must take it that somebody else reads and writes the block (and all other memory) here.
static inline __attribute__((always_inline)) void bench_escape(void *p) { __asm__ volatile("" : : "r"(p) : "memory"); }

// The block, which every workload checks as a program would.
static inline void *bench_need(const bench_run *run, void *block) {
    if (__builtin_expect(block == NULL, 0)) bench_fail(run, "no memory");
    return block;
}

// Marsaglia's xorshift64; `state` must not be 0.
static inline uint64_t bench_random(uint64_t *state) {
    uint64_t x = *state;
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    return *state = x;
}

// Storage of a large static table of a workload, in place of `static`: one for the process, however many backends are
// compiled into it. Its type has no bench_slot in it.
#ifdef __cplusplus
#define BENCH_TABLE inline
#else
#define BENCH_TABLE __attribute__((common))
#endif

// At the end of a workload's file. RUN and the parameters, each {name, default, least, most, help}, follow the texts.
#define BENCH_WORKLOAD(NAME, SHAPE, OP, HELP, ...) BENCH_WORKLOAD_NAMED(NAME, #NAME, SHAPE, OP, HELP, __VA_ARGS__)
// The same for a name with hyphens; IDENT is that of the file.
#define BENCH_WORKLOAD_NAMED(IDENT, NAME, SHAPE, OP, HELP, ...) \
    static const bench_workload bench_workload_##IDENT = {NAME, HELP, OP, SHAPE, IDENT##_run, {__VA_ARGS__}}

// At the end of a backend's file, after workloads_all.h.
#define BENCH_BACKEND(IDENT, NAME, SHAPES, HELP)                                                                       \
    static bench_backend IDENT = {NAME, HELP, SHAPES, SLOT_IS_LOOK, slot__tick, bench_workloads, BENCH_WORKLOAD_COUNT, \
                                  NULL};                                                                               \
    __attribute__((constructor)) static void IDENT##_register(void) { bench_register(&IDENT); }                        \
    typedef int IDENT##_needs_semicolon

#ifdef __cplusplus
}
#endif

#endif
