// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// The depot's real code (src/pool/depot.h) through all interleavings of two and three threads, from empty, nearly full
// and full depots. Held in every end state: each batch exists exactly once with its count; and of each call: a push
// fails only if every slot was full at some moment of the call, a pop returns nothing only if every slot was empty at
// some moment of it.
//
// Three broken depots go through the same search, which must find each of them out: the search is able to fail.
#include "unit.h"

#include "explore.h"
#include "pool/depot.h"

enum { BATCHES_MAX = 16, OPS_MAX = 4, SLOTS = LIDO__DEPOT_SLOTS, ALL_SLOTS = (1 << SLOTS) - 1 };

typedef bool push_function(lido__depot *depot, void *batch, uint32_t count, unsigned start);
typedef void *pop_function(lido__depot *depot, uint32_t *count, unsigned start);

typedef struct thread_record {
    uint32_t batches;    // bit i: this thread has batch i in hand
    bool inside, bad_fail, bad_batch;
    uint32_t seen_full, seen_empty;    // slots that were so at some moment of the present call
} thread_record;

typedef struct shared_state {
    lido__depot depot;
    thread_record threads[EXPLORE_THREADS_MAX];
} shared_state;

// '<' pushes the lowest batch in hand, if there is one; '>' pops.
static struct {
    unsigned threads;
    const char *script[EXPLORE_THREADS_MAX];
    unsigned start[EXPLORE_THREADS_MAX];
    unsigned batches;
    push_function *push;
    pop_function *pop;
} setup;
static _Alignas(64) shared_state shared;
static _Alignas(16) char memory[BATCHES_MAX][16];    // the batches; only their addresses are used

static uint32_t count_of(unsigned batch) { return 1000 + batch; }

static void look(shared_state *s, thread_record *thread) {
    for (unsigned i = 0; i < SLOTS; i++) {
        uint64_t value = atomic_load_explicit(&s->depot.slots[i], memory_order_relaxed);
        *(value != 0 ? &thread->seen_full : &thread->seen_empty) |= 1u << i;
    }
}

static void enter(shared_state *s, thread_record *me) {
    me->inside = true;
    me->seen_full = me->seen_empty = 0;
    look(s, me);
}

static void push_one(shared_state *s, thread_record *me, unsigned start) {
    if (me->batches == 0) return;
    unsigned batch = (unsigned)__builtin_ctz(me->batches);
    enter(s, me);
    bool done = setup.push(&s->depot, memory[batch], count_of(batch), start);
    me->inside = false;
    if (done) me->batches &= ~(1u << batch);
    if (!done && me->seen_full != ALL_SLOTS) me->bad_fail = true;
}

static void pop_one(shared_state *s, thread_record *me, unsigned start) {
    uint32_t count = 0;
    enter(s, me);
    char *got = setup.pop(&s->depot, &count, start);
    me->inside = false;
    if (got == NULL) {
        if (me->seen_empty != ALL_SLOTS) me->bad_fail = true;
        return;
    }
    size_t batch = (size_t)(got - memory[0]) / sizeof memory[0];
    if (batch >= setup.batches || got != memory[batch] || count != count_of((unsigned)batch) ||
        (me->batches >> batch & 1) != 0) {
        me->bad_batch = true;
        return;
    }
    me->batches |= 1u << batch;
}

static void thread_main(unsigned id, void *data) {
    shared_state *s = data;
    for (const char *op = setup.script[id]; *op != '\0'; op++) {
        (*op == '<' ? push_one : pop_one)(s, &s->threads[id], setup.start[id]);
    }
}

static const char *after_step(void *data) {
    shared_state *s = data;
    for (unsigned i = 0; i < setup.threads; i++) {
        if (s->threads[i].bad_fail) return "a call gave up although it had not seen every slot full (empty)";
        if (s->threads[i].bad_batch) return "a batch came out changed, or twice to one thread";
        if (s->threads[i].inside) look(s, &s->threads[i]);
    }
    return NULL;
}

static const char *at_end(void *data) {
    shared_state *s = data;
    unsigned seen[BATCHES_MAX] = {0};
    for (unsigned i = 0; i < setup.threads; i++) {
        for (unsigned batch = 0; batch < setup.batches; batch++) seen[batch] += s->threads[i].batches >> batch & 1;
    }
    uint32_t count;
    for (char *got; (got = lido__depot_pop(&s->depot, &count, 0)) != NULL;) seen[(got - memory[0]) / 16]++;
    for (unsigned batch = 0; batch < setup.batches; batch++) {
        if (seen[batch] == 0) return "a batch is lost";
        if (seen[batch] > 1) return "a batch is there twice";
    }
    return NULL;
}

// Shares the batches out: `shelved` into the depot, `in_hand` to each thread.
static explore_result run_setup(unsigned shelved, unsigned in_hand) {
    memset(&shared, 0, sizeof shared);
    setup.batches = 0;
    for (unsigned i = 0; i < shelved; i++, setup.batches++) {
        uint64_t packed = (uint64_t)count_of(i) << LIDO__DEPOT_COUNT_SHIFT | (uintptr_t)memory[i];
        atomic_store_explicit(&shared.depot.slots[(i * 3) % SLOTS], packed, memory_order_relaxed);
    }
    for (unsigned i = 0; i < setup.threads; i++) {
        for (unsigned k = 0; k < in_hand; k++) shared.threads[i].batches |= 1u << setup.batches++;
    }
    const explore_scenario scenario = {
        .threads = setup.threads,
        .shared = &shared,
        .shared_bytes = sizeof shared,
        .thread = thread_main,
        .after_step = after_step,
        .at_end = at_end,
    };
    return explore(&scenario);
}

static bool real_push(lido__depot *depot, void *batch, uint32_t count, unsigned start) {
    return lido__depot_push(depot, batch, count, start);
}
static void *real_pop(lido__depot *depot, uint32_t *count, unsigned start) {
    return lido__depot_pop(depot, count, start);
}

static void expect_no_violation(unsigned shelved, unsigned in_hand) {
    explore_result r = run_setup(shelved, in_hand);
    print_message("%u threads, %u of %u slots full: %zu states, %zu steps, %zu ends\n", setup.threads, shelved, SLOTS,
                  r.states, r.steps, r.ends);
    if (r.violation != NULL) fail_msg("%s; schedule %s", r.violation, r.schedule);
    assert_true(r.ends > 0 && r.steps > r.states);
}

static void two_threads(void **state) {
    (void)state;
    static const char *const scripts[][2] = {
        {"<>", "><"}, {"<<", ">>"}, {"<><", "><>"}, {">>>", "<>>"}, {"<<<", "><<"}};
    static const unsigned shelved[] = {0, 1, 2, SLOTS - 1, SLOTS};
    setup.threads = 2, setup.push = real_push, setup.pop = real_pop;
    for (size_t i = 0; i < COUNT_OF(scripts); i++) {
        for (unsigned start = 0; start < 2; start++) {
            setup.script[0] = scripts[i][0], setup.script[1] = scripts[i][1];
            setup.start[0] = 0, setup.start[1] = start * 5;
            for (size_t k = 0; k < COUNT_OF(shelved); k++) expect_no_violation(shelved[k], 2);
        }
    }
}

static void three_threads(void **state) {
    (void)state;
    static const char *const scripts[][3] = {
        {"<", ">", ">"}, {"<", "<", ">"}, {"<>", "<", ">"}, {"><", "<>", "><"}, {"<><", ">>", "<>"}};
    static const unsigned shelved[] = {0, 1, SLOTS - 1, SLOTS};
    setup.threads = 3, setup.push = real_push, setup.pop = real_pop;
    for (size_t i = 0; i < COUNT_OF(scripts); i++) {
        for (unsigned t = 0; t < 3; t++) setup.script[t] = scripts[i][t], setup.start[t] = t * 7;
        for (size_t k = 0; k < COUNT_OF(shelved); k++) expect_no_violation(shelved[k], 1);
    }
}

// The broken ones. Each differs from the real code in one step.

static bool push_with_store(lido__depot *depot, void *batch, uint32_t count, unsigned start) {
    for (unsigned i = 0; i < SLOTS; i++) {
        _Atomic uint64_t *slot = &depot->slots[(start + i) % SLOTS];
        if (LIDO__ATOMIC_LOAD(slot, relaxed) != 0) continue;
        LIDO__ATOMIC_STORE(slot, (uint64_t)count << LIDO__DEPOT_COUNT_SHIFT | (uintptr_t)batch, release);
        return true;
    }
    return false;
}

static void *pop_with_load(lido__depot *depot, uint32_t *count, unsigned start) {
    for (unsigned i = 0; i < SLOTS; i++) {
        _Atomic uint64_t *slot = &depot->slots[(start + i) % SLOTS];
        uint64_t packed = LIDO__ATOMIC_LOAD(slot, acquire);
        if (packed == 0) continue;
        LIDO__ATOMIC_STORE(slot, (uint64_t)0, relaxed);
        *count = (uint32_t)(packed >> LIDO__DEPOT_COUNT_SHIFT);
        return (void *)(uintptr_t)(packed & ((UINT64_C(1) << LIDO__DEPOT_COUNT_SHIFT) - 1));
    }
    return NULL;
}

static bool push_that_gives_up(lido__depot *depot, void *batch, uint32_t count, unsigned start) {
    for (unsigned i = 0; i < SLOTS; i++) {
        _Atomic uint64_t *slot = &depot->slots[(start + i) % SLOTS];
        if (LIDO__ATOMIC_LOAD(slot, relaxed) != 0) continue;
        uint64_t empty = 0;
        return LIDO__ATOMIC_CAS(slot, &empty, (uint64_t)count << LIDO__DEPOT_COUNT_SHIFT | (uintptr_t)batch, release);
    }
    return false;
}

static void expect_violation(const char *first, const char *second, unsigned shelved, const char *text) {
    setup.threads = 2;
    setup.script[0] = first, setup.script[1] = second;
    setup.start[0] = setup.start[1] = 0;
    explore_result r = run_setup(shelved, 1);
    assert_non_null(r.violation);
    assert_string_equal(r.violation, text);
    assert_true(strspn(r.schedule, "01") == strlen(r.schedule) && strlen(r.schedule) >= 2);
}

static void broken_ones_are_found(void **state) {
    (void)state;
    setup.push = push_with_store, setup.pop = real_pop;
    expect_violation("<", "<", 0, "a batch is lost");
    setup.push = real_push, setup.pop = pop_with_load;
    expect_violation(">", ">", 1, "a batch is there twice");
    setup.push = push_that_gives_up, setup.pop = real_pop;
    expect_violation("<", "<", 0, "a call gave up although it had not seen every slot full (empty)");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_threads),
        cmocka_unit_test(three_threads),
        cmocka_unit_test(broken_ones_are_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
