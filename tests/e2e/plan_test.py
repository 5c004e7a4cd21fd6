"""laptime plan and calibrate: predictions add up, follow measurements, and state what fits."""

import json
import re
import signal
import time

from program import ProgramTest

MODEL = ["--model", "custom", "--d-model", "32", "--d-ff", "64", "--num-layers", "2", "--num-heads", "2", "--vocab",
         "64", "--batch", "2", "--threads", "1"]
TINY = [*MODEL, "--context", "16"]


class Plan(ProgramTest):
    def plan(self, *words) -> dict:
        done = self.laptime("plan", *words, "--output", "json")
        self.assert_ok(done)
        return json.loads(done.stdout)[0]

    def rows(self, *words) -> list[dict]:
        return self.plan(*words)["tables"]["plan"]

    def test_plan_and_bench_predict_the_same_time_and_peak(self):
        words = ["--model", "small", "--device", "roofline:h100", "--pass", "forward,step"]
        done = self.bench(*words, "--warmup", "0", "--steps", "1", "--output", "json")
        self.assert_ok(done)
        measured = json.loads(done.stdout)
        for row, record in zip(self.rows(*words, "--store", "none"), measured, strict=True):
            self.assertEqual(row["point"], record["name"])
            self.assertAlmostEqual(row["predicted_s"], record["time"][record["config"]["pass"]]["median"], delta=1e-12)
            self.assertEqual(row["peak_bytes"], record["memory"]["predicted_peak_bytes"])
            self.assertEqual((row["fits"], row["basis"]), ("yes", "reached rates"))

    def test_row_of_an_oversized_point_states_sizes_that_fit(self):
        words = ["--model", "small", "--num-layers", "4", "--device", "roofline:l4", "--memory-limit", "3.5GiB", "--store",
                 "none", "--recompute", "none"]
        sizes = {"--batch": "8", "--context": "1024"}
        given = lambda options: [word for pair in options.items() for word in pair]
        row = self.rows(*words, *given(sizes), "--largest")[0]
        self.assertRegex(row["fits"], r"^[\d.]+ GiB too much$")
        self.assertNotIn(row["fitting_recompute"], (None, "none", "nothing fits"))
        for key, option in (("largest_batch", "--batch"), ("largest_context", "--context")):
            fits, next_one = (self.rows(*words, *given(sizes | {option: str(row[key] + more)}))[0]["fits"]
                              for more in (0, 1))
            self.assertEqual(fits, "yes", key)
            self.assertNotEqual(next_one, "yes", key)

    def test_largest_context_does_not_exceed_that_of_the_model(self):
        for model, longest in ((["--model", "gpt2", "--num-layers", "1", "--batch", "1"], 1024),
                               ([*MODEL, "--edition", "llama", "--max-context", "24", "--context", "8"], 24)):
            row = self.rows(*model, "--device", "h100", "--mode", "compile", "--store", "none")[0]
            self.assertEqual(row["largest_context"], longest)

    def test_launch_bound_context_does_not_exceed_that_of_the_model(self):
        def below(longest: int) -> int | None:
            report = self.plan(*MODEL, "--edition", "llama", "--context", "8", "--max-context", str(longest), "--device",
                               "h100", "--store", "none")
            (launches,) = [one for one in report["findings"] if one["kind"] == "launch_bound"]
            return launches["below_context"]

        least = below(65536)
        self.assertTrue(1 << 10 < least < 1 << 11, least)
        self.assertEqual(below(least), least)  # a search must not try longer contexts
        self.assertIsNone(below(least - 1))
        self.assertIsNone(below(24))

    def test_first_line_counts_the_points_that_fit(self):
        words = ["plan", "--model", "small,medium", "--pass", "inference,step", "--device", "h100", "--store", "none"]
        first = lambda *more: self.laptime(*words, *more).stdout.splitlines()[0]
        self.assertEqual(first("--grid"), "all 4 points fit into 76.0 GiB (95 % of 80.0 GiB)")
        self.assertRegex(first("--grid", "--memory-limit", "4GiB"), r"^\d of 4 points fit into 4.00 GiB \(--memory-limit\); not: ")

    def test_grid_shows_only_the_table_of_peaks_by_pass(self):
        words = ["--model", "small,medium", "--pass", "inference,step", "--device", "h100", "--store", "none"]
        whole, grid = self.plan(*words), self.plan(*words, "--grid")
        self.assertEqual(list(grid["tables"]), ["peaks_by_pass"])
        self.assertEqual(grid["tables"]["peaks_by_pass"], whole["tables"]["peaks_by_pass"])
        single = self.plan("--model", "small,medium", "--device", "h100", "--store", "none", "--grid")
        self.assertEqual(list(single["tables"]), ["plan"])  # a grid needs more than one pass

    def test_answer_for_one_point_is_short(self):
        words = ["plan", "--model", "small", "--num-layers", "2", "--device", "h100", "--store", "none"]
        lines = self.lines_at(80, *words)
        self.assertLess(len(lines), 12, lines)
        self.assertRegex(lines[0], r"^fits: [\d.]+ [MG]iB of 76.0 GiB \(95 % of 80.0 GiB\); ")
        text = " ".join(" ".join(lines).split())
        self.assertRegex(text, r"per step \([\d.]+ m?s to [\d.]+ m?s\) [\d,]+ tokens/s 1B tokens: .* \(.* to .*\)")
        self.assertRegex(text, r"from \d+ measured times, median error [\d.]+ %")
        self.assertRegex(text, r"largest batch [\d,]+, largest context [\d,]+")
        self.assertLess(sum(line.startswith("!") for line in lines), 2)
        self.assertGreater(len(self.lines_at(80, *words, "--view", "all")), 60)
        self.assertGreater(len(self.plan(*words[1:])["tables"]), 5)  # JSON has all tables

    def test_training_time_is_proportional_to_tokens(self):
        words = ["--model", "small", "--device", "h100", "--store", "none"]
        training = lambda *more: next(one for one in self.plan(*words, *more)["findings"] if one["kind"] == "training_time")
        self.assertAlmostEqual(training("--tokens", "3e11")["time_s"] / training()["time_s"], 300, delta=1e-3)

    def test_suggested_recompute_value_is_a_valid_option(self):
        words = ["--model", "small", "--num-layers", "4", "--device", "roofline:l4", "--store", "none", "--memory-limit",
                 "1GiB"]
        row = self.rows(*words, "--recompute", "none")[0]
        value, _, choice = row["fitting_recompute"].partition(" ")
        self.assertEqual(self.rows(*words, "--recompute", value)[0]["fits"], "yes", row)
        self.assertEqual(value == "auto", choice != "", row)

    def test_suggests_compile_mode_if_it_is_better(self):
        words = ["--model", "small", "--num-layers", "2", "--device", "roofline:l4", "--store", "none"]
        row, compiled = self.rows(*words)[0], self.rows(*words, "--mode", "compile")[0]
        self.assertEqual((row["compile_s"], row["compile_peak_bytes"]), (compiled["predicted_s"], compiled["peak_bytes"]))
        self.assertIsNone(compiled["compile_s"])
        self.assertEqual(row["batch"], 4)
        for both in self.rows(*words, "--mode", "eager,compile"):
            self.assertIsNone(both["compile_s"])

    def test_predicts_no_time_without_measurements(self):
        row = self.rows(*TINY, "--store", "none")[0]
        self.assertIsNone(row["predicted_s"])
        self.assertIn("laptime calibrate", row["basis"])
        self.assertGreater(row["peak_bytes"], 0)

    def test_calibrated_launches_predict_a_step(self):
        store = self.folder / "store.sqlite"
        done = self.laptime("calibrate", *MODEL, "--dtype", "float32", "--context", "16,32",
                            "--store", store, "--output", "json")
        self.assert_ok(done)
        kinds = json.loads(done.stdout)[0]["tables"]["launch_costs"]
        self.assertTrue(any(row["kind"] == "matmul float32,float32" for row in kinds))
        report = self.plan(*TINY, "--mode", "compile", "--store", store)
        row = report["tables"]["plan"][0]
        self.assertIn("100 % of the time from launches of the same shapes", row["basis"])
        phases = {line["phase"]: line["total_s"] for line in report["tables"]["phases"]}
        self.assertAlmostEqual(phases["step"], row["predicted_s"], delta=1e-6)
        self.assertAlmostEqual(row["forward_s"] + row["backward_s"] + row["optimizer_s"], row["predicted_s"], delta=1e-9)
        other = self.rows(*MODEL, "--context", "24", "--mode", "compile", "--store", store)[0]
        self.assertRegex(other["basis"], r"measured launches, \d+ % of the time from launches of the same shapes")
        self.assertGreater(other["predicted_s"], 0)
        done = self.laptime("bench", *TINY, "--mode", "compile", "--warmup", "1", "--steps", "2", "--store", store,
                            "--output", "json")
        self.assert_ok(done)
        prediction = json.loads(done.stdout)[0]["prediction"]
        self.assertEqual(prediction["measured_share"], 1)
        self.check_that_the_calibration_is_shown_only_on_request(store)

    def check_that_the_calibration_is_shown_only_on_request(self, store):
        """Adds a calibration to a store whose last run is a bench. Only an explicit request shows the calibration."""
        self.assert_ok(self.laptime("calibrate", *TINY, "--dtype", "float32", "--mode", "eager", "--store", store))
        lines = lambda *words: self.laptime(*words, "--store", store).stdout.splitlines()
        sweeps = lambda *words: lines("show", *words, "--columns", "sweep", "--output", "csv")[1:]
        calibration = "sweep = 'laptime calibrate'"
        self.assertGreater(len(sweeps()), 2)
        self.assertEqual(sweeps("--last"), [""])
        self.assert_ok(self.laptime("calibrate", *TINY, "--dtype", "float32", "--mode", "eager", "--resume", "--store", store))
        self.assertEqual(sweeps("--last"), [""])
        self.assertGreater(len(sweeps("--last", calibration)), 0)
        self.assertEqual(len(lines("export", "jsonl")), 1)
        self.assertEqual(len(lines("export", "jsonl", calibration)), len(sweeps()) - 1)
        self.assert_ok(self.laptime("report", "--html", "page.html", "--store", store))
        self.assertEqual(len(self.page_of(self.folder / "page.html")["points"]), 1)

    def test_reads_a_machine_from_a_file(self):
        machine = self.folder / "mine.toml"
        figures = {"title": '"mine"', "source": '"a note"', "memory": '"8GiB"', "bandwidth": "100e9", "launch": "1e-6",
                   "float32": "1e12"}
        machine.write_text("".join(f"{key} = {value}\n" for key, value in figures.items()))
        for device in (f"roofline:{machine}", str(machine)):
            row = self.rows(*TINY, "--store", "none", "--device", device)[0]
            self.assertEqual((row["basis"], row["fits"]), ("data sheet", "yes"))
            self.assertGreater(row["predicted_s"], 0)
        machine.write_text("speed = 1\n")
        done = self.laptime("plan", *TINY, "--store", "none", "--device", f"roofline:{machine}")
        self.assertEqual(done.returncode, 2, done.stdout)
        self.assertIn("mine.toml:1: unknown key 'speed'", done.stderr)

    def test_predicts_other_programs_for_described_machines(self):
        words = ["--model", "small", "--num-layers", "2", "--device", "h100", "--store", "none"]
        seconds = {}
        for program in ("laptime", "pytorch-eager", "pytorch-compile"):
            findings = self.plan(*words, "--as", program)["findings"]
            time = next(one for one in findings if one["kind"] == "predicted_time")
            figures = next(one for one in findings if one["kind"] == "measured_times")
            seconds[program] = time["time_s"]
            self.assertEqual((time["basis"], time["is_bound"]), ("reached rates", False))
            self.assertLess(time["low_s"], time["high_s"])
            self.assertGreater(figures["times"], 0)
        self.assertLess(seconds["laptime"], seconds["pytorch-eager"])
        self.assertLess(seconds["pytorch-compile"], seconds["pytorch-eager"])
        done = self.laptime("plan", *TINY, "--store", "none", "--device", "cpu", "--as", "pytorch-eager")
        self.assertEqual(done.returncode, 2, done.stdout)
        self.assertIn("--as pytorch-eager: predictions for other programs need a described machine", done.stderr)

    def test_memory_of_other_programs_is_that_of_one_rank(self):
        words = ["--model", "small", "--context", "512", "--batch", "4", "--dtype", "bfloat16", "--device", "h100", "--store", "none"]
        for program in ("megatron", "pytorch-compile", "pytorch-eager"):
            for more in ([], ["--micro-batches", "2"], ["--recompute", "block"], ["--keep", "scaled_dot_product_attention"],
                         ["--recompute", "block", "--memory-limit", "2GiB"], ["--memory-limit", "9GiB"]):
                with self.subTest(program=program, more=more):
                    own = self.plan(*words, *more, "--as", program)["tables"]["plan"][0]
                    alone = self.plan(*words, *more, "--as", program, "--ranks", "1")["tables"]["parallel"][0]
                    self.assertAlmostEqual(own["peak_bytes"], alone["peak_bytes"], delta=1)
                    self.assertEqual(own["fits"] == "yes", alone["fits"] == "yes")

    def test_other_programs_recompute_blocks_if_a_step_does_not_fit_otherwise(self):
        words = ["--model", "small", "--batch", "16", "--dtype", "bfloat16", "--device", "h100", "--store", "none"]
        for program in ("megatron", "pytorch-compile"):
            rows = lambda *more: self.rows(*words, *more, "--as", program)[0]
            kept, blocks = (rows("--recompute", value) for value in ("none", "block"))
            self.assertLess(kept["predicted_s"], blocks["predicted_s"])
            between = str((kept["peak_bytes"] + blocks["peak_bytes"]) // 2)
            for more, expected in ((["--recompute", "auto"], kept), (["--memory-limit", between], blocks)):
                with self.subTest(program=program, more=more):
                    auto = rows(*more)
                    self.assertEqual(auto["fits"], "yes")
                    for key in ("predicted_s", "peak_bytes"):
                        self.assertEqual(auto[key], expected[key])
            done = self.laptime("plan", *words, "--as", program, "--memory-limit", between)
            self.assertIn("recompute: block", done.stdout)

    def test_commands_agree_on_the_memory_of_other_programs(self):
        words = ["--model", "small", "--num-layers", "2", "--device", "h100", "--as", "megatron", "--store", "none"]
        for more in ([], ["--memory-limit", "1GiB"], ["--memory-limit", "200MiB"]):
            tables = self.plan(*words, *more)["tables"]
            peak = tables["plan"][0]["peak_bytes"]
            parts = {row["part"]: row["bytes"] for row in tables["memory"]}
            self.assertEqual(parts.pop("peak"), peak)
            self.assertAlmostEqual(sum(parts.values()), peak, delta=len(parts))
            memory = json.loads(self.laptime("explain", *words, *more, "--output", "json").stdout)[0]["memory"]
            self.assertEqual(memory["predicted_peak_bytes"], peak)
            self.assertEqual(not memory["does_not_fit"], tables["plan"][0]["fits"] == "yes")
        self.assertIn("at the peak", self.laptime("plan", *words, "--view", "memory").stdout)
        inference = self.laptime("explain", *words, "--pass", "inference", "--output", "json")
        self.assertIsNone(json.loads(inference.stdout)[0]["memory"])

    def test_fused_launches_of_other_programs_are_not_listed(self):
        words = ["--model", "small", "--num-layers", "2", "--device", "h100", "--as", "megatron", "--store", "none"]
        kernels = self.plan(*words)["tables"]["kernels"]
        self.assertIn("softmax", str(kernels))
        for row in kernels:
            self.assertGreater(row["total_s"], 0, row)

    def test_largest_sizes_of_other_programs_fit_on_one_rank(self):
        words = ["--model", "small", "--dtype", "bfloat16", "--device", "h100", "--as", "megatron", "--store", "none"]
        batch = self.plan(*words)["tables"]["plan"][0]["largest_batch"]
        for size, fits in ((batch, True), (batch + 1, False)):
            row = self.plan(*words, "--batch", str(size), "--ranks", "1")["tables"]["parallel"][0]
            self.assertEqual(row["fits"] == "yes", fits)

    def test_interrupt_keeps_the_planned_rows(self):
        models = "small,medium,large,xl,2.7B"
        rows_of = lambda table: lambda out: json.loads(out)[0]["tables"][table]
        for words, rows in ((["plan", "--largest"], rows_of("plan")), (["memory"], rows_of("peaks")),
                            (["explain"], json.loads)):
            for seconds in (0.3, 0.6, 1.2, 2.4, 5, 10, 20):
                process = self.start(*words, "--model", models, "--context", "256,512,1024", "--device", "h100", "--store",
                                     "none", "--output", "json")
                time.sleep(seconds)
                process.send_signal(signal.SIGINT)
                out, err = process.communicate(timeout=120)
                if process.returncode == -signal.SIGINT:
                    continue  # the plan had not started yet
                self.assertEqual(process.returncode, 130, err)
                planned = int(re.search(r"interrupted: (\d+) of 15 points planned", err)[1])
                if planned == 0:
                    self.assertEqual(out, "")
                    continue
                self.assertEqual(len(rows(out)), planned)
                break
            else:
                self.fail(f"{words}: no row was planned")

    def test_plan_and_memory_state_the_same_limit(self):
        words = ["--model", "small", "--device", "h100", "--batch", "512", "--context", "1024", "--recompute", "none",
                 "--store", "none"]
        for limit, usable in (([], "76.0 GiB (95 % of 80.0 GiB)"), (["--memory-limit", "3GiB"], "3.00 GiB (--memory-limit)")):
            for command in ("plan", "memory"):
                with self.subTest(command=command, limit=limit):
                    done = self.laptime(command, *words, *limit)
                    self.assert_ok(done)
                    self.assertIn(usable, " ".join(done.stdout.split()))
            report = self.laptime("bench", *words, *limit, "--output", "json")
            record = json.loads(report.stdout)[0]
            fit = self.plan(*words, *limit)["findings"][0]
            self.assertEqual(fit["missing_bytes"], record["bytes_requested"] - record["bytes_available"])

    def test_rejects_bad_input(self):
        for words, text in ((["plan", "--resume"], "--resume"), (["plan", "--recompute-curve", "--view", "layers"], "--view"), (["plan", "--view", "kernel"], "kernels"),
                            (["plan", "x"], "x"), (["calibrate", "--store", "none"], "--store")):
            with self.subTest(words=words):
                done = self.laptime(*words)
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertIn(text, done.stderr)

    def test_recompute_curve_lists_plans_with_smaller_peaks(self):
        words = ["plan", *TINY, "--device", "h100", "--recompute-curve", "--store", "none"]
        done = self.laptime(*words, "--output", "json")
        self.assert_ok(done)
        peaks = [row["peak_bytes"] for row in json.loads(done.stdout)[0]["tables"]["plan"]]
        self.assertGreater(len(peaks), 6)
        self.assertEqual(peaks[0], max(peaks))
        self.assertLess(min(peaks), peaks[0])
        self.assert_ok(self.laptime(*words))
        done = self.laptime(*words, "--mode", "eager,compile")
        self.assertEqual(done.returncode, 2, done.stdout)
        self.assertIn("needs a single point", done.stderr)
