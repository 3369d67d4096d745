// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// Processes: fork from anywhere, exec, signals at any moment, libraries that come and go, and allocations before main,
// before any constructor, and after main.
#include "case.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;
static bool stop;    // [atomic, relaxed] for the threads that allocate in the background

static void *allocate_in_background(void *argument) {
    uint64_t seed = (uint64_t)(uintptr_t)argument;
    enum { LIVE = 300 };
    void *live[LIVE] = {NULL};
    while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
        uint64_t r = case_random(&seed);
        unsigned i = r % LIVE;
        free(live[i]);
        live[i] = malloc((r >> 16) % (r % 100 == 0 ? 400000 : 1000));
        if (live[i] != NULL) *(char *)live[i] = 1;
    }
    for (int i = 0; i < LIVE; i++) free(live[i]);
    return NULL;
}

static void start_background(unsigned long *threads, int count) {
    for (int i = 0; i < count; i++)
        threads[i] = case_thread_start(allocate_in_background, (void *)(uintptr_t)(i + 1), 0);
}

static void stop_background(unsigned long *threads, int count) {
    __atomic_store_n(&stop, true, __ATOMIC_RELAXED);
    for (int i = 0; i < count; i++) case_thread_join(threads[i]);
    __atomic_store_n(&stop, false, __ATOMIC_RELAXED);
}

static void *work(void *unused) {
    void *blocks[300];
    for (int i = 0; i < 300; i++) blocks[i] = memset(malloc((size_t)i * 37 + 1), 1, 1);
    for (int i = 0; i < 300; i++) free(blocks[i]);
    free(calloc(1, 5 << 20));
    return unused;
}

// What a child does: allocates, starts threads, frees a block of its parent, ends through exit.
static void child_life(void *inherited) {
    alarm(20);    // a child that hangs ends by a signal
    work(NULL);
    free(inherited);
    unsigned long threads[2];
    for (int i = 0; i < 2; i++) threads[i] = case_thread_start(work, NULL, 0);
    work(NULL);
    for (int i = 0; i < 2; i++) case_thread_join(threads[i]);
    exit(21);
}

static void fork_once(int round) {
    void *inherited = memset(malloc(1000), 1, 1000);
    pid_t child = fork();
    CHECK(child >= 0, "fork");
    if (child == 0) child_life(inherited);
    int status;
    CHECK(waitpid(child, &status, 0) == child, "waitpid");
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 21, "round %d: the child ended with status %#x", round, status);
    free(inherited);
}

void case_fork_while_allocating(void) {
    unsigned long threads[4];
    start_background(threads, 4);
    for (int round = 0; round < 30; round++) fork_once(round);
    stop_background(threads, 4);
}

static void *fork_repeatedly(void *unused) {
    for (int round = 0; round < 15; round++) fork_once(round);
    return unused;
}

void case_fork_from_threads(void) {
    unsigned long threads[2], forkers[3];
    start_background(threads, 2);
    for (int i = 0; i < 3; i++) forkers[i] = case_thread_start(fork_repeatedly, NULL, 0);
    for (int i = 0; i < 3; i++) case_thread_join(forkers[i]);
    stop_background(threads, 2);
}

// Each generation forks the next from a thread of its own, ten deep.
static void *next_generation(void *depth_pointer) {
    int depth = *(int *)depth_pointer;
    work(NULL);
    pid_t child = fork();
    CHECK(child >= 0, "fork");
    if (child == 0) {
        int next = depth + 1;
        work(NULL);
        if (next < 10) case_thread_join(case_thread_start(next_generation, &next, 0));
        exit(depth);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == depth,
          "generation %d ended with status %#x", depth, status);
    return NULL;
}

void case_fork_chain(void) {
    int depth = 0;
    alarm(25);
    case_thread_join(case_thread_start(next_generation, &depth, 0));
}

void case_spawn_while_allocating(void) {
    unsigned long threads[3];
    int status;
    start_background(threads, 3);
    for (int round = 0; round < 60; round++) {
        const char *const argv[] = {"/bin/true", NULL};
        CHECK(case_run_child(argv, NULL, NULL, 0) == 0, "posix_spawn of /bin/true");
        pid_t child = vfork();
        CHECK(child >= 0, "vfork");
        if (child == 0) {
            execl("/bin/true", "/bin/true", (char *)NULL);
            _exit(99);
        }
        CHECK(waitpid(child, &status, 0) == child && status == 0, "vfork and exec: status %#x", status);
        if (round % 10 != 0) continue;
        CHECK(system("exit 7") >> 8 == 7, "system");
        char line[100];
        FILE *pipe_end = popen("echo through a pipe", "r");
        CHECK(pipe_end != NULL && fgets(line, sizeof line, pipe_end) != NULL && strcmp(line, "through a pipe\n") == 0,
              "popen");
        pclose(pipe_end);
    }
    stop_background(threads, 3);
}

static volatile sig_atomic_t signals_seen;

static void on_signal(int number) {
    int saved = errno;
    errno = number;    // a handler that cleans up behind itself, as it must
    signals_seen++;
    errno = saved;
}

void case_signal_storm(void) {
    unsigned long threads[2];
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = on_signal;    // no SA_RESTART: system calls do get interrupted
    CHECK(sigaction(SIGALRM, &action, NULL) == 0 && sigaction(SIGUSR1, &action, NULL) == 0, "sigaction");
    struct itimerval often = {{0, 100}, {0, 100}};
    CHECK(setitimer(ITIMER_REAL, &often, NULL) == 0, "setitimer");
    start_background(threads, 2);
    uint64_t seed = 1;
    for (int i = 0; i < 3000; i++) {
        size_t size = case_random(&seed) % (i % 50 == 0 ? 6000000 : 30000);
        char *p = malloc(size);
        CHECK(p != NULL, "no memory for %zu", size);
        case_fill(p, size, 1);
        p = realloc(p, size * 2 + 1);
        CHECK(p != NULL && case_filled(p, size & ~(size_t)7, 1), "realloc lost content");
        free(p);
        if (i % 10 == 0) pthread_kill(threads[i / 10 % 2], SIGUSR1);
    }
    struct itimerval never = {{0, 0}, {0, 0}};
    setitimer(ITIMER_REAL, &never, NULL);
    stop_background(threads, 2);
    case_note("%d signals", (int)signals_seen);
    CHECK(signals_seen > 300, "only %d signals came", (int)signals_seen);
}

static void *use_plugin(void *path) {
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    CHECK(library != NULL, "dlopen: %s", dlerror());
    void *(*make)(size_t);
    void (*drop)(void *);
    *(void **)&make = dlsym(library, "plugin_make");
    *(void **)&drop = dlsym(library, "plugin_drop");
    CHECK(make != NULL && drop != NULL, "dlsym");
    void *kept = make(500), *crossed = malloc(200);
    drop(crossed);
    drop(make(100000));
    CHECK(dlclose(library) == 0, "dlclose");
    CHECK(case_filled(kept, 496, 500), "a block of an unloaded library changed");
    free(kept);
    return NULL;
}

void case_dlopen_dlclose(void) {
    static char path[4096];
    snprintf(path, sizeof path, "%s", case_sibling("malloc_plugin.so"));
    unsigned long background[2], threads[4];
    start_background(background, 2);
    for (int round = 0; round < 100; round++) {
        use_plugin(path);
        for (int i = 0; i < 4 && round % 4 == 0; i++) threads[i] = case_thread_start(use_plugin, path, 0);
        for (int i = 0; i < 4 && round % 4 == 0; i++) case_thread_join(threads[i]);
    }
    stop_background(background, 2);
}

// A second preloaded library allocates in its constructor, and interposes a function that runs before all constructors.
// It stands before and behind the malloc in the list.
void case_early_library(void) {
    char early[4096], list[8192], program[4096];
    snprintf(early, sizeof early, "%s", case_sibling("malloc_early.so"));
    snprintf(program, sizeof program, "%s", case_sibling("malloc_hello"));
    const char *const hello[] = {program, NULL}, *const shell[] = {"/bin/sh", "-c", "echo $((6 * 7)); exit 5", NULL};
    for (int order = 0; order < 2; order++) {
        snprintf(list, sizeof list, order == 0 ? "%s:%s" : "%2$s:%1$s", early, case_preload());
        char output[200];
        int status = case_run_child(hello, list, output, sizeof output);
        CHECK(status == 0, "malloc_hello under LD_PRELOAD=%s ended with %d", list, status);
        status = case_run_child(shell, list, output, sizeof output);
        CHECK(status == 5 && strcmp(output, "42\n") == 0, "sh under LD_PRELOAD=%s ended with %d: %s", list, status,
              output);
    }
}

// .preinit_array runs before every constructor, that of the malloc included.
static void *made_early[6];
static bool early_ran;

static void before_constructors(int argc, char **argv, char **env) {
    (void)argc, (void)argv, (void)env;
    made_early[0] = malloc(100);
    made_early[1] = calloc(10, 10);
    made_early[2] = aligned_alloc(64, 100);
    made_early[3] = realloc(malloc(10), 5000);
    made_early[4] = malloc(3000000);
    free(malloc(1234));
    for (int i = 0; i < 5; i++) {
        if (made_early[i] != NULL && i != 1) memset(made_early[i], 7, 100);
    }
    early_ran = true;
}
__attribute__((section(".preinit_array"), used)) static void (*const preinit)(int, char **,
                                                                              char **) = before_constructors;

void case_preinit(void) {
    CHECK(early_ran, ".preinit_array did not run");
    for (int i = 0; i < 5; i++) CHECK(made_early[i] != NULL, "call %d before the constructors failed", i);
    CHECK(case_is_zero(made_early[1], 100), "calloc before the constructors is not zero");
    CHECK((uintptr_t)made_early[2] % 64 == 0, "aligned_alloc before the constructors");
    for (int i = 0; i < 5; i++) CHECK(i == 1 || ((char *)made_early[i])[99] == 7, "block %d changed", i);
    made_early[0] = realloc(made_early[0], 50000);
    CHECK(made_early[0] != NULL && ((char *)made_early[0])[99] == 7, "realloc of an early block");
    for (int i = 0; i < 5; i++) free(made_early[i]);
    work(NULL);
}

static void *for_after_main[100];

static void late(void) {
    for (int i = 0; i < 100; i++) {
        free(for_after_main[i]);
        for_after_main[i] = memset(malloc((size_t)i * 100 + 1), 1, 1);
    }
}

// Destructors of the program run behind those of main's exit handlers and before those of the libraries.
__attribute__((destructor)) static void very_late(void) {
    for (int i = 0; i < 100; i++) free(for_after_main[i]);
    free(malloc(1 << 20));
}

void case_after_main(void) {
    atexit(late);
    for (int i = 0; i < 100; i++) for_after_main[i] = malloc((size_t)i * 10 + 1);
    pid_t child = fork();
    CHECK(child >= 0, "fork");
    if (child == 0) exit(17);
    int status;
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 17,
          "the child ended with status %#x", status);
}
