// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// See explore.h. Coroutines are made with <ucontext.h>; one search runs at a time, in one real thread.
#include "explore.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

enum { STACK_BYTES = 64 * 1024 };

typedef struct coroutine {
    ucontext_t context;
    bool ended;
    _Alignas(64) unsigned char stack[STACK_BYTES];
} coroutine;

// What it takes to return to a state: shared memory, contexts, and the used ends of the stacks, one after another.
typedef struct snapshot {
    ucontext_t contexts[EXPLORE_THREADS_MAX];
    bool ended[EXPLORE_THREADS_MAX];
    size_t stack_bytes[EXPLORE_THREADS_MAX];
    unsigned char bytes[];
} snapshot;

typedef struct visited_set {
    uint64_t (*keys)[2];    // {0, 0} is an empty place
    size_t places, count;
} visited_set;

static const explore_scenario *scenario;
static coroutine coroutines[EXPLORE_THREADS_MAX];
static ucontext_t scheduler;
static unsigned running;
static bool inside;    // a coroutine runs now
static visited_set visited;
static explore_result result;

void lido__explore_point(void);
void lido__explore_point(void) {
    if (inside)
        swapcontext(&coroutines[running].context, &scheduler);    // a monitor of the scenario may call the code too
}

static void coroutine_main(int id) {
    scenario->thread((unsigned)id, scenario->shared);
    coroutines[id].ended = true;
    swapcontext(&coroutines[id].context, &scheduler);
}

static unsigned char *stack_pointer(const ucontext_t *context) {
#if defined(__x86_64__)
    return (unsigned char *)context->uc_mcontext.gregs[REG_RSP];
#elif defined(__aarch64__)
    return (unsigned char *)context->uc_mcontext.sp;
#else
#error "tests/unit/explore.c needs to know where this processor keeps its stack pointer"
#endif
}

// Lets one thread run to its next point, or to its end.
static void run(unsigned id) {
    running = id;
    inside = true;
    swapcontext(&scheduler, &coroutines[id].context);
    inside = false;
}

static snapshot *save(void) {
    size_t total = scenario->shared_bytes;
    for (unsigned i = 0; i < scenario->threads; i++) {
        total += (size_t)(coroutines[i].stack + STACK_BYTES - stack_pointer(&coroutines[i].context));
    }
    snapshot *s = malloc(sizeof *s + total);
    if (s == NULL) abort();
    unsigned char *to = s->bytes;
    memcpy(to, scenario->shared, scenario->shared_bytes);
    to += scenario->shared_bytes;
    for (unsigned i = 0; i < scenario->threads; i++) {
        unsigned char *from = stack_pointer(&coroutines[i].context);
        s->contexts[i] = coroutines[i].context;
        s->ended[i] = coroutines[i].ended;
        s->stack_bytes[i] = (size_t)(coroutines[i].stack + STACK_BYTES - from);
        memcpy(to, from, s->stack_bytes[i]);
        to += s->stack_bytes[i];
    }
    return s;
}

static void restore(const snapshot *s) {
    const unsigned char *from = s->bytes;
    memcpy(scenario->shared, from, scenario->shared_bytes);
    from += scenario->shared_bytes;
    for (unsigned i = 0; i < scenario->threads; i++) {
        coroutines[i].context = s->contexts[i];
        coroutines[i].ended = s->ended[i];
        memcpy(coroutines[i].stack + STACK_BYTES - s->stack_bytes[i], from, s->stack_bytes[i]);
        from += s->stack_bytes[i];
    }
}

// Two independent hashes of 64 bits: with a million states the chance that two meet is below 10^-26.
static void hash_bytes(uint64_t key[2], const void *data, size_t bytes) {
    const unsigned char *p = data;
    for (size_t i = 0; i < bytes; i += 8) {
        uint64_t word = 0;
        memcpy(&word, p + i, bytes - i < 8 ? bytes - i : 8);
        key[0] = (key[0] ^ word) * UINT64_C(0x9E3779B97F4A7C15);
        key[0] ^= key[0] >> 29;
        key[1] = (key[1] + word) * UINT64_C(0xD6E8FEB86659FD93);
        key[1] ^= key[1] >> 32;
    }
}

static void hash_registers(uint64_t key[2], const ucontext_t *context) {
#if defined(__x86_64__)
    static const int kept[] = {REG_RBX, REG_RBP, REG_R12, REG_R13, REG_R14, REG_R15, REG_RSP, REG_RIP};
    for (size_t i = 0; i < sizeof kept / sizeof kept[0]; i++) {
        hash_bytes(key, &context->uc_mcontext.gregs[kept[i]], sizeof(greg_t));
    }
#else
    hash_bytes(key, &context->uc_mcontext.regs[19], 12 * sizeof context->uc_mcontext.regs[0]);
    hash_bytes(key, &context->uc_mcontext.sp, sizeof context->uc_mcontext.sp);
#endif
}

static void hash_state(uint64_t key[2]) {
    key[0] = 1, key[1] = 2;
    hash_bytes(key, scenario->shared, scenario->shared_bytes);
    for (unsigned i = 0; i < scenario->threads; i++) {
        const coroutine *c = &coroutines[i];
        hash_bytes(key, &c->ended, sizeof c->ended);
        if (c->ended) continue;    // nothing of it can matter any more
        const unsigned char *from = stack_pointer(&c->context);
        hash_registers(key, &c->context);
        hash_bytes(key, from, (size_t)(c->stack + STACK_BYTES - from));
    }
}

// False: it was there before.
static bool visited_insert(const uint64_t key[2]) {
    size_t place = key[0] & (visited.places - 1);
    while ((visited.keys[place][0] | visited.keys[place][1]) != 0) {
        if (visited.keys[place][0] == key[0] && visited.keys[place][1] == key[1]) return false;
        place = (place + 1) & (visited.places - 1);
    }
    memcpy(visited.keys[place], key, 16);
    visited.count++;
    return true;
}

static void visited_resize(size_t places) {
    visited_set old = visited;
    visited.keys = calloc(places, sizeof *visited.keys);
    visited.places = places;
    visited.count = 0;
    if (visited.keys == NULL) abort();
    for (size_t i = 0; i < old.places; i++) {
        if ((old.keys[i][0] | old.keys[i][1]) != 0) visited_insert(old.keys[i]);
    }
    free(old.keys);
}

static bool violated(const char *text, size_t depth) {
    if (text == NULL) return false;
    result.violation = text;
    result.schedule[depth] = '\0';
    return true;
}

// The state now present has been reached by `depth` steps. Returns true to end the search.
static bool search(size_t depth) {
    uint64_t key[2];
    hash_state(key);
    if (!visited_insert(key)) return false;
    if (visited.count > visited.places / 2) visited_resize(visited.places * 2);
    result.states++;
    snapshot *here = save();
    bool any = false, stop = false;
    for (unsigned id = 0; id < scenario->threads && !stop; id++) {
        if (here->ended[id]) continue;
        any = true;
        if (depth >= EXPLORE_STEPS_MAX) {
            stop = violated("a path is longer than EXPLORE_STEPS_MAX steps", depth);
            break;
        }
        restore(here);
        run(id);
        result.steps++;
        result.schedule[depth] = (char)('0' + id);
        const char *text = scenario->after_step == NULL ? NULL : scenario->after_step(scenario->shared);
        stop = violated(text, depth + 1) || search(depth + 1);
    }
    if (!any) {
        result.ends++;
        stop = violated(scenario->at_end(scenario->shared), depth);
    }
    free(here);
    return stop;
}

explore_result explore(const explore_scenario *what) {
    scenario = what;
    memset(&result, 0, sizeof result);
    if (what->threads == 0 || what->threads > EXPLORE_THREADS_MAX) abort();
    visited_resize(1 << 12);
    for (unsigned i = 0; i < what->threads; i++) {
        coroutine *c = &coroutines[i];
        memset(c->stack, 0, STACK_BYTES);    // what a stack held before must not make states differ
        c->ended = false;
        getcontext(&c->context);
        c->context.uc_stack.ss_sp = c->stack;
        c->context.uc_stack.ss_size = STACK_BYTES;
        c->context.uc_link = NULL;
        makecontext(&c->context, (void (*)(void))coroutine_main, 1, (int)i);
        run(i);    // to its first point: nothing shared has been touched
    }
    search(0);
    free(visited.keys);
    memset(&visited, 0, sizeof visited);
    return result;
}
