// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// Order of reuse: LIFO gives the place of the object that was destroyed last, FIFO the one that has rested longest.
//
// Prints:
//     LIFO: 3 2 1
//     FIFO: 1 2 3
#include <lido/lido.hpp>

#include <cstdio>

static void show(const char *name, lido_order order) {
    lido::pool_options options;
    options.order = order;
    options.capacity = 3;
    lido::object_pool<long> pool(options);
    long *places[3];
    for (long *&place : places) place = pool.make(0);
    for (long *place : places) pool.destroy(place);
    std::printf("%s:", name);
    for (int i = 0; i < 3; i++) {
        const long *again = pool.make(0);
        for (int n = 0; n < 3; n++)
            if (places[n] == again) std::printf(" %d", n + 1);
    }
    std::printf("\n");
}

int main() {
    show("LIFO", LIDO_LIFO);
    show("FIFO", LIDO_FIFO);
}
