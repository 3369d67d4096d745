# SPDX-License-Identifier: MIT
# Copyright (c) 2026 the lido authors
"""script/demo after the build: runs real programs on libc's malloc, on lido and on every installed peer, and compares.

    plan: every workload x allocator x round, shuffled within a round (the seed is printed)
    one run: an empty folder, preload, measure, hash the output
    a row: median over the rounds, ratio to libc, output equal to libc's

Before the first round each workload runs once on libc, unmeasured: it fills the file cache and gives the output that all
rows must match. A crash, a time-out, a wrong output or a preload without effect is a row that says so, and the rest goes on.
The exit status is 1 if a row of lido failed, 0 otherwise; peers may fail without that.
"""

import argparse
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "script/lib"))

import preload  # noqa: E402
import procs  # noqa: E402
import report  # noqa: E402
import workloads  # noqa: E402

LIDO = ROOT / "build/release/lib/liblido-malloc.so"
# form -> (amount of work, rounds); each is sized for two cores: about 40 s, 90 s and 7 minutes when they have nothing else to do.
FORMS = {"quick": (0.3, 3), "default": (0.7, 3), "full": (1.4, 7)}


@dataclass
class Row:
    """What one workload did on one allocator. `fault` is the first thing that went wrong in any round; a program that
    is not installed has a fault as well, but not one of the allocator."""

    workload: str
    allocator: str
    runs: list = field(default_factory=list)
    fault: str = None
    installed: bool = True
    digest: str = ""


def options():
    parser = argparse.ArgumentParser(
        prog="script/demo",
        description=__doc__.split("\n\n")[0],
        epilog="Programs and peers come with: script/setup --programs",
    )
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--quick", action="store_const", const="quick", dest="form", help="less than half the work")
    form.add_argument("--full", action="store_const", const="full", dest="form", help="twice the work, 7 rounds")
    parser.add_argument("--json", metavar="FILE", type=Path, help="write the figures there too (schema lido-demo/1)")
    parser.add_argument("--seed", type=int, help="order of the runs, to repeat an earlier one")
    parser.add_argument("--only", metavar="NAME", action="append", help="this program only (may be repeated)")
    parser.add_argument("--malloc", metavar="NAME=PATH", action="append", default=[], help="one more malloc to compare")
    parser.add_argument(
        "--lido", metavar="PATH", default=LIDO, help="the library to show as lido, instead of the build's"
    )
    parser.add_argument("--no-peers", action="store_true", help="compare lido with libc alone")
    parser.add_argument(
        "--no-build",
        action="store_true",
        help="take the programs and the library that are there: install and build nothing",
    )
    parser.set_defaults(form="default")
    chosen = parser.parse_args()
    known = [w.name for w in workloads.all_workloads(ROOT)]
    for name in chosen.only or []:
        if name not in known:
            parser.error(f"--only {name}: no such program; there are {', '.join(known)}")
    for text in chosen.malloc:
        if "=" not in text:
            parser.error(f"--malloc {text}: write it as NAME=PATH, for example mine=/opt/libmine.so")
    if chosen.json and not chosen.json.resolve().parent.is_dir():
        parser.error(f"--json {chosen.json}: its folder does not exist")
    return chosen


def allocators(chosen, folder):
    """(allocators to compare, libc first, then lido; {name: package} of the peers that are not installed)."""
    found, absent = preload.peers() if not chosen.no_peers else ([], {})
    extra = [preload.from_path(*text.split("=", 1)) for text in chosen.malloc]
    wanted = [preload.libc(), preload.from_path("lido", chosen.lido)] + found + extra
    copies = []
    for allocator in wanted:
        own = folder / allocator.name
        own.mkdir()
        copies.append(preload.keep_copy(allocator, own))
    return copies, absent


class Demo:
    """One run of the demo in a folder that its caller removes."""

    def __init__(self, chosen, folder):
        self.chosen, self.folder = chosen, folder
        self.scale, self.rounds = FORMS[chosen.form]
        self.seed = chosen.seed if chosen.seed is not None else random.SystemRandom().randrange(1_000_000)
        (folder / "lib").mkdir()
        self.allocators, self.absent = allocators(chosen, folder / "lib")
        self.workloads = [w for w in workloads.all_workloads(ROOT) if w.name in (chosen.only or [w.name])]
        self.rows = {}
        self.load = os.getloadavg()[0]
        self.progress = report.Progress(sys.stderr)

    def run(self):
        started = time.monotonic()
        ready = [w for w in self.workloads if self._make_ready(w)]
        for number in range(1, self.rounds + 1):
            plan = [(w, a) for w in ready for a in self.allocators]
            random.Random(f"{self.seed}/{number}").shuffle(plan)
            for done, (workload, allocator) in enumerate(plan, 1):
                where = f"round {number}/{self.rounds}  {done}/{len(plan)}"
                self.progress.show(f"{where}  {workload.name} on {allocator.name}")
                self._one(workload, allocator)
        self.progress.clear()
        self.seconds = time.monotonic() - started

    def _make_ready(self, workload):
        """Input, reference output and proofs of one workload. False if it cannot run; then its rows say why."""
        for allocator in self.allocators:
            self.rows[workload.name, allocator.name] = Row(workload.name, allocator.name)
        missing = workload.missing()
        if missing:
            self._fail_all(workload, f"{missing}: not installed (script/setup --programs)", installed=False)
            return False
        self.progress.show(f"preparing {workload.name}")
        home = self.folder / workload.name
        home.mkdir()
        workload.prepare(home, self.scale)
        first = workload.run(self.allocators[0], self._fresh(workload))
        if first.fault:
            self._fail_all(workload, f"no reference output: libc {first.fault}")
            return False
        for allocator in self.allocators:
            row = self.rows[workload.name, allocator.name]
            row.digest = first.digest
            row.fault = preload.binding_fault(workload.proof_argv(), allocator, self._fresh(workload))
        return True

    def _fail_all(self, workload, fault, installed=True):
        for allocator in self.allocators:
            row = self.rows[workload.name, allocator.name]
            row.fault, row.installed = fault, installed

    def _fresh(self, workload):
        """An empty folder, at the same path each time: its name may be part of a program's output."""
        folder = self.folder / workload.name / "run"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        return folder

    def _one(self, workload, allocator):
        row = self.rows[workload.name, allocator.name]
        if row.fault:  # it failed before; the time-out of a broken malloc is paid once
            return
        result = workload.run(allocator, self._fresh(workload))
        if not result.fault and result.digest != row.digest:
            result.fault = "output differs from libc's"
        row.fault = result.fault
        row.runs.append(result)


def main():
    chosen = options()
    procs.no_core_files()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # as an exception, so that folder and servers go
    folder = Path(tempfile.mkdtemp(prefix="lido-demo."))
    try:
        demo = Demo(chosen, folder)
        demo.run()
    except preload.Missing as error:
        sys.exit(f"script/demo: {error}")
    except KeyboardInterrupt:
        sys.exit("\nscript/demo: interrupted")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    report.table(demo, sys.stdout)
    if chosen.json:
        chosen.json.write_text(json.dumps(report.as_json(demo), indent=1) + "\n")
    failed = [row for row in demo.rows.values() if row.allocator == "lido" and row.fault and row.installed]
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
