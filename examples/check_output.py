# SPDX-License-Identifier: MIT
# Copyright (c) 2026 the lido authors
"""An example prints, to the letter, what follows "Prints:" in its first comment, and ends with 0.

Usage: check_output.py SOURCE PROGRAM
       check_output.py --index          README.md names every example, and nothing that is not there
"""

import difflib
import pathlib
import re
import subprocess
import sys

FOLDER = pathlib.Path(__file__).resolve().parent


def promised(source):
    """The lines below "Prints:", without the indentation of the first of them."""
    comment = []
    for line in source.read_text().splitlines():
        if not line.startswith("//"):
            break
        comment.append(line[2:])
    if " Prints:" not in comment:
        sys.exit(f"{source.name}: its first comment has no line 'Prints:'")
    lines = comment[comment.index(" Prints:") + 1:]
    if not lines:
        sys.exit(f"{source.name}: nothing stands below 'Prints:'")
    return "".join(f"{line[5:]}\n" for line in lines)


def check_output(source, program):
    done = subprocess.run([program], text=True, stdout=subprocess.PIPE, timeout=50)
    expected = promised(source)
    if done.stdout != expected:
        print("".join(difflib.unified_diff(expected.splitlines(True), done.stdout.splitlines(True), source.name, "printed")))
    if done.returncode != 0:
        print(f"{source.name}: ended with {done.returncode}")
    return 0 if done.returncode == 0 and done.stdout == expected else 1


def check_index():
    there = {file.name for pattern in ("*.c", "*.cpp") for file in FOLDER.glob(pattern)}
    named = set(re.findall(r"\(([\w.]+\.c(?:pp)?)\)", (FOLDER / "README.md").read_text()))
    for name in sorted(there - named):
        print(f"examples/README.md does not name {name}")
    for name in sorted(named - there):
        print(f"examples/README.md names {name}, which is not there")
    print(f"{len(there)} examples, {len(named)} in the index")
    return 0 if there == named and there else 1


if __name__ == "__main__":
    sys.exit(check_index() if sys.argv[1:] == ["--index"]
             else check_output(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])))
