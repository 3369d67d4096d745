// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// lido__os_describe: every kind of place, the names of files (also long ones and ones with blanks), cut names, and errno.
#include "support.h"

#include "os/os.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

static const char constant[] = "read only";
static int initialized = 7;
static char zeroed[1 << 20];    // most of it lies behind the file's mapping, in memory without a name

static lido__os_place describe(const void *p, char *name, size_t name_bytes) {
    memset(name, '#', name_bytes);
    errno = 12345;
    lido__os_place place = lido__os_describe(p, name, name_bytes);
    UNIT_CHECK(errno == 12345);
    UNIT_CHECK(memchr(name, '\0', name_bytes) != NULL);
    return place;
}

static bool ends_with(const char *text, const char *end) {
    size_t length = strlen(text), end_length = strlen(end);
    return length >= end_length && strcmp(text + length - end_length, end) == 0;
}

static void assert_in_program(const void *p) {
    char name[256], program[256] = "";
    assert_true(readlink("/proc/self/exe", program, sizeof program - 1) > 0);
    assert_int_equal(describe(p, name, sizeof name), LIDO__PLACE_FILE);
    program[159] = '\0';    // as much of a path as is kept
    assert_string_equal(name, program);
}

static void data_of_this_program(void **state) {
    (void)state;
    assert_in_program(constant);
    assert_in_program(&initialized);
    assert_in_program((const void *)(uintptr_t)&describe);
    assert_in_program(zeroed);
    assert_in_program(zeroed + sizeof zeroed / 2);
    assert_in_program(zeroed + sizeof zeroed - 1);
}

static void libraries(void **state) {
    (void)state;
    char name[256];
    assert_int_equal(describe(stdout, name, sizeof name), LIDO__PLACE_FILE);
    assert_non_null(strstr(name, "/libc"));
    uintptr_t loader = getauxval(AT_BASE);
    if (loader != 0) assert_int_equal(describe((const void *)loader, name, sizeof name), LIDO__PLACE_LOADER);
}

static void describe_own_stack(unsigned index, void *argument) {
    (void)index;
    (void)argument;
    char name[64];
    UNIT_CHECK(describe(__builtin_frame_address(0), name, sizeof name) == LIDO__PLACE_STACK);
}

static void stacks(void **state) {
    (void)state;
    describe_own_stack(0, NULL);
    unit_threads(2, describe_own_stack, NULL);
}

static void heap_of_the_c_library(void **state) {
    (void)state;
    char name[64];
    char *end = sbrk(4096);
    assert_int_equal(describe(end, name, sizeof name), LIDO__PLACE_BREAK_HEAP);
    assert_string_equal(name, "[heap]");
    if (UNIT_SANITIZED) return;    // there malloc is theirs
    void *block = malloc(100);
    assert_int_equal(describe(block, name, sizeof name), LIDO__PLACE_BREAK_HEAP);
    free(block);
}

static void anonymous_and_nothing(void **state) {
    (void)state;
    char name[64];
    // away from files: what lies right behind one passes for its zeroed data
    char *area = lido__os_reserve(1 << 30, 1 << 30), *memory = area + (512 << 20);
    assert_true(lido__os_commit(memory, 65536));
    lido__os_release(area, 65536);
    lido__os_place place = describe(memory, name, sizeof name);
    assert_int_equal(place, LIDO__PLACE_ANONYMOUS);
    assert_string_equal(name, "");
    assert_int_equal(describe(memory + 65535, name, sizeof name), LIDO__PLACE_ANONYMOUS);
    lido__os_release(memory - 65536, 3 * 65536);
    assert_int_equal(describe(memory - 65536, name, sizeof name), LIDO__PLACE_UNMAPPED);
    assert_int_equal(describe(memory, name, sizeof name), LIDO__PLACE_UNMAPPED);
    assert_string_equal(name, "");
    assert_int_equal(describe(NULL, name, sizeof name), LIDO__PLACE_UNMAPPED);
    assert_int_equal(describe((const void *)UINTPTR_MAX, name, sizeof name), LIDO__PLACE_UNMAPPED);
    assert_int_equal(describe((const void *)(uintptr_t)0xDEADBEEF0000BEEF, name, sizeof name), LIDO__PLACE_UNMAPPED);
    lido__os_release(area, 1 << 30);
}

static void assert_named_file(const char *file) {
    char folder[] = "/tmp/lido-describe-XXXXXX", path[512], name[512];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/%s", folder, file);
    int fd = open(path, O_RDWR | O_CREAT, 0600);
    assert_true(fd >= 0 && ftruncate(fd, 8192) == 0);
    char *memory = mmap(NULL, 8192, PROT_READ, MAP_SHARED, fd, 0);
    assert_true(memory != MAP_FAILED);
    lido__os_place place = describe(memory + 8191, name, sizeof name);
    munmap(memory, 8192);
    close(fd);
    unlink(path);
    rmdir(folder);
    assert_int_equal(place, LIDO__PLACE_FILE);
    path[159] = '\0';
    assert_string_equal(name, path);
}

static void names_of_files(void **state) {
    (void)state;
    char name[201];
    assert_named_file("plain");
    assert_named_file("with blanks  and [brackets]");
    memset(name, 'n', sizeof name - 1);
    name[200] = '\0';
    assert_named_file(name);
}

static void names_are_cut(void **state) {
    (void)state;
    char whole[256], cut[256];
    describe(&initialized, whole, sizeof whole);
    assert_true(ends_with(whole, "os-describe") || strlen(whole) == 159);
    for (size_t bytes = 1; bytes <= strlen(whole) + 1; bytes++) {
        describe(&initialized, cut, bytes);
        assert_int_equal(strlen(cut), bytes - 1);
        assert_memory_equal(cut, whole, bytes - 1);
    }
}

// The reader's buffer ends anywhere in a line: with a few hundred mappings every place of a line is hit.
static void many_mappings(void **state) {
    (void)state;
    enum { COUNT = 400 };
    static char *pages[COUNT];
    char *area = lido__os_reserve((size_t)(2 * COUNT + 2) * 4096, 1 << 20), name[64];
    for (size_t i = 0; i < COUNT; i++) {
        pages[i] = area + (2 * i + 1) * 4096;
        assert_true(lido__os_commit(pages[i], 4096));
    }
    lido__os_release(area, 4096);    // the area does not touch what lies below it
    for (size_t i = 0; i < COUNT; i += 7) {
        assert_int_equal(describe(pages[i] + 4095, name, sizeof name), LIDO__PLACE_ANONYMOUS);
        assert_int_equal(describe(pages[i] + 4096, name, sizeof name), LIDO__PLACE_ANONYMOUS);
        lido__os_release(pages[i], 4096);
        assert_int_equal(describe(pages[i], name, sizeof name), LIDO__PLACE_UNMAPPED);
    }
    lido__os_release(area, (size_t)(2 * COUNT + 2) * 4096);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(data_of_this_program),
        cmocka_unit_test(libraries),
        cmocka_unit_test(stacks),
        cmocka_unit_test(heap_of_the_c_library),
        cmocka_unit_test(anonymous_and_nothing),
        cmocka_unit_test(names_of_files),
        cmocka_unit_test(names_are_cut),
        cmocka_unit_test(many_mappings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
