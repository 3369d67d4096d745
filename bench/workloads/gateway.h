// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// A gateway: one thread makes a task of each message and puts it into a queue; workers take tasks, digest the message, and
// destroy the task, which another thread created. The queue is the usual one: a ring behind a mutex with two conditions.
#include "workloads/parts/crew.h"

#include <string.h>

enum { GATEWAY_ROOM = 1024, GATEWAY_BATCH = 16, GATEWAY_MESSAGE = 40, GATEWAY_SIZE_LEAST = 64 };

typedef struct gateway_task {
    uint64_t number, session;
    uint32_t kind, length;
    unsigned char message[GATEWAY_MESSAGE];
} gateway_task;

typedef struct gateway_queue {
    pthread_mutex_t lock;
    pthread_cond_t not_empty, not_full;
    gateway_task *cells[GATEWAY_ROOM];    // [lock:lock], with the following
    uint64_t head, tail;
    bool closed;
} gateway_queue;

static gateway_queue gateway_between;

static void gateway_put(gateway_queue *queue, gateway_task *task) {
    pthread_mutex_lock(&queue->lock);
    while (queue->head - queue->tail == GATEWAY_ROOM) pthread_cond_wait(&queue->not_full, &queue->lock);
    queue->cells[queue->head++ % GATEWAY_ROOM] = task;
    pthread_cond_signal(&queue->not_empty);
    pthread_mutex_unlock(&queue->lock);
}

static void gateway_close(gateway_queue *queue) {
    pthread_mutex_lock(&queue->lock);
    queue->closed = true;
    pthread_cond_broadcast(&queue->not_empty);
    pthread_mutex_unlock(&queue->lock);
}

// Up to GATEWAY_BATCH tasks; 0 when there will be no more.
static unsigned gateway_take(gateway_queue *queue, gateway_task **tasks) {
    unsigned count = 0;
    pthread_mutex_lock(&queue->lock);
    while (queue->head == queue->tail && !queue->closed) pthread_cond_wait(&queue->not_empty, &queue->lock);
    while (count < GATEWAY_BATCH && queue->head != queue->tail)
        tasks[count++] = queue->cells[queue->tail++ % GATEWAY_ROOM];
    if (count != 0) pthread_cond_signal(&queue->not_full);
    pthread_mutex_unlock(&queue->lock);
    return count;
}

static uint64_t gateway_read(crew_member *member, uint64_t count) {
    uint64_t state = 88172645463325252u, line[GATEWAY_MESSAGE / 8];
    for (uint64_t i = 0; i < count; i++) {
        for (int word = 0; word < GATEWAY_MESSAGE / 8; word++) line[word] = bench_random(&state);    // the message
        gateway_task *task = (gateway_task *)bench_need(member->all->run, slot_alloc(member->slot));
        task->number = i;
        task->session = line[0] % 1000;
        task->kind = (uint32_t)(line[1] % 5);
        task->length = 1 + (uint32_t)(line[2] % GATEWAY_MESSAGE);
        memcpy(task->message, line, sizeof line);
        gateway_put(&gateway_between, task);
    }
    gateway_close(&gateway_between);
    return 0;
}

// The sum does not depend on who gets which task.
static uint64_t gateway_digest(const gateway_task *task) {
    uint64_t hash = 14695981039346656037u;    // FNV-1a
    for (uint32_t i = 0; i < task->length; i++) hash = (hash ^ task->message[i]) * 1099511628211u;
    return hash * (task->number + 1) + task->session + task->kind;
}

static uint64_t gateway_work(crew_member *member, uint64_t count) {
    if (member->index == 0) return gateway_read(member, count);
    gateway_task *tasks[GATEWAY_BATCH];
    uint64_t sum = 0;
    for (unsigned got; (got = gateway_take(&gateway_between, tasks)) != 0;)
        for (unsigned i = 0; i < got; i++) {
            sum += gateway_digest(tasks[i]);
            slot_free(member->slot, tasks[i]);
        }
    return sum;
}

static void gateway_run(bench_run *run) {
    uint64_t workers = bench_value(run, "workers"), count = bench_value(run, "count");
    crew *all = crew_of(run, gateway_work, workers + 1, count, GATEWAY_ROOM + GATEWAY_BATCH * workers + 1);
    gateway_queue *queue = &gateway_between;
    pthread_mutex_init(&queue->lock, NULL);
    pthread_cond_init(&queue->not_empty, NULL);
    pthread_cond_init(&queue->not_full, NULL);
    while (bench_more(run)) {
        queue->head = queue->tail = 0;
        queue->closed = false;
        crew_pass(all, count);
    }
    crew_dismiss(all);
}

BENCH_WORKLOAD(gateway, BENCH_CROSS, "one message read, queued, digested",
               "messages become tasks of 64 bytes in a queue, which worker threads digest and destroy",
               {"workers", 2, 1, CREW_MAX - 1, "threads that take tasks"},
               {"count", 200000, 1, 100000000, "messages in a pass"},
               {"size", 64, GATEWAY_SIZE_LEAST, 65536, "bytes of a task"});
