// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// Checks for the C++ tests, which also run without exceptions and RTTI. A test program lists its cases in run_all.
#ifndef LIDO_TESTS_CXX_CHECK_HPP
#define LIDO_TESTS_CXX_CHECK_HPP

#include <cstdio>
#include <sys/wait.h>
#include <unistd.h>

inline int check_failures = 0;
inline long check_count = 0;

#define CHECK(...)                                                                \
    do {                                                                          \
        check_count++;                                                            \
        if (!(__VA_ARGS__)) {                                                     \
            check_failures++;                                                     \
            std::printf("%s:%d: not so: %s\n", __FILE__, __LINE__, #__VA_ARGS__); \
        }                                                                         \
    } while (0)

struct test_case {
    const char *name;
    void (*run)();
};

// 0 if all checks of all cases hold; a program without any check fails.
template <int N>
int run_all(const test_case (&cases)[N]) {
    for (const test_case &one : cases) {
        int before = check_failures;
        one.run();
        if (check_failures != before) std::printf("failed: %s\n", one.name);
    }
    std::printf("%d cases, %ld checks, %d failures\n", N, check_count, check_failures);
    return check_failures == 0 && check_count > 0 ? 0 : 1;
}
#define CASE(name) \
    test_case { #name, name }

// Counts its instances; throws at construction number `throw_at` (from 0; -1: never), copies and moves included.
struct counted {
    static inline long made = 0, ended = 0, tried = 0, throw_at = -1;
    static void restart(long at = -1) {
        made = ended = tried = 0;
        throw_at = at;
    }
    static long alive() { return made - ended; }

    long value;
    counted *self;    // an object that was copied byte by byte shows it

    explicit counted(long v = 0) : value(v), self(this) { count(); }
    counted(const counted &other) : value(other.value), self(this) { count(); }
    counted &operator=(const counted &other) {
        value = other.value;
        return *this;
    }
    ~counted() {
        if (self != this) ended += 1000000;
        self = nullptr;
        ended++;
    }
    bool operator<(const counted &other) const { return value < other.value; }
    bool operator==(const counted &other) const { return value == other.value; }

private:
    static void count() {
        if (tried++ == throw_at) {
#if defined(__cpp_exceptions)
            throw throw_at;
#endif
        }
        made++;
    }
};

#endif
