// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// lido::fixed_pool: so many objects and no more, in static memory; no system call, nothing to link.
//
// Prints:
//     16896 bytes, 1 + 63 events
#include <lido/cxx/fixed_pool.hpp>

#include <cstdio>

struct Event {
    int kind;
    unsigned char payload[260];
};

static lido::fixed_pool<Event, 64> events;

int main() {
    Event *first = events.try_make(Event{1, {}});
    int more = 0;
    while (events.try_make(Event{2, {}}) != nullptr) more++;
    events.destroy(first);
    bool again = events.try_make(Event{3, {}}) == first;
    std::printf("%zu bytes, 1 + %d events\n", events.storage_bytes, more);
    return more == 63 && again && events.live() == 64 ? 0 : 1;
}
