"""laptime compare: exact on a virtual clock, refusals, exit codes, files of records, and what an interrupt leaves."""

import json
import signal
import sqlite3
import time
import unittest
from contextlib import closing

from program import ONE_STEP, PREDICTED, TINY, ProgramTest

SLOW = "--d-model 256 --d-ff 512 --num-layers 4 --num-heads 4 --vocab 64 --batch 1 --context 256".split()


class CompareTest(ProgramTest):
    def compare(self, *words, **options):
        return self.laptime("compare", *words, **options)

    def run_points(self, *words, **options):
        return self.compare(*words, "--store", self.store, **options)

    def compared(self, *words) -> dict:
        done = self.run_points(*words, "--output", "json")
        self.assert_ok(done)
        return json.loads(done.stdout)[0]


class OfPoints(CompareTest):
    def test_a_planted_delay_is_the_difference_and_its_op_is_named(self):
        # On a virtual clock a pause of 10 us after each launch is exactly that.
        step = json.loads(self.bench(*PREDICTED, *ONE_STEP, "--output", "json").stdout)[0]["time"]["step"]["median"]
        report = self.compared(*PREDICTED, "--delay", "none,matmul=10us")
        parts = {row["part"]: row for row in report["tables"]["parts"]["rows"]}
        planted = sum(row["difference_s"] for name, row in parts.items() if name.endswith(" matmul"))
        self.assertGreater(planted, 0)
        self.assertAlmostEqual(planted, parts["step"]["difference_s"], delta=1e-12)
        self.assertAlmostEqual(parts["step"]["a_s"], step, delta=1e-12)
        self.assertRegex(report["conclusions"][0], r"^B is slower: it takes 1\.\d+ times the time of A")
        self.assertRegex(report["conclusions"][1], r"^the op that differs most is matmul: \+.* of ")
        self.assertRegex(report["conclusions"][1], r"; the part of the model that differs most is \w+ .*matmul: \+")
        whole = report["tables"]["phases"]["rows"][-1]
        self.assertAlmostEqual(whole["ratio"], 1 + planted / step, delta=1e-9)
        self.assertEqual((whole["phase"], whole["verdict"]), ("step", "slower"))
        self.assertEqual(len(report["tables"]["rounds"]["rows"]), 8)

    def test_parts_add_up_to_the_step(self):
        rows = self.compared(*PREDICTED, "--mode", "eager,compile")["tables"]["parts"]["rows"]
        for column in ("a_s", "b_s", "difference_s"):
            self.assertAlmostEqual(sum(row[column] for row in rows[:-1]), rows[-1][column], delta=1e-12)
        self.assertEqual(rows[-2]["part"], "everything else")

    def test_a_point_against_itself_does_not_differ(self):
        report = self.compared(*PREDICTED, "--again")
        self.assertRegex(report["conclusions"][0], r"^no difference beyond 1 %: B takes 1\.000 times")
        self.assertEqual(len(report["conclusions"]), 1)

    def test_exit_codes_for_continuous_integration(self):
        slower = [*PREDICTED, "--delay", "none,matmul=10us"]
        done = self.run_points(*slower, "--fail-above", "2%")
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, r"B is slower by \d+\.\d\d %, more than 2 %")
        self.assertEqual(self.run_points(*slower, "--fail-above", "100").returncode, 0)
        self.assertEqual(self.run_points(*PREDICTED, "--delay", "matmul=10us,none", "--fail-above", "0").returncode, 0)

    def test_a_measured_comparison_has_every_table_and_keeps_its_records(self):
        done = self.run_points(*TINY, "--mode", "eager,compile", "--budget", "1s", "--threads", "1")
        self.assert_ok(done)
        for words in ("medians over the rounds", "means of traced steps", "B / A, round by round:"):
            self.assertIn(words, done.stdout)
        self.assertIn("A: mode eager; B: mode compile", done.stderr)
        kept = self.stored()
        self.assertGreaterEqual(len(kept), 2 + 2 * 8)
        self.assertEqual({record["sweep"] for record in kept}, {"compare"})
        with closing(sqlite3.connect(self.store)) as store:
            self.assertEqual(store.execute("SELECT count(*) FROM traces").fetchone(), (0,))

    def test_what_does_not_run_is_said_and_fails(self):
        done = self.run_points(*TINY, "--memory-limit", "1KiB,1GiB")
        self.assertEqual(done.returncode, 1)
        self.assertIn("memory-limit 1KiB: out_of_memory", done.stdout)

    def test_an_interrupt_keeps_the_rounds_that_are_done(self):
        process = self.start("compare", *SLOW, "--again", "--budget", "100s", "--store", self.store, "--output", "json")
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and len(self.stored_meanwhile()) < 6:
            time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130, err)
        report = json.loads(out)[0]
        self.assertGreaterEqual(len(report["tables"]["rounds"]["rows"]), 1)

    def test_bad_input(self):
        for words, said in {
            (): "nothing to compare",
            ("--mode", "eager,compile", "--again"): "--again is of one point",
            ("--threads", "1,2,3"): "--threads has 3 values",
            ("--mode", "eager,compile", "--within", "x"): "'x' is not a percentage",
            ("--mode", "eager,compile", "--fail-above", "200%"): "'200%' is not a percentage",
            ("--delay", "none,nosuch=1us"): "unknown op 'nosuch'",
            ("--delay", "none,matmul"): "'matmul' is not OP=TIME",
            ("--delay", "none,matmul=11s"): "'matmul=11s' is not OP=TIME",
            ("one.json",): "1 file, and a comparison is of two",
            ("--resume", "--mode", "eager,compile"): "--resume",
        }.items():
            with self.subTest(words):
                done = self.compare(*([] if "one.json" in words else PREDICTED), *words, "--store", self.store)
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertIn(said, done.stderr)
                self.assertEqual(done.stdout, "")


class OfFiles(CompareTest):
    def measure(self, name: str, *words) -> dict:
        done = self.bench(*TINY, "--warmup", "2", "--steps", "8", "--output", "json", "--output-file", name, *words)
        self.assert_ok(done)
        return json.loads((self.folder / name).read_text())

    def write(self, name: str, records: list[dict]) -> str:
        (self.folder / name).write_text(json.dumps(records))
        return name

    def test_records_are_matched_by_name_and_compared(self):
        records = self.measure("a.json", "--mode", "eager,compile")
        for record in records:  # the same spread, however busy the machine was
            for stats in record["time"].values():
                stats["samples"] = [0.01 + 0.0001 * n for n in range(len(stats["samples"]))]
        self.write("a.json", records)
        slower = json.loads(json.dumps(records))
        for record in slower:
            for key, stats in record["time"].items():
                stats["samples"] = [2 * sample for sample in stats["samples"]]
        self.write("b.json", slower[::-1])
        done = self.compare("a.json", "b.json", "--output", "json")
        self.assert_ok(done)
        rows = json.loads(done.stdout)[0]["tables"]["records"]["rows"]
        self.assertEqual([row["point"] for row in rows], [record["name"] for record in records])
        for row in rows:
            self.assertAlmostEqual(row["ratio"], 2, delta=1e-9)
            self.assertEqual(row["verdict"], "slower")
        self.assertEqual(self.compare("a.json", "b.json", "--fail-above", "5%").returncode, 1)
        self.assertEqual(self.compare("b.json", "a.json", "--fail-above", "5%").returncode, 0)

    def test_another_system_and_lines_of_records(self):
        record = self.measure("a.json")[0]
        other = record | {"name": "step/another", "config": record["config"] | {"system": "pytorch"}}
        (self.folder / "b.jsonl").write_text(json.dumps(other) + "\n" + json.dumps(other) + "\n")
        done = self.compare("a.json", "b.jsonl")
        self.assert_ok(done)
        self.assertIn("step/another", done.stdout)
        self.assertIn("what changed on the machine", done.stdout)

    def test_other_machines_and_arithmetic_are_refused_unless_told(self):
        record = self.measure("a.json")[0]
        for change, said in (({"fingerprint": "another"}, "different machines"),
                             ({"math_mode": "bfloat16"}, "their arithmetic is"),
                             ({"verdict": {"rating": "predicted", "reasons": []}}, "one is predicted")):
            with self.subTest(said):
                self.write("b.json", [record | change])
                done = self.compare("a.json", "b.json")
                self.assertEqual((done.returncode, done.stdout), (2, ""))
                self.assertIn(said, done.stderr)
                self.assertIn("--anyway", done.stderr)
                self.assert_ok(self.compare("a.json", "b.json", "--anyway"))

    def test_files_that_are_no_records(self):
        record = self.measure("a.json")[0]
        self.write("other.json", [record | {"name": "x"}, record | {"name": "y"}])
        self.write("failed.json", [record | {"status": "timeout"}])
        (self.folder / "text.json").write_text("hello")
        (self.folder / "empty.json").write_text("")
        for name, said in (("missing.json", "missing.json"), ("text.json", "not JSON"), ("empty.json", "is empty"),
                           ("failed.json", "has no record with times")):
            with self.subTest(name):
                done = self.compare("a.json", name)
                self.assertEqual(done.returncode, 2)
                self.assertIn(said, done.stderr)
        two = self.write("two.json", [record, record | {"name": "z"}])
        done = self.compare(two, "other.json")
        self.assertEqual(done.returncode, 2)
        self.assertIn("no record of", done.stderr)
        done = self.compare("a.json", "a.json", "--mode", "eager,compile")
        self.assertEqual(done.returncode, 2)
        self.assertIn("--mode is for points that run", done.stderr)


if __name__ == "__main__":
    unittest.main()
