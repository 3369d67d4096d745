// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// The measurement of docs/design/004: one round builds 100,000 linked records of 16 to 128 bytes (half of them below 40), lets a share
// of them go singly on the way, walks the rest, and releases all at once. The contenders take turns round by round in one process.
//
//      cc -O2 -Iinclude docs/design/004-prototypes/reap.c build/release/lib/liblido.a -pthread -o reap && ./reap [ROUNDS]
#include <lido/lido.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { RECORDS = 100000, CONTENDERS = 4, SHARES = 3, ROUNDS_MAX = 101 };

typedef struct record {
    struct record *next;
    unsigned size;
    unsigned value;
} record;

static lido_arena *arena;
static lido_heap *reap, *heap;
static unsigned sizes[RECORDS];
static bool leaves[RECORDS];
static record *kept[RECORDS];

static inline void *take(int who, size_t size) {
    switch (who) {
        case 0: return lido_arena_alloc(arena, size);
        case 1: return lido_heap_alloc(reap, size);
        case 2: return lido_heap_alloc(heap, size);
        default: return lido_malloc(size);
    }
}

static inline void give(int who, void *p) {
    if (who != 0) lido_free(p);    // an arena cannot
}

static void release(int who, size_t count) {
    switch (who) {
        case 0: lido_arena_reset(arena); break;
        case 1: lido_heap_reset(reap); break;
        case 2: lido_heap_reset(heap); break;
        default:
            for (size_t i = 0; i < count; i++) lido_free(kept[i]);
    }
}

static double now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

// ns a record: building with single frees, one walk, release. *bytes: what the memory reaches over, a measure of how it lies.
static double round_of(int who, double *walk_ns, unsigned *sum) {
    size_t count = 0;
    record *first = NULL;
    double start = now_ns();
    for (size_t i = 0; i < RECORDS; i++) {
        record *r = (record *)take(who, sizes[i]);
        if (r == NULL) abort();
        memset(r, (int)i, sizes[i]);
        r->value = (unsigned)i;
        if (leaves[i] && count > 16) {    // an older record goes, not this one
            size_t victim = count - 1 - i % 16;
            give(who, kept[victim]);
            kept[victim] = r;
        } else {
            kept[count++] = r;
        }
    }
    for (size_t i = count; i > 0; i--) {
        kept[i - 1]->next = first;
        first = kept[i - 1];
    }
    double walk = now_ns();
    for (const record *r = first; r != NULL; r = r->next) *sum += r->value;
    double walked = now_ns();
    release(who, count);
    *walk_ns = (walked - walk) / (double)count;
    return (now_ns() - start) / RECORDS;
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

int main(int argc, char **argv) {
    static const char *const names[CONTENDERS] = {"arena", "heap, bump", "heap", "malloc"};
    static const unsigned shares[SHARES] = {0, 10, 50};
    static double ns[CONTENDERS][ROUNDS_MAX], walks[CONTENDERS][ROUNDS_MAX];
    int rounds = argc > 1 ? atoi(argv[1]) : 31;
    if (rounds < 1 || rounds > ROUNDS_MAX) return fprintf(stderr, "reap: rounds must be 1 to %d\n", ROUNDS_MAX), 2;
    unsigned sum = 0;
    printf("%-6s %-12s %10s %14s %10s %10s\n", "freed", "", "ns/record", "quartiles", "walk ns", "MB held");
    for (int s = 0; s < SHARES; s++) {
        uint64_t x = 88172645463325252u;
        for (int i = 0; i < RECORDS; i++) {
            x ^= x << 13, x ^= x >> 7, x ^= x << 17;
            sizes[i] = x % 2 == 0 ? 16 + x / 2 % 24 : 16 + x / 2 % 113;
            leaves[i] = x / 1024 % 100 < shares[s];
        }
        arena = lido_arena_new(NULL);
        reap = lido_heap_new(&(lido_heap_options){.name = "reap", .bump = true});
        heap = lido_heap_new(NULL);
        double held[CONTENDERS];
        for (int who = 0; who < CONTENDERS; who++) {    // the first round touches the memory
            size_t before = lido_process_stats().committed_bytes - lido_process_stats().dirty_free_bytes;
            round_of(who, &walks[who][0], &sum);
            held[who] =
                (double)(lido_process_stats().committed_bytes - lido_process_stats().dirty_free_bytes - before) / 1e6;
        }
        held[0] = (double)lido_arena_stats(arena).held_bytes / 1e6;
        for (int round = 0; round < rounds; round++)
            for (int who = 0; who < CONTENDERS; who++) ns[who][round] = round_of(who, &walks[who][round], &sum);
        for (int who = 0; who < CONTENDERS; who++) {
            qsort(ns[who], (size_t)rounds, sizeof(double), ascending);
            qsort(walks[who], (size_t)rounds, sizeof(double), ascending);
            printf("%3u %%  %-12s %10.1f %7.1f-%-6.1f %10.2f", shares[s], names[who], ns[who][rounds / 2],
                   ns[who][rounds / 4], ns[who][rounds * 3 / 4], walks[who][rounds / 2]);
            if (who < 3) printf(" %10.1f", held[who]);
            printf("\n");
        }
        lido_arena_free(arena);
        lido_heap_destroy(reap);
        lido_heap_destroy(heap);
    }
    return sum == 1 ? 3 : 0;    // the walks are not optimized away
}
