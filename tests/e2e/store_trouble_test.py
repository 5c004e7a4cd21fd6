"""A store that is removed, emptied, replaced, damaged or full while in use: no measurement is lost silently."""

import json
import os
import random
import resource
import shutil
import sqlite3
import subprocess
import unittest
from contextlib import closing

from program import ONE_STEP, PREDICTED, ProgramTest

POINTS = 20
SEEDS = ",".join(map(str, range(1, POINTS + 1)))


class VanishedStore(ProgramTest):
    def sweep_with(self, disturb, store=None) -> tuple[int, str]:
        """Runs a sweep, calls `disturb` after the third point, and returns the exit code and the messages."""
        sweep = self.start("bench", "--store", store or self.store, *PREDICTED, *ONE_STEP, "--seed", SEEDS, "--output",
                           "jsonl", "--output-file", "/dev/stdout")
        for _ in range(3):
            sweep.stdout.readline()
        disturb()
        output, errors = sweep.communicate(timeout=60)
        self.assertEqual(len(output.splitlines()), POINTS - 3, errors)
        return sweep.returncode, errors

    def assert_complete(self, code: int, errors: str, store=None):
        self.assertEqual(code, 0, errors)
        self.assertIn("written again", errors)
        stored = [record["config"]["seed"] for record in self.stored(store)]
        self.assertEqual(sorted(stored), sorted(set(stored)), "a record is stored twice")
        self.assertEqual(sorted(stored), list(range(1, POINTS + 1)))

    def test_rewrites_records_of_a_removed_store(self):
        self.assert_complete(*self.sweep_with(self.store.unlink))

    def test_rewrites_records_of_an_emptied_store(self):
        self.assert_complete(*self.sweep_with(lambda: os.truncate(self.store, 0)))

    def test_rewrites_records_of_a_moved_store(self):
        self.assert_complete(*self.sweep_with(lambda: self.store.rename(self.folder / "elsewhere")))

    def test_rewrites_records_of_a_removed_folder(self):
        store = self.folder / "inner" / "records.sqlite"
        store.parent.mkdir()
        self.assert_complete(*self.sweep_with(lambda: shutil.rmtree(store.parent), store), store=store)

    def test_rewrites_deleted_records(self):
        def delete():
            with closing(sqlite3.connect(self.store, timeout=30)) as store:
                store.execute("DELETE FROM records")
                store.commit()

        self.assert_complete(*self.sweep_with(delete))

    def test_rewrites_records_missing_from_a_replaced_store(self):
        older = self.folder / "older.sqlite"
        self.assert_ok(self.laptime("bench", "--store", older, *PREDICTED, *ONE_STEP, "--seed", "1000"))
        code, errors = self.sweep_with(lambda: shutil.copyfile(older, self.folder / "copy") and
                                       os.replace(self.folder / "copy", self.store))
        self.assertEqual(code, 0, errors)
        self.assertIn("written again", errors)
        seeds = [record["config"]["seed"] for record in self.stored()]
        self.assertEqual(sorted(seeds), [*range(1, POINTS + 1), 1000])

    def test_counts_lost_records_of_an_unreadable_store(self):
        code, errors = self.sweep_with(lambda: self.store.write_bytes(b"something else" * 1000))
        self.assertEqual(code, 1)
        self.assertIn("not a laptime store", errors)
        self.assertIn(f"{POINTS} of {POINTS} records could not be stored", errors)


class FullDisk(ProgramTest):
    def test_reports_a_full_disk_of_store_and_output(self):
        """Every record that is reported as stored is in the store."""
        self.assert_ok(self.bench(*PREDICTED, *ONE_STEP, "--seed", "1000"))
        size = self.store.stat().st_size
        for room in (0, 20_000, 60_000, 200_000):
            store = self.folder / f"store{room}.sqlite"
            shutil.copyfile(self.store, store)
            with open("/dev/full", "w") as full:
                done = self.laptime(
                    "bench", "--store", store, *PREDICTED, *ONE_STEP, "--seed", SEEDS, "--output", "jsonl", stdout=full,
                    preexec_fn=lambda room=room: resource.setrlimit(resource.RLIMIT_FSIZE, (size + room,) * 2))
            self.assertEqual(done.returncode, 1)
            kept = len(self.stored(store)) - 1
            self.assertRegex(done.stderr, r"\[1/\d+\] seed \d+: ")
            if "finished points are in the store" in done.stderr:
                self.assertGreaterEqual(kept, 1, done.stderr)
            else:
                self.assertRegex(done.stderr, r"1 of 1 finished points are not in the store")
                self.assertEqual(kept, 0)


class DamagedStore(ProgramTest):
    def setUp(self):
        super().setUp()
        self.assert_ok(self.bench(*PREDICTED, *ONE_STEP, "--seed", SEEDS))

    def insert(self, *texts: str):
        with closing(sqlite3.connect(self.store)) as store:
            store.executemany("INSERT INTO records (json) VALUES (?)", [(text,) for text in texts])
            store.commit()

    def test_unreadable_rows_do_not_hide_other_rows(self):
        newer = self.stored()[0] | {"schema_version": 99}
        self.insert(json.dumps(newer), '{"schema_version": 1}', "[1, 2]")
        for words, rows in ((["--output", "jsonl"], POINTS), (["--output", "csv"], POINTS + 1),
                            (["--columns", "seed", "--output", "csv"], POINTS + 1),
                            (["seed > 10", "--output", "jsonl"], POINTS - 10)):
            done = self.laptime("show", "--store", self.store, *words)
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertEqual(len(done.stdout.splitlines()), rows)
            for row in (POINTS + 1, POINTS + 2, POINTS + 3):
                self.assertIn(f"row {row} of table records", done.stderr)
            self.assertIn("schema version 99", done.stderr)
        self.assertIn("\nseed 20 ", self.laptime("show", "--store", self.store).stdout)

    def test_plans_without_the_measurements_of_a_store_with_a_damaged_row(self):
        with closing(sqlite3.connect(self.store)) as store:
            text = store.execute("SELECT json FROM records WHERE id = 3").fetchone()[0].encode()
        damaged = self.store.read_bytes().replace(text[:1000], b"[" + text[1:1000])
        self.assertNotEqual(damaged, self.store.read_bytes())
        self.store.write_bytes(damaged)
        sound = self.laptime("plan", *PREDICTED, "--store", "none")
        for words in (["plan"], ["memory"], ["explain"]):
            done = self.laptime(*words, *PREDICTED, "--store", self.store)
            self.assert_ok(done)
            self.assertEqual(done.stderr.count("malformed JSON"), 1, done.stderr)
            self.assertNotIn("schema", done.stderr)
        self.assertEqual(self.laptime("plan", *PREDICTED, "--store", self.store).stdout, sound.stdout)
        self.assertEqual(self.laptime("show", "--store", self.store).returncode, 1)

    def test_flipped_bits_hide_few_records(self):
        """A flipped bit hides at most the records of one database page, unless it hits one of the few schema pages."""
        sound = self.store.read_bytes()
        generator = random.Random(1)
        hidden = in_schema = 0
        for _ in range(60):
            damaged = bytearray(sound)
            place = generator.randrange(4096, len(sound))
            damaged[place] ^= 1 << generator.randrange(8)
            self.store.write_bytes(damaged)
            done = self.laptime("show", "--store", self.store, "--columns", "seed", "--output", "csv")
            if done.returncode == 2:
                self.assertIn("schema", done.stderr)
                in_schema += 1
                continue
            self.assertIn(done.returncode, (0, 1), done.stderr)
            rows = len(done.stdout.splitlines()) - 1
            self.assertLessEqual(rows, POINTS)
            if rows < POINTS:
                self.assertEqual(done.returncode, 1, f"byte {place}")
                self.assertIn("store", done.stderr)
            hidden += rows < POINTS - 4
        self.assertEqual(hidden, 0)
        self.assertLess(in_schema, 4)

    def test_leaves_databases_of_other_programs_alone(self):
        foreign = self.folder / "foreign.sqlite"
        with closing(sqlite3.connect(foreign)) as database:
            database.execute("PRAGMA journal_mode = WAL")
            database.execute("CREATE TABLE songs (title TEXT)")
            database.commit()
        before = foreign.read_bytes()
        for words in (["show"], ["bench", *PREDICTED, *ONE_STEP], ["explain", *PREDICTED]):
            done = self.laptime(*words, "--store", foreign)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn("belongs to another program", done.stderr)
            self.assertEqual(foreign.read_bytes(), before)
            self.assertEqual([file.name for file in self.folder.glob("foreign*")], [foreign.name])


if __name__ == "__main__":
    unittest.main()
