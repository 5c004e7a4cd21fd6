"""Steps of Python programs: `laptime.measure`."""

import math
import os
import signal
import subprocess
import sys
import textwrap
import time
import types
import unittest
import warnings
from pathlib import Path
from unittest import mock

from program import BINARY, ModuleTest, ProgramTest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "python"))
import laptime  # noqa: E402: the line above sets the path

MODEL_OPTIONS = {"model": "custom", "d_model": 32, "num_layers": 1, "num_heads": 2, "vocab": 64, "context": 16, "batch": 2}


class VirtualClock:
    """Replaces the module `time` in laptime.steps. Only sleeping takes time, so results do not depend on the load."""

    def __init__(self):
        self.now = 0

    def perf_counter_ns(self) -> int:
        return self.now

    def sleep(self, seconds: float):
        self.now += round(seconds * 1e9)


class Measure(ModuleTest):
    def measure(self, step, **options):
        (record,) = laptime.measure(step, store=self.store, columns="all", **{"system": "test", **options})
        return record

    def test_times_a_step_that_sleeps(self):
        calls = []

        def step():
            calls.append(time.perf_counter())
            time.sleep(0.01)

        record = self.measure(step, name="sleep", budget=5)
        self.assertEqual(record["status"], "ok")
        self.assertGreaterEqual(record["time"]["step"]["min"], 0.01)
        self.assertEqual(len(calls), record["stopping"]["warmup"] + record["stopping"]["steps"])
        self.assertEqual(record["name"], "step/system:test/implementation:sleep")
        self.assertEqual(record["loss"]["values"], [])
        self.assertGreater(record["memory"]["peak_rss_bytes"], 1 << 20)
        self.assertIsNotNone(record["machine"]["during"]["load"])
        self.assertEqual([{**stored, "predicted": False} for stored in self.stored()], [record])

    def test_phases_and_residue_add_up_to_the_step(self):
        def step():
            for name in ("forward", "backward", "forward"):
                with laptime.phase(name):
                    time.sleep(0.002)
            time.sleep(0.001)

        record = self.measure(step, warmup=1, steps=6)
        seconds = {phase["phase"]: phase["seconds"] for phase in record["phases"]}
        self.assertEqual(list(seconds), ["forward", "backward", "residue"])
        self.assertGreaterEqual(seconds["forward"], 0.004)
        self.assertGreaterEqual(seconds["residue"], 0.001)
        self.assertTrue(math.isclose(sum(seconds.values()), record["time"]["step"]["mean"], rel_tol=1e-9))
        with laptime.phase("forward"):
            pass  # a phase outside of measure has no effect

    def test_rejects_nested_and_unknown_phases(self):
        def nested():
            with laptime.phase("forward"), laptime.phase("backward"):
                pass

        with self.assertRaisesRegex(laptime.Error, "'backward' begins inside 'forward'"):
            self.measure(nested)

        def unknown():
            with laptime.phase("foward"):
                pass

        with self.assertRaisesRegex(laptime.Error, "line 1: unknown phase 'foward'; did you mean 'forward'"):
            self.measure(unknown)
        with laptime.phase("forward"):
            pass
        self.assertFalse(self.store.exists() and self.stored())

    def test_drifting_times_are_not_rated_stable(self):
        lengths = iter(range(1, 1000))
        clock = VirtualClock()
        with mock.patch("laptime.steps.time", clock):
            record = self.measure(lambda: clock.sleep(0.005 + 0.001 * next(lengths)), budget=1.5)
        self.assertEqual(record["verdict"]["rating"], "no_steady_state")

    def test_reads_losses_outside_of_the_timed_region(self):
        clock = VirtualClock()

        class Scalar:
            def item(self):
                clock.sleep(0.05)
                return 2.5

        for result, expected in ((Scalar(), [2.5] * 3), (1, [1.0] * 3), (None, []), ("word", []), (True, [])):
            def step(result=result):
                clock.sleep(0.001)
                return result

            with mock.patch("laptime.steps.time", clock):
                record = self.measure(step, warmup=1, steps=2)
            self.assertEqual(record["loss"]["values"], expected)
            self.assertAlmostEqual(record["time"]["step"]["max"], 0.001, places=12)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            record = self.measure(lambda: float("nan"))
        self.assertEqual(record["status"], "failed")
        self.assertIn(laptime.LaptimeWarning, [warning.category for warning in caught])

    def test_waits_for_async_work(self):
        class Later:
            def block_until_ready(self):
                time.sleep(0.01)

        self.assertGreaterEqual(self.measure(Later, warmup=0, steps=2)["time"]["step"]["min"], 0.01)
        synced = []
        record = self.measure(lambda: None, sync=lambda: synced.append(time.sleep(0.01)), warmup=0, steps=2)
        self.assertGreaterEqual(record["time"]["step"]["min"], 0.01)
        self.assertEqual(len(synced), 2)

        def with_phase():
            with laptime.phase("forward"):
                pass

        self.measure(with_phase, sync=lambda: synced.append(1), warmup=0, steps=2)
        self.assertEqual(len(synced), 6)  # 2 from above, and one after each of 2 phases and 2 steps

    def test_known_model_has_mfu_and_model_columns(self):
        record = self.measure(lambda: time.sleep(0.005), **MODEL_OPTIONS, warmup=1, steps=3, peak_bytes=lambda: 1 << 30)
        self.assertGreater(record["flops"]["mfu_measured"], 0)
        self.assertEqual(record["memory"]["peak_bytes"], 1 << 30)
        self.assertIsNone(record["machine"]["during"]["waiting_seconds"])  # unknown for a step of another process
        (narrow,) = laptime.show(store=self.store)
        self.assertEqual((narrow["system"], narrow["model"], narrow["batch_size"]), ("test", "custom", 2))

    def test_detects_system_device_and_threads(self):
        (record,) = laptime.measure(lambda: None, store="none", columns="all", warmup=0, steps=1)
        if {"torch", "jax"}.isdisjoint(sys.modules):
            self.assertEqual(record["config"]["system"], "python")
            self.assertEqual(record["binary"]["version"], f"python {sys.version.split()[0]}")
        synchronized = []
        cuda = types.SimpleNamespace(is_available=lambda: True, is_initialized=lambda: True,
                                     synchronize=lambda: synchronized.append(time.sleep(0.01)))
        torch = types.SimpleNamespace(__version__="9.9+cpu", cuda=cuda, get_num_threads=lambda: 3)
        with mock.patch.dict(sys.modules, {"torch": torch}):
            (record,) = laptime.measure(lambda: None, store="none", columns="all", warmup=0, steps=1)
            self.assertEqual((record["binary"]["version"], record["config"]["device"]), ("pytorch 9.9+cpu", "cuda"))
            self.assertGreaterEqual(record["time"]["step"]["min"], 0.01)  # waits for the work queued on the GPU
            self.assertEqual(len(synchronized), 1)
            cuda.is_initialized = lambda: False
            (record,) = laptime.measure(lambda: None, store="none", columns="all", warmup=0, steps=1)
            self.assertEqual((record["config"]["device"], record["config"]["threads"]), ("cpu", 3))

    def test_detects_cuda_with_two_frameworks_loaded(self):
        for initialized, backend, device in ((True, "cpu", "cuda"), (False, "gpu", "cuda"), (False, "cpu", "cpu")):
            cuda = types.SimpleNamespace(is_available=lambda: True, is_initialized=lambda here=initialized: here,
                                         synchronize=lambda: None)
            torch = types.SimpleNamespace(__version__="9.9", cuda=cuda, get_num_threads=lambda: 3)
            jax = types.SimpleNamespace(__version__="8.8", default_backend=lambda here=backend: here,
                                        block_until_ready=lambda result: result)
            with self.subTest(initialized=initialized, backend=backend), \
                    mock.patch.dict(sys.modules, {"torch": torch, "jax": jax}):
                (record,) = laptime.measure(lambda: None, store="none", columns="all", warmup=0, steps=1)
                self.assertEqual(record["config"]["system"], "python")
                self.assertEqual(record["config"]["device"], device)

    def test_exceptions_of_the_step_propagate_and_store_nothing(self):
        steps = iter(range(7))
        with self.assertRaises(StopIteration):
            self.measure(lambda: next(steps))
        self.assertEqual(self.stored(), [])

    def test_errors_explain_the_cause(self):
        with self.assertRaisesRegex(laptime.Error, "unknown option '--modle'; did you mean '--model'"):
            self.measure(lambda: None, modle="small")
        with self.assertRaisesRegex(laptime.Error, "not callable"):
            laptime.measure(3)
        with mock.patch.dict(os.environ, {"LAPTIME_BINARY": "/nowhere/laptime"}):
            with self.assertRaisesRegex(laptime.Error, "cannot be run"):
                self.measure(lambda: None)

    def test_ctrl_c_keeps_the_samples(self):
        taken = []

        def step():
            taken.append(1)
            if len(taken) == 9:
                os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.002)

        with self.assertRaises(laptime.Interrupted) as caught:
            self.measure(step, warmup=2, steps=100)
        (record,) = caught.exception.records
        self.assertEqual((record["status"], record["time"]["step"]["count"]), ("interrupted", 6))
        self.assertIn("stopped by a signal after 8 steps", str(caught.exception))
        self.assertEqual([{**stored, "predicted": False} for stored in self.stored()], [record])

    def test_shows_progress(self):
        shown = []
        view = types.SimpleNamespace(show=lambda *what: shown.append(what), message=lambda text: None, close=lambda: None)
        with mock.patch("laptime.progress._view", return_value=view):
            self.measure(lambda: time.sleep(0.006), warmup=1, steps=2)
        self.assertEqual([text for text, _ in shown][0], "[1/1] warm-up, step 1")
        self.assertEqual(len(shown), 3)


def has_torch(python) -> bool:
    return Path(python).exists() and subprocess.run([python, "-c", "import torch"], capture_output=True).returncode == 0


class Example(ProgramTest):
    SCRIPT = ROOT / "python" / "examples" / "your_own_step.py"

    def test_docs_page_contains_the_script(self):
        page = (ROOT / "docs" / "your_own_step.md").read_text()
        self.assertIn(textwrap.indent(self.SCRIPT.read_text(), "    ", lambda line: line.strip() != ""), page)

    def test_script_of_the_page_runs(self):
        python = next((python for python in (sys.executable, ROOT / "build/peers-venv/bin/python3") if has_torch(python)), None)
        if python is None:
            self.skipTest("needs PyTorch, which ./check --all installs")
        environment = {**os.environ, "HOME": str(self.folder), "PYTHONPATH": str(ROOT / "python"), "LAPTIME_BINARY": BINARY}
        done = subprocess.run([python, str(self.SCRIPT), "warmup=1", "steps=2"], env=environment,
                              capture_output=True, text=True, check=False, timeout=300)
        self.assertEqual(done.returncode, 0, done.stderr)
        (record,) = self.stored(self.folder / ".local/share/laptime/records.sqlite")
        self.assertEqual((record["status"], record["config"]["system"]), ("ok", "pytorch"))
        self.assertEqual([phase["phase"] for phase in record["phases"]], ["forward", "backward", "optimizer", "residue"])
        self.assertGreater(record["flops"]["mfu_measured"], 0)
        self.assertEqual(len(record["loss"]["values"]), 3)


if __name__ == "__main__":
    unittest.main()
