# SPDX-License-Identifier: MIT
# Copyright (c) 2026 the lido authors
"""Which mallocs there are to preload, and the proof that one took effect; used by tools/demo and tests/programs.

Two proofs, because each misses something. The dynamic linker itself says to which library a program's malloc is bound
(LD_DEBUG=bindings): exact, but of another run of the program. /proc/PID/maps shows the library in the very process that is
measured: of that run, but a mapped library need not be the one that is called.

Every library is copied into the run's own folder first: a rebuild in the middle of a run then changes nothing, a user
without access to the build folder can load it, and the path holds no space or colon, which LD_PRELOAD cannot quote.
"""

import contextlib
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import procs

# name -> (file name known to ldconfig, Debian package)
PEERS = {
    "jemalloc": ("libjemalloc.so.2", "libjemalloc2"),
    "tcmalloc": ("libtcmalloc_minimal.so.4", "libtcmalloc-minimal4"),
    "mimalloc": ("libmimalloc.so.2", "libmimalloc2.0"),
}
_BINDING = re.compile(r"binding file (\S+) \[\d+\] to (\S+) \[\d+\]: normal symbol `(?:malloc|calloc|realloc|free)'")


@dataclass(frozen=True)
class Allocator:
    """A malloc to run programs on. `library` is the file to preload, None for no preload at all."""

    name: str
    library: Path = None

    def env(self, home):
        env = procs.base_env(home)
        if self.library:
            env["LD_PRELOAD"] = str(self.library)
        return env


class Missing(Exception):
    """A malloc that was asked for is not there; the text says what to do."""


def libc():
    """The C library's own malloc, preloaded like any other. That changes nothing for most programs, and one that links
    another malloc (Debian's redis-server links jemalloc) then runs on libc's, as its row in the table says."""
    return Allocator("libc", _ldconfig_path("libc.so.6"))


def plain():
    """No preload: the program as Debian ships it."""
    return Allocator("libc")


def peers():
    """(installed peers, {name: Debian package} of those that are not)."""
    found, absent = [], {}
    for name, (soname, package) in PEERS.items():
        path = _ldconfig_path(soname)
        if path:
            found.append(Allocator(name, path))
        else:
            absent[name] = package
    return found, absent


def from_path(name, path):
    path = Path(path)
    if not path.is_file():
        raise Missing(f"{path}: no such malloc library; script/build makes build/release/lib/liblido-malloc.so")
    return Allocator(name, path.resolve())


def keep_copy(allocator, folder):
    """The same allocator from a copy of its library in `folder`; libc stays where it is, as there must be only one."""
    if not allocator.library or allocator.name == "libc":
        return allocator
    target = Path(folder, allocator.library.name)
    shutil.copyfile(allocator.library, target)
    target.chmod(0o755)
    return Allocator(allocator.name, target)


def _ldconfig_path(soname):
    """Where the dynamic linker finds a library, links resolved. Of several (32 bit, say) the machine's own comes first."""
    listing = subprocess.run([procs.which("ldconfig") or "ldconfig", "-p"], capture_output=True, text=True, check=True)
    for line in listing.stdout.splitlines():
        name, _, path = line.strip().partition(" => ")
        if name.split(" ")[0] == soname:
            return Path(path).resolve()
    return None


def binding_fault(argv, allocator, scratch, limit_s=20):
    """None if every process of the command `argv` binds its malloc to the allocator, else what it binds to instead.
    A program that takes malloc's address binds its libraries to its own jump table: that counts as neither."""
    library = (allocator.library or _ldconfig_path("libc.so.6")).resolve()
    for old in Path(scratch).glob("bindings.*"):
        old.unlink()
    env = dict(allocator.env(scratch), LD_DEBUG="bindings", LD_DEBUG_OUTPUT=f"{scratch}/bindings", LD_BIND_NOW="1")
    ended = procs.run(argv, scratch, env, limit_s, name="proof")
    reports = list(Path(scratch).glob("bindings.*"))
    if not reports:
        return f"no dynamic linker report from {argv[0]} ({ended.fault() or 'statically linked?'})"
    for report in reports:
        bound = {Path(to).resolve() for _, to in _BINDING.findall(report.read_text(errors="replace")) if ".so" in to}
        if bound - {library}:
            return f"{argv[0]} binds malloc to {', '.join(sorted(map(str, bound - {library})))}"
        if not bound:
            return f"{argv[0]} does not bind malloc to {library}"
    return None


def mapped(pid, allocator, comm):
    """True if a process called `comm` (as /proc/PID/comm shows it) of the tree under `pid` has the library mapped."""
    tree = [pid] + procs.children(pid)
    return any(_read(process, "comm").strip() == comm and _holds(process, allocator) for process in tree)


def mapped_everywhere(pid, allocator):
    """True if the process has the library mapped, and so has every process of its tree that is still there to be asked."""
    return _holds(pid, allocator) and all(
        _holds(child, allocator) or not _read(child, "maps") for child in procs.children(pid)
    )


def _holds(pid, allocator):
    return str(allocator.library) in _read(pid, "maps")


def _read(pid, name):
    """A file of /proc/PID; '' if the process has gone or is a zombie."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/{name}").read_text()
    return ""
