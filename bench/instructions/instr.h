// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// The frame of the programs whose instructions script/check-instructions counts: CASE COUNT runs a case COUNT times and
// prints a checksum. The script runs each case with two counts, and the difference divided by the difference of the counts
// is the cost of one operation: start-up, warm-up and the frame itself drop out, the loop does not.
//
//   instr-pool    lido's pools, linked statically. Its loops are unrolled INSTR_UNROLL times; what the loop still adds
//                 is the case "loop", which the script subtracts
//   instr-malloc  malloc and free through the PLT, as an ordinary program calls them. malloc64-pair is unrolled likewise; the
//                 other cases include their loop (3 instructions)
//
// Both write no block and check no result: only the calls count.
#ifndef LIDO_INSTR_H
#define LIDO_INSTR_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { INSTR_UNROLL = 16, INSTR_COUNT_MAX = 100000000 };

typedef struct instr_case {
    const char *name, *help;
    uint64_t (*run)(uint64_t count);    // returns a checksum that depends on the work
} instr_case;

// The block is used: the compiler may neither drop nor reorder the call that made it.
#define INSTR_USE(p) __asm__ volatile("" : : "r"(p) : "memory")
// The compiler forgets what it knows of the pointer, which stays in its register.
#define INSTR_HIDE(p) __asm__ volatile("" : "+r"(p))

static inline int instr_main(int argc, char **argv, const instr_case *cases, int case_count) {
    if (argc == 2 && strcmp(argv[1], "--list") == 0) {
        for (int i = 0; i < case_count; i++) printf("%s\t%s\n", cases[i].name, cases[i].help);
        return 0;
    }
    char *end = NULL;
    uint64_t count = argc == 3 ? strtoull(argv[2], &end, 10) : 0;
    if (argc != 3 || *end != '\0' || count == 0 || count > INSTR_COUNT_MAX || count % INSTR_UNROLL != 0) {
        fprintf(stderr, "usage: %s --list | CASE COUNT, a multiple of %d\n", argv[0], (int)INSTR_UNROLL);
        return 2;
    }
    for (int i = 0; i < case_count; i++) {
        if (strcmp(cases[i].name, argv[1]) != 0) continue;
        printf("%llu\n", (unsigned long long)cases[i].run(count));
        return 0;
    }
    fprintf(stderr, "%s: no case '%s'; --list shows what there is\n", argv[0], argv[1]);
    return 2;
}

#endif
