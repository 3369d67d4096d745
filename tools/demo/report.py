# SPDX-License-Identifier: MIT
# Copyright (c) 2026 the lido authors
"""Output of script/demo: progress on a terminal, the table, and the same figures as JSON (schema lido-demo/1)."""

import math
import os
import platform
import shutil
import statistics
import time
from pathlib import Path

# (name of a figure, in a run and in the JSON; heading; factor; decimals)
COLUMNS = [
    ("wall_s", "wall s", 1, 2),
    ("cpu_s", "CPU s", 1, 2),
    ("rss_peak_kb", "peak MB", 1 / 1024, 1),
    ("page_faults", "faults", 1, 0),
]


class Progress:
    """One line that overwrites itself, on a terminal only; in a pipe or a log nothing is written."""

    def __init__(self, stream):
        self.stream, self.shown = stream, stream.isatty()

    def show(self, text):
        if self.shown:
            width = shutil.get_terminal_size().columns - 1
            self.stream.write("\r" + text[:width].ljust(min(width, 78)))
            self.stream.flush()

    def clear(self):
        if self.shown:
            self.stream.write("\r" + " " * min(shutil.get_terminal_size().columns - 1, 78) + "\r")
            self.stream.flush()


def medians(row):
    """{JSON key: median over the rounds}, empty for a row without valid runs."""
    if row.fault or not row.runs:
        return {}
    return {key: statistics.median(getattr(run, key) for run in row.runs) for key, *_ in COLUMNS}


def spread(row):
    """Half the range of the CPU times over their median: what a difference must exceed to mean anything."""
    times = [run.cpu_s for run in row.runs]
    return (max(times) - min(times)) / 2 / statistics.median(times)


def ratios(row, base):
    own, libc = medians(row), medians(base)
    return {key: own[key] / libc[key] for key in own if libc.get(key)}


def table(demo, out):
    """The table for people: a block a program, a row an allocator, then the geometric means over the programs."""
    out.write(
        f"Real programs on each malloc: median of {demo.rounds} rounds in shuffled order (seed {demo.seed}), "
        f"{machine()['summary']}.\n(x) is the ratio to libc in the same run; below 1 is less time or memory. "
        "CPU+- is half the range of the rounds.\n"
    )
    if demo.load > 1:
        out.write(
            f"Other programs were at work when this began (load {demo.load:.1f}): trust CPU time, not wall time.\n"
        )
    for workload in demo.workloads:
        out.write(f"\n{workload.name}: {workload.title}\n")
        head = "".join(f"{name:>10}{'(x)':>7}" for _, name, _, _ in COLUMNS)
        out.write(f"  {'malloc':<10}{head}  CPU+-  output\n")
        for allocator in demo.allocators:
            out.write("  " + table_row(demo, workload.name, allocator.name) + "\n")
        if workload.note:
            out.write(f"  ({workload.note})\n")
    summary(demo, out)
    for name, package in demo.absent.items():
        out.write(f"{name}: not installed ({package}; script/setup --programs)\n")
    out.write(f"{demo.seconds:.0f} s in all\n")


def table_row(demo, workload, allocator):
    row, base = demo.rows[workload, allocator], demo.rows[workload, "libc"]
    if row.fault:
        return f"{allocator:<10}  " + ("FAILED: " if row.installed else "") + row.fault
    own, ratio = medians(row), ratios(row, base)
    cells = []
    for key, _, factor, decimals in COLUMNS:
        part = f"{ratio[key]:.2f}" if key in ratio else "-"
        cells.append(f"{own[key] * factor:>10,.{decimals}f}{part:>7}")
    verdict = "reference" if allocator == "libc" else "same"
    return f"{allocator:<10}{''.join(cells)}{spread(row):>7.0%}  {verdict}"


def summary(demo, out):
    """Geometric means over the programs for which an allocator has a valid row, next to how many those are."""
    out.write("\nGeometric mean of the ratios to libc over the programs\n")
    head = "".join(f"{name.split()[0]:>10}" for _, name, _, _ in COLUMNS)
    out.write(f"  {'malloc':<10}{head}  programs\n")
    for allocator in demo.allocators:
        means, count = geometric_means(demo, allocator.name)
        cells = "".join(f"{means[key]:>10.2f}" if key in means else f"{'-':>10}" for key, *_ in COLUMNS)
        out.write(f"  {allocator.name:<10}{cells}  {count} of {len(demo.workloads)}\n")


def geometric_means(demo, allocator):
    rows = [ratios(demo.rows[w.name, allocator], demo.rows[w.name, "libc"]) for w in demo.workloads]
    rows = [row for row in rows if row]
    means = {}
    for key, *_ in COLUMNS:
        values = [row[key] for row in rows if row.get(key)]
        if values:
            means[key] = math.exp(sum(map(math.log, values)) / len(values))
    return means, len(rows)


def as_json(demo):
    """Everything measured. times are seconds, memory is kB (1,024 bytes); `runs` keeps every round."""
    rows = []
    for row in demo.rows.values():
        rows.append(
            {
                "program": row.workload,
                "allocator": row.allocator,
                "fault": row.fault,
                "installed": row.installed,
                "output_sha256": row.runs[-1].digest if row.runs else None,
                "output_same": bool(row.runs) and not row.fault,
                "median": medians(row),
                "ratio_to_libc": ratios(row, demo.rows[row.workload, "libc"]),
                "runs": [{key: getattr(run, key) for key, *_ in COLUMNS} for run in row.runs],
            }
        )
    return {
        "schema": "lido-demo/1",
        "machine": machine(),
        "form": demo.chosen.form,
        "scale": demo.scale,
        "rounds": demo.rounds,
        "seed": demo.seed,
        "seconds": round(demo.seconds, 1),
        "load_before": demo.load,
        "lido_options": os.environ.get("LIDO_OPTIONS", ""),
        "allocators": {a.name: a.library.name if a.library else None for a in demo.allocators},
        "not_installed": demo.absent,
        "rows": rows,
        "geometric_mean": {a.name: geometric_means(demo, a.name)[0] for a in demo.allocators},
    }


def machine():
    """What the figures depend on, as far as the system tells."""
    facts = {
        "cpu": _field("/proc/cpuinfo", "model name"),
        "cores": len(os.sched_getaffinity(0)),
        "memory_kb": int((_field("/proc/meminfo", "MemTotal") or "0 kB").split()[0]),
        "kernel": platform.release(),
        "libc": " ".join(platform.libc_ver()),
        "system": _pretty_name(),
        "thp": _read("/sys/kernel/mm/transparent_hugepage/enabled"),
        "governor": _read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
    }
    facts["summary"] = f"{facts['cores']} cores of {facts['cpu'] or 'an unknown CPU'}, {facts['system']}"
    return facts


def _read(path):
    try:
        return Path(path).read_text().strip()
    except OSError:
        return None


def _field(path, name):
    for line in (_read(path) or "").splitlines():
        if line.split(":")[0].strip() == name:
            return line.split(":", 1)[1].strip()
    return None


def _pretty_name():
    for line in (_read("/etc/os-release") or "").splitlines():
        if line.startswith("PRETTY_NAME="):
            return line.split("=", 1)[1].strip('"')
    return platform.system()
