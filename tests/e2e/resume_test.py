"""--resume reuses only records measured under the same conditions, and programs that share a store share the points."""

import json
import os
import resource
import signal
import unittest

from program import MODEL, ONE_STEP, PREDICTED, TINY, ProgramTest, busy_child

CPU = [*TINY, "--device", "cpu"]


class Resume(ProgramTest):
    def resume(self, *words, **options) -> list[dict]:
        done = self.bench(*words, "--resume", "--output", "json", **options)
        self.assert_ok(done)
        return json.loads(done.stdout)

    @unittest.skipIf(len(os.sched_getaffinity(0)) < 2, "one core only")
    def test_measures_again_if_the_allowed_cores_change(self):
        one = min(os.sched_getaffinity(0))
        words = [*CPU, *ONE_STEP]
        self.resume(*words, preexec_fn=lambda: os.sched_setaffinity(0, {one}))
        self.assertEqual(self.resume(*words)[0]["config"]["threads"], len(os.sched_getaffinity(0)))
        self.resume(*words, "--threads", "2", preexec_fn=lambda: os.sched_setaffinity(0, {one}))
        self.resume(*words, "--threads", "2")
        self.assertEqual(len(self.stored()), 4 if len(os.sched_getaffinity(0)) > 2 else 3)

    def test_measures_again_if_a_file_has_changed(self):
        data = self.folder / "text.txt"
        words = [*MODEL[:-4], "--vocab", "256", "--batch", "1", "--context", "16", "--device", "cpu", "--threads", "1",
                 *ONE_STEP, "--data", data]
        data.write_text("one text that is long enough " * 9)
        first = self.resume(*words)[0]
        self.assertEqual(self.resume(*words)[0], first)
        written = data.stat()
        data.write_text("two text that is long enough " * 9)
        os.utime(data, ns=(written.st_atime_ns, written.st_mtime_ns))
        second = self.resume(*words)[0]
        self.assertNotEqual(second["loss"], first["loss"])
        self.assertEqual(len(self.stored()), 2)

    def test_measures_again_after_out_of_memory(self):
        words = ("--d-model 256 --d-ff 1024 --num-layers 2 --num-heads 4 --vocab 10000 --context 16 --batch 1 "
                 "--device cpu --threads 1").split() + ONE_STEP
        limit = 150_000_000
        refused = self.resume(*words, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))
        self.assertEqual(refused[0]["status"], "out_of_memory")
        self.assertEqual(self.resume(*words)[0]["status"], "ok")


class ShownRecords(ProgramTest):
    """A command's output and its stored run include the records that the command reuses from the store."""

    def seeds(self, *words) -> list[str]:
        done = self.laptime("show", *words, "--store", self.store, "--columns", "seed", "--output", "csv")
        self.assert_ok(done)
        return done.stdout.split()[1:]

    def test_last_run_includes_resumed_points(self):
        self.assert_ok(self.bench(*PREDICTED, "--seed", "1,2"))
        self.assert_ok(self.bench(*PREDICTED, "--seed", "7"))
        self.assert_ok(self.bench(*PREDICTED, "--seed", "1,2,3,4", "--resume"))
        self.assertEqual(self.seeds("--last"), ["1", "2", "3", "4"])
        self.assertEqual(self.seeds("--last", "seed > 1"), ["2", "3", "4"])
        self.assert_ok(self.bench(*PREDICTED, "--seed", "1,7", "--resume"))  # measures nothing
        self.assertEqual(self.seeds("--last"), ["1", "7"])
        self.assert_ok(self.bench(*PREDICTED, "--seed", "9"))
        self.assertEqual(self.seeds("--last"), ["9"])
        self.assertEqual(self.seeds(), ["1", "2", "7", "3", "4", "9"])

    def test_speedups_include_rows_from_the_store(self):
        words = [*PREDICTED, "--columns", "mode,speedup", "--output"]
        self.assert_ok(self.bench(*words, "csv", "--mode", "eager"))
        for form in ("csv", "table", "jsonl"):
            done = self.bench(*words, form, "--mode", "eager,compile", "--resume")
            self.assert_ok(done)
            shown = self.laptime("show", "--last", "--store", self.store, *words[-3:-1], "--output", form)
            self.assertEqual(done.stdout.replace("from the store", "").split(), shown.stdout.split())
            self.assertRegex(done.stdout, r"(?m)compile\W+(speedup\W+)?[1-9]")
        shown = ("show", "--store", self.store, *words[-3:-1], "--output", "csv")
        for selection in (["--last"], ["--run", self.stored()[-1]["run"]]):
            self.assertRegex(self.laptime(*shown, *selection).stdout, r"compile,[1-9]")
            self.assertRegex(self.laptime(*shown, *selection, "speedup > 1").stdout, r"^mode,speedup\ncompile,")

    def test_marks_rows_from_the_store(self):
        self.assert_ok(self.bench(*PREDICTED, "--seed", "1,2"))
        for words in ([], ["--sort", "seed"]):
            done = self.bench(*PREDICTED, "--seed", "1,2,3", "--resume", "--columns", "seed", *words)
            self.assert_ok(done)
            self.assertRegex(done.stdout, r"\n *1 +from the store\n *2 +from the store\n *3\b")
        self.assertNotIn("from the store", self.laptime("show", "--store", self.store).stdout)


class SharedStore(ProgramTest):
    def test_concurrent_programs_with_resume_share_the_points(self):
        points = 16
        seeds = ",".join(str(seed) for seed in range(1, points + 1))
        words = ["bench", "--store", self.store, *CPU, "--threads", "1", "--warmup", "0", "--steps", "300", "--seed",
                 seeds, "--resume", "--output", "jsonl", "--columns", "all"]
        sweeps = [self.start(*words) for _ in range(3)]
        for sweep in sweeps:
            output, errors = sweep.communicate(timeout=120)
            self.assertEqual(sweep.returncode, 0, errors)
            records = [json.loads(line) for line in output.splitlines()]
            self.assertEqual(sorted(record["config"]["seed"] for record in records), list(range(1, points + 1)))
        stored = self.stored()
        self.assertEqual(sorted(record["config"]["seed"] for record in stored), list(range(1, points + 1)))
        self.assertGreater(len({record["run"] for record in stored}), 1)

    def test_a_killed_program_releases_its_point(self):
        words = ["bench", "--store", self.store, *CPU, "--threads", "1", "--warmup", "0", "--resume", "--output",
                 "json", "--steps"]
        owner = self.start(*words, "1000000")
        busy_child(owner)
        other = self.start(*words, "1000000", "--timeout", "1")
        while "another program is measuring it" not in other.stderr.readline():
            self.assertIsNone(other.poll())
        owner.send_signal(signal.SIGKILL)
        owner.communicate()
        output, errors = other.communicate(timeout=60)
        self.assertEqual(json.loads(output)[0]["status"], "timeout", errors)

    def test_control_c_stops_waiting_for_another_program(self):
        words = ["bench", "--store", self.store, *CPU, "--threads", "1", "--warmup", "0", "--resume", "--steps",
                 "1000000"]
        owner = self.start(*words)
        busy_child(owner)
        self.addCleanup(owner.communicate)
        self.addCleanup(owner.kill)
        other = self.start(*words)
        while "another program is measuring it" not in other.stderr.readline():
            self.assertIsNone(other.poll())
        other.send_signal(signal.SIGINT)
        _, errors = other.communicate(timeout=30)
        self.assertEqual(other.returncode, 130, errors)
        self.assertIn("0 of 1 point is finished;", errors)


if __name__ == "__main__":
    unittest.main()
