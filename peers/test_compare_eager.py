"""Tests of what compare_eager.py and records.py compute, standard library only: python3 -m unittest discover peers"""

import unittest

import compare_eager
import model_config
import records


def record(samples, losses, **config):
    return {
        "time": {"step": records.time_stats(samples)},
        "loss": {"values": losses},
        "config": config,
        "memory": {"peak_rss_bytes": 1 << 20},
    }


class Statistics(unittest.TestCase):
    def test_by_hand(self):
        t = records.time_stats([4.0, 1.0, 2.0, 3.0])
        self.assertEqual(
            (t["median"], t["mean"], t["min"], t["max"], t["total"], t["count"]), (2.5, 2.5, 1.0, 4.0, 10.0, 4)
        )
        self.assertAlmostEqual(t["std"] ** 2, 5 / 3)
        self.assertAlmostEqual(t["std_population"] ** 2, 5 / 4)
        self.assertEqual(t["mad"], 1.0)
        self.assertAlmostEqual(t["p10"], 1.3)
        self.assertAlmostEqual(t["p90"], 3.7)
        self.assertLessEqual(t["ci_low"], t["median"])
        self.assertGreaterEqual(t["ci_high"], t["median"])

    def test_one_sample_has_no_deviation(self):
        t = records.time_stats([2.0])
        self.assertEqual((t["std"], t["std_population"], t["ci_low"], t["ci_high"]), (None, 0.0, None, None))

    def test_residue_closes_the_step(self):
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


class Models(unittest.TestCase):
    def test_parameter_counts(self):
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

    def test_forward_flops(self):
        self.assertAlmostEqual(model_config.forward_flops(model_config.resolve("small", None, {})) / 1e12, 0.257, 3)
        self.assertAlmostEqual(
            model_config.forward_flops(model_config.resolve("2.7B", "2025", {"context_length": 512})) / 1e12,
            14.192,
            3,
        )

    def test_refusals(self):
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


class Comparison(unittest.TestCase):
    def test_verdicts(self):
        self.assertEqual(compare_eager.verdict([1.3, 1.2, 1.25]), "faster")
        self.assertEqual(compare_eager.verdict([0.8, 0.9]), "slower")
        self.assertEqual(compare_eager.verdict([0.8, 1.2]), "undecided")
        self.assertEqual(compare_eager.verdict([1.01, 0.99]), "same within 2%")
        self.assertEqual(compare_eager.verdict([1.5]), "undecided")

    def test_ratio_is_taken_within_rounds(self):
        ours = [record([1.0, 1.0, 4.0], [9.0]), record([10.0, 10.0], [9.0])]  # slower machine in round 2
        theirs = [record([3.0, 3.0, 3.0], [9.0]), record([20.0, 20.0], [9.0])]
        (row,) = compare_eager.phase_rows(ours, theirs)
        self.assertEqual((row["laptime"], row["pytorch"], row["ratio"], row["rounds"]), (4.0, 3.0, 2.5, [3.0, 2.0]))
        self.assertEqual(row["verdict"], "faster")

    def test_losses(self):
        a, b = record([1.0], [2.0, 3.0]), record([1.0], [2.0, 4.0])
        self.assertEqual(compare_eager.loss_difference(a, b, 1), 0.0)
        self.assertEqual(compare_eager.loss_difference(a, b), 0.25)
        self.assertEqual(compare_eager.loss_difference(a, record([1.0], [None])), float("inf"))
        self.assertEqual(compare_eager.loss_difference(a, record([1.0], [])), float("inf"))

    def test_other_work_is_noticed(self):
        same = {k: 1 for k in compare_eager.MUST_AGREE}
        self.assertEqual(compare_eager.differing_configs(record([1.0], [], **same), record([1.0], [], **same)), [])
        other = same | {"vocab_size": 2}
        self.assertEqual(
            compare_eager.differing_configs(record([1.0], [], **same), record([1.0], [], **other)), ["vocab_size"]
        )


if __name__ == "__main__":
    unittest.main()
