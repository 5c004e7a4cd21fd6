"""tools/reproducible_bits: laptime gives the same bits for all thread counts and runs, and deviations are detected."""

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

TOOL = Path(__file__).resolve().parents[2] / "tools" / "reproducible_bits"

# Prints a record whose last loss depends on an environment variable.
PROGRAM = """#!/usr/bin/env python3
import json, os, sys
word = dict(zip(sys.argv[2::1], sys.argv[3::1]))
if word["--mode"] == os.environ.get("FAIL"):
    sys.exit("laptime: no memory")
if "ISA" not in os.environ:
    assert not os.path.exists(word["--store"]), "the store is not fresh"
open(word["--store"], "w").close()
threads = int(word["--threads"])
last = 0.5 + (2.0**-24 if word["--dtype"] == "bfloat16" and threads == int(os.environ.get("DEVIATES", 0)) else 0)
print(json.dumps({"config": {name: word["--" + name] for name in ("edition", "dtype", "mode")} | {"threads": threads},
                  "machine": {"isa_used": os.environ.get("ISA", "avx2")}, "math_mode": "float32", "kernels": [],
                  "loss": {"values": [1.0, last]}}))
"""


class ReproducibleBits(unittest.TestCase):
    def tool(self, binary, *words, **environment) -> subprocess.CompletedProcess:
        return subprocess.run([sys.executable, TOOL, binary, *words], env={**os.environ, **environment}, text=True,
                              capture_output=True, check=False, timeout=300)

    def fake(self, *words, **environment) -> subprocess.CompletedProcess:
        with tempfile.TemporaryDirectory() as folder:
            program = Path(folder) / "program"
            program.write_text(PROGRAM)
            program.chmod(0o755)
            return self.tool(program, "--edition", "2026", "--runs", "4", "--threads", "1,3", *words, **environment)

    def test_program_is_reproducible(self):
        done = self.tool(os.environ["LAPTIME_BINARY"], "--runs", "2", "--threads", "1,2", "--edition", "2025,gpt2")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("24 runs of 12 combinations: all losses are bitwise equal", done.stdout)

    def test_finds_a_bit_that_depends_on_the_threads(self):
        done = self.fake(DEVIATES="3")
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertIn("24 runs of 6 combinations: 2 combinations differ", done.stdout)
        rows = [line for line in done.stdout.splitlines() if "DIFFERENT" in line]
        self.assertEqual(len(rows), 4)
        self.assertIn("2 avx2", rows[0])
        self.assertIn("0x1p+0 0x1.000002p-1", rows[1])

    def test_compares_runs_on_another_processor(self):
        other = ["--by", "env ISA=avx512 DEVIATES=2"]
        done = self.fake(*other, "--by-threads", "1")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("4 avx2, 1 avx512", done.stdout)
        self.assertEqual(self.fake(*other, "--by-threads", "1,2").returncode, 1)

    def test_a_failed_run_is_not_compared(self):
        done = self.fake(FAIL="compile")
        self.assertEqual(done.returncode, 2, done.stdout)
        self.assertIn("laptime: no memory", done.stderr)
        self.assertIn("4 of 24 runs succeeded", done.stderr)


if __name__ == "__main__":
    unittest.main()
