"""Tests of comparison.py and records.py with only the standard library: python3 -m unittest discover peers"""

import argparse
import contextlib
import errno
import io
import json
import os
import random
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import check_golden
import comparison
import floor
import model_config
import processes
import records
import step_program


def record(samples, losses=(9.0,), status="ok", peak=1 << 30, first=2.0, **config):
    return {
        "status": status,
        "reason": None if status == "ok" else "no memory",
        "time": {"step": records.time_stats(samples)} if samples else {},
        "math_mode": "float32",
        "loss": {"values": list(losses)},
        "config": {"pass": "step"} | config,
        "memory": {"peak_rss_bytes": peak, "base_rss_bytes": peak // 4},
        "machine": {"first_step_done_seconds": first},
    }


CASE = comparison.Case("small", 4, 256, "float32")


def compared(**outcomes):
    """The result of a case. Keyword arguments are columns, with _ instead of - in their names."""
    by_name = {name.replace("_", "-"): rounds for name, rounds in outcomes.items()}
    least = {"seconds": 0.5, "peaks": {"source": "made up"}}
    return comparison.compare(CASE, comparison.columns_of(",".join(by_name)), by_name, least)


class Statistics(unittest.TestCase):
    def test_statistics_match_hand_computed_values(self):
        t = records.time_stats([4.0, 1.0, 2.0, 3.0])
        self.assertEqual(
            (t["median"], t["mean"], t["min"], t["max"], t["total"], t["count"]), (2.5, 2.5, 1.0, 4.0, 10.0, 4)
        )
        self.assertAlmostEqual(t["std"] ** 2, 5 / 3)
        self.assertAlmostEqual(t["std_population"] ** 2, 5 / 4)
        self.assertEqual(t["mad"], 1.0)
        self.assertAlmostEqual(t["p10"], 1.3)
        self.assertAlmostEqual(t["p90"], 3.7)
        self.assertEqual((t["ci_low"], t["ci_high"]), (None, None))
        t = records.time_stats([4.0, 1.0, 2.0, 3.0, 5.0, 6.0])
        self.assertLess(t["ci_low"], t["median"])
        self.assertGreater(t["ci_high"], t["median"])

    def test_one_sample_has_no_standard_deviation(self):
        t = records.time_stats([2.0])
        self.assertEqual((t["std"], t["std_population"], t["ci_low"], t["ci_high"]), (None, 0.0, None, None))

    def test_phases_and_residue_add_up_to_the_step(self):
        c = model_config.resolve("small", None, {}) | {
            "dtype": "float32",
            "mode": "eager",
            "pass": "step",
            "device": "cpu",
            "system": "pytorch",
            "implementation": "reference",
        }
        r = records.empty_record(c)
        records.fill(
            r, {"forward": [1.0], "backward": [2.0], "optimizer": [0.5], "step": [4.0]}, [], [9.0], "float32", "x"
        )
        self.assertEqual([p["phase"] for p in r["phases"]], ["forward", "backward", "optimizer", "residue"])
        self.assertAlmostEqual(r["phases"][-1]["seconds"], 0.5)
        self.assertAlmostEqual(sum(p["share"] for p in r["phases"]), 1.0)
        self.assertEqual(r["tokens_per_second"], 256.0)


class Files(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.file = Path(folder.name, "records.json")

    def test_a_failed_write_leaves_the_earlier_records(self):
        def interrupted_write(path, text):
            with path.open("w") as file:
                file.write(text[:3])
            raise failure

        records.write(self.file, [1, 2])
        self.file.chmod(0o640)
        for failure in (OSError(errno.ENOSPC, "no space"), KeyboardInterrupt()):
            with mock.patch.object(Path, "write_text", interrupted_write), self.assertRaises(type(failure)):
                records.write(self.file, [1, 2, 3])
            self.assertEqual(json.loads(self.file.read_text()), [1, 2])
        records.write(self.file, [1, 2, 3, float("nan")])
        self.assertEqual(json.loads(self.file.read_text()), [1, 2, 3, None])
        self.assertEqual(self.file.stat().st_mode & 0o777, 0o640)
        self.assertEqual(list(self.file.parent.iterdir()), [self.file])

    def test_replaces_the_target_of_a_symbolic_link(self):
        link = self.file.with_name("link.json")
        link.symlink_to(self.file)
        for kept in ([1], [1, 2]):
            records.write(link, kept)
            self.assertEqual((link.is_symlink(), json.loads(self.file.read_text())), (True, kept))

    def test_a_pipe_is_written_directly(self):
        reader, writer = os.pipe()
        records.write(f"/dev/fd/{writer}", [1])
        os.close(writer)
        with open(reader) as read:
            self.assertEqual(json.load(read), [1])


class Models(unittest.TestCase):
    def test_counts_parameters(self):
        want = {
            "small": 128_625_408,
            "medium": 423_183_360,
            "large": 969_411_840,
            "xl": 1_998_235_200,
            "2.7B": 3_406_809_600,
            "10B": 12_832_823_808,
        }
        for name, count in want.items():
            self.assertEqual(model_config.parameter_count(model_config.resolve(name, "2025", {})), count)

    def test_counts_forward_flops(self):
        self.assertAlmostEqual(model_config.forward_flops(model_config.resolve("small", None, {})) / 1e12, 0.257, 3)
        self.assertAlmostEqual(
            model_config.forward_flops(model_config.resolve("2.7B", "2025", {"context_length": 512})) / 1e12,
            14.192,
            3,
        )

    def test_rejects_invalid_models(self):
        for model, edition, given in (
            ("smal", None, {}),
            ("small", "2023", {}),
            ("small", None, {"num_heads": 7}),
            ("custom", None, {"d_model": 8}),
            ("small", "2025", {"bias": True}),
            ("small", None, {"context_length": 0}),
        ):
            with self.assertRaises(model_config.ConfigError):
                model_config.resolve(model, edition, given)


class Words(unittest.TestCase):
    def test_parses_cases(self):
        found = comparison.cases_of("small:4x256:f32,medium:1x128:bfloat16:inference")
        self.assertEqual(found[0], CASE)
        self.assertEqual(found[1], comparison.Case("medium", 1, 128, "bfloat16", "inference"))
        self.assertEqual(str(found[0]), "small 4 x 256 float32 step")
        for wrong in ("small", "small:4x256", "small:4:f32", "small:0x8:f32", "small:4x8:f16", "small:4x8:f32:go", ""):
            with self.assertRaises(comparison.WrongInput, msg=wrong):
                comparison.cases_of(wrong)

    def test_selects_columns(self):
        names = [c.name for c in comparison.columns_of("all,jax+jemalloc")]
        self.assertEqual(len(names), 14)
        self.assertIn("laptime-compile", names)
        (column,) = comparison.columns_of("pytorch-tuned+jemalloc")
        self.assertEqual(column.flags[-2:], ("--allocator", "jemalloc"))
        for wrong in ("torch", "laptime-eager+jemalloc", "jax+thp", "jax+", "jax+x", "jax,jax", "all,jax", ""):
            with self.assertRaises(comparison.WrongInput, msg=wrong):
                comparison.columns_of(wrong)


class Comparison(unittest.TestCase):
    def test_verdict_follows_the_interval(self):
        self.assertEqual(comparison.verdict(1.1, 1.3), "faster")
        self.assertEqual(comparison.verdict(0.8, 0.9), "slower")
        self.assertEqual(comparison.verdict(0.8, 1.2), "undecided")
        self.assertEqual(comparison.verdict(0.99, 1.01), "same within 2%")
        self.assertEqual(comparison.verdict(None, None), "undecided (fewer than 6 rounds)")

    def test_interval_of_few_rounds_matches_the_sign_test(self):
        self.assertEqual(records.sure_interval([1.0] * 5), (None, None))
        self.assertEqual(records.sure_interval([6.0, 1.0, 2.0, 3.0, 4.0, 5.0]), (1.0, 6.0))
        low, high = records.sure_interval([float(i) for i in range(1, 13)])
        self.assertLessEqual(low, 3.0)  # the third of twelve samples; the median is less with probability 1.9 %
        self.assertGreaterEqual(high, 10.0)

    def test_order_of_columns_is_shuffled_reproducibly_in_each_round(self):
        columns = comparison.columns_of("all")
        orders = [comparison.order_of(columns, 1, CASE, done) for done in range(6)]
        self.assertEqual(orders, [comparison.order_of(columns, 1, CASE, done) for done in range(6)])
        self.assertGreater(len({tuple(c.name for c in order) for order in orders}), 3)
        for order in orders:
            self.assertEqual(sorted(c.name for c in order), sorted(c.name for c in columns))

    def test_ratios_are_computed_within_each_round(self):
        result = compared(
            laptime_eager=[record([1.0, 1.0, 4.0], peak=1 << 20), record([10.0, 10.0], peak=1 << 20)],  # slower round
            pytorch_tuned=[record([3.0, 3.0, 3.0], peak=1 << 22), record([20.0, 20.0], peak=1 << 22)],
        )
        ratio = result["ratios"]["laptime-eager"]["fastest PyTorch"]
        self.assertEqual((ratio["median"], ratio["min"], ratio["max"]), (2.5, 2.0, 3.0))
        self.assertEqual((ratio["theirs"], ratio["memory"]), ("pytorch-tuned", 0.25))
        self.assertEqual(ratio["verdict"], "undecided (fewer than 6 rounds)")
        self.assertEqual(result["rows"][0]["median"], 5.5)
        self.assertTrue(result["fine"])

    def test_each_ratio_is_against_the_right_column(self):
        result = compared(
            laptime_eager=[record([2.0])],
            laptime_compile=[record([1.0])],
            pytorch_reference=[record([4.0], peak=1 << 28)],
            pytorch_tuned=[record([3.5])],
            pytorch_tuned_compile=[record([3.0])],
            **{"pytorch_tuned+jemalloc": [record([2.5])]},
            jax=[record([5.0])],
        )
        against = {name: (r["theirs"], r["median"]) for name, r in result["ratios"]["laptime-compile"].items()}
        want = {
            "fastest PyTorch": ("pytorch-tuned+jemalloc", 2.5),
            "fastest PyTorch as installed": ("pytorch-tuned-compile", 3.0),
            "reference eager": ("pytorch-reference", 4.0),
            "tuned eager": ("pytorch-tuned", 3.5),
            "JAX": ("jax", 5.0),
            "leanest PyTorch": ("pytorch-reference", 4.0),
            "fastest peer": ("pytorch-tuned+jemalloc", 2.5),
        }
        self.assertEqual(against, want)
        self.assertEqual(set(result["ratios"]), {"laptime-eager", "laptime-compile"})

    def test_six_rounds_are_enough_for_a_verdict(self):
        def rounds(*seconds, peak=1 << 30):
            return [record([s] * 3, peak=peak) for s in seconds]

        result = compared(
            laptime_eager=rounds(1.0, 1.01, 0.99, 1.0, 1.02, 1.0),
            pytorch_tuned=rounds(2.0, 2.02, 2.0, 1.98, 2.0, 2.0, peak=1 << 31),
            pytorch_reference=rounds(0.9, 2.0, 1.1, 1.0, 1.0, 3.0),
        )
        against = result["ratios"]["laptime-eager"]
        self.assertEqual(against["fastest PyTorch"]["verdict"], "undecided")  # the reference has the lower median
        self.assertEqual(against["leanest PyTorch"]["verdict"], "undecided")
        text = comparison.case_text(result)
        self.assertIn("95 % ", text)
        self.assertIn("above start", text)
        result = compared(laptime_eager=rounds(*[1.0] * 6), pytorch_tuned=rounds(*[1.5] * 6, peak=1 << 31))
        ratio = result["ratios"]["laptime-eager"]["fastest PyTorch"]
        self.assertEqual((ratio["verdict"], ratio["ci_low"], ratio["ci_high"]), ("faster", 1.5, 1.5))
        self.assertEqual((ratio["memory"], ratio["second_memory"]), (0.5, 0.5))

    def test_repeated_column_is_compared_with_the_original(self):
        result = compared(
            laptime_eager=[record([1.0])] * 6,
            **{"laptime_eager+again": [record([1.0])] * 6},
        )
        self.assertEqual(set(result["ratios"]), {"laptime-eager"})
        self.assertEqual(result["ratios"]["laptime-eager"]["itself"]["verdict"], "same within 2%")

    def test_rows_of_failed_columns_state_the_reason(self):
        result = compared(
            laptime_eager=[record([1.0]), record([1.0])],
            pytorch_reference=[record([], status="out_of_memory")],
            pytorch_tuned=[record([2.0]), record([], status="failed")],
        )
        text = comparison.case_text(result)
        self.assertIn("pytorch-reference: out_of_memory: no memory", text)
        self.assertIn("pytorch-tuned: failed: no memory", text)
        self.assertNotIn("fastest PyTorch", result["ratios"]["laptime-eager"])
        self.assertFalse(result["fine"])
        summary = comparison.summary_rows([result])
        self.assertEqual(summary[1][1:4], ["1.00 (1024)", "out_of_memory", "failed"])

    def test_out_of_memory_is_not_a_failure(self):
        self.assertTrue(compared(laptime_eager=[record([1.0])], jax=[record([], status="out_of_memory")])["fine"])

    def test_has_no_ratios_without_laptime(self):
        result = compared(laptime_eager=[record([], status="unsupported")], jax=[record([1.0])])
        self.assertEqual(result["ratios"], {})
        self.assertIn("jax", comparison.case_text(result))

    def test_marks_rows_with_wrong_losses(self):
        result = compared(laptime_eager=[record([1.0], [9.0])], jax=[record([2.0], [9.1])])
        self.assertFalse(result["fine"])
        self.assertIn("WRONG", comparison.case_text(result))
        self.assertIn(" WRONG", comparison.markdown(comparison.summary_rows([result])))
        self.assertEqual(result["ratios"], {"laptime-eager": {}})

    def test_marks_columns_whose_losses_become_nan(self):
        good, lost = record([1.0], [9.0, 8.0]), record([0.5], [9.0, float("nan")])
        for rounds in ([lost, good], [good, lost]):
            result = compared(laptime_eager=[good, good], jax=[record([2.0], [9.0, 8.0])] * 2, pytorch_tuned=rounds)
            self.assertFalse(result["fine"])
            self.assertEqual(result["ratios"]["laptime-eager"]["fastest peer"]["theirs"], "jax")
            self.assertIn("inf WRONG", comparison.case_text(result))
        lost_at_once = record([0.5], [float("nan"), 8.0])
        result = compared(laptime_eager=[good, good], jax=[good, lost_at_once])
        self.assertFalse(result["fine"])

    def test_compares_losses(self):
        a, b = record([1.0], [2.0, 3.0]), record([1.0], [2.0, 4.0])
        self.assertEqual(comparison.loss_difference(a, b, 1), 0.0)
        self.assertEqual(comparison.loss_difference(a, b), 0.25)
        self.assertEqual(comparison.loss_difference(a, record([1.0], [None])), float("inf"))
        self.assertEqual(comparison.loss_difference(a, record([1.0], [])), float("inf"))
        for lost in (float("nan"), float("inf")):
            self.assertEqual(comparison.loss_difference(a, record([1.0], [2.0, lost])), float("inf"))
        self.assertEqual(comparison.loss_difference(record([1.0], [0.25]), record([1.0], [0.0])), 0.25)
        self.assertEqual(comparison.loss_difference(record([1.0], [0.0]), record([1.0], [0.0])), 0.0)

    def test_nan_loss_fails_the_golden_check(self):
        meta = {"steps": 3, "torch_error": {}} | {f"losses_{dtype}": [3.0, 2.0, 1.0] for dtype in check_golden.FLOOR}
        for got, code in (([3.0, 2.0, 1.0], 0), ([3.0, float("nan"), 1.0], 1)):
            with (
                mock.patch.multiple(check_golden, read_metadata=lambda _: meta, losses=lambda *_, got=got: got),
                mock.patch.object(sys, "argv", ["check_golden.py", "made_up.safetensors"]),
                contextlib.redirect_stdout(io.StringIO()) as said,
            ):
                self.assertEqual(check_golden.main(), code, said.getvalue())

    def test_detects_different_work(self):
        same = {k: 1 for k in comparison.MUST_AGREE if k not in ("pass", "device")}
        a, b = record([1.0], **same), record([1.0], **same)
        self.assertEqual(comparison.differing_configs(a, b), [])
        other = record([1.0], **(same | {"vocab_size": 2}))
        self.assertEqual(comparison.differing_configs(a, other), ["vocab_size"])
        result = compared(laptime_eager=[a], jax=[other])
        self.assertEqual(result["rows"][1]["status"], "failed")
        self.assertIn("vocab_size", result["rows"][1]["reason"])

    def test_writes_tables(self):
        result = compared(laptime_eager=[record([1.0])], jax=[record([2.0])])
        rows = comparison.summary_rows([result])
        self.assertEqual(rows[0], ["case", "laptime-eager", "jax", "floor / laptime-eager", "fastest peer / laptime-eager"])
        self.assertEqual(rows[1], ["small 4 x 256 float32 step", "1.00 (1024)", "2.00 (1024)", "50%", "2.00"])
        self.assertEqual(comparison.markdown(rows).splitlines()[1], "| --- | --- | --- | --- | --- |")
        self.assertIn("laptime-eager (float32) is at 50% of the floor", comparison.case_text(result))
        self.assertEqual(comparison.aligned([["a", "1"], ["bc", "22"]]), ["a    1", "bc  22"])

    def test_floor_of_a_row_depends_on_its_arithmetic(self):
        both = {"seconds": 0.5, "multiply_add_seconds": 0.8, "peaks": {"source": "here"}}
        split = "float32, products of three bfloat16 terms"
        found = {a: comparison.floor_of_row({"arithmetic": a}, both) for a in ("float32", split, "bfloat16 autocast")}
        self.assertEqual(list(found.values()), [0.8, 0.5, 0.5])
        self.assertEqual(comparison.floor_of_row({"arithmetic": "float32"}, both | {"multiply_add_seconds": None}), 0.5)

    def test_ieee_column_runs_only_float32_cases(self):
        ieee = [c for c in comparison.columns_of("all") if c.name == "laptime-compile-ieee"]
        self.assertEqual([c.dtype for c in ieee], ["float32"])
        self.assertEqual(comparison.columns_of("laptime-compile-ieee+again")[0].dtype, "float32")


class NoDifference(unittest.TestCase):
    """Verdicts on simulated runs of known speed, on a machine that drifts and is sometimes disturbed."""

    def verdicts(self, factor, rounds, trials=200):
        rng = random.Random(7)

        def seconds(drift):
            disturbed = 1 + rng.expovariate(5) if rng.random() < 0.15 else 1
            return drift * disturbed * rng.lognormvariate(0, 0.03)

        found = []
        for _ in range(trials):
            drift, ratios = 1.0, []
            for _ in range(rounds):
                drift *= rng.lognormvariate(0, 0.02)
                ratios.append(factor * seconds(drift) / seconds(drift))
            found.append(comparison.verdict(*records.sure_interval(ratios)))
        return found

    def test_rarely_reports_a_difference_between_equal_programs(self):
        for rounds in (6, 10):
            found = self.verdicts(1.0, rounds)
            different = sum(v in ("faster", "slower") for v in found) / len(found)
            self.assertLessEqual(different, 0.05, f"{rounds} rounds")

    def test_finds_a_real_difference(self):
        found = self.verdicts(1.5, 6)
        self.assertGreater(sum(v == "faster" for v in found) / len(found), 0.8)
        self.assertNotIn("slower", found)


class Floor(unittest.TestCase):
    def test_parses_peaks_of_the_benchmarks(self):
        found = floor.parse_peaks("avx512, 2 threads: float32 446.5 GFLOP/s, bfloat16 1.2 TFLOP/s, memory 2.0 GiB/s\n")
        self.assertEqual(found, {"float32": 446.5e9, "split": 0, "bfloat16": 1.2e12, "bandwidth": 2.0 * 2**30})
        found = floor.parse_peaks("float32 450 GFLOP/s (1.1 TFLOP/s by tiles), bfloat16 6 TFLOP/s, memory 2.0 GiB/s\n")
        self.assertEqual(found, {"float32": 450e9, "split": 1.1e12, "bfloat16": 6e12, "bandwidth": 2.0 * 2**30})
        self.assertIsNone(floor.parse_peaks("Failed to match any benchmarks"))

    def test_floor_of_the_small_model_matches_hand_computed_values(self):
        c = model_config.resolve("small", "2025", {}) | {"dtype": "float32", "pass": "step"}
        flops, moved = floor.work(c)
        self.assertAlmostEqual(flops / 1e9, 743 + 14.5, 0)
        self.assertAlmostEqual(moved / 1e9, 3.60 + 1.06 + 0.16, 1)
        peaks = {"float32": 420e9, "bfloat16": 210e9, "bandwidth": 45e9}
        self.assertAlmostEqual(floor.seconds(c, peaks), 1.91, 2)
        # The floor of bfloat16 uses the higher of the float32 and bfloat16 peaks.
        self.assertLess(floor.seconds(c | {"dtype": "bfloat16"}, peaks), floor.seconds(c, peaks))
        self.assertIsNone(floor.multiply_add_seconds(c, peaks))
        tiles = peaks | {"split": 1050e9}
        self.assertAlmostEqual(floor.seconds(c, tiles), 0.83, 2)
        self.assertEqual(floor.multiply_add_seconds(c, tiles), floor.seconds(c, peaks))
        self.assertIsNone(floor.seconds(c, None))
        self.assertIsNone(floor.work(model_config.resolve("small", "2024", {})))

    def test_work_of_forward_and_backward_adds_up(self):
        c = model_config.resolve("small", "2025", {}) | {"dtype": "float32"}
        work = {p: floor.work(c | {"pass": p}) for p in comparison.PASSES}
        both = tuple(a + b for a, b in zip(work["forward"], work["backward"]))
        self.assertEqual(both, work["forward_backward"])
        self.assertEqual(work["step"][0], work["forward_backward"][0])
        self.assertLess(work["inference"][1], work["forward"][1])


class Processes(unittest.TestCase):
    def test_classifies_how_a_process_ended(self):
        refused = "RuntimeError: DefaultCPUAllocator: can't allocate memory: you tried to allocate 4096 bytes.\n"
        self.assertEqual(processes.how_it_ended(1, refused)[0::2], ("out_of_memory", 4096))
        self.assertEqual(processes.how_it_ended(-9, ""), ("out_of_memory", "killed by the kernel", None))
        self.assertEqual(processes.how_it_ended(-11, "x"), ("failed", "signal SIGSEGV", None))
        self.assertEqual(processes.how_it_ended(3, "a\nwhat went wrong\n"), ("failed", "what went wrong", None))
        self.assertEqual(processes.how_it_ended(2, "no torch")[0], "unsupported")
        self.assertEqual(processes.how_it_ended(3, ""), ("failed", "exit code 3", None))

    def test_sets_the_environment_of_an_allocator(self):
        self.assertEqual(processes.environment("malloc"), {})
        self.assertEqual(processes.environment("jemalloc", "lib.so")["LD_PRELOAD"], "lib.so")
        self.assertEqual(processes.environment("thp"), {"THP_MEM_ALLOC_ENABLE": "1"})

    def test_builds_the_launcher_command(self):
        options = argparse.Namespace(launcher=False, threads=4)
        self.assertEqual(processes.launcher(options), [sys.executable])
        options.launcher = True
        words = processes.launcher(options)
        self.assertEqual(words[1:3], ["-m", "torch.backends.xeon.run_cpu"])
        at = words.index("--ncores-per-instance")
        self.assertEqual((words[at + 1], words[at + 2][:2]), ("4", "--"))

    def test_points_are_all_combinations_of_the_lists(self):
        options = argparse.Namespace(**dict.fromkeys(step_program.AXES, "a,b") | {"context": None, "model": "a"})
        self.assertEqual(len(list(step_program.points(options))), 2**4)


if __name__ == "__main__":
    unittest.main()
