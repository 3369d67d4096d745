// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// std::pmr: containers that take their memory from a heap of their own, which goes at once, and from an arena.
//
// Prints:
//     4950 characters
#include <lido/lido.hpp>

#include <cstdio>
#if LIDO_CXX_HAS_PMR
#include <list>
#include <string>
#include <vector>

int main() {
    lido::heap_resource heap;    // ends after the containers
    std::pmr::list<std::pmr::string> lines(&heap);
    for (int i = 0; i < 100; i++) lines.emplace_back(static_cast<std::size_t>(i), '-');

    lido_arena *arena = lido_arena_new(nullptr);
    if (arena == nullptr) return 1;
    std::size_t total = 0;
    {
        lido::arena_resource scratch(arena);
        std::pmr::vector<std::size_t> lengths(&scratch);
        for (auto &line : lines) lengths.push_back(line.size());
        for (std::size_t length : lengths) total += length;
    }
    lido_arena_free(arena);
    std::printf("%zu characters\n", total);
    return total == 99 * 100 / 2 ? 0 : 1;
}
#else
int main() { std::puts("the standard library has no <memory_resource>"); }
#endif
