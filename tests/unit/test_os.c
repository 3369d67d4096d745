// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// The contract of os/os.h, call by call: address space and its states, remapping, presence of pages, small questions,
// thread exit, and what the injected failures count. What describes addresses is in test_os_describe.c.
#include "support.h"

#include "os/os.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PAGE = 4096, SLICE = 65536, ODD_ERRNO = 12345 };

// Evaluates a call of the layer and asserts that errno stayed as it was.
#define KEEPS_ERRNO(call)                   \
    do {                                    \
        errno = ODD_ERRNO;                  \
        call;                               \
        assert_int_equal(errno, ODD_ERRNO); \
    } while (0)

static int pipe_ends[2];

// Whether the system itself can read or write at p: asked without a signal.
static bool readable(const void *p) {
    char byte;
    if (write(pipe_ends[1], p, 1) != 1) return false;
    assert_int_equal(read(pipe_ends[0], &byte, 1), 1);
    return true;
}
static bool writable(void *p) {
    assert_int_equal(write(pipe_ends[1], "", 1), 1);
    char byte;
    if (read(pipe_ends[0], p, 1) == 1) return true;
    assert_int_equal(read(pipe_ends[0], &byte, 1), 1);    // a refused read leaves the byte in the pipe
    return false;
}

static size_t address_space_pages(void) {
    char text[64] = "";
    int fd = open("/proc/self/statm", O_RDONLY);
    assert_true(fd >= 0 && read(fd, text, sizeof text - 1) > 0);
    close(fd);
    return strtoull(text, NULL, 10);
}

static bool is_filled(const char *p, size_t bytes, char with) {
    for (size_t i = 0; i < bytes; i++) {
        if (p[i] != with) return false;
    }
    return true;
}

static size_t present_pages(void *start, size_t bytes) {
    unsigned char present[64];
    size_t count = 0;
    assert_true(bytes / PAGE <= sizeof present && mincore(start, bytes, present) == 0);
    for (size_t i = 0; i < bytes / PAGE; i++) count += present[i] & 1;
    return count;
}

// --- address space --------------------------------------------------------------------------------------------------

static void exact_place(void **state) {
    (void)state;
    char *area, *other;
    lido__os_result result;
    KEEPS_ERRNO(area = lido__os_reserve(8 * SLICE, SLICE));
    assert_non_null(area);
    KEEPS_ERRNO(lido__os_release(area, 8 * SLICE));
    KEEPS_ERRNO(result = lido__os_reserve_at(area + 2 * SLICE, 2 * SLICE));
    assert_int_equal(result, LIDO__OS_OK);
    KEEPS_ERRNO(result = lido__os_reserve_at(area + 2 * SLICE, 2 * SLICE));    // the same
    assert_int_equal(result, LIDO__OS_TAKEN);
    assert_int_equal(lido__os_reserve_at(area, 8 * SLICE), LIDO__OS_TAKEN);                // around it
    assert_int_equal(lido__os_reserve_at(area + 3 * SLICE, 2 * SLICE), LIDO__OS_TAKEN);    // over its end
    assert_int_equal(lido__os_reserve_at(area + SLICE, 2 * SLICE), LIDO__OS_TAKEN);        // over its start
    assert_int_equal(lido__os_reserve_at(area + 4 * SLICE, SLICE), LIDO__OS_OK);           // right behind it
    assert_false(readable(area + 2 * SLICE));
    assert_false(readable(area));    // what was refused is not there
    assert_false(readable(&area[4 * SLICE]));
    lido__os_release(area + 2 * SLICE, 3 * SLICE);
    assert_int_equal(lido__os_reserve_at(area + 2 * SLICE, SLICE), LIDO__OS_OK);
    lido__os_release(area + 2 * SLICE, SLICE);
    KEEPS_ERRNO(result =
                    lido__os_reserve_at((void *)((uintptr_t)SLICE * 16), (size_t)1 << 47));    // more than there is
    assert_int_not_equal(result, LIDO__OS_OK);
    KEEPS_ERRNO(other = lido__os_reserve((size_t)1 << 47, SLICE));
    assert_null(other);
}

static void alignment_of_reserve(void **state) {
    (void)state;
    for (size_t alignment = 1; alignment <= (size_t)1 << 30; alignment *= 2) {
        for (size_t bytes = PAGE; bytes <= 3 * SLICE; bytes += 17 * PAGE) {
            size_t before = address_space_pages();
            char *memory = lido__os_reserve(bytes, alignment);
            assert_non_null(memory);
            assert_int_equal((uintptr_t)memory & (alignment - 1), 0);
            assert_int_equal(address_space_pages(), before + bytes / PAGE);    // nothing more than asked for
            assert_int_equal(lido__os_reserve_at(memory, bytes), LIDO__OS_TAKEN);
            lido__os_release(memory, bytes);
            assert_int_equal(address_space_pages(), before);
        }
    }
}

static void states_of_memory(void **state) {
    (void)state;
    bool done;
    char *memory = lido__os_reserve(4 * SLICE, SLICE);
    assert_false(readable(memory));
    KEEPS_ERRNO(done = lido__os_commit(memory + SLICE, 2 * SLICE));
    assert_true(done);
    assert_false(readable(memory + SLICE - 1));
    assert_false(readable(memory + 3 * SLICE));
    assert_true(writable(memory + SLICE) && writable(memory + 3 * SLICE - 1));
    assert_true(is_filled(memory + SLICE, 2 * SLICE, 0));
    memset(memory + SLICE, 0x5A, 2 * SLICE);
    KEEPS_ERRNO(done = lido__os_purge(memory + SLICE, SLICE));
    assert_true(done);
    assert_true(is_filled(memory + SLICE, SLICE, 0));    // purged: still there, reads as zero
    assert_true(is_filled(memory + 2 * SLICE, SLICE, 0x5A));
    memset(memory + SLICE, 0x5A, SLICE);
    KEEPS_ERRNO(done = lido__os_decommit(memory + SLICE, SLICE));
    assert_true(done);
    assert_false(readable(memory + SLICE));    // decommitted: reserved only
    assert_true(is_filled(memory + 2 * SLICE, SLICE, 0x5A));
    assert_int_equal(lido__os_reserve_at(memory + SLICE, SLICE), LIDO__OS_TAKEN);
    assert_true(lido__os_commit(memory + SLICE, SLICE));
    assert_true(is_filled(memory + SLICE, SLICE, 0));
    KEEPS_ERRNO(lido__os_release(memory, 4 * SLICE));
    assert_false(readable(memory + 2 * SLICE));
}

static void what_cannot_be_done(void **state) {
    (void)state;
    bool done;
    void *p;
    char *hole = lido__os_reserve(4 * SLICE, SLICE);
    lido__os_release(hole, 4 * SLICE);
    KEEPS_ERRNO(done = lido__os_commit(hole, SLICE));
    assert_false(done);
    KEEPS_ERRNO(done = lido__os_purge(hole, SLICE));
    assert_false(done);
    KEEPS_ERRNO(done = lido__os_populate(hole, SLICE));
    assert_false(done);
    KEEPS_ERRNO(p = lido__os_remap(hole, SLICE, 2 * SLICE));
    assert_null(p);
    KEEPS_ERRNO(p = lido__os_map((size_t)1 << 50));
    assert_null(p);
    KEEPS_ERRNO(done = lido__os_decommit((void *)(uintptr_t)(UINTPTR_MAX - SLICE + 1), SLICE));    // the kernel's half
    assert_false(done);
    KEEPS_ERRNO(lido__os_advise_huge(hole, SLICE));
    KEEPS_ERRNO(lido__os_release(hole, SLICE));
}

static void map_and_remap(void **state) {
    (void)state;
    size_t before = address_space_pages();
    char *memory, *same;
    KEEPS_ERRNO(memory = lido__os_map(4 * PAGE));
    assert_true(is_filled(memory, 4 * PAGE, 0));
    memset(memory, 0x11, 4 * PAGE);
    KEEPS_ERRNO(memory = lido__os_remap(memory, 4 * PAGE, 64 * PAGE));
    assert_true(is_filled(memory, 4 * PAGE, 0x11) && is_filled(memory + 4 * PAGE, 60 * PAGE, 0));
    memset(memory + 4 * PAGE, 0x22, 60 * PAGE);
    KEEPS_ERRNO(same = lido__os_remap(memory, 64 * PAGE, 2 * PAGE));    // shrinking does not move
    assert_ptr_equal(same, memory);
    assert_false(readable(memory + 2 * PAGE));
    assert_true(is_filled(memory, 2 * PAGE, 0x11));
    // with something right behind it, it must move to grow
    if (lido__os_reserve_at(memory + 2 * PAGE, PAGE) == LIDO__OS_OK) {
        char *moved = lido__os_remap(memory, 2 * PAGE, 1024 * PAGE);
        assert_ptr_not_equal(moved, memory);
        assert_false(readable(memory));
        lido__os_release(memory + 2 * PAGE, PAGE);
        memory = moved;
    }
    assert_true(is_filled(memory, 2 * PAGE, 0x11) && is_filled(memory + 2 * PAGE, 1022 * PAGE, 0));
    lido__os_release(memory, 1024 * PAGE);
    assert_int_equal(address_space_pages(), before);
}

static long faults(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_minflt;
}

static void populate_brings_pages_in(void **state) {
    (void)state;
    bool done;
    char *memory = lido__os_map(32 * PAGE);
    assert_int_equal(present_pages(memory, 32 * PAGE), 0);
    KEEPS_ERRNO(done = lido__os_populate(memory + 4 * PAGE, 8 * PAGE));
    if (!done) {    // Linux before 5.14
        assert_int_equal(present_pages(memory, 32 * PAGE), 0);
        lido__os_release(memory, 32 * PAGE);
        skip();
    }
    assert_int_equal(present_pages(memory, 32 * PAGE), 8);
    long before = faults();
    for (int i = 4; i < 12; i++) memory[i * PAGE] = 1;
    if (!UNIT_SANITIZED) assert_int_equal(faults() - before, 0);
    assert_true(lido__os_populate(memory, 32 * PAGE));
    assert_int_equal(memory[4 * PAGE], 1);    // what was there stays
    assert_true(lido__os_purge(memory, 32 * PAGE));
    assert_int_equal(present_pages(memory, 32 * PAGE), 0);
    lido__os_release(memory, 32 * PAGE);
}

// Whether the system's map says of the mapping at p that it was advised for huge pages.
static bool advised_huge(const void *p) {
    FILE *map = fopen("/proc/self/smaps", "r");
    char line[512];
    bool here = false, advised = false;
    while (map != NULL && fgets(line, sizeof line, map) != NULL) {
        unsigned long start, end;
        if (sscanf(line, "%lx-%lx ", &start, &end) == 2) here = (uintptr_t)p >= start && (uintptr_t)p < end;
        if (here && strncmp(line, "VmFlags:", 8) == 0) advised = strstr(line, " hg") != NULL;
    }
    if (map != NULL) fclose(map);
    return advised;
}

static void huge_pages_are_asked_for(void **state) {
    (void)state;
    if (access("/sys/kernel/mm/transparent_hugepage/enabled", R_OK) != 0) skip();
    char *memory = lido__os_reserve(4 << 20, 2 << 20);
    assert_true(lido__os_commit(memory, 4 << 20));
    assert_false(advised_huge(memory));
    memory[7] = 7;
    KEEPS_ERRNO(lido__os_advise_huge(memory, 2 << 20));
    assert_true(advised_huge(memory));
    assert_false(advised_huge(memory + (2 << 20)));
    assert_int_equal(memory[7], 7);
    lido__os_release(memory, 4 << 20);
}

// --- small questions ------------------------------------------------------------------------------------------------

static void limit_address_space(void *argument) {
    (void)argument;
    UNIT_CHECK(lido__os_address_limit() == SIZE_MAX);
    struct rlimit limit = {.rlim_cur = 256 << 20, .rlim_max = 256 << 20};
    UNIT_CHECK(setrlimit(RLIMIT_AS, &limit) == 0);
    UNIT_CHECK(lido__os_address_limit() == 256 << 20);
    errno = ODD_ERRNO;
    UNIT_CHECK(lido__os_reserve(1 << 30, SLICE) == NULL);
    UNIT_CHECK(lido__os_map(1 << 30) == NULL);
    char *memory = lido__os_reserve(SLICE, SLICE);
    UNIT_CHECK(memory != NULL);
    UNIT_CHECK(lido__os_reserve_at((void *)((uintptr_t)9 << 40), 1 << 30) == LIDO__OS_REFUSED);
    UNIT_CHECK(lido__os_remap(memory, SLICE, 1 << 30) == NULL);
    UNIT_CHECK(errno == ODD_ERRNO);
}

static void limits_refuse(void **state) {
    (void)state;
    if (UNIT_SANITIZED) skip();    // their shadow memory is beyond any limit
    unit_child child = unit_fork(limit_address_space, NULL);
    unit_assert_done(&child);
}

static void note_thread(unsigned index, void *argument) {
    ((uint32_t *)argument)[index] = lido__os_thread_id();
    UNIT_CHECK(lido__os_thread_id() == (uint32_t)syscall(SYS_gettid));
}

static void small_questions(void **state) {
    (void)state;
    size_t page, memory;
    unsigned cpu, node;
    uint32_t random, clock, ids[4];
    KEEPS_ERRNO(page = lido__os_page_bytes());
    assert_int_equal(page, sysconf(_SC_PAGESIZE));
    KEEPS_ERRNO(memory = lido__os_memory_bytes());
    assert_int_equal(memory, (size_t)sysconf(_SC_PHYS_PAGES) * page);
    KEEPS_ERRNO(cpu = lido__os_cpu());
    assert_true(cpu < (unsigned)sysconf(_SC_NPROCESSORS_CONF));
    KEEPS_ERRNO(node = lido__os_node());
    assert_true(node < 1024);
    KEEPS_ERRNO(random = lido__os_random());
    assert_int_equal(random, lido__os_random());    // of the process, not of the call
    KEEPS_ERRNO(clock = lido__os_clock_ms());
    for (int i = 0; i < 30; i++) {
        usleep(1000);
        uint32_t now = lido__os_clock_ms();
        assert_true(now - clock < 60000);
        clock = now;
    }
    unit_threads(4, note_thread, ids);
    for (int i = 0; i < 4; i++) assert_true(ids[i] != 0 && ids[i] != (uint32_t)getpid());
    for (int i = 1; i < 4; i++) assert_true(ids[i] != ids[i - 1] || getpid() == 1);
}

static void write_to_closed(void *argument) {
    close(STDERR_FILENO);
    errno = ODD_ERRNO;
    lido__os_write_error((const char *)argument, 4);    // no loop, no complaint
    if (errno != ODD_ERRNO) _exit(1);
}

static void error_text(void **state) {
    (void)state;
    unit_catch_begin();
    KEEPS_ERRNO(lido__os_write_error("four and more", 4));
    lido__os_write_error("", 0);
    lido__os_write_error(" five", 5);
    assert_string_equal(unit_catch_end(), "four five");
    unit_child child = unit_fork(write_to_closed, "text");
    unit_assert_done(&child);
}

// --- thread exit ----------------------------------------------------------------------------------------------------

static _Atomic uintptr_t hook_sum;
static void hook(void *argument) { hook_sum += *(uintptr_t *)argument; }

static void arm_and_end(unsigned index, void *argument) {
    uintptr_t *values = (uintptr_t *)argument;
    if (index % 2 != 0) return;    // not armed: not called
    errno = ODD_ERRNO;
    UNIT_CHECK(lido__os_thread_exit_arm(&values[index]));
    UNIT_CHECK(errno == ODD_ERRNO);
}

static void use_exit_hook(void *argument) {
    (void)argument;
    uintptr_t values[6] = {1, 10, 100, 1000, 10000, 100000};
    UNIT_CHECK(lido__os_thread_exit_register(hook));
    unit_threads(6, arm_and_end, values);
    UNIT_CHECK(hook_sum == 10101);
}

static void hook_at_thread_exit(void **state) {
    (void)state;
    unit_child child = unit_fork(use_exit_hook, NULL);    // registering again would unhook the library
    unit_assert_done(&child);
}

// --- barriers -------------------------------------------------------------------------------------------------------

// Dekker's handshake with the fence on one side only: without the barrier both threads would soon read 0.
typedef struct handshake {
    _Atomic uint32_t round, done, mine, theirs, seen_by_owner;
} handshake;

enum { HANDSHAKES = 300 };

static void shake_hands(unsigned index, void *argument) {
    handshake *h = (handshake *)argument;
    for (uint32_t i = 1; i <= HANDSHAKES; i++) {
        if (index == 0) {
            while (atomic_load_explicit(&h->round, memory_order_acquire) != i) continue;
            atomic_store_explicit(&h->mine, 1, memory_order_relaxed);
            atomic_signal_fence(memory_order_seq_cst);
            h->seen_by_owner = atomic_load_explicit(&h->theirs, memory_order_relaxed);
            atomic_store_explicit(&h->done, i, memory_order_release);
            continue;
        }
        h->mine = h->theirs = 0;
        atomic_store_explicit(&h->round, i, memory_order_release);
        atomic_store_explicit(&h->theirs, 1, memory_order_relaxed);
        UNIT_CHECK(lido__os_barrier_everywhere());
        uint32_t seen = atomic_load_explicit(&h->mine, memory_order_relaxed);
        while (atomic_load_explicit(&h->done, memory_order_acquire) != i) continue;
        UNIT_CHECK(seen == 1 || h->seen_by_owner == 1);
    }
}

static void barrier_everywhere(void **state) {
    (void)state;
    bool done;
    KEEPS_ERRNO(done = lido__os_barrier_everywhere());
    if (!done) skip();    // a sandbox may refuse it
    handshake h = {0};
    unit_threads(2, shake_hands, &h);
}

static void pages_set_aside(void **state) {
    (void)state;
    char *memory;
    KEEPS_ERRNO(memory = lido__os_map_huge(4 << 20));
    if (memory == NULL) skip();    // there are none
    assert_int_equal((uintptr_t)memory % (2 << 20), 0);
    assert_true(is_filled(memory, 4 << 20, 0));
    lido__os_release(memory, 4 << 20);
    assert_false(readable(memory));
}

// --- injected failures ----------------------------------------------------------------------------------------------

// Every call that can fail, by number; true if it did what it should.
static bool call(unsigned number, char *reserved, char *committed) {
    void *p = NULL;
    switch (number) {
        case 0: return lido__os_reserve_at(reserved + 8 * SLICE, SLICE) == LIDO__OS_TAKEN;
        case 1: p = lido__os_reserve(SLICE, SLICE); break;
        case 2: return lido__os_commit(reserved, SLICE);
        case 3: return lido__os_purge(committed, SLICE);
        case 4: return lido__os_decommit(reserved, SLICE);
        case 5: p = lido__os_map(SLICE); break;
        case 6: return lido__os_remap(committed, SLICE, SLICE) == committed;
        case 7: return lido__os_populate(committed, SLICE);
        case 8: return lido__os_barrier_everywhere();
        default: return false;
    }
    if (p != NULL) lido__os_release(p, SLICE);
    return p != NULL;
}

static void failures_by_number(void **state) {
    (void)state;
    enum { CALLS = 9 };
    char *reserved = lido__os_reserve(16 * SLICE, SLICE), *committed = lido__os_map(SLICE);
    lido__os_fail_from(0, 0);
    for (uint32_t first = 1; first <= CALLS + 1; first++) {
        for (uint32_t count = 1; count <= CALLS; count++) {
            assert_int_equal(lido__os_fail_from(first, count), 0);
            for (uint32_t i = 1; i <= CALLS; i++) {
                bool fails = i >= first && i - first < count, done;
                KEEPS_ERRNO(done = call(i - 1, reserved, committed));
                assert_int_equal(done, !fails);
            }
            assert_int_equal(lido__os_fail_from(0, 0), CALLS);    // release is not a call that fails
        }
    }
    assert_int_equal(lido__os_fail_from(2, UINT32_MAX), 0);    // all from the second on
    for (uint32_t i = 1; i <= CALLS; i++) assert_int_equal(call(i - 1, reserved, committed), i < 2);
    assert_int_equal(lido__os_fail_from(0, 0), CALLS);
    for (uint32_t i = 1; i <= CALLS; i++) assert_true(call(i - 1, reserved, committed));
    assert_int_equal(lido__os_fail_from(0, 0), 0);    // counts only while it is set
    lido__os_release(reserved, 16 * SLICE);
    lido__os_release(committed, SLICE);
}

int main(void) {
    if (pipe(pipe_ends) != 0 || fcntl(pipe_ends[0], F_SETFL, O_NONBLOCK) != 0) return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exact_place),
        cmocka_unit_test(alignment_of_reserve),
        cmocka_unit_test(states_of_memory),
        cmocka_unit_test(what_cannot_be_done),
        cmocka_unit_test(map_and_remap),
        cmocka_unit_test(populate_brings_pages_in),
        cmocka_unit_test(huge_pages_are_asked_for),
        cmocka_unit_test(limits_refuse),
        cmocka_unit_test(small_questions),
        cmocka_unit_test(error_text),
        cmocka_unit_test(hook_at_thread_exit),
        cmocka_unit_test(barrier_everywhere),
        cmocka_unit_test(pages_set_aside),
        cmocka_unit_test(failures_by_number),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
