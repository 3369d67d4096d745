# SPDX-License-Identifier: MIT
# Copyright (c) 2026 the lido authors
"""python under test: fork while other threads are inside malloc; the child allocates, starts threads and exits."""

import concurrent.futures
import hashlib
import multiprocessing
import os
import subprocess
import sys
import threading
import zlib


def churn(stop):
    """Keeps malloc busy with the global lock dropped (hashlib and zlib allocate and work outside it)."""
    window = [None] * 300
    k = 0
    while not stop.is_set():
        window[k % 300] = zlib.compress(b"x" * (k % 4000 + 10))
        hashlib.sha256(b"y" * 5000).digest()
        k += 1


def in_child(number):
    """What a child must be able to do: use memory of the parent, free it, allocate, run threads."""
    parts = []
    threads = [
        threading.Thread(target=lambda n=n: parts.append(zlib.crc32(bytes(range(256)) * (n + number))))
        for n in range(3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    blocks = [bytearray(size * 37) for size in range(400)]
    return (sum(parts) + sum(map(len, blocks))) % 100


def raw_forks(count):
    """fork itself, from a thread that is not the first, pipes for the answers."""
    answers = []
    for number in range(count):
        reader, writer = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.write(writer, bytes([in_child(number)]))
            os._exit(number % 7)
        os.close(writer)
        answers.append((os.read(reader, 1)[0], os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])))
        os.close(reader)
    return answers


def square_text(n):
    return len(zlib.compress(str(n * n).encode() * (n % 90 + 1)))


def main():
    stop = threading.Event()
    noise = [threading.Thread(target=churn, args=(stop,)) for _ in range(2)]
    for thread in noise:
        thread.start()
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        print("forks", pool.submit(raw_forks, 10).result())
    stop.set()
    for thread in noise:
        thread.join()
    for method in ("fork", "spawn", "forkserver"):
        with multiprocessing.get_context(method).Pool(2) as pool:
            print(method, sum(pool.map(square_text, range(120), chunksize=7)))
    outputs = [
        subprocess.run([sys.executable, "-c", f"print('c' * {n})"], capture_output=True, check=True).stdout
        for n in range(3)
    ]
    print("subprocess", outputs)
    pid = os.posix_spawn("/bin/echo", ["echo", "posix_spawn"], os.environ)
    print("status", os.waitpid(pid, 0)[1])
    grandchild = os.fork()
    if grandchild == 0:
        inner = os.fork()
        if inner == 0:
            os._exit(in_child(3))
        os._exit(os.waitstatus_to_exitcode(os.waitpid(inner, 0)[1]))
    print("grandchild", os.waitstatus_to_exitcode(os.waitpid(grandchild, 0)[1]))


if __name__ == "__main__":
    sys.stdout.reconfigure(line_buffering=True)
    main()
