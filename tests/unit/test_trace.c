// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// lido__unwind against the compiler's own unwinder (_Unwind_Backtrace), which reads the same tables in another way, in
// every situation that a call may come from; and on stacks that are damaged or none at all.
#include "support.h"
#include "test_trace_frames.h"

#include "os/os.h"
#include "trace/unwind.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>
#include <unwind.h>

enum { MOST = 512 };

typedef struct trail {
    size_t count;
    void *pcs[MOST];
} trail;

static _Unwind_Reason_Code note(struct _Unwind_Context *context, void *argument) {
    trail *t = (trail *)argument;
    int before = 0;    // the address is that of an instruction still to come: a signal came there
    uintptr_t pc = _Unwind_GetIPInfo(context, &before);
    if (pc == 0 || t->count == MOST) return _URC_END_OF_STACK;
    t->pcs[t->count++] = (void *)(pc + (before != 0));
    return _URC_NO_REASON;
}

static LIDO__NOINLINE void ask_oracle(trail *t) {
    t->count = 0;
    _Unwind_Backtrace(note, t);
    __asm__ volatile("" ::: "memory");
}

// The oracle starts in ask_oracle, then comes `compare`, which calls the two from different places.
static trail own, oracle;
static unsigned compared;
static LIDO__NOINLINE void compare(void) {
    ask_oracle(&oracle);
    errno = 12345;
    own.count = lido__unwind(own.pcs, MOST, 0);
    UNIT_CHECK(errno == 12345);
    UNIT_CHECK(own.count > 2 && own.count + 1 == oracle.count);
    UNIT_CHECK(memcmp(own.pcs + 1, oracle.pcs + 2, (own.count - 1) * sizeof(void *)) == 0);
    compared++;
}

static unsigned constructed;
__attribute__((constructor)) static void before_main(void) {
    compare();
    constructed = compared;
}

static void in_a_constructor(void **state) {
    (void)state;
    assert_int_equal(constructed, 1);
}

static void frames(void **state) {
    (void)state;
    unsigned before = compared;
    for (unsigned round = 0; round < 2; round++) {    // the second finds all rules in the table
        for (unsigned i = 0; i < FRAMES_KINDS; i++) {
            kept_frames[i].call(compare);
            bare_frames[i].call(compare);
        }
        for (unsigned i = 0; i < FRAMES_CXX_KINDS; i++) cxx_frames[i].call(compare);
    }
    assert_int_equal(compared - before, 2 * (2 * FRAMES_KINDS + FRAMES_CXX_KINDS));
}

static int by_value(const void *a, const void *b) {
    compare();
    return *(const int *)a - *(const int *)b;
}

static void callback_of_the_c_library(void **state) {
    (void)state;
    int values[] = {3, 1, 2};
    unsigned before = compared;
    qsort(values, 3, sizeof values[0], by_value);
    assert_true(compared > before && values[0] == 1);
}

static void *threads_body(void *argument) {
    compare();
    bare_frames[4].call(compare);
    return argument;
}

static void in_a_thread(void **state) {
    (void)state;
    pthread_t thread;
    unsigned before = compared;
    assert_int_equal(pthread_create(&thread, NULL, threads_body, NULL), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(compared - before, 2);
}

// --- one walk after another -----------------------------------------------------------------------------------------

// A walk takes from the last one what has not changed: so up, down and sideways, at random, through frames of every kind.
enum { WANDER_DEPTH = 24, WANDER_STEPS = 3000 };
static const uint8_t wander_kinds[] = {0, 1, 2, 3, 5, 6};    // but "deep"
static unsigned wander_depth, wander_steps;
static uint32_t wander_state;

static uint32_t wander_random(void) {
    wander_state = wander_state * 1664525u + 1013904223u;
    return wander_state >> 16;
}

static LIDO__NOINLINE void wander_here(void) {
    compare();
    __asm__ volatile("" ::: "memory");
}
static void wander(void);
static LIDO__NOINLINE void wander_by_another(void) {
    wander();
    __asm__ volatile("" ::: "memory");
}

static LIDO__NOINLINE void wander(void) {
    wander_depth++;
    while (wander_steps > 0 && wander_random() % 5 != 0) {
        wander_steps--;
        compare();
        unsigned turn = wander_random() % 8;
        if (turn == 0) wander_here();
        if (wander_depth >= WANDER_DEPTH) break;
        if (turn < 4) wander();
        if (turn == 4) wander_by_another();
        if (turn == 5) kept_frames[wander_kinds[wander_random() % 6]].call(wander);
        if (turn == 6) bare_frames[wander_kinds[wander_random() % 6]].call(wander);
    }
    wander_depth--;
}

static void walk_after_walk(void **state) {
    (void)state;
    unsigned before = compared;
    for (wander_state = 0; wander_state < 10; wander_state++) {
        uint32_t seed = wander_state;
        wander_steps = WANDER_STEPS;
        while (wander_steps > 0) wander();
        wander_state = seed;
    }
    assert_true(compared - before >= 10 * WANDER_STEPS);
}

// --- skip and max ---------------------------------------------------------------------------------------------------

static void skip_and_max(void **state) {
    (void)state;
    void *all[64], *some[64], *none[1] = {&own};
    size_t count = lido__unwind(all, 64, 0);
    assert_true(count > 3);
    assert_int_equal(lido__unwind(some, 64, 2), count - 2);
    assert_memory_equal(some, all + 2, (count - 2) * sizeof(void *));
    assert_int_equal(lido__unwind(some, 3, 1), 3);
    assert_memory_equal(some, all + 1, 3 * sizeof(void *));
    assert_int_equal(lido__unwind(some, 64, (unsigned)count), 0);
    assert_int_equal(lido__unwind(some, 64, 1000), 0);
    assert_int_equal(lido__unwind(none, 0, 0), 0);
    assert_ptr_equal(none[0], &own);
}

// --- signals --------------------------------------------------------------------------------------------------------

static trail from_context;
static void on_signal(int number, siginfo_t *info, void *context) {
    (void)number;
    (void)info;
    compare();
    from_context.count = lido__unwind_from(from_context.pcs, MOST, context);
}

static void handle(int number, int flags) {
    struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | flags};
    assert_int_equal(sigaction(number, &action, NULL), 0);
}

// What the handler saw below itself is what the context leads to.
static void assert_same_below(void) {
    assert_true(from_context.count > 3 && from_context.count < own.count);
    assert_memory_equal(from_context.pcs, own.pcs + own.count - from_context.count,
                        from_context.count * sizeof(void *));
}

static void through_a_signal_handler(void **state) {
    (void)state;
    unsigned before = compared;
    handle(SIGUSR1, 0);
    assert_int_equal(raise(SIGUSR1), 0);
    assert_int_equal(compared - before, 1);
    assert_same_below();
}

static void through_a_handler_on_its_own_stack(void **state) {
    (void)state;
    unsigned before = compared;
    size_t bytes = 256 << 10;
    stack_t other = {.ss_sp = lido__os_map(bytes), .ss_size = bytes}, old;
    assert_int_equal(sigaltstack(&other, &old), 0);
    handle(SIGUSR2, SA_ONSTACK);
    for (int i = 0; i < 3; i++) assert_int_equal(raise(SIGUSR2), 0);
    assert_int_equal(compared - before, 3);
    assert_same_below();
    assert_int_equal(sigaltstack(&old, NULL), 0);
    lido__os_release(other.ss_sp, bytes);
    compare();
}

// A fault at a known instruction: the first address is that instruction's, plus one.
static char *volatile closed;
static uintptr_t fault_at;
static LIDO__NOINLINE void touch_closed(void) { *closed = 1; }

static void on_fault(int number, siginfo_t *info, void *context) {
    (void)number;
    (void)info;
    from_context.count = lido__unwind_from(from_context.pcs, MOST, context);
    fault_at = (uintptr_t)from_context.pcs[0] - 1;
    lido__os_commit(closed, lido__os_page_bytes());
}

static void a_fault(void **state) {
    (void)state;
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO}, old;
    closed = lido__os_reserve(lido__os_page_bytes(), lido__os_page_bytes());
    assert_non_null(closed);
    assert_int_equal(sigaction(SIGSEGV, &action, &old), 0);
    void *here[MOST];
    size_t count = lido__unwind(here, MOST, 0);
    touch_closed();
    assert_int_equal(sigaction(SIGSEGV, &old, NULL), 0);
    assert_true(fault_at - (uintptr_t)&touch_closed < 256);
    // touch_closed, this function at another place, and then the same callers
    assert_int_equal(from_context.count, count + 1);
    assert_memory_equal(from_context.pcs + 2, here + 1, (count - 1) * sizeof(void *));
    lido__os_release(closed, lido__os_page_bytes());
}

// --- children -------------------------------------------------------------------------------------------------------

static void compare_in_child(void *argument) {
    (void)argument;
    compare();
}

static void in_a_forked_child(void **state) {
    (void)state;
    unit_child child = unit_fork(compare_in_child, NULL);
    unit_assert_done(&child);
}

static void in_a_vforked_child(void **state) {
    (void)state;
    volatile size_t count = 0;
    int status;
    pid_t pid = vfork();
    if (pid == 0) {
        void *pcs[64];
        count = lido__unwind(pcs, 64, 0);
        _exit(count > 3 ? 0 : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    compare();
}

// --- damaged stacks -------------------------------------------------------------------------------------------------

typedef struct ruin {
    char *stack;    // with closed pages on both sides
    size_t bytes;
    uint64_t random;
} ruin;

// Something that is found on stacks: code of this program and of libc, places on the stack, small numbers, anything.
static uintptr_t some_word(ruin *r) {
    static const frames_kind *const kinds[] = {kept_frames, bare_frames};
    uint64_t x = unit_random(&r->random);
    switch (x % 8) {
        case 0: return (uintptr_t)kinds[x >> 8 & 1][(x >> 16) % FRAMES_KINDS].call + (x >> 32) % 200;
        case 1: return (uintptr_t)&qsort + (x >> 32) % 4096;
        case 2:
        case 3:
        case 4: return (uintptr_t)r->stack + ((x >> 32) % r->bytes & ~(uintptr_t)7);
        case 5: return (uintptr_t)r->stack + (x >> 32) % (2 * r->bytes);
        case 6: return (uintptr_t)own.pcs[(x >> 32) % own.count];
        default: return (uintptr_t)unit_random(&r->random);
    }
}

#if defined(__x86_64__)
static void set_registers(ucontext_t *context, uintptr_t pc, uintptr_t sp, uintptr_t bp) {
    context->uc_mcontext.gregs[REG_RIP] = (greg_t)pc;
    context->uc_mcontext.gregs[REG_RSP] = (greg_t)sp;
    context->uc_mcontext.gregs[REG_RBP] = (greg_t)bp;
}
#else
static void set_registers(ucontext_t *context, uintptr_t pc, uintptr_t sp, uintptr_t bp) {
    context->uc_mcontext.pc = pc;
    context->uc_mcontext.sp = sp;
    context->uc_mcontext.regs[29] = bp;
}
#endif

static void walk_ruins(void *argument) {
    ruin *r = (ruin *)argument;
    static ucontext_t context;
    void *pcs[32];
    unsigned far = 0;
    compare();    // fills own.pcs with addresses that are good
    for (int i = 0; i < 20000; i++) {
        if (i % 16 == 0)
            for (size_t at = 0; at < r->bytes; at += 8) *(uintptr_t *)(void *)(r->stack + at) = some_word(r);
        uintptr_t pc = some_word(r), sp = some_word(r), bp = some_word(r);
        if (i % 2 == 0) {    // the first step at least is a likely one
            pc = (uintptr_t)own.pcs[unit_random(&r->random) % own.count] - 1;
            sp = (uintptr_t)r->stack + (unit_random(&r->random) % r->bytes & ~(uintptr_t)7);
        }
        set_registers(&context, pc, sp, bp);
        size_t count = lido__unwind_from(pcs, COUNT_OF(pcs), &context);
        UNIT_CHECK(count <= COUNT_OF(pcs));
        far += count > 3;
    }
    UNIT_CHECK(far > 20);    // not all are turned away at once: 76 in an AddressSanitizer build, 500 in a release
}

static void damaged_stacks(void **state) {
    (void)state;
    size_t page = lido__os_page_bytes(), bytes = 2 * page;
    char *area = lido__os_reserve(bytes + 2 * page, page);
    assert_true(area != NULL && lido__os_commit(area + page, bytes));
    ruin r = {area + page, bytes, unit_seed("damaged_stacks", 7)};
    unit_child child = unit_fork(walk_ruins, &r);
    unit_assert_done(&child);
    lido__os_release(area, bytes + 2 * page);
}

// --- coroutines --------------------------------------------------------------------------------------------------------

static ucontext_t main_context, coroutine_context;
static struct {
    int depth;          // of calls before the walk
    int walks;          // at their end
    uintptr_t sp[2];    // of the last two calls
} dive;

static LIDO__NOINLINE void dive_in(int left) {
    dive.sp[1] = dive.sp[0];
    dive.sp[0] = (uintptr_t)__builtin_frame_address(0);
    if (left > 0) {
        dive_in(left - 1);
    } else {
        for (int i = 0; i < dive.walks; i++) UNIT_CHECK(lido__unwind((void *[64]){NULL}, 64, 0) > 2);
    }
    __asm__ volatile("" ::: "memory");
}
static void coroutine(void) { dive_in(dive.depth); }

static void run_on(char *stack, size_t bytes, int depth) {
    UNIT_CHECK(getcontext(&coroutine_context) == 0);
    coroutine_context.uc_stack.ss_sp = stack;
    coroutine_context.uc_stack.ss_size = bytes;
    coroutine_context.uc_link = &main_context;
    dive.depth = depth;
    makecontext(&coroutine_context, coroutine, 0);
    UNIT_CHECK(swapcontext(&main_context, &coroutine_context) == 0);
}

// Two coroutines, one after the other on stacks at the same address, the second one smaller. Its inner calls look as those of the
// first at the same places; above them there is nothing any more.
static void dive_on_two(void *argument) {
    (void)argument;
    enum { BIG = 64, CALLS = 8 };
    size_t page = lido__os_page_bytes();
    char *stack = lido__os_map(BIG * page);
    UNIT_CHECK(stack != NULL);
    dive.walks = 1;
    run_on(stack, BIG * page, 3);
    size_t call = dive.sp[1] - dive.sp[0], less = (4 * page + call - 1) / call;    // so many calls are four pages or more
    for (int calls = 1; calls <= CALLS; calls++) {
        run_on(stack, BIG * page, (int)less + calls);
        size_t small = BIG * page - less * call, kept = (small + page - 1) / page * page;
        lido__os_release(stack + kept, BIG * page - kept);
        run_on(stack, small, calls);
        lido__os_release(stack, kept);
        char *again = lido__os_map(BIG * page);
        UNIT_CHECK(again != NULL);
        stack = again;
    }
}

static void coroutines_that_end(void **state) {
    (void)state;
    unit_child child = unit_fork(dive_on_two, NULL);
    unit_assert_done(&child);
}

static void no_stack_at_all(void **state) {
    (void)state;
    static const uintptr_t nowhere[] = {
        0, 8, 4096, UINTPTR_MAX, UINTPTR_MAX - 7, (uintptr_t)1 << 47, 0xDEADBEEF0000BEE8};
    static ucontext_t context;
    void *pcs[32];
    for (unsigned i = 0; i < COUNT_OF(nowhere); i++) {
        set_registers(&context, (uintptr_t)&qsort, nowhere[i], nowhere[i]);
        assert_int_equal(lido__unwind_from(pcs, COUNT_OF(pcs), &context), 1);
        assert_ptr_equal(pcs[0], (char *)(uintptr_t)&qsort + 1);
        set_registers(&context, nowhere[i], (uintptr_t)&context, (uintptr_t)&context);
        assert_true(lido__unwind_from(pcs, COUNT_OF(pcs), &context) <= 1);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(in_a_constructor),
        cmocka_unit_test(frames),
        cmocka_unit_test(callback_of_the_c_library),
        cmocka_unit_test(in_a_thread),
        cmocka_unit_test(walk_after_walk),
        cmocka_unit_test(skip_and_max),
        cmocka_unit_test(through_a_signal_handler),
        cmocka_unit_test(through_a_handler_on_its_own_stack),
        cmocka_unit_test(a_fault),
        cmocka_unit_test(in_a_forked_child),
        cmocka_unit_test(in_a_vforked_child),
        cmocka_unit_test(damaged_stacks),
        cmocka_unit_test(coroutines_that_end),
        cmocka_unit_test(no_stack_at_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
