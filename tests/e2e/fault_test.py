"""Hostile environments that other tests do not cover: clocks, terminals, limits, names and signals."""

import fcntl
import json
import os
import pty
import re
import resource
import shutil
import signal
import struct
import subprocess
import termios
import threading
import time
import unittest
from pathlib import Path

from program import BINARY, ONE_STEP, PREDICTED, TINY, ProgramTest, busy_child

CPU = [*TINY, "--device", "cpu", "--threads", "1", *ONE_STEP]
GOLDEN = Path(os.environ["LAPTIME_GOLDEN_DIR"]) / "tiny_2025.safetensors"

# The calendar clock jumps by decades between any two readings.
JUMPING_CLOCK = """
#include <time.h>
static int odd;
time_t time(time_t* out) {
  const time_t now = (odd = !odd) ? 4102444800 : 1;
  if (out) *out = now;
  return now;
}
"""


class Clock(ProgramTest):
    def test_a_jumping_calendar_clock_does_not_change_times(self):
        compiler = shutil.which("cc")
        if compiler is None:
            self.skipTest("no C compiler")
        (self.folder / "clock.c").write_text(JUMPING_CLOCK)
        subprocess.run([compiler, "-shared", "-fPIC", "-o", "clock.so", "clock.c"], cwd=self.folder, check=True)
        self.environment["LD_PRELOAD"] = str(self.folder / "clock.so")
        done = self.bench(*CPU, "--seed", "1,2,3,4", "--output", "json")
        if "cannot be preloaded" in done.stderr or "LeakSanitizer" in done.stderr or "ASan runtime" in done.stderr:
            self.skipTest("nothing can be preloaded")
        self.assert_ok(done)
        records = json.loads(done.stdout)
        self.assertEqual({record["created"][:4] for record in records} - {"1970", "2100"}, set())
        self.assertTrue(all(record["time"]["step"]["median"] < 60 for record in records))
        self.assertEqual(len(self.stored()), 4)


class Terminals(ProgramTest):
    def on_terminal(self, width: int, *words) -> str:
        """The text that the program sends to a terminal of this width."""
        main, terminal = pty.openpty()
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, width, 0, 0))
        self.environment["TERM"] = "xterm"
        program = self.start(*words, stdin=terminal, stdout=terminal, stderr=terminal)
        os.close(terminal)
        text = b""
        while True:
            try:
                piece = os.read(main, 65536)
            except OSError:
                break
            text += piece
        os.close(main)
        self.assertEqual(program.wait(timeout=30), 0)
        return text.decode()

    def test_fits_a_narrow_terminal(self):
        """Progress is one line, and no line of the table is wider than the terminal."""
        text = self.on_terminal(40, "bench", "--store", "none", *PREDICTED, "--steps", "1", "--seed", "1,2")
        lines = text.replace("\r\x1b[K", "\n").splitlines()
        progress = [line for line in lines if line.startswith("[")]
        self.assertGreater(len(progress), 1)
        self.assertEqual([line for line in progress if len(line) >= 40], [])
        rows = [line for line in lines if re.match(r"seed \d.* ms", line)]
        self.assertEqual(len(rows), 2, text)
        for row in rows:
            self.assertLessEqual(len(row), 40)


class Names(ProgramTest):
    def test_runs_without_a_home_directory(self):
        del self.environment["HOME"]
        done = self.laptime("bench", *CPU, "--output", "json")
        self.assert_ok(done)
        self.assertIn("HOME is not set", done.stderr)
        self.assertEqual(len(json.loads(done.stdout)), 1)

    def test_accepts_names_that_are_not_utf8(self):
        folder = os.fsencode(self.folder)
        store = folder + b"/st\xffore.sqlite"
        done = subprocess.run([BINARY, "bench", "--store", store, *CPU, "--output", "json"], env=self.environment,
                              capture_output=True, check=False, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(os.path.exists(store))
        json.loads(done.stdout.decode())
        done = subprocess.run([BINARY, "bench", "--store", "none", *CPU, "--data", folder + b"/n\xffne.txt"],
                              env=self.environment, capture_output=True, check=False, timeout=60)
        self.assertEqual(done.returncode, 2, done.stderr)


class Signals(ProgramTest):
    def test_a_point_whose_process_is_killed_has_a_failed_record(self):
        for number in (signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGKILL):
            with self.subTest(number.name):
                sweep = self.start("bench", "--store", self.store, *TINY, "--device", "cpu", "--threads", "1", "--warmup",
                                   "0", "--steps", "1000000,1", "--seed", str(int(number)), "--output", "jsonl")
                os.kill(busy_child(sweep, 0.3), number)
                output, errors = sweep.communicate(timeout=60)
                self.assertEqual(sweep.returncode, 1, errors)
                records = [json.loads(line) for line in output.splitlines()]
                self.assertEqual([record["status"] for record in records], ["failed", "ok"])

    def test_timeout_does_not_count_suspended_time(self):
        """At most two seconds of a suspension may count, because a busy machine may delay a program for two seconds."""
        start = time.monotonic()
        sweep = self.start("bench", "--store", self.store, *TINY, "--device", "cpu", "--threads", "1", "--warmup", "0",
                           "--steps", "1000000", "--timeout", "3", "--output", "jsonl", start_new_session=True)
        busy_child(sweep, 0.1)
        os.killpg(sweep.pid, signal.SIGSTOP)
        suspended = 3.2
        time.sleep(suspended)
        self.assertIsNone(sweep.poll())
        os.killpg(sweep.pid, signal.SIGCONT)
        output, errors = sweep.communicate(timeout=60)
        self.assertGreaterEqual(time.monotonic() - start - suspended, 3 - 2, errors)
        self.assertEqual([json.loads(line)["status"] for line in output.splitlines()], ["timeout"])


class Limits(ProgramTest):
    def test_reports_a_stack_that_is_too_small(self):
        size = 64 << 10
        done = self.laptime("bench", *CPU, "--store", "none",
                            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_STACK, (size, size)))
        self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
        self.assertIn("ulimit -s", done.stderr)

    @unittest.skipIf(os.geteuid() != 0, "needs root, to become a user without other processes")
    def test_process_limit_fails_only_points_whose_threads_cannot_start(self):
        self.folder.chmod(0o777)
        outcomes = set()
        for limit in range(3, 9):
            def restrict(limit=limit):
                resource.setrlimit(resource.RLIMIT_NPROC, (limit, limit))
                os.setuid(1_000_000 + os.getppid())

            try:
                done = self.laptime("bench", *TINY, *ONE_STEP, "--threads", "4", "--store", "none", "--output", "json",
                                    preexec_fn=restrict)
            except (PermissionError, subprocess.SubprocessError):
                self.skipTest("another user cannot run the program")
            if not done.stdout:  # the limit is too low for the process of the point
                continue
            record = json.loads(done.stdout)[0]
            if record["status"] != "ok":
                self.assertIn("cannot start 4 threads", record["reason"], limit)
            outcomes.add(record["status"])
        self.assertEqual(outcomes, {"failed", "ok"})

    def test_small_address_space_is_reported_as_out_of_memory(self):
        """Tries limits at which the program cannot start, at which the point does not fit, and at which it fits."""
        refused = 0
        for kibibytes in range(24_000, 96_000, 9_000):
            size = kibibytes << 10
            done = self.laptime("bench", *CPU, "--store", "none", "--output", "json",
                                preexec_fn=lambda size=size: resource.setrlimit(resource.RLIMIT_AS, (size, size)))
            if done.returncode in (1, 127) and not done.stdout:
                self.assertRegex(done.stderr, "memory|failed to map")  # from the program or from the dynamic loader
                continue
            self.assertEqual(done.returncode, 0, f"{kibibytes} KiB: {done.stderr}")
            status = json.loads(done.stdout)[0]["status"]
            self.assertIn(status, ("out_of_memory", "ok"), kibibytes)
            refused += status == "out_of_memory"
        self.assertGreater(refused, 0)


class Truncated(ProgramTest):
    def test_survives_a_file_truncated_while_it_is_read(self):
        content = GOLDEN.read_bytes()
        file = self.folder / "golden.safetensors"
        for delay in (0, 0.02, 0.05, 0.1, 0.3):
            file.write_bytes(content)
            timer = threading.Timer(delay, os.truncate, (file, len(content) // 3))
            timer.start()
            done = self.laptime("verify", file, file, file, file)
            timer.join()
            self.assertIn(done.returncode, (0, 1, 2), f"{delay} s: {done.stderr}")


if __name__ == "__main__":
    unittest.main()
