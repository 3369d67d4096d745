// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// The C++ headers without exceptions and without RTTI: calls that can report failure do, the others end the program with one
// line that says what to do.
#include "check.hpp"

#include <lido/lido.hpp>

#include <csignal>
#include <cstring>
#include <list>
#include <map>
#include <memory>

#if defined(__cpp_exceptions) || defined(__cpp_rtti)
#error "this test is about -fno-exceptions -fno-rtti"
#endif

namespace {

// True if `body` aborts after writing a line with `text`.
bool aborts_with(void (*body)(), const char *text) {
    int ends[2];
    if (pipe(ends) != 0) return false;
    std::fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], 2);
        body();
        _exit(0);
    }
    close(ends[1]);
    char line[512] = "";
    ssize_t length = read(ends[0], line, sizeof line - 1);
    close(ends[0]);
    int status = 0;
    waitpid(child, &status, 0);
    return length > 0 && std::strstr(line, text) != nullptr && WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

lido::pool_options with_capacity(std::size_t capacity) {
    lido::pool_options options;
    options.capacity = capacity;
    return options;
}

void make_five() {
    lido::object_pool<counted> pool(with_capacity(4));
    for (int i = 0; i < 5; i++) (void)!pool.make(i);
}
void make_three_fixed() {
    static lido::fixed_pool<counted, 2> pool;
    for (int i = 0; i < 3; i++) (void)!pool.make(i);
}
void bad_options() {
    lido::pool_options options = with_capacity(1);
    options.prewarm = 2;
    lido::object_pool<counted> pool(options);
}
void allocate_too_much() { (void)!lido::allocator<char>().allocate(SIZE_MAX / 4); }
void allocate_too_many() { (void)!lido::allocator<long>().allocate(SIZE_MAX / 4); }

void test_failures() {
    CHECK(aborts_with(make_five,
                      "lido: pool exhausted, in a program without exceptions: try_make returns nullptr instead\n"));
    CHECK(aborts_with(make_three_fixed, "lido: pool exhausted"));
    CHECK(aborts_with(bad_options, "lido::object_pool: the options are out of range"));
    CHECK(aborts_with(allocate_too_much, "lido: no memory"));
    CHECK(aborts_with(allocate_too_many, "lido: an array larger than the address space"));
}

void test_exhaust() {
    counted::restart();
    lido::object_pool<counted> pool(std::nothrow, with_capacity(4));
    counted *four[4];
    for (int i = 0; i < 4; i++) four[i] = pool.try_make(i);
    CHECK(pool.valid() && pool.try_make(4) == nullptr);
    pool.destroy(four[0]);
    four[0] = pool.try_make(5);
    CHECK(four[0] != nullptr);
    for (counted *one : four) pool.destroy(one);
    CHECK(pool.live() == 0 && counted::made == 5 && counted::ended == 5);
}

struct Event : lido::pooled<Event> {
    long n = 4;
};

void test_the_rest() {
    counted::restart();
    lido::node_memory memory;
    lido::shared_object_pool<counted> pool;
    lido::variant_pool<counted, Event> two;
    lido::fixed_pool<counted, 2> fixed;
    {
        std::map<int, counted, std::less<>, lido::node_allocator<std::pair<const int, counted>>> map(memory);
        std::list<counted, lido::allocator<counted>> list;
        for (int i = 0; i < 100; i++) {
            map.emplace(i, counted(i));
            list.emplace_back(i);
        }
        auto owned = pool.make_unique(1);
        auto shared = pool.make_shared(2);
        auto event = std::make_unique<Event>();
        CHECK(event->n == 4 && lido_pool_owns(Event::native_pool(), event.get()));
        two.destroy(two.make<counted>(3));
        fixed.destroy(fixed.try_make(1));
        lido::object_cache<counted> cache;
        cache.release(cache.try_acquire());
        CHECK(cache.acquire_unique() != nullptr);
        CHECK(cache.stats().idle == 1);
        lido::handle_pool<counted> units;
        lido::handle<counted> unit = units.try_make(6);
        CHECK(units.get(unit)->value == 6 && units.destroy(unit) && units.get(unit) == nullptr);
#if LIDO_CXX_HAS_PMR
        lido::node_resource nodes;
        nodes.deallocate(nodes.allocate(100, 8), 100, 8);
#endif
    }
    CHECK(counted::alive() == 0 && memory.live() == 0 && pool.live() == 0);
}

}    // namespace

int main() { return run_all({CASE(test_failures), CASE(test_exhaust), CASE(test_the_rest)}); }
