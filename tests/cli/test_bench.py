# SPDX-License-Identifier: MIT
# Copyright (c) 2026 the lido authors
"""What `lido bench` measures and what it does with broken allocators. Usage: test_bench.py BUILD [CLASS]

Nothing here compares a time with a limit: times are checked for being consistent, counts and faults for being right.
"""

import csv
import json
import math
import os
import pathlib
import pty
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import unittest

BUILD = pathlib.Path(sys.argv.pop(1)).resolve()
HELPERS = BUILD / "tests/cli"
SMALL = ["--param", "count=20000"]
FIXED = ["--budget", "0", "--settle", "0"]
REPEATS = 3  # samples of the baseline in a round
FIGURES = {"median", "q1", "q3", "samples"}


def bench(*words, expect=0, **kwargs):
    drop = ("LD_PRELOAD", "LIDO_OPTIONS", "LIDO_MALLOC_LIB")
    env = {key: value for key, value in os.environ.items() if key not in drop} | {"LC_ALL": "C"}
    done = subprocess.run([BUILD / "bin/lido", "bench", *words], text=True, capture_output=True, env=env, timeout=100, **kwargs)
    if expect is not None and done.returncode != expect:
        raise AssertionError(f"status {done.returncode} instead of {expect}\n{done.stdout}\n{done.stderr}")
    return done


def bench_json(*words, expect=0):
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "bench.json"
        done = bench(*words, *FIXED, "--save", file, expect=expect)
        return json.loads(file.read_text()), done


def rows(report, workload):
    found = next(w for w in report["workloads"] if w["name"] == workload)
    return {row["name"]: row for row in found["allocators"]}


class Figures(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.report, cls.done = bench_json("--rounds", "5", "--quick", "--workload", "pair64,ledger,threads8", "--seed", "7",
                                          *SMALL, expect=None)

    def test_head(self):
        report = self.report
        self.assertEqual("lido-bench/2", report["schema"])
        self.assertEqual(["ledger", "pair64", "threads8"], sorted(w["name"] for w in report["workloads"]))
        self.assertEqual((5, 7, False), tuple(report["method"][key] for key in ("rounds", "seed", "interrupted")))
        self.assertFalse(report["method"]["quotable"], "a quick run is not for quoting")
        for key in ("cpu", "kernel", "libc", "thp", "governor", "turbo"):
            self.assertTrue(report["machine"][key], key)
        self.assertIn("-O2", report["build"]["flags"])
        self.assertEqual(20000, report["workloads"][0]["parameters"]["count"])

    def test_spread_is_that_of_the_samples(self):
        for workload in self.report["workloads"]:
            for row in workload["allocators"]:
                self.assertNotIn("failed", row, f"{workload['name']}: {row}")
                ns = row["ns_per_op"]
                self.assertEqual(FIGURES, set(ns))
                self.assertEqual(5 * (REPEATS if row["name"] == "glibc" else 1), len(ns["samples"]))
                q1, median, q3 = statistics.quantiles(ns["samples"], n=4, method="inclusive")
                for have, want in ((ns["q1"], q1), (ns["median"], median), (ns["q3"], q3)):
                    self.assertAlmostEqual(have, want, delta=want * 1e-6)
                self.assertGreater(row["rss_peak_kb"], 500)
                self.assertGreater(row["page_faults"], 20)

    def test_same_work(self):
        for workload in self.report["workloads"]:
            self.assertEqual(1, len({row["checksum"] for row in workload["allocators"]}), workload["name"])
            self.assertEqual(1, len({row["ops"] for row in workload["allocators"]}), workload["name"])
        self.assertEqual(str(20000 * 19999 // 2), rows(self.report, "pair64")["glibc"]["checksum"])
        self.assertEqual(8 * 20000, rows(self.report, "threads8")["glibc"]["ops"])

    def test_ratios(self):
        for workload in self.report["workloads"]:
            by_name = {row["name"]: row for row in workload["allocators"]}
            base = by_name["glibc"]["ns_per_op"]["median"]
            for row in by_name.values():
                ratio = row["ratio"]
                self.assertAlmostEqual(ratio["median"], row["ns_per_op"]["median"] / base, places=5)
                self.assertLessEqual(ratio["low"], ratio["median"] + 1e-9)
                self.assertLessEqual(ratio["median"], ratio["high"] + 1e-9)
                want = ("baseline" if row["name"] == "glibc" else "faster" if ratio["high"] < 1 else
                        "slower" if ratio["low"] > 1 else "no difference")
                self.assertEqual(want, ratio["verdict"], row["name"])
            if workload["best_peer"]:
                best = by_name[workload["best_peer"]]["ns_per_op"]["median"]
                self.assertAlmostEqual(by_name["lido"]["ratio_to_best_peer"],
                                       by_name["lido"]["ns_per_op"]["median"] / best, places=5)

    def test_geometric_mean(self):
        means = {mean["allocator"]: mean for mean in self.report["geometric_mean"]}
        self.assertEqual((1, 1, 3), tuple(means["glibc"][key] for key in ("time", "rss_peak", "workloads")))
        for name, mean in means.items():
            for key, figure in (("time", lambda r: r["ns_per_op"]["median"]), ("rss_peak", lambda r: r["rss_peak_kb"])):
                ratios = [figure(rows(self.report, w["name"])[name]) / figure(rows(self.report, w["name"])["glibc"])
                          for w in self.report["workloads"]]
                self.assertAlmostEqual(mean[key], math.exp(statistics.fmean(map(math.log, ratios))), places=5)
        self.assertNotIn("lido-local", means, "pools run only some workloads")

    def test_served_by_the_right_library(self):
        by_name = rows(self.report, "pair64")
        self.assertIn("/libc.so", by_name["glibc"]["library"])
        self.assertEqual(str((BUILD / "lib/liblido-malloc.so").resolve()), by_name["lido"]["library"])

    def test_ledger(self):
        by_name = rows(self.report, "ledger")
        for row in by_name.values():
            self.assertEqual((20000, 20000), (row["counts"]["constructed"], row["counts"]["destroyed"]), row["name"])
        for heap in ("glibc", "lido", "new-delete"):
            self.assertEqual((20000, 20000 * 56), (by_name[heap]["counts"]["heap_allocations"], by_name[heap]["counts"]["heap_bytes"]))
        self.assertEqual((1, 4096 * 56), (by_name["lido-fixed"]["counts"]["heap_allocations"],
                                          by_name["lido-fixed"]["counts"]["heap_bytes"]))
        for pool in ("lido-local", "lido-shared"):
            self.assertEqual(1, by_name[pool]["counts"]["heap_allocations"], pool)

    def test_table(self):
        for name in ("glibc", "lido", "lido-local", "mutex-pool", "new-delete"):
            self.assertRegex(self.done.stdout, rf"(?m)^  {name}(?: \*)? +\d+\.\d\d +\d+\.\d\d +(\d+\.\d\d to \d+\.\d\d|-) +(faster|slower|no difference|baseline) ")
        self.assertIn("5 rounds in random order, glibc 3 times in each, seed 7; wall time;", self.done.stdout)
        self.assertIn("quick: a tenth of the work; not for figures to quote", self.done.stdout)
        self.assertNotIn("fewer than", self.done.stdout)

    def test_a_slow_free_shows(self):
        report, _ = bench_json("--rounds", "3", "--quick", "--looks", "0", "--workload", "pair64", *SMALL,
                               "--allocator", f"glibc,slow={HELPERS}/malloc-slow.so")
        by_name = rows(report, "pair64")
        self.assertIsNone(by_name["slow"]["latency"], "no looks were asked for")
        self.assertGreater(by_name["slow"]["ns_per_op"]["median"] - by_name["glibc"]["ns_per_op"]["median"], 150)

    def test_parameters_reach_the_worker(self):
        report, _ = bench_json("--rounds", "1", "--workload", "steady,churn", "--allocator", "lido-fixed",
                               "--param", "count=1000", "--param", "steady.live=100", "--param", "size=264")
        steady, churn = (next(w for w in report["workloads"] if w["name"] == name) for name in ("steady", "churn"))
        self.assertEqual({"count": 1000, "live": 100, "size": 264, "capacity": 4096}, steady["parameters"])
        self.assertEqual({"count": 1000, "size": 264, "capacity": 4096}, churn["parameters"])
        self.assertEqual(1000, steady["allocators"][0]["ops"])

    def test_budget_adds_rounds_until_narrow(self):
        words = ["--rounds", "3", "--quick", "--workload", "pair64", "--allocator", f"glibc,slow={HELPERS}/malloc-slow.so",
                 *SMALL, "--settle", "0"]
        with tempfile.TemporaryDirectory() as folder:
            for precision, least, most in (("0.0001", 5, 200), ("1000", 3, 3)):
                file = pathlib.Path(folder) / "bench.json"
                bench(*words, "--budget", "4", "--precision", precision, "--save", file)
                report = json.loads(file.read_text())
                rounds = report["method"]["rounds"]
                self.assertTrue(least <= rounds <= most, f"{rounds} rounds at a precision of {precision} %")
                self.assertEqual((4, float(precision) / 100, REPEATS), tuple(
                    report["method"][key] for key in ("budget_s", "precision", "baseline_repeats")))
                extra = rounds - 3  # whose rows are too wide: both run twice as often
                self.assertEqual({"glibc": (3 + 2 * extra) * REPEATS, "slow": 3 + 2 * extra},
                                 {name: len(row["ns_per_op"]["samples"]) for name, row in rows(report, "pair64").items()})

    def test_budget_without_the_option_grows_with_the_rows(self):
        words = ["--rounds", "3", "--quick", "--precision", "1000", *SMALL]
        for workloads, allocators, extra, each in (("pair64", "glibc,lido", ["--looks", "0", "--settle", "0"], 2.6),
                                                   ("pair64,steady,churn", None, ["--looks", "1", "--settle", "100"], 3.15)):
            with tempfile.TemporaryDirectory() as folder:
                file = pathlib.Path(folder) / "bench.json"
                bench(*words, *extra, "--workload", workloads, *(["--allocator", allocators] if allocators else []), "--save", file)
                report = json.loads(file.read_text())
            count = sum(len(workload["allocators"]) for workload in report["workloads"])
            self.assertEqual(3, report["method"]["rounds"], "all are narrow enough")
            self.assertAlmostEqual(max(120, each * count), report["method"]["budget_s"], places=6)

    def test_a_row_alone_runs_once_a_round(self):
        report, _ = bench_json("--rounds", "2", "--workload", "pair64", "--allocator", "glibc", *SMALL)
        self.assertEqual(2, len(rows(report, "pair64")["glibc"]["ns_per_op"]["samples"]))

    def test_latency(self):
        for workload in self.report["workloads"]:
            for row in workload["allocators"]:
                for half in ("alloc", "free"):
                    figures = row["latency"][half]
                    counts = [count for _, count in figures["histogram"]]
                    self.assertEqual(figures["count"], sum(counts))
                    self.assertGreaterEqual(figures["count"], 2 * row["ops"], "each call of the two looks is there")
                    self.assertLess(figures["count"], 3 * row["ops"], "one look a round, also of the baseline")
                    self.assertEqual(sorted(figures["histogram"]), figures["histogram"])
                    at = 0
                    for (ns, count) in figures["histogram"]:
                        at += count
                        if at >= math.ceil(0.99 * figures["count"]):
                            break
                    self.assertEqual(ns, figures["p99"])
                    self.assertEqual(figures["histogram"][-1][0], figures["max"])
                self.assertGreater(row["latency"]["timer_ns"], 0)

    def test_memory_over_time(self):
        points = rows(self.report, "pair64")["glibc"]["memory"]
        self.assertGreater(len(points), 3)
        self.assertEqual(sorted(points), points)
        self.assertTrue(all(held > live >= 0 for _, live, held in points))

    def test_litter_makes_rows_of_their_own(self):
        report, done = bench_json("--rounds", "1", "--workload", "pair64", "--allocator", "glibc,lido-local", "--litter", "20", *SMALL)
        self.assertEqual([None, 20], [workload["litter"] for workload in report["workloads"]])
        clean, littered = (workload["allocators"][0] for workload in report["workloads"])
        self.assertGreater(littered["rss_peak_kb"], clean["rss_peak_kb"] + 8192)
        self.assertEqual(clean["checksum"], littered["checksum"])
        self.assertIn("pair64, littered 20 %: allocate a block", done.stdout)

    def test_unoptimized(self):
        report, done = bench_json("--rounds", "1", "--workload", "pair64", "--allocator", "glibc,lido-local", "--optimize", "0", *SMALL)
        self.assertEqual((0, False), (report["method"]["optimize"], report["method"]["quotable"]))
        self.assertIn("-O0", report["build"]["flags"])
        self.assertIn("-O0: what a debug build of the program does", done.stdout)

    def test_no_verdict_from_two_samples(self):
        report, done = bench_json("--rounds", "2", "--workload", "pair64", "--allocator", "glibc,lido-local", *SMALL)
        ratio = rows(report, "pair64")["lido-local"]["ratio"]
        self.assertEqual((None, None, "-"), (ratio["low"], ratio["high"], ratio["verdict"]))

    def test_settle(self):
        words = ["--rounds", "1", "--workload", "batch128", "--param", "count=200000", "--budget", "0"]
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "bench.json"
            bench(*words, "--allocator", "glibc,lido-fixed", "--settle", "300", "--save", file)
            by_name = rows(json.loads(file.read_text()), "batch128")
        self.assertLess(by_name["lido-fixed"]["rss_settled_kb"], by_name["lido-fixed"]["rss_peak_kb"] / 2)
        self.assertTrue(0 <= by_name["lido-fixed"]["settle_ms"] <= 400)

    def test_system_calls(self):
        report, done = bench_json("--rounds", "1", "--workload", "batch128", "--allocator", "glibc", "--param", "count=100000", "--syscalls")
        calls = report["workloads"][0]["allocators"][0]["system_calls"]
        self.assertGreater(calls["brk"], 50, "the heap grows in steps of 128 KiB")
        self.assertRegex(done.stdout, r"(?m)^  glibc +.*brk \d+")

    @unittest.skipUnless(shutil.which("valgrind"), "there is no valgrind")
    def test_instructions(self):
        report, _ = bench_json("--rounds", "1", "--workload", "pair64", "--allocator", "glibc,lido-local", "--param", "count=5000",
                               "--instructions")
        by_name = rows(report, "pair64")
        self.assertTrue(5 < by_name["lido-local"]["callgrind_instructions"] < 30)
        self.assertTrue(100 < by_name["glibc"]["callgrind_instructions"] < 250)

    def test_cpu_clock(self):
        # A free that sleeps costs wall time and next to no CPU time.
        words = ["--rounds", "1", "--workload", "pair64", "--param", "count=200",
                 "--allocator", f"sleeps={HELPERS}/malloc-sleep.so"]
        by_wall, done = bench_json(*words)
        by_cpu, _ = bench_json(*words, "--clock", "cpu")
        self.assertEqual(("wall", "cpu"), (by_wall["method"]["clock"], by_cpu["method"]["clock"]))
        wall, cpu = rows(by_wall, "pair64")["sleeps"], rows(by_cpu, "pair64")["sleeps"]
        self.assertGreater(wall["ns_per_op"]["median"], 50000)
        self.assertLess(cpu["ns_per_op"]["median"], wall["ns_per_op"]["median"] / 2)
        self.assertTrue(wall["disturbed"])
        self.assertIn("* 1 rows had less than 95 % of their CPU", done.stdout)

    def test_formats(self):
        words = ["--rounds", "2", "--quick", "--workload", "pair64", "--allocator", "glibc,lido-local", *SMALL, *FIXED, "--format"]
        self.assertEqual("lido-bench/2", json.loads(bench(*words, "json").stdout)["schema"])
        lines = list(csv.DictReader(bench(*words, "csv").stdout.splitlines()))
        self.assertEqual(["glibc", "lido-local"], [line["allocator"] for line in lines])
        self.assertEqual(("pair64", "6", ""), tuple(lines[0][key] for key in ("workload", "samples", "failed")))
        self.assertGreater(float(lines[0]["ns_per_op"]), 0)
        markdown = bench(*words, "markdown").stdout
        self.assertRegex(markdown, r"(?m)^### pair64$")
        heads = [line.count("|") for line in markdown.splitlines() if line.startswith("| ")]
        self.assertRegex(markdown, r"(?m)^\| glibc \| \d+\.\d\d \| 1\.00 \| - \| baseline \|")
        self.assertEqual(1, len(set(heads[:3])), "head and rows have the same columns")


class Compare(unittest.TestCase):
    """--compare flags what became slower, and only that. The same name stands for other libraries in turn."""

    WORDS = ["--rounds", "7", "--quick", "--clock", "cpu", "--looks", "0", "--workload", "pair64,churn,steady", "--param", "count=200000",
             *FIXED]

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.file = pathlib.Path(cls.folder.name) / "before.json"
        bench(*cls.WORDS, "--allocator", f"glibc,mine={HELPERS}/malloc-good.so", "--save", cls.file)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def against(self, kind, *words, expect):
        return bench(*self.WORDS, "--allocator", f"glibc,mine={HELPERS}/malloc-{kind}.so", "--compare", self.file, *words, expect=expect)

    def test_20_ns_in_free_are_a_regression(self):
        done = self.against("slow20", expect=1)
        self.assertEqual(3, len(re.findall(r"(?m)^  (?:pair64|churn|steady) +mine +\d\.\d+ .* REGRESSION$", done.stdout)))
        self.assertIn("3 rows compared: 0 no difference, 0 faster, 0 slower within 5 %, 3 regressions\n"
                      "  medians agree within 5 % in 0 of 3 rows: 0.0 %\n", done.stdout)

    def test_an_equal_one_is_none(self):
        done = self.against("good", "--threshold", "25", expect=0)
        self.assertIn(", 0 regressions\n  medians agree within 25 % in 3 of 3 rows: 100.0 %\n", done.stdout)

    def test_json(self):
        # The counts are those of the changes, and a change is the quotient of the two runs' ratios.
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "now.json"
            done = self.against("slow20", "--format", "json", "--save", file, expect=1)
            self.assertEqual(json.loads(done.stdout), json.loads(file.read_text()))
        report, before = json.loads(done.stdout), json.loads(self.file.read_text())
        self.assertNotIn("comparison", before)
        comparison = report["comparison"]
        self.assertEqual((str(self.file), 0.05, 3, 3, 0, 0), tuple(
            comparison[key] for key in ("against", "threshold", "rows", "regressions", "missing", "agree")))
        for change in comparison["changes"]:
            now, then = (rows(run, change["row"])["mine"]["ratio"]["median"] for run in (report, before))
            self.assertAlmostEqual(now / then, change["change"], places=5)
            self.assertTrue(1 < change["low"] <= change["change"] <= change["high"])
            self.assertEqual(("mine", "REGRESSION", False), tuple(change[key] for key in ("allocator", "verdict", "absolute")))

    def test_agreement_is_counted(self):
        # Which rows agree follows from the medians alone, whatever is certain of them; at 1 % some do and some may not.
        for percent in (1, 5, 1000):
            done = self.against("slow20", "--threshold", str(percent), "--format", "json", expect=None)
            comparison = json.loads(done.stdout)["comparison"]
            limit = 1 + percent / 100
            self.assertEqual(sum(1 / limit <= change["change"] <= limit for change in comparison["changes"]), comparison["agree"])
            self.assertEqual(3, comparison["rows"])

    def test_csv_stays_csv(self):
        done = self.against("slow20", "--format", "csv", expect=1)
        self.assertTrue(all(len(line) == len(next(csv.reader([done.stdout.splitlines()[0]]))) for line in csv.reader(done.stdout.splitlines())))
        self.assertIn("medians agree within 5 % in 0 of 3 rows: 0.0 %", done.stderr)

    def test_markdown(self):
        done = self.against("slow20", "--format", "markdown", expect=1)
        self.assertRegex(done.stdout, r"(?m)^\| pair64 \| mine \| \d\.\d+ \| \d\.\d+ to \d\.\d+ \| REGRESSION \|$")
        self.assertTrue(done.stdout.endswith("\n\nmedians agree within 5 % in 0 of 3 rows: 0.0 %\n"), done.stdout[-200:])

    def test_threshold(self):
        self.assertIn("slower within 1000 %, 0 regressions", self.against("slow20", "--threshold", "1000", expect=0).stdout)

    def test_nothing_to_compare(self):
        done = bench("--rounds", "1", "--quick", "--workload", "pair64", *SMALL, *FIXED, "--allocator", "glibc", "--compare", self.file,
                     expect=2)
        self.assertIn("no row there has a counterpart in this run; choose the same workloads", done.stderr)


class Same(unittest.TestCase):
    """A against A: the same library under two names is no difference in at least 95 % of the rows."""

    def test_no_difference(self):
        library = (BUILD / "lib/liblido-malloc.so").resolve()
        with tempfile.TemporaryDirectory() as folder:
            copies = [pathlib.Path(folder) / name for name in ("one.so", "two.so")]
            for copy in copies:
                shutil.copy(library, copy)
            for attempt in range(3):
                report, _ = bench_json("--rounds", "9", "--quick", "--looks", "0", "--param", "count=20000", "--clock", "cpu",
                                       "--workload", "pair64,churn,steady,ledger,mixed,batch128,event264,task16,task64,task512,latency,orders,order",
                                       "--baseline", "one", "--allocator", f"one={copies[0]},two={copies[1]}")
                verdicts = [rows(report, w["name"])["two"]["ratio"]["verdict"] for w in report["workloads"]]
                different = sum(verdict != "no difference" for verdict in verdicts)
                if different <= 0.05 * len(verdicts):
                    return
        self.fail(f"{different} of {len(verdicts)} rows differ from themselves, three times in a row")


class Programs(unittest.TestCase):
    """lido bench -- PROGRAM: time, memory, faults, exit status and output of a whole program under each malloc."""

    ALLOCATORS = f"glibc,lido,good={HELPERS}/malloc-good.so,absent={HELPERS}/malloc-absent.so"

    def measure(self, *command, words=()):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "bench.json"
            done = bench("--rounds", "2", "--budget", "0", "--allocator", self.ALLOCATORS, "--save", file, *words, "--", *command)
            report = json.loads(file.read_text())
        self.assertEqual(("program", []), (report["kind"], report["workloads"]))
        program = report["programs"][0]
        self.assertEqual(list(command), program["command"])
        return {row["name"]: row for row in program["allocators"]}, done

    def test_figures(self):
        by_name, done = self.measure(sys.executable, "-c", "x = [str(i) for i in range(300000)]; print(len(x))")
        for name in ("glibc", "lido", "good"):
            row = by_name[name]
            self.assertEqual(2 * (REPEATS if name == "glibc" else 1), len(row["wall_s"]["samples"]))
            self.assertGreater(row["rss_peak_kb"], 20000)
            self.assertGreater(row["page_faults"], 1000)
            self.assertGreater(row["user_s"], 0)
            self.assertEqual(0, row["exit_status"])
            self.assertGreater(max(kb for _, kb in row["memory"]), 10000)
        self.assertEqual(["reference", "same", "same"], [by_name[name]["output"] for name in ("glibc", "lido", "good")])
        self.assertEqual(str((BUILD / "lib/liblido-malloc.so").resolve()), by_name["lido"]["library"])
        self.assertRegex(by_name["absent"]["failed"], r"^absent does not serve malloc: it comes from /\S*/libc\.so\.6 in python3")
        self.assertRegex(done.stdout, r"(?m)^  lido +\d+\.\d\d .* same$")

    def test_output_that_differs(self):
        by_name, _ = self.measure("/bin/sh", "-c", "echo ${LD_PRELOAD##*:}; exit 3")
        self.assertEqual((3, 3), (by_name["glibc"]["exit_status"], by_name["lido"]["exit_status"]))
        self.assertEqual(("reference", "differs"), (by_name["glibc"]["output"], by_name["lido"]["output"]))

    def test_output_that_varies(self):
        by_name, _ = self.measure("/bin/sh", "-c", "echo $$")
        self.assertEqual(("varies", "varies"), (by_name["glibc"]["output"], by_name["lido"]["output"]))

    def test_a_program_that_is_not_there(self):
        done = bench("--rounds", "1", "--allocator", "glibc", "--", "/nowhere/program")
        self.assertRegex(done.stdout, r"(?m)^  glibc +FAILED: exit status 127: cannot run /nowhere/program: No such file or directory")

    def test_a_static_program(self):
        done = bench("--rounds", "1", "--budget", "0", "--allocator", "glibc", "--", HELPERS / "probe-static")
        self.assertIn("FAILED: nothing proves which malloc served it: a static or set-user-ID program ignores a preload", done.stdout)


class Faults(unittest.TestCase):
    """Broken allocators are rows that say so, and everything else is measured all the same."""

    @classmethod
    def setUpClass(cls):
        kinds = ("good", "crash", "hang", "overlap", "absent")
        given = ",".join(f"{kind}={HELPERS}/malloc-{kind}.so" for kind in kinds)
        cls.report, cls.done = bench_json("--rounds", "2", "--workload", "steady", "--timeout", "2", "--param", "count=200000",
                                          "--allocator", "glibc," + given)
        cls.rows = rows(cls.report, "steady")

    def test_good_rows_stand(self):
        for name in ("glibc", "good"):
            self.assertNotIn("failed", self.rows[name])
            self.assertEqual(2 * (REPEATS if name == "glibc" else 1), len(self.rows[name]["ns_per_op"]["samples"]))

    def test_crash(self):
        self.assertEqual("killed by signal 11 (Segmentation fault) (round 1)", self.rows["crash"]["failed"])

    def test_time_out(self):
        self.assertEqual("timed out after 2 s (round 1)", self.rows["hang"]["failed"])

    def test_wrong_contents(self):
        right = self.rows["glibc"]["checksum"]
        self.assertRegex(self.rows["overlap"]["failed"], rf"^wrong contents: checksum \d+, most others have {right}$")

    def test_preload_without_effect(self):
        self.assertRegex(self.rows["absent"]["failed"],
                         r"^the preload had no effect: malloc comes from /\S*/libc\.so\.6, free from /\S*/libc\.so\.6 \(round 1\)$")

    def test_the_table_says_so(self):
        for name in ("crash", "hang", "overlap", "absent"):
            self.assertRegex(self.done.stdout, rf"(?m)^  {name} +FAILED: ")

    def test_a_failed_row_of_lido_fails_the_run(self):
        env = os.environ | {"LIDO_MALLOC_LIB": str(HELPERS / "malloc-absent.so")}
        done = subprocess.run([BUILD / "bin/lido", "bench", "--rounds", "1", "--workload", "pair64", "--allocator", "glibc,lido",
                               *SMALL], text=True, capture_output=True, env=env, timeout=60)
        self.assertEqual(1, done.returncode)
        self.assertRegex(done.stdout, r"(?m)^  lido +FAILED: the preload had no effect")

    def test_no_process_is_left(self):
        # The hanging child was killed, not left behind: nothing runs the helper any more.
        for maps in pathlib.Path("/proc").glob("[0-9]*/maps"):
            try:
                self.assertNotIn(str(HELPERS / "malloc-hang.so"), maps.read_text())
            except OSError:
                pass


class Terminal(unittest.TestCase):
    def test_quiet_in_a_pipe(self):
        done = bench("--rounds", "1", "--quick", "--workload", "pair64", "--allocator", "glibc", *SMALL)
        self.assertNotIn("\r", done.stderr)
        self.assertTrue(all(line.startswith("lido bench: note: ") for line in done.stderr.splitlines()), done.stderr)

    def test_progress_on_a_terminal(self):
        ours, theirs = pty.openpty()
        child = subprocess.Popen([BUILD / "bin/lido", "bench", "--rounds", "2", "--quick", "--workload", "pair64",
                                  "--allocator", "glibc", *SMALL], stdout=subprocess.DEVNULL, stderr=theirs)
        os.close(theirs)
        text = b""
        try:
            while chunk := os.read(ours, 4096):
                text += chunk
        except OSError:  # the other end is closed
            pass
        os.close(ours)
        self.assertEqual(0, child.wait(timeout=30))
        self.assertIn(b"[1/2] round 1: pair64 on glibc", text)
        self.assertIn(b"[2/2] round 2: pair64 on glibc", text)
        self.assertTrue(text.endswith(b"\r\x1b[K"), "the line is cleared at the end")

    def test_interrupt_keeps_what_was_measured(self):
        child = subprocess.Popen([BUILD / "bin/lido", "bench", "--rounds", "200", "--workload", "pair64", "--allocator", "glibc", "--settle", "0",
                                  "--param", "count=1000"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        time.sleep(2)
        child.send_signal(signal.SIGINT)
        out, _ = child.communicate(timeout=30)
        self.assertEqual(130, child.returncode)
        self.assertRegex(out, r"(?m)^  glibc +\d+\.\d\d ")
        self.assertIn("interrupted: this is what was measured until then", out)


if __name__ == "__main__":
    unittest.main()
