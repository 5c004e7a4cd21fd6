"""laptime import: adds each record of other files, stores and machines once, and keeps runs separate."""

import json
import sqlite3
import unittest
from collections import Counter
from contextlib import closing
from pathlib import Path

from program import ONE_STEP, PREDICTED, ProgramTest


class Import(ProgramTest):
    def setUp(self):
        super().setUp()
        self.other = self.folder / "other.sqlite"
        self.assert_ok(self.laptime("bench", "--store", self.other, *PREDICTED, *ONE_STEP, "--seed", "1,2"))

    def imported(self, *files, code=0):
        done = self.laptime("import", *files, "--store", self.store)
        self.assertEqual(done.returncode, code, done.stderr)
        return done

    def count(self, table, store=None):
        with closing(sqlite3.connect(store or self.store)) as database:
            return database.execute(f"SELECT count(*) FROM {table}").fetchone()[0]

    def test_imports_each_record_of_any_format_once(self):
        records = self.stored(self.other)
        lines, array, single = (self.folder / name for name in ("a.jsonl", "a.json", "one.json"))
        lines.write_text("\n" + "\r\n\n".join(json.dumps(record) for record in records) + "\n")
        array.write_text(json.dumps(records, indent=1))
        single.write_text(json.dumps(records[1], indent=2))
        self.assertIn("2 records and 0 traces imported, 0 already stored", self.imported(lines).stdout)
        for file in (lines, array, single, self.other):
            self.assertIn("0 records and 0 traces imported", self.imported(file).stdout)
        self.assertEqual(self.stored(), records)

    def test_keeps_unknown_fields(self):
        record = self.stored(self.other)[0] | {"of_a_newer_program": [1, 2]}
        (self.folder / "a.json").write_text(json.dumps(record))
        self.imported("a.json")
        with closing(sqlite3.connect(self.store)) as database:
            (text,) = database.execute("SELECT json FROM records").fetchone()
        self.assertEqual(json.loads(text), record)

    def test_imports_traces(self):
        self.assert_ok(self.laptime("profile", "--store", self.other, *PREDICTED))
        self.imported(self.other)
        self.assertEqual(self.count("traces"), 1)
        exported = self.folder / "traces.jsonl"
        self.assert_ok(self.laptime("export", "jsonl", "--store", self.other, "--output-file", exported))
        self.assertIn("0 records and 0 traces imported, 3 already stored", self.imported(exported).stdout)
        self.store.unlink()
        self.assertIn("3 records and 1 trace imported", self.imported(exported).stdout)

    def test_does_not_mix_runs_of_two_machines(self):
        records = self.stored(self.other)
        mine = [record | {"fingerprint": "AMD EPYC, 2 cores", "run": "same"} for record in records]
        theirs = [record | {"fingerprint": "AMD EPYC, 4 cores", "run": "same"} for record in records]
        for name, content in (("mine.json", mine), ("theirs.json", theirs)):
            (self.folder / name).write_text(json.dumps(content))

        def runs(store: Path) -> list[str]:
            """The run of my two records, then that of theirs. The records may be in any order."""
            found = Counter((record["fingerprint"], record["run"]) for record in self.stored(store))
            self.assertEqual(list(found.values()), [2, 2])
            return [run for _, run in sorted(found)]

        for _ in range(2):
            self.imported("mine.json", "theirs.json")
            first = runs(self.store)
            self.assertEqual(first[0], "same")
            self.assertRegex(first[1], "^same@[0-9a-f]{8}$")
        third = self.folder / "third.sqlite"
        self.assert_ok(self.laptime("import", "theirs.json", "--store", third))
        self.assert_ok(self.laptime("import", self.store, "--store", third))
        other = runs(third)
        self.assertRegex(other[0], "^same@[0-9a-f]{8}$")
        self.assertEqual(other[1], "same")
        self.assertNotEqual(other[0], first[1])

    def test_keeps_a_run_on_several_machines_together(self):
        record = self.stored(self.other)[0]
        machines = ["AMD EPYC, 2 cores", "AMD EPYC, 4 cores", ""]  # the last point was lost
        launched = [record | {"fingerprint": machine, "run": "same", "label": machine} for machine in machines]
        (self.folder / "launched.json").write_text(json.dumps(launched))
        third = self.folder / "third.sqlite"
        for source in ("launched.json", self.store):
            for _ in range(2):
                self.assert_ok(self.laptime("import", source, "--store", third if source == self.store else self.store))
        for store in (self.store, third):
            self.assertEqual([stored["run"] for stored in self.stored(store)], ["same"] * 3)

        fourth = self.folder / "fourth.sqlite"
        (self.folder / "mine.json").write_text(json.dumps(record | {"fingerprint": "mine", "run": "same"}))
        self.assert_ok(self.laptime("import", "mine.json", "--store", fourth))
        for source in ("launched.json", third, "launched.json"):
            self.assert_ok(self.laptime("import", source, "--store", fourth))
        runs = Counter(stored["run"] for stored in self.stored(fourth))
        self.assertEqual(sorted(runs.values()), [1, 3])
        self.assertEqual(runs["same"], 1)

    def test_orders_imported_records_by_date(self):
        record = self.stored(self.other)[0]
        older = record | {"created": "2020-01-02T10:15:00Z", "run": "2020-01-02T10:15:00Z-1", "label": "older"}
        newer = record | {"created": "2020-01-02T10:16:00Z", "run": "2020-01-02T10:16:00Z-2", "label": "newer"}
        (self.folder / "newer.json").write_text(json.dumps(newer))
        (self.folder / "older.json").write_text(json.dumps(older))
        self.imported("newer.json", "older.json")

        def labels(*words):
            done = self.laptime(*words, "--store", self.store)
            self.assert_ok(done)
            return [json.loads(line)["label"] for line in done.stdout.splitlines()]

        self.assertEqual(labels("show", "--output", "jsonl", "--columns", "all"), ["older", "newer"])
        self.assertEqual(labels("show", "--last", "--output", "jsonl", "--columns", "all"), ["newer"])
        self.assertEqual(labels("export", "jsonl", "--newest"), ["newer"])

    def test_run_name_selects_records_of_one_machine(self):
        record = self.stored(self.other)[0]
        run = "2020-01-02T10:15:00Z-1"
        for machine in ("mine", "theirs"):
            (self.folder / f"{machine}.json").write_text(json.dumps(record | {"fingerprint": machine, "run": run}))
        self.imported("mine.json", "theirs.json")

        def machines(*words):
            done = self.laptime("show", *words, "--store", self.store, "--output", "csv", "--columns", "fingerprint")
            self.assert_ok(done)
            return done.stdout.split()[1:]

        self.assertEqual(machines("--run", run), ["mine"])
        self.assertEqual(machines("--run", run[:-1]), ["mine", "theirs"])
        self.assertEqual(machines("--last"), ["theirs"])

    def test_imports_the_list_of_resumed_records(self):
        done = self.laptime("bench", "--store", self.other, *PREDICTED, *ONE_STEP, "--seed", "1,2", "--resume")
        self.assert_ok(done)
        for _ in range(2):
            self.imported(self.other)
            self.assertEqual(self.count("resumed"), self.count("resumed", self.other))

    def test_renames_a_run_in_the_list_of_resumed_records(self):
        record = self.stored(self.other)[0]
        self.assert_ok(self.laptime("bench", "--store", self.other, *PREDICTED, *ONE_STEP, "--seed", "1,2", "--resume"))
        with closing(sqlite3.connect(self.other)) as database:
            (run,) = database.execute("SELECT DISTINCT run FROM resumed").fetchone()
        mine = record | {"fingerprint": "mine", "run": run, "label": "mine"}
        (self.folder / "mine.json").write_text(json.dumps(mine))
        self.imported("mine.json")
        for _ in range(2):
            self.imported(self.other)
            self.assertEqual(self.count("resumed"), 2)
            done = self.laptime("show", "--run", run, "--store", self.store, "--output", "json")
            self.assert_ok(done)
            self.assertEqual([shown["label"] for shown in json.loads(done.stdout)], ["mine"])
            with closing(sqlite3.connect(self.store)) as database:
                (renamed,) = database.execute("SELECT DISTINCT run FROM resumed").fetchone()
            self.assertRegex(renamed, f"^{run}@[0-9a-f]{{8}}$")

    def test_names_file_and_line_of_bad_input_and_imports_nothing(self):
        good = json.dumps(self.stored(self.other)[0])
        for text, said in ((f"{good}\n{{\"name\": 1}}\n", "line 2: record: 'schema_version' is missing"),
                           (f"[{good},\n\n 7]", "line 3: record: expected a JSON object"),
                           (f"{good}\n{good[:100]}", "line 2: not JSON"), ("a,b\n1,2\n", "line 1: record: not valid JSON at byte 1"),
                           ("", "is empty"), (f"[{good}", "not JSON")):
            (self.folder / "bad.jsonl").write_text(text)
            done = self.imported(self.other, "bad.jsonl", code=2)
            self.assertIn("bad.jsonl", done.stderr)
            self.assertIn(said, done.stderr)
            self.assertFalse(self.store.exists())
        for words, said in ((["none.jsonl"], "none.jsonl"), ([self.folder], str(self.folder)), ([], "no file")):
            self.assertIn(said, self.imported(*words, code=2).stderr)

    def test_skips_rows_that_are_not_records(self):
        with closing(sqlite3.connect(self.other)) as database:
            database.execute("INSERT INTO records (json) VALUES ('{}')")
            database.commit()
        done = self.imported(self.other, code=1)
        self.assertIn("row 3", done.stderr)
        self.assertEqual(len(self.stored()), 2)

    def test_imports_a_record_without_its_damaged_trace(self):
        self.assert_ok(self.laptime("profile", "--store", self.other, *PREDICTED))
        with closing(sqlite3.connect(self.other)) as database:
            database.execute("UPDATE traces SET json = '{}'")
            database.commit()
        done = self.imported(self.other, code=1)
        self.assertIn("the trace of row 3 is skipped", done.stderr)
        self.assertEqual(self.stored(), self.stored(self.other))
        self.assertEqual(self.count("traces"), 0)

    def test_rejects_the_store_itself(self):
        self.imported(self.other)
        self.assertIn("this is the store", self.imported(self.store, code=2).stderr)


if __name__ == "__main__":
    unittest.main()
