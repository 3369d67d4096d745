# SPDX-License-Identifier: MIT
# Copyright (c) 2026 the lido authors
"""What `lido bench` measures and what it does with broken allocators. Usage: test_bench.py BUILD [CLASS]

Nothing here compares a time with a limit: times are checked for being consistent, counts and faults for being right.
"""

import json
import math
import os
import pathlib
import pty
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
        done = bench(*words, "--json", file, expect=expect)
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
        self.assertEqual("lido-bench/1", report["schema"])
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
                self.assertEqual(5, len(ns["samples"]))
                q1, median, q3 = statistics.quantiles(ns["samples"], n=4, method="inclusive")
                for have, want in ((ns["q1"], q1), (ns["median"], median), (ns["q3"], q3)):
                    self.assertAlmostEqual(have, want, delta=want * 1e-6)
                self.assertGreater(row["rss_peak_kb"], 500)
                self.assertGreater(row["page_faults"], 20)

    def test_same_work(self):
        for workload in self.report["workloads"]:
            self.assertEqual(1, len({row["checksum"] for row in workload["allocators"]}), workload["name"])
            self.assertEqual(1, len({row["ops"] for row in workload["allocators"]}), workload["name"])
        self.assertEqual(20000 * 19999 // 2, rows(self.report, "pair64")["glibc"]["checksum"])
        self.assertEqual(8 * 20000, rows(self.report, "threads8")["glibc"]["ops"])

    def test_ratios(self):
        for workload in self.report["workloads"]:
            by_name = {row["name"]: row for row in workload["allocators"]}
            base = by_name["glibc"]["ns_per_op"]["median"]
            for row in by_name.values():
                self.assertAlmostEqual(row["ratio_to_glibc"], row["ns_per_op"]["median"] / base, places=5)
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
            self.assertRegex(self.done.stdout, rf"(?m)^  {name} +\d+\.\d\d +\d+\.\d\d to \d+\.\d\d +\d+\.\d\d ")
        self.assertIn("5 rounds in random order, seed 7; wall time;", self.done.stdout)
        self.assertIn("quick: a tenth of the work; not for figures to quote", self.done.stdout)
        self.assertNotIn("fewer than", self.done.stdout)

    def test_a_slow_free_shows(self):
        report, _ = bench_json("--rounds", "3", "--quick", "--workload", "pair64", *SMALL,
                               "--allocator", f"glibc,slow={HELPERS}/malloc-slow.so")
        by_name = rows(report, "pair64")
        self.assertGreater(by_name["slow"]["ns_per_op"]["median"] - by_name["glibc"]["ns_per_op"]["median"], 150)

    def test_parameters_reach_the_worker(self):
        report, _ = bench_json("--rounds", "1", "--workload", "steady,churn", "--allocator", "lido-fixed",
                               "--param", "count=1000", "--param", "steady.live=100", "--param", "size=264")
        steady, churn = (next(w for w in report["workloads"] if w["name"] == name) for name in ("steady", "churn"))
        self.assertEqual({"count": 1000, "live": 100, "size": 264, "capacity": 4096}, steady["parameters"])
        self.assertEqual({"count": 1000, "size": 264, "capacity": 4096}, churn["parameters"])
        self.assertEqual(1000, steady["allocators"][0]["ops"])

    def test_budget_adds_rounds(self):
        report, _ = bench_json("--rounds", "1", "--quick", "--workload", "pair64", "--allocator", "glibc", *SMALL,
                               "--budget", "1")
        self.assertGreater(report["method"]["rounds"], 5)

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

    def test_json_alone_on_stdout(self):
        done = bench("--rounds", "1", "--quick", "--workload", "pair64", "--allocator", "glibc", *SMALL, "--json", "-")
        self.assertEqual("lido-bench/1", json.loads(done.stdout)["schema"])


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
            self.assertEqual(2, len(self.rows[name]["ns_per_op"]["samples"]))

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
        child = subprocess.Popen([BUILD / "bin/lido", "bench", "--rounds", "200", "--workload", "pair64", "--allocator", "glibc",
                                  "--param", "count=1000"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        time.sleep(2)
        child.send_signal(signal.SIGINT)
        out, _ = child.communicate(timeout=30)
        self.assertEqual(130, child.returncode)
        self.assertRegex(out, r"(?m)^  glibc +\d+\.\d\d ")
        self.assertIn("interrupted: this is what was measured until then", out)


if __name__ == "__main__":
    unittest.main()
