// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// lido::object_pool: make, owners that give back by themselves, a constructor that throws, a capacity.
//
// Prints:
//     eve, 1 live
#include <lido/lido.hpp>

#include <cstdio>
#include <stdexcept>
#include <string>

struct Session {
    std::string user;
    explicit Session(std::string name) : user(std::move(name)) {
        if (user.empty()) throw std::invalid_argument("a session needs a user");
    }
};

int main() {
    lido::pool_options options;
    options.name = "session";
    options.capacity = 2;
    lido::object_pool<Session> sessions(options);

    Session *raw = sessions.make("ada");
    sessions.destroy(raw);

    auto owned = sessions.make_unique("bob");
    auto shared = sessions.make_shared("eve");
    bool full = sessions.try_make("too many") == nullptr;
    owned.reset();    // back in the pool

    bool rolled_back = false;
    try {
        raw = sessions.make("");
    } catch (const std::invalid_argument &) {
        rolled_back = sessions.live() == 1;
    }
    std::printf("%s, %zu live\n", shared->user.c_str(), sessions.live());
    return full && rolled_back ? 0 : 1;
}
