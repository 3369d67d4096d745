// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// lido::object_cache, lido::handle_pool, and what object pools do at their capacity.
#include "check.hpp"

#include <lido/lido.hpp>

#include <atomic>
#include <cerrno>
#include <memory>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

// --- objects that stay constructed ----------------------------------------------------------------------------------

static void stays_constructed() {
    counted::restart();
    {
        lido::object_cache<counted> cache;
        counted *first = cache.acquire();
        first->value = 5;
        cache.release(first);
        counted *again = cache.acquire();
        CHECK(again == first && again->value == 5);
        CHECK(counted::made == 1 && counted::ended == 0);
        {
            auto owned = cache.acquire_unique();
            CHECK(counted::made == 2 && cache.stats().live == 2);
        }
        CHECK(cache.stats().idle == 1 && counted::ended == 0);
        cache.destroy(again);
        CHECK(counted::ended == 1);
        cache.trim();
        CHECK(counted::ended == 2);
        CHECK(cache.acquire() != nullptr);    // is destroyed with the cache
        cache.release(nullptr);
    }
    CHECK(counted::made == 3 && counted::ended == 3);
}

static void made_and_reset_by_functions() {
    counted::restart();
    int resets = 0;
    lido::cache_options<counted> options;
    options.idle_max = 1;
    options.construct = [](void *place) { ::new (place) counted(77); };
    options.reset = [&resets](counted &object) {
        object.value = 70;
        resets++;
    };
    lido::object_cache<counted> cache(options);
    counted *a = cache.acquire(), *b = cache.acquire();
    CHECK(a->value == 77 && b->value == 77);
    cache.release(a);
    CHECK(a->value == 70);
    cache.release(b);    // one more than idle_max
    CHECK(resets == 2 && counted::ended == 1);
    CHECK(cache.acquire()->value == 70);
}

static void constructors_that_throw() {
    counted::restart(1);
    lido::object_cache<counted> cache;
    CHECK(cache.acquire() != nullptr);
    bool thrown = false;
    try {
        (void)cache.acquire();
    } catch (long at) {
        thrown = at == 1;
    }
    CHECK(thrown && cache.stats().live == 1);
    CHECK(cache.try_acquire() != nullptr);
    CHECK(counted::made == 2);
}

static void acquire_waits() {
    lido::cache_options<std::string> options;
    options.pool.capacity = 1;
    options.pool.on_exhausted = LIDO_WAIT;
    options.pool.wait_ms = 20000;
    lido::shared_object_cache<std::string> cache(options);
    std::string *text = cache.acquire();
    *text = "kept";
    std::atomic<bool> same{false};
    std::thread other([&] {
        auto got = cache.acquire_unique();
        same = *got == "kept" && got.get() == text;
    });
    while (lido_pool_stats(lido_object_pool_memory(cache.native())).waiting != 1) std::this_thread::yield();
    cache.release(text);
    other.join();
    CHECK(same);
}

// --- at the capacity ------------------------------------------------------------------------------------------------

static void timeout() {
    lido::pool_options options;
    options.capacity = 2;
    options.on_exhausted = LIDO_WAIT;
    options.wait_ms = 5;
    lido::shared_object_pool<int> pool(options);
    int *one = pool.make(1), *two = pool.make(2);
    bool timed_out = false, exhausted = false;
    try {
        (void)pool.make(3);
    } catch (const lido::pool_timeout &) {
        timed_out = true;
    }
    try {
        (void)pool.make_unique(3);
    } catch (const lido::pool_exhausted &) {    // a timeout is one
        exhausted = true;
    }
    CHECK(timed_out && exhausted);
    errno = 0;
    CHECK(pool.try_make(3) == nullptr && errno == ETIMEDOUT);
    pool.destroy(one);
    CHECK((one = pool.try_make(4)) != nullptr);
    CHECK(pool.set_capacity(3) && pool.try_make(5) != nullptr && !pool.set_capacity(2));
    pool.destroy(two);
}

static bool free_one(lido_pool *, size_t attempt, void *context) {
    auto &stock = *static_cast<std::vector<std::unique_ptr<int>> *>(context);
    if (stock.empty()) return false;
    stock.pop_back();
    return attempt == 1;
}

static void growing_and_asking() {
    lido::pool_options options;
    options.capacity = 4;
    options.growth = 4;
    options.growth_max = 8;
    options.on_exhausted = LIDO_GROW;
    lido::object_pool<long> pool(options);
    for (int i = 0; i < 17; i++) CHECK(pool.try_make(i) != nullptr);
    CHECK(pool.stats().capacity == 24);    // 4, 8, 16, 24

    std::vector<std::unique_ptr<int>> stock;
    stock.push_back(std::make_unique<int>(1));
    lido::pool_options asking;
    asking.capacity_bytes = sizeof(long) * 3;
    asking.on_exhausted = LIDO_CALL;
    asking.exhausted = free_one;
    asking.exhausted_context = &stock;
    lido::object_pool<long> three(asking);
    for (int i = 0; i < 3; i++) CHECK(three.try_make(i) != nullptr);
    CHECK(three.try_make(3) == nullptr && errno == ENOMEM && stock.empty());
}

// --- handles --------------------------------------------------------------------------------------------------------

static void handles() {
    counted::restart();
    {
        lido::handle_pool<counted> pool({"unit", 3});
        lido::handle<counted> nothing, a = pool.make(1), b = pool.make(2);
        CHECK(!nothing && a && b && a != b && pool.get(nothing) == nullptr);
        CHECK(pool.get(a)->value == 1 && pool.get(b)->value == 2);
        CHECK(pool.of(pool.get(a)) == a && !pool.of(nullptr));
        CHECK(pool.destroy(a) && !pool.destroy(a) && pool.get(a) == nullptr && counted::ended == 1);
        lido::handle<counted> c = pool.make(3);
        CHECK(pool.get(a) == nullptr && pool.get(c)->value == 3);
        CHECK(pool.make(4));
        bool exhausted = false;
        try {
            (void)pool.make(5);
        } catch (const lido::pool_exhausted &) {
            exhausted = true;
        }
        CHECK(exhausted && !pool.try_make(5) && pool.live() == 3);
        long sum = 0;
        const counted *last = nullptr;
        bool ascending = true;
        CHECK(pool.for_each([&](counted &object, lido::handle<counted> h) {
            ascending = ascending && &object > last && pool.get(h) == &object;
            last = &object;
            sum += object.value;
        }) == 3);
        CHECK(ascending && sum == 9);
        std::unordered_map<lido::handle<counted>, int> map{{b, 2}, {c, 3}};
        CHECK(map[b] == 2 && map[c] == 3);
        CHECK(pool.destroy(b));
        counted::throw_at = counted::tried;
        bool thrown = false;
        try {
            (void)pool.make(6);
        } catch (long) {
            thrown = true;
        }
        CHECK(thrown && pool.live() == 2 && pool.try_make(7));
    }
    CHECK(counted::alive() == 0);
    struct alignas(64) wide {
        char bytes[64];
    };
    lido::shared_handle_pool<wide> aligned;
    auto h = aligned.make();
    CHECK(reinterpret_cast<std::uintptr_t>(aligned.get(h)) % 64 == 0);
    lido::handle_pool<char> small;
    CHECK(*small.get(small.make('x')) == 'x');
    const lido::handle_pool<char> &view = small;
    CHECK(view.get(lido::handle<char>()) == nullptr);
}

int main() {
    return run_all({CASE(stays_constructed), CASE(made_and_reset_by_functions), CASE(constructors_that_throw),
                    CASE(acquire_waits), CASE(timeout), CASE(growing_and_asking), CASE(handles)});
}
