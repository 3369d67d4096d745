// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// A base class that gives a class its own operator new and delete, over a shared pool of its own:
//
//      class Order : public lido::pooled<Order> { ... };
//      auto *order = new Order(...);       delete order;       std::make_unique<Order>(...)
//
// Code that says new and delete stays as it is. What happens where:
//   new Order               a block of the pool, whatever Order's alignment
//   new Derived             (of Order, and larger) a block of lido_malloc, correctly aligned; derive from
//                           lido::pooled<Derived> too for a pool of its own, and then say in Derived
//                           `using lido::pooled<Derived>::operator new; using lido::pooled<Derived>::operator delete;`
//   new Order[n]            refused at compile time: use std::vector with lido::allocator, or ::new Order[n]
//   new (place) Order       as ever
//   delete                  by any thread; through a base class, if its destructor is virtual, as ever
//   std::make_shared        does not use operator new: use std::shared_ptr<Order>(new Order(...)), or object_pool
//
// Unless a call says otherwise: Requires: nothing. Threads: any. Fails: never. Cost: constant.
#ifndef LIDO_CXX_POOLED_HPP
#define LIDO_CXX_POOLED_HPP

#include <lido/cxx/base.hpp>
#include <lido/heap.h>
#include <lido/pool.h>

#include <atomic>
#include <cstddef>

namespace lido {

// The pool is made by the first new, and lives until the program ends: objects may be deleted by destructors of statics.
template <class T>
class pooled {
public:
    // What `new T` calls; with a place as ever. Fails: std::bad_alloc; with std::nothrow, nullptr. Cost: lido_pool_alloc of a
    // SHARED pool, the first also lido_pool_new.
    static void *operator new(std::size_t size) { return need(take(size, new_alignment)); }
    static void *operator new(std::size_t size, std::align_val_t alignment) {
        return need(take(size, static_cast<std::size_t>(alignment)));
    }
    static void *operator new(std::size_t size, const std::nothrow_t &) noexcept { return take(size, new_alignment); }
    static void *operator new(std::size_t size, std::align_val_t alignment, const std::nothrow_t &) noexcept {
        return take(size, static_cast<std::size_t>(alignment));
    }
    static void *operator new(std::size_t, void *place) noexcept { return place; }

    // What `delete p` calls. Requires: p is of one of the above, or nullptr. Cost: lido_free.
    static void operator delete(void *p) noexcept { lido_free(p); }
    static void operator delete(void *p, std::align_val_t) noexcept { lido_free(p); }
    static void operator delete(void *p, const std::nothrow_t &) noexcept { lido_free(p); }
    static void operator delete(void *p, std::align_val_t, const std::nothrow_t &) noexcept { lido_free(p); }
    static void operator delete(void *, void *) noexcept {}

    // Arrays: refused at compile time, but where a place is given. Fails: does not compile.
    static void *operator new[](std::size_t) { return refuse_array(); }
    static void *operator new[](std::size_t, std::align_val_t) { return refuse_array(); }
    static void *operator new[](std::size_t, const std::nothrow_t &) noexcept { return refuse_array(); }
    static void *operator new[](std::size_t, std::align_val_t, const std::nothrow_t &) noexcept {
        return refuse_array();
    }
    static void *operator new[](std::size_t, void *place) noexcept { return place; }
    static void operator delete[](void *) noexcept { refuse_array(); }
    static void operator delete[](void *, std::align_val_t) noexcept { refuse_array(); }
    static void operator delete[](void *, void *) noexcept {}

    // The pool of the class, for statistics; nullptr before the first new. Threads: any.
    static lido_pool *native_pool() noexcept { return the_pool.load(std::memory_order_acquire); }

protected:
    pooled() noexcept = default;
    pooled(const pooled &) noexcept = default;
    pooled &operator=(const pooled &) noexcept = default;
    ~pooled() = default;

private:
    static constexpr std::size_t new_alignment = 16;    // what plain operator new answers for, and lido_malloc
    static_assert(__STDCPP_DEFAULT_NEW_ALIGNMENT__ <= new_alignment, "lido: compile without -faligned-new above 16");

    static void *refuse_array() noexcept {
        static_assert(
            detail::never<T>,
            "lido: arrays of a lido::pooled class are not pooled: use std::vector with lido::allocator, or ::new T[n] "
            "and ::delete[]");
        return nullptr;
    }

    static void *need(void *p) {
        if (LIDO_UNLIKELY(p == nullptr)) detail::fail_no_memory();
        return p;
    }

    // A derived class of another size or a greater alignment is not T's pool's business. One of the same size is: it may be
    // aligned to more than T, to 16 at most, and then 16 divides the size, so that a block's natural alignment serves it.
    static void *take(std::size_t size, std::size_t alignment) noexcept {
        static_assert(
            std::is_base_of_v<pooled, T>,
            "lido: lido::pooled<T> must be a base class of T itself: write `class X : public lido::pooled<X>`");
        static_assert(sizeof(T) <= LIDO_POOL_BLOCK_SIZE_MAX,
                      "lido: T is larger than a pool's block may be (16 MiB): leave lido::pooled away");
        static_assert(alignof(T) <= LIDO_POOL_ALIGNMENT_MAX,
                      "lido: T is aligned to more than 2 MiB: leave lido::pooled away");
        if (LIDO_LIKELY(size == sizeof(T) && alignment <= (alignof(T) > new_alignment ? alignof(T) : new_alignment))) {
            lido_pool *pool = the_pool.load(std::memory_order_acquire);    // pairs with the exchange in make_pool
            if (LIDO_LIKELY(pool != nullptr) || (pool = make_pool()) != nullptr) return lido_pool_alloc(pool);
        }
        return alignment > new_alignment ? lido_aligned_alloc(alignment, size) : lido_malloc(size);
    }

    // Two threads may both make one; the second gives its own back. A pool that cannot be made (1,600 shared ones exist) leaves
    // the class on lido_malloc.
    [[gnu::cold, gnu::noinline]] static lido_pool *make_pool() noexcept {
        lido_pool_options options = {};
        options.name = "pooled";
        options.block_size = sizeof(T);
        options.alignment = alignof(T) > new_alignment ? alignof(T) : 0;    // 0: the natural one, see take
        options.threads = LIDO_SHARED;
        lido_pool *made = lido_pool_new(&options), *seen = nullptr;
        if (made == nullptr) return nullptr;
        if (the_pool.compare_exchange_strong(seen, made, std::memory_order_acq_rel)) return made;    // pairs with take
        lido_pool_destroy(made);
        return seen;
    }

    static inline std::atomic<lido_pool *> the_pool{nullptr};
};

}    // namespace lido

#endif
