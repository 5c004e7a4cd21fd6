"""Tests of the columns of transformers; tests that run transformers are skipped without build/peers-venv."""

import csv
import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import comparison
import floor
import model_config
import model_folder

PEERS = Path(__file__).resolve().parent
PYTHON = PEERS.parent / "build/peers-venv/bin/python"
GOLDEN = PEERS.parent / "tests/golden_hf"


class Models(unittest.TestCase):
    def test_parameter_counts_match_the_library(self):
        with open(model_folder.KNOWN, encoding="utf-8") as lines:
            rows = [row for row in csv.DictReader(lines) if row["model_type"] not in ("gpt2", "gpt_neox")]
        self.assertGreater(len(rows), 10)
        for row in rows:
            config = model_folder.resolve(row["model"], None, {})
            self.assertEqual(model_config.parameter_count(config), int(row["parameters"]), row["model"])

    def test_reads_sizes_from_model_folders(self):
        want = {"llama": ("llama", 4, 2, 16), "qwen2": ("qwen2", 6, 2, None), "gpt2": ("gpt2_hf", 4, 4, None)}
        for name, expected in want.items():
            config = model_folder.resolve(str(GOLDEN / name), None, {"context_length": 16})
            found = tuple(config[key] for key in ("edition", "num_heads", "num_kv_heads", "head_dim"))
            self.assertEqual((found, config["context_length"]), (expected, 16))

    def test_missing_head_counts_have_the_defaults_of_the_library(self):
        size = {"hidden_size": 2048, "num_attention_heads": 64, "intermediate_size": 64, "num_hidden_layers": 1}
        want = {"llama": (64, None), "mistral": (8, None), "qwen2": (32, None), "qwen3": (32, 128)}
        for name, expected in want.items():
            keys = size | {"model_type": name, "vocab_size": 8}
            for more, heads in (({}, expected[0]), ({"num_key_value_heads": None}, 64)):
                with tempfile.TemporaryDirectory() as folder:
                    (Path(folder) / "config.json").write_text(json.dumps(keys | more))
                    config = model_folder.resolve(folder, None, {})
                self.assertEqual((config["num_kv_heads"], config["head_dim"]), (heads, expected[1]), name)

    def test_recognises_model_names(self):
        self.assertTrue(model_folder.is_known("smollm2-135m"))
        self.assertTrue(model_folder.is_known(str(GOLDEN / "qwen3")))
        self.assertFalse(model_folder.is_known("small"))
        self.assertFalse(model_folder.is_known("no-such-model"))
        self.assertEqual(model_folder.known_keys("Llama-3.2-1B")["rope_scaling"]["factor"], 32)

    def test_floor_counts_grouped_heads(self):
        run = {"dtype": "float32", "pass": "step"}
        config = model_folder.resolve("SmolLM2-135M", None, {"batch_size": 2, "context_length": 256}) | run
        flops, moved = floor.work(config)
        products = 6 * 512 * (134_515_008 - 61 * 576)  # all weights except the norms; the head is tied to the embedding
        attention = 3 * 2 * 30 * 512 * 256 * 576
        self.assertEqual(flops, products + attention)
        self.assertGreater(moved, 28 * 134_515_008)
        self.assertGreater(floor.work(config | {"num_kv_heads": 9})[0], flops)
        self.assertIsNone(floor.work(model_folder.resolve("gpt2", None, {}) | run))


class Columns(unittest.TestCase):
    def test_selects_columns_that_can_run_a_model(self):
        every = comparison.columns_of("all")
        library = {c.system for c in comparison.of_model(every, True)}
        self.assertEqual(library, {"laptime", "transformers"})
        self.assertEqual({c.system for c in comparison.of_model(every, False)}, {"laptime", "pytorch", "jax"})

    def test_rejects_a_case_that_no_column_can_run(self):
        words = [sys.executable, PEERS / "run", "--cases", "SmolLM2-135M:2x8:f32", "--columns", "jax"]
        done = subprocess.run(words, capture_output=True, text=True)
        self.assertEqual((done.returncode, len(done.stderr.splitlines())), (2, 1), done.stderr)
        self.assertRegex(done.stderr, "none of them runs SmolLM2-135M 2 x 8")


@unittest.skipUnless(PYTHON.exists(), "needs transformers, which ./check --all installs")
class Steps(unittest.TestCase):
    def measured(self, *words):
        words = [PYTHON, PEERS / "transformers_step.py", "--context", "16", "--batch", "2", *words]
        words += ["--warmup", "0", "--steps", "2", "--output-file", "-"]
        done = subprocess.run(words, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def test_eager_and_sdpa_compute_the_same_losses(self):
        found = self.measured("--model", str(GOLDEN / "llama3_tied"), "--implementation", "eager,sdpa")
        eager, sdpa = (record["loss"]["values"] for record in found)
        for a, b in zip(eager, sdpa):
            self.assertAlmostEqual(a, b, places=5)
        self.assertLess(eager[1], eager[0])
        self.assertEqual(list(found[0]["time"]), ["forward", "backward", "optimizer", "step"])
        self.assertEqual(found[0]["config"]["num_kv_heads"], 1)

    def test_makes_a_model_folder_from_a_config_file(self):
        with tempfile.TemporaryDirectory() as folder:
            source, made = Path(folder, "config.json"), Path(folder, "made")
            source.write_text((GOLDEN / "qwen3/config_v4.json").read_text())
            subprocess.run([PYTHON, PEERS / "model_folder.py", source, made], check=True, capture_output=True)
            read, given = (model_folder.resolve(str(path), None, {}) for path in (made, source))
            self.assertEqual(read | {"model": given["model"]}, given)
            (record,) = self.measured("--model", str(made), "--dtype", "bfloat16")
        self.assertEqual(record["status"], "ok")


if __name__ == "__main__":
    unittest.main()
