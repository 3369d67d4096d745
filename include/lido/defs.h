// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// What every public header needs: version, visibility, branch hints. Nothing here allocates or calls.
#ifndef LIDO_DEFS_H
#define LIDO_DEFS_H

#include <stddef.h>
#include <stdint.h>

// The version of these headers, a number each.
#define LIDO_VERSION_MAJOR 0
#define LIDO_VERSION_MINOR 1
#define LIDO_VERSION_PATCH 0

#if defined(__cplusplus)
// C linkage for what stands between the two.
#define LIDO_BEGIN_DECLS extern "C" {
#define LIDO_END_DECLS }
#else
// C linkage for what stands between the two.
#define LIDO_BEGIN_DECLS
#define LIDO_END_DECLS
#endif

#if defined(__GNUC__) || defined(__clang__)
// What the compiler is told of a declaration or a condition: exported; inlined always; which way a condition mostly goes; a new
// block that must be used; a result that must be used; which arguments are the size of the block.
#define LIDO_API __attribute__((visibility("default")))
#define LIDO_INLINE static inline __attribute__((always_inline))
#define LIDO_LIKELY(x) __builtin_expect(!!(x), 1)
#define LIDO_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define LIDO_ATTR_MALLOC __attribute__((malloc, warn_unused_result))
#define LIDO_ATTR_MUST_USE __attribute__((warn_unused_result))
#define LIDO_ATTR_ALLOC_SIZE(n) __attribute__((alloc_size(n)))
#define LIDO_ATTR_ALLOC_SIZE2(n, m) __attribute__((alloc_size(n, m)))
// A link lies in memory that a moment ago held an object of another type: it may alias anything.
#define LIDO_ATTR_MAY_ALIAS __attribute__((may_alias))
#else
#error "lido needs GCC or Clang: it relies on may_alias and on the __atomic model"
#endif

#endif
