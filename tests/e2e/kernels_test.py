"""--kernels: a run reuses the kernel choices in the records of an earlier run."""

import json
import unittest

from program import MODEL, ONE_STEP, TINY, ProgramTest

REAL = [*TINY, "--device", "cpu", *ONE_STEP]


def choices(record: dict) -> dict[str, str]:
    return {use["signature"]: use["kernel"] for use in record["kernels"]}


class Kernels(ProgramTest):
    def records(self, *words) -> list[dict]:
        done = self.laptime("bench", "--store", "none", *words, "--output", "json")
        self.assert_ok(done)
        return json.loads(done.stdout)

    def test_a_run_reuses_the_kernels_of_an_earlier_one(self):
        for form in ("json", "jsonl"):
            first = self.laptime("bench", "--store", "none", *REAL, "--output", form, "--columns", "all",
                                 "--output-file", form)
            self.assert_ok(first)
        record = json.loads((self.folder / "jsonl").read_text())
        for file in ("json", "jsonl"):
            kept = (self.folder / file).read_text()
            again = self.records(*REAL, "--kernels", file)[0]
            chosen = json.loads(kept)[0] if file == "json" else record
            self.assertEqual(choices(again), choices(chosen))
            self.assertEqual(again["loss"], chosen["loss"])
            self.assertEqual(again["config"]["kernels_file"], file)

    def test_kernels_file_may_pin_one_choice_and_be_swept(self):
        listed = json.loads(self.laptime("explain", *REAL, "--output", "json").stdout)[0]["kernels"]
        one = next(use for use in listed if use["candidates"])
        other = one["candidates"][-1]
        use = {"op": one["op"], "signature": one["example"], "kernel": other}
        (self.folder / "one.json").write_text(json.dumps({"kernels": [use]}, indent=2))
        plain, pinned = self.records(*REAL, "--kernels", "none,one.json")
        self.assertIsNone(plain["config"]["kernels_file"])
        self.assertTrue(pinned["name"].endswith("/kernels:one.json"), pinned["name"])
        self.assertEqual(choices(pinned)[one["example"]], other)
        shown = self.laptime("explain", *REAL, "--kernels", "one.json", "--view", "kernels")
        self.assert_ok(shown)
        line = next(line for line in shown.stdout.splitlines() if "pinned by --kernels" in line)
        self.assertEqual(line.split()[:2], [one["op"], other])

    def test_resume_compares_kernel_choices_and_not_file_names(self):
        words = [*REAL, "--output", "json"]
        self.assert_ok(self.bench(*words, "--output-file", "first.json"))
        first = self.bench(*words, "--kernels", "first.json").stdout
        (self.folder / "moved.json").write_bytes((self.folder / "first.json").read_bytes())
        moved = self.bench(*words, "--kernels", "moved.json", "--resume").stdout
        self.assertEqual(moved, first)
        record = json.loads((self.folder / "first.json").read_text())[0]
        record["kernels"].pop()
        (self.folder / "first.json").write_text(json.dumps([record]))
        changed = self.bench(*words, "--kernels", "first.json", "--resume").stdout
        self.assertNotEqual(json.loads(changed)[0]["config_hash"], json.loads(first)[0]["config_hash"])

    def test_point_without_a_choice_in_the_file_is_unsupported(self):
        done = self.laptime("bench", "--store", "none", *MODEL, "--context", "16", "--device", "cpu", *ONE_STEP,
                            "--output", "json", "--output-file", "a.json")
        self.assert_ok(done)
        records = self.records("--model", "attention", "--device", "cpu", "--batch", "1", "--d-model", "8", "--context",
                               "12", *ONE_STEP, "--kernels", "none,a.json")
        self.assertEqual([record["status"] for record in records], ["ok", "unsupported"])
        self.assertIn("a.json", records[1]["reason"])


if __name__ == "__main__":
    unittest.main()
