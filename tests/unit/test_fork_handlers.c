// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// Fork handlers that are registered before lido's own run while lido holds all its locks. They may allocate all the same: in
// every kind of size, so that some of it must take a slow half. And forks while others make and destroy what has a list with
// locks of its own: after each fork every lock must be free again, also of what left its list just then.
#include "support.h"

#include <lido/handle.h>
#include <lido/heap.h>
#include <lido/object.h>
#include <lido/pool.h>
#include <pthread.h>
#include <stdatomic.h>
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

static atomic_bool over;

static void make_use_and_destroy_all(void) {
    static const lido_type type = {.name = "unit", .size = 40};
    lido_pool *pool = lido_pool_new(&(lido_pool_options){.block_size = 40, .threads = LIDO_SHARED});
    lido_heap *heap = lido_heap_new(&(lido_heap_options){.threads = LIDO_SHARED});
    lido_object_pool *objects = lido_object_pool_new(&type, NULL);
    lido_handle_pool *handles = lido_handle_pool_new(&type, &(lido_handle_options){.threads = LIDO_SHARED});
    UNIT_CHECK(pool != NULL && heap != NULL && objects != NULL && handles != NULL);
    lido_pool_free(pool, lido_pool_alloc(pool));
    lido_heap_free(heap, lido_heap_alloc(heap, 40));
    lido_object_release(objects, lido_object_acquire(objects));
    lido_handle_delete(handles, lido_handle_new(handles, NULL));
    lido_pool_destroy(pool);
    lido_heap_destroy(heap);
    lido_object_pool_destroy(objects);
    lido_handle_pool_destroy(handles);
}

static void make_or_fork(unsigned index, void *argument) {
    (void)argument;
    while (index != 0 && !over) make_use_and_destroy_all();
    for (int i = 0; index == 0 && i < (UNIT_SANITIZED ? 50 : 400); i++) {
        pid_t child = fork();
        UNIT_CHECK(child >= 0);
        if (child == 0) {
            alarm(20);
            make_use_and_destroy_all();
            _exit(0);
        }
        int status = -1;
        UNIT_CHECK(waitpid(child, &status, 0) == child && status == 0);
    }
    if (index == 0) over = true;
}

static void lists_change_while_forking(void **state) {
    (void)state;
    alarm(60);    // as above
    unit_threads(3, make_or_fork, NULL);
    alarm(0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(handlers_may_allocate),
        cmocka_unit_test(lists_change_while_forking),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
