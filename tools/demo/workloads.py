# SPDX-License-Identifier: MIT
# Copyright (c) 2026 the lido authors
"""The real programs of script/demo: what each does, what it needs, and how one run of it is measured.

A workload prepares its input once, then runs on one allocator in an empty folder. Nothing in it is random but what
redis-benchmark draws, and that goes to a database of its own which is emptied before the output is taken.

What counts: of a program that ends by itself, the wall time, CPU time, page faults and peak memory of it and its children;
of a server, the wall time of its clients and the CPU time, page faults and peak memory of the server alone.
"""

import contextlib
import hashlib
import json
import shlex
import shutil
from dataclasses import dataclass
from pathlib import Path

import preload
import procs
import redis_data

HERE = Path(__file__).resolve().parent
NOT_SEEN = "preload not seen in /proc/PID/maps of the measured process"


@dataclass
class Measure:
    """One run. `fault` is None or says in words why the figures do not count; `digest` is the hash of all output."""

    fault: str = None
    wall_s: float = 0.0
    cpu_s: float = 0.0
    rss_peak_kb: int = 0
    page_faults: int = 0
    digest: str = ""


class Workload:
    """A program that reads its input, prints, and ends. Subclasses for anything else."""

    comm = None  # the process that does the work, as /proc/PID/comm names it
    extra_env = {}
    note = ""

    def __init__(self, name, title, program, comm, limit_s):
        self.name, self.title, self.program, self.comm, self.limit_s = name, title, program, comm, limit_s

    def missing(self):
        """None, or which program is not installed."""
        return None if procs.which(self.program) else self.program

    def proof_argv(self):
        """A short command whose every process must bind malloc to the allocator under test."""
        return [procs.which(self.program), "--version"]

    def prepare(self, folder, scale):
        """Makes the input in `folder`. `scale` 1 is the default amount of work."""

    def argv(self, folder):
        raise NotImplementedError

    def outputs(self, folder, ended):
        """The files whose bytes must be the same on every allocator."""
        return [ended.stdout]

    def run(self, allocator, folder):
        env = dict(allocator.env(folder), **self.extra_env)
        seen = []

        def watch():
            seen.extend([True] if preload.mapped(process.pid, allocator, self.comm) else [])
            return bool(seen)

        with procs.Process(self.argv(folder), folder, env, stdin=self.stdin()) as process:
            ended = process.wait(self.limit_s, watch)
        fault = ended.fault()
        if fault and ended.last_error_line():
            fault += f": {ended.last_error_line()}"
        if not fault and not seen:
            fault = NOT_SEEN
        return measured(ended, fault, "" if fault else digest_of(self.outputs(folder, ended)))

    def stdin(self):
        return None


class Sqlite(Workload):
    def __init__(self):
        super().__init__("sqlite3", "generate, index, update, query and vacuum a database", "sqlite3", "sqlite3", 60)

    def prepare(self, folder, scale):
        self.rows = int(50_000 * scale)

    def stdin(self):
        return HERE / "work.sql"

    def argv(self, folder):
        return [procs.which("sqlite3"), "-batch", "-bail", "-cmd", f".param set :rows {self.rows}", "work.db"]


class Script(Workload):
    """An interpreter with one of the scripts beside this file."""

    def __init__(self, name, title, program, script, proof="--version", extra_env=None):
        super().__init__(name, title, program, Path(program).name, 60)
        self.script, self.proof, self.extra_env = HERE / script, proof, extra_env or {}

    def proof_argv(self):
        return [procs.which(self.program), self.proof]

    def prepare(self, folder, scale):
        self.scale = scale

    def argv(self, folder):
        return [procs.which(self.program), self.script, self.scale]


class Compile(Workload):
    """gcc over a copy of lido's own sources (an edit in the middle of a run changes nothing), with the flags of their build."""

    SOURCE_BYTES = 45_000  # about a second of cc1 -O2 on the development machine

    def __init__(self, root):
        super().__init__("gcc", "compile sources of lido with the flags of its build", "gcc", "cc1", 120)
        self.root = root

    def proof_argv(self):
        return [procs.which("gcc"), "-E", "-x", "c", "/dev/null"]

    def prepare(self, folder, scale):
        """The largest sources first, until SOURCE_BYTES * scale are reached."""
        for part in ("include", "src"):
            shutil.copytree(self.root / part, Path(folder, "lido", part))
        self.copy = Path(folder, "lido")
        sources = sorted(self.copy.glob("src/*/*.c"), key=lambda path: (-path.stat().st_size, str(path)))
        self.sources, taken = [], 0
        while sources and taken < self.SOURCE_BYTES * scale:
            self.sources.append(sources.pop(0))
            taken += self.sources[-1].stat().st_size
        self.flags = self._flags()

    def _flags(self):
        """The options of a source in compile_commands.json, folders moved to the copy; plain ones without that file."""
        with contextlib.suppress(OSError, ValueError, IndexError):
            wanted = str(self.root / self.sources[0].relative_to(self.copy))
            for entry in json.loads((self.root / "build/release/compile_commands.json").read_text()):
                if entry["file"] == wanted:
                    words = shlex.split(entry["command"])[1:]
                    output = words.index("-o")
                    del words[output : output + 2]
                    kept = [word for word in words if word not in ("-c", wanted)]
                    return [word.replace(f"{self.root}/", f"{self.copy}/") for word in kept]
        return ["-std=c11", "-O2", "-g", "-fPIC", "-D_GNU_SOURCE", f"-I{self.copy}/include", f"-I{self.copy}/src"]

    def argv(self, folder):
        return [procs.which("gcc"), *self.flags, "-c", *self.sources]

    def outputs(self, folder, ended):
        return [ended.stdout, *sorted(Path(folder).glob("*.o"))]


class Redis(Workload):
    """redis-server on a loopback port: a data set piped in by redis-cli, then redis-benchmark in a second database, then
    questions. DEBUG DIGEST hashes the whole first database, whatever the order inside."""

    note = "redis-server links jemalloc itself; the row libc runs it on libc's malloc like the others on theirs"
    CONF = 'bind 127.0.0.1\nsave ""\nappendonly no\nenable-debug-command local\n'
    QUESTIONS = ["DBSIZE", "DEBUG DIGEST", "LRANGE list:7 0 -1", "ZRANGE zset:3 0 20 WITHSCORES", "HGETALL hash:11"]

    def __init__(self):
        title = "redis-server under redis-cli --pipe and redis-benchmark"
        super().__init__("redis", title, "redis-server", "redis-server", 60)

    def missing(self):
        absent = [name for name in ("redis-server", "redis-benchmark", "redis-cli") if not procs.which(name)]
        return absent[0] if absent else None

    def prepare(self, folder, scale):
        self.requests = int(50_000 * scale)
        self.load, self.questions = Path(folder, "load.resp"), Path(folder, "questions")
        self.load.write_bytes(redis_data.pipe(int(12_000 * scale)))
        self.questions.write_text("\n".join(self.QUESTIONS) + "\n")

    def run(self, allocator, folder):
        port = procs.free_port()
        conf = Path(folder, "redis.conf")
        conf.write_text(f"{self.CONF}port {port}\ndir {folder}\n")
        argv = [procs.which("redis-server"), conf]
        with procs.Process(argv, folder, allocator.env(folder), name="server") as server:
            if not procs.wait_until(lambda: procs.listens(port), 10, server):
                fault = "server did not start"
            elif not preload.mapped(server.pid, allocator, self.comm):
                fault = NOT_SEEN
            else:
                fault, wall_s, answers = self._clients(port, folder)
            if fault:
                return measured(server.close(), server_fault(server, fault), "")
            ended = server.wait(self.limit_s)
        result = measured(ended, ended.fault(), digest_of([answers]))
        result.wall_s = wall_s
        return result

    def _clients(self, port, folder):
        """(fault, wall time of the clients, their answers). The last client tells the server to end."""
        cli = [procs.which("redis-cli"), "-h", "127.0.0.1", "-p", port]
        load = f"-q --dbnum 1 -c 20 -P 16 -n {self.requests} -r 50000 -d 256 -t set,get,lpush,lpop,sadd,hset,zadd"
        benchmark = [procs.which("redis-benchmark"), *cli[1:], *load.split()]
        steps = [
            ("pipe", cli + ["--pipe"], self.load),
            ("load", benchmark, None),
            ("empty", cli + ["-n", "1", "FLUSHDB", "SYNC"], None),
            ("ask", cli, self.questions),
            ("end", cli + ["SHUTDOWN", "NOSAVE"], None),
        ]
        wall = 0.0
        for name, argv, stdin in steps:
            ended = procs.run(argv, folder, procs.base_env(folder), self.limit_s, name=name, stdin=stdin)
            wall += ended.wall_s if name != "end" else 0.0
            if ended.fault():
                return f"client {Path(argv[0]).name}: {ended.fault()}", wall, None
        return None, wall, Path(folder, "ask.stdout")


def server_fault(server, fault):
    """A crash of the server explains what its client saw."""
    if server.ended.status in (0, -9):
        return fault
    return f"server: {server.ended.fault()} ({fault})"


def measured(ended, fault, digest):
    if not fault and ended.rss_peak_kb <= procs.rss_floor_kb():
        fault = f"peak memory of {ended.rss_peak_kb} KB cannot be told from that of the measuring program"
    return Measure(fault, ended.wall_s, ended.cpu_s, ended.rss_peak_kb, ended.page_faults, digest)


def digest_of(files):
    """SHA-256 over names and bytes."""
    total = hashlib.sha256()
    for path in files:
        total.update(path.name.encode() + b"\0" + hashlib.sha256(path.read_bytes()).digest())
    return total.hexdigest()


def all_workloads(root):
    python = "/usr/bin/python3"
    return [
        Sqlite(),
        Redis(),
        Script("python3", "records, JSON, text and graphs; small objects in python's own pools", python, "work.py"),
        Script(
            "python3-malloc",
            "the same with PYTHONMALLOC=malloc: every object from malloc",
            python,
            "work.py",
            extra_env={"PYTHONMALLOC": "malloc"},
        ),
        Script("lua5.4", "trees, strings, tables; every object from malloc", "lua5.4", "work.lua", proof="-v"),
        Compile(root),
    ]
