// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// Instructions of the malloc of the process, loop and PLT included. Compiled with -fno-builtin-malloc and the like.
#include "instr.h"

static uint64_t malloc64_pair(uint64_t count) {
    for (uint64_t i = 0; i < count; i += INSTR_UNROLL) {
#pragma GCC unroll 16
        for (int k = 0; k < INSTR_UNROLL; k++) {
            void *block = malloc(64);
            INSTR_USE(block);
            free(block);
        }
    }
    return 0;
}

static uint64_t calloc256_pair(uint64_t count) {
    uint64_t sum = 0;
    for (uint64_t i = 0; i < count; i++) {
        unsigned char *block = (unsigned char *)calloc(1, 256);
        INSTR_USE(block);
        sum += block[255];
        free(block);
    }
    return sum;    // 0, or calloc did not clear
}

// The oldest of 256 blocks is freed and one is made.
static uint64_t steady56(uint64_t count) {
    enum { LIVE = 256 };
    static void *live[LIVE];
    for (int i = 0; i < LIVE; i++) live[i] = malloc(56);
    for (uint64_t i = 0; i < count; i++) {
        void **at = &live[i % LIVE];
        free(*at);
        *at = malloc(56);
        INSTR_USE(*at);
    }
    for (int i = 0; i < LIVE; i++) free(live[i]);
    return 0;
}

static const instr_case cases[] = {
    {"malloc64-pair", "malloc(64) and free", malloc64_pair},
    {"steady56", "256 blocks of 56 bytes alive: free the oldest, malloc one", steady56},
    {"calloc256-pair", "calloc(1, 256) and free", calloc256_pair},
};

int main(int argc, char **argv) { return instr_main(argc, argv, cases, (int)(sizeof cases / sizeof cases[0])); }
