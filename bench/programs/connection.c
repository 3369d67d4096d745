// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// An HTTP server whose connection is one object with a buffer of 1,024 bytes, from malloc or from a lido pool. It answers every
// request with 13 bytes, and shows what pooling that one object is worth in a whole program; run-connection drives it.
//
//   lido-bench-connection [port=N] [threads=N] [pool=0|1] [close=0|1] [lazy=0|1]
//
//   pool=1    connections come from a LIDO_LOCAL pool of the thread, else from malloc
//   close=1   a connection ends with its response: one object a request, and a TCP handshake
//   lazy=1    a connection has its object only while a request is in it: one object a request, without a handshake
//   neither   one object for as long as the client stays: wrk with 400 connections allocates 400 times in all
//
// Each thread has its own listening socket (SO_REUSEPORT), epoll and pool. SIGTERM or SIGINT ends it, and it prints the counts
// and its CPU time as KEY=VALUE lines. It listens on 127.0.0.1 alone.
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <lido/pool.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

enum { BUFFER = 1024, THREADS_MAX = 64, FDS_MAX = 65536, EVENTS = 256, WAIT_MS = 100, BACKLOG = 1024 };

typedef struct connection {
    int fd;
    unsigned used;    // bytes of the buffer
    char buffer[BUFFER];
} connection;

static struct { uint64_t port, threads, pool, close, lazy; } options = {0, 1, 0, 0, 0};

// Of the connections whose fd this is. Only the thread that accepted it uses an entry.
static connection *by_fd[FDS_MAX];
static atomic_bool stop;    // relaxed: threads look at it every WAIT_MS

typedef struct server {
    pthread_t thread;
    int listener, epoll;
    lido_pool *pool;    // NULL: malloc
    uint64_t requests, accepted, objects;
} server;
static server servers[THREADS_MAX];

static const char response[] =
    "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 13\r\n\r\nHello, world\n";
static const char last_response[] =
    "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nConnection: close\r\nContent-Length: 13\r\n\r\nHello, world\n";

static void fail(const char *what) {
    fprintf(stderr, "lido-bench-connection: %s: %s\n", what, strerror(errno));
    exit(1);
}

static connection *object_new(server *own, int fd) {
    connection *made = (connection *)(own->pool != NULL ? lido_pool_alloc(own->pool) : malloc(sizeof(connection)));
    if (made == NULL) fail("no memory for a connection");
    own->objects++;
    made->fd = fd;
    made->used = 0;
    by_fd[fd] = made;
    return made;
}

static void object_end(server *own, int fd) {
    connection *object = by_fd[fd];
    by_fd[fd] = NULL;
    if (own->pool != NULL)
        lido_pool_free(own->pool, object);    // ignores NULL
    else
        free(object);
}

static void hang_up(server *own, int fd) {
    object_end(own, fd);
    close(fd);
}

static void accept_all(server *own) {
    for (;;) {
        int fd = accept4(own->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd < 0) return;    // none is left, or too many are open
        if (fd >= FDS_MAX) {
            close(fd);
            continue;
        }
        int on = 1;
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        own->accepted++;
        if (!options.lazy) object_new(own, fd);
        struct epoll_event event = {.events = EPOLLIN, .data = {.fd = fd}};
        if (epoll_ctl(own->epoll, EPOLL_CTL_ADD, fd, &event) != 0) hang_up(own, fd);
    }
}

// Answers every whole request in the buffer. False: the connection is over.
static bool answer(server *own, connection *at) {
    const char *text = options.close ? last_response : response;
    size_t length = (options.close ? sizeof last_response : sizeof response) - 1;
    char *end;
    while ((end = (char *)memmem(at->buffer, at->used, "\r\n\r\n", 4)) != NULL) {
        if (send(at->fd, text, length, MSG_NOSIGNAL) != (ssize_t)length) return false;
        own->requests++;
        if (options.close) return false;
        at->used -= (unsigned)(end + 4 - at->buffer);
        memmove(at->buffer, end + 4, at->used);
    }
    return at->used < BUFFER;    // a head that does not fit is not for this server
}

static void serve(server *own, int fd) {
    connection *at = by_fd[fd] != NULL ? by_fd[fd] : object_new(own, fd);
    ssize_t got = recv(fd, at->buffer + at->used, BUFFER - at->used, 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (got > 0) at->used += (unsigned)got;
    if (got <= 0 || !answer(own, at))
        hang_up(own, fd);
    else if (options.lazy && at->used == 0)
        object_end(own, fd);
}

static void *serve_all(void *context) {
    server *own = (server *)context;
    struct epoll_event events[EVENTS];
    while (!atomic_load_explicit(&stop, memory_order_relaxed)) {
        int count = epoll_wait(own->epoll, events, EVENTS, WAIT_MS);
        for (int i = 0; i < count; i++) {
            if (events[i].data.fd == own->listener)
                accept_all(own);
            else
                serve(own, events[i].data.fd);
        }
    }
    return NULL;
}

static int listen_on(uint16_t port) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), on = 1;
    if (fd < 0) fail("cannot make a socket");
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on);
    if (bind(fd, (struct sockaddr *)&address, sizeof address) != 0)
        fail("cannot bind the port; give another with port=N");
    if (listen(fd, BACKLOG) != 0) fail("cannot listen");
    return fd;
}

static uint16_t port_of(int fd) {
    struct sockaddr_in address;
    socklen_t length = sizeof address;
    if (getsockname(fd, (struct sockaddr *)&address, &length) != 0) fail("cannot read the port");
    return ntohs(address.sin_port);
}

static void server_open(server *own) {
    own->listener = listen_on((uint16_t)options.port);
    options.port = port_of(own->listener);    // the others take the same
    own->epoll = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event event = {.events = EPOLLIN, .data = {.fd = own->listener}};
    if (own->epoll < 0 || epoll_ctl(own->epoll, EPOLL_CTL_ADD, own->listener, &event) != 0)
        fail("cannot wait for events");
    lido_pool_options pool = {.name = "connections", .block_size = sizeof(connection), .threads = LIDO_LOCAL};
    if (options.pool && (own->pool = lido_pool_new(&pool)) == NULL) fail("cannot make the pool");
}

static void usage(const char *word) {
    fprintf(stderr, "lido-bench-connection: '%s' is not one of port=N threads=N pool=0|1 close=0|1 lazy=0|1\n", word);
    exit(2);
}

static void read_option(const char *word) {
    static const struct {
        const char *name;
        uint64_t *value;
        uint64_t most;
    } known[] = {{"port=", &options.port, 65535},
                 {"threads=", &options.threads, THREADS_MAX},
                 {"pool=", &options.pool, 1},
                 {"close=", &options.close, 1},
                 {"lazy=", &options.lazy, 1}};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        size_t length = strlen(known[i].name);
        char *end;
        if (strncmp(word, known[i].name, length) != 0) continue;
        uint64_t value = strtoull(word + length, &end, 10);
        if (end == word + length || *end != '\0' || word[length] == '-' || value > known[i].most) usage(word);
        *known[i].value = value;
        return;
    }
    usage(word);
}

static void report(void) {
    uint64_t requests = 0, accepted = 0, objects = 0;
    for (uint64_t i = 0; i < options.threads; i++) {
        requests += servers[i].requests;
        accepted += servers[i].accepted;
        objects += servers[i].objects;
    }
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    printf("requests=%llu\naccepted=%llu\nobjects=%llu\n", (unsigned long long)requests, (unsigned long long)accepted,
           (unsigned long long)objects);
    printf("user_s=%.3f\nsystem_s=%.3f\nrss_peak_kb=%ld\n",
           (double)used.ru_utime.tv_sec + (double)used.ru_utime.tv_usec / 1e6,
           (double)used.ru_stime.tv_sec + (double)used.ru_stime.tv_usec / 1e6, used.ru_maxrss);
}

int main(int argc, char **argv) {
    for (int i = 1; i < argc; i++) read_option(argv[i]);
    if (options.threads == 0) usage("threads=0");
    sigset_t end;
    sigemptyset(&end);
    sigaddset(&end, SIGINT);
    sigaddset(&end, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &end, NULL);
    for (uint64_t i = 0; i < options.threads; i++) server_open(&servers[i]);
    printf("port=%llu\n", (unsigned long long)options.port);
    fflush(stdout);
    for (uint64_t i = 0; i < options.threads; i++)
        if (pthread_create(&servers[i].thread, NULL, serve_all, &servers[i]) != 0) fail("cannot start a thread");
    int signal_number;
    sigwait(&end, &signal_number);
    atomic_store_explicit(&stop, true, memory_order_relaxed);
    for (uint64_t i = 0; i < options.threads; i++) pthread_join(servers[i].thread, NULL);
    report();
    for (int fd = 0; fd < FDS_MAX && !options.pool; fd++) free(by_fd[fd]);
    for (uint64_t i = 0; i < options.threads && options.pool; i++) {
        lido_pool_reset(servers[i].pool);    // clients that are still connected are no fault to report
        lido_pool_destroy(servers[i].pool);
    }
    return fflush(stdout) == 0 ? 0 : 1;
}
