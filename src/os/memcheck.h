// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// Requests to Valgrind's memcheck. Valgrind knows a request by a sequence of instructions that do nothing together, and answers
// through registers; outside of it the default answer stands. The numbers are part of its interface and do not change, so
// nothing of Valgrind is needed to build lido. tests/tools compares them with its headers where they are installed.
//
// Cost: a dozen instructions without Valgrind, thousands with it. Elsewhere than on x86-64 nobody is asked.
#ifndef LIDO_OS_MEMCHECK_H
#define LIDO_OS_MEMCHECK_H

#include <stdint.h>

enum {
    LIDO__MEMCHECK_POOL_NEW = 0x1303,    // a name for blocks, bytes between them (for red zones), whether they are zero
    LIDO__MEMCHECK_POOL_ALLOC = 0x1305,    // the pool's name, block, bytes
    LIDO__MEMCHECK_POOL_FREE = 0x1306,     // the pool's name, block
    // those of memcheck alone begin at "MC": other tools of Valgrind do not know them
    LIDO__MEMCHECK_NO_ACCESS = 'M' << 24 | 'C' << 16,    // start, bytes; the answer is not 0
    LIDO__MEMCHECK_UNDEFINED,
    LIDO__MEMCHECK_DEFINED,
};

static inline uintptr_t lido__memcheck_ask(uintptr_t request, const void *first, uintptr_t second, uintptr_t third) {
    uintptr_t answer = 0;
#if defined(__x86_64__) && defined(__LP64__)
    volatile uintptr_t question[6] = {request, (uintptr_t)first, second, third, 0, 0};
    __asm__ volatile(
        "rolq $3, %%rdi\n\trolq $13, %%rdi\n\trolq $61, %%rdi\n\trolq $51, %%rdi\n\t"    // by 128 bits in all
        "xchgq %%rbx, %%rbx"
        : "+d"(answer)
        : "a"(question)
        : "cc", "memory");
#else
    (void)request, (void)first, (void)second, (void)third;
#endif
    return answer;
}

#endif
