// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// A pool over your own buffer: header only, no system call, no library to link, no header a block.
//
// Prints:
//     4 of 4 blocks in 96 bytes
//     the fifth: none
//     the freed block came back: yes; an address on the stack is a block: no
#include <lido/fixed.h>
#include <stdio.h>

struct timer {
    unsigned long due;
    void (*call)(void *);
    void *argument;
};

LIDO_FIXED_BUFFER(storage, 4, sizeof(struct timer), 0);

int main(void) {
    lido_fixed timers;
    if (!lido_fixed_init(&timers, storage, sizeof storage, sizeof(struct timer), 0)) return 1;
    struct timer *taken[4];
    for (int i = 0; i < 4; i++) taken[i] = (struct timer *)lido_fixed_alloc(&timers);
    printf("%zu of %zu blocks in %zu bytes\n", lido_fixed_live(&timers), lido_fixed_capacity(&timers), sizeof storage);
    printf("the fifth: %s\n", lido_fixed_alloc(&timers) == NULL ? "none" : "a block");
    lido_fixed_free(&timers, taken[2]);
    int again = lido_fixed_alloc(&timers) == taken[2], stack = 0;
    printf("the freed block came back: %s; an address on the stack is a block: %s\n", again ? "yes" : "no",
           lido_fixed_owns(&timers, &stack) ? "yes" : "no");
    lido_fixed_reset(&timers);    // all four at once
    return lido_fixed_live(&timers) == 0 ? 0 : 1;
}
