"""laptime plan --published --html: one small file that plots predicted against published figures and loads nothing."""

import json
import os
import re
import sys
import unittest
from pathlib import Path

from program import ProgramTest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
import browser  # noqa: E402

TABLES = ",".join(str(ROOT / "published" / name) for name in ("figures.csv", "clusters.csv"))


class PublishedPage(ProgramTest):
    def make(self) -> Path:
        page = self.folder / "page.html"
        done = self.laptime("plan", "--published", TABLES, "--html", str(page))
        self.assert_ok(done)
        self.assertIn("page written to", done.stderr)
        self.assertRegex(done.stdout.splitlines()[0], r"^\d+ of \d+ figures predicted: ")
        return page

    def test_page_is_small_and_has_every_predicted_figure(self):
        page = self.make()
        self.assertLess(page.stat().st_size, 2_000_000)
        data = json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', page.read_text(), re.DOTALL)[1])
        self.assertIn(f"{len(data['points'])} of ", data["headline"])
        self.assertEqual({point["kind"] for point in data["points"]}, {"time", "memory"})
        for point in data["points"]:
            self.assertAlmostEqual(point["predicted"] / point["published"] - 1, point["error"], places=9)

    def test_page_is_written_even_if_nobody_reads_the_table(self):
        page = self.folder / "page.html"
        reading, writing = os.pipe()
        os.close(reading)
        done = self.laptime("plan", "--published", str(ROOT / "published/clusters.csv"), "--html", str(page), stdout=writing)
        os.close(writing)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(page.exists(), done.stderr)

    def test_html_needs_published_and_must_not_overwrite_its_input(self):
        done = self.laptime("plan", "--model", "small", "--html", "page.html")
        self.assertEqual(done.returncode, 2)
        self.assertIn("--html needs --published", done.stderr)
        done = self.laptime("plan", "--published", str(ROOT / "published/clusters.csv"), "--html", str(ROOT / "published/clusters.csv"))
        self.assertEqual(done.returncode, 2)
        self.assertIn("--html", done.stderr)

    @unittest.skipUnless(browser.find_chromium(), "needs Chromium")
    def test_draws_in_light_and_dark_and_on_a_phone(self):
        page = self.make()
        with browser.Browser() as chromium:
            for width, dark in ((1280, False), (1280, True), (390, False)):
                chromium.resize(width, 900)
                chromium.show_as(dark=dark)
                chromium.open(page)
                self.assertEqual(chromium.console, [])
                self.assertEqual({url for url in chromium.requests if not url.startswith("data:")}, {page.as_uri()})
                shapes = chromium.run("[...document.querySelectorAll('.chart')].map(one => one.querySelectorAll('svg path').length)")
                self.assertEqual(len(shapes), 2)
                self.assertGreater(shapes[0], 900)
                self.assertLessEqual(chromium.run("document.documentElement.scrollWidth - innerWidth"), 0)
            series = "echarts.getInstanceByDom(document.getElementById('chart-times')).getOption().series.map(({ name }) => name)"
            before = chromium.run(series)
            chromium.run("document.querySelector('[data-value=machine]').click()")
            self.assertNotEqual(chromium.run(series), before)
            self.assertIn("h100", chromium.run(series))
            chromium.run("document.querySelector('#times summary').click()")
            self.assertGreater(chromium.run("document.querySelectorAll('#times details tbody tr').length"), 900)
            self.assertEqual(chromium.console, [])


if __name__ == "__main__":
    unittest.main()
