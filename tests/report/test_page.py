# SPDX-License-Identifier: MIT
# Copyright (c) 2026 the lido authors
"""The page of `lido report` in headless Chromium. Usage: test_page.py BUILD [CLASS]; 77 without a Chromium."""

import json
import math
import pathlib
import subprocess
import sys
import tempfile
import unittest

import browser
import sample

BUILD = pathlib.Path(sys.argv.pop(1)).resolve()
NAMES = ("full", "many", "losing", "bare", "empty", "program", "hostile")
PHONE, DESK = {"width": 360, "height": 740}, {"width": 1280, "height": 900}

# What is wider than the window, but for what scrolls inside a region of its own and what is only for screen readers.
TOO_WIDE = """[...document.querySelectorAll("body *")].filter((element) => {
    const box = element.getBoundingClientRect();
    if (box.width === 0 || element.closest(".scroll table, .unseen, .skip, defs")) return false;
    return box.left < -0.5 || box.right > innerWidth + 0.5;
}).map((element) => element.tagName + "." + element.className.baseVal + element.className)"""

# Text of a chart that sticks out of its chart or lies on another text.
TEXT_TROUBLE = """[...document.querySelectorAll("svg[role=img]")].filter((chart) => chart.clientWidth > 0).flatMap((chart) => {
    const frame = chart.getBoundingClientRect();
    const texts = [...chart.querySelectorAll("text")].filter((text) => text.textContent !== "")
        .map((text) => ({name: text.textContent, size: parseFloat(getComputedStyle(text).fontSize), box: text.getBoundingClientRect()}));
    const out = texts.filter(({box}) => box.left < frame.left - 1 || box.right > frame.right + 1 || box.top < frame.top - 2 || box.bottom > frame.bottom + 2)
        .map(({name}) => "outside: " + name);
    const small = texts.filter(({size, box}) => size < 12 || frame.width / chart.viewBox.baseVal.width < 0.99).map(({name}) => "small: " + name);
    const over = texts.flatMap((a, i) => texts.slice(i + 1).filter((b) => Math.min(a.box.right, b.box.right) - Math.max(a.box.left, b.box.left) > 1
        && Math.min(a.box.bottom, b.box.bottom) - Math.max(a.box.top, b.box.top) > 5).map((b) => `${a.name} on ${b.name}`));
    return [...out, ...small, ...over];
})"""

# Contrast of each text with what lies behind it, by the formula of WCAG 2; those below 4.5.
LOW_CONTRAST = """(() => {
    const parse = (color) => color.match(/[\\d.]+/g).map(Number);
    const light = (color) => parse(color).slice(0, 3).map((c) => c / 255).map((c) => c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
        .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
    const behind = (element) => {
        for (let at = element; at !== null; at = at.parentElement) {
            const color = getComputedStyle(at).backgroundColor;
            if ((parse(color)[3] ?? 1) > 0) return color;
        }
        return "rgb(255, 255, 255)";
    };
    return [...document.querySelectorAll("h1, h2, h3, p, li, a, dt, dd, td, th, figcaption, button, label, span, text, summary")]
        .filter((element) => element.textContent.trim() !== "" && element.getBoundingClientRect().width > 0 && !element.closest(".arrow") && !element.matches("svg a"))
        .map((element) => {
            const style = getComputedStyle(element);
            const [a, b] = [light(element instanceof SVGElement ? style.fill : style.color), light(behind(element))].sort((x, y) => y - x);
            return [(a + 0.05) / (b + 0.05), element.textContent.slice(0, 30)];
        }).filter(([ratio]) => ratio < 4.5);
})()"""


def timed(data):
    """The rows that have a ratio, the baseline apart: as many bars there must be."""
    groups = data.get("programs") or data.get("workloads") or []
    rows = [row for group in groups for row in group["allocators"]]
    return [row for row in rows if "failed" not in row and (row.get("ratio") or {}).get("median") and row["name"] != "glibc"]


class PageTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        cls.data, cls.tabs = {}, {}
        cls.browser = cls.enterClassContext(browser.Browser(cls.folder / "profile"))

    def open(self, name, **kwargs):
        """The page of a sample in a new tab, which is closed after the test."""
        page = self.load(name, **kwargs)
        self.addCleanup(page.close)
        self.addCleanup(self.check, name, page)
        return page

    def shared(self, name):
        """The same in a tab that all tests of the class look at, for those that only read it."""
        if name not in self.tabs:
            self.tabs[name] = self.load(name)
        self.addCleanup(self.check, name, self.tabs[name])
        return self.tabs[name]

    def load(self, name, **kwargs):
        if name not in self.data:
            self.data[name] = getattr(sample, name)()
            (self.folder / f"{name}.json").write_text(json.dumps(self.data[name]))
            subprocess.run([BUILD / "bin/lido", "report", self.folder / f"{name}.json"], check=True, timeout=60)
        return self.browser.open(self.url(name), **(DESK | kwargs))

    def url(self, name):
        return (self.folder / f"{name}.html").as_uri()

    def check(self, name, page):
        self.assertEqual([], page.problems, name)
        self.assertEqual([self.url(name)], [u for u in page.requests if u[:5] != "data:"])


class Content(PageTest):
    def headline(self, name):
        page = self.shared(name)
        return page.value("document.querySelector('h1').textContent").replace("\u202f", " "), \
            page.value("[...document.querySelectorAll('header .lead, .warnings li')].map((e) => e.textContent)")

    def test_headline(self):
        text, leads = self.headline("full")
        self.assertRegex(text, r"^Lido’s malloc took \d+ % less time than glibc over 4 workloads: faster on 3 and no difference on 1\.$")
        self.assertRegex(leads[0], r"The fastest of 5 mallocs was tcmalloc, with 0\.\d+ of glibc’s time\.")
        self.assertIn("1 row failed; each says why.", leads)

    def test_headline_of_a_loss(self):
        text, leads = self.headline("losing")
        self.assertRegex(text, r"^Lido’s malloc took \d+ % more time than glibc over 3 workloads: slower on 3\.$")
        self.assertRegex(leads[0], r"^The fastest of 4 mallocs was tcmalloc")
        self.assertTrue(any("interrupted" in lead for lead in leads) and any("quick run" in lead for lead in leads), leads)

    def test_other_headlines(self):
        self.assertEqual("Lido’s malloc took 52 % less time than glibc on pair64.", self.headline("bare")[0])
        self.assertIn("No interval is known for any ratio, so small differences may be chance.", self.headline("bare")[1])
        self.assertEqual("Nothing was measured: this file holds no rows.", self.headline("empty")[0])
        text, leads = self.headline("program")
        self.assertRegex(text, r"^Lido’s malloc took 16 % less time than glibc over 2 programs: faster on 2\.$")
        self.assertIn("The programs gave the same output under every allocator that could be compared.", leads)

    def test_every_row_has_its_bar(self):
        for name in NAMES:
            page, data = self.shared(name), self.data[name]
            bars = page.value("document.querySelectorAll('#each .bar').length")
            self.assertEqual(len(timed(data)), bars, name)
            intervals = sum(1 for row in timed(data) if row["ratio"]["low"] is not None)
            self.assertEqual(intervals, page.value("document.querySelectorAll('#each .whisker').length"), name)
            hollow = sum(1 for row in timed(data) if row["ratio"]["verdict"] == "no difference")
            self.assertEqual(hollow, page.value("document.querySelectorAll('#each .bar.open').length"), name)

    def test_bars_are_as_long_as_their_ratio(self):
        page = self.shared("full")
        have = page.value("""[...document.querySelector("#each article").querySelectorAll("g.row")].filter((row) => row.querySelector(".bar"))
            .map((row) => [row.querySelector(".name").textContent, Number(row.querySelector(".bar").getAttribute("x")),
                Number(row.querySelector(".bar").getAttribute("width"))])""")
        ratios = {row["name"]: row["ratio"]["median"] for row in timed({"workloads": self.data["full"]["workloads"][:1]})}
        self.assertEqual(set(ratios), {name for name, *_ in have})
        units = [width / abs(math.log(ratios[name])) for name, _, width in have]
        self.assertLess(max(units) / min(units), 1.02)
        ones = {round(x + width if ratios[name] < 1 else x, 1) for name, x, width in have}
        self.assertLess(max(ones) - min(ones), 0.3, "the bars start at 1")

    def test_curves(self):
        page = self.shared("full")
        figures = page.value("""[...document.querySelectorAll("#each figure")].map((f) => [f.closest("article").id, f.querySelector("figcaption").textContent,
            f.querySelectorAll(".curve").length, f.querySelectorAll("path.line.own").length])""")
        for index, group in enumerate(self.data["full"]["workloads"]):
            good = [row for row in group["allocators"] if "failed" not in row]
            own = sum(1 for row in good if row["name"].startswith("lido"))
            here = {caption: counts for id_, caption, *counts in figures if id_ == f"group-{index}"}
            self.assertEqual({"Time for one operation, relative to glibc": [0, 0], "Latency of an allocation": [len(good), own],
                              "Latency of a free": [len(good), own], "Memory held and live over the run": [len(good) + 1, own]}, here)

    def test_latency_text_is_that_of_the_data(self):
        page = self.shared("full")
        text = page.value("""[...document.querySelectorAll("#group-0 figure")].find((f) => f.textContent.includes("Latency of an allocation"))
            .querySelector(".curve.own title").textContent""").replace("\u202f", " ")
        rows = {row["name"]: row for row in self.data["full"]["workloads"][0]["allocators"]}
        name = text.split(":")[0]
        self.assertIn(f"median {rows[name]['latency']['alloc']['p50']:.1f} ns", text)

    def test_failures_say_why(self):
        page = self.shared("full")
        self.assertEqual(2, page.value("document.documentElement.innerText.match(/failed: signal 11/g).length"))
        self.assertIn("time-out after 60 s", self.shared("program").value("document.querySelector('#table').innerText"))

    def test_nothing_is_made_up(self):
        for name in ("bare", "empty", "program"):
            text = self.shared(name).value("document.querySelector('#page').textContent")
            for word in ("NaN", "undefined", "Infinity", "null", "[object"):
                self.assertNotIn(word, text, name)

    def test_method_says_how_often_rows_ran(self):
        text = self.shared("full").value("document.getElementById('method').textContent").replace("\u202f", " ")
        self.assertIn("7 rounds in random order. glibc ran 3 times in each, and rows with a wide interval more often.", text)

    def test_charts_are_named(self):
        for name in ("full", "program"):
            unnamed = self.shared(name).value("""[...document.querySelectorAll("svg[role=img]")].filter((chart) => !chart.getAttribute("aria-labelledby")
                .split(" ").every((id) => chart.querySelector("#" + id)?.textContent.length > 4)).length""")
            self.assertEqual(0, unnamed)
            ids = self.shared(name).value("[...document.querySelectorAll('[id]')].map((e) => e.id)")
            self.assertEqual(len(ids), len(set(ids)))

    def test_download_is_the_data(self):
        page = self.open("hostile")
        self.browser.call("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(self.folder / "got"), eventsEnabled=True)
        page.value("document.querySelector('a[download]').click()")
        file = self.folder / "got/lido-bench.json"
        for _ in range(100):
            if file.exists() and file.stat().st_size > 0:
                break
            page.value("new Promise((done) => setTimeout(done, 50))")
        self.assertEqual(self.data["hostile"], json.loads(file.read_text()))


class Sorting(PageTest):
    CELLS = "[...document.querySelectorAll('#figures tbody tr')].filter((r) => !r.hidden).map((r) => [...r.children].map((c) => c.textContent))"

    def rows(self, page):
        return [(cells[0], cells[1]) for cells in page.value(self.CELLS)]

    def head(self, page):
        return page.value("[...document.querySelectorAll('#figures thead th')].map((h) => [h.textContent, h.getAttribute('aria-sort')])")

    def click(self, page, name):
        page.value(f"[...document.querySelectorAll('#figures thead button')].find((b) => b.textContent === {json.dumps(name)}).click()")

    def expected(self, key, reverse):
        data = self.data["full"]["workloads"]
        rows = [(row, w) for w in data for row in w["allocators"]]
        known = sorted((r for r in rows if "failed" not in r[0]), key=lambda r: key(*r), reverse=reverse)
        return [(row["name"]) for row, _ in known + [r for r in rows if "failed" in r[0]]]

    def test_by_time_and_back(self):
        page = self.open("full")
        for reverse in (False, True):
            self.click(page, "time")
            self.assertEqual(self.expected(lambda row, _: row["ns_per_op"]["median"], reverse), [name for name, _ in self.rows(page)])
            marked = [(name, order) for name, order in self.head(page) if order]
            self.assertEqual([("time", "descending" if reverse else "ascending")], marked)

    def test_numbers_are_sorted_as_numbers(self):
        page = self.open("full")
        self.click(page, "alloc p99")
        self.assertEqual(self.expected(lambda row, _: row["latency"]["alloc"]["p99"], False), [name for name, _ in self.rows(page)])

    def test_by_name(self):
        page = self.open("full")
        self.click(page, "allocator")
        names = [name for name, _ in self.rows(page)]
        self.assertEqual(sorted(names), names)

    def test_keyboard(self):
        page = self.open("full")
        page.value("[...document.querySelectorAll('#figures thead button')].find((b) => b.textContent === 'ratio').focus()")
        page.press("Enter", 13, "\r")
        self.assertIn(["ratio", "ascending"], self.head(page))
        self.assertEqual(self.expected(lambda row, _: row["ratio"]["median"], False), [name for name, _ in self.rows(page)])
        page.press(" ", 32, " ")
        self.assertIn(["ratio", "descending"], self.head(page))
        tabs = page.value("[...document.querySelectorAll('#figures thead button')].every((b) => b.tabIndex === 0)")
        self.assertTrue(tabs)

    def test_filter(self):
        page = self.open("full")
        page.value("(() => { const f = document.querySelector('#filter'); f.value = 'LIDO-L'; f.dispatchEvent(new Event('input')); })()")
        self.assertEqual(["lido-local"] * 4, [name for name, _ in self.rows(page)])
        self.assertEqual("4 of 56 rows", page.value("document.querySelector('.filter output').textContent"))

    def test_parts(self):
        page = self.open("full")
        shown = "[...document.querySelectorAll('#figures thead th')].filter((h) => h.getBoundingClientRect().width > 0).map((h) => h.textContent)"
        self.assertIn("ratio", page.value(shown))
        page.value("document.querySelector('input[value=latency]').click()")
        self.assertIn("alloc p99.9", page.value(shown))
        self.assertNotIn("ratio", page.value(shown))


class Layout(PageTest):
    def test_nothing_is_wider_than_the_window_and_charts_are_legible(self):
        for name in NAMES:
            for size in (PHONE, {"width": 700, "height": 900}, DESK):
                page = self.load(name, **size)
                self.assertEqual(size["width"], page.value("document.scrollingElement.scrollWidth"), (name, size))
                self.assertEqual([], page.value(TOO_WIDE), (name, size))
                self.assertEqual([], page.value(TEXT_TROUBLE)[:8], (name, size))
                self.check(name, page)
                page.close()

    def test_charts_follow_the_width(self):
        page = self.open("full")
        page.resize(360, 740)
        page.settle()
        self.assertEqual([], page.value(TEXT_TROUBLE)[:8])
        self.assertEqual(360, page.value("document.scrollingElement.scrollWidth"))

    def test_dark_and_light(self):
        grounds = []
        for dark in (False, True):
            page = self.open("full", dark=dark)
            self.assertEqual([], page.value(LOW_CONTRAST)[:8], "dark" if dark else "light")
            grounds.append(page.value("getComputedStyle(document.body).backgroundColor"))
        self.assertEqual(2, len(set(grounds)), grounds)

    def test_many_workloads_open_on_demand(self):
        page = self.open("many")
        count = "[...document.querySelectorAll('#each svg[role=img]')].filter((c) => c.clientWidth > 0).length"
        self.assertEqual(24, page.value(count))
        page.value("document.querySelector('#group-3 .toggle').click()")
        page.settle()
        self.assertEqual(27, page.value(count))
        self.assertEqual("true", page.value("document.querySelector('#group-3 .toggle').getAttribute('aria-expanded')"))
        page.value("document.querySelector('#each > .controls button').click()")
        page.settle()
        self.assertEqual(24 * 4, page.value(count))

    def test_print(self):
        page = self.open("full", dark=True)
        page.call("Emulation.setEmulatedMedia", media="print", features=[{"name": "prefers-color-scheme", "value": "dark"}])
        self.assertEqual("rgb(255, 255, 255)", page.value("getComputedStyle(document.body).backgroundColor"))
        self.assertEqual("none", page.value("getComputedStyle(document.querySelector('nav')).display"))
        page.call("Emulation.setEmulatedMedia", media="")
        page.pdf(self.folder / "page.pdf")
        data = (self.folder / "page.pdf").read_bytes()
        self.assertTrue(data.startswith(b"%PDF-") and len(data) > 20000, len(data))
        self.assertLess(data.count(b"/Type /Page\n"), 14)


class Hostile(PageTest):
    def test_texts_stay_texts(self):
        page, tame = self.open("hostile"), self.open("full")
        self.assertEqual("undefined", page.value("typeof window.hacked"))
        self.assertEqual(0, page.value("document.querySelectorAll('img').length"))
        self.assertEqual(tame.value("document.scripts.length"), page.value("document.scripts.length"))
        self.assertIn(sample.HOSTILE, page.value("document.querySelector('#each').textContent"))


if __name__ == "__main__":
    if browser.find() is None:
        print("skipped: there is no Chromium (script/setup --dev installs it)")
        sys.exit(77)
    unittest.main(verbosity=1)
