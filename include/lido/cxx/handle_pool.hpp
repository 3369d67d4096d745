// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// Handles to objects of one class: <lido/handle.h> with types.
//
//      lido::handle_pool<Unit> units;
//      lido::handle<Unit> target = units.make(x, y);
//      if (Unit *unit = units.get(target)) unit->hit(3);      nullptr if it is gone
//      units.destroy(target);                                 false if it was
//
// Unless a call says otherwise: Requires: the pool is valid(). Threads: as the pool's kind: handle_pool one at a time, shared_handle_pool any. Fails: never. Cost: constant.
#ifndef LIDO_CXX_HANDLE_POOL_HPP
#define LIDO_CXX_HANDLE_POOL_HPP

#include <lido/cxx/base.hpp>
#include <lido/handle.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

namespace lido {

// 64 bits without meaning of their own; the default is the handle of nothing. A handle<T> fits no pool of another class.
// Requires: nothing. Threads: any.
template <class T>
class handle {
public:
    constexpr handle() noexcept = default;
    // Of a handle that the C calls gave.
    constexpr explicit handle(lido_handle native) noexcept : native_(native) {}

    // True unless it is the handle of nothing; whether the object lives, the pool's get tells.
    constexpr explicit operator bool() const noexcept { return native_.bits != 0; }
    // The same for C; its bits as a number.
    constexpr lido_handle native() const noexcept { return native_; }
    constexpr std::uint64_t bits() const noexcept { return native_.bits; }

    // By their bits: equal ones name the same object; the order means nothing, it is for std::map.
    friend constexpr bool operator==(handle a, handle b) noexcept { return a.bits() == b.bits(); }
    friend constexpr bool operator!=(handle a, handle b) noexcept { return a.bits() != b.bits(); }
    friend constexpr bool operator<(handle a, handle b) noexcept { return a.bits() < b.bits(); }

private:
    lido_handle native_ = {0};
};

// What a pool is made with; zero is the default of each.
struct handle_options {
    const char *name = nullptr;    // for reports; copied; "object" if null
    std::size_t capacity = 0;      // most objects alive at once; 0 is no limit
    lido_live_objects at_destroy = LIDO_LIVE_DESTROYED;
};

// handle_pool and shared_handle_pool, see below.
template <class T, lido_threads Threads>
class basic_handle_pool {
public:
    // The class of the objects, and of the references to them.
    using value_type = T;
    using handle_type = handle<T>;

    // An empty pool. Requires: nothing. Fails: std::invalid_argument for options out of range, std::bad_alloc.
    // Cost: microseconds.
    explicit basic_handle_pool(const handle_options &options = {}) : basic_handle_pool(std::nothrow, options) {
        if (pool_ != nullptr) return;
        if (errno == EINVAL)
            detail::fail_options("lido::handle_pool: the options are out of range: see lido_handle_options");
        detail::fail_no_memory();
    }
    // The same without exceptions. Requires: nothing. Fails: valid() is false, and errno is EINVAL or ENOMEM. Cost: microseconds.
    basic_handle_pool(std::nothrow_t, const handle_options &options = {}) noexcept {
        static_assert(detail::check_poolable<T>());
        lido_type type = {};
        type.name = options.name;
        type.size = sizeof(T);
        type.align = alignof(T);
        if constexpr (!std::is_trivially_destructible_v<T>) type.destroy = end_object;
        lido_handle_options native = {};
        native.threads = Threads;
        native.capacity = options.capacity;
        native.at_destroy = options.at_destroy;
        pool_ = lido_handle_pool_new(&type, &native);
    }
    basic_handle_pool(const basic_handle_pool &) = delete;
    basic_handle_pool &operator=(const basic_handle_pool &) = delete;
    // As lido_handle_pool_destroy. Requires: no other thread uses the pool. Cost: proportional to the slots.
    ~basic_handle_pool() { lido_handle_pool_destroy(pool_); }

    // A new object, T(arguments...) or T{arguments...}. If the constructor throws, its place is free again.
    // Threads: as the pool's kind. Fails: pool_exhausted, or what the constructor throws. Cost: as lido_handle_new.
    template <class... A>
    [[nodiscard]] handle_type make(A &&...arguments) {
        handle_type made = try_make(std::forward<A>(arguments)...);
        if (LIDO_UNLIKELY(!made)) detail::fail_exhausted();
        return made;
    }
    // The same without pool_exhausted. Fails: the handle of nothing, and ENOMEM; what the constructor throws.
    // Cost: as lido_handle_new.
    template <class... A>
    [[nodiscard]] handle_type try_make(A &&...arguments) noexcept(detail::constructs_quietly<T, A...>()) {
        lido_handle native = lido_handle_new(pool_, nullptr);
        if (LIDO_UNLIKELY(native.bits == 0)) return handle_type();
        rollback guard{pool_, native};
        detail::construct_at<T>(lido_handle_get(pool_, native), std::forward<A>(arguments)...);
        guard.pool = nullptr;
        return handle_type(native);
    }

    // The object. Fails: nullptr if it is gone. Threads, Cost: as lido_handle_get.
    [[nodiscard]] T *get(handle_type h) noexcept { return static_cast<T *>(lido_handle_get(pool_, h.native())); }
    [[nodiscard]] const T *get(handle_type h) const noexcept {
        return static_cast<const T *>(lido_handle_get(pool_, h.native()));
    }
    // True if this call ended the object. Threads, Cost: as lido_handle_delete.
    bool destroy(handle_type h) noexcept { return lido_handle_delete(pool_, h.native()); }
    // The handle of a live object, the handle of nothing for another address. Cost: as lido_handle_of.
    [[nodiscard]] handle_type of(const T *object) const noexcept {
        return handle_type(lido_handle_of(pool_, static_cast<const void *>(object)));
    }

    // Calls visit(T &, handle<T>) for every live object in address order, and returns how many there were. The call may destroy any
    // object. Requires: no other thread makes or destroys objects; visit does not throw (it is called through C).
    // Cost: proportional to the slots.
    template <class Visit>
    std::size_t for_each(Visit &&visit) noexcept {
        using callable = std::remove_reference_t<Visit>;
        return lido_handle_visit(
            pool_,
            [](void *object, lido_handle native, void *context) {
                (*static_cast<callable *>(context))(*static_cast<T *>(object), handle_type(native));
                return true;
            },
            const_cast<void *>(static_cast<const void *>(std::addressof(visit))));
    }

    // False only after the constructor that takes std::nothrow has failed.
    bool valid() const noexcept { return pool_ != nullptr; }
    // Objects alive, and more. Cost: as lido_handle_pool_stats.
    lido_handle_statistics stats() const noexcept { return lido_handle_pool_stats(pool_); }
    std::size_t live() const noexcept { return stats().live; }
    // The pool beneath, for the calls of <lido/handle.h>; it belongs to this object.
    lido_handle_pool *native() const noexcept { return pool_; }

private:
    struct rollback {
        lido_handle_pool *pool;
        lido_handle native;
        ~rollback() {
            if (pool != nullptr) lido__handle_cancel(pool, native);
        }
    };
    static void end_object(void *object, void *) { static_cast<T *>(object)->~T(); }

    lido_handle_pool *pool_ = nullptr;
};

// One thread at a time; any thread.
template <class T>
using handle_pool = basic_handle_pool<T, LIDO_LOCAL>;
template <class T>
using shared_handle_pool = basic_handle_pool<T, LIDO_SHARED>;

}    // namespace lido

template <class T>
struct std::hash<lido::handle<T>> {
    std::size_t operator()(lido::handle<T> h) const noexcept {
        return static_cast<std::size_t>(h.bits() * UINT64_C(0x9E3779B97F4A7C15));
    }
};

#endif
