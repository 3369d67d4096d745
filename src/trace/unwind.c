// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// See unwind.h.
//
// Rules are kept in a table by address, one word each, so that a reader sees a whole entry or none:
//
//      63        30 29       27 26           10 9             0        index = address mod 2^13
//      | address/2^13 | leave    | cfa / 8      | saved_rbp / 8 |        empty: 0, as no leave that is kept is 0
//
// Before a word of the stack is read, its page must be among those known to be readable. They are one run of pages a
// thread, that around its stack pointer; it grows by asking the system, a page at a time, so on a thread's own stack
// that is paid once. The run is one word as well, as a signal handler may come in between and take a stack of its own.
//
// A step is a chain of loads that wait for each other. Stacks of one thread mostly end alike, so each thread keeps its last walk:
// where a new one comes to a frame of the same pc, sp and bp, and every word that the last one read from there on is still the
// same, the rest is the same; and these words are read all at once.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "trace/unwind.h"

#include "base/atomics.h"
#include "trace/eh_frame.h"

#include <errno.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

// The frames of other functions are read: for AddressSanitizer that touches the red zones around their variables, for
// ThreadSanitizer it is memory of a function that is still writing.
#define RAW __attribute__((no_sanitize("address", "thread", "undefined")))

enum { PAGE_SHIFT = 12, STEP_MAX = 1 << 20, JOIN_MAX = 64 };    // bytes, pages: guesses, far above what is usual
static const uintptr_t address_end = (uintptr_t)1 << 47;

// --- what may be read -----------------------------------------------------------------------------------------------

// page number << 28 | number of pages
static __thread uint64_t known_run __attribute__((tls_model("initial-exec")));
enum { COUNT_BITS = 28 };

typedef struct run {
    uintptr_t first, count;    // pages
} run;

// The system reads the value of a timer, and then finds that there is no such timer: EINVAL, or EFAULT if it cannot read.
RAW static bool system_reads(uintptr_t page) {
    if (page == 0) return false;    // for NULL it would not read at all
    int saved = errno;
    long result = syscall(SYS_setitimer, -1, page << PAGE_SHIFT, NULL);
    bool fault = result != 0 && errno == EFAULT;
    errno = saved;
    return !fault;
}

RAW static bool grow_run(run *r, uintptr_t page) {
    if (page < r->first || page - r->first > (uintptr_t)1 << (COUNT_BITS - 1)) return false;
    while (page - r->first >= r->count) {
        if (!system_reads(r->first + r->count)) return false;
        r->count++;
    }
    return true;
}

RAW static inline bool may_read(run *r, uintptr_t address) {
    uintptr_t page = address >> PAGE_SHIFT;
    return (address & 7) == 0 && (LIDO_LIKELY(page - r->first < r->count) || grow_run(r, page));
}

RAW static inline uintptr_t word_at(uintptr_t address) { return *(const volatile uintptr_t *)address; }

// The run joined with a page close to it, where a deeper or a higher call of the same stack is.
RAW LIDO__COLD static run join_run(run r, uintptr_t page) {
    run alone = {page, 1};
    if (r.count == 0) return alone;
    if (page >= r.first) return page - r.first < r.count + JOIN_MAX && grow_run(&r, page) ? r : alone;
    if (r.first - page > JOIN_MAX || !grow_run(&alone, r.first)) return alone;
    return (run){page, r.first + r.count - page};
}

// Requires: the page of sp can be read.
RAW static inline run run_around(uintptr_t sp) {
    run r = {(uintptr_t)(known_run >> COUNT_BITS), (uintptr_t)(known_run & ((1u << COUNT_BITS) - 1))};
    return LIDO_LIKELY((sp >> PAGE_SHIFT) - r.first < r.count) ? r : join_run(r, sp >> PAGE_SHIFT);
}

RAW static inline void keep_run(run r) { known_run = (uint64_t)r.first << COUNT_BITS | r.count; }

// --- x86-64: by rules -----------------------------------------------------------------------------------------------

typedef struct registers {
    uintptr_t pc, sp, bp;    // pc: as in unwind.h, the instruction is before it
} registers;

enum { READ_MORE = UINT32_MAX };    // a step read more than a return address and a bp

#if defined(__x86_64__)

enum { INDEX_BITS = 13, RULE_BITS = 30, CFA_BITS = 17, RBP_BITS = 10 };
static _Atomic uint64_t rules[1 << INDEX_BITS];    // relaxed: one word says all

// 0 if it does not fit.
static uint64_t pack(lido__rule rule) {
    int64_t cfa = rule.cfa / 8, rbp = rule.saved_rbp / 8, half = 1 << (CFA_BITS - 1);
    bool fits =
        rule.cfa % 8 == 0 && rule.saved_rbp % 8 == 0 && cfa >= -half && cfa < half && rbp >= 0 && rbp < 1 << RBP_BITS;
    if (!fits || rule.leave == LIDO__LEAVE_UNKNOWN) return (uint64_t)LIDO__LEAVE_END << (CFA_BITS + RBP_BITS);
    return (uint64_t)rule.leave << (CFA_BITS + RBP_BITS) | (uint64_t)(cfa + half) << RBP_BITS | (uint64_t)rbp;
}

LIDO__COLD static uint64_t find_rule(uintptr_t address) {
    uint64_t rule = pack(lido__eh_frame_rule(address));
    LIDO__ATOMIC_STORE(&rules[address & ((1 << INDEX_BITS) - 1)], (uint64_t)(address >> INDEX_BITS) << RULE_BITS | rule,
                       relaxed);
    return rule;
}

static inline uint64_t rule_of(uintptr_t address) {
    uint64_t entry = LIDO__ATOMIC_LOAD(&rules[address & ((1 << INDEX_BITS) - 1)], relaxed);
    if (LIDO_LIKELY(entry >> RULE_BITS == address >> INDEX_BITS && entry != 0)) return entry & ((1u << RULE_BITS) - 1);
    return find_rule(address);
}

static registers of_context(const ucontext_t *context) {
    const greg_t *g = context->uc_mcontext.gregs;
    return (registers){(uintptr_t)g[REG_RIP] + 1, (uintptr_t)g[REG_RSP], (uintptr_t)g[REG_RBP]};
}

// Back to what a signal came between, maybe on another stack.
RAW LIDO__COLD static bool leave_signal(registers *now, run *r) {
    const ucontext_t *context = (const ucontext_t *)now->sp;
    if (!may_read(r, now->sp) || !may_read(r, now->sp + sizeof *context - 8)) return false;
    *now = (registers){(uintptr_t)context->uc_mcontext.gregs[REG_RIP] + 1,
                       (uintptr_t)context->uc_mcontext.gregs[REG_RSP], (uintptr_t)context->uc_mcontext.gregs[REG_RBP]};
    if ((now->sp >> PAGE_SHIFT) - r->first < r->count) return true;
    if (now->sp >= address_end || !system_reads(now->sp >> PAGE_SHIFT)) return false;
    *r = (run){now->sp >> PAGE_SHIFT, 1};
    return true;
}

// To the caller. False: there is none, or it cannot be told. Sets *read to where the caller's bp was read, in bytes below its
// sp, 0 if it is the same; or to READ_MORE.
RAW static inline bool leave(registers *now, run *r, uint32_t *read) {
    if (now->pc - 1 >= address_end) return false;
    uint64_t rule = rule_of(now->pc - 1);
    unsigned how = (unsigned)(rule >> (CFA_BITS + RBP_BITS));
    intptr_t offset = ((intptr_t)(rule >> RBP_BITS & ((1u << CFA_BITS) - 1)) - (1 << (CFA_BITS - 1))) * 8;
    uintptr_t cfa, bp = now->bp, saved = (uintptr_t)(rule & ((1u << RBP_BITS) - 1)) * 8;
    *read = (uint32_t)saved;
    if (LIDO_LIKELY(how == LIDO__LEAVE_RSP)) {
        cfa = now->sp + (uintptr_t)offset;
    } else if (how == LIDO__LEAVE_RBP) {
        cfa = now->bp + (uintptr_t)offset;
    } else if (how == LIDO__LEAVE_DEREF) {
        uintptr_t slot = now->bp + (uintptr_t)offset;
        if (slot - now->sp >= STEP_MAX || bp - now->sp >= STEP_MAX || !may_read(r, slot) || !may_read(r, bp))
            return false;
        cfa = word_at(slot);
        bp = word_at(bp);
        *read = READ_MORE;
    } else {
        *read = READ_MORE;
        return how == LIDO__LEAVE_SIGNAL && leave_signal(now, r);
    }
    // the frame has at least its return address, and lies above its callee's
    if (cfa - now->sp - 8 >= STEP_MAX || !may_read(r, cfa - 8)) return false;
    if (saved != 0) {
        if (!may_read(r, cfa - saved)) return false;
        bp = word_at(cfa - saved);
    }
    *now = (registers){word_at(cfa - 8), cfa, bp};
    return now->pc != 0;
}

#else

// --- elsewhere: by frame pointers -----------------------------------------------------------------------------------

static registers of_context(const ucontext_t *context) {
#if defined(__aarch64__)
    const mcontext_t *m = &context->uc_mcontext;
    return (registers){(uintptr_t)m->pc + 1, (uintptr_t)m->sp, (uintptr_t)m->regs[29]};
#else
    (void)context;
    return (registers){0, 0, 0};
#endif
}

// A frame pointer points to the caller's, and behind that is the return address, maybe signed in its upper bits.
RAW static inline bool leave(registers *now, run *r, uint32_t *read) {
    uintptr_t bp = now->bp;
    *read = READ_MORE;
    if (bp - now->sp >= STEP_MAX || !may_read(r, bp) || !may_read(r, bp + sizeof(uintptr_t))) return false;
    *now = (registers){word_at(bp + sizeof(uintptr_t)) & (((uintptr_t)1 << 47) - 1), bp + 2 * sizeof(uintptr_t),
                       word_at(bp)};
    return now->pc != 0;
}

#endif

// --- the last walk --------------------------------------------------------------------------------------------------

enum { KEPT = 16 };

typedef struct seen {
    registers at;
    uint32_t read;    // how it was left, see leave; nothing if it was not
} seen;

// Frames of the thread's last walk, the outermost in the last place. One that READ_MORE is the last that is kept. `busy`: a walk is
// under way; one in a signal handler that came in between does without.
static __thread struct {
    volatile bool busy;
    bool ends;        // there is no caller of the last frame
    uint8_t first;    // the innermost
    uintptr_t top;    // sp of the last
    struct {
        uintptr_t pc, bp;
        uint32_t below;    // of sp below `top`, in words
        uint32_t read;
    } frames[KEPT];
} last __attribute__((tls_model("initial-exec"))) = {.first = KEPT};

RAW static inline uintptr_t last_sp(unsigned i) { return last.top - (uintptr_t)last.frames[i].below * 8; }

// The place of a frame in the last walk from which on nothing has changed; KEPT if there is none. *from: where to look next.
// One frame after the other and not beyond the first that has changed: as long as they are the same they are there, and so can be
// read. Of another stack at the same address, maybe a smaller one, the rest may not be there.
RAW static inline unsigned same_from(const registers *now, unsigned *from) {
    unsigned i = *from;
    while (i < KEPT && last_sp(i) < now->sp) i++;
    *from = i;
    if (i == KEPT || last_sp(i) != now->sp || last.frames[i].pc != now->pc || last.frames[i].bp != now->bp) return KEPT;
    *from = KEPT;    // if it has changed, one is enough
    for (unsigned k = i; k < KEPT - 1; k++) {
        uintptr_t sp = last_sp(k + 1), read = last.frames[k].read;
        if (word_at(sp - 8) != last.frames[k + 1].pc) return KEPT;
        if ((read != 0 ? word_at(sp - read) : last.frames[k].bp) != last.frames[k + 1].bp) return KEPT;
    }
    return i;
}

// `fresh` in front of what is kept from place `behind` on; with KEPT nothing of that stays.
RAW static inline void keep_walk(const seen *fresh, unsigned count, unsigned behind, bool ends) {
    if (count > behind || count == 0) return;    // no room: as before
    if (behind == KEPT) {
        last.top = fresh[count - 1].at.sp;
        last.ends = ends;
    }
    last.first = (uint8_t)(behind - count);
    for (unsigned i = 0; i < count; i++) {
        last.frames[last.first + i].pc = fresh[i].at.pc;
        last.frames[last.first + i].bp = fresh[i].at.bp;
        last.frames[last.first + i].below = (uint32_t)((last.top - fresh[i].at.sp) / 8);
        last.frames[last.first + i].read = fresh[i].read;
    }
}

// --- the walk -------------------------------------------------------------------------------------------------------

RAW static inline size_t walk(registers now, void **pcs, size_t max, unsigned skip, run r) {
    seen fresh[KEPT];
    unsigned kept = 0, from = last.first, behind = KEPT, place;
    bool busy = last.busy, keeps = !busy && (now.sp & 7) == 0, ends = false;
    uintptr_t start = now.sp;
    size_t count = 0, steps = 0;
    if (busy) from = KEPT;
    last.busy = true;
    atomic_signal_fence(memory_order_seq_cst);
    while (count < max) {
        if (from < KEPT && (place = same_from(&now, &from)) < KEPT) {
            if (!keeps) kept = 0;    // they do not lie next to what is there
            keeps = false;
            for (behind = place; place < KEPT && count < max; place++)
                if (steps++ >= skip) pcs[count++] = (void *)last.frames[place].pc;
            if (count == max || last.ends) break;
            now = (registers){last.frames[KEPT - 1].pc, last.top, last.frames[KEPT - 1].bp};
        } else {
            if (steps++ >= skip) pcs[count++] = (void *)now.pc;
            if (keeps) fresh[kept++].at = now;
            if (count == max) break;
        }
        uint32_t read;
        ends = !leave(&now, &r, &read);
        if (ends) break;
        if (keeps) fresh[kept - 1].read = read;
        keeps = keeps && read != READ_MORE && kept < KEPT && (now.sp & 7) == 0 && now.sp - start < (uintptr_t)1 << 34;
    }
    if (!busy) keep_walk(fresh, kept, behind, ends && keeps);
    atomic_signal_fence(memory_order_seq_cst);
    last.busy = busy;
    keep_run(r);
    return count;
}

// Its own frame pointer, which asking for makes the compiler keep, leads to the caller's registers.
RAW LIDO__NOINLINE size_t lido__unwind(void **pcs, size_t max, unsigned skip) {
    uintptr_t frame = (uintptr_t)__builtin_frame_address(0);
    run r = run_around(frame);
    if (!may_read(&r, frame + sizeof(uintptr_t))) return 0;
    registers now = {word_at(frame + sizeof(uintptr_t)), frame + 2 * sizeof(uintptr_t), word_at(frame)};
    return walk(now, pcs, max, skip, r);
}

RAW size_t lido__unwind_from(void **pcs, size_t max, const void *ucontext) {
    registers now = of_context((const ucontext_t *)ucontext);
    if (max == 0 || now.pc == 0) return 0;
    pcs[0] = (void *)now.pc;
    run r = {now.sp >> PAGE_SHIFT, 1};
    if (now.sp >= address_end || !system_reads(r.first)) return 1;
    return walk(now, pcs, max, 0, r);
}
