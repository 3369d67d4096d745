# SPDX-License-Identifier: MIT
# Copyright (c) 2026 the lido authors
"""The command `lido report`: what it writes where, and what it says to what it cannot use. Usage: test_report.py BUILD"""

import html.parser
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import sample

BUILD = pathlib.Path(sys.argv.pop(1)).resolve()


class PageParser(html.parser.HTMLParser):
    """The elements of a page, and the text of each <script>."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.scripts, self.inside = [], [], False
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag == "script":
            self.scripts.append("")
        self.inside = tag == "script"

    def handle_endtag(self, tag):
        self.inside = False

    def handle_data(self, data):
        if self.inside:
            self.scripts[-1] += data


class Command(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def report(self, *words, expect=0, **kwargs):
        done = subprocess.run([BUILD / "bin/lido", "report", *words], capture_output=True, cwd=self.folder, timeout=60, **kwargs)
        self.assertEqual(expect, done.returncode, done.stderr)
        return done

    def put(self, data, name="bench.json"):
        text = data if isinstance(data, (str, bytes)) else json.dumps(data)
        (self.folder / name).write_bytes(text if isinstance(text, bytes) else text.encode())
        return name

    def refused(self, *words, says, expect=1, **kwargs):
        """One line on stderr that holds `says`, nothing on stdout, and no page nor a part of one."""
        before = sorted(path.name for path in self.folder.iterdir())
        done = self.report(*words, expect=expect, **kwargs)
        lines = done.stderr.decode().splitlines()
        self.assertEqual(1, len(lines), lines)
        self.assertRegex(lines[0], r"^lido report: .*" + says)
        self.assertEqual(b"", done.stdout)
        self.assertEqual(before, sorted(path.name for path in self.folder.iterdir()))

    # ---- what it writes ----

    def test_page_holds_the_data_as_they_are(self):
        for name in ("full", "many", "losing", "bare", "empty", "program", "hostile"):
            data = getattr(sample, name)()
            self.put(data)
            done = self.report("bench.json")
            self.assertEqual((b"", b""), (done.stdout, done.stderr))
            page = PageParser((self.folder / "bench.html").read_text())
            self.assertEqual(data, json.loads(page.scripts[0]), name)
            self.assertEqual(2, len(page.scripts), name)

    def test_numbers_keep_their_digits(self):
        text = json.dumps(sample.bare()).replace("6.2", "6.20000000000000000001").replace("3.0", "18446744073709551615")
        self.put(text)
        self.report("bench.json")
        self.assertIn(text, (self.folder / "bench.html").read_text())

    def test_page_loads_nothing(self):
        self.put(sample.full())
        self.report("bench.json")
        text = (self.folder / "bench.html").read_text()
        for tag, attributes in PageParser(text).tags:
            self.assertNotIn("src", attributes, tag)
            if "href" in attributes:
                self.assertRegex(attributes["href"], r"^(#|data:)")
        self.assertEqual([], re.findall(r"url\(|@import|fetch\(|XMLHttpRequest|\.innerHTML|document\.write|eval\(", text))
        self.assertEqual({"http://www.w3.org/2000/svg"}, set(re.findall(r"https?://[^\"' )]+", text)))

    def test_hostile_texts_stay_in_the_data(self):
        self.put(sample.full())
        self.report("bench.json", "-o", "tame.html")
        self.put(sample.hostile())
        self.report("bench.json", "-o", "hostile.html")
        tame, hostile = (PageParser((self.folder / name).read_text()) for name in ("tame.html", "hostile.html"))
        self.assertEqual(tame.tags, hostile.tags)
        self.assertEqual(tame.scripts[1], hostile.scripts[1])
        self.assertNotIn("<", hostile.scripts[0])

    def test_where_the_page_goes(self):
        self.put(sample.bare())
        self.put(sample.bare(), "figures")
        self.put(sample.bare(), ".json")
        self.put(sample.bare(), "--odd.json")
        for words, name in ((["bench.json"], "bench.html"), (["figures"], "figures.html"), ([".json"], ".json.html"),
                            (["bench.json", "-o", "a.html"], "a.html"), (["-ob.html", "bench.json"], "b.html"),
                            (["--output=c.html", "bench.json"], "c.html"), (["bench.json", "--output", "d.html"], "d.html"),
                            (["--", "--odd.json"], "--odd.html")):
            self.assertFalse((self.folder / name).exists())
            self.report(*words)
            self.assertIn("<!doctype html>", (self.folder / name).read_text(), words)

    def test_stdin_and_stdout(self):
        text = json.dumps(sample.bare()).encode()
        self.put(text)
        self.report("bench.json")
        page = (self.folder / "bench.html").read_bytes()
        self.assertEqual(page, self.report("bench.json", "-o", "-").stdout)
        self.assertEqual(page, self.report("-", input=text).stdout)
        self.assertEqual(page, self.report("bench.json", "-o", "/dev/stdout").stdout)

    def test_an_older_page_is_replaced_as_a_whole(self):
        self.put(sample.bare())
        (self.folder / "page.html").write_text("old")
        (self.folder / "link.html").symlink_to("page.html")
        other = os.link(self.folder / "page.html", self.folder / "kept.html")
        self.assertIsNone(other)
        self.report("bench.json", "-o", "link.html")
        self.assertTrue((self.folder / "link.html").is_symlink())
        self.assertIn("<!doctype html>", (self.folder / "page.html").read_text())
        self.assertEqual("old", (self.folder / "kept.html").read_text(), "written in place instead of renamed")

    def test_mode_is_that_of_a_new_file(self):
        self.put(sample.bare())
        self.report("bench.json", umask=0o027)
        self.assertEqual(0o640, (self.folder / "bench.html").stat().st_mode & 0o777)

    # ---- what it refuses ----

    def test_damaged(self):
        whole = json.dumps(sample.full(), indent=1)
        for text, says in ((whole[:len(whole) // 2], r"bench\.json:\d+:\d+: not JSON: .*damaged"), ("", "bench.json: the file is empty"),
                           ("\x00\x01\x1b[31m", "bench.json:1:.*not JSON"), (b'{"schema": "\xff\xfe"}', "bench.json:1:.*not JSON"),
                           ("[" * 100000, "bench.json:1:.*not JSON"), (whole + "}", "bench.json:.*not JSON"),
                           ('{"schema": "lido-bench/2", "kind": "program", "kind": "workloads"}', "bench.json:1:.*not JSON"),
                           ("[1, 2]", "not a file of lido bench"), ("{}", "not a file of lido bench")):
            self.put(text)
            self.refused("bench.json", says=says)
        self.put("\x1b[31m")
        self.assertNotIn(b"\x1b", self.report("bench.json", expect=1).stderr)

    def test_other_schemas(self):
        for schema, says in (("lido-bench/1", "older lido.*measure again: lido bench --save"), ("lido-bench/3", "newer lido"),
                             ("lido-bench/20", "newer lido"), ("hyperfine", "its schema is another one"), (2, "no \"schema\"")):
            self.put(sample.full() | {"schema": schema})
            self.refused("bench.json", says=says)

    def test_shape(self):
        def broken(change):
            data = sample.full()
            change(data)
            return data

        row = lambda data: data["workloads"][1]["allocators"][2]
        cases = [(lambda d: d.update(kind="other"), 'kind must be "workloads" or "program"'), (lambda d: d.pop("kind"), "kind must be a text"),
                 (lambda d: d.update(workloads={}), "workloads must be a list"), (lambda d: d["workloads"].append(7), r"workloads\[4\] must be an object"),
                 (lambda d: row(d).pop("name"), r"workloads\[1\]\.allocators\[2\]\.name must be a text"),
                 (lambda d: row(d)["ns_per_op"].update(median="fast"), r"workloads\[1\]\.allocators\[2\]\.ns_per_op\.median must be a number"),
                 (lambda d: row(d)["latency"]["alloc"].update(histogram=[[1, 2, 3]]), r"latency\.alloc\.histogram\[0\] must be a list of 2 numbers"),
                 (lambda d: row(d).update(memory=[[1, 2, None]]), r"memory\[0\] must be a list of 3 numbers"),
                 (lambda d: row(d).update(disturbed=1), "disturbed must be true or false"),
                 (lambda d: row(d).update(system_calls={"mmap": "many"}), "system_calls must be an object of numbers"),
                 (lambda d: d["machine"].update(cpu=3), r"machine\.cpu must be a text"), (lambda d: d.update(notes="none"), "notes must be a list"),
                 (lambda d: d.update(programs=[{"command": "ls", "allocators": []}]), r"programs\[0\]\.command must be a list")]
        for change, says in cases:
            self.put(broken(change))
            self.refused("bench.json", says=r"bench\.json: .*" + says)

    def test_what_cannot_be_read(self):
        self.refused("missing.json", says="missing.json: No such file or directory; it reads what")
        (self.folder / "folder.json").mkdir()
        self.refused("folder.json", says="folder.json: Is a directory")
        self.put(sample.bare())
        (self.folder / "bench.json").chmod(0)
        if not os.access(self.folder / "bench.json", os.R_OK):
            self.refused("bench.json", says="bench.json: Permission denied")

    def test_where_it_cannot_write(self):
        self.put(sample.bare())
        self.refused("bench.json", "-o", "no/such/page.html", says="no/such/page.html: No such file or directory; .*-o FILE")
        (self.folder / "taken").mkdir()
        self.refused("bench.json", "-o", "taken", says="taken: Is a directory")
        self.refused("bench.json", "-o", "/dev/full", says="/dev/full: No space left on device")
        with open("/dev/full", "wb") as full:
            done = subprocess.run([BUILD / "bin/lido", "report", "bench.json", "-o", "-"], cwd=self.folder, stdout=full, stderr=subprocess.PIPE)
        self.assertEqual((1, 1), (done.returncode, done.stderr.count(b"\n")), done.stderr)
        self.assertIn(b"stdout: No space left", done.stderr)

    def test_a_failed_write_leaves_the_old_page(self):
        self.put(sample.full())
        (self.folder / "bench.html").write_text("old")
        limit = "import resource, signal, os, sys; signal.signal(signal.SIGXFSZ, signal.SIG_IGN); " \
            "resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096)); os.execv(sys.argv[1], sys.argv[1:])"
        done = subprocess.run([sys.executable, "-c", limit, BUILD / "bin/lido", "report", "bench.json"], cwd=self.folder, capture_output=True)
        self.assertEqual(1, done.returncode, done.stderr)
        self.assertIn(b"bench.html: File too large", done.stderr)
        self.assertEqual("old", (self.folder / "bench.html").read_text())
        self.assertEqual(["bench.html", "bench.json"], sorted(path.name for path in self.folder.iterdir()))

    def test_command_line(self):
        self.put(sample.bare())
        for words, says in (([], "which file"), ([""], "which file"), (["bench.json", "b.json"], "'b.json' is one file too many"),
                            (["--wide", "bench.json"], "unknown option '--wide'"), (["bench.json", "-o"], "-o needs the name"),
                            (["bench.json", "--output="], "-o needs the name"), (["bench.json", "-o", "bench.json"], "that is the file to read")):
            self.refused(*words, says=says, expect=2)
        self.assertEqual(sample.bare(), json.loads((self.folder / "bench.json").read_text()))


if __name__ == "__main__":
    unittest.main(verbosity=1)
