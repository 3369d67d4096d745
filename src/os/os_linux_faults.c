// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// Signals of bad accesses, for whoever can tell what an address was. What is not ours goes to the handler that was there
// before; if that was the system's own, the instruction faults again and ends the program as it would have.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "os/os.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <ucontext.h>

static bool (*tell)(void *address, bool write, const void *context);    // written once, before the handlers
static struct sigaction before_segv, before_bus;                        // likewise

// Bit 1 of a page fault's error code: the access was a write (Intel SDM 3A, 4.7).
static bool is_write(const void *context) {
#if defined(__x86_64__)
    return (((const ucontext_t *)context)->uc_mcontext.gregs[REG_ERR] & 2) != 0;
#else
    (void)context;
    return true;
#endif
}

static void hand_on(int number, siginfo_t *info, void *context) {
    const struct sigaction *before = number == SIGSEGV ? &before_segv : &before_bus;
    if ((before->sa_flags & SA_SIGINFO) != 0) {
        before->sa_sigaction(number, info, context);
    } else if (before->sa_handler == SIG_DFL || before->sa_handler == SIG_IGN) {
        sigaction(number, before, NULL);    // comes again, and ends the program
    } else {
        before->sa_handler(number);
    }
}

static void handle(int number, siginfo_t *info, void *context) {
    int saved = errno;
    bool sent = info->si_code <= 0;    // by kill and the like: there is no address
    if (sent || !tell(info->si_addr, is_write(context), context)) hand_on(number, info, context);
    errno = saved;
}

void lido__os_watch_faults(bool (*call)(void *address, bool write, const void *context)) {
    struct sigaction action;
    int saved = errno;
    tell = call;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = handle;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;    // a report may fault itself, and must then end
    sigemptyset(&action.sa_mask);
    sigaction(SIGSEGV, &action, &before_segv);
    sigaction(SIGBUS, &action, &before_bus);
    errno = saved;
}
