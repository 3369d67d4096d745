// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// A second preloaded library, of the kind that tracers and wrappers are: it wraps getenv, which mallocs call while they
// start, and allocates in the wrapper, in its constructor, in a thread that it starts there, and at its end.
#include "case.h"

#include <dlfcn.h>
#include <pthread.h>

extern char **environ;
static void *held[20];

__attribute__((visibility("default"))) char *getenv(const char *name) {
    free(malloc(200));
    size_t length = strlen(name);
    for (char **e = environ; e != NULL && *e != NULL; e++) {
        if (strncmp(*e, name, length) == 0 && (*e)[length] == '=') return *e + length + 1;
    }
    return NULL;
}

static void *in_thread(void *block) {
    free(block);
    return malloc(300);
}

__attribute__((constructor)) static void start(void) {
    pthread_t thread;
    void *result = NULL;
    for (int i = 0; i < 20; i++) held[i] = memset(malloc((size_t)i * i * 100 + 1), 1, 1);
    void *(*next)(size_t);
    *(void **)&next = dlsym(RTLD_NEXT, "malloc");    // dlsym itself allocates
    if (next == NULL) abort();
    free(held[3]);
    held[3] = realloc(NULL, 100);
    if (pthread_create(&thread, NULL, in_thread, malloc(99)) != 0) abort();
    pthread_join(thread, &result);
    free(result);
}

__attribute__((destructor)) static void stop(void) {
    for (int i = 0; i < 20; i++) free(held[i]);
}
