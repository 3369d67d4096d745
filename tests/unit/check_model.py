#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Copyright (c) 2026 the lido authors
#
# Runs spin over a model: check_model.py MODEL holds|broken [-DNAME=VALUE...]. With `holds` every property must hold in
# all states; with `broken` spin must find a violated assertion, or a state in which somebody waits for ever. Status 77 (skipped) if spin or gcc is not there.
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile


def run(command, folder):
    done = subprocess.run(command, cwd=folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode != 0:
        sys.exit(f"failed: {' '.join(map(str, command))}\n{done.stdout}")
    return done.stdout


def main():
    model, expected, definitions = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2], sys.argv[3:]
    for tool, package in (("spin", "spin"), ("gcc", "gcc")):
        if shutil.which(tool) is None:
            print(f"skipped: {tool} is not installed (package {package}; script/setup --dev)")
            return 77
    with tempfile.TemporaryDirectory() as folder:
        run(["spin", "-a", *definitions, model], folder)
        # To find one violation takes less time than to optimize; all states take more.
        optimize = "-O2" if expected == "holds" else "-O0"
        run(["gcc", "-w", optimize, "-DSAFETY", "-DMEMLIM=2048", "-o", "pan", "pan.c"], folder)
        text = run(["./pan", "-m200000"], folder)
    errors, states = re.search(r"errors: (\d+)", text), re.search(r"(\d+) states, stored", text)
    if not errors or not states or "Search not completed" in text and expected == "holds":
        sys.exit(f"spin did not finish:\n{text}")
    print(f"{model.name} {' '.join(definitions)}: {states[1]} states, {errors[1]} violations")
    found = int(errors[1]) > 0 and ("assertion violated" in text or "invalid end state" in text)
    if expected == "holds" and int(errors[1]) > 0 or expected == "broken" and not found:
        sys.exit(f"expected '{expected}':\n{text}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
