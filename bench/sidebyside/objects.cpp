// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// Single objects: churn, steady, event264 and the tasks of 16, 64 and 512 bytes. Each contender is its library's call for
// one object in the form that its manual shows; constructors and destructors are the same.
#include "sidebyside.hpp"

#include <lido/lido.hpp>

#include <cstring>
#include <memory_resource>
#include <new>
#if SIDE_HAS_BOOST
#include <boost/pool/object_pool.hpp>
#include <boost/pool/pool.hpp>
#include <boost/pool/pool_alloc.hpp>
#endif
#if SIDE_HAS_FOONATHAN
#include <foonathan/memory/memory_pool.hpp>
#endif

namespace {

using side::escape;

constexpr std::size_t capacity = 4096;    // of pools that take one; the first step of those that take that

// --- the objects ------------------------------------------------------------------------------------------------------

// The destructors let their object escape: without it the compiler drops what they write, as nothing can read it.
struct message {
    std::uint64_t untouched[3];
    char text[28];
    std::uint32_t tag;
    explicit message(std::uint64_t serial) noexcept {
        std::memset(text, static_cast<int>(serial & 0x7f), sizeof text);
        tag = 0x80000000u | static_cast<std::uint32_t>(serial);
    }
    ~message() {
        tag = 0;
        escape(this);
    }
    std::uint64_t read() const { return tag + static_cast<std::uint64_t>(text[27]); }
};
static_assert(sizeof(message) == 56, "the published workloads use 56 bytes");

struct event {
    std::uint64_t time, source;
    std::uint32_t kind, length;
    char name[48];
    unsigned char payload[192];
    explicit event(std::uint64_t serial) noexcept
        : time(serial), source(serial >> 4), kind(static_cast<std::uint32_t>(serial % 7)), length(0) {
        std::memset(name, 0, sizeof name);
    }
    ~event() {
        kind = UINT32_MAX;
        escape(this);
    }
    std::uint64_t read() const { return time + 3 * source + 5 * kind + length + static_cast<std::uint64_t>(name[47]); }
};
static_assert(sizeof(event) == 264, "the published workload uses 264 bytes");

template <std::size_t Size>
struct task {
    static constexpr std::size_t last = Size / 8 - 1;
    std::uint64_t words[Size / 8];
    explicit task(std::uint64_t serial) noexcept {
        words[0] = serial;
        words[last] = serial + 7;
        words[1] = serial * 3 + 1;    // after the last one, which it is in a task of two words
    }
    ~task() {
        words[1] = 0;
        escape(this);
    }
    std::uint64_t read() const { return words[0] + 5 * words[1] + 11 * words[last]; }
};

// --- the contenders ---------------------------------------------------------------------------------------------------

lido::pool_options limited() {
    lido::pool_options options;
    options.capacity = capacity;
    return options;
}

template <class T>
struct lido_object {
    lido::object_pool<T> pool{limited()};
    T *make(std::uint64_t serial) { return pool.make(serial); }
    void end(T *object) { pool.destroy(object); }
};

template <class T>
struct lido_bare {
    lido::bare_object_pool<T> pool{nullptr, capacity};
    T *make(std::uint64_t serial) { return pool.make(serial); }
    void end(T *object) { pool.destroy(object); }
};

template <class T>
struct lido_fixed {
    lido::fixed_pool<T, capacity> pool;
    T *make(std::uint64_t serial) { return pool.make(serial); }
    void end(T *object) { pool.destroy(object); }
};

template <class T>
struct lido_shared {
    lido::shared_object_pool<T> pool;
    T *make(std::uint64_t serial) { return pool.make(serial); }
    void end(T *object) { pool.destroy(object); }
};

template <class T>
struct new_delete {
    T *make(std::uint64_t serial) { return new T(serial); }
    void end(T *object) { delete object; }
};

// What blocks without types share. Memory: void *take(), void give(void *).
template <class T, class Memory>
struct placed : Memory {
    T *make(std::uint64_t serial) { return ::new (this->take()) T(serial); }
    void end(T *object) {
        object->~T();
        this->give(object);
    }
};

// A bare intrusive list over an array: the least that a pool can do.
template <class T>
struct bare_list {
    union block {
        block *next;
        alignas(T) unsigned char bytes[sizeof(T)];
    };
    std::unique_ptr<block[]> blocks{new block[capacity]};
    block *free = nullptr;
    bare_list() {
        for (std::size_t i = capacity; i-- > 0;) give(&blocks[i]);
    }
    void *take() {
        block *taken = free;
        free = taken->next;
        return taken;
    }
    void give(void *p) {
        block *given = static_cast<block *>(p);
        given->next = free;
        free = given;
    }
};

template <class T>
struct pmr_pool {
    std::pmr::unsynchronized_pool_resource pool;
    void *take() { return pool.allocate(sizeof(T), alignof(T)); }
    void give(void *p) { pool.deallocate(p, sizeof(T), alignof(T)); }
};

// Gives nothing back by itself: it is emptied after so many objects, all of which are dead by then.
template <class T>
struct pmr_monotonic {
    std::unique_ptr<unsigned char[]> buffer{new unsigned char[capacity * sizeof(T) + 64]};
    std::pmr::monotonic_buffer_resource memory{buffer.get(), capacity * sizeof(T) + 64};
    std::size_t given = 0;
    void *take() { return memory.allocate(sizeof(T), alignof(T)); }
    void give(void *) {
        if (++given < capacity) return;
        given = 0;
        memory.release();
    }
};

#if SIDE_HAS_BOOST
template <class T>
struct boost_pool {
    boost::pool<> pool{sizeof(T), capacity};
    void *take() {    // says "no" by nullptr, as boost::object_pool does: callers have to ask
        void *block = pool.malloc();
        if (__builtin_expect(block == nullptr, 0)) throw std::bad_alloc();
        return block;
    }
    void give(void *p) { pool.free(p); }
};

template <class T>
struct boost_object {
    boost::object_pool<T> pool;
    T *make(std::uint64_t serial) {
        T *object = pool.construct(serial);
        if (__builtin_expect(object == nullptr, 0)) throw std::bad_alloc();
        return object;
    }
    void end(T *object) { pool.destroy(object); }
};

template <class T>
struct boost_fast {
    using memory = boost::fast_pool_allocator<T>;
    void *take() { return memory::allocate(); }
    void give(void *p) { memory::deallocate(static_cast<T *>(p)); }
};

template <class T>
struct boost_fast_unlocked {
    using memory =
        boost::fast_pool_allocator<T, boost::default_user_allocator_new_delete, boost::details::pool::null_mutex>;
    void *take() { return memory::allocate(); }
    void give(void *p) { memory::deallocate(static_cast<T *>(p)); }
};
#endif

#if SIDE_HAS_FOONATHAN
template <class T>
struct foonathan_node {
    using node_pool = foonathan::memory::memory_pool<foonathan::memory::node_pool>;
    node_pool pool{sizeof(T), node_pool::min_block_size(sizeof(T), capacity)};
    void *take() { return pool.allocate_node(); }
    void give(void *p) { pool.deallocate_node(p); }
};
#endif

// --- the work ---------------------------------------------------------------------------------------------------------

template <class Maker>
struct churn final : side::contest {
    Maker maker;
    std::uint64_t pass(std::uint64_t count) override {
        std::uint64_t sum = 0;
        for (std::uint64_t i = 0; i < count; i++) {
            auto *object = maker.make(i);
            escape(object);
            sum += object->read();
            maker.end(object);
        }
        return sum;
    }
};

template <class Maker>
struct steady final : side::contest {
    static constexpr std::size_t alive = 256;
    Maker maker;
    message *ring[alive];
    steady() {
        for (std::size_t i = 0; i < alive; i++) ring[i] = maker.make(i);
    }
    ~steady() override {
        for (message *one : ring) maker.end(one);
    }
    std::uint64_t pass(std::uint64_t count) override {
        std::uint64_t sum = 0;
        for (std::uint64_t i = 0; i < count; i++) {
            message *&place = ring[i % alive];
            sum += i < alive ? 0 : place->read();    // those of the pass before do not count
            maker.end(place);
            place = maker.make(i);
            escape(place);
        }
        return sum;
    }
};

template <template <class> class Work, class T>
void add_all(side::row &row) {
    using side::owner;
    using side::threads;
    row.add<Work<lido_object<T>>>("lido::object_pool", owner::lido, threads::one);
    row.add<Work<lido_bare<T>>>("lido::bare_object_pool", owner::lido, threads::one);
    row.add<Work<lido_fixed<T>>>("lido::fixed_pool", owner::lido, threads::one);
    row.add<Work<lido_shared<T>>>("lido::shared_object_pool", owner::lido, threads::any);
    row.add<Work<placed<T, bare_list<T>>>>("bare list", owner::yardstick, threads::one);
#if SIDE_HAS_BOOST
    row.add<Work<placed<T, boost_pool<T>>>>("boost::pool", owner::peer, threads::one);
    row.add<Work<boost_object<T>>>("boost::object_pool", owner::peer, threads::one);
    row.add<Work<placed<T, boost_fast_unlocked<T>>>>("boost fast_pool, unlocked", owner::peer, threads::one);
    row.add<Work<placed<T, boost_fast<T>>>>("boost fast_pool", owner::peer, threads::any);
#endif
#if SIDE_HAS_FOONATHAN
    row.add<Work<placed<T, foonathan_node<T>>>>("foonathan memory_pool", owner::peer, threads::one);
#endif
    row.add<Work<placed<T, pmr_pool<T>>>>("pmr unsynchronized", owner::peer, threads::one);
    row.add<Work<new_delete<T>>>("new and delete", owner::peer, threads::any);
}

template <class T>
void add_churn(std::vector<side::row> &rows, const char *name, const char *help) {
    rows.push_back({name, help, 1000000, {}});
    add_all<churn, T>(rows.back());
    rows.back().add<churn<placed<T, pmr_monotonic<T>>>>("pmr monotonic", side::owner::peer, side::threads::one);
}

}    // namespace

void side::add_objects(std::vector<row> &rows) {
    add_churn<message>(rows, "churn", "an object of 56 bytes made and destroyed at once");
    rows.push_back({"steady", "256 objects of 56 bytes alive; the oldest destroyed, one made", 1000000, {}});
    add_all<steady, message>(rows.back());
    add_churn<event>(rows, "event264", "an event of 264 bytes made and destroyed at once");
    add_churn<task<16>>(rows, "task16", "a task of 16 bytes made and destroyed at once");
    add_churn<task<64>>(rows, "task64", "a task of 64 bytes made and destroyed at once");
    add_churn<task<512>>(rows, "task512", "a task of 512 bytes made and destroyed at once");
}
