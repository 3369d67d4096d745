// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// Words and arithmetic that every layer uses. No state, no calls into any library.
#ifndef LIDO_BASE_BASE_H
#define LIDO_BASE_BASE_H

#include <lido/defs.h>
#include <stdbool.h>

#define LIDO__NOINLINE __attribute__((noinline))
#define LIDO__COLD __attribute__((noinline, cold))
#define LIDO__HIDDEN __attribute__((visibility("hidden")))

enum { LIDO__CACHE_LINE = 64 };
#define LIDO__LINE_ALIGNED _Alignas(64)

// The structure that contains `member`, given a pointer to it.
#define LIDO__OWNER_OF(pointer, type, member) ((type *)(void *)((char *)(pointer)-offsetof(type, member)))

LIDO_INLINE bool lido__is_power_of_two(size_t n) { return n != 0 && (n & (n - 1)) == 0; }
// Requires: `to` is a power of two, and the sum does not overflow.
LIDO_INLINE size_t lido__round_up(size_t n, size_t to) { return (n + to - 1) & ~(to - 1); }
LIDO_INLINE size_t lido__round_down(size_t n, size_t to) { return n & ~(to - 1); }
LIDO_INLINE size_t lido__min(size_t a, size_t b) { return a < b ? a : b; }
LIDO_INLINE size_t lido__max(size_t a, size_t b) { return a > b ? a : b; }
// Requires: n != 0.
LIDO_INLINE unsigned lido__lowest_bit(uint64_t n) { return (unsigned)__builtin_ctzll(n); }
LIDO_INLINE unsigned lido__highest_bit(uint64_t n) { return 63u ^ (unsigned)__builtin_clzll(n); }

// Three grades of check (STYLE): REQUIRE is about the caller and always on, see os/report.h; ASSERT is about ourselves,
// cheap, debug builds; VERIFY walks a structure, debug builds, called from tests.
LIDO__COLD LIDO__HIDDEN _Noreturn void lido__assert_failed(const char *what, const char *file, int line);
#ifndef NDEBUG
#define LIDO_ASSERT(condition) ((condition) ? (void)0 : lido__assert_failed(#condition, __FILE__, __LINE__))
#else
#define LIDO_ASSERT(condition) ((void)sizeof(condition))
#endif

#endif
