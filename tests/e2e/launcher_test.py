"""Points placed by launchers (env, a fake ssh, mpirun, Slurm) give the records of a local sweep, whatever is killed meanwhile."""

import contextlib
import os
import random
import shutil
import signal
import subprocess
import time
import unittest
import uuid
from pathlib import Path

import slurm
from program import BINARY, ONE_STEP, TINY, ProgramTest

POINTS = int(os.environ.get("LAPTIME_POINTS", "10"))
POINT = [*TINY, "--device", "cpu", "--threads", "1", *ONE_STEP]
KILLS = int(os.environ.get("LAPTIME_KILLS", "2"))  # of each kind
PROGRAM = os.path.realpath(BINARY)  # as a launcher gets it
LONG = [*TINY, "--device", "cpu", "--threads", "1", "--warmup", "0", "--steps", "1000000"]


def seeds(first: int, last: int) -> list[str]:
    return ["--seed", ",".join(str(seed) for seed in range(first, last + 1))]


def facts(records: list[dict]) -> list[tuple]:
    """The keys of records that do not differ from run to run, in the order of names."""
    keys = ["name", "status", "reason", "config", "math_mode", "loss", "kernels", "fingerprint", "config_hash", "sweep"]
    return sorted((*(str(record[key]) for key in keys), record["memory"]["peak_bytes"], record["binary"]["id"],
                   record["machine"]["affinity"]) for record in records)


class LauncherTest(ProgramTest):
    def setUp(self):
        super().setUp()
        self.mark = f"LAPTIME_TEST={uuid.uuid4()}"
        key, _, value = self.mark.partition("=")
        self.environment[key] = value
        self.addCleanup(self.end_all)

    def marked(self) -> list[int]:
        """The processes that were started with the environment of this test."""
        found = []
        for path in Path("/proc").glob("[0-9]*/environ"):
            with contextlib.suppress(OSError):
                if self.mark.encode() in path.read_bytes().split(b"\0"):
                    found.append(int(path.parent.name))
        return found

    def points_at_work(self) -> list[int]:
        """The processes of `laptime point`: for each point one that waits, and one that measures."""
        found = []
        for process in self.marked():
            with contextlib.suppress(OSError):
                if Path(f"/proc/{process}/cmdline").read_bytes().split(b"\0")[:2] == [PROGRAM.encode(), b"point"]:
                    found.append(process)
        return found

    def parent_of(self, process: int) -> int:
        with contextlib.suppress(OSError):
            return int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])
        return 0

    def busy_point(self, other_than: int = 0) -> int:
        """The process that measures a point, once it has used some time."""
        def is_busy(process):
            with contextlib.suppress(OSError):
                fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
                return int(fields[11]) + int(fields[12]) > 0.5 * os.sysconf("SC_CLK_TCK")
            return False
        return self.wait_for(lambda: next(
            (process for process in self.points_at_work()
             if process != other_than and self.parent_of(process) in self.points_at_work() and is_busy(process)), None))

    def wait_for(self, condition, limit: float = 60):
        deadline = time.monotonic() + limit
        while not (found := condition()):
            self.assertLess(time.monotonic(), deadline, "waited too long")
            time.sleep(0.02)
        return found

    def end_all(self):
        for process in self.marked():
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)

    def assert_nothing_is_left(self):
        self.wait_for(lambda: not self.points_at_work(), 30)

    def fake_ssh(self) -> str:
        """As ssh does: the words become one line for a shell, in the home directory."""
        script = self.folder / "ssh"
        script.write_text('#!/bin/sh\nshift\ncd "$HOME" && sh -c "$*"\n')
        script.chmod(0o755)
        return f"{script} host"

    def prepared_store(self, name: str) -> Path:
        """A store with the kernel choices of the points, so that every sweep runs the same kernels."""
        store = self.folder / f"{name}.sqlite"
        known = self.folder / "known.sqlite"
        if not known.exists():
            self.assert_ok(self.laptime("bench", *POINT, "--seed", "1000", "--store", known))
        shutil.copy(known, store)
        return store

    def sweep_of(self, store: Path) -> list[dict]:
        return [record for record in self.stored(store) if record["config"]["seed"] <= POINTS]

    def run_sweep(self, name: str, *words) -> list[dict]:
        store = self.prepared_store(name)
        done = self.laptime("bench", *POINT, *seeds(1, POINTS), "--store", store, "--output", "json", *words)
        self.assert_ok(done)
        return self.sweep_of(store)

    def check_against_local(self, name: str, launcher: str):
        local = self.run_sweep("local")
        launched = self.run_sweep(name, "--launcher", launcher, "--jobs", "2")
        self.assertEqual(facts(launched), facts(local))
        self.assertTrue(all(record["setup"]["placement"] > 0 for record in launched))
        self.assertTrue(all(record["setup"]["placement"] is None for record in local))
        self.assert_nothing_is_left()


class Launcher(LauncherTest):
    def test_env_gives_the_records_of_a_local_sweep(self):
        self.check_against_local("env", "env")

    def test_ssh_gives_the_records_of_a_local_sweep(self):
        self.check_against_local("ssh", self.fake_ssh())

    @unittest.skipUnless(shutil.which("mpirun"), "mpirun is not installed")
    def test_mpirun_gives_the_records_of_a_local_sweep(self):
        root = "--allow-run-as-root " if os.geteuid() == 0 else ""
        self.check_against_local("mpirun", f"mpirun {root}--bind-to none -n 1")

    def test_rows_are_in_the_order_of_the_sweep(self):
        done = self.bench(*POINT, *seeds(1, 12), "--launcher", "env", "--jobs", "4", "--output", "csv", "--columns", "seed")
        self.assert_ok(done)
        self.assertEqual(done.stdout.split(), ["seed", *(str(seed) for seed in range(1, 13))])
        self.assertRegex(done.stderr, r"placing 12 points took .*, at most .* for one; no sample contains it")

    def test_attention_takes_a_launcher(self):
        words = ["attention", "--d-model", "16", "--context", "32", "--threads", "1", *ONE_STEP, "--store", self.store]
        self.assert_ok(self.laptime(*words, "--launcher", "env"))
        self.assertEqual({record["status"] for record in self.stored()}, {"ok"})

    def test_four_parts_are_the_whole(self):
        whole = self.run_sweep("whole")
        parts = []
        for k in range(1, 5):
            parts.append(self.prepared_store(f"part{k}"))
            self.assert_ok(self.laptime("bench", *POINT, *seeds(1, POINTS), "--part", f"{k}/4", "--store", parts[-1]))
        joined = self.folder / "joined.sqlite"
        self.assert_ok(self.laptime("import", *parts, "--store", joined))
        self.assertEqual(facts(self.sweep_of(joined)), facts(whole))
        again = self.laptime("bench", *POINT, *seeds(1, POINTS), "--store", joined, "--resume")
        self.assert_ok(again)
        self.assertEqual(len(self.sweep_of(joined)), POINTS)

    def test_the_part_of_a_job_array(self):
        for name, value in [("ID", "2"), ("MIN", "0"), ("COUNT", "3")]:
            self.environment[f"SLURM_ARRAY_TASK_{name}"] = value
        self.assert_ok(self.bench(*POINT, *seeds(1, 7), "--part", "slurm"))
        self.assertEqual([record["config"]["seed"] for record in self.stored()], [3, 6])


class Refused(LauncherTest):
    def refusal(self, *words) -> str:
        done = self.bench(*POINT, *words)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertEqual(done.stdout, "")
        self.assertEqual(self.stored() if self.store.exists() else [], [])
        return done.stderr

    def test_a_launcher_that_is_not_there(self):
        self.assertIn("--launcher: 'no-such-launcher' cannot be run (No such file or directory)",
                      self.refusal("--launcher", "no-such-launcher"))

    def test_a_launcher_that_swallows_output(self):
        self.assertIn("returns nothing of what a program prints", self.refusal("--launcher", "sh -c '\"$@\" >/dev/null' sh"))
        self.assertIn("returns nothing of what a program prints", self.refusal("--launcher", "true"))

    def test_a_launcher_that_passes_no_input(self):
        self.assertIn("passes no standard input", self.refusal("--launcher", "sh -c '\"$@\" </dev/null' sh"))

    def test_a_machine_that_cannot_be_reached(self):
        message = self.refusal("--launcher", "sh -c 'echo no route to host >&2; exit 255' sh")
        self.assertIn("reaches no machine (exit code 255: no route to host)", message)

    def test_a_machine_without_the_program(self):
        message = self.refusal("--launcher", f"sh -c 'test \"$1\" != {PROGRAM} || exec /no/laptime; exec \"$@\"' sh")
        self.assertIn("reaches a machine that does not run", message)
        self.assertIn("put this program there under the same path", message)

    def test_another_build_of_the_program(self):
        hello = '{"hello": {"device": null, "binary": "another", "asked": true}}'
        script = self.folder / "launcher"
        script.write_text(f"#!/bin/sh\necho '{hello}'\n")
        script.chmod(0o755)
        self.assertIn("another build of laptime", self.refusal("--launcher", str(script)))

    def test_words_that_do_not_fit_together(self):
        self.assertIn("--jobs needs --launcher", self.refusal("--jobs", "2"))
        self.assertIn("'5/4' is not a part", self.refusal("--part", "5/4"))
        self.assertIn("not a task of a job array", self.refusal("--part", "slurm"))
        done = self.laptime("bench", *POINT, "--part", "1/2")
        self.assertEqual(done.returncode, 2)
        self.assertIn("give the part a store of its own, such as --store part1.sqlite", done.stderr)


class Lost(LauncherTest):
    def test_a_lost_point_is_tried_once_more(self):
        once = self.folder / "once"
        launcher = f"sh -c 'test \"$2\" != point -o -e {once} || {{ test -e {once}.probe && touch {once} && exit 7; touch {once}.probe; }}; exec \"$@\"' sh"
        done = self.bench(*POINT, *seeds(1, 3), "--launcher", launcher)
        self.assert_ok(done)
        self.assertEqual([record["status"] for record in self.stored()], ["ok"] * 3)
        self.assertIn("lost: the launcher ended with exit code 7 before the point began; it is tried once more", done.stderr)

    def test_a_point_that_is_lost_twice_is_a_row_with_its_reason(self):
        probe = self.folder / "probe"
        launcher = f"sh -c 'test -e {probe} && echo no route to host >&2 && exit 7; touch {probe}; exec \"$@\"' sh"
        done = self.bench(*POINT, *seeds(1, 2), "--launcher", launcher)
        self.assertEqual(done.returncode, 1)
        self.assertEqual({(record["status"], record["reason"], record["fingerprint"]) for record in self.stored()},
                         {("failed", "lost: the launcher ended with exit code 7 before the point began; tried twice", None)})
        self.assertIn("before the point began: no route to host; it is tried once more", done.stderr)

    def test_a_preempted_point_is_tried_once_more(self):
        sweep = self.start("bench", *LONG, "--store", self.store, "--launcher", "env")
        first = self.busy_point()
        os.kill(self.parent_of(first), signal.SIGTERM)
        second = self.busy_point(other_than=first)
        os.kill(self.parent_of(second), signal.SIGTERM)
        _, errors = sweep.communicate(timeout=60)
        self.assertEqual(sweep.returncode, 1, errors)
        [record] = self.stored()
        self.assertEqual(record["status"], "interrupted")
        self.assertTrue(record["reason"].endswith("; tried twice"), record["reason"])
        self.assert_nothing_is_left()

    def test_control_c_keeps_samples_and_leaves_nothing(self):
        sweep = self.start("bench", *LONG, *seeds(1, 3), "--store", self.store, "--launcher", self.fake_ssh(), "--jobs", "2")
        self.busy_point()
        measuring = [process for process in self.points_at_work() if self.parent_of(process) in self.points_at_work()]
        self.assertEqual(len(measuring), 1, "two points share the cores")
        sweep.send_signal(signal.SIGINT)
        _, errors = sweep.communicate(timeout=60)
        self.assertEqual(sweep.returncode, 130, errors)
        [record] = self.stored()
        self.assertEqual(record["status"], "interrupted")
        self.assertGreater(len(record["time"]["step"]["samples"]), 0)
        self.assert_nothing_is_left()


class Kill(LauncherTest):
    """Kills something in the middle of a sweep: every point that was reported stays, and none is there twice."""

    def launcher(self) -> str:
        return self.fake_ssh()

    def begin(self):
        """Starts what the launcher needs."""

    def setUp(self):
        super().setUp()
        self.begin()
        self.random = random.Random(1)
        store = self.prepared_store("timed")
        start = time.monotonic()
        self.assert_ok(self.laptime(*self.sweep_words(store)))
        self.duration = time.monotonic() - start

    def sweep_words(self, store: Path) -> list:
        return ["bench", *POINT, *seeds(1, POINTS), "--store", store, "--resume", "--launcher", self.launcher(),
                "--jobs", "2"]

    def sweep_with_a_kill(self, kill) -> bool:
        """Whether the kill hit the sweep while it ran."""
        store = self.prepared_store("killed")
        output = self.folder / "printed.jsonl"
        output.unlink(missing_ok=True)
        sweep = self.start(*self.sweep_words(store), "--output", "jsonl", "--output-file", output,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(self.random.uniform(0.1, 0.8) * self.duration)
        was_running = sweep.poll() is None
        kill(sweep)
        sweep.wait(timeout=120)
        self.assert_nothing_is_left()
        printed = output.read_text().splitlines() if output.exists() else []
        before = [record["name"] for record in self.sweep_of(store)]
        self.assertEqual(len(before), len(set(before)), "a point is there twice")
        self.assertGreaterEqual(len(before), len(printed), "a reported point is lost")
        self.recover()
        self.assert_ok(self.laptime(*self.sweep_words(store)))
        finished = [record["config"]["seed"] for record in self.sweep_of(store) if record["status"] == "ok"]
        self.assertEqual(sorted(finished), list(range(1, POINTS + 1)))
        return was_running

    def recover(self):
        """Waits until the launcher can place points again."""

    def kill_each_time(self, kill):
        hits = sum(self.sweep_with_a_kill(kill) for _ in range(KILLS))
        self.assertGreater(hits, 0)

    def test_the_parent(self):
        self.kill_each_time(lambda sweep: sweep.kill())

    def test_a_child(self):
        def kill(_):
            with contextlib.suppress(ProcessLookupError, IndexError):
                os.kill(self.random.choice(self.points_at_work()), signal.SIGKILL)
        self.kill_each_time(kill)

    def test_an_interrupted_sweep(self):
        self.kill_each_time(lambda sweep: sweep.send_signal(signal.SIGINT))


@unittest.skipIf(slurm.missing(), slurm.missing())
class Slurm(Kill):
    """The same with Slurm: two partitions of one node each."""

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

    def test_slurm_gives_the_records_of_a_local_sweep(self):
        self.check_against_local("slurm", self.launcher())

    def test_the_daemon_of_a_node(self):
        def kill(_):
            node = self.random.choice(slurm.NODES)
            self.slurm.kill_node(node)
            time.sleep(self.random.uniform(0, 0.5))
            self.slurm.start_node(node)
        self.kill_each_time(kill)

    def test_srun_without_output_or_input_or_partition(self):
        for words, message in [("srun --output=/dev/null", "returns nothing of what a program prints"),
                               ("srun --input=none", "passes no standard input"),
                               ("srun -p none", "reaches no machine (exit code 1: srun: error:")]:
            done = self.bench(*POINT, "--launcher", words)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(message, done.stderr)

    def test_a_job_that_launches_its_own_steps(self):
        log = self.folder / "job.log"
        words = [PROGRAM, "bench", *POINT, *seeds(1, 3), "--launcher", "slurm", "--store", str(self.store)]
        done = subprocess.run(["sbatch", "--wait", "-N1", "--exclusive", "-o", log, "--wrap", " ".join(words)],
                              env=self.environment, cwd=self.folder, check=False, timeout=120, capture_output=True)
        self.assertEqual(done.returncode, 0, log.read_text() if log.exists() else done.stderr)
        self.assertEqual([record["status"] for record in self.stored()], ["ok"] * 3)

    def cancel_job(self, *words):
        job = [PROGRAM, "bench", *LONG, "--launcher", "slurm", "--store", str(self.store)]
        subprocess.run(["sbatch", "-J", "sweep", "-N1", "--exclusive", "-o", self.folder / "job.log", "--wrap", " ".join(job)],
                       env=self.environment, cwd=self.folder, check=True, timeout=60, stdout=subprocess.DEVNULL)
        self.busy_point()
        self.slurm.run("scancel", *words, "--name=sweep")
        self.assert_nothing_is_left()

    def test_a_cancelled_job_leaves_nothing(self):
        self.cancel_job()

    def test_a_job_that_is_told_to_stop_keeps_samples(self):
        self.cancel_job("--full", "--signal=TERM")
        self.slurm.wait_for_nodes()
        self.assertEqual([record["status"] for record in self.stored()], ["interrupted"])


if __name__ == "__main__":
    unittest.main()
