"""Sweeps lose no finished point if they are killed at any moment, resumed, interrupted, or run concurrently."""

import contextlib
import fcntl
import json
import os
import pty
import random
import signal
import sqlite3
import struct
import subprocess
import termios
import time
import unittest
from pathlib import Path

from program import ONE_STEP, TINY, ProgramTest, busy_child

POINTS = 20
SEEDS = ",".join(str(seed) for seed in range(1, POINTS + 1))
SWEEP = [*TINY, "--device", "cpu", "--threads", "1", *ONE_STEP, "--seed", SEEDS]
KILLS = 50


def names(records) -> list[str]:
    return [record["name"] for record in records]


def read_lines(text: str) -> list[dict]:
    """The records of all complete lines. A truncated last line is ignored."""
    return [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]


def processes_with(word: str) -> list[str]:
    """Command lines of running processes that contain the given word."""
    found = []
    for folder in Path("/proc").iterdir():
        try:
            line = (folder / "cmdline").read_text(errors="replace") if folder.name.isdigit() else ""
        except OSError:
            continue
        if word in line and (folder / "stat").exists():
            found.append(line)
    return found


class Kill(ProgramTest):
    def setUp(self):
        super().setUp()
        # Stores one-time measurements first, so that they do not delay the sweep.
        self.assert_ok(self.bench(*TINY, "--device", "cpu", "--threads", "1", *ONE_STEP, "--seed", "1000"))

    def test_a_killed_sweep_keeps_finished_points_and_resumes(self):
        start = time.monotonic()
        whole = self.laptime("bench", *SWEEP, "--store", "whole.sqlite", "--output", "jsonl", "--columns", "all")
        self.assert_ok(whole)
        duration = time.monotonic() - start
        expected = names(read_lines(whole.stdout))
        self.assertEqual(len(expected), POINTS)

        generator = random.Random(1)
        store = self.store
        printed: set[str] = set()
        unfinished = 0
        for kill in range(KILLS):
            output = self.folder / f"output{kill}.jsonl"
            words = ["bench", "--store", store, *SWEEP, "--resume", "--output", "jsonl", "--columns", "all",
                     "--output-file", output]
            sweep = self.start(*words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(generator.uniform(0, 0.7 * duration))
            sweep.kill()
            sweep.wait()
            new = names(read_lines(output.read_text())) if output.exists() else []
            unfinished += len(new) < POINTS
            printed.update(new)
            stored = names(self.stored(store))
            self.assertLessEqual(printed, set(stored), f"kill {kill}")
            if printed == set(expected):  # every point is finished, so continue with a new store
                store = self.folder / f"records{kill}.sqlite"
                self.assert_ok(self.laptime("bench", *SWEEP[:-1], "1000", "--store", store))
                printed = set()
        self.assertGreater(unfinished, KILLS / 4)  # enough kills must hit a running sweep

        done = self.laptime("bench", "--store", store, *SWEEP, "--resume", "--output", "json")
        self.assert_ok(done)
        self.assertEqual(names(json.loads(done.stdout)), expected)
        stored = names(r for r in self.stored(store) if r["config"]["seed"] <= POINTS)
        self.assertEqual(sorted(stored), sorted(set(stored)), "a finished point was measured again")
        self.assertEqual(sorted(stored), sorted(expected))

    def test_no_process_outlives_a_killed_sweep(self):
        mark = f"1e-{random.randrange(100, 299)}"
        sweep = self.start("bench", *TINY, "--device", "cpu", "--steps", "1000000", "--weight-decay", mark,
                           "--store", "none", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 20
        while len(processes_with(mark)) < 2 and time.monotonic() < deadline:
            time.sleep(0.01)
        self.assertEqual(len(processes_with(mark)), 2)
        sweep.kill()
        sweep.wait()
        while processes_with(mark) and time.monotonic() < deadline:
            time.sleep(0.01)
        self.assertEqual(processes_with(mark), [])

    def test_two_concurrent_sweeps_share_a_store(self):
        halves = [",".join(str(seed) for seed in range(first, first + 10)) for first in (1, 11)]
        words = ["bench", "--store", self.store, *SWEEP[:-1]]
        sweeps = [self.start(*words, half, "--output", "jsonl", "--columns", "all") for half in halves]
        printed = []
        for sweep in sweeps:
            output, errors = sweep.communicate(timeout=120)
            self.assertEqual(sweep.returncode, 0, errors)
            printed += names(read_lines(output))
        stored = names(r for r in self.stored() if r["config"]["seed"] <= POINTS)
        self.assertEqual(sorted(stored), sorted(printed))
        self.assertEqual(len(stored), POINTS)


class Interrupt(ProgramTest):
    def long_sweep(self, **options) -> subprocess.Popen:
        """Starts a sweep of four points. The third would take very long, and the others are quick."""
        return self.start("bench", "--store", self.store, *TINY, "--device", "cpu", "--threads", "1", "--warmup", "0",
                          "--steps", "1,2,1000000,3", "--output", "jsonl", "--columns", "all", **options)

    def wait_for_third_point(self, sweep: subprocess.Popen) -> list[dict]:
        lines = [sweep.stdout.readline() for _ in range(2)]
        busy_child(sweep)
        return [json.loads(line) for line in lines]

    def stop_with(self, number: signal.Signals):
        sweep = self.long_sweep()
        finished = self.wait_for_third_point(sweep)
        sweep.send_signal(number)
        output, errors = sweep.communicate(timeout=30)
        self.assertEqual(sweep.returncode, 130, errors)
        records = finished + read_lines(output)
        self.assertEqual([record["status"] for record in records], ["ok", "ok", "interrupted"])
        self.assertEqual(names(self.stored()), names(records))
        samples = records[2]["time"]["step"]["samples"]
        self.assertIn(f"interrupted: 2 of 4 points are finished, 1 is partial ({len(samples)} samples kept)", errors)
        self.assertGreater(len(samples), 0)
        self.assertIn(f"the times cover the {len(samples)} samples taken so far", records[2]["reason"])
        self.assertEqual(self.stored()[2]["time"]["step"]["samples"], samples)
        self.assertEqual(records[2]["config"]["steps"], 1000000)

    def test_sigint_keeps_finished_points(self):
        self.stop_with(signal.SIGINT)

    def test_sigterm_keeps_finished_points(self):
        self.stop_with(signal.SIGTERM)

    def test_sighup_keeps_finished_points(self):
        self.stop_with(signal.SIGHUP)

    def test_closed_terminal_ends_the_sweep_and_keeps_the_output_file(self):
        leader, terminal = pty.openpty()
        output = self.folder / "records.csv"
        mark = f"1e-{random.randrange(100, 299)}"

        def take_terminal():
            fcntl.ioctl(terminal, termios.TIOCSCTTY, 0)

        sweep = self.start("bench", "--store", self.store, *TINY, "--device", "cpu", "--threads", "1", "--warmup", "0",
                           "--steps", "1,1000000", "--weight-decay", mark, "--output", "csv", "--output-file", output,
                           "--columns", "status", stdin=terminal, stdout=terminal, stderr=terminal, start_new_session=True,
                           preexec_fn=take_terminal)
        os.close(terminal)
        busy_child(sweep)
        os.close(leader)
        self.assertEqual(sweep.wait(timeout=30), 130)
        self.assertEqual(output.read_text().split(), ["status", "ok", "interrupted"])
        self.assertEqual([record["status"] for record in self.stored()], ["ok", "interrupted"])
        self.assertEqual(processes_with(mark), [])

    def test_control_c_sent_to_every_process_leaves_an_interrupted_record(self):
        sweep = self.long_sweep(start_new_session=True)
        self.wait_for_third_point(sweep)
        os.killpg(sweep.pid, signal.SIGINT)
        output, errors = sweep.communicate(timeout=30)
        self.assertEqual(sweep.returncode, 130, errors)
        self.assertEqual([record["status"] for record in read_lines(output)], ["interrupted"])

    def test_control_c_stops_waiting_for_a_locked_store(self):
        sweep = self.long_sweep()
        self.wait_for_third_point(sweep)
        with contextlib.closing(sqlite3.connect(self.store)) as other:
            other.execute("BEGIN IMMEDIATE")
            start = time.monotonic()
            sweep.send_signal(signal.SIGINT)
            _, errors = sweep.communicate(timeout=60)
            self.assertLess(time.monotonic() - start, 28)  # without the interrupt, the sweep would wait for 30 s
            self.assertEqual(sweep.returncode, 130, errors)
            self.assertIn("keeps the file locked", errors)
            self.assertIn("1 of 3 records could not be stored", errors)

    def blocked_sweep(self) -> subprocess.Popen:
        """Starts a sweep that waits because its output has filled a pipe that nobody reads."""
        seeds = ",".join(str(seed) for seed in range(1, 101))
        sweep = self.start("bench", "--store", self.store, *TINY, "--device", "roofline:h100", *ONE_STEP, "--seed", seeds,
                           "--output", "jsonl", "--columns", "all", stderr=subprocess.DEVNULL)
        size = fcntl.fcntl(sweep.stdout, fcntl.F_SETPIPE_SZ, 4096)  # less than one record
        while struct.unpack("i", fcntl.ioctl(sweep.stdout, termios.FIONREAD, b"\0" * 4))[0] < size:
            self.assertIsNone(sweep.poll())
            time.sleep(0.02)
        return sweep

    def test_control_c_ends_a_sweep_whose_output_nobody_reads(self):
        for signals in (1, 2):
            self.store.unlink(missing_ok=True)
            sweep = self.blocked_sweep()
            for _ in range(signals):
                sweep.send_signal(signal.SIGINT)
                time.sleep(0.1)
            self.assertEqual(sweep.wait(timeout=60), 130)
            sweep.stdout.close()

    def test_third_control_c_ends_the_sweep_immediately(self):
        sweep = self.blocked_sweep()
        for _ in range(3):
            sweep.send_signal(signal.SIGINT)
            time.sleep(0.05)
        self.assertEqual(sweep.wait(timeout=20), 130)
        sweep.stdout.close()

    def test_resume_continues_after_an_interrupt(self):
        sweep = self.long_sweep()
        self.wait_for_third_point(sweep)
        sweep.send_signal(signal.SIGINT)
        sweep.communicate(timeout=30)
        done = self.bench(*TINY, "--device", "cpu", "--threads", "1", "--warmup", "0", "--steps", "1,2,3", "--resume",
                          "--output", "json")
        self.assert_ok(done)
        self.assertEqual(len(json.loads(done.stdout)), 3)
        self.assertEqual(len(self.stored()), 4)  # two finished points, the interrupted one, and --steps 3

    def test_csv_of_an_interrupted_sweep_has_the_finished_points(self):
        output = self.folder / "records.csv"
        sweep = self.start("bench", "--store", self.store, *TINY, "--device", "cpu", "--threads", "1", "--warmup", "0",
                           "--steps", "1,1000000", "--output", "csv", "--output-file", output, "--columns", "status")
        busy_child(sweep)
        self.assertFalse(output.exists())
        sweep.send_signal(signal.SIGINT)
        sweep.communicate(timeout=30)
        self.assertEqual(sweep.returncode, 130)
        self.assertEqual(output.read_text().split(), ["status", "ok", "interrupted"])


if __name__ == "__main__":
    unittest.main()
