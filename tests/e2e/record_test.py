"""Steps of other programs through a pipe: `laptime record`."""

import json
import math
import re
import signal
import subprocess
import time
import unittest

from program import MODEL, TINY, ProgramTest

SYSTEM = "--system pytorch --system-version 2.15.0".split()


def lines_of(durations, **more) -> str:
    return "".join(json.dumps({"step": nanoseconds, **more}) + "\n" for nanoseconds in durations)


class RecordTest(ProgramTest):
    def record(self, text: str, *words, code=0, columns="all"):
        """The answers and the records of a run that reads the lines in `text`."""
        done = self.laptime("record", *SYSTEM, "--store", self.store, "--columns", columns, *words, input=text)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        return [line for line in lines if "next" in line], [line for line in lines if "next" not in line]

    def refused(self, text: str, *words) -> str:
        done = self.laptime("record", *SYSTEM, "--store", self.store, *words, input=text)
        self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
        return done.stderr


class RecordPipe(RecordTest):
    def test_stopping_rule_ends_the_steps(self):
        answers, (record,) = self.record(lines_of([10_000_000] * 100))
        self.assertEqual(len(answers), 15)  # 5 warm-up steps and 10 samples, because all steps are equal
        self.assertEqual([answer["next"] for answer in answers], ["continue"] * 14 + ["stop"])
        self.assertEqual(answers[0]["reason"], "warm-up, step 1")
        self.assertIn("interval", answers[-1]["reason"])
        self.assertEqual((record["status"], record["stopping"]["rule"], record["stopping"]["warmup"]), ("ok", "interval", 5))
        self.assertEqual((record["verdict"]["rating"], record["verdict"]["reasons"]), ("stable", []))
        time_of_step = record["time"]["step"]
        self.assertEqual(time_of_step["count"], 10)
        for figure in ("median", "min", "max", "ci_low", "ci_high"):
            self.assertAlmostEqual(time_of_step[figure], 0.01, places=12)
        self.assertEqual(self.stored()[0], record)

    def test_replayed_bench_samples_give_the_same_figures(self):
        numbers = "--warmup 5 --steps 30".split()  # without a time budget, which would include pauses
        self.assert_ok(self.bench(*TINY, "--device", "cpu", "--threads", "1", *numbers))
        (bench,) = self.stored()
        seconds = bench["transient"]["warmup"] + bench["time"]["step"]["samples"]
        answers, (record,) = self.record(lines_of([sample * 1e9 for sample in seconds]), *numbers)
        self.assertEqual(len(answers), len(seconds))
        self.assertEqual(answers[-1]["next"], "stop")
        self.assertEqual(record["stopping"], bench["stopping"])
        for figure in ("count", "median", "mean", "std", "min", "max", "ci_low", "ci_high", "mad", "p10", "p90"):
            self.assertAlmostEqual(record["time"]["step"][figure], bench["time"]["step"][figure], delta=1e-12, msg=figure)
        of_machine = re.compile("of the time was lost|build")  # reasons that cannot be replayed
        self.assertEqual(record["verdict"]["reasons"],
                         [reason for reason in bench["verdict"]["reasons"] if not of_machine.search(reason)])

    def test_drifting_times_are_not_rated_stable(self):
        answers, (record,) = self.record(lines_of([10_000_000 + 1_000_000 * n for n in range(300)]))
        self.assertEqual(record["verdict"]["rating"], "no_steady_state")
        self.assertGreater(len(answers), 15)

    def test_budget_ends_unsteady_steps(self):
        durations = [1_000_000_000 + 300_000_000 * (n % 2) for n in range(300)]
        answers, (record,) = self.record(lines_of(durations), "--budget", "20")
        self.assertEqual(record["stopping"]["rule"], "time")
        self.assertEqual(answers[-1]["reason"], "the budget of 20 s")
        self.assertLess(len(answers), 25)
        pauses = "".join(json.dumps({"step": 10_000_000 + 3_000_000 * (n % 2), "begin": n * 2_000_000_000}) + "\n"
                         for n in range(300))
        answers, (record,) = self.record(pauses, "--budget", "20")
        self.assertEqual(record["stopping"]["rule"], "time")  # the budget includes the time between steps
        self.assertLess(len(answers), 25)

    def test_takes_a_fixed_number_of_steps(self):
        answers, (record,) = self.record(lines_of([1000] * 9), "--warmup", "2", "--steps", "3")
        self.assertEqual(len(answers), 5)
        self.assertEqual((record["config"]["warmup"], record["config"]["steps"]), (2, 3))

    def test_known_model_has_flops_and_mfu(self):
        words = [*MODEL, "--context", "16", "--model", "custom", "--dtype", "float32"]
        _, (record,) = self.record(lines_of([10_000_000] * 20), *words)
        self.assert_ok(self.bench(*TINY, "--model", "custom", "--warmup", "1", "--steps", "1"))
        bench = self.stored()[1]
        for key in ("forward", "backward"):
            self.assertEqual(record["flops"][key], bench["flops"][key])
        self.assertAlmostEqual(record["flops"]["mfu_measured"],
                               (3 * record["flops"]["forward"] / 0.01) / record["flops"]["peak_measured"])
        self.assertAlmostEqual(record["tokens_per_second"], 16 / 0.01, places=6)
        self.assertIsNone(record["flops"]["optimizer"])

    def test_unknown_model_has_no_flops(self):
        _, (record,) = self.record(lines_of([10_000_000] * 20), "--tokens", "1000", "--name", "mine")
        self.assertEqual({key: value for key, value in record["flops"].items() if value is not None}, {})
        self.assertAlmostEqual(record["tokens_per_second"], 1e5, places=4)
        self.assertEqual(record["name"], "step/system:pytorch/implementation:mine/tokens:1000")
        self.assertIsNone(record["config"]["model"])
        self.assertEqual((record["phases"], record["kernels"], record["math_mode"]), ([], [], None))

    def test_accepts_only_valid_custom_phase_names(self):
        _, (record,) = self.record(lines_of([10_000_000] * 20, forward=3_000_000, phases={"data": 2_000_000}))
        self.assertEqual([phase["phase"] for phase in record["phases"]], ["forward", "data", "residue"])
        self.assertAlmostEqual(record["time"]["data"]["median"], 0.002, places=12)
        self.assertIn("'Los' is not a valid phase name", self.refused(lines_of([10] * 3, phases={"los": 1, "Los": 2})))

    def test_phases_and_residue_add_up_to_the_step(self):
        _, (record,) = self.record(lines_of([10_000_000] * 20, forward=3_000_000, backward=5_000_000))
        self.assertEqual([phase["phase"] for phase in record["phases"]], ["forward", "backward", "residue"])
        self.assertTrue(math.isclose(sum(phase["seconds"] for phase in record["phases"]), 0.01, rel_tol=1e-12))
        self.assertEqual(record["time"]["forward"]["count"], record["time"]["step"]["count"])

    def test_errors_name_malformed_lines(self):
        self.assertIn("laptime record: line 1: '12' is not a JSON object", self.refused("12\n"))
        self.assertIn("line 1: unknown key 'stp'; did you mean 'step'?; nothing is stored", self.refused('{"stp": 1}\n'))
        self.assertIn("exceed the limit", self.refused("9" * 70000 + "\n"))
        self.assertIn("ended before the first step", self.refused(""))
        self.assertFalse(self.stored())

    def test_malformed_line_keeps_earlier_samples(self):
        good = lines_of([10_000_000] * 9)
        wrong = {'{"stp": 1}': "line 10 (unknown key 'stp'", '{"step": 1, "loss": 2}': "line 10 (has the keys loss, step",
                 '{"step": 1, "step": 2}': "line 10 (has the key 'step' twice", "12": "line 10 ('12' is not a JSON object"}
        for line, reason in wrong.items():
            with self.subTest(line):
                answers, (record,) = self.record(good + line + "\n" + good, "--warmup", "5", "--steps", "20", code=2)
                self.assertEqual(answers[-1]["next"], "stop")
                self.assertIn(reason, record["reason"])
                self.assertEqual((record["status"], record["time"]["step"]["count"]), ("interrupted", 4))

    def test_skips_empty_lines(self):
        text = "\n" + lines_of([10_000_000] * 4) + "\n  \r\n" + lines_of([10_000_000] * 4)
        _, (record,) = self.record(text, "--warmup", "0", "--steps", "8")
        self.assertEqual(record["time"]["step"]["count"], 8)

    def test_accepts_nan_and_null_losses(self):
        for word in ("NaN", "null"):
            text = "".join(f'{{"step": 12000000, "loss": {word}}}\n' for _ in range(8))
            _, (record,) = self.record(text, "--warmup", "0", "--steps", "8")
            self.assertEqual((record["status"], record["time"]["step"]["count"]), ("ok", 8))
            self.assertEqual(record["loss"]["values"], [None] * 8)

    def test_rejects_options_that_do_not_apply(self):
        for words, message in ((["--model", "small"], "--model: also needs --batch"),
                               (["--context", "16"], "--context describes a model"),
                               (["--lr", "1"], "unknown option '--lr'"),
                               (["--system", "laptime"], "--system"),
                               (["--name", "a/b"], "--name: 'a/b' cannot be part of a record's name"),
                               (["--columns", "medain"], "did you mean 'median'"),
                               (["--batch", "1,2"], "--batch"),
                               (["small"], "unexpected 'small'")):
            self.assertIn(message, self.refused(lines_of([1]), *words))
        done = self.laptime("record", "--store", "none", input=lines_of([1]))
        self.assertEqual(done.returncode, 2)
        self.assertIn("--system is missing", done.stderr)

    def test_end_of_input_keeps_the_samples(self):
        answers, (record,) = self.record(lines_of([10_000_000] * 9), "--warmup", "5", "--steps", "20", code=130)
        self.assertEqual(answers[-1], {"next": "stop", "reason": "the end of the input"})
        self.assertEqual(record["status"], "interrupted")
        self.assertEqual(record["reason"],
                         "stopped by the end of the input after 9 steps; the times cover the 4 samples taken so far")
        _, (cut,) = self.record(lines_of([10_000_000] * 9) + '{"step": 1000', code=130)
        self.assertIn("after 9 steps", cut["reason"])
        _, (early,) = self.record(lines_of([10_000_000] * 2), code=130)
        self.assertEqual((early["status"], early["time"]), ("interrupted", {}))
        self.assertEqual(len(self.stored()), 3)

    def test_signal_keeps_the_samples(self):
        child = self.start("record", *SYSTEM, "--store", self.store, "--columns", "all", stdin=subprocess.PIPE)
        for _ in range(8):
            child.stdin.write(lines_of([10_000_000]))
            child.stdin.flush()
            self.assertEqual(json.loads(child.stdout.readline())["next"], "continue")
        child.send_signal(signal.SIGTERM)
        self.assertEqual(json.loads(child.stdout.readline()), {"next": "stop", "reason": "a signal"})
        output, errors = child.communicate(timeout=60)
        self.assertEqual(child.returncode, 130, errors)
        record = json.loads(output)
        self.assertEqual((record["status"], record["time"]["step"]["count"]), ("interrupted", 3))
        self.assertIn("stopped by a signal after 8 steps", record["reason"])
        self.assertEqual(self.stored(), [record])

    def test_killed_driver_leaves_a_record(self):
        child = self.start("record", *SYSTEM, "--store", self.store, stdin=subprocess.PIPE)
        child.stdin.write(lines_of([10_000_000] * 7))
        child.stdin.flush()
        for _ in range(7):
            child.stdout.readline()
        child.stdout.close()
        child.stdin.close()
        self.assertEqual(child.wait(timeout=60), 0)  # a closed output is not an error
        child.stderr.close()
        self.assertEqual(self.stored()[0]["status"], "interrupted")

    def test_full_disk_of_the_output_keeps_the_samples(self):
        with open("/dev/full", "w") as full:
            done = self.laptime("record", *SYSTEM, "--store", self.store, input=lines_of([10_000_000] * 12), stdout=full)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("standard output cannot be written (No space left on device)", done.stderr)
        self.assertEqual([record["reason"] for record in self.stored()],
                         ["stopped by a failed write to standard output after 1 step"])

    def test_failure_to_store_is_an_error_even_if_the_output_is_closed(self):
        child = self.start("record", *SYSTEM, "--store", self.store, "--warmup", "0", "--steps", "2", stdin=subprocess.PIPE)
        child.stdin.write(lines_of([10_000_000]))
        child.stdin.flush()
        child.stdout.readline()
        child.stdout.close()
        self.store.unlink()
        self.store.mkdir()  # every write fails now
        child.stdin.write(lines_of([10_000_000]))
        child.stdin.close()
        with child.stderr:
            self.assertIn(str(self.store), child.stderr.read())
        self.assertEqual(child.wait(timeout=60), 1)

    def test_run_with_an_infinite_loss_fails_without_times(self):
        text = lines_of([10_000_000] * 3, loss=2.5) + lines_of([10_000_000] * 9, loss=math.inf)
        answers, (record,) = self.record(text, code=1)
        self.assertEqual(len(answers), 4)
        self.assertEqual((record["status"], record["time"]), ("failed", {}))
        self.assertEqual(record["loss"]["values"], [2.5, 2.5, 2.5, None])

    def test_tables_name_the_system_of_a_row(self):
        self.assert_ok(self.bench(*TINY, "--warmup", "0", "--steps", "2"))
        words = [*MODEL, "--context", "16", "--model", "custom"]
        self.record(lines_of([10_000_000] * 20), *words)
        table = self.laptime("show", "--store", self.store).stdout
        self.assertRegex(table, r"system:? ?pytorch")
        for columns in ("mean_std", "min_max", "forward_backward", "attention", "model,median"):
            text = self.laptime("show", "--store", self.store, "--columns", columns).stdout
            self.assertRegex(text, r"(?m)^.*system:? ?pytorch.*$|.* pytorch *$")
        for columns in ("default", "all_times", "attention_memory"):
            text = self.laptime("show", "--store", self.store, "--columns", columns, "--output", "markdown").stdout
            self.assertIn("pytorch", text)
        rows = [json.loads(line)
                for line in self.laptime("show", "--store", self.store, "--output", "jsonl").stdout.splitlines()]
        self.assertEqual([(row["system"], row["arithmetic"] is None) for row in rows],
                         [("laptime", False), ("pytorch", True)])
        chosen = self.laptime("show", "--store", self.store, "system = pytorch", "--columns", "system,median").stdout
        self.assertEqual(len(re.findall(r"(?m)^pytorch +10", chosen)), 1)
        self.assertNotIn("laptime", chosen)
        exported = self.laptime("export", "llama_bench", "--store", self.store)
        self.assertRegex(exported.stdout, r"\| custom 2025 pytorch +\|")
        done = self.laptime("report", "--store", self.store, "--html", "page.html")
        self.assert_ok(done)
        page = (self.folder / "page.html").read_text()
        self.assertIn("system:pytorch", page)

    def test_compare_rejects_records_with_different_arithmetic(self):
        for name, nanoseconds in (("before", 10_000_000), ("after", 10_500_000)):
            _, (record,) = self.record(lines_of([nanoseconds + 10_000 * (n % 5) for n in range(40)]))
            (self.folder / f"{name}.json").write_text(json.dumps(record))
        done = self.laptime("compare", "before.json", "after.json")
        self.assert_ok(done)
        self.assertRegex(done.stdout, r"step system pytorch +10\S* ms +1\S+ ms +1\.050 .* slower")
        _, (record,) = self.record(lines_of([10_000_000] * 20), *MODEL, "--context", "16", "--model", "custom")
        (self.folder / "other.json").write_text(json.dumps(record))
        self.assert_ok(self.bench(*TINY, "--model", "custom", "--warmup", "0", "--steps", "1", "--output", "json",
                                  "--output-file", "own.json"))
        done = self.laptime("compare", "own.json", "other.json")
        self.assertEqual(done.returncode, 2)
        self.assertIn("differ in arithmetic", done.stderr)

    def test_resume_ignores_records_of_other_systems(self):
        words = [*MODEL, "--context", "16", "--model", "custom"]
        self.record(lines_of([10_000_000] * 20), *words, "--warmup", "0", "--steps", "1")
        self.assert_ok(self.bench(*TINY, "--model", "custom", "--warmup", "0", "--steps", "1", "--resume"))
        self.assertEqual([record["config"].get("system") for record in self.stored()], ["pytorch", None])


if __name__ == "__main__":
    unittest.main()
