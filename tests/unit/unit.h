// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// cmocka, with the headers that it wants to see first.
#ifndef LIDO_TESTS_UNIT_H
#define LIDO_TESTS_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

// A small generator with a known seed: a failing run repeats.
static inline uint64_t unit_random(uint64_t *state) {
    uint64_t x = *state += UINT64_C(0x9E3779B97F4A7C15);
    x = (x ^ (x >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94D049BB133111EB);
    return x ^ (x >> 31);
}

#endif
