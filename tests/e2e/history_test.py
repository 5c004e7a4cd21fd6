"""laptime history and selfcheck: levels of stored records, omitted records, rejected input, and the output of a check."""

import json
import sqlite3
import unittest
from contextlib import closing

from program import PREDICTED, TINY, ProgramTest

MEASURED = [*TINY, "--warmup", "1", "--steps", "6"]


class History(ProgramTest):
    def history(self, *words, store=None):
        return self.laptime("history", *words, "--store", store or self.store)

    def change_records(self, change):
        """Calls `change(number, record)`, which modifies the record in place, for each stored record."""
        with closing(sqlite3.connect(self.store)) as store, store:
            rows = store.execute("SELECT id, json FROM records ORDER BY id").fetchall()
            for number, (key, text) in enumerate(rows):
                record = json.loads(text)
                change(number, record)
                store.execute("UPDATE records SET json = ? WHERE id = ?", (json.dumps(record), key))

    def test_marks_a_changed_level_with_its_commit(self):
        for _ in range(10):
            self.assert_ok(self.bench(*MEASURED))

        def as_builds(number, record):
            record["binary"] |= {"commit": f"commit{number}", "id": f"id{number}"}
            record["time"]["step"]["median"] = (1.0 if number < 6 else 1.2) + 0.001 * (number % 3)

        self.change_records(as_builds)
        done = self.history("--output", "json")
        self.assert_ok(done)
        report = json.loads(done.stdout)[0]
        rows = report["tables"]["history"]
        self.assertEqual([row["commit"] for row in rows], [f"commit{number}" for number in range(10)])
        changed = [row["commit"] for row in rows if row["change"] is not None]
        self.assertEqual(changed, ["commit6"])
        (finding,) = report["findings"]
        self.assertEqual((finding["changes"], finding["direction"]), (1, "worse"))
        self.assertAlmostEqual(finding["change"], 0.2, delta=0.011)
        self.assertIn("commit6", self.history().stdout)
        self.assertIn("no change of level", self.history("--within", "50%").stdout)
        self.assertIn("no change of level", self.history("--metric", "peak_memory").stdout)

    def test_excludes_the_records_of_comparisons(self):
        for _ in range(4):
            self.assert_ok(self.bench(*MEASURED))

        def compared(number, record):
            record["sweep"] = "laptime compare" if number > 1 else None

        self.change_records(compared)
        for words, count in (([], 2), (["sweep != x"], 4)):
            done = self.history(*words, "--each-record", "--output", "json")
            self.assert_ok(done)
            self.assertEqual(len(json.loads(done.stdout)[0]["tables"]["history"]), count)

    def test_states_why_there_is_no_history(self):
        self.assert_ok(self.bench(*PREDICTED, "--warmup", "0", "--steps", "1"))
        done = self.history()
        self.assertEqual((done.returncode, done.stdout), (0, ""))
        self.assertIn("0 points", done.stderr)
        self.assert_ok(self.bench(*MEASURED))
        self.assert_ok(self.bench(*MEASURED))
        self.assertIn("1 point with records of one build only", self.history().stderr)
        self.assertIn("over 2 records: too few to find a change", self.history("--each-record").stdout)
        self.assertIn("0 of 3 records match", self.history("model = nosuch").stderr)

    def test_rejects_bad_input(self):
        for words, said in ((("--metric", "medain"), "did you mean 'median'"), (("--within", "-1"), "is not a percentage"),
                            (("nosuchcolumn = 1",), "nosuchcolumn"), (("--output-file", self.store), "store")):
            with self.subTest(words):
                self.assert_ok(self.bench(*MEASURED))
                done = self.history(*words)
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertIn(said, done.stderr)
        self.assertEqual(self.history(store=self.folder / "missing.sqlite").returncode, 2)


class Selfcheck(ProgramTest):
    def test_prints_every_check_with_its_result(self):
        done = self.laptime("selfcheck", *TINY, "--budget", "1s", "--store", self.store, "--output", "json")
        self.assertIn(done.returncode, (0, 1), done.stderr)  # checks may fail on a busy machine
        report = json.loads(done.stdout)[0]
        checks = {row["check"]: row for row in report["tables"]["checks"]}
        self.assertEqual(list(checks), ["clock", "empty step", "known work", "disturbance", "compared with itself"])
        self.assertEqual(done.returncode == 0, all(row["ok"] == "yes" for row in checks.values()))
        differences = report["tables"]["differences"]
        self.assertEqual([row["difference"] for row in differences], [0.01, 0.03, 0.1])
        self.assertEqual(sorted((row["rounds"] for row in differences), reverse=True),
                         [row["rounds"] for row in differences])
        (finding,) = report["findings"]
        self.assertIn(finding["difference"], (0.01, 0.03, 0.1))
        failed = [name for name, row in checks.items() if row["ok"] == "NO"]
        self.assertEqual(done.returncode, 1 if failed else 0)

    def test_rejects_bad_input(self):
        for words, said in ((("--mode", "eager,compile"), "only one point can be checked"),
                            (("--device", "roofline:h100"), "predicted times have no noise"),
                            (("extra",), "extra")):
            with self.subTest(words):
                done = self.laptime("selfcheck", *words, "--store", self.store)
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertIn(said, done.stderr)


if __name__ == "__main__":
    unittest.main()
