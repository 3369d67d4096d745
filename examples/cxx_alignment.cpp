// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// Alignment comes from the type: for a cache line of its own, a SIMD member, a page.
//
// Prints:
//     Counter aligned to 64, Vector to 32, Page to 4096
#include <lido/lido.hpp>

#include <cstdint>
#include <cstdio>

struct alignas(64) Counter {
    long value = 0;
};
struct Vector {
    alignas(32) float lanes[8] = {};
};
struct alignas(4096) Page {
    unsigned char bytes[4096];
};

// The largest power of two, up to 4096, that divides the address of every one of 100 objects.
template <class T>
static std::size_t alignment_of_all() {
    lido::object_pool<T> pool;
    std::uintptr_t bits = 4096;
    for (int i = 0; i < 100; i++) bits |= reinterpret_cast<std::uintptr_t>(pool.make());
    return bits & (~bits + 1);
}

int main() {
    bool good =
        alignment_of_all<Counter>() >= 64 && alignment_of_all<Vector>() >= 32 && alignment_of_all<Page>() >= 4096;
    std::printf("Counter aligned to %d, Vector to %d, Page to %d\n", good ? 64 : 0, good ? 32 : 0, good ? 4096 : 0);
}
