// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// See test_trace_frames.h. FRAMES is the prefix of this compilation.
#include "test_trace_frames.h"

#include <alloca.h>
#include <stdlib.h>
#include <string.h>

#define PASTE(a, b) a##b
#define JOIN(a, b) PASTE(a, b)
#define FUNCTION static __attribute__((noinline)) void
// Behind a call, so that it is none in tail position.
#define STAY() __asm__ volatile("" ::: "memory")

static volatile int five = 5;

FUNCTION plain(frames_visit visit) {
    visit();
    STAY();
}

FUNCTION variable_length(frames_visit visit) {
    char bytes[100 * five];
    memset(bytes, 1, sizeof bytes);
    __asm__ volatile("" ::"r"(bytes) : "memory");
    visit();
    STAY();
}

FUNCTION alloca_in_loop(frames_visit visit) {
    for (int i = 0; i < five; i++) {
        char *p = alloca((size_t)(16 * (i + five)));
        memset(p, i, 16);
        __asm__ volatile("" ::"r"(p) : "memory");
    }
    visit();
    STAY();
}

FUNCTION large(frames_visit visit) {
    volatile char bytes[200000];
    bytes[0] = bytes[sizeof bytes - 1] = 1;
    visit();
    STAY();
}

// An alignment above the stack's own, and a variable size: two registers for one frame.
FUNCTION realigned(frames_visit visit) {
    _Alignas(128) volatile char bytes[256];
    char more[10 * five];
    memset(more, 1, sizeof more);
    bytes[0] = more[9];
    __asm__ volatile("" ::"r"(more), "r"(bytes) : "memory");
    visit();
    STAY();
}

// Takes most registers, and arguments on the stack.
static __attribute__((noinline)) long many(frames_visit visit, long a, long b, long c, long d, long e, long f, long g,
                                           long h) {
    visit();
    STAY();
    return a * b + c * d + e * f + g * h;
}

FUNCTION many_arguments(frames_visit visit) {
    volatile long sum = many(visit, five, 2, 3, 4, 5, 6, 7, 8);
    (void)sum;
}

FUNCTION deep_below(frames_visit visit, int depth) {
    if (depth > 0) {
        deep_below(visit, depth - 1);
    } else {
        visit();
    }
    STAY();
}

FUNCTION deep(frames_visit visit) {
    deep_below(visit, 40 * five);
    STAY();
}

const frames_kind JOIN(FRAMES, _frames)[FRAMES_KINDS] = {
    {"plain", plain},
    {"variable length", variable_length},
    {"alloca", alloca_in_loop},
    {"large", large},
    {"deep", deep},
    {"realigned", realigned},
    {"many arguments", many_arguments},
};
