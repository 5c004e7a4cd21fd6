"""laptime report: one page from stored records or a sweep file, and refusals."""

import json
import sqlite3
import sys
import unittest
from contextlib import closing
from pathlib import Path

from program import MODEL, ONE_STEP, PREDICTED, ProgramTest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))
import browser  # noqa: E402

SWEEP = "\n".join([*(f'{word[2:]} = "{value}"' if value.isalpha() else f"{word[2:]} = {value}"
                     for word, value in zip(MODEL[::2], MODEL[1::2])),
                   "context = [16, 32]", 'mode = ["eager", "compile"]', 'pass = ["inference", "step"]', "warmup = 3",
                   "steps = 8", ""])


class ReportTest(ProgramTest):
    def report(self, *words, **options):
        return self.laptime("report", *words, "--store", self.store, **options)

    def sections(self, path: Path) -> list[str]:
        return [section["id"] for section in self.page_of(path)["sections"]]

    def measured_page(self) -> Path:
        """A page with every section that a sweep can fill."""
        (self.folder / "tiny.toml").write_text(SWEEP)
        done = self.report("tiny.toml", "--html", "page.html", "--traced-steps", "2")
        self.assert_ok(done)
        self.assertIn("page.html", done.stderr)
        return self.folder / "page.html"


class FromRecords(ReportTest):
    def test_a_page_of_stored_records(self):
        self.assert_ok(self.bench(*PREDICTED, *ONE_STEP, "--mode", "eager,compile"))
        done = self.report("--html", "page.html")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", "laptime: the page is in 'page.html'\n"))
        page = self.page_of(self.folder / "page.html")
        self.assertEqual([section["id"] for section in page["sections"]][:2], ["comparisons", "questions"])
        self.assertIn("step-time", self.sections(self.folder / "page.html"))
        self.assertIn("laptime profile", {one["command"] for one in page["missing"]})
        self.assertIn("This is a prediction", " ".join(answer["text"] for answer in page["conclusion"]))
        self.assert_ok(self.report("mode = compile", "--html", "one.html"))
        tables = next(one for one in self.page_of(self.folder / "one.html")["sections"] if one["id"] == "tables")
        self.assertEqual(len(tables["figures"][0]["table"]["rows"]), 1)

    def test_bad_input_is_refused_and_nothing_is_lost(self):
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

    def test_a_sweep_file_runs_and_becomes_a_page(self):
        page = self.measured_page()
        self.assertEqual(len(self.stored()), 8)
        for section in ("questions", "tables", "step-time", "first-steps", "samples", "classes", "kernels", "timeline",
                        "memory"):
            self.assertIn(section, self.sections(page))
        again = self.report("--last", "--html", "again.html")
        self.assert_ok(again)
        self.assertEqual(self.sections(self.folder / "again.html"), self.sections(page))

    def test_a_page_of_500_records_is_small(self):
        self.assert_ok(self.bench(*PREDICTED, *ONE_STEP, "--mode", "eager,compile"))
        with closing(sqlite3.connect(self.store)) as database:
            rows = [json.loads(row[0]) for row in database.execute("SELECT json FROM records")]
            for i in range(498):
                row = dict(rows[i % 2], name=f"{rows[i % 2]['name']}/seed:{i}")
                database.execute("INSERT INTO records (json) VALUES (?)", (json.dumps(row),))
            database.commit()
        self.assert_ok(self.report("--html", "page.html"))
        page = self.folder / "page.html"
        self.assertLess(page.stat().st_size, 5_000_000)
        tables = next(one for one in self.page_of(page)["sections"] if one["id"] == "tables")
        self.assertEqual(len(tables["figures"][0]["table"]["rows"]), 500)
        if browser.find_chromium():
            with browser.Browser() as chromium:
                chromium.open(page)
                self.assertEqual(chromium.console, [])


if __name__ == "__main__":
    unittest.main()
