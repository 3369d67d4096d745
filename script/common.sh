# SPDX-License-Identifier: MIT
# Copyright (c) 2026 the lido authors
#
# Sourced by the programs of this folder: where the project is, where logs go, how they speak.
# After it, `root` is the project's folder, the shell stops at the first failing command, and unset names are errors.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
logs=$root/build/logs
jobs=${LIDO_JOBS:-$(nproc)}
me=script/${0##*/}

say() { printf '%s\n' "$*"; }
die() {
    printf '%s: %s\n' "$me" "$*" >&2
    exit 1
}

have() { command -v "$1" >/dev/null 2>&1; }

# usage FILE: the head comment of a script, after its licence, is its help text.
usage() { sed -n '5,/^[^#]/s/^# \{0,1\}//p' "$1"; }

# logged NAME COMMAND...: runs COMMAND with its output in build/logs/NAME.log; on failure shows what matters of it.
logged() {
    local log=$logs/$1.log
    shift
    mkdir -p "$logs"
    if "$@" >"$log" 2>&1 </dev/null; then return 0; fi
    say "failed: $*" >&2
    { grep -E -A4 '(error|Error|FAILED|undefined reference)' "$log" || tail -n 20 "$log"; } | head -n 40 >&2
    say "the whole output is in ${log#"$root"/}" >&2
    return 1
}

# ensure GROUP...: installs what is missing of these package groups; without a word when there is nothing to do.
ensure() { "$root/script/setup" --quiet "$@"; }
