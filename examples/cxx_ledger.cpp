// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// What a pool saves and what it does not: a million objects made and destroyed one after the other, with every request to
// the program's operator new counted.
//
// Prints:
//                       heap allocations         bytes  constructed    destroyed
//     new and delete             1000000      56000000      1000000      1000000
//     pool of 4096                     1        229376      1000000      1000000
//     contents equal: yes
#include <lido/cxx/fixed_pool.hpp>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

struct Ledger {
    std::size_t allocations, bytes, constructed, destroyed;
    std::uint64_t contents;
};
static Ledger ledger;

[[gnu::noinline]] void *operator new(std::size_t bytes) {
    ledger.allocations++;
    ledger.bytes += bytes;
    void *p = std::malloc(bytes);
    if (p == nullptr) throw std::bad_alloc();
    return p;
}
[[gnu::noinline]] void operator delete(void *p) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void *p, std::size_t) noexcept { std::free(p); }

struct Message {
    std::uint64_t untouched[3];
    char text[28];
    std::uint32_t tag;
    explicit Message(unsigned serial) noexcept : tag(0x80000000u | serial) {
        std::memset(text, static_cast<int>(serial & 0x7f), sizeof text);
        ledger.constructed++;
    }
    ~Message() {
        ledger.contents += tag + static_cast<std::uint64_t>(text[27]);
        ledger.destroyed++;
    }
};

template <class Make, class End>
static void churn(Make make, End end) {
    for (unsigned i = 0; i < 1000000; i++) {
        Message *message = make(i);
        __asm__ volatile("" : : "r"(message) : "memory");    // or the compiler drops the pair of new and delete
        end(message);
    }
}

static void print(const char *name, const Ledger &l) {
    std::printf("%-16s%18zu%14zu%13zu%13zu\n", name, l.allocations, l.bytes, l.constructed, l.destroyed);
}

int main() {
    std::printf("%-16s%18s%14s%13s%13s\n", "", "heap allocations", "bytes", "constructed", "destroyed");
    ledger = {};
    churn([](unsigned i) { return new Message(i); }, [](Message *m) { delete m; });
    Ledger heap = ledger;
    print("new and delete", heap);

    ledger = {};
    constexpr std::size_t bytes = lido::fixed_pool<Message, 4096>::storage_bytes;
    void *buffer = operator new(bytes);
    {
        lido::buffer_pool<Message> pool(buffer, bytes);
        churn([&](unsigned i) { return pool.make(i); }, [&](Message *m) { pool.destroy(m); });
    }
    operator delete(buffer);
    Ledger of_pool = ledger;
    print("pool of 4096", of_pool);
    std::printf("contents equal: %s\n", heap.contents == of_pool.contents ? "yes" : "no");
}
