"""laptime report: one page from stored records or a sweep file, and rejected input."""

import json
import sqlite3
import unittest
from contextlib import closing
from pathlib import Path

from program import MODEL, ONE_STEP, PREDICTED, ProgramTest

SWEEP = "\n".join([*(f'{word[2:]} = "{value}"' if value.isalpha() else f"{word[2:]} = {value}"
                     for word, value in zip(MODEL[::2], MODEL[1::2])),
                   "context = [16, 32, 48]", 'mode = ["eager", "compile"]', 'pass = ["inference", "step"]', "warmup = 3",
                   "steps = 8", ""])


class ReportTest(ProgramTest):
    def report(self, *words, **options):
        return self.laptime("report", *words, "--store", self.store, **options)

    def measured_page(self) -> Path:
        """Runs a small sweep and writes a page that has every chart."""
        (self.folder / "tiny.toml").write_text(SWEEP)
        done = self.report("tiny.toml", "--html", "page.html", "--traced-steps", "2")
        self.assert_ok(done)
        self.assertIn("page.html", done.stderr)
        return self.folder / "page.html"


class ReportFromRecords(ReportTest):
    def test_makes_a_page_of_stored_records(self):
        self.assert_ok(self.bench(*PREDICTED, *ONE_STEP, "--mode", "eager,compile"))
        done = self.report("--html", "page.html")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", "laptime: page written to 'page.html'\n"))
        page = self.page_of(self.folder / "page.html")
        self.assertEqual([one["name"] for one in page["points"]], ["eager", "compile"])
        self.assertTrue(all(one["predicted"] for one in page["points"]))
        self.assertEqual(page["traces"], [])
        self.assert_ok(self.report("mode = compile", "--html", "one.html"))
        self.assertEqual(len(self.page_of(self.folder / "one.html")["points"]), 1)

    def test_says_that_the_store_is_empty(self):
        self.assert_ok(self.bench(*PREDICTED, *ONE_STEP))
        with closing(sqlite3.connect(self.store)) as store, store:
            store.execute("DELETE FROM records")
        done = self.report("--html", "page.html")
        self.assertEqual((done.returncode, done.stderr), (2, "laptime report: the store has no records yet\n"))

    def test_rejects_bad_input_and_keeps_files(self):
        self.assert_ok(self.bench(*PREDICTED, *ONE_STEP))
        before = self.store.read_bytes()
        (self.folder / "bad.toml").write_text('model = "sma\n')
        (self.folder / "old.html").write_text("kept")
        for words, *texts in (
                ([], "--html"),
                (["--html", self.store], "the store"),
                (["model = no_such", "--html", "old.html"], "0 of 1 records match", "laptime show"),
                (["no_such_column = 1", "--html", "old.html"], "no_such_column"),
                (["model = = 1", "--html", "old.html"], "filter"),
                (["bad.toml", "--html", "old.html"], "bad.toml"),
                (["absent.toml", "--html", "old.html"], "absent.toml"),
                (["assignment", "--html", "old.html"], "did you mean 'assignment_2025'?", "laptime list sweeps"),
                (["--model", "small", "--html", "old.html"], "--model", "sweep"),
                (["bad.toml", "--last", "--html", "old.html"], "--last"),
                (["--last", "--run", "x", "--html", "old.html"], "--last or --run"),
                (["--html", "no/such/folder/page.html"], "no/such/folder")):
            done = self.report(*words)
            self.assertEqual((done.returncode, done.stdout), (2, ""), (words, done.stderr))
            for text in texts:
                self.assertIn(text, done.stderr, words)
        self.assertEqual((self.folder / "old.html").read_text(), "kept")
        self.assertEqual(self.store.read_bytes(), before)

    def test_runs_a_sweep_file_and_makes_its_page(self):
        page = self.page_of(self.measured_page())
        self.assertEqual(len(self.stored()), 12)
        self.assertEqual(len(page["points"]), 12)
        self.assertEqual({axis["key"]: axis["values"] for axis in page["axes"]},
                         {"ctx": ["16", "32", "48"], "pass": ["inference", "step"], "mode": ["eager", "compile"]})
        for point in page["points"]:
            trace = page["traces"][point["trace"]]
            self.assertAlmostEqual(sum(one["share"] for one in trace["kernels"]) + trace["between_launches_s"] / trace["step_s"], 1, places=4)
            self.assertTrue(trace["roofline"]["ops"])
        self.assert_ok(self.report("--last", "--html", "again.html"))
        again = self.page_of(self.folder / "again.html")
        self.assertEqual(again["points"], page["points"])
        self.assertEqual(again["headline"], page["headline"])

    def test_a_page_of_500_records_stays_small(self):
        self.assert_ok(self.bench(*PREDICTED, *ONE_STEP, "--mode", "eager,compile"))
        with closing(sqlite3.connect(self.store)) as database:
            rows = [json.loads(row[0]) for row in database.execute("SELECT json FROM records")]
            for i in range(498):
                row = dict(rows[i % 2], name=f"{rows[i % 2]['name']}/seed:{i}")
                database.execute("INSERT INTO records (json) VALUES (?)", (json.dumps(row),))
            database.commit()
        self.assert_ok(self.report("--html", "page.html"))
        self.assertLess((self.folder / "page.html").stat().st_size, 2_000_000)
        self.assertEqual(len(self.page_of(self.folder / "page.html")["points"]), 500)


if __name__ == "__main__":
    unittest.main()
