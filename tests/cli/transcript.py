# SPDX-License-Identifier: MIT
# Copyright (c) 2026 the lido authors
"""Transcripts: commands with the exact output that they must give.

    # a comment
    $ lido frobnicate                 a command for sh, in an empty folder, with bin/ of the build first in PATH
    one line                          of stdout
    ~ a regular expression            for one line of stdout
    ...                               any number of lines of stdout
    ! one line                        of stderr; !~ a regular expression, !... any number of lines
    ? 2                               the exit status, if it is not 0; 128 + N for a death by signal N

{BIN}, {LIB}, {HELPERS} and {VERSION} stand for this build's folders and version, in all lines.
"""

import os
import pathlib
import re
import subprocess
import tempfile
from dataclasses import dataclass, field


@dataclass
class Step:
    line: int
    command: str
    out: list = field(default_factory=list)
    err: list = field(default_factory=list)
    status: int = 0


def version():
    text = (pathlib.Path(__file__).resolve().parents[2] / "include/lido/defs.h").read_text()
    return ".".join(re.search(rf"LIDO_VERSION_{part} (\d+)", text)[1] for part in ("MAJOR", "MINOR", "PATCH"))


def names(build):
    build = pathlib.Path(build).resolve()
    return {"BIN": str(build / "bin"), "LIB": str(build / "lib"), "HELPERS": str(build / "tests/cli"), "VERSION": version()}


def expand(text, known):
    for name, value in known.items():
        text = text.replace("{" + name + "}", value)
    return text


def parse(text, known):
    steps = []
    for number, raw in enumerate(text.splitlines(), 1):
        if raw.startswith("# ") or raw == "#":
            continue
        line = expand(raw, known)
        if line.startswith("$ "):
            steps.append(Step(number, line[2:]))
        elif not steps:
            if line.strip():
                raise ValueError(f"line {number} comes before the first command")
        elif line.startswith("? "):
            steps[-1].status = int(line[2:])
        elif line.startswith("!"):
            steps[-1].err.append(line[2:] if line.startswith("! ") else line[1:])
        else:
            steps[-1].out.append(line)
    # Blank lines before the next command part the steps; they are not output.
    for step in steps:
        while step.out and step.out[-1] == "":
            step.out.pop()
    return steps


def matches(expected, actual):
    """Whether the lines fit. A pattern line starts with '~ ', '...' stands for any number of lines."""
    if not expected:
        return not actual
    head, rest = expected[0], expected[1:]
    if head == "...":
        return any(matches(rest, actual[i:]) for i in range(len(actual) + 1))
    if not actual:
        return False
    same = re.fullmatch(head[2:], actual[0]) is not None if head.startswith("~ ") else head == actual[0]
    return same and matches(rest, actual[1:])


def environment(known):
    drop = ("LD_PRELOAD", "LIDO_OPTIONS", "LIDO_MALLOC_LIB", "LD_LIBRARY_PATH")
    env = {key: value for key, value in os.environ.items() if key not in drop}
    return env | {"PATH": known["BIN"] + ":" + env["PATH"], "LC_ALL": "C"}


def replay(step, known, folder):
    """None if the step did what it must, else what it did."""
    done = subprocess.run(["sh", "-c", step.command], cwd=folder, env=environment(known), text=True, capture_output=True,
                          stdin=subprocess.DEVNULL, timeout=60)
    out, err = done.stdout.splitlines(), done.stderr.splitlines()
    status = done.returncode if done.returncode >= 0 else 128 - done.returncode
    if matches(step.out, out) and matches(step.err, err) and status == step.status:
        return None
    shown = [f"line {step.line}: $ {step.command}"]
    for title, expected, actual in (("stdout", step.out, out), ("stderr", step.err, err)):
        if not matches(expected, actual):
            shown += [f"  {title} must be:", *("    " + line for line in expected), "  but is:", *("    " + line for line in actual)]
    if status != step.status:
        shown.append(f"  status must be {step.status}, but is {status}")
        shown += ["    " + line for line in err if matches(step.err, err)]
    return "\n".join(shown)


def run(text, build):
    """(number of steps, what went wrong)."""
    known = names(build)
    steps = parse(text, known)
    with tempfile.TemporaryDirectory() as folder:
        return len(steps), [fault for step in steps if (fault := replay(step, known, folder))]
