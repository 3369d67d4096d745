// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// The corpus of what only C++ can get wrong: new and delete of different kinds, and delete with a wrong size. A plain C++
// program; `corpus_cxx KIND`, without an argument the names of all.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <unistd.h>

namespace {

// A size of its own for each role, so that a report's figures can be told apart.
constexpr std::size_t bytes = 96, wrong_bytes = 200;

// The compiler must not see what it could warn of, or remove.
template <class T>
T *hide(T *p) {
    __asm__ volatile("" : "+r"(p) : : "memory");
    return p;
}

void *make_block() { return hide(std::malloc(bytes)); }
void *make_new() { return hide(::operator new(bytes)); }
void *make_array() { return hide(::operator new[](bytes)); }
void end_block(void *p) { std::free(hide(p)); }
void end_delete(void *p) { ::operator delete(hide(p)); }
void end_array(void *p) { ::operator delete[](hide(p)); }
void end_sized(void *p) { ::operator delete(hide(p), wrong_bytes); }
void end_array_sized(void *p) { ::operator delete[](hide(p), wrong_bytes); }

void new_free() { end_block(make_new()); }
void array_free() { end_block(make_array()); }
void malloc_delete() { end_delete(make_block()); }
void malloc_delete_array() { end_array(make_block()); }
void new_delete_array() { end_array(make_new()); }
void array_delete() { end_delete(make_array()); }
void delete_wrong_size() { end_sized(make_new()); }
void delete_array_wrong_size() { end_array_sized(make_array()); }
void double_delete() {
    void *p = make_new();
    end_delete(p);
    end_delete(p);
}
void new_overflow_1() {
    char *p = static_cast<char *>(make_new());
    static_cast<volatile char *>(p)[bytes] = 0x42;
    end_delete(p);
}
void new_realloc() {
    void *p = hide(std::realloc(make_new(), wrong_bytes));
    if (p != nullptr) end_block(p);
}

const struct kind {
    const char *name;
    void (*run)();
} kinds[] = {
    {"cxx.new_free", new_free},
    {"cxx.array_free", array_free},
    {"cxx.malloc_delete", malloc_delete},
    {"cxx.malloc_delete_array", malloc_delete_array},
    {"cxx.new_delete_array", new_delete_array},
    {"cxx.array_delete", array_delete},
    {"cxx.delete_wrong_size", delete_wrong_size},
    {"cxx.delete_array_wrong_size", delete_array_wrong_size},
    {"cxx.new_realloc", new_realloc},
    {"cxx.double_delete", double_delete},
    {"cxx.new_overflow_1", new_overflow_1},
};

}    // namespace

int main(int argc, char **argv) {
    for (const kind &k : kinds) {
        if (argc != 2 || std::strcmp(argv[1], k.name) != 0) continue;
        alarm(20);
        k.run();
        return write(STDOUT_FILENO, "survived\n", 9) == 9 ? 0 : 7;
    }
    for (const kind &k : kinds) std::printf("%s\n", k.name);
    return argc == 1 ? 0 : 2;
}
