// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// Objects that stay constructed between uses: lido_object_acquire and lido_object_release with types. For objects that are dear to make
// (a connection, a buffer that has grown, a parser with its tables) and cheap to bring back into order.
//
//      lido::object_cache<Parser> parsers;                         each made by Parser()
//      Parser *p = parsers.acquire();
//      parsers.release(p);                                         p->~Parser() does not run
//      auto owned = parsers.acquire_unique();                      released by itself
//
//      lido::cache_options<Conn> options;
//      options.pool.capacity = 4;
//      options.pool.on_exhausted = LIDO_WAIT;                      acquire waits for a release
//      options.construct = [&](void *place) { ::new (place) Conn(address); };
//      options.reset = [](Conn &conn) { conn.clear(); };           at each release
//      lido::shared_object_cache<Conn> conns(options);
//
// Unless a call says otherwise: Requires: nothing. Threads: as the cache's kind: object_cache one at a time, shared_object_cache any. Fails: never. Cost: constant.
#ifndef LIDO_CXX_OBJECT_CACHE_HPP
#define LIDO_CXX_OBJECT_CACHE_HPP

#include <lido/cxx/object_pool.hpp>
#include <lido/object.h>

#include <cerrno>
#include <exception>
#include <functional>
#include <memory>

namespace lido {

// What a cache is made with; the default of each is nothing.
template <class T>
struct cache_options {
    pool_options pool;                             // the capacity counts acquired and idle objects
    std::size_t idle_max = 0;                      // most objects kept constructed; 0 is no limit
    std::function<void(void *place)> construct;    // makes a T at `place`, or throws; T() if empty
    std::function<void(T &)> reset;                // must not throw; nothing if empty
};

// object_cache and shared_object_cache, see below.
template <class T, lido_threads Threads>
class basic_object_cache {
public:
    // The class of the objects, and what releases one.
    using value_type = T;
    struct releaser {
        basic_object_cache *cache = nullptr;
        // What std::unique_ptr calls at its end.
        void operator()(T *object) const noexcept { cache->release(object); }
    };
    // Releases its object at its end.
    using unique = std::unique_ptr<T, releaser>;

    // Fails: std::invalid_argument for options out of range, std::bad_alloc. Cost: microseconds.
    explicit basic_object_cache(const cache_options<T> &options = {})
        : construct_(options.construct), reset_(options.reset) {
        static_assert(detail::check_poolable<T>());
        lido_type type = {};
        type.name = options.pool.name;
        type.size = sizeof(T);
        type.align = alignof(T);
        type.construct = make_object;
        type.destroy = end_object;
        if (reset_) type.reset = reset_object;
        type.context = this;
        lido_object_options native = {};
        native.pool = detail::native_options(options.pool);
        native.pool.threads = Threads;
        native.idle_max = options.idle_max;
        native.at_destroy = options.pool.at_destroy;
        pool_ = lido_object_pool_new(&type, &native);
        if (pool_ != nullptr) return;
        if (errno == EINVAL)
            detail::fail_options("lido::object_cache: the options are out of range: see lido_object_options");
        detail::fail_no_memory();
    }
    basic_object_cache(const basic_object_cache &) = delete;
    basic_object_cache &operator=(const basic_object_cache &) = delete;
    // As lido_object_pool_destroy: also objects that were not released are destroyed, unless the options say to report them.
    // Requires: no other thread uses the cache or its objects. Cost: proportional to slabs and objects.
    ~basic_object_cache() { lido_object_pool_destroy(pool_); }

    // A constructed object: one that was released, else a new one. Threads: as the cache's kind.
    // Fails: pool_exhausted, pool_timeout after a wait, or what the constructor throws. Cost: as lido_object_acquire.
    [[nodiscard]] T *acquire() {
        T *object = try_acquire();
        if (LIDO_UNLIKELY(object == nullptr)) detail::fail_by_errno();
        return object;
    }
    // The same without pool_exhausted. Fails: nullptr with ENOMEM, or ETIMEDOUT after a wait; what the constructor throws.
    // Cost: as lido_object_acquire.
    [[nodiscard]] T *try_acquire() {
        void *object = lido_object_acquire(pool_);
#if LIDO__CXX_THROWS
        if (LIDO_UNLIKELY(object == nullptr && pending() != nullptr)) {
            std::exception_ptr thrown = pending();
            pending() = nullptr;
            std::rethrow_exception(thrown);
        }
#endif
        return static_cast<T *>(object);
    }
    // The same with an owner that releases. Requires: the cache outlives it. Fails, Cost: as acquire.
    [[nodiscard]] unique acquire_unique() { return unique(acquire(), releaser{this}); }

    // Brings the object back; it stays constructed unless idle_max are. nullptr is ignored. Requires: an object that this cache
    // gave and that was not released since. Threads: SHARED any. Cost: as lido_object_release.
    void release(T *object) noexcept { lido_object_release(pool_, object); }
    // Ends the object instead, for one that is broken. Requires: as release. Cost: as lido_object_delete.
    void destroy(T *object) noexcept { lido_object_delete(pool_, object); }

    // Destroys idle objects; bytes given back. Cost: as lido_object_pool_trim.
    std::size_t trim() noexcept { return lido_object_pool_trim(pool_); }
    // Cost: as lido_object_pool_stats.
    lido_object_statistics stats() const noexcept { return lido_object_pool_stats(pool_); }
    // The pool beneath, for the calls of <lido/object.h>; it belongs to this object.
    lido_object_pool *native() const noexcept { return pool_; }

private:
    // The exception of the calling thread's constructor, on its way past the C part.
    static std::exception_ptr &pending() noexcept {
        static thread_local std::exception_ptr thrown;
        return thrown;
    }
    void make(void *place) {
        if (construct_) {
            construct_(place);
        } else if constexpr (std::is_default_constructible_v<T>) {
            ::new (place) T();
        } else {
            detail::fail_options("lido::object_cache: T has no default constructor: set cache_options.construct");
        }
    }
    static int make_object(void *place, void *, void *context) {
        auto *cache = static_cast<basic_object_cache *>(context);
#if LIDO__CXX_THROWS
        try {
            cache->make(place);
        } catch (...) {
            pending() = std::current_exception();
            return ECANCELED;
        }
#else
        cache->make(place);
#endif
        return 0;
    }
    static void end_object(void *object, void *) { static_cast<T *>(object)->~T(); }
    static void reset_object(void *object, void *context) {
        static_cast<basic_object_cache *>(context)->reset_(*static_cast<T *>(object));
    }

    std::function<void(void *)> construct_;
    std::function<void(T &)> reset_;
    lido_object_pool *pool_ = nullptr;
};

// One thread at a time; any thread.
template <class T>
using object_cache = basic_object_cache<T, LIDO_LOCAL>;
template <class T>
using shared_object_cache = basic_object_cache<T, LIDO_SHARED>;

}    // namespace lido

#endif
