"""--device cuda: what the program says without a card, and whole steps on the fake card of tests/fake_cuda."""

import os
import subprocess
import unittest
from pathlib import Path

from program import BINARY, ONE_STEP, TINY, ProgramTest

FAKE = Path(BINARY).parent / "fake_cuda"
CHECK = Path(__file__).resolve().parents[2] / "tools/gpu_check"
GOLDEN = Path(os.environ["LAPTIME_GOLDEN_DIR"])


def run(words: list, environment: dict) -> subprocess.CompletedProcess:
    return subprocess.run(list(map(str, words)), env=environment, capture_output=True, text=True, check=False, timeout=300)


class WithoutCard(ProgramTest):
    def setUp(self):
        super().setUp()
        done = self.laptime("list", "devices")
        self.assert_ok(done)
        self.line = next(line for line in done.stdout.splitlines() if line.startswith("cuda"))
        if "not here" not in self.line:
            self.skipTest("this machine has a card")

    def test_the_list_says_what_is_missing(self):
        self.assertRegex(self.line, r"^cuda +not here: .*(cannot be loaded|GPU|toolkit).*untested on hardware")

    def test_bench_says_what_was_looked_for(self):
        done = self.bench(*TINY, "--device", "cuda")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertRegex(done.stderr, r"--device cuda: .*(libcuda\.so\.1 cannot be loaded|GPU|toolkit)")
        self.assertIn("use --device cpu or roofline:NAME", done.stderr)


class OnTheFakeCard(ProgramTest):
    def setUp(self):
        super().setUp()
        self.environment["LD_LIBRARY_PATH"] = str(FAKE)
        done = self.laptime("list", "devices")
        self.assert_ok(done)
        self.line = next(line for line in done.stdout.splitlines() if line.startswith("cuda"))
        if "toolkit" in self.line:
            self.skipTest("built without the CUDA toolkit")

    def test_the_list_names_the_card(self):
        self.assertRegex(self.line, r"^cuda +fake card, compute capability 9\.0, 4\.\d+ G.*; untested on hardware$")

    def test_steps_agree_with_stored_values(self):
        done = self.laptime("verify", GOLDEN / "tiny_2025.safetensors", "--device", "cuda", "--mode", "eager")
        self.assert_ok(done)
        self.assertRegex(done.stdout, r"\Apassed .*eager, cuda")

    def test_the_check_for_a_card_goes_on_where_it_was(self):
        check = [CHECK, BINARY, "--folder", self.folder / "check"]
        done = run(check, self.environment)
        self.assertEqual(done.returncode, 2)
        self.assertIn("no GPU to check", done.stderr)
        done = run([*check, "--fake"], self.environment)
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertRegex(done.stdout, r"verify tiny_2025 compile +ok ")
        self.assertIn("2 passed, 0 failed", done.stdout)
        done = run([*check, "--fake"], self.environment)
        self.assertRegex(done.stdout, r"verify tiny_2025 compile +passed before")

    def test_a_point_has_a_record(self):
        done = self.bench(*TINY, *ONE_STEP, "--device", "cuda")
        self.assert_ok(done)
        (record,) = self.stored()
        self.assertEqual(record["config"]["device"], "cuda")
        self.assertEqual(record["status"], "ok")


if __name__ == "__main__":
    unittest.main()
