// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// The end of a pool: a capacity of 4 gives 4 objects and no more, and after one is destroyed the next request succeeds.
//
// Prints:
//     4 alive; the fifth: lido: pool exhausted
//     one destroyed; the next: made
//     all returned: 0 alive, 5 constructed, 5 destroyed
#include <lido/lido.hpp>

#include <cstdio>

static int constructed, destroyed;

struct Message {
    char text[56];
    Message() noexcept : text() { constructed++; }
    ~Message() { destroyed++; }
};

int main() {
    lido::pool_options options;
    options.capacity = 4;
    lido::object_pool<Message> pool(options);
    Message *messages[4];
    for (Message *&message : messages) message = pool.make();
    try {
        pool.destroy(pool.make());
    } catch (const lido::pool_exhausted &refusal) {
        std::printf("%zu alive; the fifth: %s\n", pool.live(), refusal.what());
    }
    pool.destroy(messages[2]);
    messages[2] = pool.try_make();
    std::printf("one destroyed; the next: %s\n", messages[2] != nullptr ? "made" : "refused");
    for (Message *message : messages) pool.destroy(message);
    std::printf("all returned: %zu alive, %d constructed, %d destroyed\n", pool.live(), constructed, destroyed);
}
