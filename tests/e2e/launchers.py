"""Helpers and shared tests for sweeps that run points through a launcher: processes, expected records, and kills."""

import contextlib
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import time
import uuid
from pathlib import Path

from program import BINARY, ONE_STEP, TINY, ProgramTest

POINTS = int(os.environ.get("LAPTIME_POINTS", "6"))
POINT = [*TINY, "--device", "cpu", "--threads", "1", *ONE_STEP]
KILLS = int(os.environ.get("LAPTIME_KILLS", "2"))  # number of kills of each kind
PROGRAM = os.path.realpath(BINARY)  # the path of the program in the launched command
LONG = [*TINY, "--device", "cpu", "--threads", "1", "--warmup", "0", "--steps", "1000000"]


def seeds(first: int, last: int) -> list[str]:
    return ["--seed", ",".join(str(seed) for seed in range(first, last + 1))]


def facts(records: list[dict]) -> list[tuple]:
    """For each record, sorted by name, the values that are the same in every run."""
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
        """Ids of the processes that this test started, recognised by their environment."""
        found = []
        for path in Path("/proc").glob("[0-9]*/environ"):
            with contextlib.suppress(OSError):
                if self.mark.encode() in path.read_bytes().split(b"\0"):
                    found.append(int(path.parent.name))
        return found

    def points_at_work(self) -> list[int]:
        """Ids of the processes of `laptime point`. Each point has a waiting process and a measuring process."""
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
        """Waits until a process other than `other_than` measures a point and has used CPU time. Returns its id."""
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
        """A script that acts like ssh: it joins its arguments into one line for a shell in the home directory."""
        script = self.folder / "ssh"
        script.write_text('#!/bin/sh\nshift\ncd "$HOME" && sh -c "$*"\n')
        script.chmod(0o755)
        return f"{script} host"

    def prepared_store(self, name: str) -> Path:
        """Makes a store with kernel choices for the points, so that every sweep runs the same kernels. A run on a busy
        machine does not try the kernels of all signatures, so runs are repeated until a run adds no choice."""
        store = self.folder / f"{name}.sqlite"
        known = self.folder / "known.sqlite"
        if not known.exists():
            chosen = [0]
            for seed in range(1000, 1020):
                self.assert_ok(self.laptime("bench", *POINT, "--seed", str(seed), "--store", known))
                with contextlib.closing(sqlite3.connect(known)) as connection:
                    chosen.append(connection.execute("SELECT count(*) FROM kernel_choices").fetchone()[0])
                if chosen[-1] == chosen[-2]:
                    break
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


class KillTest(LauncherTest):
    """Kills a process during a sweep. Every reported point must stay stored, and no point may be stored twice."""

    def launcher(self) -> str:
        return self.fake_ssh()

    def begin(self):
        """Starts the services that the launcher needs. The fake ssh needs none."""

    def setUp(self):
        super().setUp()
        self.begin()
        self.random = random.Random(1)

    def sweep_words(self, store: Path) -> list:
        return ["bench", *POINT, *seeds(1, POINTS), "--store", store, "--resume", "--launcher", self.launcher(),
                "--jobs", "2"]

    def sweep_with_a_kill(self, kill) -> bool:
        """Calls `kill` during a sweep, checks the store, and resumes. Returns whether `kill` hit a running sweep."""
        store = self.prepared_store("killed")
        output = self.folder / "printed.jsonl"
        output.unlink(missing_ok=True)
        sweep = self.start(*self.sweep_words(store), "--output", "jsonl", "--output-file", output,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        enough = self.random.randrange(POINTS // 2)
        while sweep.poll() is None and len(output.read_text().splitlines() if output.exists() else ()) < enough:
            time.sleep(0.01)
        was_running = sweep.poll() is None
        kill(sweep)
        sweep.wait(timeout=120)
        self.assert_nothing_is_left()
        printed = output.read_text().splitlines() if output.exists() else []
        before = [record["name"] for record in self.sweep_of(store)]
        self.assertEqual(len(before), len(set(before)), "a point is stored twice")
        self.assertGreaterEqual(len(before), len(printed), "a reported point is lost")
        self.recover()
        self.assert_ok(self.laptime(*self.sweep_words(store)))
        finished = [record["config"]["seed"] for record in self.sweep_of(store) if record["status"] == "ok"]
        self.assertEqual(sorted(finished), list(range(1, POINTS + 1)))
        return was_running

    def recover(self):
        """Waits until the launcher can place points again. The fake ssh always can."""

    def kill_each_time(self, kill):
        hits = sum(self.sweep_with_a_kill(kill) for _ in range(KILLS))
        self.assertGreater(hits, 0)

    def test_records_survive_killing_the_sweep(self):
        self.kill_each_time(lambda sweep: sweep.kill())

    def test_records_survive_killing_a_point(self):
        def kill(_):
            with contextlib.suppress(ProcessLookupError, IndexError):
                os.kill(self.random.choice(self.points_at_work()), signal.SIGKILL)
        self.kill_each_time(kill)

    def test_records_survive_interrupting_the_sweep(self):
        self.kill_each_time(lambda sweep: sweep.send_signal(signal.SIGINT))
