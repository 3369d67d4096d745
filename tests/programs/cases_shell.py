# SPDX-License-Identifier: MIT
# Copyright (c) 2026 the lido authors
"""Shells and text tools: bash, coreutils, grep, awk, find and xargs, tar with xz and zstd, perl, make, openssl.

Most of these processes live for milliseconds and fork a lot: early start-up, fork, and exit are what they test.
"""

from harness import INPUT, case

LETTERS = "abcdefghijklmnopqrstuvwxyzabcd"


def words(count, x=12345):
    """Text of `count` lines, the same each time: a key, a number, three words of 1 to 30 letters."""
    lines = []
    for _ in range(count):
        x = (x * 1103515245 + 12345) & 0x7FFFFFFF
        text = " ".join(LETTERS[: (x >> shift) % 30 + 1] for shift in (3, 8, 13))
        lines.append(f"k{x % 5003:05d} {x >> 7} {text}")
    return "\n".join(lines) + "\n"


@case({"bash": "bash"}, ["bash --version"], quick=True)
def bash(s):
    """Loops, arrays, subshells, pipelines, here-documents, background jobs, a string that grows to 200 KB."""
    s.cmd("bash", INPUT / "loops.sh")


@case({"sort": "coreutils", "comm": "coreutils"}, ["sort --version", "sha256sum --version"], quick=True)
def coreutils(s):
    """sort with threads and with temporary files that it merges; then the smaller filters."""
    s.path("in", words(60000))
    s.cmd("sort", "--parallel=4", "-S", "4M", "-T", s.dir, "-o", "by-key", "in")
    s.cmd("sort", "--parallel=2", "-k2,2n", "-o", "by-number", "in")
    s.cmd("sort", "-u", "-k1,1", "-o", "unique", "in")
    s.file("by-key", "by-number", "unique")
    s.cmd("bash", INPUT / "coreutils.sh")


@case({"grep": "grep"}, ["grep --version"], quick=True)
def grep(s):
    text = words(40000)
    s.path("in", text)
    s.path("patterns", "\n".join(sorted({line.split()[1] for line in text.splitlines()[:900]})) + "\n")
    s.path("binary", bytes(range(256)) * 2000)
    s.cmd("bash", INPUT / "grep.sh")


def awk(s, name):
    s.path("in", words(40000))
    s.cmd(name, "-f", INPUT / "table.awk", "in")
    s.cmd(name, "-f", INPUT / "build.awk")


@case({"mawk": "mawk"}, ["mawk -W version"], quick=True)
def mawk(s):
    awk(s, "mawk")


@case({"gawk": "gawk"}, ["gawk --version"], quick=True)
def gawk(s):
    awk(s, "gawk")


@case({"find": "findutils", "xargs": "findutils"}, ["find --version", "xargs --version"], quick=True)
def find_xargs(s):
    for i in range(1200):
        s.path(f"tree/d{i % 7}/e{i % 31}/f{i}", "x" * (i % 900))
    s.cmd("bash", INPUT / "find.sh")


@case(
    {"tar": "tar", "xz": "xz-utils", "zstd": "zstd", "gzip": "gzip"},
    ["tar --version", "xz --version", "zstd --version"],
    quick=True,
)
def archives(s):
    for i in range(60):
        s.path(f"tree/{i % 5}/f{i}", words(600, i))
    s.cmd("bash", INPUT / "archives.sh")


# "prove" is in the package perl, whose modules a plain Debian lacks although it has the program perl.
PERL = {"perl": "perl", "prove": "perl"}


@case(PERL, ["perl -v"], quick=True)
def perl(s):
    """Hashes, sorting, regular expressions, strings that grow, closures, deep data, fork with pipes."""
    s.cmd("perl", INPUT / "data.pl")


@case(PERL, ["perl -v"], quick=True)
def perl_threads(s):
    """Debian's perl clones its whole interpreter for a thread; the clone is freed by that thread."""
    s.cmd("perl", INPUT / "threads.pl")


@case({"make": "make"}, ["make --version"], quick=True)
def make(s):
    """make -j2 over 70 small rules with pattern rules, functions and a sub-make."""
    s.path("Makefile", (INPUT / "rules.mk").read_text())
    for i in range(70):
        s.path(f"src/{i}.in", words(i % 9 + 1, i))
    s.cmd("make", "-s", "-j2", "--output-sync", "all")
    s.file("all.out")
    s.cmd("make", "-s", "-j2", "--question", "all")
    s.cmd("make", "-s", "print")


@case({"openssl": "openssl"}, ["openssl version"], quick=True)
def openssl(s):
    """Digests, ciphers, keys, certificates; the speed test in two processes, whose figures are not compared."""
    s.path("in", words(20000))
    s.cmd("bash", INPUT / "openssl.sh")
    speed = ["-seconds", "1", "-multi", "2", "-bytes", "1024", "-evp", "aes-128-gcm"]
    s.cmd("openssl", "speed", *speed, output=False, stderr=False)
