# SPDX-License-Identifier: MIT
# Copyright (c) 2026 the lido authors
"""Files such as lido bench writes (schema lido-bench/2), made up but of the right order, for the tests of lido report.

    sample.py NAME > bench.json       NAME is a function of this file: full, many, losing, bare, empty, program, hostile

Everything follows from fixed seeds: the same file each time.
"""

import json
import math
import random
import statistics
import sys

HOSTILE = "</script><script>window.hacked = 1</script><img src=x onerror='window.hacked = 1'><!--"
MALLOCS = {"glibc": 1.0, "lido": 0.47, "jemalloc": 0.66, "tcmalloc": 0.57, "mimalloc": 0.97, "tbbmalloc": 2.6}
POOLS = {"lido-local": 0.13, "lido-shared": 0.49, "lido-fixed": 0.12, "boost-pool": 0.2, "boost-singleton": 1.5,
         "foonathan-node": 0.53, "pmr-pool": 2.2, "new-delete": 1.3}
WORKLOADS = {
    "pair64": ("one block allocated and freed", "allocate a block, write a word, free it at once", 6.2,
               {"count": 5000000, "size": 64}),
    "steady": ("one object destroyed and one created", "a population of constant size; each step destroys the oldest object",
               7.8, {"count": 1000000, "live": 256, "size": 56}),
    "mixed": ("one block created and one destroyed", "blocks of 1 to 1024 bytes at random, each alive for a random number of steps",
              27.1, {"count": 1000000, "life": 1000}),
    "batch128": ("one block allocated and freed", "allocate blocks and write a word to each, then free all of them", 486,
                 {"count": 1000000, "size": 128, "order": 0}),
}
MACHINE = {"cpu": "AMD EPYC 9R14", "cpus": 2, "memory_gb": 25.2, "kernel": "Linux 6.1.0-28-amd64", "libc": "glibc 2.36",
           "thp": "madvise", "governor": "unknown", "turbo": "unknown", "virtual_machine": True, "core_is_shared": False,
           "load_at_start": 0.12}


STEPS = 80    # of a histogram's middle: more only make the pages slower to draw


def histogram(rng, middle, operations=1000000):
    """Log-normal with a tail of page faults and interrupts; returns [[ns, count]...]."""
    counts = {}

    def put(ns, count):
        bucket = round(ns, 1) if ns < 100 else float(f"{ns:.2g}")
        counts[bucket] = counts.get(bucket, 0) + count

    for step in range(STEPS):
        share = (step + 0.5) / STEPS
        put(middle * math.exp(0.12 * statistics.NormalDist().inv_cdf(share)), operations // STEPS)
    for decade in range(1, 6):
        for _ in range(6):
            put(middle * 1.6 ** decade * 10 ** rng.uniform(0, 0.25 * decade), max(1, operations // 10 ** (decade + 1)))
    return sorted([ns, count] for ns, count in counts.items())


def percentiles(buckets):
    total, found, below = sum(count for _, count in buckets), {}, 0
    wanted = {"p50": 0.5, "p99": 0.99, "p999": 0.999, "p9999": 0.9999}
    for ns, count in buckets:
        below += count
        for key, share in wanted.items():
            if key not in found and below >= share * total:
                found[key] = ns
    return found | {"max": buckets[-1][0], "count": total, "histogram": buckets}


def memory(rng, live, factor):
    points, held = [], 0.0
    for i in range(64):
        alive = live * min(1, i / 12) * (1 + 0.1 * math.sin(i / 4))
        held = max(held * 0.995, alive * factor * rng.uniform(1, 1.03))
        points.append([i * 15873, round(alive), round(held + 600000)])
    return points


def ratio_of(median, spread, is_base):
    if is_base:
        return {"median": 1, "low": 1, "high": 1, "verdict": "baseline"}
    low, high = median * (1 - spread), median * (1 + spread)
    verdict = "no difference" if low <= 1 <= high else "faster" if high < 1 else "slower"
    return {"median": round(median, 5), "low": round(low, 5), "high": round(high, 5), "verdict": verdict}


def spread_of(rng, middle):
    samples = sorted(middle * rng.uniform(0.96, 1.06) for _ in range(7))
    rng.shuffle(samples)
    q1, median, q3 = statistics.quantiles(samples, n=4, method="inclusive")
    return {"median": median, "q1": q1, "q3": q3, "samples": samples}


def row(rng, name, factor, base_ns, litter):
    jitter = 1 if name == "glibc" else rng.uniform(0.85, 1.15)
    ns = base_ns * factor * jitter * (1.3 if litter else 1)
    spread = spread_of(rng, ns)
    live = 8e6
    return {
        "name": name, "kind": "pool" if name in POOLS else "malloc", "library": f"/usr/lib/lib{name}.so",
        "ns_per_op": spread, "ops_per_s": 1e9 / spread["median"],
        "ratio": ratio_of(spread["median"] / (base_ns * (1.3 if litter else 1)), rng.uniform(0.01, 0.08), name == "glibc"),
        "cpu_share": 0.998, "disturbed": False, "rss_peak_kb": round(9000 * rng.uniform(0.9, 1.3)), "rss_final_kb": 4100,
        "rss_start_kb": 1400, "lazyfree_kb": 0, "rss_settled_kb": 2300, "settle_ms": rng.choice([40, 120, -1]),
        "page_faults": 2100, "page_faults_timed": 12, "major_faults": 0, "voluntary_switches": 1, "involuntary_switches": 9,
        "user_s": 0.061, "system_s": 0.004, "cpu_use": 0.998,
        "latency": {"timer_ns": 18.4, "alloc": percentiles(histogram(rng, 20 + ns / 2)), "free": percentiles(histogram(rng, 19 + ns / 3))},
        "memory": memory(rng, live, 1 + 0.5 * factor),
        "counters": {"instructions": 40 * factor + 6, "cycles": 3.4 * ns, "cache_misses": 0.02, "dtlb_misses": 0.001},
        "system_calls": {"mmap": 3, "munmap": 1, "madvise": 4}, "counts": {}, "ratio_to_best_peer": factor / 0.57}


def means(workloads):
    result = []
    for name in MALLOCS:
        rows = [r for w in workloads for r in w["allocators"] if r["name"] == name and "failed" not in r]
        if rows:
            result.append({"allocator": name, "time": statistics.geometric_mean(r["ratio"]["median"] for r in rows),
                           "rss_peak": 1 if name == "glibc" else 1.02 + 0.03 * len(name), "workloads": len(rows)})
    return result


def report(workloads, **method):
    return {"schema": "lido-bench/2", "lido": "0.1.0", "machine": dict(MACHINE),
            "notes": ["turbo and frequency governor cannot be read here", "this is a virtual machine; its neighbours may move times"],
            "build": {"compiler": "gcc 12.2.0", "flags": "-O2 -g -DNDEBUG"},
            "method": {"rounds": 7, "seed": 40358, "pinned_cpu": 1, "clock": "wall", "quick": False, "interrupted": False,
                       "quotable": True, "litter": None, "optimize": "2", "baseline": "glibc", "confidence": 0.95, "bootstrap": 2000,
                       "baseline_repeats": 3, "precision": 0.03, "budget_s": 120.0} | method,
            "kind": "workloads", "workloads": workloads, "geometric_mean": means(workloads), "programs": []}


def workload(name, litter=None, factors=None):
    op, text, base_ns, parameters = WORKLOADS[name.rstrip("0123456789-x") if name not in WORKLOADS else name]
    rng = random.Random(name)
    rows = [row(rng, who, factor, base_ns, litter) for who, factor in (factors or MALLOCS | POOLS).items()]
    return {"name": name, "op": op, "help": text, "litter": litter, "parameters": parameters, "best_peer": "tcmalloc", "allocators": rows}


def full():
    workloads = [workload("pair64"), workload("steady"), workload("mixed"), workload("batch128", 25)]
    workloads[1]["allocators"][5] = {"name": "tbbmalloc", "kind": "malloc", "failed": "signal 11 (Segmentation fault) after 0.4 s in round 3"}
    workloads[2]["allocators"][1]["ratio"] = {"median": 0.985, "low": 0.96, "high": 1.02, "verdict": "no difference"}
    for entry in workloads[1]["allocators"]:
        entry.get("counts", {}).update({"heap_allocations": 1000000 if entry["kind"] == "malloc" else 1, "constructed": 1000256})
    return report(workloads)


def many():
    """Twelve workloads, each clean and littered: as many as a whole run gives, of the mallocs alone."""
    names = ["pair64", "steady", "mixed", "batch128"] + [f"{base}-x{i}" for i in (2, 3) for base in ("steady", "mixed")] + \
        ["steady-x4", "steady-x5", "mixed-x4", "mixed-x5"]
    return report([workload(name, litter, MALLOCS) for name in names for litter in (None, 50)])


def losing():
    """lido loses most, by an unfinished quick run on a busy machine."""
    factors = {"glibc": 1.0, "lido": 1.31, "jemalloc": 0.7, "tcmalloc": 0.6}
    workloads = [workload(name, None, factors) for name in ("pair64", "steady", "mixed")]
    workloads[0]["allocators"][1]["disturbed"] = True
    return report(workloads, quick=True, interrupted=True, quotable=False)


def bare():
    """Nearly everything null, as on a system that tells nothing."""
    rows = [{"name": "glibc", "kind": "malloc", "ns_per_op": {"median": 6.2, "q1": None, "q3": None, "samples": []}, "ratio": None},
            {"name": "lido", "kind": "malloc", "ns_per_op": {"median": 3.0, "q1": None, "q3": None, "samples": []},
             "ratio": {"median": 0.484, "low": None, "high": None, "verdict": None}, "latency": None, "memory": None, "counters": None},
            {"name": "lido-local", "kind": "pool", "ns_per_op": None, "ratio": None},
            {"name": "jemalloc", "kind": "malloc", "failed": "not run"}]
    return {"schema": "lido-bench/2", "lido": None, "machine": dict.fromkeys(MACHINE), "notes": [], "build": None, "method": None,
            "kind": "workloads", "workloads": [{"name": "pair64", "op": None, "help": None, "litter": None, "parameters": {},
                                                "best_peer": None, "allocators": rows}], "geometric_mean": [], "programs": []}


def empty():
    return {"schema": "lido-bench/2", "kind": "workloads", "workloads": []}


def program():
    commands = [["sqlite3", ":memory:", ".read work.sql"], ["python3", "work.py", "--repeat", "200"]]
    programs = []
    for command, base_s in zip(commands, (2.41, 1.22)):
        rng = random.Random(command[0])
        rows = []
        for name, factor in {"glibc": 1.0, "lido": 0.84, "jemalloc": 1.05, "tcmalloc": 0.95, "mimalloc": 0.99}.items():
            wall = base_s * factor
            rows.append({"name": name, "library": f"/usr/lib/lib{name}.so", "wall_s": spread_of(rng, wall),
                         "ratio": ratio_of(factor, 0.03, name == "glibc"), "user_s": wall * 0.94, "system_s": wall * 0.05,
                         "rss_peak_kb": round(88000 * rng.uniform(0.95, 1.25)), "page_faults": 21000, "major_faults": 0,
                         "voluntary_switches": 3, "involuntary_switches": 40, "exit_status": 0,
                         "output": "reference" if name == "glibc" else "same",
                         "memory": [[round(wall * i / 30, 3), round(88000 * min(1, i / 9) * rng.uniform(0.97, 1.08))] for i in range(31)]})
        rows.append({"name": "hoard", "failed": "time-out after 60 s"})
        programs.append({"command": command, "allocators": rows})
    return report([]) | {"kind": "program", "programs": programs}


def hostile():
    """Every text of the file tries to become markup."""
    def spoil(value, key=""):
        if isinstance(value, dict):
            return {k: spoil(v, k) for k, v in value.items()}
        if isinstance(value, list):
            return [spoil(v, key) for v in value]
        kept = key in ("schema", "kind", "verdict", "baseline", "time") or value in ("glibc", "lido")
        return f"{value}{HOSTILE}" if isinstance(value, str) and not kept else value
    data = spoil(full())
    data["workloads"][0]["parameters"][HOSTILE] = 1
    data["workloads"][0]["allocators"][0]["counts"] = {HOSTILE: 1}
    data["workloads"][0]["allocators"][0]["system_calls"] = {HOSTILE: 2}
    return data


if __name__ == "__main__":
    json.dump(globals()[sys.argv[1]](), sys.stdout)
    print()
