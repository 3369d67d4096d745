# SPDX-License-Identifier: MIT
# Copyright (c) 2026 the lido authors
"""Servers on loopback ports of their own: redis, memcached, nginx, postgresql.

Clients run on libc's malloc in both runs, but for psql, pgbench and pg_dump.
"""

import concurrent.futures
import contextlib
import gzip
import hashlib
import os
import re
import shutil
import signal
import socket
import threading
import urllib.request
from pathlib import Path

import procs
import redis_data
from harness import INPUT, Fault, case, unprivileged

POSTGRES = "/usr/lib/postgresql/15/bin"
LOCAL = "127.0.0.1"


@case(
    {"redis-server": "redis-server", "redis-cli": "redis-tools", "redis-benchmark": "redis-tools"},
    ["redis-server --version"],
    quick=True,
)
def redis(s):
    """Data of every type, a load, frees in a background thread, lua scripts, a save by a forked child, read back."""
    port = procs.free_port()
    cli = ["redis-cli", "-h", LOCAL, "-p", str(port)]
    conf = s.path("redis.conf", REDIS_CONF + f"port {port}\ndir {s.dir}\n")
    server = s.server("redis-server", conf, ready=lambda: procs.listens(port))
    s.outside(*cli, "--pipe", stdin=redis_data.pipe(4000), output=False)
    load = "-q --dbnum 1 -c 10 -P 16 -n 4000 -r 5000 -d 700 -t set,get,incr,lpush,rpop,sadd,hset,spop,zadd,mset"
    s.outside("redis-benchmark", *cli[1:], *load.split(), output=False)
    s.outside(*cli, "-n", "1", "FLUSHDB", "ASYNC")
    s.outside(*cli, stdin=REDIS_QUESTIONS)
    if not procs.wait_until(lambda: b"rdb_bgsave_in_progress:0" in persistence(port), 15, server):
        raise Fault("the background save did not end")
    s.check(b"rdb_last_bgsave_status:ok" in persistence(port), "the background save failed")
    s.outside(*cli, stdin=REDIS_AFTER_SAVE)
    s.outside(*cli, "SHUTDOWN", "NOSAVE")
    s.stop(server)


REDIS_CONF = """bind 127.0.0.1
save ""
enable-debug-command local
lazyfree-lazy-user-del yes
hash-max-listpack-entries 8
"""
REDIS_QUESTIONS = rb"""DEBUG DIGEST
BGSAVE
EVAL "local t = {} for i = 1, 20000 do t[i] = string.rep('x', i % 90) end return #table.concat(t)" 0
SORT list:3 ALPHA LIMIT 0 30
ZUNIONSTORE all 3 zset:1 zset:2 zset:3
DEL big
"""
REDIS_AFTER_SAVE = b"""DEBUG RELOAD
DBSIZE
DEBUG DIGEST
HGETALL hash:11
XRANGE stream - + COUNT 3
MEMORY PURGE
"""


def persistence(port):
    return ask(port, b"INFO persistence\r\nPING\r\n", b"+PONG")


def ask(port, request, until):
    """Sends bytes, reads until an answer holds `until`."""
    with socket.create_connection((LOCAL, port), timeout=10) as link:
        link.sendall(request)
        answer = b""
        while until not in answer:
            part = link.recv(65536)
            if not part:
                break
            answer += part
        return answer


@case({"memcached": "memcached"}, ["memcached --version"], quick=True)
def memcached(s):
    """Four worker threads, more data than the limit (eviction), values to 600 KB, incr, append, touch."""
    port = procs.free_port()
    user = ["-u", "nobody"] if os.geteuid() == 0 else []
    argv = ["memcached", "-l", LOCAL, "-p", port, "-U", 0, "-t", 4, "-m", 24, *user]
    server = s.server(*argv, ready=lambda: procs.listens(port))
    with concurrent.futures.ThreadPoolExecutor(6) as pool:
        for wrong, hits in pool.map(lambda n: memcached_client(port, n), range(6)):
            s.fact("wrong answers", wrong)
            s.check(hits > MEMCACHED_STEPS * 0.9, f"only {hits} of {MEMCACHED_STEPS} values were found right after set")
    lines = ["set n 0 0 2", "41", "incr n 1", "get n", "append n 0 0 1", "!", "gets n", "touch n 100", "version", ""]
    answer = ask(port, "\r\n".join(lines).encode(), b"VERSION")
    s.fact("counter", re.sub(rb"VERSION.*|(VALUE n 0 \d+) \d+", rb"\1", answer))
    stats = ask(port, b"stats\r\n", b"END\r\n")
    s.check(b"STAT curr_items" in stats, "no statistics")
    server.signal(signal.SIGTERM)
    s.stop(server)


MEMCACHED_STEPS = 1500


def memcached_client(port, number):
    """Sets, gets and deletes keys of its own, one after the other: (wrong answers, values found). An eviction between
    set and get is no fault, another value than the one set is."""
    wrong, hits = [], 0
    with socket.create_connection((LOCAL, port), timeout=20) as link, link.makefile("rb") as lines:
        for i in range(MEMCACHED_STEPS):
            size = (i * 7919 + number * 31) % 3000 + 1 if i % 100 else 600_000
            key, value = b"k%d.%d" % (number, i), bytes([97 + i % 26]) * size
            link.sendall(b"set %s 0 0 %d\r\n%s\r\nget %s\r\n" % (key, size, value, key))
            stored, head = lines.readline(), lines.readline()
            if head == b"VALUE %s 0 %d\r\n" % (key, size):
                hits += 1
                wrong += [key] * (lines.read(size) != value)
                head = lines.readline() + lines.readline()
            wrong += [stored + head] * (head not in (b"END\r\n", b"\r\nEND\r\n"))
            if i % 3 == 0:
                link.sendall(b"delete %s\r\n" % key)
                answer = lines.readline()
                wrong += [answer] * (answer not in (b"DELETED\r\n", b"NOT_FOUND\r\n"))
    return wrong, hits


@case({"nginx": "nginx-light", "wrk": "wrk"}, ["nginx -v"], quick=True)
def nginx(s):
    """Files, gzip, proxy to itself, rewriting; wrk for a second on 60 connections; reload under load; graceful end."""
    port = procs.free_port()
    conf = (INPUT / "nginx.conf").read_text().replace("PORT", str(port))
    conf = s.path("nginx.conf", conf.replace("USER", "user nobody nogroup;" if os.geteuid() == 0 else ""))
    for i in range(20):
        s.path(f"files/f{i}.txt", f"line {i} of a file\n" * (i * i * 40 + 1))
    argv = ["nginx", "-p", f"{s.dir}/", "-c", conf, "-e", f"{s.dir}/error.log"]
    two_workers = lambda: procs.listens(port) and len(procs.children(nginx_pid(s))) >= 2  # noqa: E731
    server = s.server(*argv, log="error.log", ready=two_workers)
    base = f"http://{LOCAL}:{port}"
    pages = [f"/f{i}.txt" for i in range(20)]
    pages += ["/made/x?y=1", "/old/thing", "/through/f7.txt", "/through/made", "/none"]
    s.fact("pages before the load", [fetched(base + page) for page in pages])
    for path in ("/f3.txt", "/through/f9.txt"):
        reload = threading.Timer(0.5, server.signal, [signal.SIGHUP])
        reload.start()
        report = s.outside("wrk", "-t1", "-c30", "-d1s", "-H", "Accept-Encoding: gzip", base + path, output=False)
        reload.join()
        # Connections that a worker closes as it goes are read errors to wrk; wrong answers and refusals must not be.
        s.check(not re.search("Non-2xx|connect [1-9]|timeout [1-9]", report), f"wrk saw errors: {report[-200:]}")
    s.fact("pages after it", [fetched(base + page) for page in pages])
    server.signal(signal.SIGQUIT)
    s.stop(server)
    log = s.path("error.log").read_text()
    s.check("exited on signal" not in log and "[alert]" not in log, f"nginx's log: {log[-300:]}")


def nginx_pid(s):
    """The pid that nginx wrote, once it has; nobody's before."""
    with contextlib.suppress(OSError, ValueError):
        return int(s.path("nginx.pid").read_text())
    return 0


def fetched(url):
    """(status, hash of the body) of a page, asked for with gzip."""
    request = urllib.request.Request(url, headers={"Accept-Encoding": "gzip"})
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(request, timeout=10) as answer:
            body, status, packed = answer.read(), answer.status, answer.headers.get("Content-Encoding") == "gzip"
    except urllib.error.HTTPError as error:
        body, status, packed = error.read(), error.code, False
    return status, hashlib.sha256(gzip.decompress(body) if packed else body).hexdigest()


POSTGRES_SETTINGS = [
    f"listen_addresses={LOCAL}",
    "fsync=off",
    "shared_buffers=16MB",
    "max_connections=20",
    "log_min_messages=warning",
]
POSTGRES_BALANCE = """
select count(*), sum(abalance) = (select sum(delta) from pgbench_history) from pgbench_accounts;
select count(*) from pgbench_history;
"""


@case(
    {f"{POSTGRES}/initdb": "postgresql-15", f"{POSTGRES}/pgbench": "postgresql-15"},
    [f"{POSTGRES}/postgres --version"],
    limit=150,
)
def postgresql(s):
    """initdb, a server of many processes, parallel queries, pgbench, a dump, backends that come and go."""
    user, port = unprivileged(), procs.free_port()
    data = s.path("data")
    s.cmd(f"{POSTGRES}/initdb", "-D", data, "-A", "trust", "-U", "lido", "-N", user=user, output=False)
    link = ["-h", LOCAL, "-p", port, "-U", "lido"]
    argv = [f"{POSTGRES}/postgres", "-D", data, "-p", port, "-k", s.dir]
    for setting in POSTGRES_SETTINGS:
        argv += ["-c", setting]
    asked = [f"{POSTGRES}/pg_isready", "-q", *link]
    server = s.server(
        *argv, user=user, ready=lambda: procs.run(asked, s.dir, procs.base_env(s.dir), 5, name="ready").status == 0
    )
    psql = ["psql", *link, "-d", "postgres", "-X", "-q", "-v", "ON_ERROR_STOP=1"]
    pgbench = [f"{POSTGRES}/pgbench", *link]
    s.cmd(*psql, stdin=INPUT / "queries.sql")
    s.cmd(*pgbench, "-i", "-s", 1, "-q", "postgres", output=False, stderr=False)
    seeded = ["-n", "--random-seed=7"]
    s.cmd(*pgbench, *seeded, "-c", 4, "-j", 2, "-t", 150, "-M", "prepared", "postgres", output=False)
    s.cmd(*pgbench, *seeded, "-c", 2, "-t", 25, "-C", "-S", "postgres", output=False)
    s.cmd(*psql, "-A", "-t", "-c", POSTGRES_BALANCE)
    dump = s.cmd(f"{POSTGRES}/pg_dump", *link, "-t", "item", "postgres", output=False)
    s.fact("dump", hashlib.sha256(re.sub(r"(?m)^(--|\\).*$", "", dump).encode()).hexdigest())
    server.signal(signal.SIGINT)
    s.stop(server)
    log = server.stderr.read_text()
    s.check("was terminated by signal" not in log and "PANIC" not in log, f"postgres' log: {log[-300:]}")
    shutil.rmtree(Path(data), ignore_errors=True)
