// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// Prewarm: the next allocations, as many as were asked for, take no page fault and make no system call. Faults are counted
// by the system; a system call would end the child, which has told the kernel so (seccomp). Each case is a child, so that
// nothing is warm that prewarm did not warm.
#include "pool_kinds.h"

#include "base/base.h"

#include <lido/heap.h>

#include <errno.h>
#include <linux/seccomp.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST = 20000, BYTES_MOST = 16 << 20, NO_LOCKING = 77 };

typedef enum way_to_be_ready { BY_OPTION, BY_CALL, BY_CALL_IN_USE, BY_CALL_AFTER_TRIM, WAYS } way_to_be_ready;

typedef struct ready_case {
    const pool_kind *kind;
    size_t bytes, count;
    way_to_be_ready way;
    bool count_faults;
} ready_case;

static void **blocks;    // present before anything is measured

// Text, data and stack of this program are not what prewarm is about.
static void bring_the_program_in(void) {
    if (mlockall(MCL_CURRENT) != 0) _exit(NO_LOCKING);
}

static lido_pool *ready_pool(const ready_case *c) {
    lido_pool_options options = {
        .name = c->kind->name, .block_size = c->bytes, .threads = c->kind->threads, .order = c->kind->order};
    options.capacity = c->kind->capacity;
    options.prewarm = c->way == BY_OPTION ? c->count : 0;
    lido_pool *pool = lido_pool_new(&options);
    UNIT_CHECK(pool != NULL);
    size_t used = c->kind->capacity != 0 && c->kind->capacity < c->count + 50 ? 0 : 50;
    for (size_t i = 0; c->way == BY_CALL_IN_USE && i < used; i++)
        UNIT_CHECK((blocks[i] = lido_pool_alloc(pool)) != NULL);
    for (size_t i = 0; c->way == BY_CALL_IN_USE && i < used; i += 2) lido_pool_free(pool, blocks[i]);
    if (c->way != BY_OPTION) UNIT_CHECK(lido_pool_prewarm(pool, c->count) == 0);
    if (c->way == BY_CALL_AFTER_TRIM)
        lido_trim(0);    // what was made ready stays, also when everything free is given back
    return pool;
}

static long faults(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_minflt + usage.ru_majflt;
}

static void allocate(lido_pool *pool, const ready_case *c) {
    for (size_t i = 0; i < c->count; i++) {
        char *block = lido_pool_alloc(pool);
        if (block == NULL) unit_check_failed("a block", __FILE__, __LINE__);
        for (size_t at = 0; at < c->bytes; at += 4096) block[at] = 1;
        block[c->bytes - 1] = 1;
    }
}

static void allocate_when_ready(void *argument) {
    const ready_case *c = (const ready_case *)argument;
    bring_the_program_in();
    lido_pool *pool = ready_pool(c);
    faults();
    if (!c->count_faults) {
        UNIT_CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) == 0);
        allocate(pool, c);
        syscall(SYS_exit, 0);
    }
    long before = faults();
    allocate(pool, c);
    UNIT_CHECK(faults() - before == 0);
}

// The number of failed measurements; each is told.
static int check_case(ready_case c) {
    static const char *const ways[] = {"by option", "by call", "by call, in use", "by call, and a trim"};
    int failed = 0;
    for (int pass = 0; pass < 2; pass++) {
        c.count_faults = pass == 0;
        unit_child child = unit_fork(allocate_when_ready, &c);
        if (child.status == 0 || (WIFEXITED(child.status) && WEXITSTATUS(child.status) == NO_LOCKING)) continue;
        print_error("%s, %zu blocks of %zu bytes, %s: %s %s\n", c.kind->name, c.count, c.bytes, ways[c.way],
                    pass == 0 ? "page faults" : "system calls", child.text);
        failed++;
    }
    return failed;
}

static void nothing_but_instructions(void **state) {
    (void)state;
    if (UNIT_SANITIZED) skip();    // they have faults and calls of their own
    static const size_t sizes[] = {8, 64, 512, 5000, 70000}, counts[] = {1, 17, 1000, 20000};
    blocks =
        mmap(NULL, MOST * sizeof *blocks, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    assert_true(blocks != MAP_FAILED);
    int failed = 0;
    for (size_t i = 0; i < POOL_KINDS * COUNT_OF(sizes) * COUNT_OF(counts) * WAYS; i += 3) {
        size_t n = i;
        ready_case c = {.way = (way_to_be_ready)(n % WAYS)};
        c.count = counts[(n /= WAYS) % COUNT_OF(counts)];
        c.bytes = sizes[(n /= COUNT_OF(counts)) % COUNT_OF(sizes)];
        c.kind = &pool_kinds[n / COUNT_OF(sizes)];
        bool possible = c.bytes * c.count <= BYTES_MOST && (c.kind->capacity == 0 || c.count <= c.kind->capacity);
        if (possible) failed += check_case(c);
    }
    munmap(blocks, MOST * sizeof *blocks);
    assert_int_equal(failed, 0);
}

// The measurement itself must see a fault and a system call.
static void take_a_fault(void *argument) {
    (void)argument;
    bring_the_program_in();
    faults();
    long before = faults();
    char *memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memory[0] = 1;
    UNIT_CHECK(faults() - before == 0);
}
static void make_a_call(void *argument) {
    (void)argument;
    UNIT_CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) == 0);
    syscall(SYS_getppid);
    syscall(SYS_exit, 0);
}

static void measurements_see_what_they_should(void **state) {
    (void)state;
    if (UNIT_SANITIZED) skip();
    unit_child child = unit_fork(take_a_fault, NULL);
    if (WIFEXITED(child.status) && WEXITSTATUS(child.status) == NO_LOCKING) skip();    // RLIMIT_MEMLOCK is too small
    assert_int_not_equal(child.status, 0);
    child = unit_fork(make_a_call, NULL);
    assert_int_not_equal(child.status, 0);
}

static void not_without_memory(void **state) {
    (void)state;
    lido_pool *pool = lido_pool_new(&(lido_pool_options){.block_size = 1 << 20});
    assert_int_equal(lido_pool_prewarm(pool, 0), 0);
    assert_int_equal(lido_pool_stats(pool).held_bytes, 0);
    errno = 12345;
    assert_int_equal(lido_pool_prewarm(pool, 3), 0);
    assert_int_equal(errno, 12345);
    assert_true(lido_pool_stats(pool).held_bytes >= 3 << 20);
    assert_int_equal(lido_pool_stats(pool).live, 0);
    lido_pool_destroy(pool);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(measurements_see_what_they_should),
        cmocka_unit_test(nothing_but_instructions),
        cmocka_unit_test(not_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
