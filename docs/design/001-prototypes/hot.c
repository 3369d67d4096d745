// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// Section 15 of docs/design/001-core.md: the free list of a local pool against one that keeps the block that came back last beside it.
//
//      gcc -O2 -o hot hot.c && ./hot          nanoseconds of CPU time an operation, the least of 9 rounds that take turns
//
//      list    alloc: head = head->next               free: p->next = head, head = p            3 stores a pair
//      slot    alloc: takes the hot block, if any     free: p becomes it if there is none       2 stores; else as list
//      hot     the same, but what was hot goes to the list, so that the order stays last in, first out
//      bare    list without any test
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define RARELY(x) __builtin_expect(!!(x), 0)
#define BARRIER(p) __asm__ volatile("" : : "r"(p) : "memory")

typedef struct node {
    struct node *next;
} __attribute__((may_alias)) node;
typedef struct pool {
    node *hot, *free;
} pool;
#define END ((node *)1)

static __attribute__((noinline)) void *slow(pool *p) {
    fprintf(stderr, "pool %p has no block\n", (void *)p);
    exit(1);
}

static inline void *list_alloc(pool *p) {
    node *block = p->free;
    if (RARELY((uintptr_t)block <= (uintptr_t)END)) return slow(p);
    p->free = block->next;
    return block;
}
static inline void list_free(pool *p, void *block) {
    node *first = p->free, *link = block;
    if (RARELY(first == NULL)) slow(p);
    if (RARELY(block == NULL)) return;
    link->next = first;
    p->free = link;
}

static inline void *slot_alloc(pool *p) {
    node *block = p->hot;
    if (RARELY(block == NULL)) return list_alloc(p);
    p->hot = NULL;
    return block;
}
static inline void slot_free(pool *p, void *block) {
    if (RARELY(p->hot != NULL)) {
        list_free(p, block);
    } else {
        p->hot = block;
    }
}

static inline void hot_free(pool *p, void *block) {
    node *before = p->hot;
    p->hot = block;
    if (RARELY(before != NULL)) list_free(p, before);
}

static inline void *bare_alloc(pool *p) {
    node *block = p->free;
    p->free = block->next;
    return block;
}
static inline void bare_free(pool *p, void *block) {
    node *link = block;
    link->next = p->free;
    p->free = link;
}

// --- work: the object of churn and steady, see bench/worker/object.h --------------------------------------------------

typedef struct object {
    uint64_t untouched[3];
    char text[28];
    uint32_t tag;
} object;

static inline object *construct(void *block, uint64_t serial) {
    object *o = block;
    memset(o->text, (int)(serial & 0x7f), sizeof o->text);
    o->tag = 0x80000000u | (uint32_t)serial;
    BARRIER(o);
    return o;
}
static inline uint64_t destruct(object *o) {
    uint64_t sum = o->tag + (uint64_t)o->text[27];
    o->tag = 0;
    BARRIER(o);
    return sum;
}

enum { LIVE = 256, BATCH = 512, BLOCKS = 4096, BLOCK_BYTES = 64, ROUNDS = 9, STEPS = 1000000 };

#define WORK(name, take, give)                                        \
    static __attribute__((noinline)) uint64_t name##_churn(pool *p) { \
        uint64_t sum = 0;                                             \
        for (uint64_t i = 0; i < STEPS; i++) {                        \
            object *o = construct(take(p), i);                        \
            sum += destruct(o);                                       \
            give(p, o);                                               \
        }                                                             \
        return sum;                                                   \
    }                                                                 \
    static __attribute__((noinline)) uint64_t name##_pair(pool *p) {  \
        for (uint64_t i = 0; i < STEPS; i++) {                        \
            uint64_t *block = take(p);                                \
            *block = i;                                               \
            BARRIER(block);                                           \
            give(p, block);                                           \
        }                                                             \
        return 0;                                                     \
    }                                                                 \
    static __attribute__((noinline)) uint64_t name##_steady(pool *p) { \
        static object *live[LIVE];                                    \
        uint64_t sum = 0;                                             \
        for (unsigned i = 0; i < LIVE; i++) live[i] = construct(take(p), i); \
        for (uint64_t i = 0; i < STEPS; i++) {                        \
            object **at = &live[i % LIVE];                            \
            sum += destruct(*at);                                     \
            give(p, *at);                                             \
            *at = construct(take(p), i);                              \
        }                                                             \
        for (unsigned i = 0; i < LIVE; i++) give(p, live[i]);         \
        return sum;                                                   \
    }                                                                 \
    static __attribute__((noinline)) uint64_t name##_batch(pool *p) { \
        static void *live[BATCH];                                     \
        for (unsigned round = 0; round < STEPS / BATCH; round++) {    \
            for (unsigned i = 0; i < BATCH; i++) {                    \
                live[i] = take(p);                                    \
                BARRIER(live[i]);                                     \
            }                                                         \
            for (unsigned i = 0; i < BATCH; i++) give(p, live[i]);    \
        }                                                             \
        return 0;                                                     \
    }                                                                 \
    static __attribute__((noinline)) uint64_t name##_random(pool *p) { \
        static void *live[BATCH];                                     \
        uint32_t random = 12345;                                      \
        unsigned top = 0;                                             \
        for (unsigned i = 0; i < 2 * STEPS; i++) {                    \
            random = random * 1664525u + 1013904223u;                 \
            if ((random >> 16 & 1) != 0 && top < BATCH) {             \
                live[top] = take(p);                                  \
                BARRIER(live[top]);                                   \
                top++;                                                \
            } else if (top > 0) {                                     \
                give(p, live[--top]);                                 \
            }                                                         \
        }                                                             \
        while (top > 0) give(p, live[--top]);                         \
        return 0;                                                     \
    }
WORK(list, list_alloc, list_free)
WORK(slot, slot_alloc, slot_free)
WORK(hot, slot_alloc, hot_free)
WORK(bare, bare_alloc, bare_free)

// --- measuring --------------------------------------------------------------------------------------------------------

enum { WAYS = 4, WORKS = 5 };
typedef uint64_t work_call(pool *p);
static work_call *const calls[WORKS][WAYS] = {
    {list_churn, slot_churn, hot_churn, bare_churn},
    {list_pair, slot_pair, hot_pair, bare_pair},
    {list_steady, slot_steady, hot_steady, bare_steady},
    {list_batch, slot_batch, hot_batch, bare_batch},
    {list_random, slot_random, hot_random, bare_random},
};
static const char *const names[WORKS] = {"churn", "pair", "steady", "batch", "random"};

static double cpu_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

int main(void) {
    static char memory[BLOCKS * BLOCK_BYTES] __attribute__((aligned(64)));
    double least[WORKS][WAYS];
    uint64_t sums[WAYS] = {0};
    for (int round = 0; round < ROUNDS; round++) {
        for (int work = 0; work < WORKS; work++) {
            for (int way = 0; way < WAYS; way++) {
                pool p = {NULL, END};
                for (int i = 0; i < BLOCKS; i++) list_free(&p, memory + i * BLOCK_BYTES);
                double start = cpu_ns();
                sums[way] += calls[work][way](&p);
                double ns = (cpu_ns() - start) / STEPS;
                if (round == 0 || ns < least[work][way]) least[work][way] = ns;
            }
        }
    }
    printf("%-8s %8s %8s %8s %8s\n", "", "list", "slot", "hot", "bare");
    for (int work = 0; work < WORKS; work++) {
        printf("%-8s", names[work]);
        for (int way = 0; way < WAYS; way++) printf(" %8.3f", least[work][way]);
        putchar('\n');
    }
    for (int way = 1; way < WAYS; way++) {
        if (sums[way] != sums[0]) {
            fprintf(stderr, "way %d has other contents\n", way);
            return 1;
        }
    }
    return 0;
}
