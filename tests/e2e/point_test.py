"""Points that crash, are killed or time out affect only their own rows. Also progress, explain, list and help."""

import json
import os
import pty
import signal
import unittest
from pathlib import Path

from program import BINARY, MODEL, PREDICTED, TINY, ProgramTest, busy_child


class FailedPoints(ProgramTest):
    def sweep_with_victim(self, number: signal.Signals) -> tuple[list[dict], int, str]:
        """Runs three points, and sends a signal to the process of the long one in the middle."""
        sweep = self.start("bench", "--store", self.store, *TINY, "--device", "cpu", "--threads", "1", "--warmup", "0",
                           "--steps", "1,1000000,2", "--output", "jsonl", "--columns", "all")
        first = json.loads(sweep.stdout.readline())
        os.kill(busy_child(sweep), number)
        output, errors = sweep.communicate(timeout=60)
        return [first, *map(json.loads, output.splitlines())], sweep.returncode, errors

    def test_a_crash_has_a_row_and_the_sweep_continues(self):
        records, code, errors = self.sweep_with_victim(signal.SIGSEGV)
        self.assertEqual([record["status"] for record in records], ["ok", "failed", "ok"])
        self.assertIn("SIGSEGV", records[1]["reason"])
        self.assertIn("after step", records[1]["reason"])
        self.assertEqual(records[1]["config"]["steps"], 1000000)
        self.assertIsNotNone(records[1]["memory"]["predicted_peak_bytes"])
        self.assertEqual(code, 1, errors)

    def test_row_states_that_another_process_killed_the_point(self):
        records, code, errors = self.sweep_with_victim(signal.SIGKILL)
        if "oom_kill" not in Path("/proc/vmstat").read_text():
            self.skipTest("this kernel does not count its OOM kills")
        self.assertEqual([record["status"] for record in records], ["ok", "failed", "ok"])
        self.assertIn("another process", records[1]["reason"])
        self.assertEqual(code, 1, errors)

    def test_a_timeout_has_a_row_and_the_sweep_continues(self):
        done = self.bench(*TINY, "--device", "cpu", "--threads", "1", "--warmup", "0", "--steps", "1,100000000,2",
                          "--timeout", "3", "--output", "json")
        records = json.loads(done.stdout)
        self.assertEqual([record["status"] for record in records], ["ok", "timeout", "ok"])
        self.assertIn("--timeout", records[1]["reason"])
        self.assertEqual(done.returncode, 1)
        resumed = self.bench(*TINY, "--device", "cpu", "--threads", "1", "--warmup", "0", "--steps", "1,2", "--resume",
                             "--output", "json")
        self.assertEqual(json.loads(resumed.stdout), [records[0], records[2]])


class Terminal(ProgramTest):
    def on_terminal(self, *words) -> str:
        """The text that the program sends to a terminal of unknown size."""
        pid, terminal = pty.fork()
        if pid == 0:
            os.chdir(self.folder)
            os.execve(BINARY, [BINARY, *map(str, words)], self.environment)
        text = b""
        while True:
            try:
                piece = os.read(terminal, 65536)
            except OSError:
                break
            if not piece:
                break
            text += piece
        os.close(terminal)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 0)
        return text.decode()

    def test_rows_replace_the_progress_line(self):
        self.environment["TERM"] = "xterm"
        text = self.on_terminal("bench", "--store", "none", *PREDICTED, "--steps", "1")
        self.assertIn("\r\x1b[K[1/1]", text)
        self.assertRegex(text, r"\r\x1b\[K[0-9.]+ [mu]?s per step")

    def test_a_dumb_terminal_gets_no_control_codes(self):
        self.environment["TERM"] = "dumb"
        self.assertNotIn("\x1b", self.on_terminal("bench", "--store", "none", *PREDICTED, "--steps", "1"))


class OtherCommands(ProgramTest):
    def test_explain_runs_nothing_and_stores_nothing(self):
        done = self.laptime("explain", "--model", "10B", "--batch", "64")
        self.assert_ok(done)
        self.assertIn("parameters", done.stdout)
        self.assertEqual(list(self.folder.iterdir()), [])
        points = json.loads(self.laptime("explain", *MODEL, "--context", "8,16", "--output", "json").stdout)
        self.assertEqual([point["config"]["context_length"] for point in points], [8, 16])
        for dump in ("graph", "plan"):
            self.assert_ok(self.laptime("explain", *TINY, "--dump", dump))

    def test_list_prints_the_chosen_topic(self):
        for topic, word in {"models": "small", "devices": "roofline:h100", "kernels": "matmul", "metrics": "median",
                            "options": "num-layers"}.items():
            done = self.laptime("list", topic)
            self.assert_ok(done)
            self.assertIn(word, done.stdout)

    def test_prints_help_and_version(self):
        for words in (["--help"], ["help", "bench"], ["bench", "--help"], ["--version"], []):
            done = self.laptime(*words)
            self.assert_ok(done)
            self.assertIn("laptime", done.stdout)
            self.assertEqual(done.stderr, "")


if __name__ == "__main__":
    unittest.main()
