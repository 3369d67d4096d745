// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// lido/fixed.h from C++17 without exceptions: the macros are constants, placement new works, and the optimizer may not
// reason a link away because the block held an object of another type a moment ago.
#include <lido/fixed.h>

#include <cstdio>
#include <new>

static_assert(LIDO_FIXED_BYTES(4096, 56, 0) == 229376, "no overhead");

namespace {

struct Particle {
    double x, y;
    Particle *next;
    Particle(double x0, Particle *after) : x(x0), y(-x0), next(after) {}
};
LIDO_FIXED_BUFFER(storage, 500, sizeof(Particle), alignof(Particle));

int failures = 0;
void expect(bool condition, const char *what) {
    if (condition) return;
    failures++;
    std::printf("not so: %s\n", what);
}

double sum_and_free(lido_fixed *pool, Particle *head) {
    double sum = 0;
    while (head != nullptr) {
        Particle *next = head->next;
        sum += head->x + head->y * 0.5;
        head->~Particle();
        lido_fixed_free(pool, head);
        head = next;
    }
    return sum;
}

}    // namespace

int main() {
    lido_fixed pool;
    expect(lido_fixed_init(&pool, storage, sizeof storage, sizeof(Particle), alignof(Particle)), "init");
    expect(lido_fixed_capacity(&pool) == 500, "capacity of 500");
    for (int round = 0; round < 3; round++) {
        Particle *head = nullptr;
        for (int i = 0; i < 500; i++) {
            void *place = lido_fixed_alloc(&pool);
            expect(place != nullptr, "a block below capacity");
            head = new (place) Particle(i, head);
        }
        expect(lido_fixed_alloc(&pool) == nullptr, "no block at capacity");
        expect(sum_and_free(&pool, head) == 499.0 * 500.0 / 4.0, "the sum of what was stored");
        expect(lido_fixed_live(&pool) == 0, "nothing alive");
    }
    expect(lido_fixed_high_water(&pool) == 500, "high-water mark of 500");
    return failures == 0 ? 0 : 1;
}
