"""Tests of the shapes, ratios and rows of peers/attention."""

import importlib.machinery
import importlib.util
import json
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path


def load_script():
    path = str(Path(__file__).with_name("attention"))
    spec = importlib.util.spec_from_loader("attention", importlib.machinery.SourceFileLoader("attention", path))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


attention = load_script()


def took(forward, backward):
    return {"forward": forward, "backward": backward}


class Processes(unittest.TestCase):
    def test_timeout_kills_the_children_of_a_process(self):
        with tempfile.TemporaryDirectory() as folder:
            trace = Path(folder, "trace")
            child = f"import time, pathlib; time.sleep(1.5); pathlib.Path({str(trace)!r}).touch()"
            parent = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {child!r}])"
            with self.assertRaises(subprocess.TimeoutExpired):
                attention.processes.run_group([sys.executable, "-c", parent], 0.5)
            time.sleep(2)
            self.assertFalse(trace.exists())


    def test_replaces_the_output_file_atomically(self):
        with tempfile.TemporaryDirectory() as folder:
            program, kept = Path(folder, "laptime"), Path(folder, "kept.json")
            times = {phase: {"median": 0.5} for phase in attention.PHASES}
            program.write_text(f"#!/bin/sh\necho '{json.dumps([{'status': 'ok', 'time': times}])}'\n")
            program.chmod(0o755)
            kept.write_text("earlier")
            earlier = kept.open()  # a reader of the earlier file
            words = ["--columns", "laptime-compile", "--shapes", "64:8", "--rounds", "2", "--output-file", kept]
            done = subprocess.run(
                [sys.executable, Path(__file__).with_name("attention"), *words, "--laptime", program],
                capture_output=True,
                text=True,
            )
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(json.loads(kept.read_text()), [{"status": "ok", "time": times}] * 2)
            with earlier:
                self.assertEqual(earlier.read(), "earlier")


class Shapes(unittest.TestCase):
    def test_parses_shapes(self):
        self.assertEqual(attention.shape_of("64:1024"), (64, 1024))
        for word in ("64", "64:", "64x1024", "0:16", "64:16:2"):
            with self.assertRaises(attention.comparison.WrongInput, msg=word):
                attention.shape_of(word)

    def test_grids_contain_each_shape_exactly_once(self):
        shapes = attention.all_shapes()
        self.assertEqual(len(shapes), len(set(shapes)))
        self.assertIn((128, 16384), shapes)
        self.assertIn((16384, 128), shapes)


class Rows(unittest.TestCase):
    def test_ratio_is_the_median_of_the_rounds(self):
        ours = [took(1, 1), took(1, 1), took(1, 1)]
        self.assertEqual(attention.against(ours, [took(2, 2), took(1, 2), took(3, 5)]), (2.0, 1.5, 4.0))
        self.assertIsNone(attention.against(ours, ["over 5 s"]))

    def test_row_names_the_fastest_peer(self):
        outcomes = {
            "laptime-eager": [took(3e-3, 3e-3)],
            "laptime-compile": [took(1e-3, 1e-3)],
            "pytorch-eager": ["out of memory"],
            "pytorch-sdpa": [took(2e-3, 2e-3)],
        }
        self.assertEqual(
            attention.row_of((64, 256), outcomes),
            ["256", "64", "3, 3", "1, 1", "out of memory", "2, 2", "2.00 (2.00 to 2.00), pytorch-sdpa"],
        )

    def test_has_no_ratio_without_laptime(self):
        self.assertEqual(attention.row_of((64, 256), {"pytorch-sdpa": [took(2e-3, 2e-3)]})[-1], "-")


if __name__ == "__main__":
    unittest.main()
