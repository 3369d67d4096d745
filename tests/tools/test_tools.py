# SPDX-License-Identifier: MIT
# Copyright (c) 2026 the lido authors
"""Tools that watch memory see the blocks of pools and arenas: the mistakes of victim.c under each of them.

Usage: test_tools.py BUILD asan|memcheck|heaptrack|probes. Exits with 77 where the tool is missing.
"""

import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys

BUILD = pathlib.Path(sys.argv[1]).resolve()
HERE = BUILD / "tests/tools"

# mistake -> what lido says of the address
MISTAKES = {
    "behind": "0 bytes behind a block of 56 bytes of pool 'victim'",
    "before": "1 bytes before a block of 56 bytes of pool 'victim'",
    "freed": "0 bytes into a block of 56 bytes of pool 'victim'",
    "freed-end": "55 bytes into a block of 56 bytes of pool 'victim'",
    "destroyed": "0 bytes into a block of 56 bytes of pool 'victim'",
    "rewound": "8 bytes into a block of 40 bytes of arena 'arena'",
    "reset": "8 bytes into a block of 40 bytes of arena 'arena'",
}
PROBES = {"pool_alloc": 4, "pool_free": 4, "refill": 4, "spill": 4, "slab_new": 3, "slab_free": 2, "segment_new": 2,
          "segment_free": 2, "checked_alloc": 4, "checked_free": 4}
STACK = r"(    #.*\n)*    #\d+ \S+ in (pool_mistake|arena_mistake|main)\b"
faults = []


def run(*words, options="", preload=None):
    env = {k: v for k, v in os.environ.items() if k not in ("LD_PRELOAD", "LIDO_OPTIONS", "ASAN_OPTIONS")}
    env["LIDO_OPTIONS"] = options
    env["PATH"] = f"{BUILD / 'bin'}:{env['PATH']}"    # lido symbolize
    if preload is not None:
        env["LD_PRELOAD"] = str(preload)
    return subprocess.run([str(w) for w in words], text=True, capture_output=True, env=env, timeout=60, check=False)


def expect(holds, what, done=None):
    if not holds:
        faults.append(what + ("" if done is None else f"; status {done.returncode}, it said:\n{done.stdout}{done.stderr}"))


def skip(why):
    print(f"skipped: {why}")
    sys.exit(77)


def asan():
    victim = HERE / "victim-asan"
    if not victim.exists():
        skip("this compiler has no AddressSanitizer")
    for threads in ("local", "shared"):
        for word, where in MISTAKES.items():
            done = run(victim, word, threads, options="tools=on")
            expect(done.returncode not in (0, 77) and "survived" not in done.stdout, f"asan stops {word} {threads}", done)
            expect("AddressSanitizer: use-after-poison" in done.stderr and " in read_byte " in done.stderr, f"asan names {word}", done)
            expect(re.search(rf"lido: 0x[0-9a-f]+: reported by AddressSanitizer; {re.escape(where)}\n", done.stderr) is not None,
                   f"lido adds its part to {word}", done)
            said = done.stderr
            expect(re.search(rf"\n  allocated in thread .*:\n{STACK}", said) is not None, f"who allocated it: {word}", done)
            freed = word not in ("behind", "before")
            expect((re.search(rf"\n  freed in thread .*:\n{STACK}", said) is not None) == freed, f"who freed it: {word}", done)
    for word in ("right", "held", "ended"):
        done = run(victim, word, options="tools=on")
        said = re.sub(r"lido: lido_pool_destroy: .*\n", "", done.stderr)
        expect((done.returncode, done.stdout, said) == (0, "survived\n", ""), f"asan has nothing to say of {word}", done)
    done = run(victim, "freed", options="tools=off")
    expect(done.returncode == 0, "tools=off leaves it alone", done)


def memcheck():
    if shutil.which("valgrind") is None:
        skip("no valgrind is installed (script/setup does)")
    if platform.machine() != "x86_64":
        skip("lido asks valgrind on x86-64 only")
    tool = ("valgrind", "-q", "--error-exitcode=99", HERE / "victim")
    if "debuginfo reader" in run("valgrind", "-q", "--tool=none", HERE / "victim", "right").stderr:
        skip("this valgrind cannot read the debug information that this compiler writes")
    for word in list(MISTAKES) + ["unset"]:
        done = run(*tool, word, "shared")
        said = "uninitialised value" if word == "unset" else "Invalid read of size 1"
        expect(done.returncode == 99 and said in done.stderr, f"memcheck sees {word}", done)
        if word not in ("behind", "before", "unset"):
            expect(re.search(r"is \d+ bytes inside a block of size (56|40) free'd", done.stderr) is not None, f"who freed {word}", done)
            freed, _, made = done.stderr.partition("Block was alloc'd at")
            expect("free'd" in freed and re.search(r"free'd\n(==.*\n)*==\d+==    by \w+: (pool|arena)_mistake ", freed) is not None,
                   f"the stack of the free: {word}", done)
            expect(re.search(r"    by \w+: (pool|arena)_mistake ", made) is not None, f"the stack of the allocation: {word}", done)
    for word in ("right", "ended", "held"):
        done = run(*tool[:2], "--leak-check=full", *tool[2:], word)
        said = re.sub(r"lido: lido_pool_destroy: .*\n", "", done.stderr)
        expect((done.returncode, said) == (0, ""), f"memcheck has nothing to say of {word}", done)
    # memcheck is malloc then, all of it
    done = run("env", f"LD_PRELOAD={BUILD / 'lib/liblido-malloc.so'}", *tool, "malloc")
    expect((done.returncode, done.stderr) == (0, ""), "memcheck in front of the drop-in malloc", done)
    done = run(*tool, "freed", options="tools=off")
    expect((done.returncode, done.stderr) == (0, ""), "tools=off tells it nothing", done)
    # other tools of valgrind change nothing: the instruction counts of the fast paths are taken under one
    done = run("valgrind", "-q", "--tool=none", HERE / "victim", "freed")
    expect((done.returncode, done.stdout) == (0, "survived\n"), "only memcheck is told", done)


def heaptrack():
    counter = HERE / "counter.so"
    for options, said in (("", "1200 allocated, 67200 bytes, 1200 freed"), ("tools=off", "0 allocated, 0 bytes, 0 freed")):
        done = run(HERE / "victim", "right", options=options, preload=counter)
        expect((done.returncode, done.stderr) == (0, f"counter: {said}\n"), f"heaptrack hears of the blocks of pools, '{options}'", done)
    for options in ("", "check=guard"):
        done = run(HERE / "victim", "ended", options=options, preload=counter)
        expect(done.returncode == 0 and done.stderr.endswith("counter: 606 allocated, 33936 bytes, 606 freed\n"),
               f"heaptrack hears of blocks that end with their pool, '{options}'", done)
    # in check mode guard also of those of arenas: 400 a round, of 1 to 400 bytes
    done = run(HERE / "victim", "right", options="check=guard", preload=counter)
    said = f"2400 allocated, {67200 + 3 * 400 * 401 // 2} bytes, 2400 freed"
    expect((done.returncode, done.stderr) == (0, f"counter: {said}\n"), "heaptrack hears of blocks of arenas", done)


def probes():
    if "--none" in sys.argv:
        skip("<sys/sdt.h> was missing when lido was compiled (script/setup installs systemtap-sdt-dev)")
    for name in ("liblido.so", "liblido-malloc.so"):
        text = run("readelf", "-n", "-W", BUILD / "lib" / name).stdout
        found = {m[1]: len(m[2].split()) for m in re.finditer(r"Provider: lido\s+Name: (\w+)\s.*?Arguments: ([^\n]*)", text, re.S)}
        expect(found == PROBES, f"{name} has the probes {PROBES}, but: {found}")
    if shutil.which("gdb") is None or "exited" not in run("gdb", "-batch", "-nx", "-ex", "run", "/bin/true").stdout:
        print("not asked for their arguments: there is no gdb here, or it cannot run programs")
        return
    # what one of pool 'victim' says, or of its first slab, or the first segment
    of_victim = '$_streq((char*)$_probe_arg1, "victim")'
    for options, probe, where, numbers in (
            ("check=light", "pool_alloc", of_victim, {3: 56}), ("check=guard", "checked_free", of_victim, {3: 56}),
            ("", "refill", of_victim, {2: 56}), ("", "spill", of_victim, {2: 56}),
            ("", "slab_new", "$_probe_arg2 == 56", {1: 1 << 16}), ("", "segment_new", "1", {1: 1 << 25})):
        show = [word for at in numbers for word in ("-ex", f"printf \"argument {at} is %d\\n\", $_probe_arg{at}")]
        said = run("gdb", "-batch", "-nx", "-ex", "set debuginfod enabled off", "-ex", "set breakpoint pending on",
                   "-ex", f"set environment LIDO_OPTIONS {options}", "-ex", f"break -probe-stap lido:{probe}", "-ex", "start",
                   "-ex", f"condition 1 {where}", "-ex", "continue", *show, "--args", HERE / "victim", "right")
        for at, number in numbers.items():
            expect(f"argument {at} is {number}\n" in said.stdout, f"argument {at} of {probe} is {number}", said)


if __name__ == "__main__":
    {"asan": asan, "memcheck": memcheck, "heaptrack": heaptrack, "probes": probes}[sys.argv[2]]()
    print("\n".join(faults + [f"{sys.argv[2]}: {len(faults)} faults"]))
    sys.exit(1 if faults else 0)
