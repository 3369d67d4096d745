// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// Correct work for any malloc, to see what a checker costs: `load PATTERN COUNT`. With COUNT 0 it is the start of the process
// alone, which `compare` takes off. Prints a checksum of what it read back.
//
// And what a program costs: `load measure FILE [NAME=VALUE]... -- PROGRAM [ARGUMENT]...` runs it with these variables and writes
// its CPU time in microseconds and its peak in KiB to the file. It is done here because a small parent is needed: the peak of
// a child begins with what its parent had.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct object {
    char text[28];
    uint32_t tag;
    uint64_t rest[3];
} object;

static uint64_t sum, state = 88172645463325252u;

static uint32_t next_random(void) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)(state >> 32);
}

static void *need(void *p) {
    if (p == NULL) {
        fputs("load: no memory\n", stderr);
        exit(9);
    }
    __asm__ volatile("" : "+r"(p) : : "memory");
    return p;
}

static object *create(uint32_t tag) {
    object *o = need(malloc(sizeof *o));
    memset(o->text, (int)(tag & 127), sizeof o->text);
    o->tag = tag;
    return o;
}

static void destroy(object *o) {
    sum += o->tag + (unsigned char)o->text[27];
    o->tag = 0;
    free(o);
}

static void churn(long count) {
    for (long i = 0; i < count; i++) destroy(create((uint32_t)i));
}

static void steady(long count) {
    enum { ALIVE = 256 };
    object *alive[ALIVE] = {NULL};
    for (long i = 0; i < count; i++) {
        object **place = &alive[next_random() % ALIVE];
        if (*place != NULL) destroy(*place);
        *place = create((uint32_t)i);
    }
    for (int i = 0; i < ALIVE; i++) {
        if (alive[i] != NULL) destroy(alive[i]);
    }
}

static void pair64(long count) {
    for (long i = 0; i < count; i++) {
        char *p = need(malloc(64));
        p[0] = (char)i;
        sum += (unsigned char)p[0];
        free(p);
    }
}

// Each lives 1 to 1,000 steps: what was put into a place of the ring ends when its step comes.
static void mixed(long count) {
    static const size_t sizes[] = {1, 16, 64, 256, 1024};
    enum { RING = 1024 };
    static char *ring[RING];
    for (long i = 0; i < count; i++) {
        char **due = &ring[i % RING], **place = &ring[(i + 1 + next_random() % 1000) % RING];
        if (*due != NULL) sum += (unsigned char)(*due)[0];
        free(*due);
        *due = NULL;
        if (*place != NULL) continue;
        size_t size = sizes[next_random() % 5];
        *place = need(malloc(size));
        memset(*place, (int)(i & 127), size);
    }
    for (int i = 0; i < RING; i++) free(ring[i]);
}

static void batch128(long count) {
    char **blocks = need(malloc((size_t)(count + 1) * sizeof *blocks));
    for (long i = 0; i < count; i++) {
        blocks[i] = need(malloc(128));
        blocks[i][5] = (char)i;
    }
    for (long i = 0; i < count; i++) {
        sum += (unsigned char)blocks[i][5];
        free(blocks[i]);
    }
    free(blocks);
}

// A text that grows by half whenever it is full, to 64 KiB.
static void grow(long count) {
    for (long i = 0; i < count;) {
        char *text = NULL;
        for (size_t size = 16; size < (64 << 10) && i < count; size += size / 2, i++) {
            text = need(realloc(text, size));
            text[size - 1] = (char)i;
        }
        if (text != NULL) sum += (unsigned char)text[15];
        free(text);
    }
}

static const struct pattern {
    const char *name;
    void (*run)(long count);
} patterns[] = {{"churn", churn}, {"steady", steady},     {"pair64", pair64},
                {"mixed", mixed}, {"batch128", batch128}, {"grow", grow}};

static long microseconds(struct timeval t) { return t.tv_sec * 1000000L + t.tv_usec; }

// Ends as the program does.
static int measure(const char *path, char **words) {
    int status;
    struct rusage usage;
    pid_t child = fork();
    if (child == 0) {
        for (; *words != NULL && strcmp(*words, "--") != 0; words++) putenv(*words);
        if (*words != NULL && words[1] != NULL) execvp(words[1], words + 1);
        _exit(127);
    }
    if (child < 0 || wait4(child, &status, 0, &usage) != child) return 9;
    FILE *file = fopen(path, "w");
    if (file == NULL) return 9;
    fprintf(file, "%ld %ld\n", microseconds(usage.ru_utime) + microseconds(usage.ru_stime), usage.ru_maxrss);
    fclose(file);
    if (WIFSIGNALED(status)) return 128 + WTERMSIG(status);
    return WEXITSTATUS(status);
}

int main(int argc, char **argv) {
    if (argc > 4 && strcmp(argv[1], "measure") == 0) return measure(argv[2], argv + 3);
    for (size_t i = 0; argc == 3 && i < sizeof patterns / sizeof patterns[0]; i++) {
        if (strcmp(argv[1], patterns[i].name) != 0) continue;
        patterns[i].run(atol(argv[2]));
        printf("%llu\n", (unsigned long long)sum);
        return 0;
    }
    fputs("usage: load PATTERN COUNT; PATTERN: churn steady pair64 mixed batch128 grow\n", stderr);
    return 2;
}
