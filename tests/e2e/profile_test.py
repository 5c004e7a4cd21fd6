"""laptime profile: its tables add up, its records are stored and resumed, and invalid input is rejected."""

import json

from program import ProgramTest

TINY = ["--model", "custom", "--d-model", "32", "--d-ff", "64", "--num-layers", "2", "--num-heads", "2", "--vocab",
        "64", "--context", "16", "--batch", "2", "--threads", "1"]
QUICK = ["--warmup", "1", "--steps", "2", "--traced-steps", "2"]


def total(table: list, key: str = "total_s") -> float:
    return sum(row[key] for row in table if row[key] is not None)


class Profile(ProgramTest):
    def profile(self, *words) -> list[dict]:
        done = self.laptime("profile", *TINY, *QUICK, "--output", "json", *words)
        self.assert_ok(done)
        return json.loads(done.stdout)

    def test_views_add_up_to_the_step(self):
        for words in ([], ["--edition", "2024", "--dtype", "bfloat16"], ["--edition", "gpt2", "--mode", "compile"],
                      ["--pass", "inference"], ["--recompute", "block", "--mode", "compile"]):
            with self.subTest(words=words):
                for view in ("kernels", "ops", "classes"):
                    tables = self.profile("--store", "none", "--view", view, *words)[0]["tables"]
                    phases = tables["phases"]
                    step = phases[-1]["total_s"]
                    self.assertEqual(phases[-1]["phase"], "step")
                    self.assertAlmostEqual(sum(row["total_s"] for row in phases[:-1]), step, delta=1e-9)
                    launches = sum(row["total_s"] for row in phases[:-2])
                    self.assertAlmostEqual(total(tables[view]), launches, delta=1e-9)

    def test_filter_selects_launches(self):
        tables = self.profile("op = matmul and phase = forward", "--store", "none", "--view", "ops")[0]["tables"]
        self.assertEqual([(row["phase"], row["op"]) for row in tables["ops"]], [("forward", "matmul")])

    def test_empty_selection_lists_the_values_that_exist(self):
        words = ["class = matmull", "--phase", "backward", "--store", "none"]
        (point,) = self.profile(*words)
        self.assertEqual(list(point["tables"]), ["phases"])
        first = self.laptime("profile", *TINY, *QUICK, *words).stdout.splitlines()[0]
        self.assertRegex(first, r"^no launch matches 'phase = backward and \(class = matmull\)'; "
                         r"values of class here: .*matmul.*; values of phase here: forward, backward, optimizer$")

    def test_profiles_the_attention_model_and_layers(self):
        done = self.laptime("profile", "--model", "attention", "--d-model", "16", "--context", "32", "--batch", "2",
                            *QUICK, "--store", "none", "--view", "attention")
        self.assert_ok(done)
        self.assertIn("computing softmax", done.stdout)
        layers = self.profile("--store", "none", "--view", "layers")[0]["tables"]["layers"]
        self.assertTrue(any(row["scope"] == "layers.*" and row["layer_count"] == 2 for row in layers))

    def test_compares_modes_side_by_side(self):
        def assert_adds_up(rows: list[dict]):
            for column in ("eager_s", "compile_s", "saved_s"):
                self.assertAlmostEqual(sum(row[column] or 0 for row in rows[:-1]), rows[-1][column], delta=1e-9)

        points = self.profile("--store", "none", "--compare-modes")
        self.assertEqual(len(points), 3)
        for rows in points[0]["tables"].values():  # the comparison comes first
            assert_adds_up(rows)
            for row in rows:
                if row["part"] != "residue":  # the residue may be rounded to zero
                    self.assertEqual(row["speedup"] is None, row["eager_s"] is None or row["compile_s"] is None, row)
                self.assertIsNone(row["speedup_low"])  # two traced steps are too few for an interval
        done = self.laptime("profile", *TINY, "--warmup", "1", "--steps", "2", "--traced-steps", "8", "--output", "json",
                            "--store", "none", "--compare-modes")
        self.assert_ok(done)
        compared, *profiles = json.loads(done.stdout)
        table = compared["tables"]["compared_classes"]
        assert_adds_up(table)
        step = table[-1]
        for column, profile in zip(("eager_s", "compile_s"), profiles, strict=True):
            self.assertAlmostEqual(step[column], profile["tables"]["phases"][-1]["total_s"], delta=1e-9)
        self.assertGreater(step["speedup_low"], 0)
        # With few steps, the ratio may lie outside the interval.
        self.assertLessEqual(step["speedup_low"], step["speedup_high"])

    def test_comparison_obeys_phase_and_top(self):
        done = self.laptime("profile", *TINY, *QUICK, "--store", "none", "--output", "json", "--compare-dtypes", "--phase",
                            "backward", "--top", "3")
        self.assert_ok(done)
        for table in json.loads(done.stdout)[1]["tables"].values():
            *parts, step = (row["part"] for row in table)
            self.assertEqual(step, "step")
            self.assertTrue(0 < len(parts) <= 3 and all(part.startswith("backward") for part in parts), parts)

    def test_comparison_of_passes_precedes_the_single_passes(self):
        points = self.profile("--store", "none", "--pass", "inference,step")
        self.assertEqual([point["name"].split("/")[0] for point in points], ["passes side by side", "inference", "step"])
        self.assertIn("class_shares", points[0]["tables"])
        tops = {finding["subject"]: finding for finding in points[0]["findings"]}
        self.assertEqual(set(tops), {"inference", "step"})
        self.assertGreater(tops["step"]["products_calls"], tops["inference"]["products_calls"])
        self.assertEqual(points[1]["findings"][0]["subject"], "forward pass")
        self.assertIn(points[1]["findings"][0]["trust"], ("measured", "rough"))

    def test_every_predicted_row_has_a_roofline_bound(self):
        words = ["profile", "--model", "small", "--num-layers", "2", "--batch", "2", "--device", "h100", "--store", "s.sqlite",
                 "--resume", "--top", "0"]
        for dtype in ("float32", "bfloat16"):
            for view in ("kernels", "ops", "classes", "layers", "attention"):
                with self.subTest(dtype=dtype, view=view):
                    done = self.laptime(*words, "--context", "128", "--dtype", dtype, "--view", view, "--output",
                                        "json")
                    self.assert_ok(done)
                    (report,) = json.loads(done.stdout)
                    rows = report["tables"][view]
                    self.assertEqual({row["bound"] for row in rows} - {"compute", "memory"}, set())
                    for row in rows:
                        # Operands that fit in the cache may move at up to three times the memory bandwidth.
                        most = 3 if row["bound"] == "memory" else 1
                        self.assertTrue(0 < row["of_roofline"] <= most, row)
        (rates,) = (one for one in report["findings"] if one["kind"] == "rates")
        self.assertGreater(rates["peak_flops_per_second"], rates["bandwidth_bytes_per_second"])
        self.assertEqual(rates["trust"], "predicted")
        classes = self.laptime(*words, "--view", "classes", "--context", "1024", "--output", "json")
        bounds = {(row["phase"], row["class"]): row["bound"]
                  for row in json.loads(classes.stdout)[0]["tables"]["classes"]}
        self.assertEqual(bounds["forward", "matmul"], "compute")
        self.assertEqual(bounds["optimizer", "optimizer"], "memory")

    def test_output_is_short_and_starts_with_the_result(self):
        for words in ([], ["--pass", "forward"], ["--device", "h100"]):
            lines = self.lines_at(80, "profile", *TINY, *QUICK, "--store", "none", *words)
            self.assertLessEqual(len(lines), 16, lines)
            self.assertRegex(lines[0], r"^\d.* per (step|forward pass): \w+ \d+ %")
            self.assertLessEqual(sum(line.startswith("!") for line in lines), 1)
        lines = self.lines_at(80, "profile", *TINY, *QUICK, "--store", "none", "--view", "attention")
        self.assertRegex(lines[0], r"^softmax takes .* as long as the two products")

    def test_column_headers_work_in_filters_and_sort_keys(self):
        words = ["--store", "none", "--reproducible", "--view", "kernels"]  # both runs use the same kernels
        rows = self.profile("Class = matmul and Phase = backward", *words, "--sort", "Calls")[0]["tables"]["kernels"]
        self.assertTrue(rows)
        self.assertEqual([row["calls"] for row in rows], sorted((row["calls"] for row in rows), reverse=True))
        name = rows[0]["kernel"]
        chosen = self.profile(f"name = {name}", *words)[0]["tables"]["kernels"]
        self.assertEqual([row["kernel"] for row in chosen], [name])

    def test_compares_dtypes_side_by_side(self):
        sizes = [*TINY, *QUICK, "--seed", "1,2", "--store", "none", "--output", "json", "--compare-dtypes"]
        done = self.laptime("profile", *sizes, "--view", "kernels")
        self.assert_ok(done)
        points = json.loads(done.stdout)
        casts = points[0]["tables"]["casts"]
        self.assertEqual(len(casts), 2)
        for row in casts:
            self.assertGreater(row["cast_share"], 0)
        self.assertEqual([list(point["tables"]) for point in points[1:3]], [["compared_kernels"]] * 2)

    def test_splits_and_selects_phases(self):
        (point,) = self.profile("--store", "s.sqlite", "--view", "kernels", "--by", "phase")
        kernels = point["tables"]["kernels"]
        for phase in point["tables"]["phases"][:3]:
            of_phase = [row["total_s"] for row in kernels if row["phase"] == phase["phase"]]
            self.assertAlmostEqual(sum(of_phase), phase["total_s"], delta=1e-9)
        (point,) = self.profile("--store", "s.sqlite", "--resume", "--phase", "backward")
        self.assertLess(total(point["tables"]["kernels"]), total(kernels))

    def test_resumes_a_stored_profile(self):
        first = self.profile("--store", "s.sqlite")
        again = self.profile("--store", "s.sqlite", "--resume")
        self.assertEqual(first, again)
        self.assert_ok(self.laptime("bench", *TINY, "--warmup", "1", "--steps", "2", "--store", "t.sqlite"))
        fresh = self.profile("--store", "t.sqlite", "--resume")  # a record of bench has no trace
        self.assertIn("phases", fresh[0]["tables"])

    def test_resume_requires_enough_traced_steps(self):
        self.assert_ok(self.laptime("memory", "--run", *TINY, "--warmup", "1", "--steps", "2", "--store", "s.sqlite"))
        done = self.laptime("profile", *TINY, *QUICK, "--store", "s.sqlite", "--resume", "--verbose")  # `memory` traces one step
        self.assert_ok(done)
        self.assertIn("2 traced steps alternating with 2 untraced", done.stdout)
        fewer = self.laptime("profile", *TINY, "--warmup", "1", "--steps", "2", "--traced-steps", "1", "--store",
                             "s.sqlite", "--resume", "--verbose")
        self.assertEqual(fewer.stdout, done.stdout)

    def test_by_layer_has_a_row_for_each_layer(self):
        for words in (["--by", "layer"], ["layer = 1"]):
            rows = self.profile("--store", "none", "--view", "layers", *words)[0]["tables"]["layers"]
            scopes = [row["scope"] for row in rows]
            self.assertIn("layers.1", scopes)
            self.assertNotIn("layers.*", scopes)
            self.assertEqual("layers.0" in scopes, words == ["--by", "layer"])

    def test_a_point_without_enough_memory_has_a_row(self):
        done = self.laptime("profile", *TINY, *QUICK, "--store", "none", "--memory-limit", "4KiB", "--recompute",
                            "none")
        self.assert_ok(done)
        self.assertIn("out_of_memory: predicted", done.stdout)

    def test_rejects_invalid_input(self):
        for words, text in ((["--view", "kernel"], "kernels"), (["--traced-steps", "0"], "traced-steps"),
                            (["--sort", "nothing"], "nothing"), (["--compare-modes", "--mode", "eager"], "--mode"),
                            (["--top", "-1"], "--top"), (["--phase", "all,forward"], "--phase"), (["opp = matmul"], "did you mean 'op'"),
                            (["op ="], "expected a value"), (["--phase", "optimizer", "--pass", "forward"], "use --pass step"),
                            (["--phase", "backward", "--pass", "forward,inference"], "use --pass forward_backward"),
                            (["--view", "attention", "--by", "shape"], "--by shape does not apply to --view attention")):
            with self.subTest(words=words):
                done = self.laptime("profile", *TINY, *QUICK, "--store", "none", *words)
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertIn(text, done.stderr)
