// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// Signals of bad accesses that are none of lido's: whoever was there before gets them as if lido were not there. Each in a child,
// as handlers are set once a process.
#include "support.h"

#include "os/os.h"

#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile sig_atomic_t calls, mask_was_right, had_address;
static sigjmp_buf again;

static bool deny(void *address, bool write, const void *context) {
    (void)address, (void)write, (void)context;
    return false;
}

static void set_action(int flags, void (*simple)(int), void (*full)(int, siginfo_t *, void *)) {
    struct sigaction action = {.sa_flags = flags};
    if (simple != NULL) action.sa_handler = simple;
    if (full != NULL) action.sa_sigaction = full;
    sigemptyset(&action.sa_mask);
    sigaddset(&action.sa_mask, SIGUSR1);
    UNIT_CHECK(sigaction(SIGSEGV, &action, NULL) == 0);
    lido__os_watch_faults(deny);
}

static void look_at_mask(bool own_is_blocked) {
    sigset_t mask;
    sigprocmask(SIG_BLOCK, NULL, &mask);
    mask_was_right = sigismember(&mask, SIGUSR1) && sigismember(&mask, SIGSEGV) == own_is_blocked;
    calls++;
}
static void simple_handler(int number) {
    if (number == SIGSEGV) look_at_mask(true);
}
static void nodefer_handler(int number) {
    if (number == SIGSEGV) look_at_mask(false);
}
static void full_handler(int number, siginfo_t *info, void *context) {
    look_at_mask(true);
    had_address = number == SIGSEGV && context != NULL && info->si_addr == (void *)16;
    siglongjmp(again, 1);
}

static void fault(void) {
    volatile char *nowhere = (volatile char *)(uintptr_t)16;
    __asm__ volatile("" : "+r"(nowhere));
    *nowhere = 1;
}

static void sent_and_ignored(void *unused) {
    (void)unused;
    set_action(0, SIG_IGN, NULL);
    raise(SIGSEGV);
    raise(SIGSEGV);    // and still is
}
static void sent_and_default(void *unused) {
    (void)unused;
    set_action(0, SIG_DFL, NULL);
    raise(SIGSEGV);
}
static void fault_and_ignored(void *unused) {
    (void)unused;
    set_action(0, SIG_IGN, NULL);
    fault();
}
static void fault_and_default(void *unused) {
    (void)unused;
    set_action(0, SIG_DFL, NULL);
    fault();
}
static void sent_to_handler(void *unused) {
    (void)unused;
    set_action(0, simple_handler, NULL);
    for (int i = 1; i <= 3; i++) {
        raise(SIGSEGV);
        UNIT_CHECK(calls == i && mask_was_right);
    }
    sigset_t mask;
    sigprocmask(SIG_BLOCK, NULL, &mask);
    UNIT_CHECK(!sigismember(&mask, SIGUSR1) && !sigismember(&mask, SIGSEGV));
}
static void sent_to_handler_that_may_nest(void *unused) {
    (void)unused;
    set_action(SA_NODEFER, nodefer_handler, NULL);
    raise(SIGSEGV);
    UNIT_CHECK(calls == 1 && mask_was_right);
}
static void fault_to_handler_that_jumps(void *unused) {
    (void)unused;
    set_action(SA_SIGINFO, NULL, full_handler);
    for (volatile int i = 1; i <= 3; i++) {
        if (sigsetjmp(again, 1) == 0) fault();
        UNIT_CHECK(calls == i && mask_was_right && had_address);
    }
}
static void once_and_then_default(void *unused) {
    (void)unused;
    set_action((int)SA_RESETHAND, simple_handler, NULL);
    raise(SIGSEGV);
    UNIT_CHECK(calls == 1 && mask_was_right);
    raise(SIGSEGV);
}

static void signals_reach_whom_they_would(void **state) {
    (void)state;
    static const struct {
        void (*body)(void *);
        int killed_by;    // 0: comes to its end
    } cases[] = {
        {sent_and_ignored, 0},
        {sent_and_default, SIGSEGV},
        {fault_and_ignored, SIGSEGV},
        {fault_and_default, SIGSEGV},
        {sent_to_handler, 0},
        {sent_to_handler_that_may_nest, 0},
        {fault_to_handler_that_jumps, 0},
        {once_and_then_default, SIGSEGV},
    };
    struct rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        alarm(20);    // a fault that comes again and again is a failure too
        unit_child child = unit_fork(cases[i].body, NULL);
        if (cases[i].killed_by == 0) {
            unit_assert_done(&child);
        } else if (!WIFSIGNALED(child.status) || WTERMSIG(child.status) != cases[i].killed_by) {
            fail_msg("case %zu: status %#x, %s", i, (unsigned)child.status, child.text);
        }
    }
}

int main(void) {
    if (UNIT_SANITIZED) {
        fprintf(stderr, "the sanitizers take these signals for themselves\n");
        return 77;
    }
    const struct CMUnitTest tests[] = {cmocka_unit_test(signals_reach_whom_they_would)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
