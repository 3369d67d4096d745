// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// What a pool does at its capacity: throw, grow, ask the program, or wait for another thread.
//
// Prints:
//     fail: lido: pool exhausted
//     grow: made, capacity 5
//     call: made, the oldest went
//     wait: made, after another thread destroyed one
//     wait: lido: no block of the pool was free in time
#include <lido/lido.hpp>

#include <cstdio>
#include <thread>

struct Frame {
    char pixels[4096];
};
using Frames = lido::object_pool<Frame>;

static lido::pool_options four(lido_on_exhausted on_exhausted) {
    lido::pool_options options;
    options.capacity = 4;
    options.growth = 1;
    options.on_exhausted = on_exhausted;
    return options;
}

template <class Pool>
static Frame *fill(Pool &pool) {
    Frame *oldest = pool.make();
    for (int i = 1; i < 4; i++) (void)!pool.make();
    return oldest;
}

struct Oldest {
    Frames *frames;
    Frame *frame;
};

static bool drop_oldest(lido_pool *, std::size_t attempt, void *context) {
    Oldest *oldest = static_cast<Oldest *>(context);
    if (attempt > 1) return false;
    oldest->frames->destroy(oldest->frame);
    return true;
}

static void wait_for_a_frame() {
    lido::pool_options options = four(LIDO_WAIT);
    options.wait_ms = 10000;
    lido::shared_object_pool<Frame> waiting(options);
    Frame *oldest = fill(waiting);
    std::thread other([&] {
        while (waiting.stats().waiting == 0) std::this_thread::yield();
        waiting.destroy(oldest);
    });
    bool made = waiting.try_make() != nullptr;
    other.join();
    std::printf("wait: %s, after another thread destroyed one\n", made ? "made" : "refused");

    options.wait_ms = 1;
    lido::shared_object_pool<Frame> impatient(options);
    fill(impatient);
    try {
        (void)!impatient.make();
    } catch (const lido::pool_timeout &timeout) {
        std::printf("wait: %s\n", timeout.what());
    }
}

int main() {
    Frames failing(four(LIDO_FAIL));
    fill(failing);
    try {
        (void)!failing.make();
    } catch (const lido::pool_exhausted &refusal) {
        std::printf("fail: %s\n", refusal.what());
    }

    Frames growing(four(LIDO_GROW));
    fill(growing);
    bool made = growing.try_make() != nullptr;
    std::printf("grow: %s, capacity %zu\n", made ? "made" : "refused", growing.stats().capacity);

    Oldest oldest = {};
    lido::pool_options options = four(LIDO_CALL);
    options.exhausted = drop_oldest;
    options.exhausted_context = &oldest;
    Frames calling(options);
    oldest = {&calling, fill(calling)};
    made = calling.try_make() != nullptr;
    std::printf("call: %s, the oldest went\n", made ? "made" : "refused");

    wait_for_a_frame();
}
