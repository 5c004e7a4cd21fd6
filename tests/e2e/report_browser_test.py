"""The page of laptime report in a real browser: what is drawn, read, copied and printed."""

import csv
import io
import json
import sqlite3
import sys
import unittest
from contextlib import closing
from pathlib import Path

from report_page import PageTest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))
import browser  # noqa: E402
import report_pictures  # noqa: E402

HOSTILE = "</script><script>document.title='taken'</script><img src=http://127.0.0.1:8/x onerror=alert(1)>"

# What a reader of a picture would miss: texts and shapes that leave the frame of their chart, and texts that cover another.
MISPLACED = """[...document.querySelectorAll(".chart")].flatMap(chart => {
    const name = chart.getAttribute("aria-label").slice(0, 60);
    const frame = chart.getBoundingClientRect();
    const boxes = [...chart.querySelectorAll("svg text, svg path")].filter(node => !node.closest("defs, pattern, clipPath"))
      .map(node => ({ text: node.textContent, box: node.getBoundingClientRect() }));
    const outside = boxes.filter(({ box }) => box.left < frame.left - 1.5 || box.right > frame.right + 1.5 ||
        box.top < frame.top - 1.5 || box.bottom > frame.bottom + 1.5)
      .map(({ text, box }) => `${name}: '${text}' leaves the frame at ${Math.round(box.left)}, ${Math.round(box.top)}`);
    const texts = boxes.filter(({ text, box }) => text.trim() && box.width > 0);
    const covered = texts.flatMap(({ text, box }, i) => texts.slice(i + 1)
      .filter(other => Math.min(box.right, other.box.right) - Math.max(box.left, other.box.left) > 2 &&
        Math.min(box.bottom, other.box.bottom) - Math.max(box.top, other.box.top) > 4)
      .map(other => `${name}: '${text}' and '${other.text}' overlap`));
    return [...outside, ...covered];
  })"""
# Names in rooflines that the line of the roof runs through: points along the line that lie within the box of a text.
CROSSED = """[...document.querySelectorAll(".chart[data-kind=roofline] svg")].flatMap(svg => {
    const roof = [...svg.querySelectorAll("path")].filter(path => path.getAttribute("fill") === "none" &&
      (path.getAttribute("d").match(/[ML]/g) ?? []).length === 3 && path.getTotalLength() > 200);
    const origin = svg.getBoundingClientRect();
    return roof.flatMap(path => {
      const length = path.getTotalLength(), matrix = path.getCTM();
      const points = Array.from({ length: 400 }, (_, i) => path.getPointAtLength((length * i) / 399).matrixTransform(matrix));
      return [...svg.querySelectorAll("text")].filter(text => {
        const box = text.getBoundingClientRect();
        return points.some(({ x, y }) => x > box.left - origin.left && x < box.right - origin.left &&
          y > box.top - origin.top + 3 && y < box.bottom - origin.top - 3);
      }).map(text => text.textContent);
    }).concat(roof.length === 1 ? [] : [`${roof.length} roofs`]);
  })"""
# Lines of text that the upper or lower edge of a picture cuts through.
CUT = """(parts => {
    const boxes = parts.map(part => document.querySelector(part).getBoundingClientRect());
    const edges = [Math.min(...boxes.map(box => box.top)) - %d, Math.max(...boxes.map(box => box.bottom)) + %d];
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT, node =>
      node.textContent.trim() && !node.parentElement.closest("script, style, noscript") ? 1 : 2);
    const cut = [];
    while (texts.nextNode()) {
      const range = document.createRange();
      range.selectNodeContents(texts.currentNode);
      for (const { top, bottom, width } of range.getClientRects())
        if (width && edges.some(edge => top + 3 < edge && edge < bottom - 3)) cut.push(texts.currentNode.textContent.slice(0, 60));
    }
    return cut;
  })""" % (browser.MARGIN, browser.MARGIN)
# Shapes of dots that do not fill a square, which a legend and a plot would draw differently.
UNEVEN = """Array.from({ length: 10 }, (_, i) => chartParts.shapeOf(i)).filter(shape => {
    if (!shape.startsWith("path://")) return !["circle", "rect", "triangle"].includes(shape);
    const svg = document.body.appendChild(document.createElementNS("http://www.w3.org/2000/svg", "svg"));
    const path = svg.appendChild(document.createElementNS("http://www.w3.org/2000/svg", "path"));
    path.setAttribute("d", shape.slice(7));
    const { width, height } = path.getBBox();
    svg.remove();
    return Math.abs(width - height) > 0.01;
  })"""


class InABrowser(PageTest):
    def test_it_draws_without_errors_and_asks_for_nothing(self):
        for look in ({}, {"dark": True}):
            self.open(**look)
            self.assertEqual(self.chromium.console, [])
            self.assertEqual({url for url in self.chromium.requests if not url.startswith("data:")}, {self.page.as_uri()})
            charts = self.chromium.run("""[...document.querySelectorAll(".chart")].map(chart => [
                chart.getAttribute("aria-label"), chart.querySelectorAll("svg path, svg text").length])""")
            self.assertGreaterEqual(len(charts), 10)
            for name, shapes in charts:
                self.assertGreater(shapes, 10, name)
            overflow = self.chromium.run("document.documentElement.scrollWidth - innerWidth")
            self.assertLessEqual(overflow, 0)

    def test_narrow_windows_and_paper(self):
        self.chromium.resize(800, 900)
        self.open()
        self.assertLessEqual(self.chromium.run("document.documentElement.scrollWidth - innerWidth"), 0)
        self.assertGreater(len(self.chromium.pdf()), 50_000)
        self.assertEqual(self.chromium.console, [])

    def test_charts_have_their_height_on_paper(self):
        self.chromium.resize(690, 900)
        self.open(media="print")
        self.chromium.run("dispatchEvent(new Event('beforeprint'))")
        charts = self.chromium.run("""[...document.querySelectorAll(".chart")].map(chart => {
            const { top, bottom } = chart.getBoundingClientRect(), svg = chart.querySelector("svg").getBoundingClientRect();
            return [chart.getAttribute("aria-label").slice(0, 60), svg.top - top, bottom - svg.bottom, svg.height];
          })""")
        self.assertGreater(len(charts), 10)
        for name, above, below, height in charts:
            self.assertGreater(height, 100, name)
            self.assertGreaterEqual(min(above, below), -1, name)

    def test_nothing_leaves_its_frame_or_covers_another(self):
        # Names of every length, points that do not fit, and every chart of the page.
        self.assert_ok(self.bench("--device", "h100,rtx4090", "--model", "small,2.7B", "--context", "128,512,2048",
                                  "--mode", "eager,compile", "--lr", "0.001,0.002", "--steps", "1"))
        for words in (["--last"], []):
            self.assert_ok(self.report(*words, "--html", self.page))
            for width in (1200, 800, 360):
                self.chromium.resize(width, 900)
                self.open()
                with self.subTest(words=words, width=width):
                    self.assertEqual(self.chromium.run(MISPLACED), [])
                    self.assertLessEqual(self.chromium.run("document.documentElement.scrollWidth - innerWidth"), 0)

    def test_no_name_lies_across_the_roof(self):
        for width in (1200, 390):
            self.chromium.resize(width, 900)
            self.open()
            self.assertEqual(self.chromium.run("document.querySelectorAll('.chart[data-kind=roofline] svg').length"), 4)
            self.assertEqual(self.chromium.run(CROSSED), [])
        self.assertEqual(self.chromium.run(UNEVEN), [])

    def test_words_are_explained_on_the_page(self):
        self.open()
        for where in ("header", "#step-time figure", "#samples figure"):
            words = self.chromium.run(f"""[...document.querySelectorAll("{where} dl.words div")].map(one =>
                [one.querySelector("dt").textContent, one.querySelector("dd").textContent])""")
            self.assertTrue(words, where)
            self.assertTrue(all(word and meaning for word, meaning in words), where)

    def test_the_top_answers_question_by_question(self):
        self.open()
        answers = self.chromium.run("""[...document.querySelectorAll("header dl.answers dt")].map(one =>
            [one.textContent, one.nextElementSibling.textContent])""")
        self.assertEqual([label for label, _ in answers][:2], ["how sure", "of this page"])
        for label in ("by phase", "where time goes", "what bounds it", "memory", "memory by context", "compile over eager",
                      "how it compares"):
            self.assertIn(label, dict(answers))
        self.assertRegex(dict(answers)["memory by context"], "at context 16 and|from .* at context 16 to")

    def test_each_chart_says_what_it_shows(self):
        self.open()
        figures = self.chromium.run("""[...document.querySelectorAll("figure:has(.chart)")].map(figure => [
            figure.querySelector("h3").textContent, figure.querySelector(".reading")?.textContent ?? "",
            figure.querySelector(".reading")?.nextElementSibling.className, figure.querySelector(".summary")?.textContent ?? ""])""")
        self.assertGreater(len(figures), 10)
        for title, reading, following, summary in figures:
            self.assertRegex(reading, r"\.$", title)
            self.assertEqual(following, "chart", title)
            self.assertRegex(summary, r"\.$", title)

    def test_a_panel_of_first_steps_says_when_it_was_steady(self):
        for width in (1200, 390):
            self.chromium.resize(width, 900)
            self.open()
            shown = self.chromium.run("document.querySelector('#first-steps .chart svg').textContent").replace(" ", "")
            section = next(one for one in self.page_of(self.page)["sections"] if one["id"] == "first-steps")
            texts = section["figures"][0]["chart"]["texts"]
            self.assertEqual(len(texts), 8)
            for name, text in texts.items():
                self.assertIn(name.replace(" ", ""), shown)
                if width == 1200:
                    self.assertIn(text.replace(" ", ""), shown)

    def test_every_phase_of_a_step_has_its_bar_of_classes(self):
        self.open()
        names = self.chromium.run("""(() => {
            const figure = JSON.parse(document.getElementById("data").textContent).sections.find(({ id }) => id === "classes").figures[0];
            const axis = laptimeChart(figure, { dark: false, width: 1100 }).option.yAxis[0];
            return axis.data.map(({ value }) => axis.axisLabel.formatter(value));
          })()""")
        self.assertEqual(names.count("optimizer"), 4)
        self.assertEqual(names.count("backward"), 4)
        self.assertEqual(sum(name.endswith(" · forward") for name in names), 8)

    def test_texts_on_a_phone_are_whole(self):
        self.chromium.resize(390, 900)
        self.open()
        shown = self.chromium.run("""[...document.querySelectorAll("#step-time .chart svg text")].map(one => one.textContent).join(" ")""")
        section = next(one for one in self.page_of(self.page)["sections"] if one["id"] == "step-time")
        table = section["figures"][0]["table"]
        at = [column["key"] for column in table["columns"]].index("text")
        for row in table["rows"]:
            self.assertIn(row[at].replace(" ", ""), shown.replace(" ", ""))

    def test_a_picture_has_the_whole_of_a_figure(self):
        for width in (1200, 390):
            self.chromium.resize(width, 300)
            self.open()
            high = self.chromium.run("""document.querySelector("#memory figure").getBoundingClientRect().bottom
                - document.querySelector("#memory h2").getBoundingClientRect().top""")
            self.assertGreater(high, 300)
            picture = self.chromium.picture("#memory h2", "#memory figure")
            self.assertEqual(picture[:8], b"\x89PNG\r\n\x1a\n")
            wide, tall = (int.from_bytes(picture[at:at + 4], "big") for at in (16, 20))
            self.assertEqual(wide, width)
            self.assertAlmostEqual(tall, high + 24, delta=2)

    def test_no_picture_of_the_documentation_cuts_a_text(self):
        missing = set()
        for picture in report_pictures.PICTURES:
            self.chromium.resize(picture.width, 900)
            self.open(dark=picture.dark)
            parts = json.dumps(picture.parts)
            if not self.chromium.run(f"{parts}.every(part => document.querySelector(part))"):
                missing.add(picture.name)
                continue
            self.assertEqual(self.chromium.run(f"{CUT}({parts})"), [], picture.name)
        self.assertLessEqual(missing, {"report_predicted.png", "report_gains.png"})  # times here may be too short

    def test_each_number_under_the_roof_leads_to_its_op(self):
        for width in (1200, 390):
            self.chromium.resize(width, 900)
            self.open()
            charts = self.chromium.run("""[...document.querySelectorAll(".chart[data-kind=roofline] svg")].map(svg =>
                [...svg.querySelectorAll("text")].map(text => text.textContent))""")
            sections = self.page_of(self.page)["sections"]
            figures = [figure for section in sections for figure in section["figures"]
                       if figure["chart"] and figure["chart"]["kind"] == "roofline"]
            self.assertEqual(len(charts), len(figures))
            for texts, figure in zip(charts, figures):
                rows = len(figure["table"]["rows"])
                self.assertGreater(rows, 5)
                marked = figure["chart"]["marked"]
                self.assertGreater(marked, 2)
                for number in range(1, min(marked, figure["chart"]["numbered"]) + 1):
                    # At its mark and in the list; the labels of the axes may have the same text.
                    self.assertGreaterEqual(texts.count(str(number)), 2, (width, figure["title"], number))
                self.assertEqual(texts.count("\u2013"), min(rows, figure["chart"]["numbered"]) - min(marked, figure["chart"]["numbered"]))
                for text in ("peak", "bandwidth"):
                    self.assertTrue({figure["chart"][f"{text}_text"], figure["chart"][f"{text}_short"]} & set(texts), (width, text))

    def test_the_first_links_lead_to_every_section(self):
        self.open()
        links = self.chromium.run("[...document.querySelectorAll('header nav a')].map(one => one.getAttribute('href'))")
        self.assertEqual(links, self.chromium.run("[...document.querySelectorAll('main > section')].map(one => '#' + one.id)"))
        self.assertIn("#published", links)

    def test_every_chart_has_its_numbers(self):
        self.open()
        self.chromium.run("document.querySelectorAll('details').forEach(one => one.open = true)")
        self.chromium.run("new Promise(done => setTimeout(done, 300))")
        tables = self.chromium.run("""[...document.querySelectorAll("figure")].map(figure => [
            figure.querySelector("h3").textContent, figure.querySelectorAll("tbody tr").length,
            [...figure.querySelectorAll("button")].map(one => one.textContent).join()])""")
        for name, rows, buttons in tables:
            self.assertGreater(rows, 0, name)
            self.assertEqual(buttons, "Copy table,Save CSV", name)

    def test_saved_csv_has_the_values_of_the_page(self):
        self.open()
        text = self.chromium.run("""(async () => {
            let saved;
            const make = URL.createObjectURL;
            URL.createObjectURL = blob => (saved = blob, make(blob));
            HTMLAnchorElement.prototype.click = () => {};
            [...document.querySelector("#step-time figure").querySelectorAll("button")][1].click();
            return saved.text();
          })()""")
        rows = list(csv.DictReader(io.StringIO(text)))
        section = next(one for one in self.page_of(self.page)["sections"] if one["id"] == "step-time")
        table = section["figures"][0]["table"]
        self.assertEqual(len(rows), len(table["rows"]))
        at = [column["key"] for column in table["columns"]].index("median_s")
        self.assertEqual([float(row["median_s"]) for row in rows], [row[at] for row in table["rows"]])

    def test_a_keyboard_reaches_the_numbers(self):
        self.open()
        for _ in range(60):
            for kind in ("keyDown", "keyUp"):
                self.chromium.call("Input.dispatchKeyEvent", type=kind, key="Tab", code="Tab", windowsVirtualKeyCode=9)
            if self.chromium.run("document.activeElement.tagName") == "SUMMARY":
                break
        self.assertEqual(self.chromium.run("document.activeElement.tagName"), "SUMMARY")

    def test_names_for_a_screen_reader(self):
        self.open()
        nameless = self.chromium.run("""[...document.querySelectorAll("[role=img], [role=region], table, section, nav")]
            .filter(one => !one.getAttribute("aria-label") && !one.getAttribute("aria-labelledby")).length""")
        self.assertEqual(nameless, 0)
        levels = self.chromium.run("[...document.querySelectorAll('h1, h2, h3')].map(one => +one.tagName[1])")
        self.assertEqual(levels[0], 1)
        self.assertTrue(all(b - a <= 1 for a, b in zip(levels, levels[1:])))

    def test_a_hostile_label_is_text(self):
        with closing(sqlite3.connect(self.store)) as database:
            row = json.loads(database.execute("SELECT json FROM records ORDER BY id DESC LIMIT 1").fetchone()[0])
            row.update(label=HOSTILE, name=row["name"] + "/" + HOSTILE)
            database.execute("INSERT INTO records (json) VALUES (?)", (json.dumps(row),))
            database.commit()
        self.assert_ok(self.report("--html", self.page))
        self.open()
        self.assertEqual(self.chromium.console, [])
        self.assertIn(HOSTILE, self.chromium.run("document.querySelector('#tables').textContent"))
        self.assertNotEqual(self.chromium.run("document.title"), "taken")
        self.assertEqual(self.chromium.run("document.querySelectorAll('img').length"), 0)
        self.assertEqual({url for url in self.chromium.requests if not url.startswith("data:")}, {self.page.as_uri()})


if __name__ == "__main__":
    unittest.main()
