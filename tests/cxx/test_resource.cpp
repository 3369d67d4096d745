// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// std::pmr over lido: each resource honours sizes and alignments, carries containers, and leaves nothing behind.
#include "check.hpp"

#include <lido/lido.hpp>

#include <cstdint>

#if LIDO_CXX_HAS_PMR
#include <cstring>
#include <list>
#include <map>
#include <string>
#include <vector>

namespace {

void use(std::pmr::memory_resource &resource) {
    for (std::size_t alignment = 1; alignment <= 4096; alignment *= 4)
        for (std::size_t bytes : {0, 1, 7, 24, 64, 100, 1000, 70000}) {
            void *p = resource.allocate(bytes, alignment), *q = resource.allocate(bytes, alignment);
            CHECK(p != q && reinterpret_cast<std::uintptr_t>(p) % alignment == 0);
            std::memset(p, 1, bytes);
            std::memset(q, 2, bytes);
            resource.deallocate(p, bytes, alignment);
            resource.deallocate(q, bytes, alignment);
        }
    std::pmr::map<int, std::pmr::string> map(&resource);
    for (int i = 0; i < 300; i++) map.emplace(i, std::pmr::string(static_cast<std::size_t>(i), 'x', &resource));
    for (int i = 0; i < 300; i += 2) map.erase(i);
    std::size_t bytes = 0;
    for (auto &entry : map) bytes += entry.second.size();
    CHECK(bytes == 150 * 150);
    CHECK(resource.is_equal(resource) && !resource.is_equal(*std::pmr::null_memory_resource()));
}

void test_process_resource() {
    std::size_t before = lido_process_stats().live_bytes;
    use(*lido::process_resource());
    CHECK(lido_process_stats().live_bytes == before);
    CHECK(lido::process_resource() == lido::process_resource());
}

void test_heap_resource() {
    lido::heap_resource local, shared(LIDO_SHARED, "shared");
    use(local);
    use(shared);
    CHECK(!local.is_equal(shared));
    std::memset(local.allocate(100, 8), 3, 100);    // goes with the heap
}

void test_node_resource() {
    lido::node_resource nodes;
    use(nodes);
    CHECK(nodes.live() == 0);
    std::memset(nodes.allocate(40, 8), 3, 40);
    CHECK(nodes.live() == 1);
    nodes.reset();
    CHECK(nodes.live() == 0);
}

void test_pool_resource() {
    lido_pool_options options = {};
    options.name = "nodes";
    options.block_size = 96;
    options.capacity = 400;
    lido_pool *pool = lido_pool_new(&options);
    {
        lido::pool_resource resource(pool);
        use(resource);
        CHECK(lido_pool_stats(pool).live == 0 && lido_pool_stats(pool).high_water > 100);
        std::pmr::list<long> list(&resource);
        bool exhausted = false;
        try {
            for (long i = 0; i < 401; i++) list.push_back(i);
        } catch (const lido::pool_exhausted &) {
            exhausted = list.size() == 400;
        }
        CHECK(exhausted && lido_pool_stats(pool).live == 400);
        list.pop_back();
        list.push_back(1);
    }
    CHECK(lido_pool_stats(pool).live == 0);
    lido_pool_destroy(pool);
}

void test_arena_resource() {
    lido_arena *arena = lido_arena_new(nullptr);
    {
        lido::arena_resource resource(arena);
        use(resource);
        std::pmr::vector<int> numbers(1000, 3, &resource);
        CHECK(lido_arena_owns(arena, numbers.data()));
    }
    lido_arena_free(arena);
}

}    // namespace

int main() {
    return run_all({CASE(test_process_resource), CASE(test_heap_resource), CASE(test_node_resource),
                    CASE(test_pool_resource), CASE(test_arena_resource)});
}
#else
int main() {
    std::puts("skipped: the standard library has no <memory_resource>");
    return 77;
}
#endif
