# SPDX-License-Identifier: MIT
# Copyright (c) 2026 the lido authors
"""Programs that work on data of their own kind: sqlite3, git, ghostscript; and lido under valgrind's loader."""

from harness import INPUT, case

DEMO = INPUT.parents[2] / "tools/demo"
# Fixed names and dates, no settings of the machine: then git's object names are the same in both runs.
GIT_ENV = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_AUTHOR_NAME": "A",
    "GIT_AUTHOR_EMAIL": "a@lido",
    "GIT_AUTHOR_DATE": "1700000000 +0000",
    "GIT_COMMITTER_NAME": "C",
    "GIT_COMMITTER_EMAIL": "c@lido",
    "GIT_COMMITTER_DATE": "1700000000 +0000",
    "GIT_TERMINAL_PROMPT": "0",
}
SQLITE_OUT_OF_MEMORY = 7


@case({"sqlite3": "sqlite3"}, ["sqlite3 --version"], quick=True)
def sqlite3(s):
    """The demo's script, and the database file byte for byte; a full-text index; a memory limit that is reached."""
    batch = ["sqlite3", "-batch", "-bail"]
    s.cmd(*batch, "-cmd", ".param set :rows 8000", "work.db", stdin=DEMO / "work.sql")
    s.file("work.db")
    s.cmd(*batch, "words.db", stdin=INPUT / "words.sql")
    too_much = "pragma hard_heap_limit = 200000; select group_concat(body) from item;"
    s.cmd(*batch, "work.db", too_much, status=SQLITE_OUT_OF_MEMORY)


def history(count):
    """A stream for git fast-import: `count` commits on two branches over 40 files that grow and change."""
    lines = []
    for i in range(count):
        branch = "side" if i % 5 == 4 else "main"
        message = f"change {i}"
        text = "".join(f"line {k} of {i * 7919 % (k + 7)}\n" for k in range(i % 60 + 30))
        lines.append(f"commit refs/heads/{branch}\ncommitter C <c@lido> {1700000000 + i * 60} +0000")
        lines.append(f"data {len(message)}\n{message}")
        lines.append(f"M 100644 inline dir{i % 4}/file{i % 40}\ndata {len(text)}\n{text}")
    return "\n".join(lines) + "\n"


@case({"git": "git"}, ["git --version"], quick=True)
def git(s):
    """init, commits, log, diff, merge, repack with threads, gc, fsck, clone, blame, grep, archive."""

    def git(*words, **options):
        return s.cmd("git", *words, env=GIT_ENV, cwd=repo, **options)

    repo = s.path("repo/x", "").parent
    git("init", "-q", "-b", "main")
    git("fast-import", "--quiet", stdin=history(400).encode())
    git("checkout", "-q", "-f", "main")
    for i in range(6):
        s.path(f"repo/new{i}", f"new {i}\n" * (i + 1))
        git("add", "-A")
        git("commit", "-q", "-m", f"add {i}")
    git("log", "--stat", "--oneline", "-M", "-C")
    git("diff", "main~50", "main")
    git("merge", "-q", "-X", "ours", "--no-edit", "--allow-unrelated-histories", "side")
    git("repack", "-q", "-a", "-d", "-f", "--threads=2", "--depth=20", "--window=20")
    git("gc", "-q", "--aggressive", "--prune=now")
    git("fsck", "--full", "--strict", stderr=False)
    git("count-objects")
    git("verify-pack", "-s", *sorted(str(index) for index in (repo / ".git/objects/pack").glob("*.idx")))
    git("blame", "dir1/file1")
    git("grep", "-c", "--threads", "4", "-E", "line (1|2)[0-9]* of 5", "main")
    git("rev-list", "--all", "--objects")
    git("archive", "--format=tar", "-o", "../all.tar", "main")
    s.file("all.tar")
    git("clone", "-q", "--no-local", ".", "../copy")
    git("-C", "../copy", "status", "--short", "--branch")
    git("bundle", "create", "-q", "../all.bundle", "--all")
    git("bundle", "verify", "-q", "../all.bundle", stderr=False)


@case({"gs": "ghostscript"}, ["gs --version"], limit=90, quick=True)
def ghostscript(s):
    """PostScript to pixels, text and PDF, and that PDF to pixels; ghostscript runs its own collector over malloc."""
    gs = ["gs", "-q", "-dSAFER", "-dBATCH", "-dNOPAUSE", f"--permit-file-read={s.dir}/"]
    page = s.path("page.ps", (INPUT / "page.ps").read_bytes())
    threads = ["-dTextAlphaBits=4", "-dNumRenderingThreads=2"]
    s.cmd(*gs, "-sDEVICE=png16m", "-r60", *threads, "-o", "page%d.png", page)
    s.cmd(*gs, "-sDEVICE=txtwrite", "-o", "page.txt", page)
    s.cmd(*gs, "-sDEVICE=pdfwrite", "-o", "page.pdf", page)
    s.cmd(*gs, "-sDEVICE=pnggray", "-r40", "-o", "again%d.png", s.path("page.pdf"))
    s.file("page1.png", "page2.png", "page.txt", "again1.png", "again2.png")
    s.check(b"lido draws" in s.path("page.txt").read_bytes(), "the text of the page was not found again")


@case({"valgrind": "valgrind", "lua5.4": "lua5.4", "sqlite3": "sqlite3"}, ["lua5.4 -v"], limit=120)
def valgrind(s):
    """valgrind --tool=none translates every instruction; loader, signals and thread switching are its own."""
    tool = ["valgrind", "--tool=none", "-q", "--error-exitcode=9", "--trace-children=yes"]
    s.cmd(*tool, "lua5.4", DEMO / "work.lua", "0.02")
    rows = ["-cmd", ".param set :rows 300"]
    s.cmd(*tool, "sqlite3", "-batch", "-bail", *rows, "small.db", stdin=DEMO / "work.sql")
    s.cmd(*tool, "bash", "-c", "for i in 1 2 3; do (echo $i | sort); done; wait")
