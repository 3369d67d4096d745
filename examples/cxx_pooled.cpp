// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// lido::pooled: a base class, and every new and delete of the class goes to a pool of its own.
//
// Prints:
//     order 99 at 2.5, 100 in the pool
#include <lido/lido.hpp>

#include <cstdio>
#include <memory>
#include <vector>

class Order : public lido::pooled<Order> {
public:
    explicit Order(int number) : number_(number) {}
    int number() const { return number_; }
    double price() const { return price_; }

private:
    int number_;
    double price_ = 2.5;
};

int main() {
    std::vector<std::unique_ptr<Order>> orders;
    for (int i = 0; i < 100; i++) orders.push_back(std::make_unique<Order>(i));
    std::size_t live = lido_pool_stats(Order::native_pool()).live;
    std::printf("order %d at %g, %zu in the pool\n", orders.back()->number(), orders.back()->price(), live);
    orders.clear();
    return live == 100 && lido_pool_stats(Order::native_pool()).live == 0 ? 0 : 1;
}
