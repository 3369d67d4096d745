// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// Standard containers over each library's allocator: nodes coming and going in one of a thousand (turn), and a container made,
// filled with a thousand and destroyed (fill), which takes the bucket arrays of unordered_map in.
#include "sidebyside.hpp"

#include <lido/lido.hpp>

#include <list>
#include <map>
#include <memory_resource>
#include <unordered_map>
#if SIDE_HAS_BOOST
#include <boost/pool/pool_alloc.hpp>
#endif
#if SIDE_HAS_FOONATHAN
#include <foonathan/memory/default_allocator.hpp>
#include <foonathan/memory/memory_pool.hpp>
#include <foonathan/memory/segregator.hpp>
#include <foonathan/memory/std_allocator.hpp>
#endif

namespace {

constexpr std::uint64_t population = 1000;

// --- where nodes come from --------------------------------------------------------------------------------------------

// `get<T>()` gives an allocator over the memory that the family holds.
struct lido_any {
    template <class T>
    using allocator = lido::allocator<T>;
    template <class T>
    allocator<T> get() {
        return {};
    }
};

struct lido_one {
    lido::node_memory memory;
    template <class T>
    using allocator = lido::node_allocator<T>;
    template <class T>
    allocator<T> get() {
        return memory;
    }
};

struct std_any {
    template <class T>
    using allocator = std::allocator<T>;
    template <class T>
    allocator<T> get() {
        return {};
    }
};

template <class Resource>
struct pmr_family {
    Resource memory;
    template <class T>
    using allocator = std::pmr::polymorphic_allocator<T>;
    template <class T>
    allocator<T> get() {
        return &memory;
    }
};

#if SIDE_HAS_BOOST
template <class Mutex>
struct boost_family {
    template <class T>
    using allocator = boost::fast_pool_allocator<T, boost::default_user_allocator_new_delete, Mutex>;
    template <class T>
    allocator<T> get() {
        return {};
    }
};
#endif

#if SIDE_HAS_FOONATHAN
// Nodes from a pool, bucket arrays from operator new. 64 bytes hold the nodes of all three containers.
struct foonathan_one {
    static constexpr std::size_t node_bytes = 64;
    using pool = foonathan::memory::memory_pool<foonathan::memory::node_pool>;
    using memory_type = foonathan::memory::binary_segregator<foonathan::memory::threshold_segregatable<pool>,
                                                             foonathan::memory::new_allocator>;
    memory_type memory{
        foonathan::memory::threshold(node_bytes, pool(node_bytes, pool::min_block_size(node_bytes, population))),
        foonathan::memory::new_allocator{}};
    template <class T>
    using allocator = foonathan::memory::std_allocator<T, memory_type>;
    template <class T>
    allocator<T> get() {
        return memory;
    }
};
#endif

// --- the containers ---------------------------------------------------------------------------------------------------

// A bijection, so no key comes twice while all live; spreads neighbours over the tree and the buckets.
std::uint32_t key_of(std::uint64_t serial) { return static_cast<std::uint32_t>(serial) * 2654435761u; }

template <class Family>
struct of_list {
    using value = std::uint64_t;
    using type = std::list<value, typename Family::template allocator<value>>;
    static void insert(type &list, std::uint64_t serial) { list.push_back(serial); }
    static std::uint64_t erase(type &list, std::uint64_t) {
        std::uint64_t oldest = list.front();
        list.pop_front();
        return oldest;
    }
    static std::uint64_t read(const value &element) { return element; }
};

template <class Map>
struct of_keys {
    using value = typename Map::value_type;
    using type = Map;
    static void insert(type &map, std::uint64_t serial) { map.emplace(key_of(serial), serial); }
    static std::uint64_t erase(type &map, std::uint64_t serial) {
        auto found = map.find(key_of(serial));
        std::uint64_t read = found->second;
        map.erase(found);
        return read;
    }
    static std::uint64_t read(const value &element) { return element.second; }
};

using entry = std::pair<const std::uint32_t, std::uint64_t>;
template <class Family>
using of_map = of_keys<std::map<std::uint32_t, std::uint64_t, std::less<>, typename Family::template allocator<entry>>>;
template <class Family>
using of_unordered = of_keys<std::unordered_map<std::uint32_t, std::uint64_t, std::hash<std::uint32_t>, std::equal_to<>,
                                                typename Family::template allocator<entry>>>;

// --- the work ---------------------------------------------------------------------------------------------------------

template <class Of, class Family>
struct turn final : side::contest {
    Family family;
    typename Of::type container{family.template get<typename Of::value>()};
    std::uint64_t oldest = 0, next = 0;
    turn() {
        while (next < population) Of::insert(container, next++);
    }
    std::uint64_t pass(std::uint64_t count) override {
        std::uint64_t sum = 0, first = oldest;
        for (std::uint64_t i = 0; i < count; i++) {
            sum += Of::erase(container, oldest++) - first;    // passes of the same length have the same sum
            Of::insert(container, next++);
        }
        side::escape(&container);
        return sum;
    }
};

template <class Of, class Family>
struct fill final : side::contest {
    Family family;
    std::uint64_t pass(std::uint64_t count) override {
        std::uint64_t sum = 0;
        for (std::uint64_t done = 0; done < count; done += population) {
            typename Of::type container{family.template get<typename Of::value>()};
            for (std::uint64_t i = 0; i < population; i++) Of::insert(container, done + i);
            side::escape(&container);
            for (const auto &element : container) sum += Of::read(element);
        }
        return sum;
    }
};

template <template <class, class> class Work, template <class> class Of>
void add_row(std::vector<side::row> &rows, const char *name, const char *help, std::uint64_t count) {
    using side::owner;
    using side::threads;
    rows.push_back({name, help, count, {}});
    side::row &row = rows.back();
    row.add<Work<Of<lido_one>, lido_one>>("lido::node_allocator", owner::lido, threads::one);
    row.add<Work<Of<lido_any>, lido_any>>("lido::allocator", owner::lido, threads::any);
#if SIDE_HAS_BOOST
    using unlocked = boost_family<boost::details::pool::null_mutex>;
    using locked = boost_family<boost::details::pool::default_mutex>;
    row.add<Work<Of<unlocked>, unlocked>>("boost fast_pool, unlocked", owner::peer, threads::one);
    row.add<Work<Of<locked>, locked>>("boost fast_pool", owner::peer, threads::any);
#endif
#if SIDE_HAS_FOONATHAN
    row.add<Work<Of<foonathan_one>, foonathan_one>>("foonathan std_allocator", owner::peer, threads::one);
#endif
    using unsynchronized = pmr_family<std::pmr::unsynchronized_pool_resource>;
    using synchronized = pmr_family<std::pmr::synchronized_pool_resource>;
    row.add<Work<Of<unsynchronized>, unsynchronized>>("pmr unsynchronized", owner::peer, threads::one);
    row.add<Work<Of<synchronized>, synchronized>>("pmr synchronized", owner::peer, threads::any);
    row.add<Work<Of<std_any>, std_any>>("std::allocator", owner::peer, threads::any);
}

}    // namespace

void side::add_containers(std::vector<row> &rows) {
    add_row<turn, of_list>(rows, "list-turn", "std::list of 1,000: the first erased, one added behind", 500000);
    add_row<fill, of_list>(rows, "list-fill", "std::list made, filled with 1,000, read, destroyed", 200000);
    add_row<turn, of_map>(rows, "map-turn", "std::map of 1,000: the oldest key erased, one inserted", 50000);
    add_row<fill, of_map>(rows, "map-fill", "std::map made, filled with 1,000, read, destroyed", 50000);
    add_row<turn, of_unordered>(rows, "unordered-turn",
                                "std::unordered_map of 1,000: the oldest key erased, one inserted", 200000);
    add_row<fill, of_unordered>(rows, "unordered-fill", "std::unordered_map made, filled with 1,000, read, destroyed",
                                100000);
}
