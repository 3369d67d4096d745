// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// Mallocs that `lido bench` must survive and name. One of these is defined:
//   BAD_GOOD     passes everything on to libc
//   BAD_CRASH    writes to address 0 at the 100,000th call
//   BAD_HANG     never returns from the 100,000th call
//   BAD_OVERLAP  gives the same block to everybody who asks for 56 bytes
//   BAD_SLOW     waits 200 ns in each free
//   BAD_SLOW20   waits about 20 ns in each free: 64 additions, one after another
//   BAD_SLEEP    sleeps 50 us in each free
//   BAD_ABSENT   defines no malloc at all
#include <stddef.h>
#include <stdint.h>
#include <time.h>

enum { FATAL_CALL = 100000, OVERLAP_SIZE = 56, SLOW_NS = 200, SLOW20_STEPS = 64, SLEEP_NS = 50000 };

#if defined(BAD_ABSENT)
int bad_malloc_defines_nothing;
#else
extern void *__libc_malloc(size_t size);
extern void __libc_free(void *p);

void *malloc(size_t size);
void free(void *p);

#if defined(BAD_CRASH) || defined(BAD_HANG)
static int calls;
#endif
#if defined(BAD_OVERLAP)
static _Alignas(16) unsigned char shared_block[64];
#endif

void *malloc(size_t size) {
#if defined(BAD_CRASH)
    if (++calls == FATAL_CALL) *(volatile int *)NULL = 1;
#elif defined(BAD_HANG)
    if (++calls == FATAL_CALL)
        for (;;) __asm__ volatile("");
#elif defined(BAD_OVERLAP)
    if (size == OVERLAP_SIZE) return shared_block;
#endif
    return __libc_malloc(size);
}

void free(void *p) {
#if defined(BAD_OVERLAP)
    if (p == shared_block) return;
#elif defined(BAD_SLOW)
    struct timespec from, now;
    clock_gettime(CLOCK_MONOTONIC, &from);
    do clock_gettime(CLOCK_MONOTONIC, &now);
    while ((now.tv_sec - from.tv_sec) * 1000000000 + now.tv_nsec - from.tv_nsec < SLOW_NS);
#elif defined(BAD_SLOW20)
    for (int step = 0; step < SLOW20_STEPS; step++) __asm__ volatile("" : "+r"(step));
#elif defined(BAD_SLEEP)
    struct timespec nap = {0, SLEEP_NS};
    nanosleep(&nap, NULL);
#endif
    __libc_free(p);
}
#endif
