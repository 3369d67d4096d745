// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// Where a look is kept: a record for each thread, added to the whole when the thread ends, and the series of memory.
//
//   ops, live of the process = sum over the records + what ended threads and untimed calls left in `whole`
//   a point is taken every `interval` calls of a thread; when 63 are there, every other one goes and the interval doubles
#include "worker/look.h"
#include "worker/histogram.h"
#include "worker/memory.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

enum {
    POINTS_MAX = 64,
    INTERVAL_FIRST = 64,
    READINGS = 1001,
    CALIBRATION_NS = 20000000,    // the two clocks are read within 0.1 us of each other: an error of 1 in 10^5
};

typedef struct record {
    histogram times[LOOK_KINDS];    // [owner]
    uint64_t until_point;           // [owner]
    bool on;                        // [owner] between look_begin_thread and look_end_thread
    _Atomic uint64_t ops;           // [owner] writes; relaxed: a point may be a few calls late
    _Atomic int64_t live;           // [owner] writes; as ops
    struct record *next;            // [lock:lock]
} record;

typedef struct point {
    uint64_t ops;
    int64_t live, held;
} point;

typedef struct moment {
    uint64_t ticks, ns;
} moment;

static bool open_now;    // [const] while threads run
// Between look_begin_all and look_end_all. Relaxed: threads are started, or released by a barrier, after it is set.
static atomic_bool everyone;
static _Thread_local record *self;
static pthread_key_t at_exit;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static record *records;                               // [lock:lock] of live threads
static histogram whole_times[LOOK_KINDS];             // [lock:lock] of ended threads
static uint64_t whole_ops;                            // [lock:lock]
static _Atomic int64_t whole_live, own_bytes;         // relaxed: sums
static _Atomic uint64_t interval = INTERVAL_FIRST;    // written under the lock; relaxed
static int threads_on;                                // [lock:lock]
static point points[POINTS_MAX];                      // [lock:lock]
static int point_count;                               // [lock:lock]

static moment opened, closed;
static double ns_per_tick, reading_ns, step_ns;
static const char *unsteady;    // why the times cannot be told, NULL if they can

static void take_point_locked(void) {
    if (point_count == POINTS_MAX - 1) {
        point_count = 0;
        for (int i = 0; i < POINTS_MAX - 1; i += 2) points[point_count++] = points[i];
        atomic_store_explicit(&interval, atomic_load_explicit(&interval, memory_order_relaxed) * 2,
                              memory_order_relaxed);
    }
    point is = {whole_ops, atomic_load_explicit(&whole_live, memory_order_relaxed), memory_held()};
    is.held -= atomic_load_explicit(&own_bytes, memory_order_relaxed);
    for (const record *r = records; r != NULL; r = r->next) {
        is.ops += atomic_load_explicit(&r->ops, memory_order_relaxed);
        is.live += atomic_load_explicit(&r->live, memory_order_relaxed);
        is.held -= memory_resident(r, sizeof *r);
    }
    if (point_count > 0 && points[point_count - 1].ops == is.ops) point_count--;
    points[point_count++] = is;
}

static record *join_look(void) {
    void *memory = mmap(NULL, sizeof(record), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        fprintf(stderr, "lido-bench worker: no memory for the histograms of one more thread; run with look=0\n");
        exit(1);
    }
    self = (record *)memory;
    self->until_point = atomic_load_explicit(&interval, memory_order_relaxed);
    pthread_setspecific(at_exit, self);
    pthread_mutex_lock(&lock);
    self->next = records;
    records = self;
    pthread_mutex_unlock(&lock);
    return self;
}

void look_live(int64_t bytes) { atomic_fetch_add_explicit(&whole_live, bytes, memory_order_relaxed); }

void look_own(int64_t bytes) { atomic_fetch_add_explicit(&own_bytes, bytes, memory_order_relaxed); }

static void fold_locked(const record *r) {
    for (int kind = 0; kind < LOOK_KINDS; kind++) histogram_merge(&whole_times[kind], &r->times[kind]);
    whole_ops += atomic_load_explicit(&r->ops, memory_order_relaxed);
    look_live(atomic_load_explicit(&r->live, memory_order_relaxed));
}

// The destructor of a thread. A record that look_close has folded is no longer in the list, and is left alone.
static void leave_look(void *mine) {
    pthread_mutex_lock(&lock);
    record **at = &records;
    while (*at != NULL && *at != mine) at = &(*at)->next;
    record *r = *at;
    if (r != NULL) {
        fold_locked(r);
        *at = r->next;
        munmap(r, sizeof *r);
    }
    pthread_mutex_unlock(&lock);
    self = NULL;
}

void look_note(look_kind kind, uint64_t ticks, int64_t bytes) {
    record *mine = self;
    if (!atomic_load_explicit(&everyone, memory_order_relaxed) && (mine == NULL || !mine->on)) {
        look_live(bytes);
        return;
    }
    if (mine == NULL) mine = join_look();
    histogram_add(&mine->times[kind], ticks);
    atomic_store_explicit(&mine->ops, atomic_load_explicit(&mine->ops, memory_order_relaxed) + 1, memory_order_relaxed);
    atomic_store_explicit(&mine->live, atomic_load_explicit(&mine->live, memory_order_relaxed) + bytes,
                          memory_order_relaxed);
    if (--mine->until_point != 0) return;
    if (pthread_mutex_trylock(&lock) == 0) {    // another thread that takes one serves as well
        take_point_locked();
        pthread_mutex_unlock(&lock);
    }
    mine->until_point = atomic_load_explicit(&interval, memory_order_relaxed);
}

static void point_at_end(bool first_only) {
    pthread_mutex_lock(&lock);
    if (!first_only || point_count == 0) take_point_locked();
    pthread_mutex_unlock(&lock);
}

void look_begin_all(void) {
    if (!open_now) return;
    point_at_end(true);
    atomic_store_explicit(&everyone, true, memory_order_relaxed);
}

void look_end_all(void) {
    if (!open_now) return;
    atomic_store_explicit(&everyone, false, memory_order_relaxed);
    point_at_end(false);
}

void look_begin_thread(void) {
    if (!open_now) return;
    record *mine = self != NULL ? self : join_look();
    pthread_mutex_lock(&lock);
    if (point_count == 0) take_point_locked();
    threads_on++;
    pthread_mutex_unlock(&lock);
    mine->on = true;
}

void look_end_thread(void) {
    if (!open_now) return;
    self->on = false;
    pthread_mutex_lock(&lock);
    if (--threads_on == 0) take_point_locked();
    pthread_mutex_unlock(&lock);
}

// Both clocks at once: of several tries the one between whose readings the least time passed.
static moment now_by_both(void) {
    moment best = {0, 0};
    uint64_t least = UINT64_MAX;
    for (int i = 0; i < 16; i++) {
        struct timespec clock;
        uint64_t before = look_ticks();
        clock_gettime(CLOCK_MONOTONIC, &clock);
        uint64_t after = look_ticks();
        if (after - before >= least) continue;
        least = after - before;
        best.ticks = before + least / 2;
        best.ns = (uint64_t)clock.tv_sec * 1000000000u + (uint64_t)clock.tv_nsec;
    }
    return best;
}

static double rate(moment from, moment to) { return (double)(to.ns - from.ns) / (double)(to.ticks - from.ticks); }

void look_open(void) {
    if (pthread_key_create(&at_exit, leave_look) != 0) abort();    // a process has 1024 and this is among the first
    memory_held_open();
    opened = now_by_both();
    open_now = true;
}

// What a reading costs, and in which steps the ticks go: some machines count tens of them at once.
static void read_the_timer(void) {
    static histogram readings;
    uint64_t least = UINT64_MAX, most = 0, step = UINT64_MAX;
    for (int i = 0; i < READINGS; i++) {
        uint64_t before = look_ticks(), ticks = look_ticks() - before;
        histogram_add(&readings, ticks);
        if (ticks < least) least = ticks;
        if (ticks > most) most = ticks;
        if (ticks > least && ticks - least < step) step = ticks - least;
    }
    reading_ns = (double)histogram_at(&readings, 0.5) * ns_per_tick;
    step_ns = most > least ? (double)step * ns_per_tick : 0;
}

// The rate is that of the whole look; a second stretch of time must agree, or the ticks are no measure of time.
void look_close(void) {
    open_now = false;
    closed = now_by_both();
    struct timespec wait = {0, CALIBRATION_NS};
    moment later;
    do {
        nanosleep(&wait, NULL);
        later = now_by_both();
    } while (later.ns - closed.ns < CALIBRATION_NS);
    ns_per_tick = rate(opened, later);
    double again = rate(closed, later);
    if (again > ns_per_tick * 1.01 || again < ns_per_tick * 0.99)
        unsteady = "the processor's time stamp counter does not run evenly against CLOCK_MONOTONIC here";
    read_the_timer();
    pthread_mutex_lock(&lock);
    for (; records != NULL; records = records->next) fold_locked(records);
    pthread_mutex_unlock(&lock);
}

// Two decimals where one would be an error of more than 1 %.
static void print_ns(uint64_t ticks) {
    double ns = (double)ticks * ns_per_tick;
    printf("%.*f", ns < 10 ? 2 : 1, ns);
}

static void print_times(const char *name, const histogram *times) {
    static const struct {
        const char *name;
        double share;
    } marks[] = {{"p50", 0.5}, {"p99", 0.99}, {"p999", 0.999}, {"p9999", 0.9999}, {"max", 1}};
    if (times->total == 0) return;
    printf("latency.%s=", name);
    const char *comma = "";
    for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
        if (times->counts[i] == 0) continue;
        printf("%s", comma);
        print_ns(histogram_highest(i));
        printf(":%llu", (unsigned long long)times->counts[i]);
        comma = ",";
    }
    printf("\n");
    for (size_t i = 0; i < sizeof marks / sizeof marks[0]; i++) {
        printf("latency.%s.%s=", name, marks[i].name);
        print_ns(histogram_at(times, marks[i].share));
        printf("\n");
    }
}

void look_print(void) {
    static const char *const names[LOOK_KINDS] = {"alloc", "free", "resize"};
    if (unsteady != NULL) {
        printf("latency=%s\n", unsteady);
    } else {
        printf("timer_ns=%.2f\ntimer_step_ns=%.2f\n", reading_ns, step_ns);
        for (int kind = 0; kind < LOOK_KINDS; kind++) print_times(names[kind], &whole_times[kind]);
    }
    for (int i = 0; i < point_count; i++)
        printf("%s%llu:%lld:%lld", i == 0 ? "memory=" : ",", (unsigned long long)points[i].ops,
               (long long)points[i].live, (long long)points[i].held);
    if (point_count > 0) printf("\n");
}
