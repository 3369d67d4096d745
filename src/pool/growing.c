// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// Pools that have more live blocks than at the last look: what grows from look to look is what never comes back.
#include "os/os.h"
#include "os/report.h"
#include "pool/pool.h"

#include <lido/check.h>

typedef struct look {
    uint32_t now;
    size_t growing;
} look;

// Under the registry's lock, so that the figures of the last look are of one look.
static void compare(lido_pool *pool, void *context) {
    look *l = (look *)context;
    size_t live = lido__pool_stats_locked(pool, false).live, before = pool->live_at_look;
    uint32_t then = pool->looked_ms;
    pool->live_at_look = live;
    pool->looked_ms = l->now;
    if (then == 0 || live <= before || pool->anonymous) return;
    lido__warn("growing: pool '%s' has %z live blocks of %z bytes, %z more than %u ms ago", pool->name, live,
               (size_t)pool->slabs.block_bytes, live - before, (unsigned)lido__os_age_ms(l->now, then));
    l->growing++;
}

size_t lido_check_growing(void) {
    look l = {.now = lido__os_clock_ms() | 1};    // 0 is "never"
    lido__registry_each(compare, &l);
    return l.growing;
}
