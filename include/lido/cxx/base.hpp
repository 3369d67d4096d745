// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// What the C++ headers share: how they fail, which types they take, how an object is made in a block. Nothing to link.
//
// Unless a call says otherwise: Requires: nothing. Threads: any. Fails: never. Cost: constant.
#ifndef LIDO_CXX_BASE_HPP
#define LIDO_CXX_BASE_HPP

#include <lido/defs.h>
#include <lido/pool.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <stdexcept>
#include <type_traits>
#include <utility>

#if defined(__cpp_exceptions)
#define LIDO__CXX_THROWS 1
#else
#define LIDO__CXX_THROWS 0
#endif

namespace lido {

// No block: the capacity of a pool is reached, or the system has no memory.
class pool_exhausted : public std::bad_alloc {
public:
    // One line for a person.
    const char *what() const noexcept override { return "lido: pool exhausted"; }
};

// A pool with LIDO_WAIT: the time was over before a block was free.
class pool_timeout : public pool_exhausted {
public:
    // One line for a person.
    const char *what() const noexcept override { return "lido: no block of the pool was free in time"; }
};

namespace detail {

#if LIDO__CXX_THROWS
[[noreturn, gnu::cold, gnu::noinline]] inline void fail_exhausted() { throw pool_exhausted(); }
[[noreturn, gnu::cold, gnu::noinline]] inline void fail_timeout() { throw pool_timeout(); }
[[noreturn, gnu::cold, gnu::noinline]] inline void fail_no_memory() { throw std::bad_alloc(); }
[[noreturn, gnu::cold, gnu::noinline]] inline void fail_length() { throw std::bad_array_new_length(); }
[[noreturn, gnu::cold, gnu::noinline]] inline void fail_options(const char *what) { throw std::invalid_argument(what); }
#else
[[noreturn, gnu::cold, gnu::noinline]] inline void fail_options(const char *what) {
    std::fprintf(stderr, "%s\n", what);
    std::abort();
}
[[noreturn, gnu::cold, gnu::noinline]] inline void fail_exhausted() {
    fail_options("lido: pool exhausted, in a program without exceptions: try_make returns nullptr instead");
}
[[noreturn, gnu::cold, gnu::noinline]] inline void fail_timeout() {
    fail_options("lido: no block of the pool was free in time, in a program without exceptions: try_make returns "
                 "nullptr instead");
}
[[noreturn, gnu::cold, gnu::noinline]] inline void fail_no_memory() {
    fail_options("lido: no memory, in a program without exceptions");
}
[[noreturn, gnu::cold, gnu::noinline]] inline void fail_length() {
    fail_options("lido: an array larger than the address space, in a program without exceptions");
}
#endif

// After a call of the C API has failed.
[[noreturn, gnu::cold, gnu::noinline]] inline void fail_by_errno() {
    if (errno == ETIMEDOUT) fail_timeout();
    fail_exhausted();
}

template <class T, class = void>
struct is_complete : std::false_type {};
template <class T>
struct is_complete<T, std::void_t<decltype(sizeof(T))>> : std::true_type {};

template <class>
inline constexpr bool never = false;

// A call that needs T names this first, so that what is refused is refused with one clear line. Class templates do not:
// a pool of an incomplete type may be declared, pointed to and be a member.
template <class T>
constexpr bool check_complete() {
    static_assert(
        is_complete<T>::value || std::is_void_v<T> || std::is_array_v<T>,
        "lido: this call needs the whole definition of T: include it first, or move the call (a constructor or "
        "destructor of the class that owns the pool or the pointer is one) to where T is complete");
    return true;
}

template <class T>
constexpr bool check_poolable() {
    static_assert(!std::is_void_v<T> && !std::is_reference_v<T> && !std::is_function_v<T>,
                  "lido: T must be an object type: name the class whose objects the pool shall hold");
    static_assert(
        !std::is_array_v<T>,
        "lido: a pool holds single objects: use std::array<E, N> or a struct around the array, or std::vector with "
        "lido::allocator");
    static_assert(!std::is_const_v<T> && !std::is_volatile_v<T>,
                  "lido: name the type without const and volatile, and hand out pointers to const instead");
    if constexpr (std::is_object_v<T> && !std::is_array_v<T> && check_complete<T>()) {
        static_assert(!std::is_abstract_v<T>, "lido: T is abstract, so no object of it can be made: use "
                                              "lido::variant_pool of the classes derived from it");
        static_assert(
            std::is_abstract_v<T> || std::is_nothrow_destructible_v<T>,
            "lido: the destructor of T may throw or is not accessible: a pool destroys objects while an exception is "
            "under way. Catch inside the destructor, and do what may fail in a function that is called before");
        static_assert(
            sizeof(T) <= LIDO_POOL_BLOCK_SIZE_MAX,
            "lido: T is larger than a pool's block may be (16 MiB): pool a struct that points to the large part");
        static_assert(alignof(T) <= LIDO_POOL_ALIGNMENT_MAX,
                      "lido: T is aligned to more than 2 MiB: allocate it with lido_aligned_alloc");
    }
    return true;
}

// T(arguments...), or T{arguments...} for aggregates, which C++17 does not make with parentheses.
template <class T, class... A>
T *construct_at(void *place, A &&...arguments) {
    if constexpr (std::is_constructible_v<T, A...>) {
        return ::new (place) T(std::forward<A>(arguments)...);
    } else {
        return ::new (place) T{std::forward<A>(arguments)...};
    }
}

template <class T, class... A>
constexpr bool constructs_quietly() {
    if constexpr (is_complete<T>::value) return std::is_nothrow_constructible_v<T, A...>;
    return false;
}

// The blocks that came back to a LOCAL pool, kept by the C++ object in front of it: one load less on the way to each than
// through the pool.
//
//      first -> block -> block -> LIDO__POOL_END       what is kept is alive for the pool, and free for the program
//      first == nullptr                                nothing may be kept: the pool sees every call
//
// The second holds before start, and for a pool that has something to do at each call: its face says so, see <lido/pool.h>.
struct kept_blocks {
    lido__link *first = nullptr;

    void start(lido_pool *pool) noexcept {
        bool inlines = reinterpret_cast<lido__pool_face *>(pool)->free != nullptr;
        first = inlines ? LIDO__POOL_END : nullptr;
    }
    bool has_any() const noexcept {
        return reinterpret_cast<std::uintptr_t>(first) > reinterpret_cast<std::uintptr_t>(LIDO__POOL_END);
    }
    // Requires: has_any().
    void *take() noexcept {
        lido__link *block = first;
        first = block->next;
        return block;
    }
    // Requires: first is not nullptr.
    void keep(void *block) noexcept {
        lido__link *link = static_cast<lido__link *>(block);
        link->next = first;
        first = link;
    }
    void give_back(lido_pool *pool) noexcept {
        while (has_any()) lido_pool_free(pool, take());
    }
    std::size_t count() const noexcept {
        std::size_t count = 0;
        // ends with nullptr where nothing is to be kept and bare_object_pool keeps all the same
        for (const lido__link *link = first;
             reinterpret_cast<std::uintptr_t>(link) > reinterpret_cast<std::uintptr_t>(LIDO__POOL_END);
             link = link->next)
            count++;
        return count;
    }
};

// Gives the block back unless the constructor came to its end.
template <class Pool>
struct block_guard {
    Pool &pool;
    void *block;
    ~block_guard() {
        if (block != nullptr) pool.give_block(block);
    }
};

// An object in a block of `pool`, whose give_block takes the block back if the constructor throws.
template <class T, class Pool, class... A>
T *make_in(Pool &pool, void *block, A &&...arguments) {
    if constexpr (constructs_quietly<T, A...>()) {
        return construct_at<T>(block, std::forward<A>(arguments)...);
    } else {
        block_guard<Pool> guard{pool, block};
        T *object = construct_at<T>(block, std::forward<A>(arguments)...);
        guard.block = nullptr;
        return object;
    }
}

}    // namespace detail

// Destroys through the pool that made the object; the deleter of make_unique and make_shared. The pool outlives the pointer.
template <class Pool>
struct pool_deleter {
    Pool *pool = nullptr;
    // What std::unique_ptr and std::shared_ptr call at their end. Threads: as the pool's destroy.
    void operator()(typename Pool::value_type *object) const noexcept { pool->destroy(object); }
};

}    // namespace lido

#endif
