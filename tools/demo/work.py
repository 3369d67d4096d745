# SPDX-License-Identifier: MIT
# Copyright (c) 2026 the lido authors
"""script/demo: a Python program that allocates: records, JSON there and back, text, sorting, graphs with cycles.

Usage: work.py SCALE. Prints checksums only; all input comes from a fixed generator.
"""

import gc
import hashlib
import json
import re
import sys


class Node:
    """One record; the references between nodes form cycles, so that the garbage collector has something to find."""

    def __init__(self, key, text):
        self.key, self.text, self.links = key, text, []


def numbers(count, x=12345):
    for _ in range(count):
        x = (x * 1103515245 + 12345) & 0x7FFFFFFF
        yield x


def digest(text):
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def records(count):
    """Dicts of mixed values to JSON and back, sorted, grouped."""
    rows = [
        {"id": i, "name": f"name-{x % 9973}", "tags": [str(x >> s & 255) for s in (3, 9, 17)], "size": x / 7}
        for i, x in enumerate(numbers(count))
    ]
    rows = json.loads(json.dumps(rows))
    groups = {}
    for row in sorted(rows, key=lambda r: (r["name"], r["id"])):
        groups.setdefault(row["name"], []).append(row["size"])
    return len(groups), digest(json.dumps({name: sum(sizes) for name, sizes in groups.items()}))


def text(count):
    """Words cut, joined, searched, counted; lines between 1 and 4,000 characters, beyond Python's own small blocks."""
    lines = [
        " ".join(f"w{x % (i % 977 + 1)}" for x in numbers(x % 60 * 10 + 1, x)) for i, x in enumerate(numbers(count))
    ]
    book = "\n".join(lines)
    words = {}
    for word in re.findall(r"w\d+", book):
        words[word] = words.get(word, 0) + 1
    return len(book), digest(repr(sorted(words.items()))), digest(book.upper())


def graph(count):
    """Nodes that come and go in a window of live ones, linked both ways."""
    window, made = [None] * 4096, 0
    for x in numbers(count):
        node = Node(x, "n" * (x % 1500))
        other = window[x % 4096]
        if other is not None and len(other.links) < 8:
            node.links.append(other)
            other.links.append(node)
        window[(x >> 12) % 4096] = node
        made += len(node.text)
    alive = sum(len(node.text) for node in window if node)
    gc.collect()
    return made, alive


def main():
    scale = float(sys.argv[1])
    print("records", *records(int(25_000 * scale)))
    print("text", *text(int(1_000 * scale)))
    print("graph", *graph(int(50_000 * scale)))


main()
