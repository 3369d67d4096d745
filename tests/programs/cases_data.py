# SPDX-License-Identifier: MIT
# Copyright (c) 2026 the lido authors
"""Programs that work on data of their own kind: sqlite3, git, ghostscript; and lido under valgrind's loader."""

from harness import INPUT, case

DEMO = INPUT.parents[2] / "tools/demo"
# Fixed names and dates, no settings of the machine: then git's object names are the same in both runs.
GIT_ENV = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_AUTHOR_NAME": "A", "GIT_AUTHOR_EMAIL": "a@lido",
           "GIT_COMMITTER_NAME": "C", "GIT_COMMITTER_EMAIL": "c@lido", "GIT_AUTHOR_DATE": "1700000000 +0000",
           "GIT_COMMITTER_DATE": "1700000000 +0000", "GIT_TERMINAL_PROMPT": "0"}


@case({"sqlite3": "sqlite3"}, ["sqlite3 --version"], quick=True)
def sqlite3(s):
    """The demo's script, and the database file byte for byte; then a full-text index and a memory limit that is reached."""
    s.cmd("sqlite3", "-batch", "-bail", "-cmd", ".param set :rows 8000", "work.db", stdin=DEMO / "work.sql")
    s.file("work.db")
    s.cmd("sqlite3", "-batch", "-bail", "words.db", stdin=b"""
        create virtual table note using fts5(title, body);
        with recursive n(i) as (select 1 union all select i + 1 from n where i < 3000)
          insert into note select 'title ' || i % 97, printf('word%d ', i % 31) || printf('other%d ', i % 17) || hex(i * i) from n;
        select count(*), sum(length(snippet(note, 1, '[', ']', '..', 8))) from note where note match 'word7 or other3*';
        insert into note(note) values('optimize'); insert into note(note) values('integrity-check');
        pragma soft_heap_limit = 300000; select count(distinct body) from note;
.dump
""")
    s.cmd("sqlite3", "-batch", "work.db", "pragma hard_heap_limit = 200000; select group_concat(body) from item;", status=7)


def history(count):
    """A stream for git fast-import: `count` commits on two branches over 40 files that grow and change."""
    lines = []
    for i in range(count):
        branch = "side" if i % 5 == 4 else "main"
        text = "".join(f"line {k} of {i * 7919 % (k + 7)}\n" for k in range(i % 60 + 30))
        lines.append(f"commit refs/heads/{branch}\ncommitter C <c@lido> {1700000000 + i * 60} +0000\ndata {len(f'change {i}')}\nchange {i}")
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
    git("verify-pack", "-s", *[str(p) for p in sorted((repo / ".git/objects/pack").glob("*.idx"))])
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
    flags = ["-q", "-dSAFER", "-dBATCH", "-dNOPAUSE", f"--permit-file-read={s.dir}/"]
    page = s.path("page.ps", (INPUT / "page.ps").read_bytes())
    s.cmd("gs", *flags, "-sDEVICE=png16m", "-r60", "-dTextAlphaBits=4", "-dNumRenderingThreads=2", "-o", "page%d.png", page)
    s.cmd("gs", *flags, "-sDEVICE=txtwrite", "-o", "page.txt", page)
    s.cmd("gs", *flags, "-sDEVICE=pdfwrite", "-o", "page.pdf", page)
    s.cmd("gs", *flags, "-sDEVICE=pnggray", "-r40", "-o", "again%d.png", s.path("page.pdf"))
    s.file("page1.png", "page2.png", "page.txt", "again1.png", "again2.png")
    s.check(b"lido draws" in s.path("page.txt").read_bytes(), "the text of the page was not found again")


@case({"valgrind": "valgrind", "lua5.4": "lua5.4", "sqlite3": "sqlite3"}, ["lua5.4 -v"], limit=120)
def valgrind(s):
    """valgrind --tool=none translates every instruction and brings a loader, signals and thread switching of its own."""
    tool = ["valgrind", "--tool=none", "-q", "--error-exitcode=9", "--trace-children=yes"]
    s.cmd(*tool, "lua5.4", DEMO / "work.lua", "0.02")
    s.cmd(*tool, "sqlite3", "-batch", "-bail", "-cmd", ".param set :rows 300", "small.db", stdin=DEMO / "work.sql")
    s.cmd(*tool, "bash", "-c", "for i in 1 2 3; do (echo $i | sort); done; wait")
