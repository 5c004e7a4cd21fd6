"""first_run.py: the progress of the build, and the final screen of quickstart."""

import importlib.util
import tempfile
import unittest
from pathlib import Path
from unittest import mock

TOOL = Path(__file__).resolve().parents[2] / "tools" / "first_run.py"
SPEC = importlib.util.spec_from_file_location("first_run", TOOL)
first_run = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(first_run)


def record(dtype: str, seconds: float, load: float = 0.1) -> dict:
    return {
        "config": {"dtype": dtype, "batch_size": 4, "context_length": 256},
        "time": {"step": {"median": seconds}},
        "tokens_per_second": 1024 / seconds,
        "flops": {"mfu_measured": 0.804},
        "memory": {"peak_bytes": 2 << 30, "parts": {"parameter": 514_501_632}},
        "loss": {"values": [5.919, 4.0, 3.204]},
        "machine": {"cpu_model": "AMD EPYC", "cores_allowed": 2, "isa_used": "avx512", "during": {"load": load}},
    }


class FirstRun(unittest.TestCase):
    def test_progress_estimates_the_time_left(self):
        self.assertEqual(first_run.progress_line(1, 275, 2), "[  0 %] 1 of 275")
        self.assertEqual(first_run.progress_line(123, 275, 150), "[ 44 %] 123 of 275, about 3 min left")
        self.assertEqual(first_run.progress_line(250, 275, 150), "[ 90 %] 250 of 275, about 15 s left")
        self.assertEqual(first_run.progress_line(275, 275, 150), "[100 %] 275 of 275")

    def test_rows_have_time_speed_and_ratio(self):
        first, second = record("float32", 4.12), record("bfloat16", 0.95)
        self.assertEqual(first_run.row(first, first),
                         "  float32    4.1 s per step   250 tokens/s   80 % of peak   2.0 GiB")
        self.assertEqual(first_run.row(second, first),
                         "  bfloat16  950 ms per step   1,100 tokens/s   80 % of peak   2.0 GiB   4.3x")
        self.assertEqual(first_run.size(first), "129 M parameters, batch 4 x 256")
        self.assertEqual(first_run.machine(first), "AMD EPYC, 2 cores, AVX-512")

    def test_fails_if_the_loss_does_not_fall(self):
        self.assertEqual(first_run.learning(record("float32", 1)),
                         "loss 5.92 -> 3.20 in 3 steps on this repository's sources")
        flat = record("float32", 1) | {"loss": {"values": [5.9, 5.8]}}
        with self.assertRaises(first_run.Failed):
            first_run.learning(flat)

    def test_shows_why_the_comparison_of_numbers_failed(self):
        with tempfile.TemporaryDirectory() as folder:
            program = Path(folder, "laptime")
            for code, said in (1, "differ from PyTorch's"), (2, "ended with exit code 2"):
                program.write_text(f"#!/bin/sh\necho the reason >&2\nexit {code}\n")
                program.chmod(0o755)
                with mock.patch.multiple(first_run, PROGRAM=program, REPORTS=Path(folder)):
                    with self.assertRaisesRegex(first_run.Failed, said):
                        first_run.numbers()
                self.assertEqual(Path(folder, "verify.txt").read_text(), "the reason\n")

    def test_warns_about_other_programs(self):
        self.assertEqual(first_run.warning([record("float32", 1)]), "")
        said = first_run.warning([record("float32", 1), record("bfloat16", 1, load=2.8)])
        self.assertIn("load 2.8 on 2 cores", said)
        self.assertTrue(said.startswith("! "))


if __name__ == "__main__":
    unittest.main()
