// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// lido::object_pool, shared_object_pool, variant_pool, fixed_pool: making and ending, constructors that throw at every position,
// exhaustion (the row `exhaust` of the workloads), owners, alignment, ends.
#include "check.hpp"

#include <lido/lido.hpp>
#include <lido/options.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace {

// --- exhaustion -------------------------------------------------------------------------------------------------------

template <class Pool>
void exhaust(Pool &pool) {
    counted::restart();
    counted *four[4];
    for (int i = 0; i < 4; i++) four[i] = pool.make(i);
    CHECK(pool.try_make(4) == nullptr);
    bool thrown = false;
    try {
        (void)!pool.make(4);
    } catch (const lido::pool_exhausted &e) {
        thrown = std::string(e.what()) == "lido: pool exhausted";
    }
    CHECK(thrown);
    try {
        (void)!pool.make_unique(4);
        CHECK(false);
    } catch (const std::bad_alloc &) {
        CHECK(counted::made == 4);
    }
    pool.destroy(four[1]);
    four[1] = pool.try_make(5);
    CHECK(four[1] != nullptr && four[1]->value == 5);
    for (counted *one : four) pool.destroy(one);
    pool.destroy(nullptr);
    CHECK(pool.live() == 0);
    CHECK(counted::made == 5 && counted::ended == 5);
}

void test_exhaust() {
    lido::pool_options options;
    options.capacity = 4;
    lido::object_pool<counted> local(options);
    exhaust(local);
    lido::shared_object_pool<counted> shared(options);
    exhaust(shared);
    options.order = LIDO_FIFO;
    lido::object_pool<counted> fifo(options);
    exhaust(fifo);
    lido::fixed_pool<counted, 4> fixed;
    exhaust(fixed);
}

// --- throwing constructors ----------------------------------------------------------------------------------------------

template <class Pool>
void throw_at_every_position(Pool &pool) {
    for (int at = 0; at < 30; at++) {
        counted::restart(at);
        std::vector<counted *> made;
        for (int i = 0; i < 30; i++) {
            try {
                counted *one = i % 2 == 0 ? pool.make(i) : pool.try_make(i);
                CHECK(one != nullptr && i != at);
                made.push_back(one);
            } catch (long position) {
                CHECK(i == at && position == at);
                CHECK(pool.live() == made.size());    // the block is back
            }
        }
        CHECK(made.size() == 29 && pool.live() == 29);
        for (counted *one : made) pool.destroy(one);
        CHECK(pool.live() == 0);
        CHECK(counted::alive() == 0 && counted::made == 29);
    }
}

void test_throw_at_every_position() {
    lido::pool_options options;
    options.capacity = 30;
    lido::object_pool<counted> local(options);
    throw_at_every_position(local);
    lido::shared_object_pool<counted> shared;
    throw_at_every_position(shared);
    lido::fixed_pool<counted, 30> fixed;
    throw_at_every_position(fixed);
}

// --- owners and ends ----------------------------------------------------------------------------------------------------

void test_owners() {
    lido::object_pool<counted> pool;
    counted::restart();
    {
        auto one = pool.make_unique(7);
        lido::object_pool<counted>::unique two = std::move(one);
        CHECK(one == nullptr && two->value == 7 && pool.live() == 1);
        std::shared_ptr<counted> three = pool.make_shared(8), four = three;
        CHECK(four->value == 8 && four.use_count() == 2 && pool.live() == 2);
        CHECK(pool.owns(three.get()) && !pool.owns(&pool));
    }
    CHECK(pool.live() == 0 && counted::alive() == 0);
    counted::restart(0);
    try {
        (void)!pool.make_shared(1);
        CHECK(false);
    } catch (long) {
        CHECK(pool.live() == 0);
    }
    lido::fixed_pool<counted, 2> fixed;
    counted::restart();
    { auto one = fixed.make_unique(1); }
    CHECK(fixed.live() == 0 && counted::alive() == 0);
}

void test_live_objects_end_with_their_pool() {
    counted::restart();
    {
        lido::object_pool<counted> pool;
        lido::shared_object_pool<counted> shared;
        for (int i = 0; i < 3000; i++) CHECK(pool.make(i) != nullptr && shared.make(i) != nullptr);
    }
    CHECK(counted::made == 6000 && counted::ended == 6000);
    counted::restart();
    {
        lido::fixed_pool<counted, 100> fixed;
        counted *made[100];
        for (int i = 0; i < 100; i++) made[i] = fixed.make(i);
        for (int i = 0; i < 100; i += 3) fixed.destroy(made[(i * 37) % 100]);
        CHECK(fixed.live() == 66 && counted::alive() == 66);
    }
    CHECK(counted::made == 100 && counted::ended == 100);
}

// Nodes own others of the same pool: destroying the pool destroys each once.
struct LocalTree : counted {
    lido::object_pool<LocalTree>::unique left, right;    // LocalTree is incomplete here
};
struct FixedTree : counted {
    std::unique_ptr<FixedTree, lido::pool_deleter<lido::buffer_pool<FixedTree>>> left, right;
};

template <class Node, class Pool>
void grow(Pool &pool, int depth, std::unique_ptr<Node, lido::pool_deleter<Pool>> &place) {
    place = pool.make_unique();
    if (depth == 0) return;
    grow<Node>(pool, depth - 1, place->left);
    grow<Node>(pool, depth - 1, place->right);
}

void test_trees() {
    counted::restart();
    {
        lido::object_pool<LocalTree> pool;
        lido::object_pool<LocalTree>::unique root;
        grow<LocalTree>(pool, 8, root);
        CHECK(pool.live() == 511);
        root->left.reset();    // the usual way
        CHECK(pool.live() == 256 && counted::alive() == 256);
        (void)root.release();    // the rest ends with the pool
    }
    CHECK(counted::made == 511 && counted::ended == 511);
    counted::restart();
    {
        lido::fixed_pool<FixedTree, 511> pool;
        std::unique_ptr<FixedTree, lido::pool_deleter<lido::buffer_pool<FixedTree>>> root;
        grow<FixedTree>(static_cast<lido::buffer_pool<FixedTree> &>(pool), 8, root);
        root->right->left.reset();
        CHECK(pool.live() == 384);
        (void)root.release();
    }
    CHECK(counted::made == 511 && counted::ended == 511);
}

// --- shapes -------------------------------------------------------------------------------------------------------------

template <std::size_t Align>
struct alignas(Align) Aligned {
    unsigned char bytes[Align];
    explicit Aligned(int n) { std::memset(bytes, n, sizeof bytes); }
};

template <class Pool>
void fill_and_check(Pool &pool) {
    using T = typename Pool::value_type;
    std::vector<T *> made;
    for (int i = 0; i < 40; i++) {
        made.push_back(pool.make(i));
        CHECK(reinterpret_cast<std::uintptr_t>(made.back()) % alignof(T) == 0);
    }
    for (int i = 0; i < 40; i++) {
        CHECK(*reinterpret_cast<unsigned char *>(made[i]) == i);
        pool.destroy(made[i]);
    }
    CHECK(pool.live() == 0);
}

template <class T>
void every_pool_of() {
    lido::object_pool<T> local;
    fill_and_check(local);
    lido::shared_object_pool<T> shared;
    fill_and_check(shared);
    static lido::fixed_pool<T, 40> fixed;
    fill_and_check(fixed);
}

struct Pair {    // an aggregate: made with braces
    int first;
    const char *second;
};

void test_shapes() {
    every_pool_of<char>();
    every_pool_of<short>();
    every_pool_of<Aligned<16>>();
    every_pool_of<Aligned<32>>();
    every_pool_of<Aligned<64>>();
    every_pool_of<Aligned<4096>>();
    lido::object_pool<Pair> pairs;
    Pair *pair = pairs.make(1, "one");
    CHECK(pair->first == 1 && std::strcmp(pair->second, "one") == 0);
    pairs.destroy(pair);
    lido::object_pool<std::array<double, 3>> arrays;
    auto three = arrays.make_unique(std::array<double, 3>{1, 2, 3});
    CHECK((*three)[2] == 3);
    lido::object_pool<std::string> strings;
    auto text = strings.make_unique(100, 'x');
    CHECK(text->size() == 100);
}

// --- options, variant, threads ------------------------------------------------------------------------------------------

void test_options() {
    lido::pool_options options;
    options.capacity = 2;
    options.prewarm = 3;
    bool thrown = false;
    try {
        lido::object_pool<int> pool(options);
    } catch (const std::invalid_argument &) {
        thrown = true;
    }
    CHECK(thrown);
    lido::object_pool<int> none(std::nothrow, options);
    CHECK(!none.valid());
    options.prewarm = 2;
    options.name = "ints";
    lido::object_pool<int> pool(std::nothrow, options);
    CHECK(pool.valid() && std::string(lido_pool_name(pool.native())) == "ints");
    CHECK(pool.stats().capacity == 2 && pool.stats().committed_bytes == 0 && pool.prewarm(1));
    pool.destroy(pool.make(3));
    (void)pool.trim();
    CHECK(pool.live() == 0);
}

struct Circle : counted {
    explicit Circle(long radius) : counted(radius) {}
};
struct Square : counted {
    double side[6] = {};
};

// Blocks that came back are kept in front of the lido_pool: no answer may show it.
void test_kept_blocks() {
    lido::pool_options options;
    options.capacity = 10;
    lido::object_pool<int> pool(options);
    int *objects[10];
    for (int i = 0; i < 10; i++) objects[i] = pool.make(i);
    for (int i = 0; i < 6; i++) pool.destroy(objects[i]);
    CHECK(pool.live() == 4 && pool.stats().high_water == 10);
    CHECK(lido_pool_stats(pool.native()).live == 4);
    CHECK(lido_pool_visit_live(
              pool.native(), [](void *, void *) { return true; }, nullptr) == 4);
    for (int i = 6; i < 8; i++) pool.destroy(objects[i]);
    CHECK(pool.set_capacity(2) && pool.live() == 2 && pool.stats().capacity == 2);
    CHECK(pool.try_make(1) == nullptr);
    pool.destroy(objects[9]);
    objects[9] = pool.try_make(9);
    CHECK(objects[9] != nullptr && pool.try_make(1) == nullptr && pool.live() == 2);
    pool.destroy(nullptr);
    pool.destroy(objects[8]);
    pool.destroy(objects[9]);
    CHECK(pool.live() == 0 && pool.trim() > 0);

    options.order = LIDO_FIFO;    // order is the pool's business: nothing is kept
    lido::object_pool<int> fifo(options);
    int *first = fifo.make(1), *second = fifo.make(2);
    fifo.destroy(first);
    fifo.destroy(second);
    for (int i = 0; i < 8; i++) (void)!fifo.make(i);
    CHECK(fifo.make(9) == first && fifo.make(10) == second && fifo.live() == 10);
}

// The callback destroys an object through the C++ pool; its block must reach the allocation that asked.
lido::object_pool<long> *asked;
long *spare;
bool destroy_spare(lido_pool *, std::size_t attempt, void *) {
    if (attempt > 1 || spare == nullptr) return false;
    asked->destroy(spare);
    spare = nullptr;
    return true;
}

void test_callback_destroys() {
    lido::pool_options options;
    options.capacity = 3;
    options.on_exhausted = LIDO_CALL;
    options.exhausted = destroy_spare;
    lido::object_pool<long> pool(options);
    asked = &pool;
    for (long i = 0; i < 3; i++) spare = pool.make(i);
    CHECK(pool.try_make(3) != nullptr && spare == nullptr && pool.live() == 3);
    CHECK(pool.try_make(4) == nullptr && pool.live() == 3);
}

void test_variant_pool() {
    counted::restart();
    {
        lido::variant_pool<Circle, Square> shapes;
        Circle *circle = shapes.make<Circle>(2);
        Square *square = shapes.make<Square>();
        CHECK(circle->value == 2 && shapes.live() == 2 && shapes.of<Circle>().live() == 1);
        Square other;    // not of the pool
        CHECK(!shapes.destroy_any(&other));
        CHECK(shapes.destroy_any(static_cast<void *>(square)) && shapes.of<Square>().live() == 0);
        CHECK(shapes.destroy_any(nullptr));
        shapes.destroy(circle);
        CHECK(shapes.live() == 0 && counted::alive() == 1);
        CHECK(shapes.make<Square>() != nullptr);
    }
    CHECK(counted::made == 4 && counted::ended == 4);
}

struct Ticket {
    explicit Ticket(int n) : number(n) {}
    ~Ticket() { number = -1; }
    int number;
};

void test_threads_share_a_capacity() {
    lido::pool_options options;
    options.capacity = 500;
    lido::shared_object_pool<Ticket> pool(options);
    std::atomic<int> alive{0}, most{0}, wrong{0};
    auto work = [&](int id) {
        std::vector<Ticket *> held;
        for (int i = 0; i < 4000; i++) {
            if (i % 3 != 2) {
                Ticket *ticket = pool.try_make(id);
                if (ticket == nullptr) continue;
                held.push_back(ticket);
                if (++alive > 500) most = alive.load();
            } else if (!held.empty()) {
                if (held.back()->number != id) wrong++;
                alive--;
                pool.destroy(held.back());
                held.pop_back();
            }
        }
        for (Ticket *ticket : held) {
            alive--;
            pool.destroy(ticket);
        }
    };
    std::vector<std::thread> threads;
    for (int id = 0; id < 4; id++) threads.emplace_back(work, id);
    for (std::thread &thread : threads) thread.join();
    CHECK(most == 0 && wrong == 0);
    CHECK(pool.live() == 0);
    std::vector<Ticket *> all;
    while (Ticket *ticket = pool.try_make(9)) all.push_back(ticket);
    CHECK(all.size() == 500);
}

// A pool of a class that is not defined yet, as a member and behind pointers.
struct Engine;
struct Car {
    lido::object_pool<Engine> *shared_pool = nullptr;
    std::unique_ptr<lido::object_pool<Engine>> own_pool;
    std::unique_ptr<Engine, lido::pool_deleter<lido::object_pool<Engine>>> engine;
    Car();
    ~Car();
};
struct Engine {
    int horses = 90;
};
Car::Car() : own_pool(new lido::object_pool<Engine>), engine(own_pool->make_unique()) {}
Car::~Car() = default;

void test_incomplete_types() {
    Car car;
    CHECK(car.engine->horses == 90 && car.own_pool->live() == 1);
}

// The capacity holds, constructors that throw give their block back, owners go the short way, and in check mode, where nothing may be
// kept, it still counts.
void bare(const char *name) {
    lido::bare_object_pool<counted> pool(name, 4);
    counted::restart();
    counted *four[4];
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 4; i++) four[i] = pool.make(i);
        CHECK(pool.try_make(4) == nullptr && pool.live() == 4);
        for (counted *one : four) pool.destroy(one);
        CHECK(pool.live() == 0 && counted::alive() == 0);
    }
    counted::restart(1);    // the second constructor throws
    {
        auto owner = pool.make_unique(7);
        CHECK(owner->value == 7 && pool.owns(owner.get()));
        bool thrown = false;
        try {
            (void)!pool.make(8);
        } catch (...) {
            thrown = true;
        }
        CHECK(thrown && pool.live() == 1);
    }
    CHECK(pool.live() == 0 && counted::alive() == 0);
}

void test_bare() {
    bare("bare");
    lido_options_set("pool.bare-checked.check=guard");
    bare("bare-checked");
}

}    // namespace

int main() {
    return run_all({CASE(test_exhaust), CASE(test_throw_at_every_position), CASE(test_owners),
                    CASE(test_live_objects_end_with_their_pool), CASE(test_trees), CASE(test_shapes),
                    CASE(test_options), CASE(test_kept_blocks), CASE(test_callback_destroys), CASE(test_variant_pool),
                    CASE(test_threads_share_a_capacity), CASE(test_incomplete_types), CASE(test_bare)});
}
