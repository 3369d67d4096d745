// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// Allocators for the standard containers.
//
//      std::vector<Order, lido::allocator<Order>>        any thread, no state, over lido_malloc: the size classes' pools
//
//      lido::node_memory memory;                         one thread: a pool a node size, inline
//      std::map<int, Order, std::less<int>, lido::node_allocator<std::pair<const int, Order>>> orders(memory);
//
// Both rebind, honour every alignment, and take any number of elements.
//
// Unless a call says otherwise: Requires: nothing. Threads: any. Fails: never. Cost: constant.
#ifndef LIDO_CXX_ALLOCATOR_HPP
#define LIDO_CXX_ALLOCATOR_HPP

#include <lido/cxx/base.hpp>
#include <lido/heap.h>
#include <lido/pool.h>

#include <cstddef>
#include <cstdint>

namespace lido {

namespace detail {

template <class T>
constexpr bool check_allocatable() {
    static_assert(!std::is_const_v<T> && !std::is_volatile_v<T> && !std::is_reference_v<T>,
                  "lido: an allocator's T has no const, volatile or reference: containers add what they need");
    return true;
}

// Bytes of `count` elements.
template <class T>
std::size_t array_bytes(std::size_t count) {
    if (LIDO_UNLIKELY(count > static_cast<std::size_t>(PTRDIFF_MAX) / sizeof(T))) fail_length();
    return count * sizeof(T);
}

inline constexpr std::size_t malloc_alignment = 16;

}    // namespace detail

// Over lido_malloc. All allocators are equal, so containers move and swap in constant time, and memory may be freed by another thread
// and another container.
template <class T>
class allocator {
public:
    // What the standard asks of an allocator.
    using value_type = T;
    using size_type = std::size_t;
    using difference_type = std::ptrdiff_t;
    using is_always_equal = std::true_type;
    using propagate_on_container_copy_assignment = std::true_type;
    using propagate_on_container_move_assignment = std::true_type;
    using propagate_on_container_swap = std::true_type;

    constexpr allocator() noexcept = default;
    // From one of another type: containers make their nodes' allocator so.
    template <class U>
    constexpr allocator(const allocator<U> &) noexcept {}

    // Memory for `count` elements, at least aligned as T. Threads: any. Fails: std::bad_alloc; std::bad_array_new_length if
    // the bytes exceed PTRDIFF_MAX. Cost: lido_malloc.
    [[nodiscard]] T *allocate(std::size_t count) {
        static_assert(detail::check_allocatable<T>());
        std::size_t bytes = detail::array_bytes<T>(count);
        void *p;
        if constexpr (alignof(T) > detail::malloc_alignment) {
            p = lido_aligned_alloc(alignof(T), bytes);
        } else {
            p = lido_malloc(bytes);
        }
        if (LIDO_UNLIKELY(p == nullptr)) detail::fail_no_memory();
        return static_cast<T *>(p);
    }

    // Requires: p came from allocate(count) of an allocator of the same T. Threads: any. Cost: lido_free_sized.
    void deallocate(T *p, std::size_t count) noexcept {
        if constexpr (alignof(T) > detail::malloc_alignment) {
            lido_free_aligned_sized(p, alignof(T), count * sizeof(T));
        } else {
            lido_free_sized(p, count * sizeof(T));
        }
    }

    // All are equal.
    template <class U>
    friend constexpr bool operator==(const allocator &, const allocator<U> &) noexcept {
        return true;
    }
    template <class U>
    friend constexpr bool operator!=(const allocator &, const allocator<U> &) noexcept {
        return false;
    }
};

// The memory behind node_allocator: LOCAL pools for sizes to small_max in steps of 8 bytes, each made when first needed, and a
// lido_heap for what is larger. Threads: one at a time, for it and all containers over it.
class node_memory {
public:
    static constexpr std::size_t small_max = 512;    // bytes. Guess: nodes of containers are smaller

    node_memory() noexcept = default;
    node_memory(const node_memory &) = delete;
    node_memory &operator=(const node_memory &) = delete;
    // Gives everything back; a pool with blocks alive is reported, as containers should be gone. Cost: proportional to the
    // free blocks and the slabs.
    ~node_memory() {
        give_back();
        for (lido_pool *pool : pools_) lido_pool_destroy(pool);
        lido_heap_destroy(large_);
    }

    // Fails: nullptr and ENOMEM. Requires: alignment is a power of two. Cost: for constants inline 4 instructions while the
    // list of the size has a block, else lido_pool_alloc behind a call.
    [[nodiscard]] void *try_allocate(std::size_t bytes, std::size_t alignment) noexcept {
        std::size_t index = index_of(bytes, alignment);
        if (index >= pool_count) return allocate_large(bytes, alignment);
        if (LIDO_UNLIKELY(!kept_[index].has_any())) return allocate_slow(index);
        return kept_[index].take();
    }

    // Requires: p is of try_allocate with the same bytes and alignment, and not nullptr. Cost: for constants inline 5
    // instructions; of the heap, lido_free.
    void deallocate(void *p, std::size_t bytes, std::size_t alignment) noexcept {
        std::size_t index = index_of(bytes, alignment);
        if (index >= pool_count) return lido_free(p);
        if (LIDO_UNLIKELY(kept_[index].first == nullptr)) return lido__pool_free_slow(pools_[index], p);
        kept_[index].keep(p);
    }

    // Frees every block at once; memory of small ones stays for the next. Requires: nothing in them is needed any more.
    // Cost: proportional to the slabs.
    void reset() noexcept {
        for (std::size_t i = 0; i < pool_count; i++) {
            if (pools_[i] == nullptr) continue;
            lido_pool_reset(pools_[i]);
            kept_[i].start(pools_[i]);
        }
        lido_heap_destroy(large_);
        large_ = nullptr;
    }

    // Gives free memory of the pools back to the system; returns the bytes. Cost: proportional to the free blocks.
    std::size_t trim() noexcept {
        std::size_t bytes = 0;
        give_back();
        for (lido_pool *pool : pools_)
            if (pool != nullptr) bytes += lido_pool_trim(pool);
        return bytes;
    }

    // Blocks alive in the pools (not those in the heap). Cost: proportional to the free blocks.
    std::size_t live() const noexcept {
        std::size_t live = 0;
        for (std::size_t i = 0; i < pool_count; i++) {
            if (pools_[i] != nullptr) live += lido_pool_stats(pools_[i]).live - kept_[i].count();
        }
        return live;
    }

private:
    static constexpr std::size_t step = 8;
    static constexpr std::size_t pool_count = small_max / step;

    // A block of a multiple of the alignment, up to 16, has that alignment.
    static constexpr std::size_t index_of(std::size_t bytes, std::size_t alignment) noexcept {
        if (alignment > detail::malloc_alignment || bytes > small_max) return pool_count;
        std::size_t align = alignment < step ? step : alignment;
        return bytes == 0 ? align / step - 1 : (bytes + align - 1) / align * align / step - 1;
    }

    [[gnu::noinline]] void *allocate_slow(std::size_t index) noexcept {
        if (LIDO_UNLIKELY(pools_[index] == nullptr)) {
            lido_pool_options options = {};
            options.name = "nodes";
            options.block_size = (index + 1) * step;
            if ((pools_[index] = lido_pool_new(&options)) == nullptr) return nullptr;
            kept_[index].start(pools_[index]);
        }
        return lido_pool_alloc(pools_[index]);
    }

    void give_back() noexcept {
        for (std::size_t i = 0; i < pool_count; i++) kept_[i].give_back(pools_[i]);
    }

    [[gnu::noinline]] void *allocate_large(std::size_t bytes, std::size_t alignment) noexcept {
        if (large_ == nullptr && (large_ = lido_heap_new(nullptr)) == nullptr) return nullptr;
        return lido_heap_alloc_aligned(large_, alignment, bytes);
    }

    // Blocks that came back, a list a size, here rather than in the pools: one load less on the way to each (push and
    // pop of a std::list, 1,000 alive: 3.6 ns a pair instead of 4.8).
    detail::kept_blocks kept_[pool_count];
    lido_pool *pools_[pool_count] = {};
    lido_heap *large_ = nullptr;
};

// Over a node_memory, which outlives every container that uses it. Equal if over the same one. Moving and swapping a container
// takes its memory along; copying and copy assignment leave the target's where it is.
// Threads: as the memory's.
template <class T>
class node_allocator {
public:
    // What the standard asks of an allocator.
    using value_type = T;
    using size_type = std::size_t;
    using difference_type = std::ptrdiff_t;
    using is_always_equal = std::false_type;
    using propagate_on_container_copy_assignment = std::false_type;
    using propagate_on_container_move_assignment = std::true_type;
    using propagate_on_container_swap = std::true_type;

    // Over `memory`, and from an allocator of another type over the same. Requires: the memory outlives all of them.
    node_allocator(node_memory &memory) noexcept : memory_(&memory) {}
    template <class U>
    node_allocator(const node_allocator<U> &other) noexcept : memory_(other.memory()) {}

    // Fails: std::bad_alloc, std::bad_array_new_length. Cost: see node_memory; arrays above small_max a call.
    [[nodiscard]] T *allocate(std::size_t count) {
        static_assert(detail::check_allocatable<T>());
        void *p = memory_->try_allocate(detail::array_bytes<T>(count), alignof(T));
        if (LIDO_UNLIKELY(p == nullptr)) detail::fail_no_memory();
        return static_cast<T *>(p);
    }
    // Requires: p came from allocate(count) of an equal allocator. Cost: see node_memory.
    void deallocate(T *p, std::size_t count) noexcept { memory_->deallocate(p, count * sizeof(T), alignof(T)); }

    // What it is over.
    node_memory *memory() const noexcept { return memory_; }

    // Equal over the same memory.
    template <class U>
    friend bool operator==(const node_allocator &a, const node_allocator<U> &b) noexcept {
        return a.memory() == b.memory();
    }
    template <class U>
    friend bool operator!=(const node_allocator &a, const node_allocator<U> &b) noexcept {
        return !(a == b);
    }

private:
    node_memory *memory_;
};

}    // namespace lido

#endif
