// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// lido::allocator and node_allocator in the standard containers: the same contents as with std::allocator, constructors that
// throw at every position, moving and swapping, alignment, and nothing left afterwards.
#include "check.hpp"

#include <lido/lido.hpp>

#include <cstdint>
#include <deque>
#include <forward_list>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

namespace {

struct hash_of {
    std::size_t operator()(const counted &c) const { return static_cast<std::size_t>(c.value); }
};

template <template <class> class A>
struct with {
    using vector = std::vector<counted, A<counted>>;
    using deque = std::deque<counted, A<counted>>;
    using list = std::list<counted, A<counted>>;
    using set = std::set<counted, std::less<>, A<counted>>;
    using map = std::map<long, counted, std::less<>, A<std::pair<const long, counted>>>;
    using hash = std::unordered_map<counted, long, hash_of, std::equal_to<>, A<std::pair<const counted, long>>>;
};
using plain = with<lido::allocator>;
using node = with<lido::node_allocator>;

template <class C>
void add(C &container, long n) {
    if constexpr (std::is_same_v<C, plain::map> || std::is_same_v<C, node::map>) {
        container.emplace(n, counted(n));
    } else if constexpr (std::is_same_v<C, plain::hash> || std::is_same_v<C, node::hash>) {
        container.emplace(counted(n), n);
    } else if constexpr (std::is_same_v<C, plain::set> || std::is_same_v<C, node::set>) {
        container.emplace(n);
    } else {
        container.emplace_back(n);
    }
}

long value_of(const counted &c) { return c.value; }
long value_of(const std::pair<const long, counted> &p) { return p.second.value; }
long value_of(const std::pair<const counted, long> &p) { return p.first.value; }

template <class C>
long sum(const C &container) {
    long sum = 0;
    for (const auto &element : container) sum += value_of(element);
    return sum;
}

// Erasing every other one, copying, moving, swapping.
template <class C>
void work(C container) {
    for (long n = 0; n < 500; n++) add(container, n);
    CHECK(container.size() == 500 && sum(container) == 499 * 500 / 2);
    for (auto it = container.begin(); it != container.end();) {
        if (value_of(*it) % 2 == 1) {
            it = container.erase(it);
        } else {
            ++it;
        }
    }
    CHECK(container.size() == 250 && sum(container) == 249 * 250);
    C copy(container), moved(std::move(container));
    C empty(copy.get_allocator());
    CHECK(sum(copy) == sum(moved));
    std::swap(copy, empty);
    CHECK(copy.empty() && sum(empty) == sum(moved));
    copy = empty;
    empty = std::move(moved);
    CHECK(sum(copy) == 249 * 250 && sum(empty) == 249 * 250);
}

// A constructor that throws at the nth construction, for every n until none does: the container stays usable, and every
// instance and every block is accounted for (`blocks` counts those in use).
template <class C, class Blocks>
void throw_at_every_position(const typename C::allocator_type &allocator, Blocks blocks) {
    for (long at = 0;; at++) {
        counted::restart(at);
        auto before = blocks();
        bool thrown = false;
        {
            C container(allocator);
            try {
                for (long n = 0; n < 8; n++) add(container, n);
                C copy(container);
                container = copy;
            } catch (long position) {
                thrown = true;
                CHECK(position == at);
            }
            counted::throw_at = -1;
            add(container, 100);
            CHECK(!container.empty());
        }
        CHECK(counted::alive() == 0);
        CHECK(blocks() == before);
        if (!thrown) return;
        CHECK(at < 1000);
    }
}

std::size_t heap_bytes() { return lido_process_stats().live_bytes; }

template <class K, class Make>
void every_container(Make make) {
    counted::restart();
    work(typename K::vector(make()));
    work(typename K::deque(make()));
    work(typename K::list(make()));
    work(typename K::set(make()));
    work(typename K::map(make()));
    work(typename K::hash(make()));
    CHECK(counted::alive() == 0);
}

template <class K, class Make, class Blocks>
void every_throw(Make make, Blocks blocks) {
    throw_at_every_position<typename K::vector>(make(), blocks);
    throw_at_every_position<typename K::deque>(make(), blocks);
    throw_at_every_position<typename K::list>(make(), blocks);
    throw_at_every_position<typename K::set>(make(), blocks);
    throw_at_every_position<typename K::map>(make(), blocks);
    throw_at_every_position<typename K::hash>(make(), blocks);
}

void test_allocator() {
    auto make = [] { return lido::allocator<counted>(); };
    every_container<plain>(make);
    std::size_t before = heap_bytes();
    every_container<plain>(make);
    CHECK(heap_bytes() == before);
    every_throw<plain>(make, heap_bytes);
    std::basic_string<char, std::char_traits<char>, lido::allocator<char>> text(1000, 'x');
    text += "yes";
    CHECK(text.size() == 1003 && text.back() == 's');
    std::forward_list<int, lido::allocator<int>> three{1, 2, 3};
    CHECK(three.front() == 1);
    auto shared = std::allocate_shared<std::string>(lido::allocator<std::string>(), 50, 'x');
    CHECK(shared->size() == 50);
}

void test_node_allocator() {
    lido::node_memory memory;
    auto make = [&] { return lido::node_allocator<counted>(memory); };
    every_container<node>(make);
    CHECK(memory.live() == 0);
    every_throw<node>(make, [&] { return memory.live(); });
    CHECK(memory.live() == 0);
}

void test_two_memories() {
    lido::node_memory one, two;
    counted::restart();
    {
        node::list a(one), b(two);
        CHECK(a.get_allocator() != b.get_allocator());
        add(a, 1);
        add(b, 2);
        CHECK(one.live() == 1 && two.live() == 1);
        b = a;    // copies into its own memory
        CHECK(b.get_allocator().memory() == &two && two.live() == 1);
        const counted *element = &a.front();
        b = std::move(a);    // takes the memory along
        CHECK(&b.front() == element && b.get_allocator().memory() == &one && two.live() == 0);
        node::list c(two);
        add(c, 3);
        swap(b, c);
        CHECK(c.get_allocator().memory() == &one && b.front().value == 3);
        node::list d(b);
        CHECK(d.get_allocator() == b.get_allocator());
    }
    CHECK(one.live() == 0 && two.live() == 0 && counted::alive() == 0);
}

struct alignas(4096) Page {
    unsigned char bytes[4096];
};
struct alignas(64) Line {
    int value;
};

template <class A>
void check_alignment(const A &allocator) {
    using T = typename A::value_type;
    typename std::allocator_traits<A>::template rebind_alloc<T> a(allocator);
    for (std::size_t count : {1, 2, 3, 100}) {
        T *p = a.allocate(count);
        CHECK(reinterpret_cast<std::uintptr_t>(p) % alignof(T) == 0);
        a.deallocate(p, count);
    }
}

void test_alignment_and_limits() {
    lido::node_memory memory;
    check_alignment(lido::allocator<Page>());
    check_alignment(lido::allocator<Line>());
    check_alignment(lido::allocator<long double>());
    check_alignment(lido::allocator<char>());
    check_alignment(lido::node_allocator<Page>(memory));
    check_alignment(lido::node_allocator<Line>(memory));
    check_alignment(lido::node_allocator<long double>(memory));
    check_alignment(lido::node_allocator<char>(memory));
    std::list<Line, lido::allocator<Line>> lines(5);
    for (Line &line : lines) CHECK(reinterpret_cast<std::uintptr_t>(&line) % 64 == 0);
    for (std::size_t alignment = 1; alignment <= 64; alignment *= 2)
        for (std::size_t bytes = 0; bytes < 600; bytes++) {
            void *p = memory.try_allocate(bytes, alignment);
            CHECK(p != nullptr && reinterpret_cast<std::uintptr_t>(p) % alignment == 0);
            memory.deallocate(p, bytes, alignment);
        }
    CHECK(memory.live() == 0);
    for (int which = 0; which < 2; which++) {
        bool refused = false;
        try {
            (void)!lido::allocator<int>().allocate(which == 0 ? SIZE_MAX / 2 : SIZE_MAX / 16);
        } catch (const std::bad_array_new_length &) {
            refused = which == 0;
        } catch (const std::bad_alloc &) {
            refused = which == 1;
        }
        CHECK(refused);
    }
    (void)!memory.try_allocate(24, 8);
    (void)!memory.try_allocate(10000, 8);
    CHECK(memory.live() == 1);
    memory.reset();
    CHECK(memory.live() == 0);
}

// Memory of nodes goes back to the system only when asked, and all of it.
void test_trim() {
    lido::node_memory memory;
    std::list<long, lido::node_allocator<long>> list(memory), rest(memory);
    for (long i = 0; i < 100000; i++) list.push_back(i);
    rest.push_back(1);
    list.clear();
    CHECK(memory.live() == 1);
    CHECK(memory.trim() > 0);
    CHECK(memory.live() == 1 && rest.front() == 1);
    for (long i = 0; i < 1000; i++) list.push_back(i);
    CHECK(memory.live() == 1001 && list.back() == 999);
}

}    // namespace

int main() {
    return run_all({CASE(test_allocator), CASE(test_node_allocator), CASE(test_two_memories),
                    CASE(test_alignment_and_limits), CASE(test_trim)});
}
