// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// A program without a dynamic linker, which therefore ignores LD_PRELOAD.
#include <stdio.h>

int main(void) {
    puts("static");
    return 0;
}
