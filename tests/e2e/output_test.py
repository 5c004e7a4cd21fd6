"""Output of records: every format, atomic files, closed pipes, and full disks."""

import csv
import io
import json
import os
import resource
import subprocess
import unittest

from program import BINARY, MODEL, PREDICTED, ProgramTest

TWO_POINTS = [*MODEL, *"--context 8,16 --device roofline:h100 --warmup 0 --steps 2".split()]


class Output(ProgramTest):
    def test_table_goes_to_stdout_and_progress_to_stderr(self):
        done = self.bench(*TWO_POINTS)
        self.assert_ok(done)
        self.assertIn("\ncustom, float32, eager, d_model 32", done.stdout)
        self.assertIn("\nctx 16 ", done.stdout)
        self.assertIn("[2/2] ctx 16: ", done.stderr)
        self.assertNotIn("\x1b", done.stdout + done.stderr)

    def test_table_goes_to_stderr_with_other_formats(self):
        records = {}
        for form in ("json", "jsonl", "csv", "markdown"):
            done = self.bench(*TWO_POINTS, "--output", form)
            self.assert_ok(done)
            self.assertIn("tokens/s", done.stderr)  # a column of the table
            records[form] = done.stdout
        self.assertEqual(len(json.loads(records["json"])), 2)
        self.assertEqual([json.loads(line)["status"] for line in records["jsonl"].splitlines()], ["ok", "ok"])
        self.assertEqual([row["status"] for row in csv.DictReader(io.StringIO(records["csv"]))], ["ok", "ok"])
        self.assertIn("| step, ", records["markdown"])

    def test_record_has_the_documented_keys(self):
        record = json.loads(self.bench(*PREDICTED, "--warmup", "1", "--steps", "3", "--output", "json").stdout)[0]
        for key in ("schema_version name label status reason bytes_requested bytes_available op scope machine math_mode "
                    "flops tokens_per_second loss setup memory").split():
            self.assertIn(key, record)
        for key in ("model edition d_model d_ff num_layers num_heads vocab_size context_length batch_size dtype mode "
                    "pass device threads warmup steps seed optimizer").split():
            self.assertIn(key, record["config"])
        self.assertEqual(set(record["time"]), {"forward", "backward", "optimizer", "step"})
        for time in record["time"].values():
            self.assertEqual(time["unit"], "s")
            self.assertEqual((len(time["samples"]), time["count"]), (3, 3))
        self.assertEqual(record["memory"]["predicted_peak_bytes"], record["memory"]["peak_bytes"])

    def test_standard_deviation_of_one_sample_is_null(self):
        record = json.loads(self.bench(*PREDICTED, "--warmup", "0", "--steps", "1", "--output", "json").stdout)[0]
        self.assertIsNone(record["time"]["step"]["std"])

    def test_sorts_rows(self):
        done = self.bench(*TWO_POINTS, "--columns", "context", "--sort", "context:desc")
        self.assert_ok(done)
        self.assertRegex(done.stdout, r"\n +16\n +8\n")

    def test_show_prints_the_records_of_bench(self):
        done = self.bench(*TWO_POINTS, "--output", "csv")
        again = self.laptime("show", "--store", self.store, "--output", "csv")
        self.assertEqual(done.stdout, again.stdout)
        some = self.laptime("show", "--store", self.store, "ctx > 8", "--output", "json")
        self.assertEqual([record["config"]["context_length"] for record in json.loads(some.stdout)], [16])

    def test_sweep_file_names_its_records(self):
        (self.folder / "short.toml").write_text('context = [8, 16]\nsteps = 1\nwarmup = 0\nlabel = "ctx {context}"\n')
        self.assert_ok(self.bench(*MODEL, "--device", "roofline:h100", "--config", "short.toml"))
        records = self.stored()
        self.assertEqual({record["sweep"] for record in records}, {"short"})
        self.assertEqual([record["label"] for record in records], ["ctx 8", "ctx 16"])
        self.assertEqual(len({record["run"] for record in records}), 1)

    def test_default_store_is_in_the_data_directory_of_the_user(self):
        self.assert_ok(self.laptime("bench", *PREDICTED, "--steps", "1"))
        self.assertTrue((self.folder / ".local/share/laptime/records.sqlite").exists())
        self.environment["XDG_DATA_HOME"] = str(self.folder / "data")
        self.assert_ok(self.laptime("bench", *PREDICTED, "--steps", "1"))
        self.assertTrue((self.folder / "data/laptime/records.sqlite").exists())

    def test_without_a_home_directory_records_are_only_shown(self):
        del self.environment["HOME"]
        done = self.laptime("bench", *PREDICTED, "--steps", "1")
        self.assert_ok(done)
        self.assertIn("HOME is not set", done.stderr)
        self.environment["HOME"] = "relative"
        self.assertIn("HOME is not an absolute path", self.laptime("bench", *PREDICTED, "--steps", "1").stderr)
        self.assertEqual(list(self.folder.iterdir()), [])


class Files(ProgramTest):
    def test_replaces_a_file_atomically(self):
        output = self.folder / "records.json"
        output.write_text("old")
        done = self.bench(*TWO_POINTS, "--output", "json", "--output-file", output)
        self.assert_ok(done)
        self.assertEqual(done.stdout, "")
        self.assertEqual(len(json.loads(output.read_text())), 2)
        self.assertEqual([file.name for file in self.folder.glob("records.json*")], ["records.json"])

    def test_follows_a_link(self):
        (self.folder / "target.csv").write_text("old")
        (self.folder / "link.csv").symlink_to("target.csv")
        self.assert_ok(self.bench(*TWO_POINTS, "--output", "csv", "--output-file", "link.csv", "--columns", "status"))
        self.assertTrue((self.folder / "link.csv").is_symlink())
        self.assertEqual((self.folder / "target.csv").read_text().split(), ["status", "ok", "ok"])

    def test_writes_directly_to_a_device_file(self):
        self.assert_ok(self.bench(*TWO_POINTS, "--output", "json", "--output-file", "/dev/null"))
        self.assertFalse(os.path.isfile("/dev/null"))
        done = self.bench(*TWO_POINTS, "--output", "jsonl", "--output-file", "/dev/stdout")
        self.assert_ok(done)
        self.assertEqual(len(done.stdout.splitlines()), 2)

    def test_invalid_input_leaves_the_old_file_alone(self):
        for form in ("json", "jsonl"):
            output = self.folder / "records"
            output.write_text("old")
            done = self.laptime("bench", *TWO_POINTS, "--store", ".", "--output", form, "--output-file", output)
            self.assertEqual(done.returncode, 2)
            self.assertEqual(output.read_text(), "old")
            self.assert_ok(self.bench(*TWO_POINTS, "--output", form, "--output-file", output))
            self.assertTrue(output.read_text().startswith(("[", "{")))

    def test_dash_writes_to_standard_output(self):
        for words in (["bench", *TWO_POINTS], ["plan", *TWO_POINTS], ["explain", *TWO_POINTS], ["show"]):
            for form in ("table", "json", "jsonl"):
                done = self.laptime(*words, "--store", self.store, "--output", form, "--output-file", "-")
                self.assert_ok(done)
                self.assertGreater(len(done.stdout), 10, words)
        (self.folder / "sweep.toml").write_text("seed = [1, 2]\n")
        for words in ([], ["sweep.toml", *TWO_POINTS]):
            done = self.laptime("report", *words, "--store", self.store, "--html", "-")
            self.assert_ok(done)
            self.assertTrue(done.stdout.startswith("<!doctype html>"), done.stdout[:100])
        self.assertFalse((self.folder / "-").exists())

    def test_writes_the_table_to_a_file(self):
        self.assert_ok(self.bench(*TWO_POINTS, "--output-file", "table.txt"))
        self.assertIn("ctx 16", (self.folder / "table.txt").read_text())


class OutputFailures(ProgramTest):
    def test_a_closed_pipe_ends_the_sweep(self):
        sweep = self.start("bench", "--store", self.store, *PREDICTED, "--steps", "1", "--seed",
                           ",".join(map(str, range(1, 200))), "--output", "jsonl")
        sweep.stdout.readline()
        sweep.stdout.close()
        errors = sweep.stderr.read()
        self.assertEqual(sweep.wait(timeout=60), 1)
        sweep.stderr.close()
        self.assertIn("standard output cannot be written", errors)
        self.assertLess(len(self.stored()), 199)

    def test_a_closed_pipe_is_not_an_error_if_no_output_is_lost(self):
        self.assert_ok(self.bench(*TWO_POINTS))
        for words in (["--help"], ["list", "options"], ["show", "--store", str(self.store)], ["plan", *PREDICTED],
                      ["bench", "--store", str(self.store), *PREDICTED, "--steps", "1", "--output", "json"]):
            reading, writing = os.pipe()
            os.close(reading)
            done = self.laptime(*words, stdout=writing)
            os.close(writing)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertNotIn("cannot be written", done.stderr)

    def exit_code_without_reader(self, *words) -> int:
        reading, writing = os.pipe()
        os.close(reading)
        done = self.laptime(*words, stdout=writing)
        os.close(writing)
        return done.returncode

    def test_a_closed_pipe_does_not_change_the_result_of_a_command(self):
        slower = [*PREDICTED, "--store", self.store, "--delay", "none,matmul=10us"]
        self.assertEqual(self.exit_code_without_reader("compare", *slower, "--fail-above", "5%"), 1)
        words = ["--warmup", "2", "--steps", "8", "--output", "json", "--output-file"]
        self.assert_ok(self.bench(*PREDICTED, *words, "a.json"))
        self.assert_ok(self.bench(*PREDICTED, *words, "b.json", "--seed", "2"))
        files = [self.folder / "a.json", self.folder / "b.json"]
        imported = self.folder / "imported.sqlite"
        self.assertEqual(self.exit_code_without_reader("import", *files, "--store", imported), 0)
        self.assertEqual(len(self.stored(imported)), 2)
        records = json.loads(files[0].read_text())
        for stats in records[0]["time"].values():
            stats["samples"] = [2 * sample for sample in stats["samples"]]
        files[1].write_text(json.dumps(records))
        self.assertEqual(self.laptime("compare", *files, "--fail-above", "5%").returncode, 1)
        self.assertEqual(self.exit_code_without_reader("compare", *files, "--fail-above", "5%"), 1)
        self.assertEqual(self.exit_code_without_reader("selfcheck", "--memory-limit", "1KiB", "--store", "none"), 1)
        late = "attention --d-model 16 --context 16 --device cpu --timeout 0.001 --store none".split()
        self.assertEqual(self.laptime(*late).returncode, 1)
        self.assertEqual(self.exit_code_without_reader(*late), 1)

    def test_stderr_may_be_a_closed_pipe(self):
        reading, writing = os.pipe()
        os.close(reading)
        done = self.bench(*TWO_POINTS, "--output", "json", stderr=writing)
        os.close(writing)
        self.assertEqual(done.returncode, 0)
        self.assertEqual(len(json.loads(done.stdout)), 2)

    def test_runs_with_closed_streams(self):
        for closed, code in ((">&-", 1), ("2>&-", 0), ("<&-", 0), (">&- 2>&- <&-", 1)):
            words = " ".join([BINARY, "bench", *TWO_POINTS, "--store", str(self.store)])
            done = subprocess.run(f"{words} {closed}", shell=True, env=self.environment, check=False,
                                  capture_output=True, timeout=60)
            self.assertEqual(done.returncode, code, closed)
        self.assertEqual({record["status"] for record in self.stored()}, {"ok"})

    def test_reports_that_the_disk_for_the_output_is_full(self):
        for words in (["--output", "json"], ["--output", "jsonl"], []):
            with open("/dev/full", "w") as full:
                done = self.bench(*TWO_POINTS, *words, stdout=full)
            self.assertEqual(done.returncode, 1)
            self.assertIn("No space left on device", done.stderr)
        done = self.bench(*TWO_POINTS, "--output", "json", "--output-file", "/dev/full")
        self.assertEqual(done.returncode, 1)
        self.assertIn("/dev/full", done.stderr)
        self.assertIn("ctx 16", done.stderr)  # the table still shows every result

    def limited_files(self, size: int):
        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

        return limit

    def test_reports_that_the_disk_of_the_store_is_full(self):
        """With a limit on the file size, some points are stored and the others are only shown."""
        self.assert_ok(self.bench(*TWO_POINTS))
        size = self.store.stat().st_size
        seeds = ",".join(map(str, range(1, 41)))
        done = self.bench(*PREDICTED, "--steps", "1", "--seed", seeds, "--columns", "status", "--output", "csv",
                          preexec_fn=self.limited_files(size + 100_000))
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertEqual(done.stdout.split(), ["status"] + ["ok"] * 40)
        self.assertIn("the disk rejected a write", done.stderr)
        self.assertRegex(done.stderr, r"\d+ of 40 records could not be stored")
        stored = len(self.stored())
        self.assertGreater(stored, 2)
        self.assertLess(stored, 42)
        self.assert_ok(self.bench(*PREDICTED, "--steps", "1", "--seed", seeds, "--resume"))
        self.assertEqual(len({json.dumps(record["config"]) for record in self.stored()}), 42)

    def test_reports_a_disk_that_is_full_from_the_start(self):
        done = self.bench(*TWO_POINTS, preexec_fn=self.limited_files(10_000))
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertEqual(done.stdout, "")
        self.assertIn(str(self.store), done.stderr)

    @unittest.skipIf(os.geteuid() == 0, "root may write anywhere")
    def test_reports_missing_permissions(self):
        self.folder.chmod(0o500)
        self.addCleanup(self.folder.chmod, 0o700)
        done = self.bench(*TWO_POINTS)
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("records.sqlite", done.stderr)

    def test_reports_a_store_that_fails_midway(self):
        sweep = self.start("bench", "--store", self.store, *PREDICTED, "--steps", "1", "--seed",
                           ",".join(map(str, range(1, 31))), "--columns", "status", "--output", "jsonl")
        sweep.stdout.readline()
        self.store.write_bytes(b"something else" * 1000)
        output, errors = sweep.communicate(timeout=60)
        self.assertEqual(sweep.returncode, 1, errors)
        self.assertEqual(len(output.splitlines()), 29)
        self.assertIn("not a laptime store", errors)


class Memory(ProgramTest):
    POINT = ("--d-model 256 --d-ff 1024 --num-layers 2 --num-heads 4 --vocab 10000 --context 64 --batch 2 --device cpu "
             "--warmup 0 --steps 1").split()

    def status_with(self, limit: int) -> tuple[str, dict]:
        done = self.laptime("bench", *self.POINT, "--store", "none", "--output", "json",
                            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))
        self.assertEqual(done.returncode, 0, done.stderr)
        record = json.loads(done.stdout)[0]
        return record["status"], record

    def test_a_point_without_enough_memory_has_a_row(self):
        done = self.laptime("bench", *self.POINT, "--store", "none", "--output", "json")
        peak = json.loads(done.stdout)[0]["memory"]["predicted_peak_bytes"]
        status, record = self.status_with(86_000_000 + peak // 2)
        self.assertEqual(status, "out_of_memory")
        self.assertEqual(record["bytes_requested"], peak)
        self.assertLess(record["bytes_available"], peak)
        self.assertIn("predicted", record["reason"])
        self.assertIn("parameter", record["reason"])

    def test_survives_low_memory_limits(self):
        """Tries memory limits from barely enough to load the libraries to enough for the run."""
        mebibyte = 1 << 20
        limits = [*range(80, 90), *range(125, 710, 45)]
        statuses = [self.status_with(limit * mebibyte)[0] for limit in limits]
        self.assertEqual(statuses, sorted(statuses, reverse=True))  # first out_of_memory, then ok
        self.assertEqual((statuses[0], statuses[-1]), ("out_of_memory", "ok"))

    def test_out_of_memory_record_states_requested_bytes_and_reason(self):
        done = self.bench("--model", "10B", "--batch", "64", "--steps", "1", "--output", "json")
        self.assert_ok(done)
        record = json.loads(done.stdout)[0]
        self.assertEqual(record["status"], "out_of_memory")
        self.assertGreater(record["bytes_requested"], record["bytes_available"])
        self.assertIn("optimizer_state", record["reason"])


if __name__ == "__main__":
    unittest.main()
