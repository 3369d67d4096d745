// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// Arenas: memory that goes all at once. An operation is a block; a batch of blocks is emptied with what each library has
// for it. Blocks are aligned to 16, as malloc's are, but for apr, which aligns to 8, and strings.
#include "sidebyside.hpp"

#include <lido/arena.h>

#include <cstdlib>
#include <cstring>
#include <memory_resource>
#include <new>
#if SIDE_HAS_APR
#include <apr_allocator.h>
#include <apr_general.h>
#include <apr_pools.h>
#include <apr_strings.h>
#endif
#if SIDE_HAS_TALLOC
#include <talloc.h>
#endif
#if SIDE_HAS_OBSTACK
#include <obstack.h>
#define obstack_chunk_alloc std::malloc
#define obstack_chunk_free std::free
#endif

namespace {

constexpr std::size_t batch = 1000, alignment = 16;

[[gnu::noinline, noreturn]] void fail() {
    std::fputs("lido-side-by-side: an arena has no memory\n", stderr);
    std::exit(1);
}

// --- the contenders: take(size), copy(string, length), empty() --------------------------------------------------------

struct lido_region {
    lido_arena *arena = lido_arena_new(nullptr);
    ~lido_region() { lido_arena_free(arena); }
    void *take(std::size_t size) { return lido_arena_alloc(arena, size); }
    char *copy(const char *text) { return lido_arena_strdup(arena, text); }
    void empty() { lido_arena_reset(arena); }
};

// Over memory of the caller's that is large enough: no chunk is ever taken.
struct lido_buffer {
    static constexpr std::size_t bytes = batch * 320;
    std::unique_ptr<char[]> buffer{new char[bytes]};
    lido_arena *arena;
    lido_buffer() {
        lido_arena_options options = {};
        options.buffer = buffer.get();
        options.buffer_bytes = bytes;
        arena = lido_arena_new(&options);
    }
    ~lido_buffer() { lido_arena_free(arena); }
    void *take(std::size_t size) { return lido_arena_alloc(arena, size); }
    char *copy(const char *text) { return lido_arena_strdup(arena, text); }
    void empty() { lido_arena_reset(arena); }
};

// The least that an arena can do: a pointer into one piece that is large enough. It cannot grow.
struct bare_bump {
    static constexpr std::size_t bytes = batch * 320;
    std::unique_ptr<char[]> piece{new char[bytes]};
    char *next = piece.get(), *end = next + bytes;
    void *take(std::size_t size) {
        size = (size + alignment - 1) & ~(alignment - 1);
        if (static_cast<std::size_t>(end - next) < size) return nullptr;
        char *block = next;
        next += size;
        return block;
    }
    char *copy(const char *text) {
        std::size_t size = std::strlen(text) + 1;
        return static_cast<char *>(std::memcpy(take(size), text, size));
    }
    void empty() { next = piece.get(); }
};

// The default: release() gives all memory back to operator new.
struct pmr_region {
    std::pmr::monotonic_buffer_resource memory{4096};
    void *take(std::size_t size) { return memory.allocate(size, alignment); }
    char *copy(const char *text) {
        std::size_t size = std::strlen(text) + 1;
        return static_cast<char *>(std::memcpy(memory.allocate(size, 1), text, size));
    }
    void empty() { memory.release(); }
};

// Over a first buffer large enough, to which release() comes back: nothing is ever taken from operator new.
struct pmr_buffer {
    static constexpr std::size_t bytes = batch * 320;
    std::unique_ptr<char[]> buffer{new char[bytes]};
    std::pmr::monotonic_buffer_resource memory{buffer.get(), bytes};
    void *take(std::size_t size) { return memory.allocate(size, alignment); }
    char *copy(const char *text) {
        std::size_t size = std::strlen(text) + 1;
        return static_cast<char *>(std::memcpy(memory.allocate(size, 1), text, size));
    }
    void empty() { memory.release(); }
};

#if SIDE_HAS_APR
struct apr_region {
    apr_pool_t *pool = nullptr;
    apr_region() {
        static const bool started = apr_initialize() == APR_SUCCESS;
        apr_allocator_t *allocator;
        if (!started || apr_allocator_create(&allocator) != APR_SUCCESS ||
            apr_pool_create_ex(&pool, nullptr, nullptr, allocator) != APR_SUCCESS)
            fail();
        apr_allocator_owner_set(allocator, pool);
    }
    ~apr_region() { apr_pool_destroy(pool); }
    void *take(std::size_t size) { return apr_palloc(pool, size); }
    char *copy(const char *text) { return apr_pstrdup(pool, text); }
    void empty() { apr_pool_clear(pool); }
};
#endif

#if SIDE_HAS_TALLOC
template <bool Pool>
struct talloc_region {
    static constexpr std::size_t bytes = batch * 420;    // with the headers
    void *context = Pool ? talloc_pool(nullptr, bytes) : talloc_new(nullptr);
    ~talloc_region() { talloc_free(context); }
    void *take(std::size_t size) { return talloc_size(context, size); }
    char *copy(const char *text) { return talloc_strdup(context, text); }
    void empty() { talloc_free_children(context); }
};
#endif

#if SIDE_HAS_OBSTACK
struct obstack_region {
    struct obstack stack;
    void *bottom;    // a block below all others
    obstack_region() {
        obstack_init(&stack);
        bottom = obstack_alloc(&stack, 1);
    }
    ~obstack_region() { obstack_free(&stack, nullptr); }
    void *take(std::size_t size) { return obstack_alloc(&stack, size); }
    char *copy(const char *text) { return static_cast<char *>(obstack_copy0(&stack, text, std::strlen(text))); }
    void empty() {
        obstack_free(&stack, bottom);
        bottom = obstack_alloc(&stack, 1);
    }
};
#endif

// --- the work ---------------------------------------------------------------------------------------------------------

// Sizes of a parser's nodes, 8 to 256 bytes, small ones more often.
std::size_t size_of(std::uint64_t serial) {
    std::uint32_t mixed = static_cast<std::uint32_t>(serial) * 2654435761u >> 20;
    return 8 + (mixed & 0xff & (mixed >> 4 | 0x3f));
}

template <class Region>
void *need(Region &region, std::size_t size) {
    void *block = region.take(size);
    if (__builtin_expect(block == nullptr, 0)) fail();
    return block;
}

// A batch of blocks of `Size` bytes (0: mixed), each written, all read, all gone.
template <class Region, std::size_t Size>
std::uint64_t one_batch(Region &region, std::uint64_t serial) {
    static std::uint64_t *blocks[batch];
    std::uint64_t sum = 0;
    for (std::size_t n = 0; n < batch; n++) {
        blocks[n] = static_cast<std::uint64_t *>(need(region, Size != 0 ? Size : size_of(n)));
        *blocks[n] = serial + n;
    }
    side::escape(blocks);
    for (std::size_t n = 0; n < batch; n++) sum += *blocks[n] * (n + 1);
    return sum;
}

template <class Region, std::size_t Size>
struct emptied final : side::contest {
    Region region;
    std::uint64_t pass(std::uint64_t count) override {
        std::uint64_t sum = 0;
        for (std::uint64_t done = 0; done < count; done += batch) {
            sum += one_batch<Region, Size>(region, done);
            region.empty();
        }
        return sum;
    }
};
template <class Region>
using region64 = emptied<Region, 64>;
template <class Region>
using mixed = emptied<Region, 0>;

// A region for the batch alone.
template <class Region>
struct once final : side::contest {
    std::uint64_t pass(std::uint64_t count) override {
        std::uint64_t sum = 0;
        for (std::uint64_t done = 0; done < count; done += batch) {
            Region region;
            sum += one_batch<Region, 0>(region, done);
        }
        return sum;
    }
};

template <class Region>
struct strings final : side::contest {
    Region region;
    std::uint64_t pass(std::uint64_t count) override {
        static const char *const words[] = {"host", "user-agent", "accept-language",  "a", "x-forwarded-for",
                                            "te",   "connection", "if-modified-since"};
        std::uint64_t sum = 0;
        for (std::uint64_t i = 0; i < count; i++) {
            char *copy = region.copy(words[i % 8]);
            if (__builtin_expect(copy == nullptr, 0)) fail();
            side::escape(copy);
            sum += static_cast<unsigned char>(copy[0]) * (i & 0xff);
            if (i % batch == batch - 1) region.empty();
        }
        return sum;
    }
};

template <template <class> class Work>
void add_row(std::vector<side::row> &rows, const char *name, const char *help) {
    using side::owner;
    using side::threads;
    rows.push_back({name, help, 1000000, {}});
    side::row &row = rows.back();
    row.add<Work<lido_region>>("lido_arena", owner::lido, threads::one);
    row.add<Work<lido_buffer>>("lido_arena, own buffer", owner::lido, threads::one);
    row.add<Work<bare_bump>>("bare bump", owner::yardstick, threads::one);
#if SIDE_HAS_APR
    row.add<Work<apr_region>>("apr pool", owner::peer, threads::one);
#endif
#if SIDE_HAS_OBSTACK
    row.add<Work<obstack_region>>("obstack", owner::peer, threads::one);
#endif
    row.add<Work<pmr_region>>("pmr monotonic", owner::peer, threads::one);
    row.add<Work<pmr_buffer>>("pmr monotonic, own buffer", owner::peer, threads::one);
#if SIDE_HAS_TALLOC
    row.add<Work<talloc_region<true>>>("talloc_pool", owner::peer, threads::one);
    row.add<Work<talloc_region<false>>>("talloc", owner::peer, threads::one);
#endif
}

}    // namespace

void side::add_arenas(std::vector<row> &rows) {
    add_row<region64>(rows, "arena-64", "1,000 blocks of 64 bytes, then the arena emptied");
    add_row<mixed>(rows, "arena-mixed", "1,000 blocks of 8 to 256 bytes, then the arena emptied");
    add_row<once>(rows, "arena-once", "an arena made, 1,000 blocks of 8 to 256 bytes, the arena destroyed");
    add_row<strings>(rows, "arena-strings", "copies of strings of 1 to 17 bytes; emptied after each 1,000");
}
