"""laptime show: the records of a run, and the message if a filter matches none."""

import sqlite3
import unittest
from contextlib import closing

from program import PREDICTED, TINY, ProgramTest


class Show(ProgramTest):
    def setUp(self):
        super().setUp()
        for seeds in ("1,2", "3"):
            self.assert_ok(self.bench(*PREDICTED, "--seed", seeds, "--steps", "1"))

    def shown(self, *words):
        done = self.laptime("show", *words, "--store", self.store, "--columns", "seed", "--output", "csv")
        self.assert_ok(done)
        return done.stdout.split()[1:], done.stderr

    def test_rows_of_phases_are_complete(self):
        self.assert_ok(self.laptime("bench", *TINY, "--warmup", "0", "--steps", "8", "--store", "phases.sqlite"))
        done = self.laptime("show", "--columns", "all", "--store", "phases.sqlite")
        self.assert_ok(done)
        phases = [row for row in done.stdout.splitlines()[1:] if row.startswith("  ")]
        self.assertEqual([row.split()[0] for row in phases], ["forward", "backward", "optimizer"])
        for row in phases:
            self.assertRegex(row, r"^  \w+ +[\d.]+ \w+ +\+/-\d")  # the median and its uncertainty
            self.assertNotIn(" 0 ", row)  # neither the shortest nor the longest time is missing

    def test_last_shows_the_last_run(self):
        self.assertEqual(self.shown("--last"), (["3"], ""))
        self.assertEqual(self.shown("--last", "seed in (1, 3)"), (["3"], ""))

    def test_last_run_is_the_newest_with_a_run_id(self):
        with closing(sqlite3.connect(self.store)) as database:
            for _ in range(20):
                database.execute("INSERT INTO records (json) SELECT json_remove(json, '$.run') FROM records WHERE id = 1")
            database.commit()
        self.assertEqual(self.shown("--last"), (["3"], ""))

    def test_finds_a_run_by_part_of_its_name(self):
        first, last = (self.stored()[i]["run"] for i in (0, 2))
        self.assertEqual(self.shown("--run", first), (["1", "2"], ""))
        self.assertEqual(self.shown("--run", last.rpartition("-")[2], "seed != 1"), (["3"], ""))
        done = self.laptime("show", "--run", first, "--last", "--store", self.store)
        self.assertEqual(done.returncode, 2)
        self.assertIn("--last or --run", done.stderr)

    def test_separates_several_runs(self):
        first, last = (self.stored()[i]["run"] for i in (0, 2))
        text = self.laptime("show", "--store", self.store, "--columns", "seed").stdout
        self.assertRegex(text, rf"\nrun {first}\n *1\n *2\nrun {last}\n *3\n")
        for words in (["--last"], ["--run", first]):
            text = self.laptime("show", "--store", self.store, *words).stdout
            self.assertNotIn("run", text, words)
        text = self.laptime("show", "--store", self.store, "--sort", "seed:desc").stdout
        self.assertNotIn("\nrun ", text)  # runs have no headings, because sorting mixes them

    def test_finds_a_resized_model_by_its_name(self):
        self.assert_ok(self.bench("--model", "small,medium", "--num-layers", "2", "--device", "h100", "--steps", "1"))
        done = self.laptime("show", "model = small", "--store", self.store, "--columns", "model,seed,peak")
        self.assert_ok(done)
        self.assertIn("\nsmall, 2 layers ", done.stdout)
        self.assertNotIn("medium", done.stdout)
        self.assertEqual(len(self.shown("model = custom")[0]), 5)
        self.assertEqual(len(self.shown("model = medium or seed = 3")[0]), 2)

    def test_filter_without_match_lists_existing_values(self):
        rows, errors = self.shown("seed = 7 and dtype = bf16")
        self.assertEqual(rows, [])
        self.assertEqual(errors, "laptime: 0 of 3 records match; they have dtype float32; seed 1, 2, 3\n")

    def test_help_explains_the_filter(self):
        text = " ".join(self.laptime("show", "--help").stdout.split())
        for words in ("in (a, b)", "'not'", "~, which looks for text"):
            self.assertIn(words, text)


if __name__ == "__main__":
    unittest.main()
