# SPDX-License-Identifier: MIT
# Copyright (c) 2026 the lido authors
"""lido-side-by-side with little work: every row runs, its contenders read the same, and it is what was written. The script
makes a table of it. Usage: test_side_by_side.py BUILD"""

import pathlib
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BUILD = pathlib.Path(sys.argv.pop(1))
PROGRAM = BUILD / "bin/lido-side-by-side"
DIVIDE = 1000
ROWS = {"churn", "steady", "event264", "task16", "task64", "task512", "list-turn", "list-fill", "map-turn", "map-fill",
        "unordered-turn", "unordered-fill", "arena-64", "arena-mixed", "arena-once", "arena-strings"}


def run(*arguments):
    return subprocess.run([PROGRAM, *arguments], text=True, capture_output=True, timeout=50)


def churn_sum(count):
    """What the destructors of `count` objects of 56 bytes read: tag and text."""
    return sum((0x80000000 | serial) + (serial & 0x7f) for serial in range(count))


class SideBySide(unittest.TestCase):
    def test_rows(self):
        done = run("--rounds", "2", "--divide", str(DIVIDE))
        self.assertEqual((0, ""), (done.returncode, done.stderr))
        rows = {}
        for line in done.stdout.splitlines():
            if not line.startswith("#"):
                row, name, whose, threads, count, checksum, *times = line.split("\t")
                self.assertIn(whose, ("lido", "peer", "yardstick"))
                self.assertIn(threads, ("one", "any"))
                self.assertEqual(2, len(times))
                rows.setdefault(row, []).append((name, whose, int(count), int(checksum)))
        self.assertEqual(ROWS, set(rows))
        for row, contenders in rows.items():
            self.assertEqual(1, len({checksum for _, _, _, checksum in contenders}), row)
            self.assertIn("lido", {whose for _, whose, _, _ in contenders}, row)
            self.assertIn("peer", {whose for _, whose, _, _ in contenders}, row)
            self.assertEqual(len(contenders), len({name for name, _, _, _ in contenders}), row)
        self.assertEqual((1000, churn_sum(1000)), rows["churn"][0][2:])

    def test_bad_arguments(self):
        for arguments, named in ((("--rounds", "0"), "'0'"), (("--speed", "1"), "'--speed'"), (("--rows",), "'--rows'"),
                                 (("--rows", "nothing"), "'nothing'")):
            done = run(*arguments)
            self.assertEqual((2, ""), (done.returncode, done.stdout))
            self.assertIn(named, done.stderr)
            self.assertEqual(1, done.stderr.count("\n"))

    def test_script(self):
        done = subprocess.run([ROOT / "script/side-by-side", "--build", BUILD, "--rounds", "3", "--divide", "1000", "--rows",
                               "churn", "--malloc", "glibc"], text=True, capture_output=True, timeout=50)
        self.assertEqual((0, ""), (done.returncode, done.stderr))
        self.assertRegex(done.stdout, r"(?m)^ \*lido::object_pool +one +\d+\.\d\d$")
        self.assertRegex(done.stdout, r"(?m)^  new and delete +any +\d+\.\d\d +\d+\.\d\d \d+\.\d\d-\d+\.\d\d$")
        self.assertRegex(done.stdout, r"(?m)^  lido::object_pool: glibc: (fastest|NOT FASTEST|no difference)")


if __name__ == "__main__":
    unittest.main()
