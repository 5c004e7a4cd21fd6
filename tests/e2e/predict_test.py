"""The exact output of whole commands on a virtual clock, where every number follows from the model and a data sheet.

Expected texts are in expected/. To update them after an intended change:
LAPTIME_BINARY=.../laptime LAPTIME_WRITE_EXPECTED=1 python3 -m unittest predict_test
"""

import json
import os
import unittest
from pathlib import Path

from program import ProgramTest, without_date

EXPECTED = Path(__file__).parent / "expected"

SMALL = "--model small --edition 2025 --batch 4 --warmup 1 --steps 2".split()
COMMANDS = {
    "passes.txt": ["bench", *SMALL, "--context", "256", "--device", "roofline:h100", "--dtype", "float32,bfloat16",
                   "--pass", "forward,backward,forward_backward,step,inference"],
    "sizes.txt": ["bench", "--model", "small,medium,large,xl,2.7B,10B", "--edition", "2025", "--batch", "4",
                  "--context", "256", "--device", "roofline:h200", "--dtype", "bfloat16", "--warmup", "0", "--steps", "1",
                  "--columns", "name,status,median,peak_memory,tokens_per_second,mfu_datasheet"],
    "invalid.txt": ["bench", "--d-model", "64", "--num-layers", "2", "--num-heads", "4,5", "--context", "32", "--vocab",
                    "128", "--device", "roofline:l4", "--dtype", "float32,tf32", "--warmup", "0", "--steps", "1"],
    "show.md": ["show", "--output", "markdown", "--columns", "default", "--sort", "median:desc", "pass = step"],
    "columns.csv": ["show", "--output", "csv", "--columns", "name,status,context,dtype,predicted_peak_memory"],
}


class Predicted(ProgramTest):
    def test_output_matches_expected_files(self):
        for name, words in COMMANDS.items():
            with self.subTest(name):
                store = self.folder / ("passes.txt" if words[0] == "show" else name)
                done = self.laptime(*words, "--store", store.with_suffix(".sqlite"))
                self.assert_ok(done)
                if os.environ.get("LAPTIME_WRITE_EXPECTED"):
                    (EXPECTED / name).write_text(without_date(done.stdout), newline="")
                with open(EXPECTED / name, newline="") as file:
                    self.assertEqual(without_date(done.stdout), file.read())

    def records(self, *words) -> list[dict]:
        done = self.bench(*SMALL, "--context", "256", *words, "--output", "json")
        self.assert_ok(done)
        return json.loads(done.stdout)

    def test_phases_add_up_to_the_step(self):
        for record in self.records("--device", "roofline:h100", "--dtype", "float32,bfloat16"):
            time = {name: stats["mean"] for name, stats in record["time"].items()}
            self.assertAlmostEqual(time["forward"] + time["backward"] + time["optimizer"], time["step"], delta=1e-12)
            self.assertEqual(record["phases"][-1]["phase"], "residue")
            self.assertLess(abs(record["phases"][-1]["share"]), 1e-9)

    def test_a_step_takes_the_same_time_alone_and_in_a_sweep(self):
        together = self.records("--device", "roofline:h100", "--pass", "forward,step")
        alone = self.records("--device", "roofline:h100", "--pass", "forward")
        self.assertEqual(together[0]["time"], alone[0]["time"])

    def test_no_device_is_faster_than_its_data_sheet(self):
        for device in ("a100", "h100", "h200", "b200", "l4", "l40s", "rtx4090"):
            for record in self.records("--device", f"roofline:{device}", "--dtype", "float32,bfloat16"):
                self.assertGreater(record["flops"]["mfu_datasheet"], 0)
                self.assertLess(record["flops"]["mfu_datasheet"], 1)


if __name__ == "__main__":
    unittest.main()
