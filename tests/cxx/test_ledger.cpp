// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// The row `ledger` of the workloads, counted at the program's operator new: what a pool saves, allocations, and what it
// does not, constructions and destructions.
#include "check.hpp"

#include <lido/lido.hpp>

#include <cstdint>
#include <cstring>
#include <memory>

static std::size_t heap_allocations, heap_bytes;

[[gnu::noinline]] void *operator new(std::size_t size) {
    heap_allocations++;
    heap_bytes += size;
    void *p = std::malloc(size);
    if (p == nullptr) std::abort();
    return p;
}
[[gnu::noinline]] void *operator new[](std::size_t size) { return operator new(size); }
[[gnu::noinline]] void operator delete(void *p) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void *p, std::size_t) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete[](void *p) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete[](void *p, std::size_t) noexcept { std::free(p); }

namespace {

// The object of churn, steady and ledger.
struct Message {
    static inline long constructed = 0, destroyed = 0;
    static inline std::uint64_t sum = 0;
    std::uint64_t untouched[3];
    char text[28];
    std::uint32_t tag;
    explicit Message(int serial) noexcept : tag(0x80000000u | static_cast<std::uint32_t>(serial)) {
        std::memset(text, serial & 0x7f, sizeof text);
        constructed++;
    }
    ~Message() {
        sum += tag + static_cast<std::uint64_t>(text[27]);
        tag = 0;
        destroyed++;
    }
};
static_assert(sizeof(Message) == 56, "the published workloads use 56 bytes");
using MessagePool = lido::fixed_pool<Message, 4096>;
static_assert(MessagePool::storage_bytes == 229376, "no overhead a block");

struct Book {
    std::size_t allocations, bytes;
    long constructed, destroyed;
    std::uint64_t sum;
};

template <class Make, class End>
Book churn(Make make, End end) {
    heap_allocations = heap_bytes = 0;
    Message::constructed = Message::destroyed = 0;
    Message::sum = 0;
    for (int i = 0; i < 1000000; i++) {
        Message *message = make(i);
        __asm__ volatile("" : : "r"(message) : "memory");    // a pair of new and delete may not be dropped
        end(message);
    }
    return {heap_allocations, heap_bytes, Message::constructed, Message::destroyed, Message::sum};
}

void test_ledger() {
    Book heap = churn([](int i) { return new Message(i); }, [](Message *m) { delete m; });
    CHECK(heap.allocations == 1000000);
    CHECK(heap.bytes == 56000000);
    CHECK(heap.constructed == 1000000 && heap.destroyed == 1000000);

    heap_allocations = heap_bytes = 0;
    std::unique_ptr<unsigned char[]> buffer(new unsigned char[MessagePool::storage_bytes]);
    CHECK(heap_allocations == 1);
    CHECK(heap_bytes == 229376);
    lido::buffer_pool<Message> fixed(buffer.get(), MessagePool::storage_bytes);
    CHECK(fixed.capacity() == 4096);
    Book of_fixed = churn([&](int i) { return fixed.make(i); }, [&](Message *m) { fixed.destroy(m); });
    CHECK(of_fixed.allocations == 0);    // the one above is all
    CHECK(of_fixed.constructed == 1000000 && of_fixed.destroyed == 1000000 && of_fixed.sum == heap.sum);
    CHECK(fixed.live() == 0 && fixed.high_water() == 1);

    lido::pool_options options;
    options.capacity = 4096;
    lido::object_pool<Message> pool(options);
    Book of_pool = churn([&](int i) { return pool.make(i); }, [&](Message *m) { pool.destroy(m); });
    CHECK(of_pool.allocations == 0);
    CHECK(of_pool.constructed == 1000000 && of_pool.destroyed == 1000000 && of_pool.sum == heap.sum);
    CHECK(pool.live() == 0);
}

// With 256 alive at a time: the heap sees every object.
void test_steady() {
    constexpr int alive = 256;
    auto steady = [](auto make, auto end) {
        heap_allocations = 0;
        Message::constructed = Message::destroyed = 0;
        static Message *held[alive];
        for (int i = 0; i < alive; i++) held[i] = make(i);
        for (int i = 0; i < 1000000; i++) {
            end(held[i % alive]);
            held[i % alive] = make(i);
        }
        for (Message *one : held) end(one);
        return heap_allocations;
    };
    lido::object_pool<Message> pool;
    CHECK(steady([](int i) { return new Message(i); }, [](Message *m) { delete m; }) == 1000256);
    CHECK(steady([&](int i) { return pool.make(i); }, [&](Message *m) { pool.destroy(m); }) == 0);
    CHECK(Message::constructed == 1000256 && Message::destroyed == 1000256 && pool.live() == 0);
}

}    // namespace

int main() { return run_all({CASE(test_ledger), CASE(test_steady)}); }
