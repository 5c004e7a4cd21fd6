"""laptime plan for several ranks and for published figures: values are consistent, and invalid input is rejected."""

import csv
import io
import json
from pathlib import Path

from program import ProgramTest

ROOT = Path(__file__).resolve().parent.parent.parent
CLUSTERS = str(ROOT / "published/clusters.csv")
MODEL = ["--model", "Llama-3.1-8B", "--context", "4096", "--batch", "64", "--dtype", "bfloat16", "--as", "megatron", "--store",
         "none"]
ON_H100 = [*MODEL, "--device", "h100"]


class ParallelPlan(ProgramTest):
    def tables(self, *words) -> dict:
        done = self.laptime("plan", *words, "--output", "json")
        self.assert_ok(done)
        return json.loads(done.stdout)[0]["tables"]

    def test_rows_are_sorted_and_state_what_fits(self):
        rows = self.tables(*ON_H100, "--ranks", "8,64", "--shard", "none,parameters", "--recompute", "block")["parallel"]
        self.assertEqual(len(rows), 4)
        fitting = [row["step_s"] for row in rows if row["fits"] == "yes"]
        self.assertGreater(len(fitting), 0)
        self.assertEqual(fitting, sorted(fitting))
        for row in rows:
            parts = [row[f"{part}_bytes"] for part in ("parameters", "gradients", "optimizer", "gathered", "activations", "loss",
                                                       "framework")]
            self.assertAlmostEqual(sum(parts), row["peak_bytes"], delta=10)
        self.assertTrue(any(row["fits"].endswith(" too much") and "--shard" in row["remedy"] for row in rows))

    def test_rows_name_the_point_if_there_are_several(self):
        words = ["--model", "small", "--batch", "8", "--ranks", "8", "--dtype", "float32,bfloat16", "--store", "none"]
        rows = self.tables(*words, "--device", "h100,b200")["parallel"]
        self.assertEqual({(row["point"], row["device"]) for row in rows},
                         {(dtype, device) for dtype in ("float32", "bfloat16") for device in ("h100", "b200")})
        self.assertRegex(self.laptime("plan", *words, "--device", "h100,b200").stdout, r"^fastest that fits: \w+: 8 \w+ --shard ")
        self.assertNotIn("point", self.tables(*ON_H100, "--ranks", "8")["parallel"][0])

    def test_point_that_cannot_run_is_not_predicted(self):
        words = ["--model", "small", "--edition", "llama", "--max-context", "200", "--context", "128,300", "--batch", "8",
                 "--ranks", "8", "--device", "h100", "--store", "none"]
        for more in ([], ["--best"]):
            rows = {row["point"]: row for row in self.tables(*words, *more)["parallel"]}
            self.assertEqual(rows["ctx 128"]["fits"], "yes")
            self.assertIsNone(rows["ctx 300"]["step_s"])
            self.assertIn("longer than the sliding window of 200", rows["ctx 300"]["fits"])
        self.assertIn("ctx 300: 8 h100, ", self.laptime("plan", *words).stdout)

    def test_cost_is_time_times_price(self):
        prices = self.folder / "prices.toml"
        prices.write_text("h100 = 2.0\n")
        row = self.tables(*ON_H100, "--ranks", "8", "--shard", "parameters", "--tokens", "1B", "--price-file", str(prices))["parallel"][0]
        steps = -(-10**9 // (64 * 4096))
        self.assertAlmostEqual(row["training_s"], steps * row["step_s"], places=6)
        self.assertAlmostEqual(row["cost"], steps * row["step_s"] / 3600 * 8 * 2, places=6)

    def test_sorting_by_cost_needs_each_price(self):
        prices = self.folder / "prices.toml"
        prices.write_text("h100 = 2.0\n")
        words = ["plan", "--model", "small", "--store", "none", "--ranks", "1", "--by", "cost", "--price-file", str(prices), "--device"]
        self.assertIn("cheapest that fits: 1 h100", self.laptime(*words, "h100").stdout)
        done = self.laptime(*words, "h100,b200,a100")
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn(f"'{prices}' has no price for a100, b200; add a line for each, such as a100 = 2.5", done.stderr)

    def test_rejects_one_price_for_two_machine_files(self):
        (self.folder / "a").mkdir()
        files = ["roofline:a/my.gpu.toml", "roofline:my.gpu.toml"]
        for file in files:
            (self.folder / file.removeprefix("roofline:")).write_text((ROOT / "machines/h100.toml").read_text())
        (self.folder / "prices.toml").write_text('"my.gpu" = 2.0\n')
        words = ["--model", "small", "--store", "none", "--ranks", "1", "--price-file", "prices.toml", "--device"]
        self.assertGreater(self.tables(*words, files[0])["parallel"][0]["cost"], 0)
        done = self.laptime("plan", *words, ",".join(files))
        self.assertEqual(done.returncode, 2, done.stderr)
        for file in files:
            self.assertIn(file, done.stderr)

    def test_best_names_the_fastest_and_the_next_three(self):
        done = self.laptime("plan", *ON_H100, "--ranks", "8", "--best")
        self.assert_ok(done)
        self.assertRegex(done.stdout.splitlines()[0], r"^fastest that fits: 8 h100 --shard \w+")
        self.assertEqual(len(self.tables(*ON_H100, "--ranks", "8", "--best")["next"]), 3)

    def test_best_without_links_is_unsupported(self):
        words = ["plan", *MODEL, "--device", "rtx4090", "--best", "--ranks"]
        for ranks in ("8", "8,16"):
            done = self.laptime(*words, ranks)
            self.assertEqual(done.returncode, 1, done.stdout)
            self.assertEqual(done.stdout.count("no layout can be predicted: rtx4090: the machine file describes no links"), 1,
                             done.stdout)
            answers = json.loads(self.laptime(*words, ranks, "--output", "json").stdout)
            self.assertEqual([one["status"] for one in answers], ["unsupported"])
            self.assertIn("link", answers[0]["reason"])

    def test_best_compares_devices_by_cost(self):
        prices = self.folder / "prices.toml"
        prices.write_text("h100 = 2.0\nb200 = 20.0\n")
        words = ["plan", "--model", "small", "--batch", "8", "--device", "b200,h100", "--ranks", "2", "--store", "none", "--best",
                 "--price-file", str(prices), "--output", "json"]
        for by, devices in (("time", ["b200", "h100"]), ("cost", ["h100", "b200"])):
            done = self.laptime(*words, "--by", by)
            self.assert_ok(done)
            compared, *searches = json.loads(done.stdout)
            rows = compared["tables"]["parallel"]
            self.assertEqual([row["device"] for row in rows], devices)
            self.assertEqual({row["device"]: row for row in rows},
                             {one["tables"]["parallel"][0]["device"]: one["tables"]["parallel"][0] for one in searches})
            self.assertEqual(len(searches), 2)
        done = self.laptime("plan", *ON_H100, "--ranks", "8", "--best", "--by", "cost", "--price-file", str(prices))
        self.assertTrue(done.stdout.startswith("cheapest that fits: 8 h100 "), done.stdout)

    def test_rejects_invalid_input(self):
        for words, message in ((["--ranks", "8", "--best", "--device", "cpu"], "--best needs a described machine, such as --device h100"),
                               (["--ranks", "8", "--by", "cost"], "--by needs a described machine, such as --device h100"),
                               (["--ranks", "eight", "--device", "h100"], "--ranks"),
                               (["--ranks", "2", "--device", "h100,cpu"], "--device cpu: with --ranks"),
                               (["--best", "--device", "h100"], "--best needs --ranks: the option applies to several GPUs"),
                               (["--by", "cost", "--device", "h100"], "--by needs --ranks"),
                               (["--ranks", "8", "--by", "cost", "--device", "h100"], "--by cost needs --price-file"),
                               (["--ranks", "8", "--shard", "all", "--device", "h100"], "--shard"),
                               (["--ranks", "8", "--pass", "inference", "--device", "h100"], "--pass inference"),
                               (["--ranks", "8", "--accumulate", "--device", "h100"], "--ranks excludes --accumulate"),
                               (["--ranks", "8", "--epochs", "1", "--device", "h100"], "--epochs needs --data"),
                               (["--ranks", "8", "--tokens", "1B", "--price", "2", "--device", "h100"], "--price-file"),
                               (["--device", "h100", "--ranks", "8", "--largest"], "--ranks excludes --largest"),
                               (["--device", "h100", "--ranks", "8", "--oversubscribe"], "--ranks excludes --oversubscribe"),
                               (["--device", "h100", "--ranks", "8", "--delay", "matmul=10ms"], "--ranks excludes --delay"),
                               (["--device", "h100", "--ranks", "8", "--optimizer-in-backward"], "--ranks excludes --optimizer"),
                               (["--published", "no.csv"], "leave out --model"),
                               (["--pass", "inference", "--tokens", "1B", "--device", "h100"], "--pass step"),
                               (["--pass", "inference", "--epochs", "2", "--device", "h100"], "--pass step")):
            with self.subTest(words):
                done = self.laptime("plan", *MODEL, *words)
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertIn(message, done.stderr)

    def test_published_rejects_options_that_describe_points(self):
        for words in (["--tokens", "1B"], ["--largest"], ["--by", "cost"], ["--as", "megatron"], ["--grid"]):
            done = self.laptime("plan", "--published", CLUSTERS, *words)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(f"--published excludes {words[0]}", done.stderr)
        self.assertIn("no --view layers", self.laptime("plan", "--published", CLUSTERS, "--view", "layers").stderr)

    def test_best_rejects_options_that_it_searches_over(self):
        for option, value in (("--shard", "parameters"), ("--tensor-parallel", "2"), ("--pipeline-parallel", "2"),
                              ("--micro-batches", "2"), ("--recompute", "block")):
            with self.subTest(option):
                done = self.laptime("plan", *ON_H100, "--ranks", "8", "--best", option, value)
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertIn(f"--best excludes {option}", done.stderr)

    def test_best_obeys_the_memory_limit(self):
        row = self.tables(*ON_H100, "--ranks", "8", "--memory-limit", "40GiB", "--best")["parallel"][0]
        self.assertEqual(row["fits"], "yes")
        self.assertLessEqual(row["peak_bytes"], 40 * 2**30)
        self.assertEqual(len(self.tables(*ON_H100, "--ranks", "8", "--memory-limit", "40GiB")["parallel"]), 1)

    def test_reads_a_machine_with_links_from_a_file(self):
        own = self.folder / "mine.toml"
        own.write_text((ROOT / "machines/h100.toml").read_text())
        prices = self.folder / "prices.toml"
        prices.write_text("mine = 1.0\nh100 = 2.0\n")
        words = ["--model", "small", "--batch", "8", "--ranks", "2", "--store", "none", "--by", "cost", "--price-file", str(prices)]
        mine, known = self.tables(*words, "--device", f"h100,roofline:{own}")["parallel"]
        self.assertEqual((mine["device"], known["device"]), (str(own), "h100"))
        self.assertEqual(mine["step_s"], known["step_s"])
        self.assertAlmostEqual(mine["cost"], known["cost"] / 2)

    def test_epochs_are_passes_over_the_data(self):
        data = self.folder / "tokens.bin"
        data.write_bytes(bytes(2 * 3000))
        words = ["--model", "small", "--batch", "8", "--device", "h100", "--ranks", "2", "--store", "none", "--data", str(data),
                 "--data-format", "uint16"]
        row = self.tables(*words, "--epochs", "4")["parallel"][0]
        self.assertAlmostEqual(row["training_s"], -(-4 * 3000 // (8 * 256)) * row["step_s"], places=9)

    def test_plan_sweeps_tensor_and_pipeline_ranks_but_bench_rejects_them(self):
        sweep = self.folder / "sweep.toml"
        sweep.write_text("ranks = 8\ntensor-parallel = [1, 2]\npipeline-parallel = [1, 2]\n")
        rows = self.tables(*ON_H100, "--config", str(sweep))["parallel"]
        self.assertEqual(len(rows), 4)
        for option in ("--tensor-parallel", "--pipeline-parallel"):
            done = self.laptime("bench", "--model", "small", "--ranks", "2", option, "2", "--store", "none")
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(f"{option} 2: a measured step divides only its batch among ranks", done.stderr)
    def test_rejects_unreadable_tables(self):
        wrong = self.folder / "wrong.csv"
        wrong.write_text("id,value\na,1\n")
        for path, message in (("no.csv", "no.csv"), (str(wrong), "wrong.csv:1: the column 'source' is missing")):
            done = self.laptime("plan", "--published", path)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(message, done.stderr)

    def test_predicts_times_of_recorded_runs(self):
        rows = self.tables("--published", str(ROOT / "docs/records/h200.jsonl"))["published"]
        self.assertEqual({row["quantity"] for row in rows}, {"step_time_s"})
        self.assertLess(abs(rows[0]["error"]), 0.2)
    def test_every_published_figure_has_a_prediction_or_a_reason(self):
        done = self.laptime("plan", "--published", CLUSTERS)
        self.assert_ok(done)
        self.assertRegex(done.stdout.splitlines()[0], r"^\d+ of \d+ figures predicted: median error [\d.]+ %, 90 % within ")
        tables = self.tables("--published", CLUSTERS)
        with open(CLUSTERS, newline="") as file:
            rows = list(csv.DictReader(file))
        self.assertEqual(len(rows), len(tables["published"]) + len(tables["flagged"]))
        errors = sorted(abs(row["error"]) for row in tables["published"] if row["predicted"] is not None)
        self.assertGreater(len(errors), 0.9 * len(tables["published"]))
        self.assertLess(errors[len(errors) // 2], 0.08)
        peaks = sorted(abs(row["error"]) for row in tables["published"] if row["quantity"] == "peak_memory_gib" and row["predicted"])
        self.assertGreater(len(peaks), 50)
        self.assertLess(peaks[len(peaks) // 2], 0.05)
        for row in tables["published"]:
            self.assertNotEqual(row["predicted"] is None, row["reason"] is None, row["id"])

    def test_published_reads_times_of_single_gpus(self):
        done = self.laptime("plan", "--published", str(ROOT / "published/figures.csv"), "--output", "csv")
        self.assert_ok(done)
        rows = list(csv.DictReader(io.StringIO(done.stdout)))
        self.assertGreater(len(rows), 300)
        self.assertTrue(all(row["quantity"].endswith("_time_s") for row in rows))
