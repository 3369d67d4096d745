// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// Objects that stay constructed between uses, and handles that know when their object is gone, in C++.
//
// Prints:
//     10 uses, 1 connection made
//     target gone: yes, another has 20
#include <lido/lido.hpp>

#include <cstdio>
#include <string>

struct Connection {
    std::string address;
    int sent = 0;
    explicit Connection(const char *to) : address(to) { made++; }
    static inline int made = 0;
};

struct Unit {
    int health;
};

int main() {
    lido::cache_options<Connection> options;
    options.pool.capacity = 2;
    options.pool.on_exhausted = LIDO_WAIT;    // a third user waits for a release, at most a second
    options.pool.wait_ms = 1000;
    options.construct = [](void *place) { ::new (place) Connection("db:5432"); };
    options.reset = [](Connection &connection) { connection.sent = 0; };
    lido::shared_object_cache<Connection> connections(options);
    for (int i = 0; i < 10; i++) {
        auto connection = connections.acquire_unique();    // released at the end of each turn
        connection->sent++;
    }
    std::printf("10 uses, %d connection made\n", Connection::made);

    lido::handle_pool<Unit> units;
    lido::handle<Unit> target = units.make(10);
    units.get(target)->health -= 3;
    units.destroy(target);
    lido::handle<Unit> another = units.make(20);    // in the same place
    bool gone = units.get(target) == nullptr;
    std::printf("target gone: %s, another has %d\n", gone ? "yes" : "no", units.get(another)->health);
    return Connection::made == 1 && gone ? 0 : 1;
}
