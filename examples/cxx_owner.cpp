// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// Who owns p, and what is alive: an object_pool answers itself, and its lido_pool visits what is left.
//
// Prints:
//     ada is of the pool, a local variable is not
//     left behind: ada eve
//     2 alive of at most 3
#include <lido/lido.hpp>

#include <cstdio>
#include <string>

struct Session {
    std::string user;
    explicit Session(const char *name) : user(name) {}
};

int main() {
    lido::object_pool<Session> sessions;
    Session *ada = sessions.make("ada"), *bob = sessions.make("bob");
    (void)!sessions.make("eve");
    sessions.destroy(bob);
    int local = 0;
    std::printf("%s is %s, a local variable is %s\n", ada->user.c_str(), sessions.owns(ada) ? "of the pool" : "lost",
                sessions.owns(&local) ? "too" : "not");
    std::printf("left behind:");
    lido_pool_visit_live(
        sessions.native(),
        [](void *block, void *) {
            std::printf(" %s", static_cast<Session *>(block)->user.c_str());
            return true;
        },
        nullptr);
    std::printf("\n%zu alive of at most %zu\n", sessions.live(), sessions.stats().high_water);
}    // the pool destroys both
