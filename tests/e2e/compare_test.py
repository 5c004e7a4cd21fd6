"""laptime compare: exact results on a virtual clock, two builds, record files as a regression gate, exit codes and interrupts."""

import json
import os
import signal
import sqlite3
import time
import unittest
from contextlib import closing

from program import BINARY, ONE_STEP, PREDICTED, TINY, ProgramTest, busy_child

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


class ComparePoints(CompareTest):
    def test_finds_an_injected_delay_and_names_its_op(self):
        # On a virtual clock, a pause of 10 us after each launch takes exactly that long.
        step = json.loads(self.bench(*PREDICTED, *ONE_STEP, "--output", "json").stdout)[0]["time"]["step"]["median"]
        report = self.compared(*PREDICTED, "--delay", "none,matmul=10us")
        parts = {row["part"]: row for row in report["tables"]["parts"]}
        planted = sum(row["difference_s"] for name, row in parts.items() if name.endswith(" matmul"))
        self.assertGreater(planted, 0)
        self.assertAlmostEqual(planted, parts["step"]["difference_s"], delta=1e-12)
        self.assertAlmostEqual(parts["step"]["a_s"], step, delta=1e-7)  # traced times are rounded to nanoseconds
        causes = {finding["kind"]: finding for finding in report["findings"]}
        self.assertEqual(causes["largest_op_difference"]["subject"], "matmul")
        self.assertTrue(causes["largest_part_difference"]["subject"].endswith(" matmul"))
        self.assertAlmostEqual(causes["largest_op_difference"]["difference_s"], planted, delta=1e-12)
        whole = report["tables"]["phases"][-1]
        self.assertAlmostEqual(whole["ratio"], 1 + planted / step, delta=1e-9)
        self.assertEqual((whole["phase"], whole["verdict"]), ("step", "slower"))
        self.assertEqual(len(report["tables"]["rounds"]), 8)

    def test_parts_add_up_to_the_step(self):
        rows = self.compared(*PREDICTED, "--mode", "eager,compile")["tables"]["parts"]
        for column in ("a_s", "b_s", "difference_s"):
            self.assertAlmostEqual(sum(row[column] for row in rows[:-1]), rows[-1][column], delta=1e-12)
        self.assertEqual(rows[-2]["part"], "everything else")

    def test_comparing_a_point_with_itself_finds_no_difference(self):
        report = self.compared(*PREDICTED, "--again")
        whole = report["tables"]["phases"][-1]
        self.assertEqual((whole["ratio"], whole["verdict"], report["findings"]), (1, "same", []))

    def test_fail_above_sets_the_exit_code(self):
        slower = [*PREDICTED, "--delay", "none,matmul=10us"]
        done = self.run_points(*slower, "--fail-above", "2%")
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, r"B is slower by \d+\.\d\d %; the limit is 2 %")
        self.assertEqual(self.run_points(*slower, "--fail-above", "100").returncode, 0)
        self.assertEqual(self.run_points(*PREDICTED, "--delay", "matmul=10us,none", "--fail-above", "0").returncode, 0)

    def test_measured_comparison_has_every_table_and_keeps_records(self):
        done = self.run_points(*TINY, "--mode", "eager,compile", "--budget", "1s", "--threads", "1")
        self.assert_ok(done)
        lines = done.stdout.splitlines()
        self.assertIn(" times the time of A (99 % interval ", lines[0])
        self.assertLessEqual(len(lines), 24)
        for words in ("phase ", "part in traced steps ", "B / A"):
            self.assertTrue(any(line.startswith(words) for line in lines), done.stdout)
        self.assertIn("A: mode eager; B: mode compile", done.stderr)
        kept = self.stored()
        self.assertGreaterEqual(len(kept), 2 + 2 * 8)
        self.assertEqual({record["sweep"] for record in kept}, {"laptime compare"})
        with closing(sqlite3.connect(self.store)) as store:
            self.assertEqual(store.execute("SELECT count(*) FROM traces").fetchone(), (0,))

    def test_reports_points_that_cannot_run_and_fails(self):
        done = self.run_points(*TINY, "--memory-limit", "1KiB,1GiB")
        self.assertEqual(done.returncode, 1)
        self.assertIn("memory-limit 1KiB: out_of_memory", done.stdout)
        self.assertEqual(self.run_points(*TINY, "--memory-limit", "1KiB,1GiB", "--fail-above", "5%").returncode, 3)

    def test_interrupt_keeps_finished_rounds(self):
        process = self.start("compare", *SLOW, "--again", "--budget", "100s", "--store", self.store, "--output", "json")
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and len(self.stored_meanwhile()) < 6:
            time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130, err)
        report = json.loads(out)[0]
        self.assertGreaterEqual(len(report["tables"]["rounds"]), 1)

    def test_rejects_an_ablation_in_a_sweep_file(self):
        sweep = self.folder / "sweep.toml"
        sweep.write_text("ablate = true\n")
        done = self.compare(*PREDICTED, "--config", sweep, "--again", "--store", self.store)
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("the --config file sets ablate", done.stderr)

    def test_rejects_bad_input(self):
        for words, said in {
            (): "nothing to compare",
            ("--mode", "eager,compile", "--again"): "--again applies to a single point",
            ("--threads", "1,2,3"): "--threads has 3 values",
            ("--pass", "forward,step"): "--pass forward,step: two passes",
            ("--mode", "eager,compile", "--within", "x"): "'x' is not a percentage",
            ("--mode", "eager,compile", "--fail-above", "200%"): "'200%' is not a percentage",
            ("--delay", "none,nosuch=1us"): "unknown op 'nosuch'",
            ("--delay", "none,matmul"): "'matmul' is not OP=TIME",
            ("--delay", "none,matmul=11s"): "'matmul=11s' is not OP=TIME",
            ("one.json",): "1 file, but a comparison takes two",
            ("--resume", "--mode", "eager,compile"): "--resume",
        }.items():
            with self.subTest(words):
                done = self.compare(*([] if "one.json" in words else PREDICTED), *words, "--store", self.store)
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertIn(said, done.stderr)
                self.assertEqual(done.stdout, "")


class ComparePrograms(CompareTest):
    def script(self, name: str, *words) -> str:
        """A script that stands in for another build by running this program with extra options."""
        path = self.folder / name
        path.write_text(f'#!/bin/sh\nexec {BINARY} "$@" {" ".join(words)}\n')
        path.chmod(0o755)
        return str(path)

    def test_compares_two_builds_in_rounds(self):
        slower = self.script("slower", "--delay", "matmul=10us")
        done = self.compare(*PREDICTED, "--program", f"{BINARY},{slower}", "--fail-above", "5%", "--output", "json")
        self.assertEqual(done.returncode, 1, done.stderr)
        report = json.loads(done.stdout)[0]
        self.assertEqual(report["tables"]["phases"][-1]["verdict"], "slower")
        self.assertEqual(len(report["tables"]["rounds"]), 8)
        self.assert_ok(self.compare(*PREDICTED, "--program", f"{BINARY},{BINARY}", "--fail-above", "5%"))

    def test_plans_rounds_from_the_steps_that_programs_run(self):
        done = self.bench(*PREDICTED, "--warmup", "2", "--steps", "3", "--output", "jsonl", "--columns", "all")
        record = json.loads(done.stdout)
        record["time"]["step"]["mean"] = 0.01
        record["setup"]["total"] = record["setup"]["kernel_trial"] = 0
        (self.folder / "record.jsonl").write_text(json.dumps(record) + "\n")
        fixed = self.folder / "fixed"
        fixed.write_text(f"#!/bin/sh\ncat {self.folder}/record.jsonl\n")
        fixed.chmod(0o755)
        # A process takes 0.11 s (1 warm-up and 10 measured steps), so 13 rounds of two fit in twice the budget, 3 s.
        done = self.compare(*PREDICTED, "--program", f"{fixed},{fixed}", "--budget", "1.5s")
        self.assert_ok(done)
        self.assertIn("8 to 13 rounds, each with one process of 10 steps for A and one for B", done.stderr)

    def test_program_comparison_accepts_output_options_in_a_sweep_file(self):
        sweep = self.folder / "sweep.toml"
        sweep.write_text('device = "roofline:h100"\nmode = "compile"\noutput_file = "kept.json"\noutput = "json"\nresume = true\n')
        done = self.compare(*TINY, "--config", sweep, "--program", f"{BINARY},{BINARY}", "--store", self.store)
        self.assert_ok(done)
        report = json.loads((self.folder / "kept.json").read_text())[0]
        self.assertEqual(len(report["tables"]["rounds"]), 8)

    def test_does_not_judge_a_build_that_fails(self):
        broken = self.script("broken", "--memory-limit", "1KiB")
        for program, said in ((broken, "out_of_memory"), ("false", "exit code 1 without a record")):
            done = self.compare(*PREDICTED, "--program", f"{BINARY},{program}", "--fail-above", "5%")
            self.assertEqual(done.returncode, 3, done.stderr)
            self.assertIn(said, done.stderr)
        self.assertEqual(self.compare(*PREDICTED, "--program", f"{BINARY},{broken}").returncode, 1)

    def test_interrupt_ends_the_compared_program(self):
        process = self.start("compare", *SLOW, "--steps", "1000000", "--program", f"{BINARY},{BINARY}")
        child = busy_child(process, 0)
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130, errors)
        self.assertFalse(os.path.exists(f"/proc/{child}"))

    def test_rejects_bad_input(self):
        for words, said in {("--program", "one"): "give two programs, OLD,NEW",
                            ("--program", f"{BINARY},{BINARY}", "--again"): "--program compares two builds",
                            ("--program", f"{BINARY},{BINARY}", "--threads", "1,2"): "--program applies to a single point",
                            ("--program", f"{BINARY},/no/such"): "'/no/such' cannot be run"}.items():
            with self.subTest(words):
                done = self.compare(*PREDICTED, *words)
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertIn(said, done.stderr)


class CompareFiles(CompareTest):
    def measure(self, name: str, *words) -> dict:
        done = self.bench(*TINY, "--warmup", "2", "--steps", "8", "--output", "json", "--output-file", name, *words)
        self.assert_ok(done)
        return json.loads((self.folder / name).read_text())

    def write(self, name: str, records: list[dict]) -> str:
        (self.folder / name).write_text(json.dumps(records))
        return name

    def process(self, record: dict, factor: float = 1, spread: float = 0.001, samples: int = 8) -> dict:
        """A copy of the record with fixed samples, so that results do not depend on the load of the machine."""
        copy = json.loads(json.dumps(record)) | {"verdict": {"rating": "stable", "reasons": []}}
        for stats in copy["time"].values():
            stats["samples"] = [factor * (0.01 + spread * 0.01 * n) for n in range(samples)]
            stats["count"] = samples
        return copy

    def processes(self, record: dict, factor: float = 1, **options) -> list[dict]:
        return [self.process(record, factor * (1 + 0.001 * n), **options) for n in range(6)]

    def gate(self, head: list[dict], *words) -> int:
        """The exit code of comparing `head` with base.json."""
        self.write("head.json", head)
        self.done = self.compare("base.json", "head.json", "--fail-above", "5%", *words)
        return self.done.returncode

    def test_matches_records_by_name(self):
        records = self.measure("a.json", "--mode", "eager,compile")
        self.write("a.json", [self.process(record) for record in records])
        self.write("b.json", [self.process(record, 2) for record in records[::-1]])
        done = self.compare("a.json", "b.json", "--output", "json")
        self.assert_ok(done)
        rows = json.loads(done.stdout)[0]["tables"]["records"]
        self.assertEqual([row["point"] for row in rows], [record["name"] for record in records])
        for row in rows:
            self.assertAlmostEqual(row["ratio"], 2, delta=1e-9)
            self.assertEqual((row["verdict"], row["a_processes"], row["b_processes"]), ("slower", 1, 1))
        self.assertEqual(self.compare("a.json", "b.json", "--fail-above", "5%").returncode, 1)
        self.assertEqual(self.compare("b.json", "a.json", "--fail-above", "5%").returncode, 0)
        self.assertEqual(self.compare("a.json", "a.json", "--fail-above", "5%").returncode, 0)

    def test_gate_fails_if_a_point_is_slower_missing_or_unreliable(self):
        record = self.measure("a.json")[0]
        other = record | {"name": "step/other"}
        self.write("base.json", self.processes(record) + self.processes(other))
        good = self.processes(record)
        self.assertEqual(self.gate(good + self.processes(other)), 0, self.done.stderr)
        self.assertEqual(self.gate(good + self.processes(other, 1.2)), 1)
        self.assertIn("'step other': B is slower by 20.00 %; the limit is 5 %", self.done.stderr)
        failed = [process | {"status": "timeout", "reason": "no result within 1 s"} for process in self.processes(other)]
        doubtful = [process | {"verdict": {"rating": "no_steady_state", "reasons": []}} for process in self.processes(other)]
        mixed = [doubtful[0], doubtful[1] | {"verdict": {"rating": "unstable", "reasons": []}}]
        for head, said in ((good, "'step other': B has no such point: 'head.json' contains no record with this name; use --allow-missing"),
                           (good + failed, "'step other': B: timeout: no result within 1 s"),
                           (good + self.processes(other)[1:] + failed[:1], "'step other': B: timeout"),
                           (good + [failed[0] | {"status": "out_of_memory"}], "'step other': B: out_of_memory"),
                           (good + [self.process(other, samples=3)], "'step other': fewer than 6 samples"),
                           (good + doubtful, "6 of 6 records did not reach a steady state;"),
                           (good + mixed, "2 of 2 records did not reach a steady state or are unstable;"),
                           (good + self.processes(other, 0.23, spread=1)[:2], "'step other': B takes ")):
            with self.subTest(said):
                self.assertEqual(self.gate(head), 3, self.done.stderr)
                self.assertIn(said, self.done.stderr)
                self.assertEqual(self.compare("base.json", "head.json").returncode, 0)
        self.write("head.json", self.processes(record, 1.02) + self.processes(other))
        self.assertEqual(self.compare("base.json", "head.json", "--within", "10%", "--fail-above", "1%").returncode, 1)
        self.write("head.json", self.processes(record, 1.009) + self.processes(other))
        self.assertEqual(self.compare("base.json", "head.json", "--within", "10%", "--fail-above", "1%").returncode, 3)
        self.assertEqual(self.gate(good, "--allow-missing"), 0)
        self.assertEqual(self.gate(good + failed, "--allow-missing"), 3)
        self.assertEqual(self.gate(good + self.processes(other) + self.processes(record | {"name": "step/new"})), 3)

    def test_compares_each_thread_count_separately(self):
        record = self.measure("a.json", "--threads", "1")[0]
        other = record | {"config": record["config"] | {"threads": 2}}
        self.write("base.json", self.processes(record) + self.processes(other, 3))
        self.assertEqual(self.gate(self.processes(record) + self.processes(other, 3)), 0, self.done.stderr)
        self.assertEqual(self.gate(self.processes(record) + self.processes(other, 4)), 1)
        self.assertIn("2 threads': B is slower", self.done.stderr)

    def test_strict_bench_fails_if_a_point_is_out_of_memory(self):
        words = [*TINY, "--memory-limit", "1KiB,1GiB", "--warmup", "0", "--steps", "1"]
        self.assertEqual(self.bench(*words).returncode, 0)
        done = self.bench(*words, "--strict")
        self.assertEqual(done.returncode, 1)
        self.assertIn("--strict: 1 of 2 points are not ok", done.stderr)

    def test_gate_needs_several_records_if_they_are_unstable(self):
        record = self.measure("a.json")[0]
        unstable = {"verdict": {"rating": "unstable", "reasons": []}}
        self.write("base.json", self.processes(record))
        self.assertEqual(self.gate([process | unstable for process in self.processes(record)]), 0, self.done.stderr)
        self.assertEqual(self.gate([self.process(record) | unstable]), 3)
        self.assertIn("1 of 1 records are unstable", self.done.stderr)

    def test_does_not_pool_the_samples_of_processes(self):
        # Six processes on each side, whose levels differ by up to 12 %. Pooling all samples would wrongly show a
        # difference.
        record = self.measure("a.json")[0]
        levels = [1, 1.02, 1.1, 1.04, 0.98, 1.08]
        self.write("base.json", [self.process(record, level, samples=100) for level in levels])
        head = [self.process(record, 1.02 * level, samples=100) for level in levels[::-1]]
        self.write("head.json", head)
        done = self.compare("base.json", "head.json", "--output", "json")
        self.assert_ok(done)
        self.assertEqual(json.loads(done.stdout)[0]["tables"]["records"][0]["verdict"], "undecided")

    def test_accepts_json_lines_and_other_systems(self):
        record = self.measure("a.json")[0]
        other = record | {"name": "step/another", "config": record["config"] | {"system": "pytorch"}}
        (self.folder / "b.jsonl").write_text(json.dumps(other) + "\n" + json.dumps(other) + "\n")
        done = self.compare("a.json", "b.jsonl")
        self.assert_ok(done)
        self.assertIn("step another", done.stdout)

    def test_points_with_different_names_and_work_require_the_anyway_option(self):
        record = self.measure("a.json")[0]
        for change in ({"context_length": 32}, {"d_model": 64}, {"pass": "forward"}):
            with self.subTest(change):
                other = record | {"name": "step/other", "config": record["config"] | change}
                if "pass" in change:
                    other["time"] = {"forward": record["time"]["step"]}
                self.write("b.json", [other])
                done = self.compare("a.json", "b.json")
                self.assertEqual((done.returncode, done.stdout), (2, ""))
                self.assertIn("--anyway", done.stderr)
                self.assert_ok(self.compare("a.json", "b.json", "--anyway"))

    def test_different_machines_or_arithmetic_require_the_anyway_option(self):
        record = self.measure("a.json")[0]
        for change, said in (({"fingerprint": "another"}, "different machines"),
                             ({"math_mode": "bfloat16"}, "differ in arithmetic"),
                             ({"verdict": {"rating": "predicted", "reasons": []}}, "some records are predicted")):
            with self.subTest(said):
                self.write("b.json", [record | change])
                done = self.compare("a.json", "b.json")
                self.assertEqual((done.returncode, done.stdout), (2, ""))
                self.assertIn(said, done.stderr)
                self.assertIn("--anyway", done.stderr)
                self.assert_ok(self.compare("a.json", "b.json", "--anyway"))

    def test_predictions_are_compared_only_for_the_same_machine(self):
        def predicted(device, fingerprint):
            return record | {"verdict": {"rating": "predicted", "reasons": []}, "fingerprint": fingerprint,
                             "config": record["config"] | {"device": device}}

        record = self.measure("a.json")[0]
        self.write("a.json", [predicted("roofline:h100", "one")])
        self.write("b.json", [predicted("roofline:h100", "another")])
        self.assert_ok(self.compare("a.json", "b.json"))
        self.write("b.json", [predicted("roofline:a100", "one")])
        done = self.compare("a.json", "b.json")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("different machines", done.stderr)

    def test_rejects_files_that_cannot_be_compared(self):
        record = self.measure("a.json")[0]
        self.write("other.json", [record | {"name": "x"}, record | {"name": "y"}])
        self.write("none.json", [])
        (self.folder / "text.json").write_text("hello")
        (self.folder / "empty.json").write_text("")
        for name, said in (("missing.json", "missing.json"), ("text.json", "not valid JSON at byte 1"), ("empty.json", "is empty"),
                           ("none.json", "contains no records"), ("records.sqlite", "laptime export jsonl")):
            with self.subTest(name):
                done = self.compare("a.json", name)
                self.assertEqual(done.returncode, 2)
                self.assertIn(said, done.stderr)
        two = self.write("two.json", [record, record | {"name": "z"}])
        done = self.compare(two, "other.json")
        self.assertEqual(done.returncode, 2)
        self.assertIn("no record name in common", done.stderr)
        done = self.compare("a.json", "a.json", "--mode", "eager,compile")
        self.assertEqual(done.returncode, 2)
        self.assertIn("--mode applies only when laptime runs the points", done.stderr)


if __name__ == "__main__":
    unittest.main()
