// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// operator new and delete in every form, the new-handler, bad_alloc, destructors of thread_local objects, and a little
// of what C++ programs do all day.
#include "case.h"

#include <malloc.h>
#include <sys/resource.h>

#include <map>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

namespace {

std::size_t hide(std::size_t n) {
    __asm__ volatile("" : "+r"(n));
    return n;
}

enum Form {
    plain,
    array,
    nothrow_plain,
    nothrow_array,
    aligned,
    aligned_array,
    nothrow_aligned,
    nothrow_aligned_array,
    form_count
};
const char *const form_names[form_count] = {
    "new",         "new[]",         "new nothrow",         "new[] nothrow",
    "new aligned", "new[] aligned", "new nothrow aligned", "new[] nothrow aligned"};

bool is_nothrow(int form) { return form == nothrow_plain || form == nothrow_array || form >= nothrow_aligned; }
bool is_aligned(int form) { return form >= aligned; }

void *make(int form, std::size_t size, std::size_t alignment) {
    const std::align_val_t a{alignment};
    switch (form) {
        case plain: return ::operator new(size);
        case array: return ::operator new[](size);
        case nothrow_plain: return ::operator new(size, std::nothrow);
        case nothrow_array: return ::operator new[](size, std::nothrow);
        case aligned: return ::operator new(size, a);
        case aligned_array: return ::operator new[](size, a);
        case nothrow_aligned: return ::operator new(size, a, std::nothrow);
        default: return ::operator new[](size, a, std::nothrow);
    }
}

// Each form of new has three forms of delete: plain, sized, nothrow.
void drop(int form, void *p, std::size_t size, std::size_t alignment, unsigned which) {
    const std::align_val_t a{alignment};
    const bool of_array =
        form == array || form == nothrow_array || form == aligned_array || form == nothrow_aligned_array;
    if (!of_array && !is_aligned(form)) {
        which == 0   ? ::operator delete(p)
        : which == 1 ? ::operator delete(p, size)
                     : ::operator delete(p, std::nothrow);
    } else if (of_array && !is_aligned(form)) {
        which == 0   ? ::operator delete[](p)
        : which == 1 ? ::operator delete[](p, size)
                     : ::operator delete[](p, std::nothrow);
    } else if (!of_array) {
        which == 0   ? ::operator delete(p, a)
        : which == 1 ? ::operator delete(p, size, a)
                     : ::operator delete(p, a, std::nothrow);
    } else {
        which == 0   ? ::operator delete[](p, a)
        : which == 1 ? ::operator delete[](p, size, a)
                     : ::operator delete[](p, a, std::nothrow);
    }
}

int handler_calls;
void *reserve;

}    // namespace

void case_new_every_form(void) {
    for (int form = 0; form < form_count; form++) {
        for (std::size_t alignment = 1; alignment <= (is_aligned(form) ? 65536u : 1u); alignment *= 2) {
            for (std::size_t size = 0; size < 200000; size = size * 3 + 1) {
                for (unsigned which = 0; which < 3; which++) {
                    void *p = make(form, hide(size), alignment), *q = make(form, hide(size), alignment);
                    CHECK(p != nullptr && q != nullptr && p != q, "%s of %zu", form_names[form], size);
                    CHECK(reinterpret_cast<std::uintptr_t>(p) % alignment == 0, "%s of %zu at %zu: %p",
                          form_names[form], size, alignment, p);
                    case_fill(p, size, 1);
                    case_fill(q, size, 2);
                    CHECK(case_filled(p, size, 1), "%s: blocks overlap", form_names[form]);
                    drop(form, p, size, alignment, which);
                    drop(form, q, size, alignment, which);
                }
            }
        }
        for (unsigned which = 0; which < 3; which++) drop(form, nullptr, 10, 64, which);
    }
    // They free what they are given: a hundred thousand of each form would not fit otherwise.
    const long before = case_rss_kb();
    for (int i = 0; i < 48000; i++) {
        void *p = make(i % form_count, 30000, 64);
        case_fill(p, 100, 1);
        drop(i % form_count, p, 30000, 64, static_cast<unsigned>(i) / form_count % 3);
    }
    CHECK(case_rss_kb() - before < 20000, "memory grew by %ld KiB", case_rss_kb() - before);
}

void case_new_replaces_all(void) {
    for (int form = 0; form < form_count; form++) {
        for (std::size_t size = 1; size < 100000; size = size * 2 + 1) {
            void *p = make(form, size, 64);
            CHECK(malloc_usable_size(p) >= size, "%s of %zu: the C family does not know its blocks", form_names[form],
                  size);
            free(p);    // one heap behind both: not portable, and yet what programs with C libraries end up doing
            p = malloc(size);
            ::operator delete(p);
        }
    }
}

void case_new_handler_called(void) {
    for (int form = 0; form < form_count; form++) {
        // Three calls, then it gives up by taking itself out.
        handler_calls = 0;
        std::set_new_handler([] {
            if (++handler_calls == 3) std::set_new_handler(nullptr);
        });
        bool thrown = false;
        void *p = nullptr;
        try {
            p = make(form, hide(static_cast<std::size_t>(PTRDIFF_MAX) - 100000), 64);
        } catch (const std::bad_alloc &) {
            thrown = true;
        }
        CHECK(p == nullptr && handler_calls == 3, "%s: the handler was called %d times", form_names[form],
              handler_calls);
        CHECK(thrown != is_nothrow(form), "%s: bad_alloc %s", form_names[form], thrown ? "thrown" : "not thrown");
        // A handler that throws: out of the plain forms, NULL out of the others.
        std::set_new_handler([] { throw std::bad_alloc(); });
        thrown = false;
        try {
            p = make(form, hide(static_cast<std::size_t>(PTRDIFF_MAX) - 5), 64);
        } catch (const std::bad_alloc &) {
            thrown = true;
        }
        CHECK(p == nullptr && thrown != is_nothrow(form), "%s: a handler that throws", form_names[form]);
        std::set_new_handler(nullptr);
    }
    // A handler that makes room: the call succeeds.
    const std::size_t room = std::size_t{300} << 20;
    struct rlimit limit;
    reserve = malloc(room);
    CHECK(reserve != nullptr && getrlimit(RLIMIT_AS, &limit) == 0, "reserve");
    FILE *file = fopen("/proc/self/statm", "r");
    unsigned long pages = 0;
    CHECK(file != nullptr && fscanf(file, "%lu", &pages) == 1, "statm");
    fclose(file);
    limit.rlim_cur = pages * 4096 + (std::size_t{100} << 20);
    CHECK(setrlimit(RLIMIT_AS, &limit) == 0, "setrlimit");
    handler_calls = 0;
    std::set_new_handler([] {
        handler_calls++;
        if (reserve == nullptr) throw std::bad_alloc();
        free(reserve);
        reserve = nullptr;
        malloc_trim(0);
    });
    void *p = ::operator new(hide(std::size_t{250} << 20));
    CHECK(p != nullptr && handler_calls == 1, "the handler that makes room was called %d times", handler_calls);
    ::operator delete(p);
    std::set_new_handler(nullptr);
}

void case_new_throws(void) {
    const std::size_t sizes[] = {static_cast<std::size_t>(PTRDIFF_MAX), SIZE_MAX, SIZE_MAX - 15, SIZE_MAX / 2 + 2};
    for (int form = 0; form < form_count; form++) {
        for (std::size_t size : sizes) {
            // libstdc++ 12 rounds the size up to the alignment without looking for overflow.
            if (case_under_libc() && is_aligned(form) && size > SIZE_MAX - 4096) continue;
            std::string kept(1000, 'x');    // its destructor must run while the exception passes
            bool thrown = false;
            void *p = nullptr;
            try {
                std::vector<int> in_the_way(1000, 1);
                p = make(form, hide(size), 4096);
            } catch (const std::bad_alloc &failure) {
                thrown = true;
                CHECK(failure.what() != nullptr, "no text");
            }
            CHECK(p == nullptr && thrown != is_nothrow(form), "%s of %zu", form_names[form], size);
            CHECK(kept == std::string(1000, 'x'), "a local changed");
        }
    }
    bool thrown = false;
    try {
        std::vector<char> too_long(hide(std::size_t{1} << 60));
    } catch (const std::bad_alloc &) {
        thrown = true;
    }
    CHECK(thrown, "a vector of 2^60 bytes");
}

namespace {

// Objects of a thread that allocate while the thread ends, in an order nobody controls.
struct Last {
    std::vector<std::string> texts;
    ~Last() {
        for (int i = 0; i < 20; i++) texts.emplace_back(static_cast<std::size_t>(i) * 50, 'z');
        std::unique_ptr<char[]> more(new char[100000]);
        more[0] = 1;
        texts.clear();
    }
};
thread_local Last last_one;
thread_local std::map<int, std::string> by_number;
thread_local std::unique_ptr<Last> owned;

void use_thread_locals(int seed) {
    for (int i = 0; i < 100; i++) by_number[i * seed % 37] += "text";
    last_one.texts.emplace_back(200, 'a');
    owned = std::make_unique<Last>();
    owned->texts.emplace_back(3000, 'b');
}

}    // namespace

void case_thread_local_destructors(void) {
    auto run = [](int rounds) {
        for (int round = 0; round < rounds; round++) {
            std::vector<std::thread> threads;
            for (int i = 0; i < 4; i++) threads.emplace_back(use_thread_locals, i + 1);
            for (std::thread &thread : threads) thread.join();
        }
    };
    run(300);
    const long before = case_rss_kb();
    run(700);
    const long after = case_rss_kb();
    case_note("2,800 threads with thread_local objects: %ld KiB before, %ld KiB after", before, after);
    CHECK(after - before <= 1024, "RSS grew by %ld KiB", after - before);
    use_thread_locals(5);    // and those of the main thread
}

void case_cxx_containers(void) {
    std::uint64_t seed = 11;
    for (int round = 0; round < 5; round++) {
        std::unordered_map<std::string, std::vector<int>> table;
        for (int i = 0; i < 50000; i++) {
            const std::string key = "key " + std::to_string(case_random(&seed) % 5000);
            table[key].push_back(i);
            if (i % 7 == 0) table.erase("key " + std::to_string(case_random(&seed) % 5000));
        }
        for (const auto &[key, numbers] : table) {
            for (std::size_t i = 1; i < numbers.size(); i++)
                CHECK(numbers[i - 1] < numbers[i], "the order of %s", key.c_str());
        }
        std::vector<std::shared_ptr<std::string>> shared;
        for (int i = 0; i < 20000; i++) shared.push_back(std::make_shared<std::string>(std::to_string(i)));
        for (std::size_t i = 0; i < shared.size(); i++) CHECK(*shared[i] == std::to_string(i), "string %zu", i);
    }
}
