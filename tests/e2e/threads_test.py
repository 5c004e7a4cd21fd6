"""Thread counts: losses do not depend on the thread count, and explain bounds the speed-up."""

import json
import os
import unittest

from program import ProgramTest

MODEL = ["--model", "custom", "--d-model", "128", "--d-ff", "344", "--num-layers", "2", "--num-heads", "4", "--vocab",
         "500", "--context", "96", "--batch", "3", "--optimizer", "torch", "--device", "cpu"]


class Threads(ProgramTest):
    def test_losses_have_the_same_bits_on_1_to_64_threads(self):
        run = self.laptime("bench", "--store", "none", *MODEL, "--threads", "1,2,5,16,64", "--mode", "eager,compile", "--dtype",
                           "float32,bfloat16", "--reproducible", "--warmup", "1", "--steps", "2", "--output", "json")
        self.assert_ok(run)
        losses = {}
        for record in json.loads(run.stdout):
            key = (record["config"]["mode"], record["config"]["dtype"])
            losses.setdefault(key, {})[record["config"]["threads"]] = tuple(record["loss"]["values"])
        self.assertEqual(len(losses), 4)
        for key, by_threads in losses.items():
            with self.subTest(key):
                self.assertEqual(len(by_threads), 5)
                self.assertEqual(len(set(by_threads.values())), 1, by_threads)

    def test_states_why_there_are_fewer_threads_than_cores(self):
        words = ["bench", "--store", "none", *MODEL, "--warmup", "0", "--steps", "1", "--output", "json"]
        self.environment["OMP_NUM_THREADS"] = "1"
        run = self.laptime(*words)
        self.assert_ok(run)
        self.assertEqual(json.loads(run.stdout)[0]["config"]["threads"], 1)
        self.assertIn("1 thread (OMP_NUM_THREADS)", self.laptime("list", "devices").stdout)
        if len(os.sched_getaffinity(0)) > 1:
            self.assertIn("laptime: 1 thread: OMP_NUM_THREADS; --threads sets another number\n", run.stderr)
        self.assertNotIn("OMP_NUM_THREADS", self.laptime(*words, "--threads", "1").stderr)

    def test_explain_bounds_the_speed_up(self):
        run = self.laptime("explain", *MODEL, "--view", "threads")
        self.assert_ok(run)
        self.assertIn("upper bound on the speed-up over one thread", run.stdout)
        (point,) = json.loads(self.laptime("explain", *MODEL, "--output", "json").stdout)
        self.assertEqual([bound["threads"] for bound in point["threads"]], [8, 32, 64, 128])
        by_op = {kernel["op"]: kernel["threads"] for kernel in point["kernels"] if kernel["threads"]}
        for bound in by_op["adamw"]:
            self.assertGreaterEqual(bound["units"], 1)
            self.assertLessEqual(bound["speed_up"], bound["units"])


if __name__ == "__main__":
    unittest.main()
