"""laptime memory: tables that add up, PyTorch's saved bytes and peaks, and points that do not fit."""

import json
import os
import struct
import unittest
from pathlib import Path

from program import MODEL, PREDICTED, TINY, ProgramTest

GOLDEN = Path(os.environ["LAPTIME_GOLDEN_DIR"])


def golden_metadata(file: Path) -> dict:
    content = file.read_bytes()
    header_bytes = struct.unpack("<Q", content[:8])[0]
    return json.loads(json.loads(content[8 : 8 + header_bytes])["__metadata__"]["laptime"])


def rows(report: dict, table: str) -> list[dict]:
    return report["tables"][table]


def row_of(report: dict, table: str, key: str, value: str) -> dict:
    return next(row for row in rows(report, table) if row[key] == value)


def category(report: dict, name: str) -> int:
    return next((row["bytes"] for row in rows(report, "categories") if row["category"] == name), 0)


class Memory(ProgramTest):
    def reports(self, *words) -> list[dict]:
        done = self.laptime("memory", "--store", self.store, "--output", "json", *words)
        self.assert_ok(done)
        return json.loads(done.stdout)

    def peak(self, report: dict) -> dict:
        return next(finding for finding in report["findings"] if finding["kind"] == "memory_peak")

    def assert_sums_close(self, report: dict):
        *categories, whole = rows(report, "categories")
        peak = whole["bytes"]
        self.assertEqual(sum(row["bytes"] for row in categories), peak)
        accounts = {row["account"]: row["bytes"] for row in rows(report, "accounts")}
        self.assertEqual(accounts["planned"], peak)
        self.assertEqual(max(row["bytes"] for row in rows(report, "timeline")), accounts["requested"])
        self.assertEqual(max(row["peak_bytes"] for row in rows(report, "phases")), accounts["requested"])
        for row in rows(report, "timeline"):
            parts = [value for key, value in row.items() if key.endswith("_bytes")]
            self.assertEqual(sum(parts), row["bytes"])
        if "saved_blocks" in report["tables"]:
            *blocks, whole = rows(report, "saved_blocks")
            self.assertEqual(sum(row["bytes"] for row in blocks), whole["bytes"])
            self.assertEqual(sum(row["bytes"] for row in rows(report, "saved_by_op")), whole["bytes"])
            contributors = sum(row["bytes"] for row in rows(report, "saved_contributors"))
            block = max(blocks, key=lambda row: row["blocks"] or 0)
            self.assertEqual(contributors, block["block_bytes"] or block["bytes"])

    def test_tables_add_up_for_every_kind_of_step(self):
        editions = ["--edition", "2024,2025,2026,gpt2", "--mode", "eager,compile", "--dtype", "float32,bfloat16"]
        passes = ["--pass", "forward,backward,forward_backward,inference,step", "--mode", "eager,compile"]
        for words in (editions, passes, [*passes, "--recompute", "block"], ["--accumulate"], ["--optimizer-in-backward"]):
            with self.subTest(words):
                reports = self.reports(*PREDICTED, *words, "--view", "all")
                for report in reports:
                    with self.subTest(report["name"]):
                        if "categories" in report["tables"]:
                            self.assert_sums_close(report)
                            self.assertEqual(self.peak(report)["bytes"], rows(report, "categories")[-1]["bytes"])

    def test_runs_hold_the_planned_bytes(self):
        for words in (["--mode", "eager,compile", "--dtype", "float32,bfloat16"], ["--pass", "inference,forward_backward"]):
            *reports, _ = self.reports("--run", *TINY, *words, "--view", "accounts")
            for report in reports:
                accounts = {row["account"]: row["bytes"] for row in rows(report, "accounts")}
                self.assertEqual(accounts["held"], accounts["planned"])
                self.assertGreater(accounts["resident"], accounts["held"])

    def test_tables_of_the_attention_model_add_up(self):
        *reports, _ = self.reports("--model", "attention", "--d-model", 16, "--context", 64, "--batch", 2, "--mode",
                                   "eager,compile", "--dtype", "float32,bfloat16", "--view", "all")
        self.assertEqual(len(reports), 4)
        for report in reports:
            with self.subTest(report["name"]):
                self.assert_sums_close(report)
                self.assertGreater(rows(report, "saved_blocks")[-1]["bytes"], 0)

    def golden_words(self, golden: dict) -> list:
        words = ["--edition", golden["edition"], "--mode", "eager", "--device", "roofline:h100"]
        for flag, key in (("batch", "batch_size"), ("vocab", "vocab_size"), ("context", "context_length"),
                          ("d-model", "d_model"), ("d-ff", "d_ff"), ("num-layers", "num_layers"),
                          ("num-heads", "num_heads")):
            words += [f"--{flag}", golden[key]]
        if golden["edition"] == "2024":
            words += ["--weight-tie"] * bool(golden["tied"]) + ["--bias"] * bool(golden.get("bias"))
        return words

    def test_saved_bytes_and_peaks_match_pytorch(self):
        files = sorted(GOLDEN.glob("*.safetensors"))
        self.assertGreater(len(files), 5)
        for file in files:
            golden = golden_metadata(file)
            words = self.golden_words(golden)
            *reports, _ = self.reports(*words, "--pass", "forward_backward", "--dtype", "float32,bfloat16", "--view", "saved")
            for dtype, report in zip(("float32", "bfloat16"), reports, strict=True):
                with self.subTest((file.name, dtype)):
                    saved = rows(report, "saved_blocks")[-1]["bytes"]
                    expected = golden[f"eager_{dtype}"]["saved_bytes"]
                    self.assertLessEqual(abs(saved - expected), 0.02 * expected, (saved, expected))
            peaks = golden.get("eager_float32_peak_bytes") or {}
            for name, expected in peaks.items():
                with self.subTest((file.name, name)):
                    (report,) = self.reports(*words, "--pass", name, "--view", "accounts")
                    requested = row_of(report, "accounts", "account", "requested")["bytes"]
                    step = requested - category(report, "parameters") - category(report, "inputs_and_constants")
                    self.assertLessEqual(abs(step - expected), 0.05 * expected, (step, expected))

    def test_report_of_a_point_that_does_not_fit_states_the_shortage(self):
        words = [*TINY, "--memory-limit", "100KiB", "--recompute", "none"]
        (report,) = self.reports(*words)
        self.assert_sums_close(report)
        peak = self.peak(report)
        self.assertEqual((report["status"], peak["fits"], peak["available_bytes"]), ("out_of_memory", False, 100 << 10))
        done = self.laptime("memory", *words)
        self.assert_ok(done)
        self.assertRegex(done.stdout, r"\n! does not fit: .* more than the 100 KiB \(--memory-limit\) available to the step\n")
        (fits,) = self.reports(*TINY)
        self.assertEqual(rows(fits, "categories"), rows(report, "categories"))

    def test_measures_only_with_the_run_option(self):
        (planned,) = self.reports(*TINY)
        self.assertEqual(self.peak(planned)["trust"], "predicted")
        self.assertFalse(self.store.exists())
        (held,) = self.reports(*TINY, "--run")
        self.assertEqual(self.peak(held)["trust"], "measured")
        self.assertTrue(self.store.exists())
        self.assertEqual(rows(held, "categories"), rows(planned, "categories"))
        (peaks,) = self.reports(*MODEL, "--context", "16,32")
        self.assertEqual({row["basis"] for row in rows(peaks, "peaks")}, {"predicted"})

    def test_first_line_states_the_peak(self):
        for words in (PREDICTED, [*TINY, "--pass", "inference"], ["--model", "2.7B", "--device", "h100", "--dtype", "bfloat16"]):
            lines = self.lines_at(80, "memory", "--store", "none", *words)
            self.assertLessEqual(len(lines), 15, lines)
            self.assertRegex(lines[0], r"^[\d.]+ [KMG]iB at the peak, in (forward|backward|the optimizer), by ")
            self.assertRegex(lines[-1], r"^more: --view ")

    def test_help_lists_the_views(self):
        done = self.laptime("memory", "--help")
        self.assert_ok(done)
        self.assertIn("one of summary, phases, accounts, saved, largest, timeline, all", " ".join(done.stdout.split()))

    def test_several_points_share_one_report(self):
        (report,) = self.reports(*MODEL, "--context", "16,32", "--device", "roofline:h100", "--pass", "inference,step",
                                 "--dtype", "float32,bfloat16")
        self.assertEqual(len(rows(report, "peaks")), 8)
        by_pass = {row["pass"]: row for row in rows(report, "peaks_by_pass")}
        grid = [value for row in by_pass.values() for key, value in row.items() if key.endswith("_bytes")]
        self.assertEqual(sorted(grid), sorted(row["peak_bytes"] for row in rows(report, "peaks")))
        self.assertEqual(len(by_pass), 4)
        for context in ("ctx:16_bytes", "ctx:32_bytes"):
            self.assertLess(by_pass["inference float32"][context], by_pass["step float32"][context])
        self.assertEqual({row["basis"] for row in rows(report, "peaks")}, {"predicted"})

    def test_sort_accepts_headers_and_keys(self):
        words = [*MODEL, "--context", "16,64,32", "--device", "roofline:h100"]
        for order in ("Peak:desc", "peak:desc", "peak_bytes:desc"):
            (report,) = self.reports(*words, "--sort", order)
            peaks = [row["peak_bytes"] for row in rows(report, "peaks")]
            self.assertEqual(peaks, sorted(peaks, reverse=True), order)

    def test_narrow_tables_keep_the_columns_that_apply(self):
        words = ["memory", "--store", "none", "--model", "small", "--device", "h100", "--context", "16,32", "--dtype", "mixed"]
        header = lambda *more: next(line for line in self.lines_at(80, *words, *more) if line.startswith("point"))
        self.assertIn("copies", header("--pass", "inference"))
        self.assertNotIn("gradients", header("--pass", "inference"))
        self.assertIn("gradients", header("--pass", "step"))

    def test_views_of_several_points_end_with_a_table_of_peaks(self):
        first, second, last = self.reports(*MODEL, "--context", "16,32", "--device", "roofline:h100", "--view", "saved")
        self.assertEqual(first["tables"].keys(), second["tables"].keys())
        self.assertIn("saved_contributors", first["tables"])
        self.assertIn("peaks", last["tables"])

    def test_resume_prints_the_same_output(self):
        words = ["memory", "--run", "--store", self.store, *TINY, "--resume"]
        first = self.laptime(*words)
        self.assert_ok(first)
        again = self.laptime(*words)
        self.assertEqual((again.returncode, again.stdout), (0, first.stdout))
        self.assertEqual(len(self.stored()), 1)

    def test_output_is_ascii_in_the_c_locale(self):
        done = self.laptime("memory", "--store", "none", *PREDICTED)
        self.assert_ok(done)
        self.assertTrue(done.stdout.isascii())
        self.assertIn("forward", done.stdout)
        self.assertIn("at the peak", done.stdout)

    def test_rejects_bad_input_before_anything_runs(self):
        for words, said in ((["--view", "savd"], "saved"), (["--top", "-1"], "--top"), (["--sort", "peek_bytes"], "peak_bytes"),
                            (["--output", "samples"], "table, markdown, csv, json, jsonl"),
                            (["--columns", "name"], "--columns"), (["stray"], "stray"),
                            (["--resume"], "--resume needs --run")):
            with self.subTest(words):
                done = self.laptime("memory", "--store", self.store, *TINY, *words)
                self.assertEqual((done.returncode, done.stdout), (2, ""))
                self.assertIn(said, done.stderr)
                self.assertFalse(self.store.exists())

    def test_an_invalid_point_has_a_row(self):
        (report,) = self.reports("--d-model", 32, "--num-layers", 1, "--num-heads", "2,3", "--vocab", 64, "--context", 16,
                                 "--device", "roofline:h100")
        self.assertEqual([row["basis"] for row in rows(report, "peaks")], ["predicted", "unsupported"])


if __name__ == "__main__":
    unittest.main()
