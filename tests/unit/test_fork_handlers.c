// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// Fork handlers that are registered before lido's own run while lido holds all its locks. They may allocate all the same: in
// every kind of size, so that some of it must take a slow half.
#include "unit.h"

#include <lido/heap.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

static int prepared, in_parent, in_child;

static void allocate_of_all_sizes(void) {
    for (size_t size = 1; size < 20000000; size += size / 3 + 7) {
        char *p = lido_malloc(size);
        if (p == NULL) _exit(9);
        p[0] = p[size - 1] = 1;
        lido_free(p);
    }
}
static void on_prepare(void) {
    allocate_of_all_sizes();
    prepared++;
}
static void on_parent(void) {
    allocate_of_all_sizes();
    in_parent++;
}
static void on_child(void) {
    allocate_of_all_sizes();
    in_child++;
}

// Before every constructor without a priority, so before lido's.
__attribute__((constructor(101))) static void register_first(void) { pthread_atfork(on_prepare, on_parent, on_child); }

static void handlers_may_allocate(void **state) {
    (void)state;
    alarm(60);    // a hang is the failure that this looks for
    for (int round = 1; round <= 3; round++) {
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            allocate_of_all_sizes();
            _exit(in_child == 1 && prepared == round ? 0 : 1);
        }
        int status = -1;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
        assert_int_equal(prepared, round);
        assert_int_equal(in_parent, round);
        allocate_of_all_sizes();
    }
    alarm(0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(handlers_may_allocate)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
