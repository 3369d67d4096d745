// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// Bulk from C++: blocks of a lido_pool with an owner, many in one call, all or nothing.
//
// Prints:
//     32 buffers of 2048 bytes in one call
//     80 more: refused, 32 alive
//     0 alive
#include <lido/lido.hpp>

#include <array>
#include <cstdio>
#include <memory>

struct Destroy {
    void operator()(lido_pool *pool) const { lido_pool_destroy(pool); }
};

int main() {
    lido_pool_options options = {};
    options.name = "buffer";
    options.block_size = 2048;
    options.threads = LIDO_SHARED;
    options.capacity = 100;
    std::unique_ptr<lido_pool, Destroy> pool(lido_pool_new(&options));
    std::array<void *, 32> buffers;
    std::array<void *, 80> more;
    if (!pool || lido_pool_alloc_bulk(pool.get(), buffers.data(), buffers.size()) != 0) return 1;
    std::printf("%zu buffers of %zu bytes in one call\n", buffers.size(), lido_pool_block_size(pool.get()));
    bool refused = lido_pool_alloc_bulk(pool.get(), more.data(), more.size()) != 0;
    std::printf("%zu more: %s, %zu alive\n", more.size(), refused ? "refused" : "taken",
                lido_pool_stats(pool.get()).live);
    lido_pool_free_bulk(pool.get(), buffers.data(), buffers.size());
    std::printf("%zu alive\n", lido_pool_stats(pool.get()).live);
}
