// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// Memory ready before the first request, and given back afterwards.
//
// Prints:
//     ready for 5000 orders before the first, no page fault on the way
//     4999 destroyed: memory went back, 1 alive
#include <lido/lido.hpp>

#include <cstdio>
#include <sys/resource.h>
#include <vector>

struct Order {
    int number;
    char text[252];
    explicit Order(int n) : number(n), text() {}
};

static long page_faults() {
    rusage usage = {};
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_minflt;
}

int main() {
    constexpr int count = 5000, tolerated = 5;    // of the stack and of libc
    lido::pool_options options;
    options.name = "order";
    options.prewarm = count;
    lido::object_pool<Order> orders(options);
    std::vector<Order *> made(count);
    long before = page_faults();
    for (int i = 0; i < count; i++) made[static_cast<std::size_t>(i)] = orders.make(i);
    bool flat = page_faults() - before < tolerated;
    std::printf("ready for %zu orders before the first, %s\n", orders.live(),
                flat ? "no page fault on the way" : "but pages were touched on the way");

    Order *last = made.back();
    for (Order *order : made)
        if (order != last) orders.destroy(order);
    std::size_t bytes = orders.trim();
    std::printf("%d destroyed: %s, %zu alive\n", last->number, bytes > 0 ? "memory went back" : "nothing went back",
                orders.live());
}
