// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// std::pmr::memory_resource over the memory of lido:
//
//      lido::process_resource()     lido_malloc: any thread, never ends
//      lido::heap_resource          a heap of its own: everything in it goes at once when it ends
//      lido::node_resource          a pool a size: one thread, for many small blocks
//      lido::pool_resource          one lido_pool: blocks of one size, with its capacity; the rest from another resource
//      lido::arena_resource         a lido_arena: single frees do nothing; all goes with the arena
//
// Empty where the standard library has no <memory_resource>; LIDO_CXX_HAS_PMR says which.
//
// Unless a call says otherwise: Requires: nothing. Threads: any. Fails: never. Cost: constant.
#ifndef LIDO_CXX_RESOURCE_HPP
#define LIDO_CXX_RESOURCE_HPP

#include <lido/cxx/allocator.hpp>
#include <lido/cxx/base.hpp>

#if defined(__has_include)
#if __has_include(<memory_resource>)
#include <memory_resource>
#endif
#endif
#if defined(__cpp_lib_memory_resource)
// 1 if the classes below are there, else 0.
#define LIDO_CXX_HAS_PMR 1
#else
// 1 if the classes below are there, else 0.
#define LIDO_CXX_HAS_PMR 0
#endif

#if LIDO_CXX_HAS_PMR

#include <lido/arena.h>
#include <lido/heap.h>
#include <lido/pool.h>

namespace lido {

namespace detail {

class process_resource final : public std::pmr::memory_resource {
    void *do_allocate(std::size_t bytes, std::size_t alignment) override {
        void *p = alignment <= malloc_alignment ? lido_malloc(bytes) : lido_aligned_alloc(alignment, bytes);
        if (LIDO_UNLIKELY(p == nullptr)) fail_no_memory();
        return p;
    }
    void do_deallocate(void *p, std::size_t, std::size_t) override { lido_free(p); }
    bool do_is_equal(const memory_resource &other) const noexcept override { return this == &other; }
};

}    // namespace detail

// The same one for the whole program; it is never destroyed, so it may serve std::pmr::set_default_resource.
// Its allocate throws std::bad_alloc.
inline std::pmr::memory_resource *process_resource() noexcept {
    alignas(detail::process_resource) static unsigned char place[sizeof(detail::process_resource)];
    static auto *resource = ::new (static_cast<void *>(place)) detail::process_resource;
    return resource;
}

// A lido_heap behind the interface. Its allocate throws std::bad_alloc. Threads: LOCAL one at a time, SHARED any.
class heap_resource final : public std::pmr::memory_resource {
public:
    // Makes the heap. Fails: std::bad_alloc. Cost: microseconds.
    explicit heap_resource(lido_threads threads = LIDO_LOCAL, const char *name = nullptr) {
        lido_heap_options options = {};
        options.name = name;
        options.threads = threads;
        heap_ = lido_heap_new(&options);
        if (heap_ == nullptr) detail::fail_no_memory();
    }
    heap_resource(const heap_resource &) = delete;
    heap_resource &operator=(const heap_resource &) = delete;
    // Frees every block. Requires: nothing in them is needed any more. Cost: as lido_heap_destroy.
    ~heap_resource() override { lido_heap_destroy(heap_); }

    // The heap, for the calls of <lido/heap.h>; it belongs to this object.
    lido_heap *native() const noexcept { return heap_; }

private:
    void *do_allocate(std::size_t bytes, std::size_t alignment) override {
        void *p = lido_heap_alloc_aligned(heap_, alignment, bytes);
        if (LIDO_UNLIKELY(p == nullptr)) detail::fail_no_memory();
        return p;
    }
    void do_deallocate(void *p, std::size_t, std::size_t) override { lido_free(p); }
    bool do_is_equal(const memory_resource &other) const noexcept override { return this == &other; }

    lido_heap *heap_ = nullptr;
};

// A node_memory behind the interface. Its allocate throws std::bad_alloc. Threads: one at a time.
class node_resource final : public std::pmr::memory_resource {
public:
    // As node_memory::reset and live. Requires, Cost: as these.
    void reset() noexcept { memory_.reset(); }
    std::size_t live() const noexcept { return memory_.live(); }

private:
    void *do_allocate(std::size_t bytes, std::size_t alignment) override {
        void *p = memory_.try_allocate(bytes, alignment);
        if (LIDO_UNLIKELY(p == nullptr)) detail::fail_no_memory();
        return p;
    }
    void do_deallocate(void *p, std::size_t bytes, std::size_t alignment) override {
        memory_.deallocate(p, bytes, alignment);
    }
    bool do_is_equal(const memory_resource &other) const noexcept override { return this == &other; }

    node_memory memory_;
};

// Requests that fit into a block of `pool` get one, others go to `upstream`. Both outlive the resource.
// Its allocate throws pool_exhausted at the pool's capacity, and what upstream throws. Threads: as the pool's kind.
class pool_resource final : public std::pmr::memory_resource {
public:
    // Requires: neither is nullptr, and both outlive the resource. Cost: as lido_pool_stats.
    explicit pool_resource(lido_pool *pool, std::pmr::memory_resource *upstream = process_resource())
        : pool_(pool), upstream_(upstream), bytes_(lido_pool_block_size(pool)),
          alignment_(lido_pool_stats(pool).alignment) {}

    // What it was made over.
    lido_pool *native() const noexcept { return pool_; }
    std::pmr::memory_resource *upstream() const noexcept { return upstream_; }

private:
    bool fits(std::size_t bytes, std::size_t alignment) const noexcept {
        return bytes <= bytes_ && alignment <= alignment_;
    }
    void *do_allocate(std::size_t bytes, std::size_t alignment) override {
        if (!fits(bytes, alignment)) return upstream_->allocate(bytes, alignment);
        void *p = lido_pool_alloc(pool_);
        if (LIDO_UNLIKELY(p == nullptr)) detail::fail_by_errno();
        return p;
    }
    void do_deallocate(void *p, std::size_t bytes, std::size_t alignment) override {
        if (fits(bytes, alignment)) {
            lido_pool_free(pool_, p);
        } else {
            upstream_->deallocate(p, bytes, alignment);
        }
    }
    bool do_is_equal(const memory_resource &other) const noexcept override { return this == &other; }

    lido_pool *pool_;
    std::pmr::memory_resource *upstream_;
    std::size_t bytes_, alignment_;    // of a block
};

// Over an arena of the caller's, which outlives the resource. A freed block comes back with rewind, reset or free of the arena.
// Its allocate throws std::bad_alloc at the arena's limit. Threads: the arena's.
class arena_resource final : public std::pmr::memory_resource {
public:
    // Requires: arena is not nullptr, and outlives the resource.
    explicit arena_resource(lido_arena *arena) noexcept : arena_(arena) {}
    lido_arena *native() const noexcept { return arena_; }

private:
    void *do_allocate(std::size_t bytes, std::size_t alignment) override {
        void *p = lido_arena_alloc_aligned(arena_, alignment, bytes);
        if (LIDO_UNLIKELY(p == nullptr)) detail::fail_no_memory();
        return p;
    }
    void do_deallocate(void *, std::size_t, std::size_t) override {}
    bool do_is_equal(const memory_resource &other) const noexcept override { return this == &other; }

    lido_arena *arena_;
};

}    // namespace lido

#endif
#endif
