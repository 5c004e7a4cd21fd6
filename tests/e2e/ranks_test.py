"""Steps on several ranks, started by mpirun: losses, bytes, killed ranks, and invalid input."""

import json
import os
import re
import shutil
import signal
import subprocess
import time
import unittest
from pathlib import Path

from program import BINARY, ProgramTest

MODEL = "--d-model 32 --d-ff 64 --num-layers 2 --num-heads 2 --vocab 64 --context 16 --batch 8".split()
STEPS = [*MODEL, "--threads", "1", "--warmup", "0", "--steps", "10", "--batches", "fresh", "--lr", "0.01", "--init", "stream"]
HAS_MPI = shutil.which("mpirun") is not None
LIMIT = 60  # seconds for a run to end after losing a rank; on an idle machine it takes less than 10


def rank_processes(launcher: subprocess.Popen) -> list[int]:
    """Ids of the rank processes that a bench has started, in arbitrary order."""
    parents = {}
    found = []
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        try:
            parents[int(folder.name)] = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            if (folder / "cmdline").read_bytes().split(b"\0")[1:2] == [b"rank-of-a-point"]:
                found.append(int(folder.name))
        except OSError:
            continue

    def is_below(process: int) -> bool:
        while process > 1:
            if process == launcher.pid:
                return True
            process = parents.get(process, 0)
        return False

    return [process for process in found if is_below(process)]


@unittest.skipUnless(HAS_MPI, "Open MPI is not installed")
class Ranks(ProgramTest):
    def records(self, *words) -> list[dict]:
        done = self.bench(*words, "--output", "json")
        self.assert_ok(done)
        return json.loads(done.stdout)

    def test_losses_match_one_process(self):
        for edition, dtype in (("2025", "float32"), ("gpt2", "bfloat16"), ("llama", "float32")):
            base = [*STEPS, "--edition", edition, "--dtype", dtype]
            whole = self.records(*base)[0]["loss"]["values"]
            several = self.records(*base, "--ranks", "2,4", "--oversubscribe", "--shard",
                                   "none,optimizer,gradients,parameters")
            self.assertEqual(len(several), 8)
            for record in several:
                self.assertEqual(record["status"], "ok", record["reason"])
                for found, expected in zip(record["loss"]["values"], whole, strict=True):
                    self.assertAlmostEqual(found, expected, delta=expected * (1e-5 if dtype == "float32" else 1e-2))

    def test_losses_have_the_same_bits_in_every_run(self):
        words = [*STEPS, "--ranks", "2", "--shard", "parameters", "--seed", "5"]
        first = self.records(*words)[0]
        second = self.records(*words)[0]  # the program itself fails if a loss differs from the stored one
        self.assertEqual((first["status"], second["status"]), ("ok", "ok"), second["reason"])
        self.assertEqual(first["loss"], second["loss"])

    def test_bytes_sent_and_held_match_the_shard_option(self):
        for ranks in (2, 4):
            for shard, sums in (("none", 2), ("optimizer", 2), ("gradients", 2), ("parameters", 3)):
                record = self.records(*STEPS, "--ranks", ranks, "--oversubscribe", "--shard", shard)[0]
                count = record["flops"]["parameters"]
                # Embedding and head are gathered once: backward does not read the embedding, and reuses the head.
                numbers = count * sums - (2 * 64 * 32 if shard == "parameters" else 0)
                loss = 4 * (ranks - 1)  # rank 0 sends the loss to every other rank
                self.assertEqual(record["communication"]["bytes"], 4 * numbers * (ranks - 1) // ranks + loss, (ranks, shard))
                held = record["memory"]["parts"]
                self.assertEqual(held["optimizer_state"], 8 * count // (1 if shard == "none" else ranks))
                if shard == "parameters":  # a rank holds its share and the gathered parameters
                    resident = record["memory"]["resident_bytes"]  # includes alignment gaps, tokens and constants
                    self.assertIn(resident - 12 * count // ranks, range(16384), (ranks, shard))
                else:
                    self.assertEqual(held["parameter"], 4 * count)

    def test_profile_states_the_communication_of_the_record(self):
        done = self.laptime("profile", "--store", self.store, *STEPS, "--ranks", "2", "--traced-steps", "2", "--output", "json")
        self.assert_ok(done)
        findings = json.loads(done.stdout)[0]["findings"]
        found = next(finding for finding in findings if finding["kind"] == "communication")
        (record,) = self.stored()
        use = record["communication"]
        self.assertEqual([found[key] for key in ("total_s", "exposed_s", "bytes", "launches")],
                         [use[key] for key in ("seconds", "exposed", "bytes", "launches")])

    def test_killed_or_stopped_rank_fails_the_run_with_a_reason(self):
        for number, reason in ((signal.SIGKILL, "signal 9"), (signal.SIGSTOP, "silent")):
            process = self.start("bench", "--store", self.store, *MODEL, "--threads", "1", "--ranks", "2", "--warmup",
                                 "0", "--steps", "100000000", "--output", "json")
            self.addCleanup(process.kill)
            while len(rank_processes(process)) < 2:
                self.assertIsNone(process.poll())
                time.sleep(0.05)
            time.sleep(1)
            victim = max(rank_processes(process))
            os.kill(victim, number)
            output, errors = process.communicate(timeout=LIMIT)
            record = json.loads(output)[0]
            self.assertEqual(record["status"], "failed", errors)
            self.assertIn(reason, record["reason"])
            self.assertEqual(rank_processes(process), [])

    def under_mpirun(self, *programs) -> subprocess.CompletedProcess:
        """Runs mpirun with one rank process for each list of arguments."""
        root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        words = ["mpirun", "--oversubscribe", "--bind-to", "none"]
        for number, program in enumerate(programs):
            words += [*([":"] if number else []), "-n", "1", BINARY, *program]
        return subprocess.run(words, env=self.environment | root, cwd=self.folder, text=True, check=False, timeout=LIMIT,
                              capture_output=True)

    def test_each_process_of_mpirun_is_a_rank(self):
        words = ["bench", "--store", str(self.store), *STEPS, "--ranks", "2", "--shard", "none,gradients"]
        done = self.under_mpirun(words, words)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual([record["status"] for record in self.stored()], ["ok", "ok"])
        self.assertEqual(len(re.findall(r"(?m)^shard gradients ", done.stdout)), 1, done.stdout)

    def test_each_timeout_under_mpirun_has_its_own_record(self):
        words = ["bench", "--store", str(self.store), *MODEL, "--threads", "1", "--ranks", "2", "--seed", "1,2",
                 "--warmup", "0", "--steps", "100000000", "--timeout", "3"]
        done = self.under_mpirun(words, words)
        self.assertEqual([(record["config"]["seed"], record["status"]) for record in self.stored()],
                         [(1, "timeout"), (2, "timeout")], done.stderr)

    def test_point_that_does_not_fit_leaves_the_ranks_of_mpirun_running(self):
        words = ["bench", "--store", str(self.store), *STEPS, "--ranks", "2", "--recompute", "none", "--memory-limit", "1KiB,1GiB"]
        done = self.under_mpirun(words, words)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual([record["status"] for record in self.stored()], ["out_of_memory", "ok"])

    def test_rejects_processes_that_are_not_ranks(self):
        words = ["bench", "--store", str(self.store), *STEPS]
        done = self.under_mpirun(words, words)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("2 processes were started, but the point has --ranks 1; make both equal", done.stderr)

    def test_rejects_ranks_with_different_options(self):
        words = ["bench", "--store", str(self.store), *STEPS, "--ranks", "2"]
        done = self.under_mpirun(words, [*words, "--seed", "2"])
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("rank 1 was started with different options than rank 0", done.stderr)

    def test_rejects_invalid_rank_options(self):
        for words, reason in (
            (["--ranks", "3"], "--batch 8 (of all ranks) is not divisible by --ranks 3; give --batch 9"),
            (["--shard", "optimizer"], "--shard optimizer divides states among ranks, but there is only one"),
            (["--ranks", "2", "--accumulate"], "--ranks 2 excludes --accumulate"),
            (["--ranks", "2", "--pass", "forward"], "--ranks 2 excludes a --pass other than step"),
            (["--ranks", "2", "--shard", "gradients", "--loss-scale", "dynamic"], "--shard gradients excludes --loss-scale"),
            (["--ranks", "8", "--threads", "100"], "--oversubscribe"),
        ):
            done = self.bench(*MODEL, *words)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(reason, done.stdout + done.stderr)


class WithoutMpi(ProgramTest):
    def test_names_the_package_to_install(self):
        if HAS_MPI:
            self.skipTest("Open MPI is installed")
        done = self.bench(*MODEL, "--ranks", "2")
        self.assertEqual(done.returncode, 2)
        self.assertIn("openmpi-bin", done.stderr)


if __name__ == "__main__":
    unittest.main()
