// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// See symbolizer.h.
//
//      the program  ──── question ────►  lido symbolize        one pair of sockets; a write to one whose other end is
//           │       ◄──── answer ──────        ▲               gone need not raise SIGPIPE
//           └── clone ──►  supervisor ── clone ┘
//
// The supervisor is a plain clone by system call: no handlers of fork run (lido's own would take locks that the reporting
// thread may hold), its end sends no SIGCHLD, and the program's wait() does not see it. All of that would be lost by an exec
// (the kernel then sets the signal to SIGCHLD), so it only starts the symbolizer, waits for it, and takes it along when
// it is killed.
//
// Everything here belongs to the thread that is `owner`.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "trace/symbolizer.h"

#include "base/atomics.h"
#include "base/format.h"
#include "base/options.h"
#include "os/os.h"
#include "trace/module.h"
#include "trace/symbolize.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ENTRIES_MAX = 1024, PATIENCE_MS = 5000, LEAVE_MS = 200 };    // guesses
typedef enum progress { NOT_STARTED, RUNNING, GIVEN_UP } progress;

static _Atomic uint32_t owner;    // [atomic:owner] thread id, 0: nobody
static struct {
    progress state;
    int socket;
    pid_t supervisor;
    char text[4096];    // a question, then its answer
} now;

// --- in the new process ---------------------------------------------------------------------------------------------

// Without what would load lido, or anything else, into the symbolizer, and without a search on the network.
static char **environment_for(char **from) {
    static const char *const dropped[] = {"LD_PRELOAD=", "LIDO_OPTIONS=", "DEBUGINFOD_URLS="};
    static char *kept[ENTRIES_MAX + 1];
    size_t count = 0;
    for (; from != NULL && *from != NULL && count < ENTRIES_MAX; from++) {
        bool drop = false;
        for (unsigned i = 0; i < sizeof dropped / sizeof dropped[0]; i++)
            drop = drop || strncmp(*from, dropped[i], strlen(dropped[i])) == 0;
        if (!drop) kept[count++] = *from;
    }
    kept[count] = NULL;
    return kept;
}

static void run(const char *path, char **environment) {
    static char name[] = "lido", command[] = "symbolize";
    char *words[] = {name, command, NULL};
    execve(path, words, environment);
}

static void run_from_path(const char *name, char **environment) {
    static char path[PATH_MAX];
    const char *at = getenv("PATH");
    while (at != NULL && *at != '\0') {
        size_t length = strcspn(at, ":");
        lido__text text = lido__text_over(path, sizeof path);
        lido__text_chars(&text, at, length);
        lido__text_format(&text, "/%s", name);
        if (length > 0) run(path, environment);
        at += length + (at[length] == ':');
    }
}

// bin/lido of the folder above the one where the file lies: beside lib/ of an installation, or of a build.
static void run_beside(const char *file, char **environment) {
    static char path[PATH_MAX];
    const char *slash = file != NULL ? strrchr(file, '/') : NULL;
    if (slash == NULL) return;
    lido__text text = lido__text_over(path, sizeof path);
    lido__text_chars(&text, file, (size_t)(slash - file));
    lido__text_string(&text, "/../bin/lido");
    run(path, environment);
}

_Noreturn static void become_symbolizer(int own_end, const char *beside) {
    char **environment = environment_for(environ);
    // above 2, as the program may have closed those
    int in = fcntl(own_end, F_DUPFD, 3), out = open("/dev/null", O_WRONLY);
    if (in >= 0 && dup2(in, STDIN_FILENO) >= 0 && dup2(in, STDOUT_FILENO) >= 0 &&
        (out == STDERR_FILENO || dup2(out, STDERR_FILENO) >= 0)) {
#ifdef SYS_close_range
        syscall(SYS_close_range, 3u, ~0u, 0u);
#endif
        const char *command = lido__option_texts_now.symbolizer[0] != '\0' ? lido__option_texts_now.symbolizer : "lido";
        if (strchr(command, '/') != NULL) {
            run(command, environment);
        } else {
            run_from_path(command, environment);
        }
        run_beside(beside, environment);
    }
    _exit(127);
}

static pid_t clone_plainly(void) { return (pid_t)syscall(SYS_clone, 0ul, NULL, NULL, NULL, NULL); }

_Noreturn static void supervise(const int *ends, const char *beside) {
    pid_t self = (pid_t)syscall(SYS_getpid), process = clone_plainly();
    if (process == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() == self) become_symbolizer(ends[1], beside);
        _exit(127);
    }
    close(ends[0]);
    close(ends[1]);
    while (process > 0 && waitpid(process, NULL, __WALL) < 0 && errno == EINTR) {
    }
    _exit(0);
}

// --- here -----------------------------------------------------------------------------------------------------------

static void give_up(bool gentle) {
    if (now.state == RUNNING) {
        // without questions the symbolizer leaves by itself, and the supervisor behind it; else both are killed
        uint64_t deadline = lido__os_time_ns() + LEAVE_MS * UINT64_C(1000000);
        close(now.socket);
        while (gentle && waitpid(now.supervisor, NULL, __WALL | WNOHANG) == 0) {
            if (lido__os_time_ns() >= deadline) gentle = false;
            poll(NULL, 0, 1);
        }
        if (!gentle) kill(now.supervisor, SIGKILL);
        while (!gentle && waitpid(now.supervisor, NULL, __WALL) < 0 && errno == EINTR) {
        }
    }
    now.state = GIVEN_UP;
}

static void start(void) {
    int ends[2];
    lido__module self;
    bool known = lido__module_of((uintptr_t)&start, &self);
    now.state = GIVEN_UP;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return;
    // a handler of the program must not run in the copy; who dies of a signal now is not reported anyway
    sigset_t all, before;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, &before);
    pid_t supervisor = clone_plainly();
    if (supervisor == 0) supervise(ends, known ? self.path : NULL);
    sigprocmask(SIG_SETMASK, &before, NULL);
    close(ends[1]);
    if (supervisor < 0) {
        close(ends[0]);
        return;
    }
    now.socket = ends[0];
    now.supervisor = supervisor;
    now.state = RUNNING;
}

static bool send_all(const char *text, size_t length) {
    while (length > 0) {
        ssize_t n = send(now.socket, text, length, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        text += n;
        length -= (size_t)n;
    }
    return true;
}

static bool wait_for_bytes(uint64_t deadline) {
    for (;;) {
        uint64_t at = lido__os_time_ns();
        struct pollfd one = {.fd = now.socket, .events = POLLIN};
        if (at >= deadline) return false;
        int n = poll(&one, 1, (int)((deadline - at) / 1000000) + 1);
        if (n > 0) return true;
        if (n == 0 || errno != EINTR) return false;
    }
}

// One line into now.text; what does not fit is dropped.
static bool receive_line(void) {
    uint64_t deadline = lido__os_time_ns() + PATIENCE_MS * UINT64_C(1000000);
    size_t length = 0;
    char c = '\0';
    while (c != '\n') {
        if (!wait_for_bytes(deadline)) return false;
        char piece[256];
        ssize_t n = recv(now.socket, piece, sizeof piece, MSG_DONTWAIT);
        if (n < 0 && (errno == EINTR || errno == EAGAIN)) continue;
        if (n <= 0) return false;
        c = piece[n - 1];    // one question, one line: nothing comes behind it
        size_t fits = lido__min((size_t)n, sizeof now.text - 1 - length);
        memcpy(now.text + length, piece, fits);
        length += fits;
    }
    now.text[length] = '\0';
    now.text[strcspn(now.text, "\n")] = '\0';
    return true;
}

static bool ask(const char *module, size_t offset) {
    lido__text text = lido__text_over(now.text, sizeof now.text);
    lido__text_format(&text, "%s %p\n", module, (const void *)(uintptr_t)offset);
    if (text.length + 1 == sizeof now.text || strchr(module, '\n') != NULL)
        return true;    // cannot be asked: no answer
    if (now.state == NOT_STARTED) start();
    if (now.state != RUNNING) return false;
    return send_all(now.text, text.length) && receive_line();
}

const char *lido__symbolizer_ask(const char *module, size_t offset) {
    if (!lido__symbolizer_is_mine() || now.state == GIVEN_UP) return NULL;
    int saved = errno;
    bool answered = ask(module, offset);
    if (!answered) give_up(false);
    errno = saved;
    return answered && strchr(now.text, '\t') != NULL ? now.text : NULL;
}

bool lido__symbolizer_is_mine(void) {
    // relaxed: it is the own id only if this thread wrote it
    uint32_t has = LIDO__ATOMIC_LOAD(&owner, relaxed);
    return has != 0 && has == lido__os_thread_id();
}

bool lido__symbolizer_open(void) {
    uint32_t nobody = 0;
    if (strcmp(lido__option_texts_now.symbolizer, "none") == 0) return false;
    // acquire, pairs with the release in lido__symbolizer_close
    if (!LIDO__ATOMIC_CAS(&owner, &nobody, lido__os_thread_id(), acquire)) return false;
    now.state = NOT_STARTED;
    return true;
}

void lido__symbolizer_close(void) {
    int saved = errno;
    if (now.state == RUNNING) give_up(true);
    LIDO__ATOMIC_STORE(&owner, 0u, release);
    errno = saved;
}
