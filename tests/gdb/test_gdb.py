# SPDX-License-Identifier: MIT
# Copyright (c) 2026 the lido authors
"""What the gdb commands of lido say of a program whose blocks are known (scene.c), and `lido core` of its cores.

Usage: test_gdb.py BUILD [TEST...]. The expected answers stand in answers-off.txt and answers-guard.txt, in the format of
tests/cli/transcript.py with commands of gdb in place of the shell's. Before they are compared, each address becomes @1, @2, ... in
the order of its appearance in an answer, and numbers that differ from run to run become N.
"""

import os
import pathlib
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "cli"))
import transcript  # noqa: E402

BUILD = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "build/release").resolve()
SCENE = BUILD / "tests/gdb/scene"
SCRIPT = HERE.parents[1] / "tools/gdb/lido-gdb.py"
MARK = "--- next ---"
START = ["set pagination off", "set width 0", "set debuginfod enabled off", f"source {SCRIPT}"]


def gdb(commands, *arguments, options=""):
    """What gdb prints, stdout and stderr in one."""
    words = [word for command in commands for word in ("-ex", command)]
    env = {k: v for k, v in os.environ.items() if k not in ("LD_PRELOAD", "LIDO_OPTIONS")} | {"LIDO_OPTIONS": options, "LC_ALL": "C"}
    done = subprocess.run(["gdb", "-batch", "-nx", *words, *map(str, arguments)], text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, timeout=60, env=env, check=False)
    return done.stdout


def plain(text):
    """An answer without what differs from run to run."""
    seen = {}
    text = re.sub(r"0x[0-9a-f]+", lambda m: seen.setdefault(m[0], f"@{len(seen) + 1}") if m[0] not in ("0x0", "0xdd") else m[0], text)
    text = re.sub(r"LWP \d+", "LWP N", text)
    text = re.sub(r"(in|to) thread \d+", r"\1 thread N", text)
    text = re.sub(r", (the oldest made )?\d+ ms ago", "", text)    # a live process alone has it: AGES sees to it
    # gdb has something to say of cores of newer kernels
    return [line for line in text.rstrip().splitlines() if not line.startswith("warning: Section `.reg-")]


AGES = re.compile(r", (the oldest made )?\d+ ms ago")


def answers(commands, *arguments, start=(), options=""):
    """The answer to each command."""
    asked = [item for command in commands for item in (f"echo {MARK}\\n", command)]
    parts = gdb([*START, *start, *asked], *arguments, options=options).split(MARK + "\n")
    return parts[1:]


class Answers(unittest.TestCase):
    """One scene, alive, as a core of gdb, as a core of the system: the same answers."""

    maxDiff = None

    def steps(self, name):
        return transcript.parse((HERE / name).read_text(), {})

    def compare(self, steps, given, what):
        self.assertEqual(len(steps), len(given), f"{what}: {given}")
        for step, text in zip(steps, given):
            lines = plain(text)
            if not transcript.matches(step.out, lines):
                self.assertEqual("\n".join(step.out), "\n".join(lines), f"{what}, line {step.line}: {step.command}")

    def check_live(self, name, options, core):
        """The answers of a live process, which leaves a core."""
        steps = self.steps(name)
        given = answers([*(s.command for s in steps), f"gcore {core}"], SCENE, start=["break scene_ready", "run", "up"], options=options)
        self.assertTrue(core.exists(), given[-1])
        self.compare(steps, given[:-1], "alive")
        return steps, given

    def check_core(self, name, core):
        steps = self.steps(name)
        self.compare(steps, answers([s.command for s in steps], SCENE, core), "core")

    def check_command(self, name, core):
        """One question of each kind, and a wrong one, once more through `lido core`."""
        steps = {step.command.split()[1]: step for step in self.steps(name) if "here" not in step.command and "nosuch" not in step.command}
        self.assertEqual({"pools", "block", "heap", "leaks", "threads"}, set(steps))
        freed = [step for step in self.steps(name) if step.command == "lido block freed_conn"]
        for step in [*(steps[word] for word in steps if word != "block"), *freed, self.steps(name)[-1]]:
            done = subprocess.run([BUILD / "bin/lido", "core", core, SCENE, *step.command.split()[1:]], text=True, timeout=60,
                                  capture_output=True, check=False)
            if done.returncode == 0:
                self.compare([step], [done.stdout], "lido core")
            else:
                self.assertEqual(done.stderr.replace("lido core: ", "lido block: "), "\n".join(step.out) + "\n")

    def core_of_system(self, folder, options):
        """The scene aborts; None where the system puts cores somewhere else."""
        resource.setrlimit(resource.RLIMIT_CORE, (resource.getrlimit(resource.RLIMIT_CORE)[1],) * 2)
        subprocess.run([SCENE, "abort"], cwd=folder, env={"LIDO_OPTIONS": options}, stderr=subprocess.DEVNULL, check=False)
        return next((f for f in pathlib.Path(folder).iterdir() if f.name.startswith("core") and f.name != "core.gdb"), None)

    def check_all(self, name, options):
        with tempfile.TemporaryDirectory() as folder:
            first = pathlib.Path(folder) / "core.gdb"
            steps, given = self.check_live(name, options, first)
            self.check_core(name, first)
            core = self.core_of_system(folder, options)
            if core is not None:
                self.check_core(name, core)
            else:
                print(f"{name}: no core of the system to look at, see /proc/sys/kernel/core_pattern", file=sys.stderr)
            self.check_command(name, core or first)
        return steps, given

    def test_off(self):
        self.check_all("answers-off.txt", "")

    def test_guard(self):
        _, given = self.check_all("answers-guard.txt", "check=guard")
        self.assertTrue(any(AGES.search(text) for text in given), "a live process says how long ago")

    def test_light_and_page(self):
        steps = ["lido block live_conn", "lido block freed_conn"]
        run = ["break scene_ready", "run", "up"]
        live, freed = answers(steps, SCENE, start=run, options="check=light")
        self.assertIn("live: the program has it\n  watched (check=light): alive", live)
        self.assertIn("free: in the pool's queue\n  watched (check=light): freed", freed)
        live, freed = answers(steps, SCENE, start=run, options="check=page")
        self.assertIn("live: the program has it; ends at an inaccessible page", live)
        self.assertIn("freed: it rests, out of reach", freed)
        live, _ = answers(steps, SCENE, start=run, options="check=page:check_edge=front")
        self.assertIn("live: the program has it; starts at an inaccessible page", live)


class Others(unittest.TestCase):
    """Programs without lido, without debug information, with two of them."""

    def test_not_running(self):
        self.assertEqual(gdb([*START, "lido pools"], SCENE).strip(),
                         "lido: there is no thread to look at; start the program, attach to it, or load a core that is whole")

    def test_no_lido(self):
        self.assertIn("\nlido: there is no lido in this program, or it was built without -g or stripped",
                      gdb([*START, "break exit", "run", "lido heap"], "/bin/true") or "")

    def test_stripped(self):
        with tempfile.TemporaryDirectory() as folder:
            library = pathlib.Path(folder) / "liblido.so.0"
            subprocess.run(["strip", "-o", library, BUILD / "lib/liblido.so"], check=True)
            said = gdb([*START, f"set environment LD_LIBRARY_PATH {folder}", "break scene_ready", "run", "lido pools"],
                       f"--se={SCENE}")
            if str(library) not in said:
                self.skipTest("the loader prefers the library of the build")
            self.assertIn(f"lido: {library} has no debug information; use one built with -g", said)

    def test_two(self):
        run = [f"set environment LD_PRELOAD {BUILD}/lib/liblido-malloc.so", "set startup-with-shell off", "break scene_ready", "run"]
        said = answers(["lido pools", "lido block live_small"], SCENE, start=run)
        self.assertRegex(said[0], r"(?s)/liblido-malloc\.so[.0-9]*:\npool .*/liblido\.so[.0-9]*:\nno pool is alive")
        self.assertIn("of malloc's class of 112 bytes", said[1])

    def test_wrong_files(self):
        with tempfile.TemporaryDirectory() as folder:
            core = pathlib.Path(folder) / "core"
            gdb(["break scene_ready", "run", f"gcore {core}"], SCENE)
            other = pathlib.Path(folder) / "scene"
            shutil.copy("/bin/true", other)
            cases = [("/bin/true", "the core is of the program 'scene', not of '/bin/true'"),
                     (other, f"'{other}' is not what the core was left by: it was built again since, or only has the same name")]
            for program, why in cases:
                done = subprocess.run([BUILD / "bin/lido", "core", core, program], text=True, capture_output=True, check=False)
                self.assertEqual((done.returncode, done.stderr), (1, f"lido core: {why}\n"))
            done = subprocess.run([BUILD / "bin/lido", "core", core, SCENE], text=True, capture_output=True, check=False,
                                  env={"PATH": "/nowhere"})
            self.assertEqual((done.returncode, done.stderr),
                             (127, "lido core: there is no gdb, which reads the core; install the package gdb\n"))


def missing():
    """Why nothing can be tested here, or None."""
    if shutil.which("gdb") is None:
        return "no gdb is installed (script/setup --dev does)"
    said = gdb(["python print('yes')", "run"], "/bin/true")
    if "yes" not in said:
        return "this gdb has no Python"
    if "exited" not in said:
        return "gdb cannot run programs here (ptrace is not allowed)"
    return None


if __name__ == "__main__":
    why = missing()
    if why is not None:
        print(f"skipped: {why}")
        sys.exit(77)
    del sys.argv[1:2]
    unittest.main(verbosity=1)
