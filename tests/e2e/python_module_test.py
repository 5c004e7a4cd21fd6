"""The Python module: records as data, the program's messages as exceptions, Ctrl-C, progress."""

import contextlib
import importlib.util
import io
import json
import os
import re
import signal
import sys
import textwrap
import threading
import types
import unittest
import warnings
from pathlib import Path
from unittest import mock

from program import ModuleTest, busy_child, children

MODULE = Path(__file__).parents[2] / "python"
sys.path.insert(0, str(MODULE))
import laptime  # noqa: E402: the line above sets the path
from laptime.progress import Progress  # noqa: E402

SIZES = {"d_model": 32, "d_ff": 64, "num_layers": 1, "num_heads": 2, "vocab": 64, "batch": 1}
TINY = {**SIZES, "context": 16}
PREDICTED = {"model": "small", "device": "h100"}


class Module(ModuleTest):
    def test_lists_are_swept_and_keys_name_their_units(self):
        records = laptime.bench(**PREDICTED, context=[128, 256], dtype="bfloat16", mode=("eager", "compile"))
        self.assertEqual([(record["context_length"], record["mode"]) for record in records],
                         [(128, "eager"), (128, "compile"), (256, "eager"), (256, "compile")])
        self.assertTrue(all(record["median_s"] > 0 and record["predicted"] for record in records))
        self.assertEqual(len(records[1:3]), 2)
        self.assertIn("4 records", repr(records))
        self.assertIn("(predicted): ", repr(records))
        self.assertIn("(predicted)<", records._repr_html_())
        self.assertEqual(len(records + records[:1]), 5)

    def test_measures_a_point(self):
        (record,) = laptime.bench(**TINY, threads=1, warmup=0, steps=3, reproducible=False, clip_norm=None)
        self.assertEqual((record["status"], record["count"], record["predicted"]), ("ok", 3, False))

    def test_attention_gives_records_like_bench(self):
        records = laptime.attention(d_model=16, context=64, batch=[2, 4], mode="compile", device="l4", steps=2, warmup=0)
        self.assertEqual([(record.is_ok, record.batch_size) for record in records], [(True, 2), (True, 4)])
        self.assertTrue(all(record.median_s > 0 for record in records))

    def test_progress_of_a_sweep_counts_points_and_never_decreases(self):
        shown = []
        view = types.SimpleNamespace(show=lambda *what: shown.append(what), message=lambda text: None, close=lambda: None)
        with mock.patch("laptime.progress._view", return_value=view):
            laptime.bench(**SIZES, context=[16, 32], warmup=0, steps=1)
        self.assertEqual({text[:6] for text, _ in shown}, {"[1/2] ", "[2/2] "})
        self.assertEqual([fraction for _, fraction in shown], sorted(fraction for _, fraction in shown))
        self.assertGreaterEqual(shown[-1][1], 0.5)

    def test_pass_underscore_argument_sets_the_pass(self):
        (record,) = laptime.bench(**TINY, pass_="inference", warmup=0, steps=1, columns="all")
        self.assertEqual(record["config"]["pass"], "inference")

    def test_show_filters_stored_records(self):
        laptime.bench(**PREDICTED, seed=[1, 2])
        laptime.bench(**PREDICTED, seed=3)
        self.assertEqual([record["seed"] for record in laptime.show("seed != 1")], [2, 3])
        self.assertEqual([record["seed"] for record in laptime.show(last=True)], [3])
        laptime.bench(**PREDICTED, seed=4, store=self.store)  # passes the store as a Path
        self.assertEqual([record["seed"] for record in laptime.show(store=self.store)], [4])

    def test_notebook_shows_missing_values_as_empty_cells(self):
        shown = laptime.plan(model="small", device="h100")._repr_html_()
        self.assertIn("<td></td>", shown)
        self.assertNotIn("None", shown)

    def test_options_match_the_help(self):
        found = laptime.options("bench")
        help_text = laptime.run("help", "bench")
        self.assertEqual({f"--{name.rstrip('_').replace('_', '-')}" for name in found},
                         {line.split()[0] for line in help_text.splitlines() if line.startswith("  --")})
        self.assertIn("context length", found["context"])
        self.assertIn("last", laptime.options("show"))

    def test_errors_repeat_the_message_of_the_program(self):
        with self.assertRaises(laptime.Error) as caught:
            laptime.bench(contxt=3)
        self.assertRegex(str(caught.exception), r"^laptime bench: unknown option '--contxt'; did you mean '--context'\?")
        with self.assertRaisesRegex(laptime.Error, "--model: unknown model 'huge'"):
            laptime.bench(model="huge")
        with self.assertRaisesRegex(laptime.Error, "output is not an option here"):
            laptime.bench(output="csv")
        with self.assertRaisesRegex(laptime.Error, "no such file"):
            laptime.show(store=self.folder / "missing" / "store")
        with mock.patch.dict(os.environ, {"LAPTIME_BINARY": "/nowhere/laptime"}):
            with self.assertRaisesRegex(laptime.Error, "cannot be run"):
                laptime.version()

    def test_failed_point_gives_a_record_and_a_warning(self):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            (record,) = laptime.bench(**TINY, warmup=0, steps=1000000, timeout=0.3)
        self.assertEqual(record["status"], "timeout")
        self.assertEqual([warning.category for warning in caught], [laptime.LaptimeWarning])
        self.assertEqual(caught[0].filename, __file__)

    def test_reports_have_tables_and_findings_of_each_point(self):
        reports = laptime.plan(**PREDICTED, context=[128, 256])
        self.assertEqual(reports.tables, ["plan"])
        self.assertEqual([row["fits"] for report in reports for row in report.tables["plan"]], ["yes", "yes"])
        (report,) = laptime.memory(**TINY, device="h100")
        self.assertIn("categories", report.tables)
        self.assertGreater(report.finding("memory_peak")["bytes"], 0)
        (report,) = laptime.profile("op = matmul", **TINY, device="h100", traced_steps=1, view="ops")
        self.assertEqual({row["op"] for row in report.tables["ops"]}, {"matmul"})
        self.assertEqual(report.finding("pass_time")["trust"], "predicted")
        (measured,) = laptime.profile(**TINY, traced_steps=2, view="ops")
        self.assertIn(measured.finding("pass_time")["trust"], ("measured", "rough"))
        self.assertIn("matmul", repr(report) + laptime.explain(**TINY))

    def test_failed_gate_gives_a_report_and_a_warning(self):
        record = laptime.run("bench", "--model", "small", "--device", "h100", "--output", "json")
        other = json.loads(record)[0]
        for name, step in (("a.json", {}), ("b.json", {"name": "step/other"})):
            (self.folder / name).write_text(json.dumps([other, other | step]))
        cases = (({"delay": ["none", "matmul=10us"], **PREDICTED}, r"B is slower by [\d.]+ %; the limit is 2 %"),
                 ({"a": self.folder / "a.json", "b": self.folder / "b.json"}, "A has no such point"))
        for options, said in cases:
            with self.subTest(said), warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                reports = laptime.compare(**options, fail_above="2%")
                self.assertEqual(len(reports), 1)
                self.assertEqual([warning.category for warning in caught], [laptime.LaptimeWarning])
                self.assertRegex(str(caught[0].message), said)

    def test_record_values_are_attributes(self):
        (record,) = laptime.bench(**PREDICTED)
        self.assertEqual(record.median_s, record["median_s"])
        self.assertIn("median_s", dir(record))
        self.assertTrue(record.is_ok)
        with self.assertRaisesRegex(AttributeError, "the record has no 'median'"):
            record.median
        (whole,) = laptime.bench(**PREDICTED, columns="all")
        self.assertEqual(whole.config.model, whole["config"]["model"])
        self.assertTrue(whole.predicted)

    def test_print_shows_times_and_ratios_with_intervals(self):
        records = laptime.Records([
            {"name": "a", "status": "ok", "median_s": 0.2, "ci_low_s": 0.19, "ci_high_s": 0.21, "tokens_per_second": 1280.0},
            {"name": "b", "status": "ok", "median_s": 0.1, "ci_low_s": 0.1, "ci_high_s": 0.1, "peak_bytes": 2**30},
            {"name": "<c>", "status": "out_of_memory"}])
        self.assertEqual(repr(records).splitlines(), ["3 records", "  a: 200 ms  ±5.0%  1,280 tokens/s",
                                                      "  b: 100 ms  ±0.0%  2.0x (1.9-2.1)  1 GiB", "  <c>: out_of_memory"])
        table = records._repr_html_()
        self.assertIn("<td>2.0x (1.9-2.1)</td>", table)
        self.assertIn("&lt;c&gt;", table)

    def test_print_shows_whole_records_like_rows(self):
        for options in ({**PREDICTED, "context": [128, 256]}, {**TINY, "dtype": ["float32", "bfloat16"], "warmup": 0, "steps": 8}):
            laptime.bench(**options, store=self.store)
            rows = laptime.show(last=True, store=self.store)
            whole = laptime.show(last=True, columns="all", store=self.store)
            self.assertEqual(repr(whole), repr(rows))
            self.assertEqual(whole._repr_html_(), rows._repr_html_())
            self.assertRegex(repr(whole), r"\d m?u?s .* \d\.\d+x.* tokens/s .*iB$")

    def test_ratio_of_few_samples_has_a_wide_interval(self):
        def ratio_to(first: dict, second: dict) -> str:
            return laptime.Records([{"status": "ok", **first}, {"status": "ok", **second}])._rows()[1][3]

        self.assertEqual(ratio_to({"median_s": 0.2, "predicted": True}, {"median_s": 0.1, "predicted": True}), "2.00x")
        exact = {"median_s": 0.2, "ci_low_s": 0.2, "ci_high_s": 0.2}
        self.assertEqual(ratio_to(exact, {"median_s": 0.1, "count": 1}), "2.0x (1.0-4.0)")
        three = {"median_s": 0.1, "mean_s": 0.1, "std_s": 0.01, "count": 3}
        self.assertEqual(ratio_to(exact, three), "2.0x (1.6-2.5)")
        self.assertEqual(ratio_to({"median_s": 0.2, "predicted": True}, three), "")

    def test_compare_returns_ratios(self):
        (report,) = laptime.compare(**TINY, dtype=["float32", "bfloat16"], budget=1, store="none")
        step = report.tables["phases"][-1]
        self.assertEqual(step.phase, "step")
        self.assertLess(step.ratio_low, step.ratio_high)
        self.assertIn("<table>", report._repr_html_())

    def test_report_returns_a_page(self):
        laptime.bench(**TINY, warmup=1, steps=2, store=self.store)
        page = laptime.report(store=self.store, html=self.folder / "page.html")
        self.assertEqual(page.data["points"][0]["status"], "ok")
        self.assertIn("<iframe", page._repr_html_())
        with self.assertRaisesRegex(laptime.Error, "no_such"):
            laptime.report("no_such = 1", store=self.store)

    def test_export_returns_parsed_data_and_text(self):
        laptime.bench(**TINY, warmup=1, steps=3, store=self.store)
        exported = laptime.export("hyperfine", store=self.store)
        self.assertEqual(len(exported.data["results"][0]["times"]), 3)
        exported.write(self.folder / "hyperfine.json")
        self.assertEqual((self.folder / "hyperfine.json").read_text(), exported.text)
        (line,) = laptime.export("jsonl", store=self.store).data
        self.assertIn("config", line)
        (row,) = laptime.export("csv", store=self.store).data
        self.assertEqual(row["status"], "ok")
        self.assertIn("|", laptime.export("llama_bench", store=self.store).data)

    def test_binary_export_has_data_but_no_text(self):
        laptime.memory(**TINY, run=True, store=self.store)
        exported = laptime.export("memory_viz", store=self.store)
        self.assertIn("segments", exported.data)
        with self.assertRaisesRegex(laptime.Error, "memory_viz.*write"):
            _ = exported.text

    def test_ctrl_c_ends_the_program_and_keeps_its_records(self):
        def interrupt(main: int):
            child = None
            while child is None:
                child = next(iter(children(types.SimpleNamespace(pid=main))), None)
            busy_child(types.SimpleNamespace(pid=child), seconds=0.3)
            os.kill(main, signal.SIGINT)

        threading.Thread(target=interrupt, args=(os.getpid(),), daemon=True).start()
        with self.assertRaises(laptime.Interrupted) as caught:
            laptime.bench(**SIZES, context=[16, 32], threads=1, warmup=0, steps=10_000_000, store=self.store)
        self.assertIn("interrupted", str(caught.exception))
        (record,) = caught.exception.records
        self.assertGreater(record["count"], 0)
        self.assertEqual(len(laptime.show(store=self.store)), 1)
        self.assertIs(signal.getsignal(signal.SIGINT), signal.default_int_handler)

    def test_to_pandas_has_a_row_for_each_record(self):
        records = laptime.bench(**PREDICTED, context=[128, 256])
        if importlib.util.find_spec("pandas") is None:
            with self.assertRaisesRegex(ImportError, "pip install pandas"):
                records.to_pandas()
            self.skipTest("pandas is not installed")
        table = records.to_pandas()
        self.assertEqual(list(table["context_length"]), [128, 256])
        self.assertEqual(table["median_s"].dtype, float)
        self.assertEqual(list(laptime.plan(**PREDICTED).to_pandas("plan")["fits"]), ["yes"])


    def test_example_of_the_install_page_runs(self):
        page = (MODULE.parent / "docs/install.md").read_text()
        (example,) = re.findall(r"^    import laptime\n    .*\n(?=    records.to_pandas\(\)$)", page, re.MULTILINE)
        measured = laptime.bench
        names = {}
        with mock.patch.object(laptime, "bench", lambda **options: measured(**options, device="h100")):
            exec(textwrap.dedent(example), names)
        self.assertEqual([record["dtype"] for record in names["records"]], ["bfloat16", "bfloat16"])


class ShownProgress(unittest.TestCase):
    LINES = ["laptime: 2 points, about 9 s", "[1/2] a: starting", "[1/2] a: samples, step 5 of 10, 1.0 ms each",
             "name  median", "[2/2] b: samples, step 3"]

    def test_terminal_shows_progress_on_one_line(self):
        class Terminal(io.StringIO):
            def isatty(self):
                return True

        stream = Terminal()
        with contextlib.redirect_stderr(stream), Progress() as progress:
            for line in self.LINES:
                progress.line(line)
        text = stream.getvalue()
        self.assertEqual(text.count("\n"), 1)
        self.assertIn("2 points", text)
        self.assertNotIn("name  median", text)
        self.assertTrue(text.endswith("\r\x1b[K"))

    def test_notebook_shows_a_bar_if_widgets_are_installed(self):
        for has_widgets in (True, False):
            shown, updates = [], []
            handle = types.SimpleNamespace(update=lambda data, raw: updates.append(data["text/plain"]))
            ipython = types.ModuleType("IPython")
            ipython.get_ipython = lambda: types.SimpleNamespace(kernel=True)
            display = types.ModuleType("IPython.display")
            display.display = lambda *what, **_: shown.append(what) or handle
            widgets = types.ModuleType("ipywidgets")
            bar, label = types.SimpleNamespace(value=0.0), types.SimpleNamespace(value="")
            widgets.FloatProgress = lambda **_: bar
            widgets.Label = lambda text: label
            widgets.HBox = lambda parts: types.SimpleNamespace(close=lambda: shown.append("closed"))
            modules = {"IPython": ipython, "IPython.display": display, "ipywidgets": widgets if has_widgets else None}
            with mock.patch.dict(sys.modules, modules), contextlib.redirect_stderr(io.StringIO()):
                with Progress() as progress:
                    for line in self.LINES[:3]:
                        progress.line(line)
            if has_widgets:
                self.assertEqual((bar.value, label.value), (0.25, "[1/2] a: samples, step 5 of 10, 1.0 ms each"))
                self.assertEqual(shown[-1], "closed")
            else:
                self.assertEqual(updates, ["[1/2] a: starting", "[1/2] a: samples, step 5 of 10, 1.0 ms each", ""])

    def test_shows_no_progress_without_a_terminal(self):
        stream = io.StringIO()
        with contextlib.redirect_stderr(stream), Progress() as progress:
            progress.line(self.LINES[1])
        self.assertEqual(stream.getvalue(), "")


if __name__ == "__main__":
    unittest.main()
