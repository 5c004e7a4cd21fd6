"""float16 training: loss scaling as in torch.amp.GradScaler, and its description in records."""

import json
import os
import unittest
from pathlib import Path

from program import ONE_STEP, TINY, ProgramTest

# Training runs whose first steps overflow at PyTorch's initial scale, 65536.
TRAININGS = json.loads((Path(os.environ["LAPTIME_GOLDEN_DIR"]) / "grad_scaler.json").read_text())["trainings"]
FLAGS = {"context_length": "context", "batch_size": "batch", "vocab_size": "vocab", "tied": "weight-tie"}


def options_of(training: dict) -> list[str]:
    words = ["--device", "cpu", "--dtype", "float16", "--warmup", "0", "--init", "stream"]
    for key, value in training.items():
        if key not in ("scales", "skipped", "losses"):
            words += [f"--{FLAGS.get(key, key.replace('_', '-'))}", str(value).lower()]
    return words


class Float16(ProgramTest):
    def record(self, *words) -> dict:
        done = self.bench(*words, "--output", "json", "--columns", "all")
        self.assert_ok(done)
        return json.loads(done.stdout)[0]

    def test_overflow_skips_the_same_steps_as_pytorch(self):
        for name, training in TRAININGS.items():
            with self.subTest(name):
                self.assertGreater(len(training["skipped"]), 0)
                record = self.record(*options_of(training))
                self.assertEqual(record["loss_scaling"]["skipped"], training["skipped"])
                self.assertEqual(record["loss_scaling"]["skipped_steps"], len(training["skipped"]))
                self.assertEqual(record["loss_scaling"]["backoffs"], len(training["skipped"]))
                self.assertEqual(record["loss_scaling"]["first"], training["scales"][0])
                self.assertEqual(record["loss_scaling"]["last"], training["scales"][-1])
                for ours, theirs in zip(record["loss"]["values"], training["losses"], strict=True):
                    self.assertAlmostEqual(ours, theirs, delta=2e-3 * theirs)
                note = f"{len(training['skipped'])} of 16 steps made no update"
                self.assertIn(note, " ".join(self.bench(*options_of(training)).stdout.split()))
                shown = self.laptime("show", "--last", "--store", self.store).stdout
                self.assertIn(note, " ".join(shown.split()))

    def test_skipped_steps_do_not_change_the_loss(self):
        training = next(iter(TRAININGS.values()))
        losses = self.record(*options_of(training), "--mode", "eager")["loss"]["values"]
        skipped = training["skipped"]
        self.assertEqual(skipped, list(range(1, len(skipped) + 1)))
        self.assertEqual(len(set(losses[: len(skipped) + 1])), 1)
        self.assertNotEqual(losses[len(skipped)], losses[len(skipped) + 1])

    def test_both_modes_train_with_every_loss_scale(self):
        for mode in ("eager", "compile"):
            for scale in ("dynamic", "1024", "none"):
                with self.subTest(mode=mode, scale=scale):
                    record = self.record(*TINY, "--device", "cpu", "--dtype", "float16", "--mode", mode,
                                         "--loss-scale", scale, "--warmup", "0", "--steps", "20")
                    self.assertEqual(record["status"], "ok")
                    self.assertEqual(record["config"]["loss_scale"], scale)
                    self.assertIn("float16 autocast", record["math_mode"])
                    self.assertLess(record["loss"]["values"][-1], record["loss"]["values"][0])
                    expected = {"dynamic": 65536, "1024": 1024, "none": None}[scale]
                    self.assertEqual(record["loss_scaling"]["last"], expected)
                    self.assertEqual(record["loss_scaling"]["skipped_steps"], None if scale == "none" else 0)

    def test_a_fixed_scale_stays_fixed_after_skipped_steps(self):
        training = next(iter(TRAININGS.values()))
        record = self.record(*options_of(training), "--loss-scale", "65536")
        self.assertEqual(record["loss_scaling"]["skipped_steps"], 16)
        self.assertEqual(record["loss_scaling"]["last"], 65536)
        self.assertEqual(len(set(record["loss"]["values"])), 1)

    def test_the_default_scale_depends_on_the_pass(self):
        for pass_, scale in (("step", "dynamic"), ("forward_backward", "none"), ("inference", "none")):
            record = self.record(*TINY, "--dtype", "float16", "--pass", pass_, *ONE_STEP)
            self.assertEqual(record["config"]["loss_scale"], scale, pass_)
        self.assertEqual(self.record(*TINY, "--dtype", "bfloat16", *ONE_STEP)["config"]["loss_scale"], "none")

    def test_recomputation_gives_the_same_losses(self):
        words = [*TINY, "--device", "cpu", "--dtype", "float16", "--mode", "compile", "--warmup", "0", "--steps", "3"]
        plain = self.record(*words)
        self.assertEqual(self.record(*words, "--recompute", "block")["loss"]["values"], plain["loss"]["values"])

    def test_errors_state_why_a_loss_cannot_be_scaled(self):
        for words, parts in (
            (["--pass", "inference", "--loss-scale", "2"], ["--loss-scale 2", "gradients"]),
            (["--accumulate", "true"], ["--accumulate excludes --loss-scale dynamic", "none"]),
            (["--optimizer-in-backward", "true"], ["--optimizer-in-backward excludes", "none"]),
        ):
            done = self.bench(*TINY, "--dtype", "float16", *words, *ONE_STEP)
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            for part in parts:
                self.assertIn(part, done.stderr)
        for word in ("many", "0", "-1", "1e39", "nan"):
            done = self.bench(*TINY, "--loss-scale", word)
            self.assertEqual((done.returncode, done.stdout), (2, ""), word)
            self.assertIn("is not a loss scale; write none, dynamic or a number", done.stderr)

    def test_other_commands_accept_float16(self):
        words = [*TINY, "--dtype", "float16"]
        for command in ("explain", "plan"):
            self.assert_ok(self.laptime(command, *words))
        for command in ("profile", "memory"):
            self.assert_ok(self.laptime(command, "--store", self.store, *words, *ONE_STEP))


if __name__ == "__main__":
    unittest.main()
