"""tools/gpu_check: the verdicts that it derives from measurements, and its steps."""

import sys
import unittest
from pathlib import Path

TOOLS = Path(__file__).resolve().parents[2] / "tools"
sys.path.insert(0, str(TOOLS))
import gpu_steps  # noqa: E402
import gpu_verdicts  # noqa: E402


def row(column, *rounds, status="ok"):
    return {"column": column, "status": status, "rounds": list(rounds)}


def compared(*rows, fine=True):
    case = {"rows": list(rows), "fine": fine}
    return "some words\n" + gpu_verdicts.json.dumps({"machine": {}, "cases": [case]})


def record(status="ok", **config):
    return {"status": status, "name": "a point", "config": {"pass": "step"} | config, "machine": {"card": {"name": "a card"}},
            "memory": {"predicted_peak_bytes": None, "peak_bytes": None, "reserved_bytes": None},
            "flops": {"mfu_datasheet": 0.46, "mfu_measured": 0.44}, "time": {}}


def found(verdicts):
    return [(v.got, v.verdict) for v in verdicts]


class Speed(unittest.TestCase):
    def test_compares_with_the_fastest_peer_of_each_kind(self):
        text = compared(row("laptime-compile", 1.0, 2.0, 1.0), row("pytorch-reference", 9.0, 9.0, 9.0),
                        row("pytorch-tuned", 3.1, 6.2, 9.0), row("pytorch-tuned-compile", 1.4, 2.8, 1.4))
        got = gpu_verdicts.against_pytorch("small", "bfloat16", text)
        self.assertEqual(found(got), [("3.10 x", "ok"), ("1.40 x", "missed")])
        self.assertEqual([v.wanted for v in got], [">= 3.00 x", ">= 1.50 x"])
        large = gpu_verdicts.against_pytorch("2.7B", "tf32", text)
        self.assertEqual(found(large), [("3.10 x", "ok"), ("1.40 x", "ok")])

    def test_out_of_memory_counts_against_peers_only(self):
        full = row("pytorch-tuned-compile", status="out_of_memory")
        text = compared(row("laptime-compile", 1.0), row("pytorch-tuned", 4.0), full)
        got = gpu_verdicts.against_pytorch("small", "tf32", text)
        self.assertEqual(found(got)[1], ("pytorch-tuned-compile: out of memory", "ok"))
        ours = gpu_verdicts.against_pytorch("small", "tf32", compared(row("laptime-compile", status="out_of_memory"), full))
        self.assertEqual({v.verdict for v in ours}, {"not measured"})

    def test_wrong_losses_fail_and_missing_runs_are_not_measured(self):
        text = compared(row("laptime-compile", 1.0), row("pytorch-tuned", 9.0), fine=False)
        self.assertEqual(gpu_verdicts.against_pytorch("small", "tf32", text)[0].verdict, "missed")
        self.assertEqual(found(gpu_verdicts.against_pytorch("small", "tf32", "")), [("", "not measured")] * 2)

    def test_judges_mfu_and_attention(self):
        records = [record(model="gpt2-124M", mode="compile", dtype="bfloat16")]
        self.assertEqual(found(gpu_verdicts.mfu(records, "gpt2-124M", 0.45)), [("46.0 %", "ok"), ("44.0 %", "missed")])
        self.assertEqual(gpu_verdicts.mfu([], "gpt2-124M", 0.45)[0].verdict, "not measured")
        alone = record(model="attention", context_length=16384, d_model=64, batch_size=16, dtype="bfloat16")
        alone["time"] = {"forward": {"median": 2e-3}, "backward": {"median": 3.5e-3}}
        self.assertEqual(found([gpu_verdicts.attention([alone])]), [("5.50 ms on a card", "not measured on an H200")])
        alone["machine"] = {"card": {"name": "NVIDIA H200"}}
        self.assertEqual(found([gpu_verdicts.attention([alone])]), [("5.50 ms on NVIDIA H200", "missed")])
        alone["time"]["forward_backward"] = {"median": 5.3e-3}
        self.assertEqual(gpu_verdicts.attention([alone]).verdict, "ok")


class Kernels(unittest.TestCase):
    CSV = (
        "laptime: 1 point\n"
        "name,table,phase,total_s,time_share,launches,of_roofline,instances,kernel\n"
        "a,phases,forward,1,0.5,17,0.2,,\n"
        'a,kernels,,0.3,0.1,,0.9,3,"adamw:one_pass (float32 [1, 2])"\n'
        "a,kernels,,0.1,0.1,,0.5,3,adamw:one_pass\n"
        "a,kernels,,0.1,0.1,,0.7,3,rms_norm:rows\n"
    )

    def test_bandwidth_share_covers_all_launches(self):
        adamw = gpu_verdicts.of_bandwidth("AdamW", self.CSV, ("adamw",))
        self.assertEqual((adamw.got, adamw.verdict), ("80.0 %", "missed"))
        self.assertEqual(gpu_verdicts.of_bandwidth("norms", self.CSV, ("rms_norm",)).got, "70.0 %")
        self.assertEqual(gpu_verdicts.of_bandwidth("norms", "", ("rms_norm",)).verdict, "not measured")

    def test_adamw_covers_updates_that_also_store_a_copy(self):
        text = self.CSV + "a,kernels,,0.4,0.1,,0.9,3,adamw_with_copy:one_pass\n"
        rows = gpu_verdicts.verdicts({"kernels of a step": text}, {}, [])
        self.assertEqual([v.got for v in rows if v.wish.startswith("AdamW")], ["85.0 %"])

    def test_judges_the_worst_product(self):
        text = "180 products, 2 below 95.0 % of the best; least 93.2 % (bfloat16 small head forward)"
        self.assertEqual(found([gpu_verdicts.products(text)]), [("93.2 %", "missed")])
        self.assertEqual(gpu_verdicts.products("").verdict, "not measured")
        rounded = "180 products, 1 below 95.0 % of the best; least 95.0 % (bfloat16 small head forward)"
        self.assertEqual(gpu_verdicts.products(rounded).verdict, "missed")


class Memory(unittest.TestCase):
    def test_judges_the_worst_peak_but_only_reports_what_pools_reserve(self):
        def point(predicted, peak, reserved, mode="eager"):
            return record(mode=mode) | {"memory": {"predicted_peak_bytes": predicted, "peak_bytes": peak,
                                                   "reserved_bytes": reserved}}

        good = [point(100 << 30, 101 << 30, 202 << 30), point(100 << 30, 100 << 30, 100 << 30, "compile"),
                point(1 << 20, 3 << 20, 3 << 20), record(mode="eager")]
        self.assertEqual(found(gpu_verdicts.memory(good)), [("1.0 % at most, of 2 points (a point)", "ok"),
                                                            ("100.0 % at most, of 1 points (a point)", "ok")])
        self.assertEqual(gpu_verdicts.memory([*good, point(4 << 30, 3 << 30, 3 << 30)])[0].verdict, "missed")

    def test_requires_a_result_for_every_size(self):
        points = [
            record(status, model=model, context_length=context, mode=mode, dtype=dtype)
            for model, status in (("small", "ok"), ("medium", "ok"), ("large", "ok"), ("xl", "ok"), ("2.7B", "out_of_memory"))
            for context in (128, 256, 512, 1024) for mode in ("eager", "compile")
            for dtype in ("float32", "tf32", "bfloat16")
        ]
        self.assertEqual(found([gpu_verdicts.documents(points)]), [("96 measured, 24 out of memory", "ok")])
        self.assertEqual(gpu_verdicts.documents(points[1:]).verdict, "not measured")
        points[0]["status"] = "failed"
        self.assertEqual(gpu_verdicts.documents(points).verdict, "missed")


class Steps(unittest.TestCase):
    def test_verdict_follows_from_the_states_of_steps(self):
        self.assertEqual(gpu_verdicts.of_steps("x", ["passed", "passed"]).verdict, "ok")
        self.assertEqual(gpu_verdicts.of_steps("x", ["passed", "open"]).verdict, "not measured")
        self.assertEqual(gpu_verdicts.of_steps("x", ["failed", "open"]).verdict, "missed")
        self.assertEqual(gpu_verdicts.of_steps("x", []).verdict, "not measured")

    def test_no_step_outlives_the_run(self):
        step = gpu_steps.Step("x", "numbers", [], 2)
        self.assertEqual([step.limit(), step.limit(30), step.limit(3)], [10, 10, 3])

    def test_every_verdict_names_an_existing_step(self):
        steps = gpu_steps.steps(Path("folder"), Path("laptime"), True) + gpu_steps.wishes(Path("folder"), Path("laptime"), True)
        names = {step.name for step in steps}
        asked = []

        class Outputs(dict):
            def get(self, key, default=None):
                asked.append(key)
                return default

        rows = gpu_verdicts.verdicts(Outputs(), dict.fromkeys(names, "open"), [])
        self.assertLessEqual(set(asked), names)
        self.assertEqual({v.verdict for v in rows}, {"not measured"})
        self.assertEqual(len(gpu_verdicts.table(rows).splitlines()), len(rows) + 1)

    def test_file_names_are_unique(self):
        files = [s.file for s in [*gpu_steps.numbers(), *gpu_steps.wishes(Path("f"), Path("l"), True), *gpu_steps.tables(Path("f"))]]
        self.assertEqual(len(files), len(set(files)))


if __name__ == "__main__":
    unittest.main()
