// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// The sizes of pools whose block size is a template argument: those of the workloads' defaults. `by_size` turns the size of a
// slot into a type; a slot of another size cannot be opened.
#ifndef LIDO_BENCH_SIZES_HPP
#define LIDO_BENCH_SIZES_HPP

#include <cstddef>

#define BENCH_SIZES_HELP "(blocks of 8, 16, 56, 64, 128, 264 and 512 bytes)"

namespace sized_peer {

template <std::size_t Size>
struct of_size {
    static constexpr std::size_t value = Size;
};

inline bool has_size(std::size_t size) {
    return size == 8 || size == 16 || size == 56 || size == 64 || size == 128 || size == 264 || size == 512;
}

// call(of_size<N>()) for the N that `size` is. Requires: has_size(size).
template <typename Call>
static inline __attribute__((always_inline)) auto by_size(std::size_t size, Call call) {
    switch (size) {
        case 8: return call(of_size<8>());
        case 16: return call(of_size<16>());
        case 56: return call(of_size<56>());
        case 64: return call(of_size<64>());
        case 128: return call(of_size<128>());
        case 264: return call(of_size<264>());
        default: return call(of_size<512>());
    }
}

// Not initialized by its constructor, so that a pool of them does no more than an allocation does.
template <std::size_t Size>
struct block {
    unsigned char bytes[Size];
    block() {}
};

}    // namespace sized_peer

#endif
