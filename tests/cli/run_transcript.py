# SPDX-License-Identifier: MIT
# Copyright (c) 2026 the lido authors
"""Replays one transcript (see transcript.py). Usage: run_transcript.py BUILD FILE. Status 1 if a step differs."""

import pathlib
import sys

import transcript


def main():
    build, file = sys.argv[1:3]
    count, faults = transcript.run(pathlib.Path(file).read_text(), build)
    print("\n".join(faults + [f"{pathlib.Path(file).name}: {count} commands, {len(faults)} differ"]))
    return 1 if faults or count == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
