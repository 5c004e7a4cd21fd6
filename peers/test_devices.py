"""Tests of --device cuda that need no GPU; tests that run PyTorch are skipped without build/peers-venv."""

import argparse
import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import comparison
import devices
import model_config
import processes
import pytorch_step
import records
import step_program

PEERS = Path(__file__).resolve().parent
PYTHON = PEERS.parent / "build/peers-venv/bin/python"
FULL = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.50 GiB. GPU 0 has a total capacity of 79.11 GiB of "
    "which 512.00 MiB is free. Process 1 has 78.60 GiB memory in use."
)


def record(seconds, peak, reserved, host=None, losses=(9.0,), **config):
    return {
        "status": "ok",
        "reason": None,
        "time": {"step": records.time_stats(seconds)},
        "host": {"samples": [], "median": host, "difference": None},
        "math_mode": "tf32",
        "loss": {"values": list(losses)},
        "config": {"pass": "step", "device": "cuda"} | config,
        "memory": {"peak_bytes": peak, "reserved_bytes": reserved, "peak_rss_bytes": 1, "base_rss_bytes": 0},
        "machine": {"first_step_done_seconds": 2.0},
    }


class Options(unittest.TestCase):
    def config(self, *words):
        options = step_program.parser_of(pytorch_step.PROGRAM).parse_args(words)
        (point,) = step_program.points(options)
        return step_program.make_config(pytorch_step.PROGRAM, point)

    def test_default_device_is_the_cpu(self):
        config = self.config()
        self.assertEqual((config["device"], config["autocast"]), ("cpu", "cpu"))
        self.assertNotIn("device", records.empty_record(config)["name"])

    def test_gpu_records_name_the_device_and_cuda_autocast(self):
        config = self.config("--device", "cuda", "--dtype", "bfloat16", "--mode", "compile")
        self.assertEqual((config["device"], config["autocast"]), ("cuda", "cuda"))
        self.assertEqual(pytorch_step.math_mode(config), "bfloat16 (autocast, CUDA lists)")
        self.assertIn("/device:cuda", records.empty_record(config)["name"])

    def test_tf32_requires_a_gpu(self):
        self.assertEqual(pytorch_step.math_mode(self.config("--device", "cuda", "--dtype", "tf32")), "tf32")
        self.assertEqual(devices.torch_type("tf32"), "float32")
        with self.assertRaisesRegex(model_config.ConfigError, "--device cuda"):
            self.config("--dtype", "tf32")

    def test_rejects_cpu_options_on_a_gpu(self):
        for words in (("--launcher",), ("--allocator", "jemalloc"), ("--autocast", "cpu")):
            with self.assertRaises(model_config.ConfigError, msg=words):
                self.config("--device", "cuda", *words)


class Clocks(unittest.TestCase):
    def test_computes_phases_from_marks(self):
        marks = [0.0, 0.5, 1.5, 3.5, 4.0]
        want = {"forward": 1.0, "backward": 2.0, "optimizer": 0.5, "step": 4.0}
        self.assertEqual(pytorch_step.phases("step", marks), want)
        both = {"forward": 1.0, "backward": 2.0}
        self.assertEqual(pytorch_step.phases("forward_backward", marks[:4]), both | {"forward_backward": 3.0})
        self.assertEqual(pytorch_step.phases("backward", marks[:4]), both)
        self.assertEqual(pytorch_step.phases("inference", marks[:3]), {"inference": 1.0})

    def test_gpu_clock_reads_events_after_synchronizing(self):
        waits = []

        class Event:
            def __init__(self, at):
                self.at, self.recorded = at, False

            def record(self):
                self.recorded = True

            def elapsed_time(self, end):
                assert self.recorded and end.recorded and len(waits) == 2, "read before the card was done"
                return end.at - self.at

        card = argparse.Namespace(cuda=argparse.Namespace(synchronize=lambda: waits.append(1)))
        clock = devices.CardClock(card, [Event(5.0), Event(7.0), Event(11.0)])
        clock.mark()
        clock.mark()
        marks, host = clock.read()
        self.assertEqual([round(mark, 9) for mark in marks], [0.0, 0.002])
        self.assertGreater(host, 0)

    def test_fill_host_without_samples_keeps_earlier_host_times(self):
        whole = {"pass": "step"}
        found = {"time": {"step": {"samples": [1.0, 2.0, 2.5]}}, "config": whole, "host": None}
        records.fill_host(found, [2.1, 2.0, 2.2])
        self.assertEqual(found["host"]["median"], 2.1)
        self.assertAlmostEqual(found["host"]["difference"], 0.05)
        records.fill_host(found, [])
        self.assertEqual(found["host"]["median"], 2.1)

    def test_host_difference_of_backward_covers_both_phases(self):
        times = {"forward": {"samples": [1.0, 2.0, 1.5]}, "backward": {"samples": [3.0, 1.0, 2.5]}}
        found = {"time": times, "config": {"pass": "backward"}}
        records.fill_host(found, [4.4, 4.2, 4.3])
        self.assertAlmostEqual(found["host"]["difference"], 4.3 / 4.0 - 1)


class WorkspaceCard:
    """A stub of PyTorch on a GPU, where the first product allocates a workspace that counts as tensor memory."""

    WORKSPACE = 32 << 20

    def __init__(self):
        self.tensors = self.workspace = self.peak = 0
        self.cuda = argparse.Namespace(
            memory_allocated=lambda: self.tensors + self.workspace,
            max_memory_allocated=lambda: self.peak,
            memory_stats=lambda: {"requested_bytes.all.peak": self.peak - 100},
            max_memory_reserved=lambda: self.peak + 200,
        )
        self._C = argparse.Namespace(_cuda_clearCublasWorkspaces=self.clear)

    def clear(self):
        self.workspace = 0

    def multiply(self, result):
        self.tensors, self.workspace = self.tensors + result, self.WORKSPACE
        self.peak = max(self.peak, self.tensors + self.workspace)


class CardMemory(unittest.TestCase):
    def setUp(self):
        self.card = WorkspaceCard()
        self.device = devices.Cuda.__new__(devices.Cuda)
        self.device.torch = self.card

    def test_peaks_exclude_product_workspaces(self):
        self.card.multiply(1000)
        self.card.tensors = 10
        want = {"peak_bytes": 1000, "requested_bytes": 900, "reserved_bytes": 1200}
        self.assertEqual(self.device.memory(), want)

    def test_held_bytes_exclude_product_workspaces(self):
        for workspace in (0, self.card.WORKSPACE):  # left by an earlier product
            self.card.workspace = workspace
            with self.device.held_bytes() as held:
                self.card.multiply(500)
            self.assertEqual(held, [500])

    def test_peaks_include_workspaces_that_cannot_be_freed(self):
        self.card._C = argparse.Namespace()
        self.card.multiply(1000)
        self.assertEqual(self.device.memory()["peak_bytes"], 1000 + self.card.WORKSPACE)


class Comparison(unittest.TestCase):
    CASE = comparison.Case("small", 4, 512, "tf32")

    def test_gpu_has_its_own_columns(self):
        names = [c.name for c in comparison.columns_of("all", "cuda")]
        self.assertIn("pytorch-tuned-max-autotune", names)
        self.assertNotIn("jax", names)
        self.assertNotIn("laptime-compile-ieee", names)
        self.assertEqual(len(comparison.columns_of("pytorch-tuned,pytorch-tuned+again", "cuda")), 2)
        for wrong in ("jax", "pytorch-tuned+jemalloc", "laptime-compile-ieee"):
            with self.assertRaisesRegex(comparison.WrongInput, "--device cpu", msg=wrong):
                comparison.columns_of(wrong, "cuda")

    def test_accepts_tf32_cases(self):
        self.assertEqual(comparison.cases_of("small:4x512:tf32"), [self.CASE])

    def test_compares_gpu_memory(self):
        by_name = {
            "laptime-compile": [record([1.0], 1 << 30, 2 << 30, host=1.1)],
            "pytorch-tuned": [record([3.0], 2 << 30, 8 << 30, host=3.3)],
        }
        columns = comparison.columns_of(",".join(by_name), "cuda")
        result = comparison.compare(self.CASE, columns, by_name, None)
        ratio = result["ratios"]["laptime-compile"]["fastest PyTorch"]
        self.assertEqual((ratio["median"], ratio["memory"], ratio["second_memory"]), (3.0, 0.5, 0.25))
        self.assertAlmostEqual(ratio["by_host"], 3.0)
        text = comparison.case_text(result)
        for words in ("host s", "reserved", "by the host's clock 3.00x"):
            self.assertIn(words, text)
        summary = comparison.summary_rows([result])
        self.assertEqual(summary[0], ["case", "laptime-compile", "pytorch-tuned", "fastest peer / laptime-compile"])
        self.assertEqual(summary[1][1], "1.0000 (1024)")

    def test_tf32_allows_larger_loss_differences(self):
        def fine(loss):
            by_name = {
                "laptime-compile": [record([1.0], 1, 1, losses=[9.0])],
                "pytorch-tuned": [record([1.0], 1, 1, losses=[loss])],
            }
            return comparison.compare(self.CASE, comparison.columns_of(",".join(by_name)), by_name, None)["fine"]

        self.assertTrue(fine(9.005))
        self.assertFalse(fine(9.02))

    def test_gpu_configs_may_differ_in_host_threads(self):
        same = {k: 1 for k in comparison.MUST_AGREE} | {"device": "cuda"}
        ours, theirs = ({"config": same | {"threads": n}} for n in (1, 2))
        self.assertEqual(comparison.differing_configs(ours, theirs), [])
        other = {"config": same | {"device": "cpu"}}
        self.assertEqual(comparison.differing_configs(ours, other), ["device"])

    def test_detects_that_gpu_memory_is_full(self):
        status, reason, requested = processes.how_it_ended(1, "Traceback\n" + FULL + "\n")
        self.assertEqual((status, requested), ("out_of_memory", 3 << 29))
        self.assertIn("79.11 GiB", reason)
        self.assertEqual(processes.card_bytes("of which", FULL, " is free"), 512 << 20)
        self.assertEqual(processes.how_it_ended(1, "RuntimeError: CUDA error: out of memory")[0], "out_of_memory")


class Programs(unittest.TestCase):
    def test_runs_a_whole_gpu_case_with_a_fake_laptime(self):
        given = {"batch_size": 4, "context_length": 512, "optimizer": "torch", "warmup": 0, "steps": 2}
        config = model_config.resolve("small", "2025", given) | {
            **{"dtype": "tf32", "pass": "step", "device": "cuda", "threads": 1, "mode": "compile", "system": "laptime"},
            "implementation": "laptime",
        }
        made = records.empty_record(config)
        records.fill(made, {"step": [0.02, 0.01]}, [], [9.0, 8.0], "tf32", "1")
        records.fill_host(made, [0.03, 0.02])
        made["memory"] |= {"peak_bytes": 1 << 30, "reserved_bytes": 2 << 30}
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "record.json").write_text(json.dumps([made]))
            program = Path(folder, "laptime")
            program.write_text(
                "#!/bin/sh\n"
                'if [ "$1" = list ]; then echo "cuda  NVIDIA H200, compute capability 9.0"; exit; fi\n'
                f'echo "$@" >> {folder}/words.txt\n'
                f"cat {folder}/record.json\n"
            )
            program.chmod(0o755)
            words = [sys.executable, PEERS / "run", "--device", "cuda", "--cases", "small:4x512:tf32", "--rounds", "2"]
            words += ["--warmup", "0", "--steps", "2", "--columns", "laptime-compile,laptime-compile+again"]
            words += ["--laptime", program, "--output-file", Path(folder, "kept.json")]
            done = subprocess.run(words, capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(len(json.loads(Path(folder, "kept.json").read_text())), 4)
            asked = Path(folder, "words.txt").read_text().splitlines()
        self.assertEqual(len(asked), 4)
        self.assertIn("--dtype tf32", asked[0])
        self.assertIn("--device cuda", asked[0])
        self.assertRegex(done.stdout, r"\ANVIDIA H200, load ")
        self.assertIn("peak of tensors, MiB", done.stdout)
        self.assertNotIn("floor", done.stdout)


class WithoutACard(unittest.TestCase):
    """Without a card, each program states in one line what is missing, and exits with 2."""

    def refused(self, words, pattern):
        done = subprocess.run(list(map(str, words)), capture_output=True, text=True)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertEqual((done.stdout, len(done.stderr.splitlines())), ("", 1), done.stderr)
        self.assertRegex(done.stderr, pattern)

    def test_comparisons_refuse_to_run_without_a_gpu_or_laptime(self):
        with tempfile.TemporaryDirectory() as folder:
            program = Path(folder, "laptime")
            program.write_text("#!/bin/sh\necho 'cpu   this machine'\necho 'cuda  not available: no NVIDIA driver'\n")
            program.chmod(0o755)
            for script in ("run", "attention"):
                words = (sys.executable, PEERS / script, "--device", "cuda", "--laptime")
                self.refused((*words, program), "--device cuda: not available: no NVIDIA driver")
                self.refused((*words, Path(folder, "none")), "none: No such file or directory; build it")

    def test_rejects_types_and_columns_that_a_device_lacks(self):
        self.refused((sys.executable, PEERS / "run", "--cases", "small:4x8:tf32"), "tf32 .* use --device cuda")
        self.refused((sys.executable, PEERS / "run", "--device", "cuda", "--columns", "jax"), "'jax' is for --device cpu")
        self.refused((PEERS / "setup", "rocm"), "unknown words 'rocm'")

    @unittest.skipUnless(PYTHON.exists(), "needs PyTorch, which ./check --all installs")
    def test_pytorch_programs_refuse_to_run_without_a_gpu(self):
        if subprocess.run([PYTHON, PEERS / "devices.py"], capture_output=True).returncode == 0:
            self.skipTest("PyTorch has a GPU here")
        for script in ("pytorch_step.py", "pytorch_attention.py"):
            self.refused((PYTHON, PEERS / script, "--device", "cuda"), "--device cuda: PyTorch finds no NVIDIA GPU")


@unittest.skipUnless(PYTHON.exists(), "needs PyTorch, which ./check --all installs")
class Streams(unittest.TestCase):
    def test_random_streams_of_pytorch_match_numpy_bit_for_bit(self):
        program = (
            "import torch, streams, streams_torch\n"
            "streams_torch._CHUNK = 1000\n"
            "for seed, name, std in ((1, 'q', 1.0), (20230310, 'lm_head.weight', 0.02)):\n"
            "    ours = torch.from_numpy(streams.uniform(seed, name, (50, 77), std))\n"
            "    theirs = streams_torch.uniform(torch, 'cpu', seed, name, (50, 77), std)\n"
            "    assert torch.equal(ours, theirs), (name, (ours - theirs).abs().max())\n"
        )
        done = subprocess.run([PYTHON, "-c", program], cwd=PEERS, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)


@unittest.skipUnless(PYTHON.exists(), "needs PyTorch, which ./check --all installs")
class OnTheCpu(unittest.TestCase):
    def measured(self, script, *words):
        done = subprocess.run(
            [PYTHON, PEERS / script, *words, "--warmup", "1", "--steps", "2", "--output-file", "-"],
            capture_output=True,
            text=True,
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        (found,) = json.loads(done.stdout)
        return found

    def test_cpu_step_has_no_gpu_memory_or_gpu_clock(self):
        size = "--model custom --d-model 32 --d-ff 64 --num-layers 1 --num-heads 2 --vocab 64 --batch 1 --context 16"
        found = self.measured("pytorch_step.py", *size.split())
        self.assertEqual(found["config"]["device"], "cpu")
        self.assertEqual(list(found["time"]), ["forward", "backward", "optimizer", "step"])
        self.assertIsNone(found["host"]["median"])
        self.assertIsNone(found["memory"]["peak_bytes"])
        self.assertEqual(len(found["loss"]["values"]), 3)

    def test_losses_match_golden_files(self):
        golden = PEERS.parent / "tests/golden/tiny_2025.safetensors"
        words = [PYTHON, PEERS / "check_golden.py", golden, "--steps", "2"]
        done = subprocess.run(words, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(done.stdout.count("ok  "), 2, done.stdout)

    def test_measures_the_bytes_that_attention_saves(self):
        words = "--d-model 16 --context 64 --batch 2 --implementation eager"
        found = self.measured("pytorch_attention.py", *words.split())
        self.assertEqual(list(found["time"]), ["forward", "backward", "forward_backward"])
        least = found["machine"]["input_bytes"] + 4 * 2 * 64 * 64
        self.assertGreater(found["machine"]["before_backward_bytes"], least)


if __name__ == "__main__":
    unittest.main()
