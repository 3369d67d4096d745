// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// libFuzzer target: the operation sequences of tests/stress against their shadow model. Any input is a program.
#include "ops.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    static ops_machine machine;
    ops_init(&machine);
    // Large blocks cost most of the time and are few of the paths: one program in sixteen may use them freely.
    if (bytes == 0 || data[bytes - 1] % 16 != 0) machine.live_bytes_most = 4 << 20;
    ops_run(&machine, data, bytes);
    ops_finish(&machine);
    return 0;
}
