// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// Global new and delete by linking: no line of the program names lido; the link with liblido-malloc makes the difference.
//
// Prints:
//     1000 strings of new: in lido's memory
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include <lido/heap.h>    // only to ask afterwards

int main() {
    std::size_t before = lido_process_stats().live_bytes;
    std::vector<std::unique_ptr<std::string>> strings;
    for (int i = 0; i < 1000; i++) strings.push_back(std::make_unique<std::string>(100, 'x'));
    std::size_t grown = lido_process_stats().live_bytes - before;
    std::printf("%zu strings of new: in %s memory\n", strings.size(), grown >= 100 * 1000 ? "lido's" : "another");
}
