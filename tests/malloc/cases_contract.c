// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// What one call promises, by the C standard, POSIX and the manual pages: sizes and products that cannot be, sizes of
// zero, alignments good and bad, malloc_usable_size, errno.
#include "case.h"

#include <malloc.h>
#include <unistd.h>

static size_t hide(size_t n) {
    __asm__ volatile("" : "+r"(n));
    return n;
}

#define CHECK_REFUSED(call)                                       \
    do {                                                          \
        errno = 0;                                                \
        CHECK((call) == NULL, "%s gave a block", #call);          \
        CHECK(errno == ENOMEM, "%s: errno is not ENOMEM", #call); \
    } while (0)

void case_too_large(void) {
    const size_t sizes[] = {(size_t)PTRDIFF_MAX + 1, SIZE_MAX,         SIZE_MAX - 1,     SIZE_MAX - 15,
                            SIZE_MAX - 4095,         SIZE_MAX - 65536, SIZE_MAX / 2 + 1, SIZE_MAX / 4 * 3};
    char *kept = malloc(100);
    case_fill(kept, 100, 1);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        size_t n = hide(sizes[i]);
        void *out = kept;
        CHECK_REFUSED(malloc(n));
        CHECK_REFUSED(calloc(1, n));
        CHECK_REFUSED(calloc(n, 1));
        CHECK_REFUSED(realloc(NULL, n));
        CHECK_REFUSED(realloc(kept, n));
        CHECK_REFUSED(reallocarray(kept, n, 1));
        CHECK_REFUSED(aligned_alloc(16, n));
        CHECK_REFUSED(aligned_alloc(4096, n));
        CHECK_REFUSED(memalign(64, n));
        CHECK_REFUSED(memalign(1 << 21, n));
        CHECK_REFUSED(valloc(n));
        CHECK_REFUSED(pvalloc(n));
        CHECK(posix_memalign(&out, 64, n) == ENOMEM, "posix_memalign of %zu", n);
        CHECK(out == kept, "posix_memalign wrote its result although it failed");
        CHECK(case_filled(kept, 100, 1), "a refused realloc changed the block");
    }
    // No machine has this much, though the type has room for it: refused, and not by a crash.
    void *most = malloc(hide((size_t)PTRDIFF_MAX));
    CHECK(most == NULL, "malloc(PTRDIFF_MAX) gave a block");
    CHECK(aligned_alloc(hide((size_t)1 << 62), hide(1)) == NULL, "an alignment of 2^62");
    free(kept);
}

void case_overflowing_products(void) {
    const size_t pairs[][2] = {{SIZE_MAX, 2},
                               {2, SIZE_MAX},
                               {SIZE_MAX / 2 + 1, 2},
                               {(size_t)1 << 32, (size_t)1 << 32},
                               {((size_t)1 << 32) + 1, ((size_t)1 << 32) + 1},
                               {SIZE_MAX / 16 + 1, 16},
                               {3, SIZE_MAX / 3 + 1},
                               {SIZE_MAX, SIZE_MAX}};
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        size_t a = hide(pairs[i][0]), b = hide(pairs[i][1]);
        CHECK_REFUSED(calloc(a, b));
        CHECK_REFUSED(reallocarray(NULL, a, b));
        char *p = malloc(32);
        case_fill(p, 32, 7);
        CHECK_REFUSED(reallocarray(p, a, b));
        CHECK(case_filled(p, 32, 7), "a refused reallocarray changed the block");
        free(p);
    }
    int *p = reallocarray(NULL, 10, sizeof *p);
    CHECK(p != NULL && malloc_usable_size(p) >= 40, "reallocarray(NULL, 10, 4)");
    p = reallocarray(p, 1000, sizeof *p);
    CHECK(p != NULL && malloc_usable_size(p) >= 4000, "reallocarray to 1000");
    free(p);
}

void case_zero_sizes(void) {
    enum { COUNT = 100 };
    void *blocks[COUNT];
    for (int i = 0; i < COUNT; i++) {
        switch (i % 6) {
            case 0: blocks[i] = malloc(hide(0)); break;
            case 1: blocks[i] = calloc(hide(0), 100); break;
            case 2: blocks[i] = calloc(100, hide(0)); break;
            case 3: blocks[i] = realloc(NULL, hide(0)); break;
            case 4: blocks[i] = aligned_alloc(64, hide(0)); break;
            default: CHECK(posix_memalign(&blocks[i], 128, hide(0)) == 0, "posix_memalign of 0"); break;
        }
        CHECK(blocks[i] != NULL, "form %d of an empty block gave NULL", i % 6);
        for (int k = 0; k < i; k++) CHECK(blocks[k] != blocks[i], "two empty blocks have one address");
    }
    for (int i = 0; i < COUNT; i++) free(blocks[i]);
    void *p = malloc(1000);
    errno = 0;
    CHECK(case_opaque(realloc(p, hide(0))) == NULL, "realloc(p, 0) gave a block; here it is free");
    CHECK(errno == 0, "realloc(p, 0) set errno");
    free(NULL);
    CHECK(malloc_usable_size(NULL) == 0, "malloc_usable_size(NULL)");
}

void case_bad_alignments(void) {
    const size_t posix_bad[] = {0,  1,  2,   4,    3,    7,        12,           24,
                                40, 48, 100, 4095, 4097, SIZE_MAX, SIZE_MAX - 7, (size_t)3 << 40};
    for (size_t i = 0; i < sizeof posix_bad / sizeof posix_bad[0]; i++) {
        void *out = &out;
        errno = 99;
        CHECK(posix_memalign(&out, hide(posix_bad[i]), 64) == EINVAL, "posix_memalign took the alignment %zu",
              posix_bad[i]);
        CHECK(out == &out && errno == 99, "posix_memalign failed and yet wrote its result or errno");
    }
    const size_t bad[] = {3, 6, 24, 100, 4095, ((size_t)1 << 20) + 1};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        errno = 0;
        void *p = aligned_alloc(hide(bad[i]), 1 << 20);
        if (p == NULL || !case_under_libc()) {    // glibc before 2.38 rounds the alignment up here as memalign does
            CHECK(p == NULL && errno == EINVAL, "aligned_alloc took the alignment %zu", bad[i]);
        }
        free(p);
        // memalign is no standard's: either EINVAL, or the next power of two.
        errno = 0;
        p = memalign(hide(bad[i]), 64);
        size_t next = 1;
        while (next < bad[i]) next *= 2;
        CHECK(p == NULL ? errno == EINVAL : (uintptr_t)p % next == 0, "memalign with the alignment %zu", bad[i]);
        free(p);
    }
}

void case_alignment_of_sizes(void) {
    for (size_t size = 1; size <= 4096; size++) {
        size_t least = size >= 16 ? 16 : size >= 8 ? 8 : 1;
        void *blocks[6] = {malloc(size), malloc(size), calloc(1, size), calloc(size, 1), realloc(NULL, size), NULL};
        blocks[5] = realloc(malloc(size / 2 + 1), size);
        for (int i = 0; i < 6; i++) {
            CHECK(blocks[i] != NULL && (uintptr_t)blocks[i] % least == 0, "form %d of %zu bytes: %p", i, size,
                  blocks[i]);
        }
        for (int i = 0; i < 6; i++) free(blocks[i]);
    }
    for (size_t size = 5000; size < (64 << 20); size = size * 5 / 4 + 13) {
        void *p = malloc(size);
        CHECK(p != NULL && (uintptr_t)p % 16 == 0, "%zu bytes: %p", size, p);
        free(p);
    }
}

static void *aligned_by(int form, size_t alignment, size_t size) {
    void *out = NULL;
    switch (form) {
        case 0: return aligned_alloc(alignment, size);
        case 1: return memalign(alignment, size);
        default:
            CHECK(posix_memalign(&out, alignment < sizeof(void *) ? sizeof(void *) : alignment, size) == 0,
                  "posix_memalign(%zu, %zu)", alignment, size);
            return out;
    }
}

void case_alignment_of_requests(void) {
    enum { LIVE = 40 };
    const size_t sizes[] = {1, 8, 24, 64, 100, 500, 1000, 1024, 4096, 5000, 30000, 65536, 100000, 1 << 20, 3000001};
    void *live[LIVE] = {NULL};
    size_t live_size[LIVE] = {0}, turn = 0;
    for (size_t alignment = 1; alignment <= (32u << 20); alignment *= 2) {
        for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
            for (int form = 0; form < 3; form++, turn = (turn + 1) % LIVE) {
                if (live[turn] != NULL) {
                    CHECK(case_filled(live[turn], live_size[turn], turn), "a block changed");
                    free(live[turn]);
                }
                void *p = aligned_by(form, alignment, sizes[s]);
                CHECK(p != NULL && (uintptr_t)p % alignment == 0, "form %d: %zu at %zu is %p", form, sizes[s],
                      alignment, p);
                CHECK(malloc_usable_size(p) >= sizes[s], "usable size of %zu at %zu", sizes[s], alignment);
                live[turn] = p;
                live_size[turn] = sizes[s] < 5000 ? sizes[s] : 5000;    // the end is the next check's business
                case_fill(p, live_size[turn], turn);
                memset((char *)p + sizes[s] - 1, 1, 1);
                if (sizes[s] <= 5000) case_fill(p, live_size[turn], turn);
            }
        }
    }
    for (int i = 0; i < LIVE; i++) free(live[i]);
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    for (size_t size = 1; size < 100000; size = size * 2 + 1) {
        void *v = valloc(size), *pv = pvalloc(size);
        CHECK(v != NULL && (uintptr_t)v % page == 0, "valloc(%zu) is %p", size, v);
        CHECK(pv != NULL && (uintptr_t)pv % page == 0, "pvalloc(%zu) is %p", size, pv);
        CHECK(malloc_usable_size(pv) >= (size + page - 1) / page * page, "pvalloc(%zu) is not whole pages", size);
        free(v);
        free(pv);
    }
}

void case_usable_size(void) {
    for (size_t size = 0; size < 3000000; size = size < 2100 ? size + 1 : size + size / 25) {
        unsigned char *a = malloc(size), *b = malloc(size), *c = malloc(size);
        size_t ua = malloc_usable_size(a), ub = malloc_usable_size(b), uc = malloc_usable_size(c);
        CHECK(ua >= size && ub >= size && uc >= size, "usable %zu, %zu, %zu for %zu", ua, ub, uc, size);
        CHECK(ua <= size + size / 4 + 65536, "%zu usable for %zu", ua, size);
        memset(a, 0xAA, ua);
        memset(b, 0xBB, ub);
        memset(c, 0xCC, uc);
        for (size_t i = 0; i < ua; i += ua / 64 + 1) CHECK(a[i] == 0xAA, "blocks of %zu overlap", size);
        for (size_t i = 0; i < ub; i += ub / 64 + 1) CHECK(b[i] == 0xBB, "blocks of %zu overlap", size);
        if (ub > 0) CHECK(b[ub - 1] == 0xBB && b[0] == 0xBB, "the end of a block of %zu changed", size);
        if (ub > 0) {
            b = realloc(b, ub);
            CHECK(b != NULL && malloc_usable_size(b) >= ub && b[ub - 1] == 0xBB, "realloc to the usable %zu", ub);
        }
        free(a);
        free(b);
        free(c);
    }
}

#define CHECK_ERRNO(call)                                           \
    do {                                                            \
        errno = 12345;                                              \
        call;                                                       \
        CHECK(errno == 12345, "%s of %zu changed errno", #call, n); \
    } while (0)

void case_errno_untouched(void) {
    const size_t sizes[] = {0, 1, 16, 100, 1000, 5000, 40000, 100000, 300000, 1 << 20, 5 << 20, 40 << 20};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        size_t n = hide(sizes[i]);
        char *p, *q, *r;
        void *out;
        CHECK_ERRNO(p = malloc(n));
        CHECK_ERRNO(q = calloc(n, 1));
        CHECK_ERRNO(r = aligned_alloc(64, n));
        CHECK_ERRNO(posix_memalign(&out, 4096, n));
        CHECK_ERRNO(p = case_opaque(realloc(p, n * 2 + 1)));
        CHECK_ERRNO(p = case_opaque(realloc(p, n / 2 + 1)));
        CHECK(p != NULL && q != NULL && r != NULL && out != NULL, "no memory for %zu", n);
        if (n > 0) memset(p, 1, n / 2 + 1), memset(q, 1, n), memset(r, 1, n);
        CHECK_ERRNO(malloc_usable_size(p));
        CHECK_ERRNO(free(p));
        CHECK_ERRNO(free(q));
        CHECK_ERRNO(free(r));
        CHECK_ERRNO(free(out));
        CHECK_ERRNO(free(NULL));
        CHECK_ERRNO(malloc_trim(0));
    }
}

// free_sized and free_aligned_sized of C23: libc does not have them yet, lido must.
extern void free_sized(void *, size_t) __attribute__((weak));
extern void free_aligned_sized(void *, size_t, size_t) __attribute__((weak));

void case_extended_frees(void) {
    void (*sized)(void *, size_t) = free_sized, (*aligned)(void *, size_t, size_t) = free_aligned_sized;
    if (case_under_libc() && (sized == NULL || aligned == NULL)) case_skip("this libc has no free_sized");
    CHECK(sized != NULL && aligned != NULL, "free_sized or free_aligned_sized is not there");
    for (size_t size = 0; size < 1000000; size = size * 3 / 2 + 1) {
        for (int i = 0; i < 20; i++) {
            void *p = malloc(size), *q = aligned_alloc(256, size);
            CHECK(p != NULL && q != NULL, "no memory");
            if (size > 0) memset(p, 1, size), memset(q, 2, size);
            sized(p, size);
            aligned(q, 256, size);
        }
    }
    sized(NULL, 10);
    aligned(NULL, 16, 10);
    long before = case_rss_kb();
    for (int i = 0; i < 200; i++) sized(memset(malloc(1 << 20), 1, 1 << 20), 1 << 20);
    CHECK(case_rss_kb() - before < 50000, "free_sized does not free");
}
