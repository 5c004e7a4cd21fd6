"""laptime attention on a virtual clock and with tiny shapes: rows, bytes, points that do not fit, and invalid options.

To update expected/attention.txt: LAPTIME_BINARY=.../laptime LAPTIME_WRITE_EXPECTED=1 python3 -m unittest attention_test
"""

import csv
import io
import json
import os
import unittest
from pathlib import Path

from program import ProgramTest, without_date

EXPECTED = Path(__file__).parent / "expected" / "attention.txt"
GRID = "--d-model 16,128 --context 1024,8192,16384 --mode eager,compile --device roofline:l4 --steps 2 --warmup 0".split()
TINY = "--batch 2 --d-model 8 --context 12 --warmup 0 --steps 2".split()


def held(batch, positions, width, mode, causal=True):
    """Hand-computed bytes that float32 attention holds before forward, after forward and after backward."""
    rows = batch * positions
    tensor = 4 * rows * width
    resident = 3 * tensor + (positions * positions if causal and mode == "eager" else 0)  # q, k, v and the mask
    # Eager mode saves exponentials, weights, and the sum and int64 argmax of each row; compile mode each row's
    # log-sum-exp.
    saved = 2 * 4 * rows * positions + (4 + 8) * rows if mode == "eager" else 4 * rows
    return resident, resident + tensor + saved, resident + tensor + 3 * tensor


class Attention(ProgramTest):
    def attention(self, *words):
        return self.laptime("attention", "--store", self.store, *words)

    def records(self, *words) -> list[dict]:
        done = self.attention(*words, "--output", "json")
        self.assert_ok(done)
        return json.loads(done.stdout)

    def test_output_matches_the_expected_file(self):
        done = self.attention(*GRID)
        self.assert_ok(done)
        if os.environ.get("LAPTIME_WRITE_EXPECTED"):
            EXPECTED.write_text(without_date(done.stdout))
        self.assertEqual(without_date(done.stdout), EXPECTED.read_text())

    def test_bytes_match_hand_computed_values(self):
        records = self.records(*GRID, "--causal", "true,false")
        self.assertEqual(len(records), 24)
        for record in records:
            config, memory = record["config"], record["memory"]
            expected = held(config["batch_size"], config["context_length"], config["d_model"], config["mode"],
                            config["causal"])
            found = (memory["resident_bytes"], memory["after_forward_bytes"], memory["after_backward_bytes"])
            with self.subTest(record["name"]):
                self.assertEqual(found, expected)
                self.assertGreaterEqual(memory["predicted_peak_bytes"], max(expected))

    def test_columns_match_the_2025_document(self):
        done = self.attention(*GRID, "--columns", "2025d_attention", "--output", "csv")
        self.assert_ok(done)
        rows = list(csv.DictReader(io.StringIO(done.stdout)))
        self.assertEqual(list(rows[0]), "context_length,d_model,fwd avg (sec),fwd std (sec),back avg (sec),"
                         "back std (sec),fws & back avg (sec),fws & back std (sec),model mem,model+fwd mem,"
                         "model+fwd+back mem,fwd mem,back mem,status,dtype,device,batch_size,compile".split(","))
        for row in rows:
            mode = "compile" if row["compile"] == "True" else "eager"
            model, forward, backward = held(8, int(row["context_length"]), int(row["d_model"]), mode)
            self.assertEqual([float(row[key]) for key in ("model mem", "model+fwd mem", "model+fwd+back mem", "fwd mem",
                                                          "back mem")],
                             [model, forward, backward, forward - model, backward - forward])
            if row["status"] == "ok":
                both = float(row["fwd avg (sec)"]) + float(row["back avg (sec)"])
                self.assertAlmostEqual(both, float(row["fws & back avg (sec)"]), delta=1e-12)

    def test_record_of_a_point_that_does_not_fit_states_its_bytes(self):
        records = self.records(*GRID)
        refused = [record for record in records if record["status"] == "out_of_memory"]
        self.assertEqual({(r["config"]["context_length"], r["config"]["mode"]) for r in refused}, {(16384, "eager")})
        for record in refused:
            self.assertTrue(record["reason"].startswith("predicted: "))
            self.assertEqual(record["bytes_requested"], record["memory"]["predicted_peak_bytes"])
            self.assertLess(record["bytes_available"], record["bytes_requested"])
            largest = record["memory"]["largest"][0]
            self.assertEqual(largest["bytes"], 4 * 8 * 16384 * 16384)
            self.assertEqual(largest["dtype"], "float32")
            self.assertEqual(largest["role"], "activation")

    def test_stored_records_give_the_same_table(self):
        measured = self.attention(*GRID).stdout
        shown = self.laptime("show", "--store", self.store, "--columns", "attention")
        self.assert_ok(shown)
        # show does not print the largest contexts.
        self.assertEqual(shown.stdout, measured.partition("largest context that fits")[0])

    def test_verbose_explains_the_smallest_point_that_does_not_fit(self):
        done = self.attention(*GRID, "--verbose")
        self.assertRegex(done.stdout, r"the smallest point that does not fit: .*ctx 16384\b.*d_model 16\b")
        some = self.laptime("show", "--store", self.store, "d_model > 16", "--verbose")
        self.assertRegex(some.stdout, r"the smallest point that does not fit: .*ctx 16384\b.*d_model 128\b")
        done = self.attention(*TINY, "--device", "roofline:l4", "--verbose")
        self.assertNotIn("does not fit", done.stdout + done.stderr)

    def test_the_largest_context_fits_and_the_next_one_does_not(self):
        words = "--d-model 16 --mode eager --device roofline:l4 --steps 1 --warmup 0".split()
        done = self.attention(*words, "--context", 64)
        self.assert_ok(done)
        (line,) = [line for line in done.stdout.splitlines() if line.startswith("largest context that fits")]
        largest = line.rsplit(": ", 1)[1].replace(",", "")
        records = self.records(*words, "--context", f"{largest},{int(largest) + 1}")
        self.assertEqual([record["status"] for record in records], ["ok", "out_of_memory"])

    def test_before_backward_column_matches_hand_computed_bytes(self):
        words = "--batch 2 --d-model 16 --context 64 --mode eager --device roofline:l4 --columns attention".split()
        done = self.attention(*words, "--output", "csv")
        self.assert_ok(done)
        (row,) = csv.DictReader(io.StringIO(done.stdout))
        self.assertEqual(int(row["before_backward"]), held(2, 64, 16, "eager")[1])

    def test_every_variant_runs(self):
        records = self.records(*TINY, "--device", "cpu", "--mode", "eager,compile", "--causal", "true,false",
                               "--projections", "true,false", "--dtype", "float32,bfloat16")
        self.assertEqual([record["status"] for record in records], ["ok"] * 16)
        for record in records:
            self.assertEqual(set(record["time"]), {"forward", "backward", "forward_backward"})
            self.assertGreaterEqual(record["memory"]["peak_bytes"], record["memory"]["predicted_peak_bytes"])
            self.assertEqual(record["loss"]["values"], [])

    def test_every_pass_runs(self):
        records = self.records(*TINY, "--device", "cpu", "--pass", "forward,backward,forward_backward,inference")
        self.assertEqual([record["status"] for record in records], ["ok"] * 4)

    def test_lowered_attention_runs_in_compile_mode(self):
        records = self.records(*TINY, "--device", "cpu", "--mode", "compile", "--lower",
                               "none,scaled_dot_product_attention")
        self.assertEqual([record["status"] for record in records], ["ok", "ok"])
        blocked, fused = (record["memory"]["after_forward_bytes"] for record in records)
        self.assertLess(blocked, fused)
        self.assertIn("softmax", {use["op"] for use in records[1]["kernels"]})

    def test_ablate_adds_a_point_with_lowered_attention(self):
        records = self.records(*TINY, "--device", "roofline:h100", "--ablate")
        self.assertEqual([record["config"]["lower"] for record in records], [None, "scaled_dot_product_attention"])

    def test_record_of_a_point_over_the_memory_limit_states_the_limit(self):
        record = self.records(*TINY, "--device", "roofline:h100", "--memory-limit", "1kB")[0]
        self.assertEqual(record["status"], "out_of_memory")
        self.assertIn("the step may use 1000 B (--memory-limit)", record["reason"])

    def test_bench_and_explain_accept_the_attention_model(self):
        self.assert_ok(self.bench("--model", "attention", *TINY, "--device", "roofline:h100"))
        self.assertEqual(self.stored()[0]["config"]["model"], "attention")
        done = self.laptime("explain", "--model", "attention", *TINY)
        self.assert_ok(done)
        self.assertIn("attention alone, causal, d 8, batch 2 x 12 positions", done.stdout)

    def test_rejects_invalid_options(self):
        for words, message in (("--model small", "unknown option '--model'"),
                               ("--num-heads 2", "unknown option '--num-heads'"),
                               ("--d-model 0", "out of range"), ("--context 1,x", "not a whole number"),
                               ("--pass step", "no optimizer"), ("--causal maybe", "true or false"),
                               ("--mode blocked", "one of: eager, compile"), ("64", "unexpected '64'"),
                               ("--context 2147483647 --batch 2147483647", "63 bits")):
            done = self.attention(*words.split())
            with self.subTest(words):
                self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
                self.assertIn(message, done.stderr)
        for words, message in (("--model attention --vocab 10", "model attention does not support --vocab"),
                               ("--model small --causal false", "--causal false needs --model attention"),
                               ("--model attention --edition 2024", "belongs to edition 2025")):
            done = self.bench(*words.split())
            with self.subTest(words):
                self.assertEqual(done.returncode, 2)
                self.assertIn(message, done.stderr)


if __name__ == "__main__":
    unittest.main()
