// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// Objects within a capacity that never changes, over memory inside the pool (fixed_pool) or given by the caller (buffer_pool).
// Over <lido/fixed.h>: no system call, no library to link, no overhead a block.
//
//      static lido::fixed_pool<Task, 4096> tasks;
//      Task *t = tasks.try_make(...);        nullptr when 4096 are alive
//
// Memory that was never used is never written.
//
// Unless a call says otherwise: Requires: nothing. Threads: one at a time. Fails: never. Cost: constant.
#ifndef LIDO_CXX_FIXED_POOL_HPP
#define LIDO_CXX_FIXED_POOL_HPP

#include <lido/cxx/base.hpp>
#include <lido/fixed.h>

#include <memory>

namespace lido {

namespace detail {

// Sorts a chain by address, without memory: list n of the bins is empty or has 2^n links (Knuth 5.2.4, exercise 12 works
// the same way). 64 bins are enough for any address space.
inline lido__fixed_link *merge_links(lido__fixed_link *a, lido__fixed_link *b) noexcept {
    lido__fixed_link head = {nullptr}, *last = &head;
    while (a != nullptr && b != nullptr) {
        lido__fixed_link *&first = reinterpret_cast<std::uintptr_t>(a) < reinterpret_cast<std::uintptr_t>(b) ? a : b;
        last->next = first;
        last = first;
        first = first->next;
    }
    last->next = a != nullptr ? a : b;
    return head.next;
}

inline lido__fixed_link *sort_links(lido__fixed_link *list) noexcept {
    lido__fixed_link *bins[64] = {}, *sorted = nullptr;
    while (list != nullptr) {
        lido__fixed_link *carry = list;
        list = list->next;
        carry->next = nullptr;
        int n = 0;
        for (; bins[n] != nullptr; n++) {
            carry = merge_links(bins[n], carry);
            bins[n] = nullptr;
        }
        bins[n] = carry;
    }
    for (lido__fixed_link *bin : bins) sorted = merge_links(bin, sorted);
    return sorted;
}

}    // namespace detail

// Over memory of the caller's, which outlives the pool. LIDO_FIXED_BYTES(count, sizeof(T), alignof(T)) bytes hold `count`
// objects if they start aligned.
template <class T>
class buffer_pool {
public:
    // The class of the objects, and an owner that gives its object back to the pool.
    using value_type = T;
    using deleter = pool_deleter<buffer_pool>;
    using unique = std::unique_ptr<T, deleter>;

    // Fails: a buffer in which not even one object fits gives a pool of capacity 0. Cost: constant.
    buffer_pool(void *buffer, std::size_t bytes) noexcept {
        static_assert(detail::check_poolable<T>());
        if (!lido_fixed_init(&blocks_, buffer, bytes, sizeof(T), alignof(T))) {
            blocks_ = {};
            blocks_.block_size = LIDO_FIXED_BLOCK_BYTES(sizeof(T), alignof(T));
        }
    }
    buffer_pool(const buffer_pool &) = delete;
    buffer_pool &operator=(const buffer_pool &) = delete;

    // Destroys the objects that are alive, in the order of their addresses; destructors may destroy other objects of the pool, as
    // for object_pool. Cost: for a class with a destructor n log n of the free blocks, else none.
    ~buffer_pool() {
        if constexpr (!std::is_trivially_destructible_v<T>) destroy_live();
    }

    // As object_pool: a new object, with an owner from the third.
    // Fails: pool_exhausted at capacity, or what the constructor throws; try_make nullptr at capacity. Cost: 4 to 6 instructions and
    // the constructor.
    template <class... A>
    [[nodiscard]] T *make(A &&...arguments) {
        T *object = try_make(std::forward<A>(arguments)...);
        if (LIDO_UNLIKELY(object == nullptr)) detail::fail_exhausted();
        return object;
    }
    template <class... A>
    [[nodiscard]] T *try_make(A &&...arguments) noexcept(detail::constructs_quietly<T, A...>()) {
        void *block = lido_fixed_alloc(&blocks_);
        if (LIDO_UNLIKELY(block == nullptr)) return nullptr;
        return detail::make_in<T>(*this, block, std::forward<A>(arguments)...);
    }
    template <class... A>
    [[nodiscard]] unique make_unique(A &&...arguments) {
        return unique(make(std::forward<A>(arguments)...), deleter{this});
    }

    // Destroys an object and takes its block back. nullptr is ignored. Requires: a live object that this pool made.
    // Cost: the destructor and 4 instructions.
    void destroy(T *object) noexcept {
        if constexpr (!std::is_trivially_destructible_v<T>) {
            if (LIDO_UNLIKELY(object == nullptr || ending_)) return;
            object->~T();
        }
        lido_fixed_free(&blocks_, object);
    }

    // Most objects alive at once.
    std::size_t capacity() const noexcept { return lido_fixed_capacity(&blocks_); }
    // Most objects alive at once so far.
    std::size_t high_water() const noexcept { return lido_fixed_high_water(&blocks_); }
    // Cost: proportional to high_water - live.
    std::size_t live() const noexcept { return lido_fixed_live(&blocks_); }
    // True if and only if p is the address of one of the pool's blocks.
    bool owns(const void *p) const noexcept { return lido_fixed_owns(&blocks_, p); }

private:
    template <class>
    friend struct detail::block_guard;
    void give_block(void *block) noexcept { lido_fixed_free(&blocks_, block); }

    void destroy_live() noexcept {
        ending_ = true;
        lido__fixed_link *free = detail::sort_links(blocks_.free);
        for (unsigned char *block = blocks_.start; block != blocks_.fresh; block += blocks_.block_size) {
            if (static_cast<void *>(block) == static_cast<void *>(free)) {
                free = free->next;
                continue;
            }
            static_cast<T *>(static_cast<void *>(block))->~T();
        }
    }

    lido_fixed blocks_;
    bool ending_ = false;
};

namespace detail {

template <class T, std::size_t N>
struct fixed_storage {
    static_assert(N > 0, "lido: a fixed_pool needs room for at least one object");
    static_assert(check_poolable<T>());
    static constexpr std::size_t storage_bytes = LIDO_FIXED_BYTES(N, sizeof(T), alignof(T));
    alignas(LIDO_FIXED_ALIGNMENT(sizeof(T), alignof(T))) unsigned char bytes[storage_bytes];
};

}    // namespace detail

// N objects inside the pool itself: storage_bytes of them, on the stack, in static memory or in another object.
// All calls are those of buffer_pool.
template <class T, std::size_t N>
class fixed_pool : private detail::fixed_storage<T, N>, public buffer_pool<T> {
public:
    using detail::fixed_storage<T, N>::storage_bytes;
    // An empty pool.
    fixed_pool() noexcept : buffer_pool<T>(this->bytes, storage_bytes) {}
};

}    // namespace lido

#endif
