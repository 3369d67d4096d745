// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// g++ and libstdc++ under test: containers, strings, streams, exceptions (also from new), over-aligned new, pmr, threads.
#include <algorithm>
#include <cstdint>
#include <deque>
#include <future>
#include <iostream>
#include <list>
#include <map>
#include <memory>
#include <memory_resource>
#include <new>
#include <numeric>
#include <regex>
#include <sstream>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

namespace {

struct alignas(128) wide {
    unsigned char bytes[384];
};

struct thrower {
    explicit thrower(int n) {
        if (n % 3 == 0) throw std::runtime_error("constructor");
    }
};

unsigned next(unsigned &x) { return (x = x * 1103515245u + 12345u) >> 8; }

std::size_t containers(unsigned seed) {
    std::map<std::string, std::vector<int>> tree;
    std::unordered_map<unsigned, std::string> table;
    std::list<std::string> list;
    std::deque<std::unique_ptr<std::string>> queue;
    for (int i = 0; i < 20000; i++) {
        const unsigned r = next(seed);
        tree["key" + std::to_string(r % 700)].push_back(i);
        table[r % 3000] += static_cast<char>('a' + r % 26);
        list.emplace_back(r % 90, 'l');
        if (list.size() > 500) list.pop_front();
        queue.push_back(std::make_unique<std::string>(r % 300, 'q'));
        if (r % 5 == 0) queue.pop_front();
    }
    std::size_t sum = tree.size() + table.size();
    for (const auto &[key, values] : tree) sum += key.size() * values.size();
    for (const auto &text : queue) sum += text->size();
    return std::accumulate(list.begin(), list.end(), sum,
                           [](std::size_t s, const std::string &t) { return s + t.size(); });
}

int exceptions() {
    int caught = 0;
    for (int i = 0; i < 3000; i++) {
        try {
            std::vector<std::unique_ptr<thrower>> made;
            for (int k = 1; k < 9; k++) made.push_back(std::make_unique<thrower>(i + k));
        } catch (const std::runtime_error &) {
            caught++;
        }
    }
    // More than PTRDIFF_MAX: bad_alloc from new, a null pointer from the nothrow form. volatile keeps the compiler out of it.
    volatile std::size_t huge = SIZE_MAX - 64;
    try {
        ::operator delete(::operator new(huge));
    } catch (const std::bad_alloc &) {
        caught++;
    }
    if (::operator new(huge, std::nothrow) == nullptr) caught++;
    if (::operator new[](huge, std::align_val_t{64}, std::nothrow) == nullptr) caught++;
    return caught;
}

int handler_calls = 0;
int new_handler() {
    std::set_new_handler([] {
        if (++handler_calls == 3) std::set_new_handler(nullptr);
    });
    volatile std::size_t huge = SIZE_MAX - 64;
    try {
        ::operator delete(::operator new(huge));
    } catch (const std::bad_alloc &) {
        return handler_calls;
    }
    return -1;
}

int aligned() {
    int good = 0;
    for (int i = 0; i < 500; i++) {
        auto one = std::make_unique<wide>();
        std::vector<wide> many(static_cast<std::size_t>(i % 7 + 1));
        std::unique_ptr<wide[]> array(new wide[3]);
        good += reinterpret_cast<std::uintptr_t>(one.get()) % 128 == 0 &&
                reinterpret_cast<std::uintptr_t>(many.data()) % 128 == 0 &&
                reinterpret_cast<std::uintptr_t>(array.get()) % 128 == 0;
    }
    return good;
}

std::size_t pmr() {
    std::pmr::synchronized_pool_resource pool;
    std::pmr::monotonic_buffer_resource buffer(1024, &pool);
    std::pmr::vector<std::pmr::string> texts(&buffer);
    for (int i = 0; i < 3000; i++) texts.emplace_back(static_cast<std::size_t>(i % 200), 'p');
    return std::accumulate(texts.begin(), texts.end(), std::size_t{0},
                           [](std::size_t s, const auto &t) { return s + t.size(); });
}

}    // namespace

int main() {
    std::vector<std::future<std::size_t>> parts;
    for (unsigned seed = 1; seed < 7; seed++) parts.push_back(std::async(std::launch::async, containers, seed));
    for (auto &part : parts) std::cout << part.get() << ' ';
    std::cout << "\nexceptions " << exceptions() << " handler " << new_handler() << " aligned " << aligned() << " pmr "
              << pmr() << '\n';
    std::ostringstream out;
    for (int i = 0; i < 5000; i++) out << i << ',' << i / 7.0 << ';';
    const std::string text = out.str();
    const std::regex number("([0-9]+),");
    std::cout << text.size() << ' '
              << std::distance(std::sregex_iterator(text.begin(), text.begin() + 20000, number), std::sregex_iterator())
              << '\n';
    for (int i = 0; i < 100; i++) {
        thread_local std::vector<std::string> kept;
        std::thread([] {
            for (int k = 0; k < 50; k++) kept.emplace_back(static_cast<std::size_t>(k * 10), 't');
        }).join();
    }
    std::cout << "done\n";
    return 0;
}
