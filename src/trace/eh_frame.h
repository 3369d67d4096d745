// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// How to leave a function at one instruction, read from the .eh_frame of its module (x86-64). The caller's frame starts
// at the CFA; its return address lies at CFA - 8, and its rsp is the CFA.
#ifndef LIDO_TRACE_EH_FRAME_H
#define LIDO_TRACE_EH_FRAME_H

#include "base/base.h"

typedef enum lido__leave {
    LIDO__LEAVE_UNKNOWN,    // no table, or one that says something rare
    LIDO__LEAVE_END,        // there is no caller
    LIDO__LEAVE_RSP,        // CFA = rsp + cfa
    LIDO__LEAVE_RBP,        // CFA = rbp + cfa
    LIDO__LEAVE_DEREF,      // CFA = *(rbp + cfa), and the caller's rbp is *rbp: functions that realign their stack
    LIDO__LEAVE_SIGNAL,     // the return from a signal handler: rsp points to the ucontext_t
} lido__leave;

typedef struct lido__rule {
    lido__leave leave;
    int64_t cfa;          // bytes
    int64_t saved_rbp;    // the caller's rbp is *(CFA - saved_rbp); 0: it is rbp
} lido__rule;

// Requires: address lies in an instruction, not behind it. Fails: LIDO__LEAVE_UNKNOWN. Cost: 50 to 70 ns, tables in the cache.
LIDO__HIDDEN lido__rule lido__eh_frame_rule(uintptr_t address);

#endif
