// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// A program for `lido run` to become: prints what of its environment the tests ask for, one word an argument.
//   malloc    the file that serves malloc, without its folder
//   NAME      "NAME=value" of the environment, or "NAME is not set"
//   exit=N    ends with status N; kill=N by signal N
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void print_malloc(void) {
    Dl_info info;
    void *address = dlsym(RTLD_DEFAULT, "malloc");
    if (address == NULL || dladdr(address, &info) == 0) exit(99);
    const char *base = strrchr(info.dli_fname, '/');
    printf("malloc of %s\n", base != NULL ? base + 1 : info.dli_fname);
}

int main(int argc, char **argv) {
    for (int i = 1; i < argc; i++) {
        if (strncmp(argv[i], "exit=", 5) == 0) return atoi(argv[i] + 5);
        if (strncmp(argv[i], "kill=", 5) == 0) raise(atoi(argv[i] + 5));
        if (strcmp(argv[i], "malloc") == 0) {
            print_malloc();
            continue;
        }
        const char *value = getenv(argv[i]);
        if (value != NULL)
            printf("%s=%s\n", argv[i], value);
        else
            printf("%s is not set\n", argv[i]);
    }
    return 0;
}
