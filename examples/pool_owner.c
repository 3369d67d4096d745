// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// Who owns p, and what is alive: from any address to its pool, and from a pool to all its live blocks.
//
// Prints:
//     the address inside a block belongs to "session"
//     an address on the stack belongs to no pool
//     ada and eve are still there: 2 of at most 3
#include <lido/pool.h>
#include <stdio.h>

struct session {
    char user[32];
};

static bool name_it(void *block, void *first) {
    printf("%s%s", *(bool *)first ? "" : " and ", ((struct session *)block)->user);
    *(bool *)first = false;
    return true;
}

int main(void) {
    lido_pool *pool = lido_pool_new(&(lido_pool_options){.name = "session", .block_size = sizeof(struct session)});
    if (pool == NULL) return perror("session"), 1;
    struct session *sessions[3];
    static const char *const users[3] = {"ada", "bob", "eve"};
    for (int i = 0; i < 3; i++) {
        sessions[i] = (struct session *)lido_pool_alloc(pool);
        if (sessions[i] == NULL) return perror("session"), 1;
        snprintf(sessions[i]->user, sizeof sessions[i]->user, "%s", users[i]);
    }
    lido_pool_free(pool, sessions[1]);
    lido_pool *owner = lido_pool_of(&sessions[0]->user[5]);
    printf("the address inside a block belongs to \"%s\"\n", owner == NULL ? "nobody" : lido_pool_name(owner));
    printf("an address on the stack belongs to %s\n", lido_pool_of(&pool) == NULL ? "no pool" : "a pool");
    if (!lido_pool_owns(pool, sessions[2]) || lido_pool_owns(pool, users)) return 1;
    bool first = true;
    size_t seen = lido_pool_visit_live(pool, name_it, &first);
    printf(" are still there: %zu of at most %zu\n", seen, lido_pool_stats(pool).high_water);
    lido_pool_reset(pool);
    lido_pool_destroy(pool);
    return 0;
}
