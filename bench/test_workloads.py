# SPDX-License-Identifier: MIT
# Copyright (c) 2026 the lido authors
"""Runs every workload on every allocator that claims it, with little work, and compares what they say.

Usage: test_workloads.py BUILD [--level 0|2] [--jobs N] [WORKLOAD...]

Checked: each pair succeeds, with its look and with litter; all of a workload have the same checksum and number of operations;
more work has another checksum; every allocator runs something; every parameter can be set to its default. One line a fault,
status 1 if there is any.
"""

import argparse
import collections
import concurrent.futures
import pathlib
import subprocess
import sys

WORKERS = ("lido-bench-malloc", "lido-bench-pools", "lido-bench-peers", "lido-bench-cxx")
COUNT = 60
MORE = 32  # at least a burst of order
# Where the default of something else than count makes the work long.
SMALL = {
    "fragment": {"count": 8, "kb": 64},
    "larson": {"generations": 2, "live": 40},
    "order": {"live": 256},
    "order-late": {"live": 256, "lag": 100},
    "orders": {"life": 2000},
    "realloc": {"count": 1, "last": 4096},
    "region64": {"count": 2, "batch": 100},
    "startup": {"count": 1},
    "stress": {"count": 2, "live": 300},
    "thread-churn": {"count": 2},
}
SECONDS_MAX = 60  # of one process

Worker = collections.namedtuple("Worker", "path workloads backends")


class Workload:
    def __init__(self, shape):
        self.shape = shape
        self.params = {}

    def arguments(self, name, more=0):
        values = {key: default for key, default in self.params.items()}
        values["count"] = COUNT
        values |= SMALL.get(name, {})
        values["count"] += more
        return [f"{key}={value}" for key, value in values.items()]


def describe(path):
    worker = Worker(path, {}, {})
    text = subprocess.run([path, "--describe"], text=True, capture_output=True, check=True).stdout
    for kind, *fields in (line.split("\t") for line in text.splitlines()):
        if kind == "workload":
            worker.workloads[fields[0]] = Workload(int(fields[1]))
        elif kind == "param":
            worker.workloads[fields[0]].params[fields[1]] = int(fields[2])
        elif kind == "backend":
            worker.backends[fields[0]] = int(fields[1])
    return worker


def run(worker, name, backend, options, more=0):
    command = [worker.path, name, backend, "passes=1", *options, *worker.workloads[name].arguments(name, more)]
    try:
        done = subprocess.run(command, text=True, capture_output=True, timeout=SECONDS_MAX)
    except subprocess.TimeoutExpired:
        return None, f"no end after {SECONDS_MAX} s"
    if done.returncode != 0:
        return None, f"status {done.returncode}: {done.stderr.strip() or done.stdout.strip()}"
    values = dict(line.split("=", 1) for line in done.stdout.splitlines())
    return (int(values["checksum"]), int(values["ops"])), None


def majority(answers):
    return collections.Counter(answers.values()).most_common(1)[0][0]


# [(workload, text)] from {workload: {backend: answer}}
def differences(table):
    for name, answers in table.items():
        right = majority(answers)
        for backend, answer in answers.items():
            if answer != right:
                yield f"{name} on {backend}: checksum and operations {answer}, most others have {right}"
        if len(answers) < 2:
            yield f"{name}: only {', '.join(answers) or 'nothing'} ran it, so its checksum says nothing"


# The look's pass is compared by the worker with the one before.
def variants(name, level):
    if level == 0:
        return [[]]
    return [["look=1"]] if name == "exhaust" else [["look=1"], ["litter=50", "litter_mb=1"]]


def check(workers, level, jobs, chosen):
    faults, table, used = [], collections.defaultdict(dict), set()
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        tasks = {}
        for worker in workers:
            for name, workload in worker.workloads.items():
                for backend, shapes in worker.backends.items():
                    if shapes & workload.shape and (not chosen or name in chosen):
                        for options in variants(name, level):
                            tasks[pool.submit(run, worker, name, backend, options)] = (name, backend, " ".join(options))
                        used.add(backend)
        again = {}
        for name, workload in workers[0].workloads.items():
            first = next(((w, b) for w in workers for b, shapes in w.backends.items() if shapes & workload.shape), None)
            if first and (not chosen or name in chosen):
                again[name] = pool.submit(run, first[0], name, first[1], [], MORE)
        for task, (name, backend, options) in tasks.items():
            answer, fault = task.result()
            if fault:
                faults.append(f"{name} on {backend} {options}: {fault}")
            else:
                table[name][f"{backend} {options}".strip()] = answer
        faults += differences(table)
        for name, task in again.items():
            answer, fault = task.result()
            if fault or (table[name] and answer[0] == majority(table[name])[0]):
                faults.append(f"{name} with more work: {fault or 'the checksum is the same'}")
    if not chosen:
        faults += [f"{b}: runs no workload" for w in workers for b in w.backends if b not in used]
        faults += [f"{name}: no allocator can run it" for name in workers[0].workloads if not table[name]]
    return faults, len(tasks), table


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--level", type=int, choices=(0, 2), default=2)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("workloads", nargs="*")
    options = parser.parse_args()
    suffix = "" if options.level == 2 else "-O0"
    paths = [options.build / "bin" / (name + suffix) for name in WORKERS]
    workers = [describe(path) for path in paths]
    names = [set(worker.workloads) for worker in workers]
    faults = [] if all(n == names[0] for n in names) else ["the workers have different workloads"]
    found, count, table = check(workers, options.level, options.jobs, set(options.workloads))
    faults += found
    # The comparison must see a wrong checksum.
    broken = {"w": {"a": (1, 1), "b": (1, 1), "c": (2, 1)}, "x": {"a": (1, 1)}}
    if len(list(differences(broken))) != 2:
        faults.append("the comparison of checksums sees nothing")
    for fault in faults:
        print(fault)
    allocators = len({b for w in workers for b in w.backends})
    print(f"{count} runs of {len(table)} workloads on {allocators} allocators, {len(faults)} faults")
    return 1 if faults or not count else 0


if __name__ == "__main__":
    sys.exit(main())
