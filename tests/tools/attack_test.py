"""tools/attack detects lost and duplicated records and reports them in its table."""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

from attacks.kills import Round  # noqa: E402
from attacks.outcome import Outcome, records_of, table  # noqa: E402


class StoredRecords:
    """A stand-in for the setup of an attack, whose store contains the given records."""

    folder = Path("/nowhere")

    def __init__(self, *names: str):
        self.names = names

    def stored(self, _store: Path) -> list[dict]:
        return [{"name": name, "status": "ok"} for name in self.names]


class Findings(unittest.TestCase):
    def check(self, printed: set[str], *stored: str) -> Outcome:
        outcome = Outcome("kills", figures={"lost": 0, "doubled": 0})
        current = Round(StoredRecords(*stored), 0, outcome)
        current.printed = printed
        current.check("kill 1")
        return outcome

    def test_a_record_stored_once_is_not_a_problem(self):
        self.assertEqual(self.check({"a"}, "a", "b").problems, [])

    def test_finds_a_lost_record(self):
        outcome = self.check({"a", "c"}, "a", "b")
        self.assertEqual((outcome.figures["lost"], outcome.figures["doubled"], len(outcome.problems)), (1, 0, 1))

    def test_finds_a_duplicated_record(self):
        outcome = self.check({"a"}, "a", "b", "b")
        self.assertEqual((outcome.figures["lost"], outcome.figures["doubled"], len(outcome.problems)), (0, 1, 1))

    def test_ignores_a_truncated_line(self):
        self.assertEqual(records_of('{"name": "a"}\n{"na'), [{"name": "a"}])


class Table(unittest.TestCase):
    def test_states_figures_and_problems(self):
        text = table([Outcome("kills", 3, {"kills": 3, "lost": 1}, ["kill 2: one\nlost"]),
                      Outcome("disk", left_out="needs permission to mount")])
        self.assertIn("3 kills, 1 lost", text)
        self.assertIn("PROBLEM kills: kill 2: one lost", text)
        self.assertIn("needs permission to mount", text)
        self.assertEqual(text.splitlines()[-1], "3 tries, 1 problems")


class Command(unittest.TestCase):
    def attack(self, *words) -> subprocess.CompletedProcess:
        return subprocess.run([ROOT / "tools" / "attack", *map(str, words)], text=True, capture_output=True, check=False,
                              timeout=120)

    def test_reports_a_missing_program(self):
        done = self.attack("--binary", "/nowhere/laptime")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("/nowhere/laptime", done.stderr)

    def test_reports_a_program_that_crashes(self):
        with tempfile.TemporaryDirectory() as folder:
            program = Path(folder) / "laptime"
            program.write_text('#!/bin/sh\nfor word; do case $word in *whole.sqlite) echo x > "$word" ;; esac; done\n'
                               'case $1 in show) kill -SEGV $$ ;; esac\n')
            program.chmod(0o755)
            done = self.attack("--binary", program, "--only", "bit_flips")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("150 crashed", done.stdout)


if __name__ == "__main__":
    unittest.main()
