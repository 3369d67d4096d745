// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// lido::variant_pool: several classes behind one face, ended by address alone.
//
// Prints:
//     10 numbers, 20 cells
#include <lido/lido.hpp>

#include <cstdio>
#include <vector>

struct Number {
    double value;
};
struct Text {
    char bytes[80];
};

int main() {
    lido::variant_pool<Number, Text> cells;
    std::vector<void *> sheet;
    for (int i = 0; i < 10; i++) {
        sheet.push_back(cells.make<Number>(1.5 * i));
        sheet.push_back(cells.make<Text>());
    }
    std::printf("%zu numbers, %zu cells\n", cells.of<Number>().live(), cells.live());
    for (void *cell : sheet)
        if (!cells.destroy_any(cell)) return 1;
    return cells.live() == 0 ? 0 : 1;
}
