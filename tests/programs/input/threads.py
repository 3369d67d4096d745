# SPDX-License-Identifier: MIT
# Copyright (c) 2026 the lido authors
"""python under test: threads that allocate, hand objects to others to free, and end; C libraries that drop the global lock."""

import bz2
import hashlib
import json
import lzma
import queue
import sqlite3
import threading
import zlib


def text(n):
    return "".join(chr(97 + (n * k) % 26) for k in range(n % 700 + 1)) * 3


def produce(out, first):
    for n in range(first, first + 400):
        out.put({"n": n, "text": text(n), "list": list(range(n % 50))})
    out.put(None)


def consume(source, results):
    """Frees what another thread allocated."""
    total = 0
    while (item := source.get()) is not None:
        total += len(json.dumps(item))
    results.append(total)


def compress(results, n):
    data = text(699).encode() * (n % 40 + 20)
    packed = [zlib.compress(data, 6), bz2.compress(data), lzma.compress(data, preset=1)]
    assert zlib.decompress(packed[0]) == bz2.decompress(packed[1]) == lzma.decompress(packed[2]) == data
    results.append((n, [len(p) for p in packed], hashlib.sha256(data).hexdigest()[:12]))


def database(results, n):
    """SQLite in a thread: its own caches from malloc, freed at close."""
    with sqlite3.connect(":memory:") as connection:
        connection.execute("create table t(a integer primary key, b text)")
        connection.executemany("insert into t values(?, ?)", ((k, text(k + n)) for k in range(600)))
        results.append(connection.execute("select count(*), sum(length(b)), max(b) from t where a % 3 = 1").fetchone())
    connection.close()


def run(*threads):
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def main():
    results = []
    for pair in range(3):
        hand_over = queue.Queue(maxsize=50)
        run(
            threading.Thread(target=produce, args=(hand_over, pair * 100)),
            threading.Thread(target=consume, args=(hand_over, results)),
        )
    print("handed over", results)
    for work in (compress, database):
        results = []
        run(*[threading.Thread(target=work, args=(results, n)) for n in range(6)])
        print(work.__name__, sorted(results))
    # Many short lives: thread start, a few allocations, thread end.
    local, results = threading.local(), []

    def short(n):
        local.kept = [bytearray(size) for size in range(1, 3000, 97)]
        results.append(sum(map(len, local.kept)) + n)

    for batch in range(40):
        run(*[threading.Thread(target=short, args=(batch * 10 + n,)) for n in range(10)])
    print("short lives", len(results), sum(results))


main()
