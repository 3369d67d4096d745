// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// Objects of one class out of a pool, and a pool of several classes.
//
//      lido::object_pool<Conn> conns({.name = "conn", .capacity = 4096});     (designators: C++20, or GCC and Clang)
//      Conn *c = conns.make(socket);
//      conns.destroy(c);
//      auto owned = conns.make_unique(socket);       goes back to the pool by itself
//
// make() is an allocation and the constructor, destroy() the destructor and a free: both inline, no header, no lock for
// object_pool. A pool's capacity is exact. An object_pool keeps the blocks of destroyed objects at hand in itself rather
// than in its lido_pool (steady of script/side-by-side: 1.4 ns an object instead of 1.8).
//
// Unless a call says otherwise: Requires: the pool is valid(). Threads: as the pool's kind: object_pool one at a time, shared_object_pool any. Fails: never. Cost: constant.
#ifndef LIDO_CXX_OBJECT_POOL_HPP
#define LIDO_CXX_OBJECT_POOL_HPP

#include <lido/cxx/allocator.hpp>
#include <lido/cxx/base.hpp>
#include <lido/object.h>
#include <lido/pool.h>

#include <cerrno>
#include <cstdint>
#include <memory>
#include <tuple>

namespace lido {

// The fields of lido_pool_options that the type does not decide; see <lido/pool.h>. Zero is the default of each.
struct pool_options {
    const char *name = nullptr;    // copied; "object" if null
    std::size_t capacity = 0;      // most objects alive at once; 0 is no limit
    std::size_t growth = 0;        // steps, see lido_pool_options
    std::size_t prewarm = 0;       // blocks made ready before the constructor returns
    lido_order order = LIDO_LIFO;
    // What ~object_pool does with objects that are alive: destroy them, or report their number and free their memory.
    lido_live_objects at_destroy = LIDO_LIVE_DESTROYED;
    std::size_t capacity_bytes = 0;    // the capacity in bytes; the smaller of the two holds
    std::size_t growth_max = 0;
    // At the capacity: LIDO_FAIL (make throws pool_exhausted), LIDO_GROW, LIDO_CALL, or LIDO_WAIT in shared pools (make throws
    // pool_timeout after wait_ms). The try_ calls do the same and then return nullptr.
    lido_on_exhausted on_exhausted = LIDO_FAIL;
    lido_exhausted_call *exhausted = nullptr;    // must not throw
    void *exhausted_context = nullptr;
    std::uint32_t wait_ms = 0;    // 0 is no limit
};

namespace detail {

// What the type and the kind of pool decide is left to the caller.
inline lido_pool_options native_options(const pool_options &options) noexcept {
    lido_pool_options native = {};
    native.name = options.name;
    native.order = options.order;
    native.capacity = options.capacity;
    native.capacity_bytes = options.capacity_bytes;
    native.growth = options.growth;
    native.growth_max = options.growth_max;
    native.prewarm = options.prewarm;
    native.on_exhausted = options.on_exhausted;
    native.exhausted = options.exhausted;
    native.exhausted_context = options.exhausted_context;
    native.wait_ms = options.wait_ms;
    return native;
}

}    // namespace detail

// T may be incomplete where the pool is only named, pointed to, or declared as a member; the calls need it complete.
template <class T, lido_threads Threads>
class basic_object_pool {
public:
    // The class of the objects, and an owner that gives its object back to the pool.
    using value_type = T;
    using deleter = pool_deleter<basic_object_pool>;
    using unique = std::unique_ptr<T, deleter>;

    // An empty pool. Requires: nothing. Fails: std::invalid_argument for options out of range, std::bad_alloc.
    // Cost: microseconds.
    explicit basic_object_pool(const pool_options &options = {}) : basic_object_pool(std::nothrow, options) {
        if (pool_ != nullptr) return;
        if (errno == EINVAL)
            detail::fail_options("lido::object_pool: the options are out of range: see lido_pool_options");
        detail::fail_no_memory();
    }

    // The same without exceptions. Requires: nothing. Fails: valid() is false, and errno is EINVAL or ENOMEM. Cost: microseconds.
    basic_object_pool(std::nothrow_t, const pool_options &options = {}) noexcept : at_destroy_(options.at_destroy) {
        static_assert(detail::check_poolable<T>());
        lido_pool_options blocks = detail::native_options(options);
        if (blocks.name == nullptr) blocks.name = "object";
        blocks.block_size = sizeof(T);
        blocks.alignment = alignof(T);
        blocks.threads = Threads;
        pool_ = lido_pool_new(&blocks);
        // A callback that destroys objects must give their blocks to the pool, which asked for them.
        if (keeps && pool_ != nullptr && options.on_exhausted != LIDO_CALL) kept_.start(pool_);
    }

    basic_object_pool(const basic_object_pool &) = delete;
    basic_object_pool &operator=(const basic_object_pool &) = delete;

    // Destroys the objects that are alive, unless the options say to report them, and gives the memory back. Meanwhile a
    // destructor may destroy other objects of the pool, also through unique pointers: the call does nothing, as each object
    // is destroyed exactly once and no memory goes before the last.
    // Requires: no destructor makes objects in this pool; no other thread uses it. Cost: proportional to slabs and objects.
    ~basic_object_pool() {
        static_assert(detail::check_poolable<T>());
        if (pool_ == nullptr) return;
        kept_.give_back(pool_);
        kept_.first = nullptr;    // destroy takes the slow way, which looks at ending_
        if (at_destroy_ == LIDO_LIVE_DESTROYED) {
            ending_ = true;
            if constexpr (!std::is_trivially_destructible_v<T>) lido_pool_visit_live(pool_, destroy_visited, nullptr);
            lido_pool_reset(pool_);
        }
        lido_pool_destroy(pool_);
    }

    // A new object, T(arguments...) or T{arguments...}. If the constructor throws, the block is back in the pool.
    // Threads: as the pool's kind. Fails: pool_exhausted (pool_timeout after a wait), or what the constructor throws.
    // Cost: as lido_pool_alloc, and the constructor.
    template <class... A>
    [[nodiscard]] T *make(A &&...arguments) {
        T *object = try_make(std::forward<A>(arguments)...);
        if (LIDO_UNLIKELY(object == nullptr)) detail::fail_by_errno();
        return object;
    }

    // The same without pool_exhausted. Fails: nullptr with ENOMEM, or ETIMEDOUT after a wait; what the constructor throws.
    // Cost: as make.
    template <class... A>
    [[nodiscard]] T *try_make(A &&...arguments) noexcept(detail::constructs_quietly<T, A...>()) {
        static_assert(detail::check_poolable<T>());
        void *block;
        if (keeps && LIDO_LIKELY(kept_.has_any())) {
            block = kept_.take();
        } else {
            block = keeps ? lido__pool_alloc_slow(pool_) : lido_pool_alloc(pool_);
            if (LIDO_UNLIKELY(block == nullptr)) return nullptr;
        }
        return detail::make_in<T>(*this, block, std::forward<A>(arguments)...);
    }

    // The same with an owner, whose deleter destroys through this pool. Requires: the pool outlives the owner.
    // Threads: a LOCAL pool's owners end in its thread. Fails, Cost: as make.
    template <class... A>
    [[nodiscard]] unique make_unique(A &&...arguments) {
        return unique(make(std::forward<A>(arguments)...), deleter{this});
    }

    // The same with shared owners; their counts lie in a block of lido_malloc. Requires: the pool outlives them.
    // Fails: as make; also std::bad_alloc, and the object is destroyed then. Cost: as make, and lido_malloc.
    template <class... A>
    [[nodiscard]] std::shared_ptr<T> make_shared(A &&...arguments) {
        return std::shared_ptr<T>(make(std::forward<A>(arguments)...), deleter{this}, allocator<T>());
    }

    // Destroys an object and takes its block back. nullptr is ignored. Requires: a live object that this pool made.
    // Threads: SHARED any. Cost: the destructor, and as lido_pool_free.
    void destroy(T *object) noexcept {
        static_assert(detail::check_poolable<T>());
        if (!keeps || LIDO_UNLIKELY(kept_.first == nullptr)) return destroy_unkept(object);
        if (LIDO_UNLIKELY(object == nullptr)) return;
        object->~T();
        kept_.keep(object);
    }

    // False only after the constructor that takes std::nothrow has failed; then no other call is allowed.
    bool valid() const noexcept { return pool_ != nullptr; }

    // Cost: of the first two, as lido_pool_stats; owns: a table look-up.
    lido_pool_statistics stats() const noexcept {
        lido_pool_statistics statistics = lido_pool_stats(pool_);
        statistics.live -= kept_.count();
        return statistics;
    }
    std::size_t live() const noexcept { return stats().live; }
    bool owns(const void *p) const noexcept { return lido_pool_owns(pool_, p); }

    // Bytes given back to the system. Cost: as lido_pool_trim.
    std::size_t trim() noexcept {
        kept_.give_back(pool_);
        return lido_pool_trim(pool_);
    }
    // Sets the most objects alive at once. Fails: false if more are alive, or the pool was made without a capacity.
    // Cost: as lido_pool_set_capacity.
    bool set_capacity(std::size_t capacity) noexcept {
        kept_.give_back(pool_);
        return lido_pool_set_capacity(pool_, capacity) == 0;
    }
    // As lido_pool_prewarm. Fails: false if the system refused. Cost: that of the page faults.
    bool prewarm(std::size_t count) noexcept { return lido_pool_prewarm(pool_, count) == 0; }

    // The pool of blocks, for the calls of <lido/pool.h>; it belongs to this object. A LOCAL one gets the blocks that are
    // kept here; of those that come back later it knows at the next native(), trim() or set_capacity(), and until then it
    // counts them, and visits them, as alive. Cost: proportional to the blocks kept.
    lido_pool *native() const noexcept {
        kept_.give_back(pool_);
        return pool_;
    }

private:
    template <class>
    friend class bare_object_pool;
    static constexpr bool keeps = Threads == LIDO_LOCAL;

    template <class>
    friend struct detail::block_guard;
    void give_block(void *block) noexcept {
        if (kept_.first == nullptr) return lido_pool_free(pool_, block);
        kept_.keep(block);
    }

    void destroy_unkept(T *object) noexcept {
        if constexpr (!std::is_trivially_destructible_v<T>) {
            if (LIDO_UNLIKELY(object == nullptr || ending_)) return;
            object->~T();
        }
        lido_pool_free(pool_, object);
    }
    static bool destroy_visited(void *object, void *) {
        static_cast<T *>(object)->~T();
        return true;
    }

    mutable detail::kept_blocks
        kept_;    // of a SHARED pool none; mutable, as where a free block lies shows in no answer
    lido_pool *pool_ = nullptr;
    lido_live_objects at_destroy_;
    bool ending_ = false;
};

// One thread at a time uses the pool.
template <class T>
using object_pool = basic_object_pool<T, LIDO_LOCAL>;
// Any thread makes and any thread destroys; each keeps a small stock of blocks.
template <class T>
using shared_object_pool = basic_object_pool<T, LIDO_SHARED>;

// An object_pool stripped to its list: destroy is the destructor and two stores, and asks nothing. For that it gives up what
// needs to be asked about: check mode sees only the blocks that have never been reused, destroy takes no nullptr, and objects that are
// alive at the pool's end are reported, not destroyed. script/side-by-side: churn 1.08 ns as object_pool, steady 1.23 instead of 1.28 to
// 1.48, event264 1.90 instead of 2.06; boost::pool, which gives up the same, 1.09, 1.25 and 1.90, but task16 0.88 instead of 1.09.
template <class T>
class bare_object_pool : private object_pool<T> {
    using base = object_pool<T>;

public:
    // The class of the objects, and an owner that gives its object back to the pool.
    using value_type = T;
    using deleter = pool_deleter<bare_object_pool>;
    using unique = std::unique_ptr<T, deleter>;

    // Fails, Cost: as object_pool's.
    explicit bare_object_pool(const char *name = nullptr, std::size_t capacity = 0)
        : base(options_of(name, capacity)) {}
    bare_object_pool(std::nothrow_t, const char *name = nullptr, std::size_t capacity = 0) noexcept
        : base(std::nothrow, options_of(name, capacity)) {}

    using base::live;
    using base::make;
    using base::native;
    using base::owns;
    using base::prewarm;
    using base::stats;
    using base::trim;
    using base::try_make;
    using base::valid;

    // As object_pool's. Requires: the pool outlives the owner. Fails, Cost: as make.
    template <class... A>
    [[nodiscard]] unique make_unique(A &&...arguments) {
        return unique(make(std::forward<A>(arguments)...), deleter{this});
    }

    // Requires: a live object that this pool made, not nullptr. Cost: the destructor and two stores.
    void destroy(T *object) noexcept {
        object->~T();
        this->kept_.keep(object);
    }

private:
    static pool_options options_of(const char *name, std::size_t capacity) noexcept {
        pool_options options;
        options.name = name;
        options.capacity = capacity;
        options.at_destroy = LIDO_LIVE_REPORTED;
        return options;
    }
};

// One pool for each of several classes behind one face:
//
//      lido::variant_pool<Circle, Square> shapes;
//      Circle *c = shapes.make<Circle>(2.0);
//      shapes.destroy(c);                  by static type
//      shapes.destroy_any(p);              by address: p is a void * to any object of the pools
//
// The options hold for each pool; a capacity is one of each. Threads: one at a time.
template <class... Ts>
class variant_pool {
public:
    // Makes the pools. Fails: as basic_object_pool. Cost: microseconds a class.
    explicit variant_pool(const pool_options &options = {}) : pools_(with_options<Ts>(options)...) {
        static_assert(sizeof...(Ts) > 0, "lido: name the classes of the variant_pool");
        static_assert((is_one_of<Ts>() && ...), "lido: name each class of a variant_pool once");
    }

    // The pool of one of the classes. Cost: none.
    template <class T>
    object_pool<T> &of() noexcept {
        static_assert((std::is_same_v<T, Ts> || ...),
                      "lido: this class is not in the list of the variant_pool: add it there");
        return std::get<holder<T>>(pools_).pool;
    }

    // As of<T>().make and of<T>().destroy. Requires, Fails, Cost: as these.
    template <class T, class... A>
    [[nodiscard]] T *make(A &&...arguments) {
        return of<T>().make(std::forward<A>(arguments)...);
    }
    template <class T>
    void destroy(T *object) noexcept {
        of<T>().destroy(object);
    }

    // Destroys the object that starts at p. False if p is in none of the pools; nullptr is ignored and gives true.
    // Requires: p is where the object starts, not a base class within it. Cost: a table look-up a class, until it is found.
    bool destroy_any(void *p) noexcept { return p == nullptr || (destroy_if_owned<Ts>(p) || ...); }

    // Objects alive in all pools. Cost: as lido_pool_stats a class.
    std::size_t live() const noexcept { return (std::get<holder<Ts>>(pools_).pool.live() + ...); }

private:
    template <class T>
    struct holder {    // makes the pool in its place: pools cannot be moved
        explicit holder(const pool_options &options) : pool(options) {}
        object_pool<T> pool;
    };
    template <class T>
    static const pool_options &with_options(const pool_options &options) {
        return options;
    }
    template <class T>
    static constexpr bool is_one_of() {
        return (int(std::is_same_v<T, Ts>) + ...) == 1;
    }
    template <class T>
    bool destroy_if_owned(void *p) noexcept {
        if (!of<T>().owns(p)) return false;
        of<T>().destroy(static_cast<T *>(p));
        return true;
    }

    std::tuple<holder<Ts>...> pools_;
};

}    // namespace lido

#endif
