"""--device cuda --ranks: steps on the fake GPUs and the fake NCCL of tests/fake_cuda, and rejected options."""

import json
import os
import shutil
import signal
import time
import unittest
from pathlib import Path

from program import BINARY, ProgramTest
from ranks_test import LIMIT, rank_processes

FAKE = Path(BINARY).parent / "fake_cuda"
MODEL = "--d-model 16 --d-ff 32 --num-layers 1 --num-heads 2 --vocab 32 --context 8 --batch 4 --device cuda".split()
STEPS = [*MODEL, *"--warmup 0 --steps 4 --batches fresh --lr 0.01 --init stream".split()]


class CudaRanks(ProgramTest):
    def setUp(self):
        super().setUp()
        if shutil.which("mpirun") is None:
            self.skipTest("Open MPI is not installed")
        # The fake NCCL leaves files in the temporary folder when a rank is killed.
        self.environment |= {"LD_LIBRARY_PATH": str(FAKE), "LAPTIME_FAKE_CUDA_CARDS": "4", "TMPDIR": str(self.folder)}
        if "toolkit" in self.cuda_line():
            self.skipTest("built without the CUDA toolkit")

    def cuda_line(self) -> str:
        done = self.laptime("list", "devices")
        self.assert_ok(done)
        return next(line for line in done.stdout.splitlines() if line.startswith("cuda"))

    def records(self, *words) -> list[dict]:
        done = self.bench(*words, "--output", "json")
        self.assert_ok(done)
        records = json.loads(done.stdout)
        for record in records:
            self.assertEqual(record["status"], "ok", record["reason"])
        return records

    def test_list_counts_gpus_and_names_nccl(self):
        self.assertIn("the first of 4 GPUs, cuBLASLt 13.0, cuDNN 9.19, NCCL 2.27;", self.cuda_line())

    def expect_losses_of_one_process(self, ranks: str, *words):
        base = [*STEPS, *words, "--bucket", "1KiB"]
        whole = {record["config"]["dtype"]: record["loss"]["values"] for record in self.records(*base)}
        for record in self.records(*base, "--ranks", ranks, "--shard", "none,optimizer,gradients,parameters"):
            dtype = record["config"]["dtype"]
            for found, expected in zip(record["loss"]["values"], whole[dtype], strict=True):
                self.assertAlmostEqual(found, expected, delta=expected * (1e-5 if dtype == "float32" else 1e-2))
            self.assertEqual(record["machine"]["card"]["libraries"][-1], "NCCL 2.27")
            self.assertGreater(record["communication"]["seconds"], 0)
            self.assertEqual(record["memory"]["peak_bytes"], record["memory"]["predicted_peak_bytes"])

    def test_eager_losses_match_one_process(self):
        self.expect_losses_of_one_process("2", "--dtype", "float32,bfloat16", "--mode", "eager")

    def test_compiled_losses_match_one_process(self):
        self.expect_losses_of_one_process("2,4", "--dtype", "float32,bfloat16", "--mode", "compile")

    def test_stream_timing_does_not_change_losses(self):
        words = [*STEPS, "--ranks", "2", "--shard", "none,gradients,parameters", "--bucket", "1KiB"]
        late = [record["loss"] for record in self.records(*words)]
        self.environment["LAPTIME_FAKE_CUDA_EAGER"] = "1"
        # The program itself fails if a loss differs from the stored one.
        early = [record["loss"] for record in self.records(*words)]
        self.assertEqual(late, early)

    def test_profile_shows_communication(self):
        done = self.laptime("profile", "--store", self.store, *STEPS, "--ranks", "2", "--view", "classes")
        self.assert_ok(done)
        self.assertRegex(done.stdout, r"(?m)^ *communication +[\d.]+ [mun]?s ")

    def failed(self, *words) -> dict:
        done = self.bench(*STEPS, "--ranks", "2", *words, "--output", "json")
        record = json.loads(done.stdout)[0]
        self.assertEqual(record["status"], "failed")
        return record

    def test_nccl_error_fails_the_run_with_a_reason(self):
        self.environment["LAPTIME_FAKE_NCCL_FAIL"] = "6@3"
        for mode in ("eager", "compile"):
            self.assertIn("remote process exited", self.failed("--mode", mode)["reason"])

    def test_killed_or_stopped_rank_fails_the_run_with_a_reason(self):
        for number, reason in ((signal.SIGKILL, "signal 9"), (signal.SIGSTOP, "silent")):
            process = self.start("bench", "--store", self.store, *MODEL, "--ranks", "2", "--warmup", "0", "--steps",
                                 "100000000", "--output", "json")
            self.addCleanup(process.kill)
            while len(rank_processes(process)) < 2:
                self.assertIsNone(process.poll())
                time.sleep(0.05)
            time.sleep(2)
            os.kill(max(rank_processes(process)), number)
            output, errors = process.communicate(timeout=LIMIT)
            record = json.loads(output)[0]
            self.assertEqual(record["status"], "failed", errors)
            self.assertIn(reason, record["reason"])
            self.assertEqual(rank_processes(process), [])

    def test_rejects_more_ranks_than_gpus(self):
        self.environment["LAPTIME_FAKE_CUDA_CARDS"] = "1"
        done = self.bench(*STEPS, "--ranks", "2")
        self.assertIn("--ranks 2 takes 2 GPUs, and this process has 1: use fewer ranks", done.stdout + done.stderr)
        self.assertIn("Duplicate GPU", self.failed("--oversubscribe")["reason"])

    def test_rejects_ranks_without_nccl(self):
        folder = self.folder / "no_nccl"  # hides any NCCL that is installed on this machine
        folder.mkdir()
        (folder / "libnccl.so.2").symlink_to(FAKE / "libcupti.so.13")
        self.environment["LD_LIBRARY_PATH"] = f"{folder}:{FAKE}"
        self.assertIn("no NCCL", self.cuda_line())
        done = self.bench(*STEPS, "--ranks", "2")
        self.assertEqual(done.returncode, 2)
        self.assertRegex(done.stderr, r"--ranks 2 on --device cuda needs NCCL .*install libnccl2")


if __name__ == "__main__":
    unittest.main()
