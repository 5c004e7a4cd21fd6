"""tools/scaling measures a step with several thread counts."""

import os
import subprocess
import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
POINT = ("--model custom --d-model 32 --d-ff 64 --num-layers 1 --num-heads 2 --vocab 61 --context 16 --batch 1 "
         "--warmup 1 --steps 2 --pass step").split()


def scaling(*words: str) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, ROOT / "tools/scaling", os.environ["LAPTIME_BINARY"], *words],
                          capture_output=True, text=True)


class Scaling(unittest.TestCase):
    def test_has_a_row_for_each_thread_count(self):
        done = scaling("--threads", "8,1,2", "--rounds", "1", *POINT)
        self.assertEqual(done.returncode, 0, done.stderr)
        rows = [line.split("|")[1:-1] for line in done.stdout.splitlines() if line.startswith("| ")]
        self.assertEqual([row[0].strip() for row in rows], ["threads", "1", "2", "8"])
        self.assertEqual(rows[1][3].strip(), "1.00")
        self.assertEqual(rows[2][5].strip(), "")  # explain has no bound for 2 threads
        self.assertGreater(float(rows[3][5]), 0)

    def test_rejects_invalid_input(self):
        for words, problem in ((["--threads", "0,1"], "whole numbers"), (["--rounds", "0", *POINT], "at least 1"),
                               (["--no-such-option"], "laptime explain failed")):
            with self.subTest(words):
                done = scaling(*words)
                self.assertNotEqual(done.returncode, 0)
                self.assertIn(problem, done.stderr)


if __name__ == "__main__":
    unittest.main()
