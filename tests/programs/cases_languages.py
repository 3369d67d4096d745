# SPDX-License-Identifier: MIT
# Copyright (c) 2026 the lido authors
"""Interpreters, virtual machines and compilers: python, lua, node, java, gcc and g++."""

from pathlib import Path

from harness import INPUT, case

DEMO = INPUT.parents[2] / "tools/demo"
PYTHON = "/usr/bin/python3"
PYTHON_NEEDS = {PYTHON: "python3"}
PYTHON_PROOF = [f"{PYTHON} --version"]
# Modules of python's own suite that lean on the allocator, on threads, fork, ctypes, or many small objects.
PYTHON_SUITE = """test_array test_bytes test_codecs test_ctypes test_deque test_dict test_fork1 test_gc
    test_json test_list test_mmap test_pickle test_re test_set test_struct test_thread
    test_threading test_threading_local test_unicode test_weakref test_zlib""".split()


@case(PYTHON_NEEDS, PYTHON_PROOF, quick=True)
def python(s):
    """The demo's script: on python's own small-object pools, without them, with python's checks around malloc."""
    for kind in ("pymalloc", "malloc", "malloc_debug"):
        s.cmd(PYTHON, "-B", DEMO / "work.py", "0.1", env={"PYTHONMALLOC": kind})


@case(PYTHON_NEEDS, PYTHON_PROOF, quick=True)
def python_threads(s):
    s.cmd(PYTHON, "-B", INPUT / "threads.py", env={"PYTHONMALLOC": "malloc"})


@case(PYTHON_NEEDS, PYTHON_PROOF, quick=True)
def python_fork(s):
    """fork while other threads allocate, then allocate, start threads and exit in the child; pools of processes."""
    s.cmd(PYTHON, "-B", INPUT / "fork.py", env={"PYTHONMALLOC": "malloc"})


@case(PYTHON_NEEDS, PYTHON_PROOF, quick=True)
def python_ctypes(s):
    """The malloc family called straight from the dynamic linker's name space, dlopen and dlclose, callbacks, qsort."""
    s.cmd(PYTHON, "-B", INPUT / "family.py")


@case({**PYTHON_NEEDS, "/usr/lib/python3.11/test/test_dict.py": "libpython3.11-testsuite"}, PYTHON_PROOF, limit=400)
def python_suite(s):
    """Python's own tests. What they print holds times and orders, so the verdict of each module is what counts."""
    suite = ["-m", "test", "-j2", "-u", "none", "--timeout", "120", *PYTHON_SUITE]
    scratch = {"TMPDIR": str(s.path("tmp/x", "").parent)}
    log = s.cmd(PYTHON, "-B", *suite, output=False, stderr=False, env=scratch)
    s.check("Tests result: SUCCESS" in log or "Result: SUCCESS" in log, "python's test suite did not report success")


@case({"lua5.4": "lua5.4"}, ["lua5.4 -v"], quick=True)
def lua(s):
    s.cmd("lua5.4", DEMO / "work.lua", "0.25")


@case({"node": "nodejs"}, ["node --version"], quick=True)
def node(s):
    """V8 keeps its heap to itself; Buffers, zlib, the thread pool and worker threads go through malloc."""
    s.cmd("node", INPUT / "work.js")


@case({"javac": "openjdk-17-jdk-headless", "java": "openjdk-17-jre-headless"}, ["java -version"], limit=90)
def java(s):
    """The compiler and a program with threads, direct buffers, Deflater, proxies: the native side of the JVM."""
    s.cmd("javac", "-J-Xshare:auto", "-d", s.dir, INPUT / "Work.java")
    for collector in ("-XX:+UseSerialGC", "-XX:+UseG1GC"):
        s.cmd("java", collector, "-Xmx256m", "-cp", s.dir, "Work")


FUNCTION = """
struct s@I { unsigned v[8]; struct s@I *next; char name[@I % 30 + 2]; };
unsigned @F@I(unsigned n) {
  struct s@I *s = calloc(1, sizeof *s);
  unsigned x = n;
  for (unsigned k = 0; k < 9; k++) switch ((x + k) % 31) {
@CASES
    default: x += k * n;
  }
  for (int k = 0; k < 8; k++) x = x * 33 + s->v[k];
  free(s);
  return x;
}
"""
MAIN = """
int @MAIN(void) {
  unsigned sum = 1;
@CALLS
  printf("%u\\n", sum);
  return 0;
}
"""


def generated_source(functions, prefix="f", main="main"):
    """C that gives the optimizer structures, loops and switches to chew on."""
    text = "#include <stdio.h>\n#include <stdlib.h>\n"
    for i in range(functions):
        cases = [f"    case {k}: x ^= {k * 7919 + i}u << (n & {k % 5}); s->v[{k % 8}] += x; break;" for k in range(24)]
        text += FUNCTION.replace("@CASES", "\n".join(cases)).replace("@I", str(i)).replace("@F", prefix)
    calls = "\n".join(f"  sum += {prefix}{i}(sum + {i});" for i in range(functions))
    return text + MAIN.replace("@MAIN", main).replace("@CALLS", calls)


@case({"gcc": "gcc"}, ["gcc -E -x c /dev/null"], quick=True)
def gcc(s):
    """cc1, as, collect2 and ld, each on the malloc; objects byte for byte; then the program just made."""
    s.path("made.c", generated_source(40))
    s.cmd("gcc", "-O2", "-g", "-c", "made.c", "-o", "made.o")
    s.file("made.o")
    s.cmd("gcc", "made.o", "-o", "made")
    s.cmd("./made")


@case({"gcc": "gcc", "g++": "g++"}, ["g++ -E -x c++ /dev/null"], limit=120)
def gcc_lto(s):
    """Link-time optimization in two partitions at once, and a precompiled header (mapped at a fixed address)."""
    for i in range(4):
        s.path(f"part{i}.c", generated_source(25 + i, f"p{i}f", f"main{i}"))
    parts = "main0(void), main1(void), main2(void), main3(void)"
    s.path("main.c", f"int {parts};\nint main(void) {{ return main0() | main1() | main2() | main3(); }}\n")
    s.cmd("gcc", "-O2", "-flto", "-c", "main.c", *[f"part{i}.c" for i in range(4)])
    s.cmd("gcc", "-O2", "-flto=2", "-o", "whole", "main.o", *[f"part{i}.o" for i in range(4)])
    s.cmd("./whole")
    s.path("all.hpp", "#include <algorithm>\n#include <map>\n#include <regex>\n#include <string>\n#include <vector>\n")
    s.cmd("g++", "-std=c++17", "-x", "c++-header", "all.hpp", "-o", "all.hpp.gch")
    s.path("use.cpp", '#include "all.hpp"\nint main() { std::regex r("a+b"); return !std::regex_match("aab", r); }\n')
    s.cmd("g++", "-std=c++17", "-Winvalid-pch", "-c", "use.cpp")


@case({"g++": "g++"}, ["g++ -E -x c++ /dev/null"], limit=120)
def gxx(s):
    """cc1plus over templates; then the program: containers, exceptions, threads, over-aligned new, pmr, nothrow new."""
    s.cmd("g++", "-std=c++17", "-O1", "-c", INPUT / "containers.cpp", "-o", "containers.o")
    s.file("containers.o")
    s.cmd("g++", "containers.o", "-pthread", "-o", "containers")
    s.check(Path(s.dir, "containers").exists(), "g++ made no program")
    s.cmd("./containers")
