"""Tables on terminals with 80, 120 and 200 columns and in pipes: their contents, and lines that fit the terminal."""

import json
import re
import unittest

from program import MODEL, PREDICTED, TINY, ProgramTest

WIDTHS = (80, 120, 200)


class Table(ProgramTest):
    def lines(self, width: int, *words) -> list[str]:
        lines = self.lines_at(width, *words)
        for line in lines:
            self.assertLessEqual(len(line), width, line)
        return lines

    def at_every_width(self, *words):
        for width in WIDTHS:
            with self.subTest(width=width, words=words):
                yield "\n".join(self.lines(width, *words))

    def test_lists_fit_every_width(self):
        for topic in "models editions devices kernels columns metrics options exports".split():
            for text in self.at_every_width("list", topic):
                self.assertNotEqual(text, "")

    def test_plans_never_shorten_names(self):
        words = [*MODEL, "--store", "none", "--largest", "--memory-limit", "1MiB", "--context", "8,512", "--device",
                 "rtx4090,rtx-pro-6000"]
        for text in self.at_every_width("plan", *words):
            self.assertTrue(text.startswith("2 of 4 points fit"), text)
            for name in ("ctx 512 rtx-pro-6000", "ctx 8 rtx4090"):
                self.assertIn(name, text)
            self.assertIn("too much", text)
            self.assertNotIn("..", text.replace(" ..", ""))

    def test_width_in_a_pipe_follows_the_columns_environment_variable(self):
        self.assert_ok(self.bench(*MODEL, "--device", "h100", "--context", "8,16"))
        widths = {}
        for columns in ("80", "", "nonsense"):
            self.environment["COLUMNS"] = columns
            done = self.laptime("show", "--store", self.store, "--columns", "all")
            self.assert_ok(done)
            widths[columns] = max(map(len, done.stdout.splitlines()))
        self.assertLessEqual(widths["80"], 80)
        self.assertGreater(widths[""], 80)
        self.assertEqual(widths[""], widths["nonsense"])

    def test_output_states_cropping_and_clipping(self):
        words = [*MODEL, "--device", "h100", "--edition", "2024", "--context", "16", "--crop-context", "8", "--clip-norm", "1"]
        done = self.bench(*words)
        self.assert_ok(done)
        self.assertRegex(done.stdout, r"\ncustom, .*ctx 16, .*cropped to the first 8 positions, clip_norm 1")

    def test_speedups_do_not_depend_on_the_order_of_points(self):
        words = ["--columns", "mode,speedup"]
        ratios = {}
        for modes in ("eager,compile", "compile,eager"):
            text = self.bench(*PREDICTED, "--mode", modes, *words).stdout
            self.assertRegex(text, r"(?m)^fastest: compile")
            done = self.bench(*PREDICTED, "--mode", modes, *words, "--output", "jsonl")
            self.assert_ok(done)
            rows = [json.loads(line) for line in done.stdout.splitlines()]
            self.assertEqual(",".join(row["mode"] for row in rows), modes)
            ratios[modes] = {row["mode"]: row["speedup"] for row in rows}
            self.assertGreater(ratios[modes]["compile"], 1)
            self.assertNotRegex(done.stderr, r"(?m)^ *compile +-")
        self.assertEqual(*ratios.values())

    def test_all_columns_fit_every_width(self):
        self.assert_ok(self.bench(*PREDICTED, "--seed", "1,2"))
        for text in self.at_every_width("show", "--store", self.store, "--columns", "all"):
            self.assertNotIn("\n\n\n", text)
            for title in ("median", "tokens/s"):
                self.assertIn(title, text)

    def test_mean_std_has_a_row_for_each_phase(self):
        done = self.bench(*TINY, "--pass", "forward_backward", "--warmup", "0,1", "--steps", "3", "--columns", "mean_std")
        self.assert_ok(done)
        self.assertRegex(done.stdout, r" +warmup +n +mean +std +min +max +verdict\n")
        for phase in ("forward", "backward"):
            self.assertEqual(len(re.findall(rf"\n  {phase} +3( +[\d.]+ [mu]?s){{4}}\n", done.stdout)), 2, done.stdout)
        self.assertEqual(len(re.findall(r"(?m)^warmup .* (untested|noisy|unstable|no_steady_state)$", done.stdout)), 2)

    def test_tables_of_measured_points_fit_a_screen(self):
        words = [*TINY, "--warmup", "1", "--steps", "6"]
        for point in ("bench", ["bench", "--pass", "forward"]):
            lines = self.lines(80, *([point] if isinstance(point, str) else point), "--store", self.store, *words)
            self.assertLessEqual(len(lines), 8, lines)
            self.assertRegex(lines[0], r"^[\d.]+ [mu]?s per (step|forward) \((±|\+/-)\d+")
        lines = self.lines(80, "bench", "--store", self.store, *words, "--mode", "eager,compile", "--dtype", "float32,bfloat16")
        self.assertLessEqual(len(lines), 10, lines)
        rows = [line for line in lines if re.match(r"(float32|bfloat16) (eager|compile) ", line)]
        self.assertEqual(len(rows), 4)
        for row in rows[1:]:
            self.assertRegex(row, r" [\d.]+x \([\d.]+-[\d.]+\)")
        self.assertLessEqual(len([line for line in lines if line.startswith("!")]), 1)

    def test_column_sets_of_source_documents_fit_80_columns(self):
        self.assert_ok(self.bench(*TINY, "--pass", "forward,forward_backward", "--warmup", "0", "--steps", "2"))
        for columns in ("2024", "2025a", "2025c", "2025d"):
            rows = self.lines(80, "show", "--store", self.store, "--columns", columns, "--quiet")
            self.assertLessEqual(len(rows), 8, rows)

    def test_quiet_prints_rows_only(self):
        self.assert_ok(self.bench(*PREDICTED, "--seed", "1,2"))
        for words, count in ((["--columns", "seed"], 2), ([], 2), (["--last", "seed = 1"], 2)):
            lines = self.lines(80, "show", "--store", self.store, "--quiet", *words)
            self.assertEqual(len(lines), count, lines)

    def test_rows_get_names_if_columns_do_not_distinguish_them(self):
        self.assert_ok(self.bench(*PREDICTED, "--lr", "0.1,0.2"))
        for columns in ("mean_std", "avg_std", "attention", "median,peak"):
            text = "\n".join(self.lines(200, "show", "--store", self.store, "--columns", columns))
            self.assertIn("lr 0.2", text, columns)
        text = "\n".join(self.lines(200, "show", "--store", self.store, "--columns", "lr,median"))
        self.assertNotIn("lr 0.2", text)
        csv = self.laptime("show", "--store", self.store, "--columns", "avg_std", "--output", "csv").stdout
        self.assertTrue(csv.startswith("model,forward_only,"))


if __name__ == "__main__":
    unittest.main()
