// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// malloc_cases --list, or malloc_cases CASE. LIDO_TEST_MALLOC names the malloc that must be the one in use: the path of
// a preloaded library, "libc" for the C library's, or "linked" for one that was linked into this program.
#include "case.h"

#include <dlfcn.h>
#include <limits.h>

typedef struct case_entry {
    const char *name;
    void (*run)(void);
    int seconds;
} case_entry;

static const case_entry cases[] = {
#define CASE(name, seconds) {#name, case_##name, seconds},
#include "cases.h"
#undef CASE
};
enum { CASE_COUNT = sizeof cases / sizeof cases[0] };

// A preload that did not happen (a wrong path, a library that does not load) must not pass for a success.
static void check_which_malloc(void) {
    const char *wanted = getenv("LIDO_TEST_MALLOC");
    if (wanted == NULL || *wanted == '\0') return;
    Dl_info info;
    void *(*function)(size_t) = malloc;
    CHECK(dladdr(*(void **)&function, &info) != 0 && info.dli_fname != NULL, "malloc lies in no file");
    char own[PATH_MAX], expected[PATH_MAX];
    if (strcmp(wanted, "libc") == 0) {
        CHECK(strstr(info.dli_fname, "libc.so") != NULL, "malloc is that of %s, not libc's", info.dli_fname);
    } else if (strcmp(wanted, "linked") == 0) {
        CHECK(realpath(info.dli_fname, own) != NULL && realpath("/proc/self/exe", expected) != NULL, "realpath");
        CHECK(strcmp(own, expected) == 0, "malloc is that of %s, not of this program", own);
    } else {
        CHECK(realpath(wanted, expected) != NULL, "there is no %s", wanted);
        CHECK(realpath(info.dli_fname, own) != NULL, "realpath of %s", info.dli_fname);
        CHECK(strcmp(own, expected) == 0, "malloc is that of %s, not of %s", own, expected);
    }
}

int main(int argc, char **argv) {
    if (argc == 2 && strcmp(argv[1], "--list") == 0) {
        for (size_t i = 0; i < CASE_COUNT; i++) printf("%s %d\n", cases[i].name, cases[i].seconds);
        return 0;
    }
    for (size_t i = 0; argc == 2 && i < CASE_COUNT; i++) {
        if (strcmp(argv[1], cases[i].name) != 0) continue;
        check_which_malloc();
        cases[i].run();
        return 0;
    }
    fprintf(stderr, "usage: malloc_cases --list | CASE\n");
    return 2;
}
