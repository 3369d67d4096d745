# SPDX-License-Identifier: MIT
# Copyright (c) 2026 the lido authors
"""Shells and text tools: bash, coreutils, grep, awk, find and xargs, tar with xz and zstd, perl, make, openssl.

Most of these processes live for milliseconds and fork a lot: early start-up, fork, and exit are what they test.
"""

import hashlib

from harness import INPUT, case


def words(count, x=12345):
    """Text of `count` lines, the same each time: a key, a number, words of 1 to 30 letters."""
    lines = []
    for i in range(count):
        x = (x * 1103515245 + 12345) & 0x7FFFFFFF
        lines.append(f"k{x % 5003:05d} {x >> 7} " + " ".join("abcdefghijklmnopqrstuvwxyzabcd"[:(x >> s) % 30 + 1] for s in (3, 8, 13)))
    return "\n".join(lines) + "\n"


@case({"bash": "bash"}, ["bash --version"], quick=True)
def bash(s):
    """Loops, arrays, subshells, pipelines, here-documents, background jobs, a string that grows to a megabyte."""
    s.cmd("bash", INPUT / "loops.sh")


@case({"sort": "coreutils", "sha256sum": "coreutils", "comm": "coreutils"}, ["sort --version", "sha256sum --version"], quick=True)
def coreutils(s):
    s.path("in", words(60000))
    s.cmd("sort", "--parallel=4", "-S", "4M", "-T", s.dir, "-o", "by-key", "in")  # spills and merges temporary files
    s.cmd("sort", "--parallel=2", "-k2,2n", "-o", "by-number", "in")
    s.cmd("sort", "-u", "-k1,1", "-o", "unique", "in")
    s.file("by-key", "by-number", "unique")
    s.sh("""comm -12 by-key <(sort -r by-number | sort) | wc; join unique by-key | sha256sum; tac in | cut -d' ' -f2 | sha256sum
            uniq -w6 -c by-key | sha256sum; shuf --random-source=in in | sha256sum; tr a-m A-M < in | fold -w40 | sha256sum
            split -n l/7 in part.; cat part.* | sha256sum; paste -d, in by-key | sha512sum; base64 in | md5sum; od -x in | cksum
            fmt -w 60 in | sha256sum; nl in | expand | sha256sum; seq 1 2 40000 | factor | sha256sum; sort --check in""", status=1)


@case({"grep": "grep"}, ["grep --version"], quick=True)
def grep(s):
    """The DFA grows with its input, -f builds one automaton of 900 patterns, -P goes through PCRE's own memory."""
    text = words(40000)
    s.path("in", text)
    s.path("patterns", "\n".join(sorted({line.split()[1] for line in text.splitlines()[:900]})) + "\n")
    s.path("binary", bytes(range(256)) * 2000)
    s.sh("""grep -c -F -f patterns in; grep -n -w -f patterns in | sha256sum; grep -E -o '(k0[0-9]+|[a-z]{20,}) [0-9]*7' in | sha256sum
            grep -P -c '(?<=k0)(\\d+) \\d*(?=3 )' in; grep -i -v -c 'ABCDEFGHIJ' in; grep -c -E '([a-f]+ ){2}' in
            grep -b -a -o -P '\\x41\\x42+' binary | sha256sum; grep -r -l k00001 --include='i*' . ; grep -E '(a)(b).*\\2\\1x' in""",
         status=1)


def awk_program(s, name):
    s.path("in", words(40000))
    s.cmd(name, "-f", INPUT / "table.awk", "in")
    s.cmd(name, 'BEGIN { for (i = 0; i < 5000; i++) text = text i ","; print length(text); n = split(text, part, ","); print n;'
          ' for (i = 1; i < n; i++) sum += part[i]; print sum; while (("seq 1 3000" | getline line) > 0) last = line; print last }')


@case({"mawk": "mawk"}, ["mawk -W version"], quick=True)
def mawk(s):
    awk_program(s, "mawk")


@case({"gawk": "gawk"}, ["gawk --version"], quick=True)
def gawk(s):
    awk_program(s, "gawk")


@case({"find": "findutils", "xargs": "findutils"}, ["find --version", "xargs --version"], quick=True)
def find_xargs(s):
    for i in range(1200):
        s.path(f"tree/d{i % 7}/e{i % 31}/f{i}", "x" * (i % 900))
    s.sh("""find tree -printf '%p %s %m\\n' | sort | sha256sum; find tree -type f -size +400c -print0 | xargs -0 -P 4 -n 40 sha256sum | sort | sha256sum
            find tree -name 'f*7' -exec cat {} + | cksum; find tree -type f | sort | xargs -n 50 -P2 basename -a | sort | cksum
            find tree -depth -name 'e1*' -delete 2>/dev/null || true; find tree -regex '.*/f[0-9]*[13]' | wc -l""")


@case({"tar": "tar", "xz": "xz-utils", "zstd": "zstd", "gzip": "gzip"}, ["tar --version", "xz --version", "zstd --version"], quick=True)
def archives(s):
    """Compressors with threads and windows of many megabytes; both give the same bytes whatever the thread's timing."""
    for i in range(60):
        s.path(f"tree/{i % 5}/f{i}", words(600, i))
    s.sh("""tar --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner -cf all.tar tree
            xz -T2 --block-size=300KiB -3 -k all.tar; zstd -q -T2 -B400K -12 -k all.tar; gzip -n -k all.tar
            sha256sum all.tar*; xz -T2 -dc all.tar.xz | cmp - all.tar; zstd -q -dc all.tar.zst | cmp - all.tar; gzip -dc all.tar.gz | cmp - all.tar
            mkdir out; tar -xJf all.tar.xz -C out; diff -r tree out/tree
            rm -r out; mkdir out; tar --zstd -xf all.tar.zst -C out; diff -r tree out/tree; tar -tvzf all.tar.gz | wc -l
            zstd -q --train tree/*/* -o dictionary --maxdict=20000 -T2; zstd -q -D dictionary -r tree -c | wc -c""")


@case({"perl": "perl"}, ["perl -v"], quick=True)
def perl(s):
    """Hashes, sorting, regular expressions, strings that grow, closures, deep data, fork with pipes."""
    s.cmd("perl", INPUT / "data.pl")


@case({"perl": "perl"}, ["perl -v"], quick=True)
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
    text = s.path("in", words(20000))
    s.sh("""openssl dgst -sha256 -r in; openssl enc -aes-256-ctr -K 00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff \
              -iv 000102030405060708090a0b0c0d0e0f -in in -out sealed; openssl dgst -sha512 -r sealed
            openssl enc -base64 -in in | openssl md5 -r; openssl asn1parse -genstr UTF8:lido; openssl prime -generate -bits 8 | wc -l""")
    # Keys are random: what must hold is that they work.
    s.sh("""openssl req -x509 -newkey rsa:2048 -nodes -keyout key -out cert -days 2 -subj /CN=lido 2>/dev/null
            openssl verify -CAfile cert cert; openssl x509 -in cert -pubkey -noout > public
            openssl dgst -sha256 -sign key -out signature in; openssl dgst -sha256 -verify public -signature signature in
            openssl ecparam -name prime256v1 -genkey -noout -out ec; openssl ec -in ec -check -noout 2>&1 | tail -1""")
    s.cmd("openssl", "speed", "-seconds", "1", "-multi", "2", "-bytes", "1024", "-evp", "aes-128-gcm", output=False, stderr=False)
    s.fact("input", hashlib.sha256(text.read_bytes()).hexdigest())
