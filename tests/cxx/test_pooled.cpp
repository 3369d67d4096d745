// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// lido::pooled: where new and delete of a class, of classes derived from it and of over-aligned ones go.
#include "check.hpp"

#include <lido/lido.hpp>

#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

namespace {

struct Order : lido::pooled<Order>, counted {
    explicit Order(long v) : counted(v) {}
    virtual ~Order() = default;
    double price = 1;
};
struct BigOrder : Order {
    using Order::Order;
    double more[10] = {};
};
struct OwnOrder : Order, lido::pooled<OwnOrder> {
    using Order::Order;
    using lido::pooled<OwnOrder>::operator new;
    using lido::pooled<OwnOrder>::operator delete;
    double more[3] = {};
};
struct alignas(64) Wide : lido::pooled<Wide> {
    int n = 3;
};
struct alignas(128) Wider : Wide {};
struct Small : lido::pooled<Small> {
    char c[16] = {'c'};
};
struct alignas(16) SmallAligned : Small {};
static_assert(sizeof(SmallAligned) == sizeof(Small));

bool aligned(const void *p, std::size_t to) { return reinterpret_cast<std::uintptr_t>(p) % to == 0; }
template <class T>
std::size_t live() {
    return T::native_pool() == nullptr ? 0 : lido_pool_stats(T::native_pool()).live;
}

void test_new_and_delete() {
    counted::restart();
    CHECK(Order::native_pool() == nullptr);
    Order *one = new Order(1), *two = new (std::nothrow) Order(2);
    CHECK(lido_pool_owns(Order::native_pool(), one) && lido_pool_owns(Order::native_pool(), two));
    CHECK(live<Order>() == 2);
    delete one;
    delete two;
    auto three = std::make_unique<Order>(3);
    CHECK(live<Order>() == 1);
    std::shared_ptr<Order> four(new Order(4));
    std::thread([&] { four.reset(); }).join();
    three.reset();
    alignas(Order) unsigned char place[sizeof(Order)];
    Order *five = new (place) Order(5);
    five->~Order();
    delete static_cast<Order *>(nullptr);
    CHECK(live<Order>() == 0 && counted::alive() == 0);
}

void test_throwing_constructors() {
    for (int at = 0; at < 5; at++) {
        counted::restart(at);
        std::vector<std::unique_ptr<Order>> orders;
        bool thrown = false;
        for (int i = 0; i < 5; i++) {
            try {
                orders.push_back(std::make_unique<Order>(i));
            } catch (long) {
                thrown = i == at;
            }
        }
        CHECK(thrown && orders.size() == 4 && live<Order>() == 4);
    }
    CHECK(live<Order>() == 0 && counted::alive() == 0);
}

void test_derived_classes() {
    counted::restart();
    std::unique_ptr<Order> big(new BigOrder(1)), own(new OwnOrder(2));
    CHECK(!lido_pool_owns(Order::native_pool(), big.get()));
    CHECK(lido_pool_owns(lido::pooled<OwnOrder>::native_pool(), own.get()));
    big.reset();
    own.reset();
    CHECK(counted::alive() == 0 && lido_pool_stats(lido::pooled<OwnOrder>::native_pool()).live == 0);
}

void test_alignment() {
    std::vector<std::unique_ptr<Wide>> wides;
    std::vector<std::unique_ptr<Wider>> widers;
    std::vector<std::unique_ptr<SmallAligned>> smalls;
    for (int i = 0; i < 20; i++) {
        wides.push_back(std::make_unique<Wide>());
        widers.push_back(std::make_unique<Wider>());
        smalls.push_back(std::make_unique<SmallAligned>());
        CHECK(aligned(wides.back().get(), 64) && aligned(widers.back().get(), 128) && aligned(smalls.back().get(), 16));
        CHECK(lido_pool_owns(Wide::native_pool(), wides.back().get()));
        CHECK(!lido_pool_owns(Wide::native_pool(), widers.back().get()));
        CHECK(lido_pool_owns(Small::native_pool(), smalls.back().get()));
    }
    Wide *quiet = new (std::nothrow) Wide;
    CHECK(live<Wide>() == 21);
    delete quiet;
    wides.clear();
    CHECK(live<Wide>() == 0);
    smalls.clear();
    CHECK(live<Small>() == 0);
}

void test_first_use_by_many_threads() {
    struct Item : lido::pooled<Item> {
        long value = 7;
    };
    std::vector<std::thread> threads;
    std::vector<Item *> made(4);
    for (std::size_t i = 0; i < made.size(); i++) threads.emplace_back([&made, i] { made[i] = new Item; });
    for (std::thread &thread : threads) thread.join();
    for (Item *item : made) CHECK(item->value == 7 && lido_pool_owns(Item::native_pool(), item));
    for (Item *item : made) delete item;
    CHECK(live<Item>() == 0);
}

}    // namespace

int main() {
    return run_all({CASE(test_new_and_delete), CASE(test_throwing_constructors), CASE(test_derived_classes),
                    CASE(test_alignment), CASE(test_first_use_by_many_threads)});
}
