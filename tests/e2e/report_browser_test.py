"""The page of laptime report in a real browser: drawing, selection, copying and printing."""

import csv
import io
import json
import sqlite3
import sys
import unittest
from contextlib import closing
from pathlib import Path

from report_test import ReportTest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))
import browser  # noqa: E402

HOSTILE = "</script><script>document.title='taken'</script><img src=http://127.0.0.1:8/x onerror=alert(1)>"
CHARTS = "[...document.querySelectorAll('.chart:not([hidden])')]"
# The image of each chart, without the ids that the library assigns to its elements.
DRAWN = f"Object.fromEntries({CHARTS}.map(one => [one.id, one.querySelector('svg').outerHTML.replace(/zr\\d+-[a-z]*-?\\d*/g, '')]))"
WORDS = """(() => {
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT, node =>
      node.parentElement.closest("script, style, noscript, details, svg") ? 2 : 1);
    let count = 0;
    while (texts.nextNode()) count += texts.currentNode.textContent.split(/\\s+/).filter(Boolean).length;
    return count;
  })()"""


@unittest.skipUnless(browser.find_chromium(), "needs Chromium")
class ReportInBrowser(ReportTest):
    made = None  # the store and the page that all tests start from

    @classmethod
    def setUpClass(cls):
        cls.chromium = browser.Browser()
        cls.addClassCleanup(cls.chromium.close)

    def setUp(self):
        super().setUp()
        self.page = self.folder / "page.html"
        if ReportInBrowser.made is None:
            self.measured_page()
            ReportInBrowser.made = (self.store.read_bytes(), self.page.read_bytes())
        for path, content in zip((self.store, self.page), ReportInBrowser.made):
            path.write_bytes(content)
        self.chromium.console.clear()
        self.chromium.requests.clear()
        self.chromium.resize(1280, 800)

    def open(self, **look):
        self.chromium.show_as(**look)
        self.chromium.open(self.page)

    def overflow(self) -> int:
        return self.chromium.run("document.documentElement.scrollWidth - innerWidth")

    def test_draws_without_errors_and_loads_nothing(self):
        for look in ({}, {"dark": True}):
            self.open(**look)
            self.assertEqual(self.chromium.console, [])
            self.assertEqual({url for url in self.chromium.requests if not url.startswith("data:")}, {self.page.as_uri()})
            charts = self.chromium.run(f"{CHARTS}.map(one => [one.id, one.ariaLabel, one.querySelectorAll('svg path').length])")
            self.assertEqual([name for name, *_ in charts], ["chart-time", "chart-work", "chart-memory", "chart-contexts",
                                                             "chart-roofline", "chart-trust"] + [name for name, *_ in charts[6:]])
            for name, label, shapes in charts:
                self.assertGreater(shapes, 5, name)
                self.assertRegex(label, r"\.$", name)
            self.assertLessEqual(self.overflow(), 0)

    def test_uncertainties_are_written_as_in_tables(self):
        self.open()
        for value, text in ((0, "±0 %"), (0.0002, "±0.1 %"), (0.0034, "±0.3 %"), (0.026, "±3 %"), (2.5, "±250 %"), (None, "")):
            self.assertEqual(self.chromium.run(f"charts.text.error({json.dumps(value)})"), text)

    def test_small_shares_are_written_as_in_tables(self):
        self.open()
        for value, text in ((0, "0 %"), (0.000013, "0.0013 %"), (0.0005, "0.05 %"), (0.001, "0.1 %"), (0.0995, "10 %"), (None, "-")):
            self.assertEqual(self.chromium.run(f"charts.text.percent({json.dumps(value)})"), text)

    def test_first_screen_shows_a_chart_with_its_summary(self):
        self.open()
        top, bottom, says = self.chromium.run("""["chart-time", "says-time"].flatMap(id => {
            const { top, bottom } = document.getElementById(id).getBoundingClientRect();
            return id === "chart-time" ? [top, bottom] : [bottom];
          })""")
        self.assertLess(top, 300)
        self.assertLess(max(bottom, says), 800)
        self.assertEqual(self.chromium.run("document.querySelectorAll('#tiles div').length"), 4)
        self.assertLess(self.chromium.run(WORDS), 800)
        self.assertLess(self.chromium.run("document.documentElement.scrollHeight"), 6 * 800)

    def test_links_land_on_their_sections(self):
        self.open()
        links = self.chromium.run("[...document.querySelectorAll('nav a')].map(one => one.getAttribute('href'))")
        self.assertEqual(links, self.chromium.run("[...document.querySelectorAll('main > section')].map(one => '#' + one.id)"))
        self.assertEqual(len(links), 6)
        self.chromium.run("document.documentElement.style.scrollBehavior = 'auto'")
        for link in links:
            top, bottom, end = self.chromium.run(f"""(() => {{
                document.querySelector('nav a[href="{link}"]').click();
                return [document.querySelector("{link} h2").getBoundingClientRect().top, document.querySelector("nav").getBoundingClientRect().bottom,
                        Math.abs(document.documentElement.scrollHeight - innerHeight - scrollY) < 1];
              }})()""")
            self.assertTrue(end or 0 <= top - bottom <= 40, (link, top, bottom))

    def test_selecting_a_point_changes_every_chart(self):
        self.open()
        before = self.chromium.run(DRAWN)
        self.chromium.run("document.querySelector('#compare tr[aria-selected=false]').click()")
        after = self.chromium.run(DRAWN)
        for name in before:
            self.assertNotEqual(before[name], after.get(name), name)
        texts = self.chromium.run("[...document.querySelectorAll('h2 small')].map(one => one.textContent).filter(Boolean)")
        self.assertEqual(len(set(texts)), 1)
        # A point can also be selected with a value of an axis, the keyboard, or a bar.
        self.chromium.run("document.querySelector('#selector [aria-pressed=false][data-axis=mode]').click()")
        chosen = self.chromium.run("document.querySelector('#compare tr[aria-selected=true]').dataset.index")
        self.chromium.run("""document.querySelector('#compare tr[aria-selected=false]').dispatchEvent(
            new KeyboardEvent('keydown', { key: 'Enter' }))""")
        self.assertNotEqual(self.chromium.run("document.querySelector('#compare tr[aria-selected=true]').dataset.index"), chosen)
        before = self.chromium.run("document.getElementById('says-time').textContent")
        self.chromium.run("""(chart => chart.trigger("click", { componentType: "series", dataIndex:
            chart.getOption().series[0].data.findIndex(({ itemStyle }) => itemStyle.opacity < 1) }))(
            echarts.getInstanceByDom(document.getElementById("chart-time"))), 0""")
        self.assertNotEqual(self.chromium.run("document.getElementById('says-time').textContent"), before)
        self.assertEqual(self.chromium.console, [])

    def test_every_point_can_be_selected(self):
        self.open()
        for index in range(12):
            self.chromium.run(f"document.querySelector('#compare tr[data-index=\"{index}\"]').click()")
            self.assertEqual(self.chromium.run("document.querySelectorAll('tr[aria-selected=true]').length"), 1)
            self.assertGreaterEqual(self.chromium.run(f"{CHARTS}.length"), 6)
        self.assertEqual(self.chromium.console, [])

    def test_record_names_are_not_treated_as_markup(self):
        with closing(sqlite3.connect(self.store)) as database:
            for number, text in database.execute("SELECT id, json FROM records").fetchall():
                record = dict(json.loads(text), label=HOSTILE)
                record["machine"]["cpu_model"] = HOSTILE
                database.execute("UPDATE records SET json = ? WHERE id = ?", (json.dumps(record), number))
            database.commit()
        self.assert_ok(self.report("--html", self.page))
        self.open()
        self.chromium.run("document.querySelectorAll('details').forEach(one => one.open = true)")
        self.chromium.run("""echarts.getInstanceByDom(document.getElementById("chart-time")).dispatchAction(
            { type: "showTip", seriesIndex: 0, dataIndex: 0 }), 0""")
        self.assertEqual(self.chromium.console, [])
        self.assertEqual(self.chromium.run("document.querySelectorAll('img').length"), 0)
        self.assertEqual({url for url in self.chromium.requests if not url.startswith("data:")}, {self.page.as_uri()})
        self.assertTrue(self.chromium.run("document.title").startswith("laptime: "))
        self.assertIn(HOSTILE, self.chromium.run("document.querySelector('#work h2 small').textContent"))

    def test_nothing_scrolls_sideways_on_a_phone(self):
        self.chromium.resize(390, 844)
        self.open()
        self.assertLessEqual(self.overflow(), 0)
        self.chromium.run("document.querySelectorAll('details').forEach(one => one.open = true)")
        self.assertLessEqual(self.overflow(), 0)
        self.assertEqual(self.chromium.console, [])

    def test_printed_page_has_every_chart_with_patterns(self):
        self.open()
        self.chromium.run("dispatchEvent(new Event('beforeprint'))")
        for name in ("chart-time", "chart-work", "chart-memory"):
            self.assertGreater(self.chromium.run(f"document.querySelectorAll('#{name} svg pattern').length"), 0, name)
        self.chromium.run("dispatchEvent(new Event('afterprint'))")
        self.assertEqual(self.chromium.run("document.querySelectorAll('.chart svg pattern').length"), 0)
        self.chromium.run("document.getElementById('patterns').click()")
        self.assertGreater(self.chromium.run("document.querySelectorAll('.chart svg pattern').length"), 0)
        self.assertGreater(len(self.chromium.pdf()), 50_000)
        self.assertEqual(self.chromium.console, [])

    def test_tables_sort_and_can_be_saved(self):
        self.open()
        saved = self.chromium.run("""(async () => {
            const texts = {}, blobs = new Map();
            URL.createObjectURL = blob => { const name = `blob:${blobs.size}`; blobs.set(name, blob); return name; };
            HTMLAnchorElement.prototype.click = function () { texts[this.download] = blobs.get(this.href); };
            document.querySelectorAll("#data .files button:nth-of-type(2)").forEach(one => one.click());
            for (const [name, blob] of Object.entries(texts)) texts[name] = await blob.text();
            return texts;
          })()""")
        self.assertEqual(set(saved), {f"{name}.csv" for name in ("points", "phases", "samples", "kernels", "memory", "tensors",
                                                                 "roofline", "answers")})
        points = self.page_of(self.page)["points"]
        rows = list(csv.DictReader(io.StringIO(saved["points.csv"])))
        self.assertEqual([float(row["median_s"]) for row in rows], [point["time"]["median_s"] for point in points])
        rows = list(csv.DictReader(io.StringIO(saved["samples.csv"])))
        self.assertEqual(len(rows), 12 * (3 + 8))
        for down in (False, True):
            self.chromium.run("[...document.querySelectorAll('#compare th button')].find(one => one.textContent === 'time').click()")
            order = self.chromium.run("[...document.querySelectorAll('#compare tbody tr')].map(one => Number(one.dataset.index))")
            times = [points[index]["time"]["median_s"] for index in order]
            self.assertEqual(times, sorted(times, reverse=down))

    def test_samples_have_the_numbers_of_their_steps(self):
        self.open()
        point = {"warmup_s": [3, 2], "samples_s": [1, 1.5], "steps_per_sample": 4}
        steps = self.chromium.run(f"charts.steps({json.dumps(point)}).map(({{step, kind}}) => [step, kind])")
        self.assertEqual(steps, [[1, "warm-up"], [2, "warm-up"], [6, "sample of 4 steps"], [10, "sample of 4 steps"]])
        self.assertEqual(self.chromium.run(f"charts.steps({json.dumps(point | {'steps_per_sample': 1})}).at(-1)"),
                         {"step": 4, "kind": "sample", "time_s": 1.5})

    def test_bars_of_a_pass_add_up_to_its_time(self):
        self.open()
        phases = [{"phase": "forward", "median_s": 1}]
        for name, of_pass, expected in (("backward", phases, {"backward": 2}), ("forward_backward", [], {"forward backward": 2}),
                                        ("step", phases, {"forward": 1, "outside the phases": 1})):
            point = {"pass": name, "phases": of_pass, "time": {"median_s": 2}, "group": 0, "name": "", "full_name": ""}
            data = {"points": [point], "groups": [{"points": [0], "is_one_work": True, "base": 0, "fastest": 0}]}
            bars = self.chromium.run(f"""charts.time({json.dumps(data)}, 0, {{ width: 800 }}).series
                .filter(({{ name }}) => name).map(({{ name, data }}) => [name, data[0].value])""")
            self.assertEqual(dict(bars), expected)

    def test_pages_without_traces_or_times_work(self):
        self.assert_ok(self.bench("--device", "h100,rtx4090", "--model", "small,2.7B", "--context", "128,512,65536", "--mode",
                                  "eager,compile", "--lr", "0.001,0.002", "--steps", "1", "--warmup", "0"))
        self.assert_ok(self.report("--last", "--html", self.page))
        for width in (1280, 390):
            self.chromium.resize(width, 800)
            self.open()
            self.assertEqual(self.chromium.console, [])
            self.assertLessEqual(self.overflow(), 0)
            self.assertGreater(self.chromium.run(f"{CHARTS}.length"), 1)


if __name__ == "__main__":
    unittest.main()
