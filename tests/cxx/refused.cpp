// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// What the C++ headers refuse, one case a compilation (-DREFUSED=n); the messages that must appear stand in CMakeLists.txt.
// Case 0 is the rest of the file and compiles: what is refused is the one line, not its surroundings.
#include <lido/lido.hpp>

#include <vector>

struct Plain {
    int n = 0;
};
struct Unknown;
struct Throwing {
    ~Throwing() noexcept(false) {}
};
class Hidden {
    ~Hidden() = default;
};
struct Abstract {
    virtual ~Abstract() = default;
    virtual void draw() = 0;
};
struct Huge {
    char bytes[LIDO_POOL_BLOCK_SIZE_MAX + 1];
};
struct alignas(4 << 20) TooAligned {
    char c;
};
struct Pooled : lido::pooled<Pooled> {};
struct NotItself : lido::pooled<Plain> {};

template <class T>
void use(T &&) {}

void refused(Unknown *unknown) {
    use(unknown);
    [[maybe_unused]] lido::object_pool<Unknown> *named = nullptr;    // allowed
#if REFUSED == 0
    lido::object_pool<Plain> pool;
    pool.destroy(pool.make());
    lido::variant_pool<Plain, Pooled> both;
    both.destroy(both.make<Plain>());
    delete new Pooled;
    ::delete[] ::new Pooled[3];
    std::vector<Pooled, lido::allocator<Pooled>> array(3);
#elif REFUSED == 1
    named->destroy(unknown);
#elif REFUSED == 2
    lido::object_pool<Unknown> pool;
#elif REFUSED == 3
    std::unique_ptr<Unknown, lido::pool_deleter<lido::object_pool<Unknown>>> owner(unknown, {named});
#elif REFUSED == 4
    lido::object_pool<Throwing> pool;
#elif REFUSED == 5
    lido::object_pool<Hidden> pool;
#elif REFUSED == 6
    lido::object_pool<Abstract> pool;
#elif REFUSED == 7
    lido::object_pool<int[4]> pool;
#elif REFUSED == 8
    lido::object_pool<const Plain> pool;
#elif REFUSED == 9
    lido::object_pool<Huge> pool;
#elif REFUSED == 10
    lido::object_pool<TooAligned> pool;
#elif REFUSED == 11
    lido::fixed_pool<Throwing, 3> pool;
#elif REFUSED == 12
    lido::fixed_pool<Plain, 0> pool;
#elif REFUSED == 13
    use(new Pooled[3]);
#elif REFUSED == 14
    use(new NotItself);
#elif REFUSED == 15
    lido::variant_pool<Plain, Plain> pool;
#elif REFUSED == 16
    lido::variant_pool<Plain> pool;
    use(pool.make<Pooled>());
#elif REFUSED == 17
    use(lido::allocator<const int>().allocate(1));
#elif REFUSED == 18
    lido::object_pool<void> pool;
#elif REFUSED == 19
    lido::fixed_pool<Unknown, 3> pool;
#elif REFUSED == 20
    lido::variant_pool<> pool;
#elif REFUSED == 21
    lido::handle_pool<Throwing> pool;
#elif REFUSED == 22
    lido::object_cache<Abstract> pool;
#endif
}
