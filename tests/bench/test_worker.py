# SPDX-License-Identifier: MIT
# Copyright (c) 2026 the lido authors
"""The benchmark's workers from outside: what they answer and what they refuse. Usage: test_worker.py BUILD [CLASS]

No time is compared with a limit: counts must be exact, and figures consistent with one another.
"""

import os
import pathlib
import re
import subprocess
import sys
import unittest

BUILD = pathlib.Path(sys.argv.pop(1)).resolve()
COUNTER = BUILD / "tests/bench/malloc-count.so"
MALLOC = BUILD / "lib/liblido-malloc.so"
POOLS, CXX, HEAP = "lido-bench-pools", "lido-bench-cxx", "lido-bench-malloc"
# worker, backend, preload
ALLOCATORS = [(HEAP, "malloc", None), (HEAP, "malloc", MALLOC), (POOLS, "lido-local", None), (POOLS, "lido-shared", None),
              (POOLS, "lido-fixed", None), (CXX, "pmr-pool", None), (CXX, "new-delete", None)]
BLOCK = 56    # bytes of an object of churn and steady
COUNT = 20000
# workload: operations of a look, blocks that are allocated and freed in it, blocks alive all the time
COUNTED = {"churn": (COUNT, COUNT, COUNT, 0), "steady": (COUNT, COUNT, COUNT, 256), "mixed": (COUNT, COUNT, COUNT, 0)}
PLAIN = {"ns_per_op", "cpu_ns_per_op", "ops", "passes", "checksum", "rss_start_kb", "rss_peak_kb", "rss_final_kb",
         "lazyfree_kb", "page_faults", "page_faults_timed", "malloc_library", "free_library"}
SETTLE = {"rss_settled_kb", "settle_ms"}
MARKS = ("p50", "p99", "p999", "p9999", "max")
LOOK = {"timer_ns", "timer_step_ns", "latency.alloc", "latency.free", "memory",
        *(f"latency.{kind}.{mark}" for kind in ("alloc", "free") for mark in MARKS)}
COUNTERS = {"counter.instructions", "counter.cycles", "counter.cache_misses", "counter.dtlb_misses"}


def worker(program, *words, preload=None):
    drop = ("LD_PRELOAD", "LIDO_OPTIONS")
    env = {key: value for key, value in os.environ.items() if key not in drop} | {"LC_ALL": "C"}
    if preload:
        env["LD_PRELOAD"] = str(preload)
    return subprocess.run([BUILD / "bin" / program, *words], text=True, capture_output=True, env=env, timeout=60)


def run(program, *words, preload=None):
    done = worker(program, *words, preload=preload)
    if done.returncode != 0:
        raise AssertionError(f"{program} {' '.join(words)}: status {done.returncode}\n{done.stderr}")
    lines = [line.split("=", 1) for line in done.stdout.splitlines()]
    found = dict(lines)
    if len(found) != len(lines):
        raise AssertionError("a key is there twice:\n" + done.stdout)
    return found


def histogram(text):
    return [(float(ns), int(count)) for ns, count in (pair.split(":") for pair in text.split(","))]


def series(text):
    return [tuple(int(n) for n in point.split(":")) for point in text.split(",")]


class Describe(unittest.TestCase):
    def test_levels(self):
        for program, level in ((HEAP, "2"), (POOLS, "2"), (CXX, "2"), (HEAP + "-O0", "0"), (POOLS + "-O0", "0"), (CXX + "-O0", "0")):
            lines = [line.split("\t") for line in worker(program, "--describe").stdout.splitlines()]
            self.assertEqual(["build", level], lines[0][:2], program)
            names = [line[1] for line in lines if line[0] == "backend"]
            self.assertEqual(sorted(set(names)), names, "each backend once, whatever it is compiled into")

    def test_both_levels_hold_the_same(self):
        for program in (HEAP, POOLS, CXX):
            plain, slow = (worker(name, "--describe").stdout.splitlines()[1:] for name in (program, program + "-O0"))
            self.assertEqual(plain, slow)


class Keys(unittest.TestCase):
    def check_counters(self, found):
        counted = {key for key in found if key.startswith("counter.")}
        if counted:
            self.assertLessEqual(counted, COUNTERS)
            self.assertNotIn("counters", found)
        else:
            self.assertRegex(found["counters"], r"^perf_event_open: .+$")
        return counted | {"counters"}

    def test_every_key(self):
        for program, backend, preload in ALLOCATORS:
            with self.subTest(backend=backend, preload=preload):
                plain = run(program, "churn", backend, f"count={COUNT}", "passes=2", preload=preload)
                self.assertEqual(PLAIN, set(plain) - self.check_counters(plain))
                looked = run(program, "churn", backend, f"count={COUNT}", "passes=2", "look=1", "settle=50", preload=preload)
                self.assertEqual(PLAIN | SETTLE | LOOK, set(looked) - self.check_counters(looked))
                for key in ("ops", "passes", "checksum", "malloc_library"):
                    self.assertEqual(plain[key], looked[key], key)
                self.assertEqual("2", looked["passes"], "the look is no pass")
                if preload:
                    self.assertEqual(str(preload.resolve()), looked["malloc_library"])

    def test_memory(self):
        for program, backend, preload in ALLOCATORS:
            with self.subTest(backend=backend, preload=preload):
                found = run(program, "batch128", backend, "count=200000", "settle=300", preload=preload)
                start, peak, final, settled, lazy = (int(found[key]) for key in (
                    "rss_start_kb", "rss_peak_kb", "rss_final_kb", "rss_settled_kb", "lazyfree_kb"))
                self.assertGreater(start, 0)
                self.assertGreater(peak - start, 200000 * 128 / 1024 * 0.95)
                self.assertLessEqual(final, peak)
                self.assertLessEqual(lazy, final)
                low = settled <= start + (peak - start) / 10
                settle_ms = int(found["settle_ms"])
                self.assertEqual(low, settle_ms >= 0, found)
                self.assertLess(settle_ms, 1000)

    def test_settling_takes_the_time_it_takes(self):
        # glibc keeps what is behind a block that is alive; nothing ticks it away.
        found = run(HEAP, "mixed", "malloc", "count=200000", "life=200000", "passes=1", "settle=200")
        if int(found["rss_final_kb"]) > int(found["rss_start_kb"]) + 0.2 * (int(found["rss_peak_kb"]) - int(found["rss_start_kb"])):
            self.assertEqual("-1", found["settle_ms"])

    def test_nothing_else_allocates(self):
        def mallocs(program, backend, count, *words):
            done = worker(program, "churn", backend, f"count={count}", "passes=1", *words, preload=COUNTER)
            self.assertEqual(0, done.returncode, done.stderr)
            return int(re.search(r"^mallocs=(\d+)$", done.stderr, re.M)[1])
        for words, rounds in (([], 1), (["look=1"], 2)):
            # A tenth of a pass is the warm-up.
            more = rounds * (10000 + 1000)
            self.assertEqual(more, mallocs(HEAP, "malloc", 30000, *words) - mallocs(HEAP, "malloc", 20000, *words), words)
            self.assertEqual(mallocs(POOLS, "lido-local", 20000, *words), mallocs(POOLS, "lido-local", 30000, *words), words)


class Look(unittest.TestCase):
    def check_times(self, found, kind, count):
        times = histogram(found["latency." + kind])
        self.assertEqual(count, sum(n for _, n in times))
        self.assertEqual(sorted({ns for ns, _ in times}), [ns for ns, _ in times], "ascending, each once")
        self.assertTrue(all(n > 0 for _, n in times))
        marks = [float(found[f"latency.{kind}.{mark}"]) for mark in MARKS]
        self.assertEqual(sorted(marks), marks)
        self.assertEqual(times[-1][0], marks[-1])
        for mark, share in zip(marks, (0.5, 0.99, 0.999, 0.9999)):
            below, seen = 0, 0
            for ns, n in times:
                seen += n
                if seen >= share * count - 0.001:
                    below = ns
                    break
            self.assertEqual(below, mark)

    def check_series(self, found, ops, least_live, most_live):
        points = series(found["memory"])
        self.assertTrue(2 <= len(points) <= 64, len(points))
        self.assertEqual((0, ops), (points[0][0], points[-1][0]))
        self.assertEqual(sorted({point[0] for point in points}), [point[0] for point in points])
        for _, live, held in points:
            self.assertTrue(least_live <= live <= most_live, f"{live} alive, not in {least_live}..{most_live}")
            self.assertGreaterEqual(held, live * 0.9)
        return points

    def test_counts(self):
        for program, backend, preload in ALLOCATORS:
            for workload, (ops, allocs, frees, live) in COUNTED.items():
                with self.subTest(backend=backend, preload=preload, workload=workload):
                    found = run(program, workload, backend, f"count={COUNT}", "passes=1", "look=1", preload=preload)
                    self.assertEqual(ops, int(found["ops"]))
                    self.check_times(found, "alloc", allocs)
                    self.check_times(found, "free", frees)
                    most = 1001 * 1024 if workload == "mixed" else (live + 1) * BLOCK
                    self.check_series(found, allocs + frees, max(live - 1, 0) * BLOCK, most)
                    self.assertGreater(float(found["timer_ns"]), 0)

    def test_memory_over_time(self):
        for program, backend, preload in ALLOCATORS:
            with self.subTest(backend=backend, preload=preload):
                found = run(program, "batch128", backend, "count=100000", "look=1", preload=preload)
                points = self.check_series(found, 200000, 0, 100000 * 128)
                for ops, live, _ in points:
                    self.assertEqual(128 * (ops if ops <= 100000 else 200000 - ops), live)
                self.assertGreater(max(live for _, live, _ in points), 0.9 * 100000 * 128)
                self.assertLess(max(held for _, _, held in points), 100000 * 128 * 2)

    def test_threads(self):
        for program, backend, preload in [a for a in ALLOCATORS if a[1] != "pmr-pool"]:
            with self.subTest(backend=backend, preload=preload):
                found = run(program, "threads8", backend, "count=5000", "passes=1", "look=1", preload=preload)
                self.check_times(found, "alloc", 40000)
                self.check_times(found, "free", 40000)
                self.check_series(found, 80000, 0, 8 * 64)

    def test_timed_more_than_counted(self):
        # The median call takes at least what a reading does, and no more than the pass took in all.
        found = run(POOLS, "churn", "lido-local", f"count={COUNT}", "look=1")
        self.assertGreaterEqual(float(found["latency.alloc.p50"]) * 1.5, float(found["timer_ns"]) - float(found["timer_step_ns"]))


class Litter(unittest.TestCase):
    def test_live_bytes(self):
        for program, backend, preload in ALLOCATORS:
            for percent, megabytes in ((25, 4), (90, 2)):
                with self.subTest(backend=backend, preload=preload, percent=percent):
                    words = (f"count={COUNT}", "passes=1", "look=1", f"litter={percent}", f"litter_mb={megabytes}")
                    found = run(program, "churn", backend, *words, preload=preload)
                    kept = (megabytes << 20) // BLOCK * percent // 100 * BLOCK
                    for _, live, held in series(found["memory"]):
                        self.assertIn(live - kept, (0, BLOCK))
                        self.assertGreaterEqual(held, kept)

    def test_same_work(self):
        for program, backend, preload in ALLOCATORS:
            for workload in ("steady", "mixed"):
                with self.subTest(backend=backend, preload=preload, workload=workload):
                    words = (workload, backend, f"count={COUNT}", "passes=1")
                    clean = run(program, *words, preload=preload)
                    littered = run(program, *words, "litter=30", "litter_mb=4", preload=preload)
                    unoptimized = run(program + "-O0", *words, "litter=30", "litter_mb=4", preload=preload)
                    for found in (littered, unoptimized):
                        self.assertEqual((clean["checksum"], clean["ops"]), (found["checksum"], found["ops"]))
                        self.assertGreater(int(found["rss_peak_kb"]), int(clean["rss_peak_kb"]))

    def test_threads(self):
        for program, backend, preload in [a for a in ALLOCATORS if a[1] != "pmr-pool"]:
            with self.subTest(backend=backend, preload=preload):
                found = run(program, "threads8", backend, "count=2000", "passes=1", "look=1", "litter=20", "litter_mb=8", preload=preload)
                first = series(found["memory"])[0]
                self.assertAlmostEqual((8 << 20) * 0.2, first[1], delta=8 * 64 * 3, msg="of all threads together")

    def test_tiny_blocks_are_bounded_by_number(self):
        found = run(HEAP, "pair64", "malloc", "size=8", "count=1000", "passes=1", "litter=10", "litter_mb=4096")
        self.assertEqual("1000", found["ops"])
        self.assertLess(int(found["rss_peak_kb"]), 1 << 20)


class Faults(unittest.TestCase):
    def test_wrong_words(self):
        for words, said in (
                (["churn"], "usage: "),
                ([], "usage: "),
                (["nothing", "malloc"], "no workload 'nothing'"),
                (["churn", "nothing"], "no backend 'nothing'"),
                (["churn", "malloc", "look"], "not NAME=VALUE: 'look'"),
                (["churn", "malloc", "look=2"], "out of range: 'look=2'"),
                (["churn", "malloc", "look=yes"], "not a number: 'look=yes'"),
                (["churn", "malloc", "settle=-1"], "not a number: 'settle=-1'"),
                (["churn", "malloc", "settle=60001"], "out of range: 'settle=60001'"),
                (["churn", "malloc", "litter=100"], "out of range: 'litter=100'"),
                (["churn", "malloc", "litter=5", "litter_mb=0"], "'litter_mb=0': no litter fits"),
                (["churn", "malloc", "litter_mb=5000"], "out of range: 'litter_mb=5000'"),
                (["churn", "malloc", "passes=1001"], "out of range: 'passes=1001'"),
                (["churn", "malloc", "counts=5"], "no such parameter: 'counts=5'")):
            with self.subTest(words=words):
                self.check_refused(worker(HEAP, *words), said)

    def test_no_look_without_optimization(self):
        self.check_refused(worker(HEAP + "-O0", "churn", "malloc", "look=1"), "'malloc': this worker has no look")

    def test_no_litter_in_an_exact_capacity(self):
        lines = [line.split("\t") for line in worker(POOLS, "--describe").stdout.splitlines()]
        exact = [line[1] for line in lines if line[0] == "workload" and int(line[2]) & 1024]
        for workload in exact:
            self.check_refused(worker(POOLS, workload, "lido-local", "litter=10"), f"'{workload}': litter would raise the hard limit")

    def check_refused(self, done, said):
        self.assertEqual((2, ""), (done.returncode, done.stdout))
        self.assertEqual(1, len(done.stderr.splitlines()), done.stderr)
        self.assertIn(said, done.stderr)


if __name__ == "__main__":
    unittest.main()
