"""Points run by a Slurm cluster that the test starts: records, jobs, and killed daemons, points and sweeps."""

import contextlib
import json
import subprocess
import time
import unittest

import launchers
import slurm
from launchers import LONG, POINT, PROGRAM, seeds

RANKS = ["--d-model", "32", "--d-ff", "64", "--num-layers", "1", "--num-heads", "2", "--vocab", "64", "--context", "16",
         "--batch", "4", "--threads", "1", "--warmup", "0", "--steps", "3", "--ranks", "2"]


@unittest.skipIf(slurm.missing(), slurm.missing())
class Slurm(launchers.KillTest):
    """Runs points in two Slurm partitions of one node each."""

    def begin(self):
        stack = contextlib.ExitStack()
        self.addCleanup(stack.close)
        self.slurm = stack.enter_context(slurm.Slurm(self.folder / "slurm"))
        for name in ("PATH", "SLURM_CONF"):
            self.environment[name] = self.slurm.environment[name]

    def launcher(self) -> str:
        return "srun -p a,b -N1 -n1 --exclusive --quiet"

    def recover(self):
        self.slurm.wait_for_nodes()

    def test_slurm_launcher_gives_the_same_records_as_a_local_sweep(self):
        self.check_against_local("slurm", self.launcher())

    def test_records_survive_killing_the_daemon_of_a_node(self):
        def kill(_):
            node = self.random.choice(slurm.NODES)
            self.slurm.kill_node(node)
            time.sleep(self.random.uniform(0, 0.5))
            self.slurm.start_node(node)
        self.kill_each_time(kill)

    def test_rejects_srun_without_output_input_or_partition(self):
        for words, message in [("srun --output=/dev/null", "does not return the output of a program"),
                               ("srun --input=none", "does not pass standard input"),
                               ("srun -p none", "reaches no machine (exit code 1: srun: error:")]:
            done = self.bench(*POINT, "--launcher", words)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(message, done.stderr)

    def test_a_job_may_launch_points_itself(self):
        log = self.folder / "job.log"
        words = [PROGRAM, "bench", *POINT, *seeds(1, 3), "--launcher", "slurm", "--store", str(self.store)]
        done = subprocess.run(["sbatch", "--wait", "-N1", "--exclusive", "-o", log, "--wrap", " ".join(words)],
                              env=self.environment, cwd=self.folder, check=False, timeout=120, capture_output=True)
        self.assertEqual(done.returncode, 0, log.read_text() if log.exists() else done.stderr)
        self.assertEqual([record["status"] for record in self.stored()], ["ok"] * 3)

    def test_each_task_of_srun_is_a_rank(self):
        words = ["bench", "--store", str(self.store), *RANKS, "--oversubscribe", "--output", "json"]
        step = self.slurm.run("srun", "-n", "2", "--oversubscribe", "--mpi=pmix", PROGRAM, *words, cwd=self.folder)
        self.assertEqual(step.returncode, 0, step.stdout + step.stderr)
        self.assertEqual(len(self.stored()), 1)
        alone = self.bench(*words[3:])
        self.assertEqual(json.loads(step.stdout)[0]["loss"], json.loads(alone.stdout)[0]["loss"], step.stderr)

    def cancel_job(self, *words):
        job = [PROGRAM, "bench", *LONG, "--launcher", "slurm", "--store", str(self.store)]
        subprocess.run(["sbatch", "-J", "sweep", "-N1", "--exclusive", "-o", self.folder / "job.log", "--wrap", " ".join(job)],
                       env=self.environment, cwd=self.folder, check=True, timeout=60, stdout=subprocess.DEVNULL)
        self.busy_point()
        self.slurm.run("scancel", *words, "--name=sweep")
        self.assert_nothing_is_left()

    def test_a_cancelled_job_leaves_no_processes(self):
        self.cancel_job()

    def test_a_terminated_job_keeps_its_samples(self):
        self.cancel_job("--full", "--signal=TERM")
        self.slurm.wait_for_nodes()
        self.assertEqual([record["status"] for record in self.stored()], ["interrupted"])


if __name__ == "__main__":
    unittest.main()
