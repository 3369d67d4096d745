// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// What lido needs from a system: the contract that os_linux.c fulfils and a port would.
//
// Address space passes through three states:
//      reserved    nobody else gets it; touching it faults; costs no memory
//      committed   readable and writable; the first touch of each OS page brings zeroes
//      (released)  no longer ours
// purge keeps memory committed and drops its contents (it reads as zero again); decommit goes back to reserved.
//
// All sizes are multiples of the OS page, all addresses OS-page aligned, unless said otherwise. Every call may be made
// from any thread and leaves errno as it was. Failure is a return value, never an abort: the caller has a way on.
// Tests make the Nth call fail: lido__os_fail_from.
#ifndef LIDO_OS_OS_H
#define LIDO_OS_OS_H

#include "base/base.h"

LIDO__HIDDEN size_t lido__os_page_bytes(void);
// Physical memory in bytes, or 0 if unknown. The soft limit on address space in bytes, SIZE_MAX if there is none.
LIDO__HIDDEN size_t lido__os_memory_bytes(void);
LIDO__HIDDEN size_t lido__os_address_limit(void);
// 32 random bits, good enough to spread addresses; not a secret.
LIDO__HIDDEN uint32_t lido__os_random(void);

// False where only the system knows which addresses will do (under ThreadSanitizer, which keeps most for itself): then
// reserve anywhere first, and choose places near that.
LIDO__HIDDEN bool lido__os_lets_choose(void);

typedef enum lido__os_result {
    LIDO__OS_OK,
    LIDO__OS_TAKEN,      // the place is occupied: try another
    LIDO__OS_REFUSED,    // no memory, or a limit: another place will not help
} lido__os_result;

// Reserves exactly [place, place + bytes).
LIDO__HIDDEN lido__os_result lido__os_reserve_at(void *place, size_t bytes);
// Reserves anywhere, aligned to `alignment` (a power of two). NULL if refused.
LIDO__HIDDEN void *lido__os_reserve(size_t bytes, size_t alignment);
LIDO__HIDDEN bool lido__os_commit(void *start, size_t bytes);
LIDO__HIDDEN bool lido__os_purge(void *start, size_t bytes);
LIDO__HIDDEN bool lido__os_decommit(void *start, size_t bytes);
LIDO__HIDDEN void lido__os_release(void *start, size_t bytes);

// Reserve and commit in one, for memory that lives by itself. NULL if refused. Costs memory when touched; charged at once where overcommit is off.
LIDO__HIDDEN void *lido__os_map(size_t bytes);
// The same out of the pages that the administrator set aside (hugetlb), as long as there are any: NULL is normal. `bytes` is a
// multiple of LIDO__OS_HUGE_BYTES, and so is the address.
enum { LIDO__OS_HUGE_BYTES = 2 << 20 };
LIDO__HIDDEN void *lido__os_map_huge(size_t bytes);
// Moves or grows or shrinks a mapping of lido__os_map; the contents stay. NULL if refused, and nothing has changed.
LIDO__HIDDEN void *lido__os_remap(void *start, size_t old_bytes, size_t new_bytes);

// Brings pages in now, in one call, instead of one fault each. False where the system cannot; nothing is lost then.
LIDO__HIDDEN bool lido__os_populate(void *start, size_t bytes);
// Asks for huge pages in the range. A hint.
LIDO__HIDDEN void lido__os_advise_huge(void *start, size_t bytes);

// Nanoseconds since some start; exact, never goes back.
LIDO__HIDDEN uint64_t lido__os_time_ns(void);
// Milliseconds since some start; coarse (a few ms), cheap, never goes back.
LIDO__HIDDEN uint32_t lido__os_clock_ms(void);
// How long ago `then` was; 0 if another thread read it after `now`. Right for 24 days.
LIDO_INLINE uint32_t lido__os_age_ms(uint32_t now, uint32_t then) { return (int32_t)(now - then) < 0 ? 0 : now - then; }
LIDO__HIDDEN unsigned lido__os_cpu(void);             // of the caller, now
LIDO__HIDDEN unsigned lido__os_node(void);            // NUMA node of the caller, now; 0 if there is only one
LIDO__HIDDEN uint32_t lido__os_thread_id(void);       // of the caller, never 0
LIDO__HIDDEN void lido__os_thread_id_forget(void);    // in a child of fork, which has another

// Calls `hook` when a thread that armed it ends, after C++ thread_local destructors and among the pthread-key
// destructors. Arming may allocate: the caller must be ready for its own malloc to be entered again.
LIDO__HIDDEN bool lido__os_thread_exit_register(void (*hook)(void *));
LIDO__HIDDEN bool lido__os_thread_exit_arm(void *argument);

// Makes every thread of the process pass a full memory barrier before it returns: what the caller wrote before is seen by
// whatever they do next, and what they wrote is seen by the caller, at no cost to them. False where the system cannot.
LIDO__HIDDEN bool lido__os_barrier_everywhere(void);

LIDO__HIDDEN void lido__os_write_error(const char *text, size_t length);
// A file to append to, made if need be; -1: refused. Writing to -1 writes to stderr.
LIDO__HIDDEN int lido__os_append_to(const char *path);
LIDO__HIDDEN void lido__os_write_to(int file, const char *text, size_t length);
// Reads a file from its start, up to `bytes`; the number read, or -1 if it cannot be opened.
LIDO__HIDDEN ptrdiff_t lido__os_read_file(const char *path, char *buffer, size_t bytes);
LIDO__HIDDEN void lido__os_close(int file);
// What lies at p, from the system's own map: one of the kinds below, and for a file its name in `name`.
typedef enum lido__os_place {
    LIDO__PLACE_UNKNOWN,    // the map cannot be read now
    LIDO__PLACE_UNMAPPED,
    LIDO__PLACE_STACK,
    LIDO__PLACE_BREAK_HEAP,    // the heap of the C library
    LIDO__PLACE_LOADER,        // the dynamic loader's own data, or what its early allocator mapped beside it
    LIDO__PLACE_FILE,
    LIDO__PLACE_ANONYMOUS,
} lido__os_place;
LIDO__HIDDEN lido__os_place lido__os_describe(const void *p, char *name, size_t name_bytes);

// Has `tell` called in the handler of every fault of an access (SIGSEGV, SIGBUS), with the address and the ucontext_t. True: it is dealt
// with, and the instruction runs again; false: whoever was there before gets it. Once a process; a handler that the program sets later
// takes its place.
LIDO__HIDDEN void lido__os_watch_faults(bool (*tell)(void *address, bool write, const void *context));

// Waits until *word != value (or spuriously); wakes one waiter.
LIDO__HIDDEN void lido__os_wait(_Atomic uint32_t *word, uint32_t value);
LIDO__HIDDEN void lido__os_wake_one(_Atomic uint32_t *word);
// The same wait until a moment of lido__os_time_ns; UINT64_MAX is never. False if that has come.
LIDO__HIDDEN bool lido__os_wait_until(_Atomic uint32_t *word, uint32_t value, uint64_t deadline_ns);

// Fault injection for tests. Calls are counted from 1; every call from number `first` on fails, `count` of them
// (0 stops it). Returns how many calls were made since the last time this was set.
LIDO_API uint32_t lido__os_fail_from(uint32_t first, uint32_t count);

#endif
