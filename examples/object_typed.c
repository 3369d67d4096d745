// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// LIDO_POOL_DEFINE: inline functions for one type, which the compiler checks; no casts, no constructor.
//
// Prints:
//     5050
#include <lido/pool.h>
#include <stdio.h>

struct task {
    int id;
    struct task *next;
};

LIDO_POOL_DEFINE(task_pool, struct task);

int main(void) {
    task_pool tasks = task_pool_new((lido_pool_options){.capacity = 100});
    if (tasks.pool == NULL) return 1;
    struct task *list = NULL;
    int sum = 0;
    for (int id = 1; id <= 100; id++) {
        struct task *task = task_pool_alloc(tasks);
        if (task == NULL) return 1;
        *task = (struct task){id, list};
        list = task;
    }
    while (list != NULL) {
        struct task *task = list;
        list = task->next;
        sum += task->id;
        task_pool_free(tasks, task);
    }
    task_pool_destroy(tasks);
    printf("%d\n", sum);
    return sum == 5050 ? 0 : 1;
}
