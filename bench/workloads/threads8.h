// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// Several threads, each of which does the pairs of pair64. A shared allocator is shared by all of them; of one that is
// not, each thread has its own. Threads start together; the time is from the first start to the last end, so starting
// and joining them does not count.
#include <pthread.h>

enum { THREADS8_MAX = 64 };

typedef struct threads8_worker {
    pthread_t thread;
    pthread_barrier_t *gate;
    bench_run *run;
    bench_slot *shared;    // NULL: open one of its own
    bench_slot_options options;
    uint64_t count, sum, from_ns, to_ns, cpu_ns;
} threads8_worker;

static uint64_t threads8_pairs(const bench_run *run, bench_slot slot, uint64_t count) {
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

static void *threads8_main(void *context) {
    threads8_worker *worker = (threads8_worker *)context;
    bench_slot slot;
    if (worker->shared != NULL)
        slot = *worker->shared;
    else if (!slot_open(&slot, &worker->options))
        bench_fail(worker->run, "cannot open the allocator in a thread");
    threads8_pairs(worker->run, slot, worker->count / 100 + 1);
    pthread_barrier_wait(worker->gate);
    uint64_t cpu_from_ns = bench_cpu_now();
    worker->from_ns = bench_now();
    worker->sum = threads8_pairs(worker->run, slot, worker->count);
    worker->to_ns = bench_now();
    worker->cpu_ns = bench_cpu_now() - cpu_from_ns;
    if (worker->shared == NULL) slot_close(slot);
    return NULL;
}

static void threads8_pass(bench_run *run, bench_slot *shared, const bench_slot_options *options, uint64_t threads) {
    static threads8_worker workers[THREADS8_MAX];
    pthread_barrier_t gate;
    uint64_t count = bench_value(run, "count");
    pthread_barrier_init(&gate, NULL, (unsigned)threads);
    for (uint64_t i = 0; i < threads; i++) {
        workers[i].gate = &gate;
        workers[i].run = run;
        workers[i].shared = shared;
        workers[i].options = *options;
        workers[i].count = count;
        if (pthread_create(&workers[i].thread, NULL, threads8_main, &workers[i]) != 0)
            bench_fail(run, "cannot start a thread");
    }
    uint64_t sum = 0, from = UINT64_MAX, to = 0, cpu = 0;
    for (uint64_t i = 0; i < threads; i++) {
        pthread_join(workers[i].thread, NULL);
        sum += workers[i].sum;
        cpu += workers[i].cpu_ns;
        if (workers[i].from_ns < from) from = workers[i].from_ns;
        if (workers[i].to_ns > to) to = workers[i].to_ns;
    }
    pthread_barrier_destroy(&gate);
    bench_pass(run, count * threads, sum, to - from, cpu);
}

static void threads8_run(bench_run *run) {
    uint64_t threads = bench_value(run, "threads");
    bench_slot_options options = {bench_value(run, "size"), 0, threads};
    bench_slot slot;
    bool shared = SLOT_IS_SHARED;
    if (shared && !slot_open(&slot, &options)) bench_fail(run, "cannot open the allocator");
    while (bench_more(run)) threads8_pass(run, shared ? &slot : NULL, &options, threads);
    if (shared) slot_close(slot);
}

BENCH_WORKLOAD(threads8, BENCH_THREADS, "one block allocated and freed, in wall time of all threads together",
               "the pairs of pair64 in several threads at once", {"threads", 8, 1, THREADS8_MAX, "threads"},
               {"count", 1000000, 1, 1000000000, "pairs of a thread in a pass"},
               {"size", 64, 8, 65536, "bytes of a block"});
