// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// os.h for Linux: reserve, commit, purge, remap, and small questions. What describes addresses is in os_linux_maps.c.
//
// Reserved memory is PROT_NONE: it counts neither against RLIMIT_DATA nor against the commit limit of a system with
// overcommit off. Commit is mprotect; decommit maps fresh PROT_NONE pages over the place, which takes the charge back
// (madvise alone would not).
#include "os/os.h"

#include "base/atomics.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <time.h>
#include <unistd.h>

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif
#ifndef MAP_HUGE_SHIFT
#define MAP_HUGE_SHIFT 26
#endif
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

// Fault injection. calls_made counts only while fail_first is non-zero. relaxed throughout: tests are one thread.
static _Atomic uint32_t fail_first, fail_count, calls_made;

uint32_t lido__os_fail_from(uint32_t first, uint32_t count) {
    uint32_t made = LIDO__ATOMIC_EXCHANGE(&calls_made, 0u, relaxed);
    LIDO__ATOMIC_STORE(&fail_count, count, relaxed);
    LIDO__ATOMIC_STORE(&fail_first, count == 0 ? 0 : first, relaxed);
    return made;
}

static bool injected_failure(void) {
    uint32_t first = LIDO__ATOMIC_LOAD(&fail_first, relaxed);
    if (LIDO_LIKELY(first == 0)) return false;
    uint32_t call = LIDO__ATOMIC_ADD(&calls_made, 1u, relaxed) + 1;
    return call >= first && call - first < LIDO__ATOMIC_LOAD(&fail_count, relaxed);
}

size_t lido__os_page_bytes(void) {
    static _Atomic size_t page;    // relaxed: every writer writes the same value
    size_t bytes = LIDO__ATOMIC_LOAD(&page, relaxed);
    if (LIDO_LIKELY(bytes != 0)) return bytes;
    bytes = (size_t)getauxval(AT_PAGESZ);
    LIDO__ATOMIC_STORE(&page, bytes, relaxed);
    return bytes;
}

// Plain system calls where the C library's wrapper would be the only thing the program needs from its part of the library:
// each such part is 64 KiB more resident memory.
size_t lido__os_memory_bytes(void) {
    struct sysinfo info;
    int saved = errno;
    bool known = syscall(SYS_sysinfo, &info) == 0;
    errno = saved;
    if (!known) return 0;
    return (size_t)info.totalram * info.mem_unit;
}

size_t lido__os_address_limit(void) {
    struct rlimit limit;
    int saved = errno;
    bool limited = syscall(SYS_prlimit64, 0, RLIMIT_AS, NULL, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
    errno = saved;
    if (!limited) return SIZE_MAX;
    return (size_t)limit.rlim_cur;
}

uint32_t lido__os_random(void) {
    // 16 bytes from the kernel at every exec; the loader's stack protector uses the first 8, take the others.
    const unsigned char *bytes = (const unsigned char *)(uintptr_t)getauxval(AT_RANDOM);
    uint32_t mixed = 0x9E3779B9u;
    if (bytes != NULL) {
        for (int i = 8; i < 16; i++) mixed = (mixed ^ bytes[i]) * 0x01000193u;
    }
    return mixed;
}

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define UNDER_THREAD_SANITIZER 1
#endif
#endif
#if defined(__SANITIZE_THREAD__) || defined(UNDER_THREAD_SANITIZER)
bool lido__os_lets_choose(void) { return false; }
#else
bool lido__os_lets_choose(void) { return true; }
#endif

lido__os_result lido__os_reserve_at(void *place, size_t bytes) {
    if (injected_failure()) return LIDO__OS_REFUSED;
    int saved = errno;
    void *got = mmap(place, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
    lido__os_result result = LIDO__OS_OK;
    if (got == MAP_FAILED) {
        result = errno == ENOMEM ? LIDO__OS_REFUSED : LIDO__OS_TAKEN;
    } else if (got != place) {    // kernels before 4.17, and interceptors, take the address for a hint
        munmap(got, bytes);
        result = LIDO__OS_TAKEN;
    }
    errno = saved;
    return result;
}

void *lido__os_reserve(size_t bytes, size_t alignment) {
    if (injected_failure()) return NULL;
    int saved = errno;
    alignment = lido__max(alignment, lido__os_page_bytes());
    size_t room = bytes + alignment - lido__os_page_bytes();
    char *got = mmap(NULL, room, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (got == MAP_FAILED) {
        errno = saved;
        return NULL;
    }
    char *start = (char *)lido__round_up((uintptr_t)got, alignment);
    if (start > got) munmap(got, (size_t)(start - got));
    size_t behind = (size_t)(got + room - (start + bytes));
    if (behind > 0) munmap(start + bytes, behind);
    errno = saved;
    return start;
}

bool lido__os_commit(void *start, size_t bytes) {
    if (injected_failure()) return false;
    int saved = errno;
    bool done = mprotect(start, bytes, PROT_READ | PROT_WRITE) == 0;
    errno = saved;
    return done;
}

bool lido__os_purge(void *start, size_t bytes) {
    if (injected_failure()) return false;
    int saved = errno;
    bool done = madvise(start, bytes, MADV_DONTNEED) == 0;
    errno = saved;
    return done;
}

bool lido__os_decommit(void *start, size_t bytes) {
    if (injected_failure()) return false;
    int saved = errno;
    bool done = mmap(start, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) == start;
    errno = saved;
    return done;
}

void lido__os_release(void *start, size_t bytes) {
    int saved = errno;
    // munmap can fail when splitting a mapping would exceed the system's limit on their number: then the pages at
    // least are dropped, and the address space is lost to us.
    if (munmap(start, bytes) != 0) madvise(start, bytes, MADV_DONTNEED);
    errno = saved;
}

void *lido__os_map(size_t bytes) {
    if (injected_failure()) return NULL;
    int saved = errno;
    void *got = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    errno = saved;
    return got == MAP_FAILED ? NULL : got;
}

void *lido__os_map_huge(size_t bytes) {
    if (injected_failure()) return NULL;
    int saved = errno;
    // 21: pages of 2^21 bytes, whatever the system's default size is
    void *got = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB | 21 << MAP_HUGE_SHIFT, -1, 0);
    errno = saved;
    return got == MAP_FAILED ? NULL : got;
}

void *lido__os_remap(void *start, size_t old_bytes, size_t new_bytes) {
    if (injected_failure()) return NULL;
    int saved = errno;
    void *got = mremap(start, old_bytes, new_bytes, MREMAP_MAYMOVE);
    errno = saved;
    return got == MAP_FAILED ? NULL : got;
}

bool lido__os_populate(void *start, size_t bytes) {
    if (injected_failure()) return false;
    int saved = errno;
    bool done = madvise(start, bytes, MADV_POPULATE_WRITE) == 0;    // Linux 5.14; EINVAL before
    errno = saved;
    return done;
}

void lido__os_advise_huge(void *start, size_t bytes) {
    int saved = errno;
    madvise(start, bytes, MADV_HUGEPAGE);
    errno = saved;
}

uint64_t lido__os_time_ns(void) {
    struct timespec now;
    if (clock_gettime(CLOCK_MONOTONIC, &now) != 0) return 0;
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

uint32_t lido__os_clock_ms(void) {
    struct timespec now;
    if (clock_gettime(CLOCK_MONOTONIC_COARSE, &now) != 0) return 0;
    return (uint32_t)((uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000);
}

unsigned lido__os_cpu(void) {
    int cpu = sched_getcpu();
    return cpu < 0 ? 0 : (unsigned)cpu;
}

unsigned lido__os_node(void) {
    unsigned cpu, node;
    int saved = errno;
    if (syscall(SYS_getcpu, &cpu, &node, NULL) != 0) node = 0;
    errno = saved;
    return node;
}

// Kept, as check mode asks at every allocation and the system takes 60 ns to answer.
static __thread uint32_t thread_id __attribute__((tls_model("initial-exec")));
uint32_t lido__os_thread_id(void) {
    if (LIDO_UNLIKELY(thread_id == 0)) thread_id = (uint32_t)syscall(SYS_gettid);
    return thread_id;
}
void lido__os_thread_id_forget(void) { thread_id = 0; }

#ifndef __NR_membarrier
#error "membarrier is needed: Linux headers of 4.14 or later"
#endif
enum { BARRIER_PRIVATE = 1 << 3, BARRIER_REGISTER_PRIVATE = 1 << 4 };    // MEMBARRIER_CMD_..._EXPEDITED, Linux 4.14

bool lido__os_barrier_everywhere(void) {
    if (injected_failure()) return false;
    int saved = errno;
    bool done = syscall(__NR_membarrier, BARRIER_PRIVATE, 0) == 0;
    // the first call of a process must announce itself; a fork inherits that
    if (!done && errno == EPERM && syscall(__NR_membarrier, BARRIER_REGISTER_PRIVATE, 0) == 0) {
        done = syscall(__NR_membarrier, BARRIER_PRIVATE, 0) == 0;
    }
    errno = saved;
    return done;
}

static pthread_key_t exit_key;
static _Atomic uint32_t exit_key_ready;    // [atomic:exit] release after exit_key is written, acquire before it is read

bool lido__os_thread_exit_register(void (*hook)(void *)) {
    if (injected_failure() || pthread_key_create(&exit_key, hook) != 0) return false;
    LIDO__ATOMIC_STORE(&exit_key_ready, 1u, release);
    return true;
}

bool lido__os_thread_exit_arm(void *argument) {
    if (injected_failure() || LIDO__ATOMIC_LOAD(&exit_key_ready, acquire) == 0) return false;
    int saved = errno;
    bool done = pthread_setspecific(exit_key, argument) == 0;
    errno = saved;
    return done;
}

void lido__os_wait(_Atomic uint32_t *word, uint32_t value) {
    int saved = errno;
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
    errno = saved;
}

void lido__os_wake_one(_Atomic uint32_t *word) {
    int saved = errno;
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    errno = saved;
}

// FUTEX_WAIT_BITSET takes a moment of CLOCK_MONOTONIC, where FUTEX_WAIT takes a length of time.
bool lido__os_wait_until(_Atomic uint32_t *word, uint32_t value, uint64_t deadline_ns) {
    int saved = errno;
    struct timespec deadline = {(time_t)(deadline_ns / 1000000000), (long)(deadline_ns % 1000000000)};
    long result = syscall(SYS_futex, word, FUTEX_WAIT_BITSET_PRIVATE, value,
                          deadline_ns == UINT64_MAX ? NULL : &deadline, NULL, FUTEX_BITSET_MATCH_ANY);
    bool late = result != 0 && errno == ETIMEDOUT;
    errno = saved;
    return !late;
}
