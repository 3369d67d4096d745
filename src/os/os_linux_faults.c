// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// Signals of bad accesses, for whoever can tell what an address was. What is not ours goes to the handler that was there
// before, and so do signals that were only sent. A handler that the program sets later takes the place of this one.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "os/os.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <ucontext.h>

static bool (*tell)(void *address, bool write, const void *context);    // written once, before the handlers
static struct sigaction before_segv, before_bus;                        // likewise; reset if they asked for one call

// Bit 1 of a page fault's error code: the access was a write (Intel SDM 3A, 4.7).
static bool is_write(const void *context) {
#if defined(__x86_64__)
    return (((const ucontext_t *)context)->uc_mcontext.gregs[REG_ERR] & 2) != 0;
#else
    (void)context;
    return true;
#endif
}

static bool is_of_system(const struct sigaction *action) {
    return (action->sa_flags & SA_SIGINFO) == 0 && (action->sa_handler == SIG_DFL || action->sa_handler == SIG_IGN);
}

// A fault comes again when its instruction runs again, and ends the program even if it is ignored. A signal that was sent does not.
static void hand_to_system(const struct sigaction *before, int number, bool sent) {
    if (sent && before->sa_handler == SIG_IGN) return;
    sigaction(number, before, NULL);
    if (sent) raise(number);
}

// As the system would have called it: with its mask, and once if it asked for that.
static void hand_to_handler(struct sigaction *before, int number, siginfo_t *info, void *context) {
    struct sigaction action = *before;
    sigset_t blocked = action.sa_mask, mask;
    if ((action.sa_flags & SA_NODEFER) == 0) sigaddset(&blocked, number);
    if ((action.sa_flags & (int)SA_RESETHAND) != 0) *before = (struct sigaction){.sa_handler = SIG_DFL};
    pthread_sigmask(SIG_BLOCK, &blocked, &mask);
    if ((action.sa_flags & SA_SIGINFO) != 0) {
        action.sa_sigaction(number, info, context);
    } else {
        action.sa_handler(number);
    }
    pthread_sigmask(SIG_SETMASK, &mask, NULL);
}

static void handle(int number, siginfo_t *info, void *context) {
    int saved = errno;
    bool sent = info->si_code <= 0;    // by kill and the like: there is no address
    if (sent || !tell(info->si_addr, is_write(context), context)) {
        struct sigaction *before = number == SIGSEGV ? &before_segv : &before_bus;
        if (is_of_system(before)) {
            hand_to_system(before, number, sent);
        } else {
            hand_to_handler(before, number, info, context);
        }
    }
    errno = saved;
}

static void watch(int number, struct sigaction *before) {
    struct sigaction action;
    sigaction(number, NULL, before);
    memset(&action, 0, sizeof action);
    action.sa_sigaction = handle;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;    // a report may fault itself, and must then end
    if (is_of_system(before) || (before->sa_flags & SA_RESTART) != 0) action.sa_flags |= SA_RESTART;
    sigemptyset(&action.sa_mask);
    sigaction(number, &action, NULL);
}

void lido__os_watch_faults(bool (*call)(void *address, bool write, const void *context)) {
    int saved = errno;
    tell = call;
    watch(SIGSEGV, &before_segv);
    watch(SIGBUS, &before_bus);
    errno = saved;
}
