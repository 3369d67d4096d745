// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// Side by side: contenders for one row do the same work in one process, in turns. A row is a workload; a contender is a
// way to get the memory for it; `threads` says whether others could free what it gave, as that has a price.
//
//      row     contender A | contender B | ...      each opened once, each a class of its own, so that what can be inlined is
//      round   B A C | C A B | ...                  shuffled anew; before each measured pass a tenth of one, unmeasured
//
// All contenders of a row return the same checksum of the contents they read, or the program ends with 1.
#ifndef LIDO_BENCH_SIDEBYSIDE_HPP
#define LIDO_BENCH_SIDEBYSIDE_HPP

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace side {

// The object at p and all that it leads to may be read and written here, for all the compiler knows.
inline void escape(const void *p) { __asm__ volatile("" : : "r"(p) : "memory"); }

struct contest {
    virtual ~contest() = default;
    // Does `count` operations, and returns the checksum.
    virtual std::uint64_t pass(std::uint64_t count) = 0;
};

enum class owner {
    lido,
    peer,
    yardstick
};    // a yardstick is no allocator that one could use, but the least work there is
enum class threads { one, any };

struct contender {
    std::string name;
    owner whose;
    threads safe_for;
    std::function<std::unique_ptr<contest>()> open;
};

struct row {
    std::string name, help;
    std::uint64_t count;    // operations of a pass
    std::vector<contender> contenders;

    template <class Contest>
    void add(const char *contender_name, owner whose, threads safe_for) {
        contenders.push_back({contender_name, whose, safe_for, [] { return std::make_unique<Contest>(); }});
    }
};

void add_objects(std::vector<row> &rows);
void add_containers(std::vector<row> &rows);
void add_arenas(std::vector<row> &rows);

}    // namespace side

#endif
