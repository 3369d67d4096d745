// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// Standard containers: lido::allocator for any thread, lido::node_allocator for the containers of one thread.
//
// Prints:
//     750 nodes
#include <lido/lido.hpp>

#include <cstdio>
#include <map>
#include <string>
#include <vector>

template <class K, class V>
using node_map = std::map<K, V, std::less<>, lido::node_allocator<std::pair<const K, V>>>;

int main() {
    std::vector<double, lido::allocator<double>> prices(1000, 1.5);

    lido::node_memory memory;    // outlives the containers over it
    std::size_t nodes;
    {
        node_map<int, double> book(memory), orders(memory);
        for (int i = 0; i < 500; i++) {
            book.emplace(i, prices[static_cast<std::size_t>(i)]);
            orders.emplace(i, 2.0 * i);
        }
        for (int i = 0; i < 500; i += 2) orders.erase(i);
        nodes = memory.live();
        std::printf("%zu nodes\n", nodes);
    }
    return nodes == 750 && memory.live() == 0 ? 0 : 1;
}
