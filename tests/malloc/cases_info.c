// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// The calls that report: there, sane, and moving with what the program does.
#include "case.h"

#include <fcntl.h>
#include <malloc.h>
#include <unistd.h>

void case_mallinfo_follows(void) {
    enum { BLOCKS = 20000, SIZE = 1000 };
    static char *blocks[BLOCKS];
    struct mallinfo2 before = mallinfo2();
    for (int i = 0; i < BLOCKS; i++) blocks[i] = memset(malloc(SIZE), 1, SIZE);
    struct mallinfo2 full = mallinfo2();
    CHECK(full.uordblks >= before.uordblks + (size_t)BLOCKS * SIZE,
          "uordblks went from %zu to %zu with 20 MB more alive", before.uordblks, full.uordblks);
    CHECK(full.uordblks <= before.uordblks + (size_t)BLOCKS * SIZE * 3 / 2, "uordblks %zu is far too much",
          full.uordblks);
    CHECK(full.arena + full.hblkhd >= full.uordblks, "arena %zu + hblkhd %zu is less than uordblks %zu", full.arena,
          full.hblkhd, full.uordblks);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
    struct mallinfo old = mallinfo();
#pragma GCC diagnostic pop
    CHECK((size_t)old.uordblks + 65536 >= full.uordblks && (size_t)old.uordblks <= full.uordblks + 65536,
          "mallinfo says %d, mallinfo2 %zu", old.uordblks, full.uordblks);
    for (int i = 0; i < BLOCKS; i++) free(blocks[i]);
    struct mallinfo2 after = mallinfo2();
    CHECK(after.uordblks <= before.uordblks + (1 << 20), "uordblks is %zu after all was freed, %zu before",
          after.uordblks, before.uordblks);
    char *huge = memset(malloc(100 << 20), 1, 100 << 20);
    struct mallinfo2 with_huge = mallinfo2();
    CHECK(with_huge.uordblks + with_huge.hblkhd >= after.uordblks + (100 << 20), "100 MiB are nowhere to be seen");
    free(huge);
}

void case_malloc_stats_prints(void) {
    char text[8192];
    int ends[2], saved = dup(STDERR_FILENO);
    CHECK(pipe(ends) == 0, "pipe");
    CHECK(fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0, "fcntl");
    void *p = malloc(100000);
    fflush(stderr);
    dup2(ends[1], STDERR_FILENO);
    malloc_stats();
    fflush(stderr);
    dup2(saved, STDERR_FILENO);
    ssize_t length = read(ends[0], text, sizeof text - 1);
    CHECK(length > 10, "malloc_stats wrote nothing to stderr");
    text[length] = '\0';
    CHECK(strpbrk(text, "123456789") != NULL, "malloc_stats wrote no figure: %s", text);
    free(p);
}

void case_malloc_info_prints(void) {
    FILE *file = tmpfile();
    char text[65536];
    CHECK(file != NULL, "tmpfile");
    CHECK(malloc_info(1, file) != 0, "malloc_info takes options that do not exist");
    CHECK(malloc_info(0, file) == 0, "malloc_info");
    rewind(file);
    size_t length = fread(text, 1, sizeof text - 1, file);
    text[length] = '\0';
    CHECK(strncmp(text, "<malloc", 7) == 0, "malloc_info begins with: %.40s", text);
    CHECK(strstr(text, "</malloc>") != NULL, "malloc_info does not end its element");
    fclose(file);
}

void case_mallopt_answers(void) {
    const int parameters[] = {M_MXFAST,   M_TRIM_THRESHOLD, M_TOP_PAD,  M_MMAP_THRESHOLD,
                              M_MMAP_MAX, M_PERTURB,        M_ARENA_MAX};
    for (size_t i = 0; i < sizeof parameters / sizeof parameters[0]; i++) {
        int answer = mallopt(parameters[i], parameters[i] == M_PERTURB ? 0 : 64);
        CHECK(answer == 0 || answer == 1, "mallopt(%d) answers %d", parameters[i], answer);
        for (size_t size = 1; size < 1000000; size = size * 7 + 1) {
            void *p = memset(malloc(size), 1, size);
            free(p);
        }
    }
    CHECK(malloc_trim(0) == 0 || malloc_trim(0) == 1, "malloc_trim answers neither 0 nor 1");
}
