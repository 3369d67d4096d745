# SPDX-License-Identifier: MIT
# Copyright (c) 2026 the lido authors
"""Runs real programs under a time limit and measures them; used by tools/demo and tests/programs.

A process runs in a process group of its own, its output goes to files, and it is reaped here and nowhere else:

    start --> wait on its pidfd --> kill what is left of its group --> reap with wait4

The group is killed before the leader is reaped. Until then the leader's zombie holds the pid, so the group number cannot
have passed to a stranger. wait4 adds up the process and the children it waited for, and its peak memory is the largest
single process of that tree (ru_maxrss). Linux carries ru_maxrss across exec, so a program smaller than the child of this
Python was between fork and exec shows that size; `rss_floor_kb` tells it. vfork would make it all of this Python.
"""

import contextlib
import os
import resource
import select
import shutil
import signal
import socket
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

subprocess._USE_VFORK = False  # the switch that subprocess documents; see the head of the file

# Debian's own programs first, so that a python3 or node put into /usr/local does not stand in for the packaged one.
SYSTEM_PATH = "/usr/sbin:/usr/bin:/sbin:/bin:/usr/local/sbin:/usr/local/bin"
# Settings of the caller that reach the programs; everything else is cleared, so that two machines run the same thing.
PASSED_ON = ("LIDO_OPTIONS",)
# Processes that are not reaped yet, of all threads; set.add and set.discard are atomic in CPython.
_running = set()


@dataclass
class Ended:
    """What became of a process. `status`: exit status, or -N if signal N ended it."""

    status: int
    timed_out: bool
    wall_s: float
    cpu_s: float
    rss_peak_kb: int
    page_faults: int
    stdout: Path
    stderr: Path

    def fault(self, wanted=0):
        """None if the process ended with status `wanted` in time, else what happened, in words."""
        if self.timed_out:
            return f"timed out after {self.wall_s:.0f} s"
        if self.status < 0 and self.status != wanted:
            return f"crashed ({signal_name(-self.status)})"
        if self.status != wanted:
            return f"exit status {self.status}, not {wanted}"
        return None

    def last_error_line(self):
        """The last line that the program wrote to stderr, or ''."""
        lines = self.stderr.read_text(errors="replace").strip().splitlines()
        return lines[-1][:160] if lines else ""


class Process:
    """One running program. Close it (or use `with`) so that nothing of its group outlives the caller's interest.
    `cwd` is where its output files go and where it starts, unless `chdir` names another folder for that."""

    def __init__(self, argv, cwd, env, name="out", stdin=None, user=None, chdir=None):
        self.argv = [str(word) for word in argv]
        self.stdout, self.stderr = Path(cwd, f"{name}.stdout"), Path(cwd, f"{name}.stderr")
        as_user = {"user": user, "group": user, "extra_groups": []} if user else {}
        with contextlib.ExitStack() as files:
            source = files.enter_context(open(stdin or os.devnull, "rb"))
            out = files.enter_context(open(self.stdout, "wb"))
            err = files.enter_context(open(self.stderr, "wb"))
            self.started = time.perf_counter()
            self.popen = subprocess.Popen(
                self.argv,
                cwd=chdir or cwd,
                env=env,
                stdin=source,
                stdout=out,
                stderr=err,
                start_new_session=True,
                **as_user,
            )
        self.pid = self.popen.pid
        self.pidfd = os.pidfd_open(self.pid)
        self.ended = None
        _running.add(self)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def alive(self):
        return self.ended is None and not self._exited(0)

    def _exited(self, seconds):
        poller = select.poll()
        poller.register(self.pidfd, select.POLLIN)
        return bool(poller.poll(max(0, seconds * 1000)))

    def wait(self, limit_s, watch=None):
        """Waits for the end, kills at the limit, reaps. `watch()`, if given, is called every few milliseconds until it
        says True. The limit counts from the start of the process."""
        if self.ended:
            return self.ended
        deadline = self.started + limit_s
        step = 0.001
        while watch and not watch() and not self._exited(step) and time.perf_counter() < deadline:
            step = min(step * 2, 0.05)
        timed_out = not self._exited(deadline - time.perf_counter())
        wall = time.perf_counter() - self.started
        return self._reap(wall, timed_out)

    def _reap(self, wall, timed_out):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        _, status, usage = os.wait4(self.pid, 0)
        _running.discard(self)
        os.close(self.pidfd)
        code = os.waitstatus_to_exitcode(status)
        self.popen.returncode = code
        self.ended = Ended(
            code,
            timed_out,
            wall,
            usage.ru_utime + usage.ru_stime,
            usage.ru_maxrss,
            usage.ru_minflt + usage.ru_majflt,
            self.stdout,
            self.stderr,
        )
        return self.ended

    def signal(self, number):
        if self.alive():
            os.kill(self.pid, number)

    def close(self):
        """Ends the process now if it still runs."""
        if not self.ended:
            self._reap(time.perf_counter() - self.started, False)
        return self.ended


def run(argv, cwd, env, limit_s, **options):
    """Starts a program, waits for its end and says how it went."""
    watch = options.pop("watch", None)
    with Process(argv, cwd, env, **options) as process:
        return process.wait(limit_s, watch)


def kill_running():
    """For an interrupt: ends every process started here. The thread that waits for one reaps it and kills its group."""
    for process in list(_running):
        with contextlib.suppress(OSError):
            signal.pidfd_send_signal(process.pidfd, signal.SIGKILL)


def wait_until(ready, limit_s, process=None):
    """Calls `ready()` until it says True. False at the limit, or as soon as `process` has ended."""
    deadline = time.perf_counter() + limit_s
    while time.perf_counter() < deadline:
        with contextlib.suppress(OSError):
            if ready():
                return True
        if process and not process.alive():
            return False
        time.sleep(0.02)
    return False


def listens(port):
    """True if something accepts connections on that loopback port."""
    with socket.create_connection(("127.0.0.1", port), timeout=1):
        return True


def free_port():
    """A loopback port that nobody listens on now. Another program may take it first; then the server says so."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def base_env(home):
    """The environment of every program: only what a program needs, the same on every machine."""
    env = {
        "PATH": SYSTEM_PATH,
        "HOME": str(home),
        "TMPDIR": str(home),
        "LANG": "C.UTF-8",
        "LC_ALL": "C.UTF-8",
        "TZ": "UTC",
        "TERM": "dumb",
    }
    env.update({name: os.environ[name] for name in PASSED_ON if name in os.environ})
    return env


def which(program):
    """The absolute path of a program on the system's path, or None."""
    return shutil.which(program, path=SYSTEM_PATH)


def children(pid):
    """The pids of all descendants of a process that run now."""
    found = []
    for task in _listed(f"/proc/{pid}/task"):
        with contextlib.suppress(OSError):
            for child in Path(f"/proc/{pid}/task/{task}/children").read_text().split():
                found += [int(child)] + children(int(child))
    return found


def _listed(folder):
    with contextlib.suppress(OSError):
        return os.listdir(folder)
    return []


def signal_name(number):
    with contextlib.suppress(ValueError):
        return signal.Signals(number).name
    return f"signal {number}"


def rss_floor_kb():
    """A child's ru_maxrss may be as large as this without any doing of the program: fork copies the anonymous pages."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("RssAnon:")[1].split()[0]) + 2048


def no_core_files():
    """A crash under test is a result, not a file in the caller's folder."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
