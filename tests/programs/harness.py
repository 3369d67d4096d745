# SPDX-License-Identifier: MIT
# Copyright (c) 2026 the lido authors
"""What a test of a real program is, and how one is judged.

    @case(needs={program: Debian package}, prove=[commands], limit=seconds, quick=bool)
    def name(s): ...            runs commands through the session `s`, which records what they did

A case runs twice at the same path in an empty folder: on libc's malloc, then on the malloc under test. It passes if

    1. in every command of `prove` the dynamic linker binds malloc to the library under test, and to nothing else;
    2. both runs end with the wanted exit statuses inside the limit, and no server crashes;
    3. both records are equal: exit statuses, output, stderr, files and facts;
    4. nothing that the second run wrote to stderr holds "lido:", the prefix of every message of the library.

A case that fails on libc alone fails too, and says so: then nothing is known about the malloc.
"""

import contextlib
import hashlib
import os
import pwd
import shutil
import time
from dataclasses import dataclass
from pathlib import Path

import preload
import procs

INPUT = Path(__file__).resolve().parent / "input"
CASES = []
MARK = b"lido:"


@dataclass(frozen=True)
class Case:
    name: str
    run: object
    needs: dict
    prove: tuple
    limit: float
    quick: bool

    def missing(self):
        """The Debian packages of programs (or of files, by absolute path) that are not installed."""
        return [package for path, package in self.needs.items() if not (procs.which(path) or Path(path).is_file())]


def case(needs, prove, limit=60, quick=False):
    def register(function):
        CASES.append(Case(function.__name__.strip("_"), function, needs, tuple(prove), limit, quick))
        return function

    return register


class Fault(Exception):
    """Why a case failed, in one line."""


class Session:
    """One run of a case. Every step is recorded in `record` as (what, value); the values of two runs are compared."""

    def __init__(self, allocator, folder, limit):
        self.allocator, self.dir, self.record = allocator, folder, []
        self.deadline = time.perf_counter() + limit
        self.servers, self.count, self.sources = [], 0, []
        self.env = allocator.env(folder)

    def left(self):
        return max(0.1, self.deadline - time.perf_counter())

    def cmd(self, *argv, stdin=None, status=0, output=True, stderr=True, env=None, user=None, cwd=None):
        """Runs a program on the malloc under test and returns its stdout as text.

        `stdin`: a path, or bytes. `output`, `stderr`: whether these must be equal in both runs. `env`: additions."""
        return self._run(argv, dict(self.env, **(env or {})), stdin, status, output, stderr, user, cwd)

    def sh(self, script, **options):
        """A script for bash, which itself runs on the malloc under test, as does all it starts."""
        return self.cmd("bash", "-c", "set -euo pipefail\n" + script, **options)

    def outside(self, *argv, stdin=None, status=0, output=True):
        """Runs a helper (a client, a generator) on libc's malloc in both runs."""
        return self._run(argv, procs.base_env(self.dir), stdin, status, output, False, None, None)

    def _run(self, argv, env, stdin, status, output, stderr, user, cwd):
        self.count += 1
        name = f".step{self.count}"
        if isinstance(stdin, bytes):
            source = Path(self.dir, f"{name}.stdin")
            source.write_bytes(stdin)
            stdin = source
        argv = [procs.which(str(argv[0])) or argv[0], *argv[1:]]
        with procs.Process(argv, self.dir, env, name=name, stdin=stdin, user=user, chdir=cwd) as process:
            ended = process.wait(self.left())
        self.sources.append(ended.stderr)
        said = f"step {self.count} ({Path(argv[0]).name})"
        if ended.fault(status):
            command = " ".join(str(word) for word in argv[1:])[:70].replace("\n", " ")
            last = tail(ended.stderr) or tail(ended.stdout) or "no output"
            raise Fault(f"{said[:-1]} {command}): {ended.fault(status)}; {last}")
        self.record.append((f"exit status of {said}", ended.status))
        if output:
            self.record.append((f"stdout of {said}", ended.stdout.read_bytes()))
        if stderr:
            self.record.append((f"stderr of {said}", ended.stderr.read_bytes()))
        return ended.stdout.read_text(errors="replace")

    def file(self, *paths):
        """The bytes of these files must be the same in both runs."""
        for path in paths:
            self.record.append((f"file {path}", hashlib.sha256(Path(self.dir, path).read_bytes()).hexdigest()))

    def fact(self, what, value):
        """Any value that must be the same in both runs."""
        self.record.append((what, value))

    def check(self, condition, what):
        """For what must hold in each run by itself."""
        if not condition:
            raise Fault(what)

    def path(self, name, content=None):
        """A file in the run's folder, written if there is content."""
        path = Path(self.dir, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        if content is not None:
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    def server(self, *argv, ready, name="server", user=None, log=None):
        """Starts a server on the malloc under test and waits until `ready()`. `log`: a further file it writes to."""
        argv = [procs.which(str(argv[0])) or argv[0], *argv[1:]]
        process = procs.Process(argv, self.dir, self.env, name=name, user=user)
        self.servers.append(process)
        self.sources += [process.stderr] + ([Path(self.dir, log)] if log else [])
        if not procs.wait_until(ready, min(20, self.left()), process):
            process.close()
            raise Fault(f"{name} did not start ({process.ended.fault() or 'ended'}): {tail(process.stderr)}")
        self.check(
            self.allocator.library is None or preload.mapped_everywhere(process.pid, self.allocator),
            f"{name} runs without the preload",
        )
        return process

    def stop(self, process, number=None, status=0):
        """Ends a server by signal `number` (None: a client has told it to end) and wants this exit status."""
        if number is not None:
            process.signal(number)
        ended = process.wait(time.perf_counter() - process.started + self.left())
        if ended.fault(status):
            raise Fault(f"{Path(process.argv[0]).name}: {ended.fault(status)}; {tail(ended.stderr)}")

    def close(self):
        for process in self.servers:
            process.close()

    def library_messages(self):
        """Lines of the malloc's own in anything that went to a stderr or a log."""
        lines = []
        for path in self.sources:
            with contextlib.suppress(OSError):
                lines += [line for line in path.read_bytes().splitlines() if MARK in line]
        return lines


def tail(path):
    with contextlib.suppress(OSError):
        return " | ".join(path.read_text(errors="replace").strip().splitlines()[-3:])[-300:]
    return ""


def unprivileged():
    """For servers that refuse to run as root: another user if we are root, None if we are not."""
    if os.geteuid() != 0:
        return None
    names = {entry.pw_name for entry in pwd.getpwall()}
    return "postgres" if "postgres" in names else "nobody"


def judge(chosen, allocator, folder):
    """Runs one case. None if it passed, else the reason."""
    folder.mkdir()
    folder.chmod(0o755)
    for command in chosen.prove if allocator.library else ():
        home = fresh(folder)
        argv = command.split()
        fault = preload.binding_fault([procs.which(argv[0]), *argv[1:]], allocator, home)
        if fault:
            return f"preload without effect: {fault}"
    try:
        wanted = play(chosen, preload.plain(), folder)
    except Fault as fault:
        return f"on libc itself: {fault}"
    try:
        got = play(chosen, allocator, folder)
    except Fault as fault:
        return str(fault)
    return difference(wanted, got)


def play(chosen, allocator, folder):
    """One run of a case; returns its record."""
    session = Session(allocator, fresh(folder), chosen.limit)
    try:
        chosen.run(session)
    except OSError as error:
        raise Fault(f"{type(error).__name__}: {error}") from error
    finally:
        session.close()
    messages = session.library_messages() if allocator.library else []
    if messages:
        raise Fault(f"the library complained: {messages[0].decode(errors='replace')[:200]}")
    if not session.record:
        raise Fault("the case compared nothing")
    return session.record


def fresh(folder):
    run = folder / "run"
    shutil.rmtree(run, ignore_errors=True)
    run.mkdir()
    run.chmod(0o777)  # servers under another user keep their files here
    return run


def difference(wanted, got):
    """None if the records are equal, else where they part."""
    for (what, want), (also, have) in zip(wanted, got):
        if what != also:
            return f"went another way: {also} instead of {what}"
        if want != have:
            return f"{what} differs: {excerpt(want, have)}"
    return None if len(wanted) == len(got) else f"{len(got)} steps instead of {len(wanted)}"


def excerpt(want, have):
    if not isinstance(want, bytes):
        return f"{have!r} instead of {want!r}"[:300]
    ours, theirs = have.splitlines(), want.splitlines()
    for number, (a, b) in enumerate(zip(ours + [b"(end)"], theirs + [b"(end)"]), 1):
        if a != b:
            return f"line {number}: {a[:120]!r} instead of {b[:120]!r}"
    return f"{len(have)} bytes instead of {len(want)}"
