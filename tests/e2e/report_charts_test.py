"""What the charts of laptime report are made of, as the page itself makes them in a browser."""

import json
import sqlite3
import unittest
from contextlib import closing

from report_page import PageTest

# The looks, without colour, of what the legend of each chart names, or the ends of its lines.
COLOURLESS = """JSON.parse(document.getElementById("data").textContent).sections.flatMap(({ figures }) => figures)
  .filter(({ chart }) => chart).map(figure => {
    const { option } = laptimeChart(figure, { dark: false, width: 1100 });
    const names = option.legend ? option.legend.data : option.series.map(({ name }) => name).filter(Boolean);
    return [figure.title, [...new Set(names)].map(name => {
      const series = option.series.find(one => one.name === name);
      return JSON.stringify([series.type === "bar" || series.areaStyle ? series.itemStyle.decal ?? "plain" : series.symbol,
        series.lineStyle?.type, Boolean(series.itemStyle.borderWidth)]);
    })];
  })"""
# [name, colour] of whatever a series of a chart is named after.
COLOURS = """JSON.parse(document.getElementById("data").textContent).sections.flatMap(({ figures }) => figures)
  .filter(({ chart }) => chart).flatMap(figure => laptimeChart(figure, { dark: false, width: 1100 }).option.series
    .filter(({ name, itemStyle }) => name && itemStyle?.color).map(({ name, itemStyle }) => [name, itemStyle.color]))"""


class Charts(PageTest):
    def options_of(self, section: str) -> list:
        """[chart, data of its option's series, rows of its table by key] of each figure of a section."""
        return self.chromium.run(f"""JSON.parse(document.getElementById("data").textContent).sections
            .find(({{ id }}) => id === "{section}").figures.filter(({{ chart }}) => chart).map(figure => {{
                const {{ option }} = laptimeChart(figure, {{ dark: false, width: 1100 }});
                const keys = figure.table.columns.map(({{ key }}) => key);
                return [figure.chart, option.series.map(({{ type, data }}) => ({{ type, data }})),
                    figure.table.rows.map(row => Object.fromEntries(row.map((value, i) => [keys[i], value])))];
            }})""")

    def test_memory_against_context_begins_at_zero(self):
        self.open()
        charts = self.chromium.run("""JSON.parse(document.getElementById("data").textContent).sections
            .find(({ id }) => id === "memory").figures.filter(({ chart }) => chart?.kind === "contexts").map(figure => {
                const { option } = laptimeChart(figure, { dark: false, width: 1100 });
                return [figure.chart.logarithmic, option.xAxis.type, option.xAxis.min, option.yAxis.type, option.yAxis.min,
                    option.xAxis.axisLabel.customValues];
            })""")
        self.assertEqual(charts[0], [False, "value", 0, "value", 0, [0, 16, 32]])
        self.assertEqual(len(charts), 2)

    def test_names_at_the_ends_of_lines_stand_near_them_and_can_be_read(self):
        self.open()
        ends, gap = [10, 100, 101, 115, 150, 330, 335], 15
        places = self.chromium.run(f"chartParts.spread({ends}, {gap}, 0, 336)")
        self.assertTrue(all(b - a >= gap - 1e-9 for a, b in zip(places, places[1:])), places)
        self.assertTrue(all(0 <= place <= 336 for place in places), places)
        self.assertEqual([places[0], places[4]], [10, 150])  # those with room stay
        self.assertAlmostEqual(sum(places[1:4]), sum(ends[1:4]))  # neighbours move around their middle
        for dark in (False, True):
            # The least contrast of names with the ground, and how many colours they have.
            least, count = self.chromium.run("""((dark) => {
                const c = chartParts.colorsOf(dark);
                const parts = (text) => text.startsWith("#") ? [1, 3, 5].map(at => parseInt(text.slice(at, at + 2), 16)) : text.match(/\\d+/g).map(Number);
                const light = (text) => {
                  const [r, g, b] = parts(text).map(part => part / 255).map(part => part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
                  return 0.2126 * r + 0.7152 * g + 0.0722 * b + 0.05;
                };
                const names = ["#332288", "#ee7733", "#009988", "#999933", "#ccbb44"].map(hex => chartParts.legible(hex, c, dark));
                const ground = light(c.ground);
                return [Math.min(...names.map(name => Math.max(light(name) / ground, ground / light(name)))), new Set(names).size];
              })(%s)""" % str(dark).lower())
            self.assertGreaterEqual(least, 4.5)
            self.assertEqual(count, 5)

    def test_series_can_be_told_apart_in_black_and_white(self):
        self.open()
        legends = 0
        for title, looks in self.chromium.run(COLOURLESS):
            self.assertEqual(len(set(looks)), len(looks), title)
            legends += len(looks) > 1
        self.assertGreaterEqual(legends, 5)
        for section in ("step-time", "classes", "timeline", "memory"):
            self.assertGreater(self.chromium.run(f"document.querySelectorAll('#{section} svg pattern').length"), 0, section)

    def test_a_thing_has_one_colour_in_every_chart(self):
        self.open()
        colours = {}
        for name, colour in self.chromium.run(COLOURS):
            colours.setdefault(name, []).append(colour)
        for name in ("optimizer", "parameters", "matmul"):
            self.assertGreater(len(colours[name]), 1, name)
        self.assertEqual({name: found for name, found in colours.items() if len(set(found)) > 1}, {})

    def test_a_bar_has_a_tick_at_its_median(self):
        self.open()
        places = self.chromium.run("""(() => {
            const { figures } = JSON.parse(document.getElementById("data").textContent).sections.find(({ id }) => id === "step-time");
            const { option } = laptimeChart(figures[0], { dark: false, width: 1100 });
            const ticks = option.series.find(({ name }) => name === figures[0].chart.total_name);
            return [ticks.data.map(([x]) => x * figures[0].chart.axis.factor), option.legend.data.includes(ticks.name)];
          })()""")
        section = next(one for one in self.page_of(self.page)["sections"] if one["id"] == "step-time")
        table = section["figures"][0]["table"]
        at = [column["key"] for column in table["columns"]].index("median_s")
        for place, row in zip(places[0], table["rows"], strict=True):
            self.assertAlmostEqual(place, row[at], places=9)
        self.assertTrue(places[1])

    def test_samples_stand_in_their_order_within_the_axis(self):
        self.open()
        for chart, series, rows in self.options_of("samples"):
            dots = next(one["data"] for one in series if one["type"] == "scatter")
            self.assertEqual(len(dots), len(rows))
            heights = {}
            for dot, row in zip(dots, rows):
                self.assertLessEqual(abs(dot["value"][0]), 100 * chart["range"] + 1e-9)
                heights.setdefault(row["point"], []).append(dot["symbolOffset"][1])
                beyond = abs(row["deviation"]) > chart["range"]
                self.assertEqual(dot.get("symbol"), "triangle" if beyond else None)
            for of_point in heights.values():
                self.assertEqual(of_point, sorted(of_point))
                self.assertGreater(len(set(of_point)), 1)

    def test_a_band_beyond_the_axis_of_samples_is_open(self):
        self.open()
        for low, high, frames in ((-0.001, 0.001, 4), (-0.001, 9, 3), (-9, 9, 2)):
            count = self.chromium.run("""(([low, high]) => {
                const figure = structuredClone(JSON.parse(document.getElementById("data").textContent).sections.find(({ id }) => id === "samples").figures[0]);
                Object.assign(figure.chart.bands[0], { low, high });
                const { option } = laptimeChart(figure, { dark: false, width: 1100 });
                const bands = option.series.find(({ type }) => type === "custom");
                const drawn = bands.renderItem({ dataIndex: 0 }, { value: at => bands.data[0][at], coord: place => place });
                return drawn.children.filter(({ type }) => type === "polyline").length;
              })(%s)""" % json.dumps([low, high]))
            self.assertEqual(count, frames, (low, high))

    def test_the_steps_of_a_steady_state_are_shaded(self):
        self.open()
        marks, areas = self.chromium.run("""(() => {
            const figure = structuredClone(JSON.parse(document.getElementById("data").textContent).sections.find(({ id }) => id === "first-steps").figures[0]);
            const name = Object.keys(figure.chart.texts)[0];
            figure.chart.marks = [{ series: name, x: 3 }];
            return [figure.chart.marks, laptimeChart(figure, { dark: false, width: 1100 }).option.series.map(({ markArea }) => markArea?.data ?? null)];
          })()""")
        self.assertEqual(len(marks), sum(area is not None for area in areas))
        self.assertEqual(areas[0][0][0], {"name": "steady", "xAxis": 2.5})
        self.assertGreater(areas[0][0][1]["xAxis"], 3)

    def test_a_narrow_timeline_keeps_its_peak_and_its_last_tick(self):
        self.open()
        charts = self.chromium.run("""JSON.parse(document.getElementById("data").textContent).sections
            .find(({ id }) => id === "timeline").figures.map(figure => {
                const { option } = laptimeChart(figure, { dark: false, width: 360 });
                const held = {}; // bytes at each launch that is drawn
                for (const { data } of option.series.filter(({ stack }) => stack)) for (const [x, y] of data) held[x] = (held[x] ?? 0) + y;
                const { peak, axis } = figure.chart, [[x, y]] = option.series.at(-1).data;
                const begins = Object.keys(held).map(Number).filter(begin => begin <= x);
                return [held[Math.max(...begins)] / y, y * axis.factor / peak.bytes, Object.keys(held).length, option.xAxis.axisLabel.customValues, option.xAxis.max];
            })""")
        for share, same, count, ticks, end in charts:
            self.assertGreater(share, 0.98)
            self.assertAlmostEqual(same, 1)
            self.assertLessEqual(count, 360 / 3 + 1)
            self.assertEqual([ticks[0], ticks[-1]], [0, end])
            self.assertGreater(ticks[-1] - ticks[-2], end / 10)

    def test_a_rough_factor_is_hollow_and_says_why(self):
        with closing(sqlite3.connect(self.store)) as database:
            for number, text in database.execute("SELECT id, json FROM records").fetchall():
                record = json.loads(text)
                stable = record["config"]["mode"] == "eager" or record["config"]["context_length"] == 16
                record["verdict"] = {"rating": "stable" if stable else "unstable", "reasons": []}
                database.execute("UPDATE records SET json = ? WHERE id = ?", (json.dumps(record), number))
            database.commit()
        self.assert_ok(self.report("--html", self.page))
        self.open()
        charts = self.options_of("speed-up")
        self.assertEqual(len(charts), 1)
        for _, series, rows in charts:
            marks = [mark for one in series if one["type"] == "scatter" for mark in one["data"]]
            self.assertEqual(len(marks), len(rows))
            hollow = [mark["row"] for mark in marks if (mark.get("itemStyle") or {}).get("borderWidth")]
            rough = [i for i, row in enumerate(rows) if row["doubt"]]
            self.assertEqual(sorted(hollow), rough)
            self.assertTrue(rough)
            self.assertLess(len(rough), len(rows))
            for mark in marks:
                self.assertAlmostEqual(2 ** mark["value"][0], rows[mark["row"]]["speedup"])
            for i in rough:
                self.assertIsNone(rows[i]["speedup_low"])

    def test_an_axis_of_ratios_has_one_and_room_for_all(self):
        self.open()
        for ratios, wanted in (([1.1, 1.8, 7.2], [1, 2, 4, 8]), ([0.99, 1.04], [1]), ([0.4, 0.6], [0.5, 1]), ([1, 130, 0.001], [1, 2])):
            texts, ends = self.chromium.run("""(ratios => {
                const columns = ["label", "part", "value", "low", "high", "doubt", "text"].map(key => ({ key, title: key }));
                const rows = ratios.map((ratio, i) => [`point ${i}`, "whole", ratio, ratio * 0.99, ratio * 1.01, "", ""]);
                const chart = { kind: "ratios", label: "label", part: "part", value: "value", low: "low", high: "high", doubt: "doubt",
                    text: "text", looks: {}, axis_title: "times as fast" };
                const { xAxis } = laptimeChart({ chart, table: { columns, rows, shown: rows.map(() => []) } }, { dark: false, width: 1100 }).option;
                const { customValues, formatter } = xAxis.axisLabel;
                return [customValues.map(formatter), [2 ** xAxis.min, 2 ** xAxis.max]];
              })(%s)""" % json.dumps(ratios))
            for ratio in wanted:
                self.assertIn(f"{ratio}×", texts)
            self.assertLess(ends[0], min(ratios))
            self.assertGreater(ends[1], max(ratios))


if __name__ == "__main__":
    unittest.main()
