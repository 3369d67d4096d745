// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// A task of 16 bytes, created and destroyed at once.
#include "workloads/parts/tasks.h"

static void task16_run(bench_run *run) { tasks_run(run); }

BENCH_WORKLOAD(task16, BENCH_SINGLE, "one task created and destroyed", "create a task of 16 bytes, destroy it at once",
               {"count", 1000000, 1, 1000000000, "tasks in a pass"},
               {"size", 16, TASKS_SIZE_LEAST, 1048576, "bytes of a task"});
