"""--device cuda: messages on a machine without a GPU, and whole steps on the fake GPU of tests/fake_cuda."""

import json
import os
import subprocess
import unittest
from pathlib import Path

from program import BINARY, MODEL, ONE_STEP, TINY, ProgramTest

FAKE = Path(BINARY).parent / "fake_cuda"
CHECK = Path(__file__).resolve().parents[2] / "tools/gpu_check"
GOLDEN = Path(os.environ["LAPTIME_GOLDEN_DIR"])


def run(words: list, environment: dict) -> subprocess.CompletedProcess:
    return subprocess.run(list(map(str, words)), env=environment, capture_output=True, text=True, check=False, timeout=300)


class WithoutCard(ProgramTest):
    def setUp(self):
        super().setUp()
        done = self.laptime("list", "devices")
        self.assert_ok(done)
        self.line = next(line for line in done.stdout.splitlines() if line.startswith("cuda"))
        if "not available" not in self.line:
            self.skipTest("this machine has a GPU")

    def test_list_states_why_cuda_is_unavailable(self):
        self.assertRegex(self.line, r"^cuda +not available: .*(cannot be loaded|GPU|toolkit)")

    def test_bench_states_why_cuda_is_unavailable(self):
        done = self.bench(*TINY, "--device", "cuda")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertRegex(done.stderr, r"--device cuda: .*(libcuda\.so\.1 cannot be loaded|GPU|toolkit)")
        self.assertIn("use --device cpu or roofline:NAME", done.stderr)

    @unittest.skipUnless((Path(BINARY).parent / "test_ops").exists(), "test_ops is not built")
    def test_gpu_check_refuses_to_run_without_a_gpu(self):
        done = run([CHECK, BINARY, "--folder", self.folder / "check"], self.environment)
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("no GPU to check: cuda", done.stderr)


class OnTheFakeCard(ProgramTest):
    def setUp(self):
        super().setUp()
        self.environment["LD_LIBRARY_PATH"] = str(FAKE)
        done = self.laptime("list", "devices")
        self.assert_ok(done)
        self.line = next(line for line in done.stdout.splitlines() if line.startswith("cuda"))
        if "toolkit" in self.line:
            self.skipTest("built without the CUDA toolkit")

    def test_list_names_the_gpu(self):
        self.assertRegex(self.line, r"^cuda +fake card, compute capability 9\.0, 4\.\d+ G.*; not tested on this GPU, but on NVIDIA H100")

    def test_gpu_without_kernels_is_not_available(self):
        self.environment["LAPTIME_FAKE_CUDA_MAJOR"] = "7"
        done = self.bench(*TINY, "--device", "cuda")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("need a GPU of compute capability 8.0 or newer, and fake card has 7.0", done.stderr)

    def test_steps_agree_with_stored_values(self):
        done = self.laptime("verify", GOLDEN / "tiny_2025.safetensors", "--device", "cuda", "--mode", "eager")
        self.assert_ok(done)
        self.assertRegex(done.stdout, r"\Apassed .*eager, cuda")

    def test_gpu_check_reports_its_checks_and_resumes(self):
        check = [CHECK, BINARY, "--folder", self.folder / "check"]
        done = run(check, self.environment)
        self.assertEqual(done.returncode, 2)
        self.assertIn("no GPU to check", done.stderr)
        done = run([*check, "--fake"], self.environment)
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertRegex(done.stdout, r"verify tiny_2025 compile +ok ")
        self.assertRegex(done.stdout, r"kernels of linear +ok ")
        self.assertRegex(done.stdout, r"devices +ok .*\n  cuDNN 9\.19")
        self.assertRegex(done.stdout, r"kernels of attention +ok ")
        self.assertRegex(done.stdout, r"  scaled_dot_product_attention:(tiles|cudnn), scaled_dot_product_attention_backward:(tiles|cudnn)\n")
        self.assertRegex(done.stdout, r"records of CUPTI +ok ")
        self.assertRegex(done.stdout, r"verify tiny_2025 compile tf32 +ok ")
        self.assertRegex(done.stdout, r"kernels of linear +ok .*\n  kernels run on fake card\n")
        self.assertRegex(done.stdout, r"small 4 x 512 bfloat16 against PyTorch, eager +>= 3.00 x +not measured\n")
        self.assertIn("11 passed, 0 failed; ", done.stdout)
        done = run([*check, "--fake"], self.environment)
        self.assertRegex(done.stdout, r"verify tiny_2025 compile +passed before")
        done = run([*check, "--fake", "--again", "--part", "numbers", "--minutes", "0.05"], self.environment)
        self.assertRegex(done.stdout, r"devices +not begun: no time left")
        self.assertIn("11 open; ", done.stdout)

    def test_runs_a_chosen_cublaslt_algorithm(self):
        words = [*TINY, *ONE_STEP, "--device", "cuda"]
        self.assert_ok(self.bench(*words))
        (record,) = self.stored()
        for use in record["kernels"]:
            if use["op"] in ("linear", "matmul"):
                use["kernel"] = "cublaslt_3"
        chosen = self.folder / "chosen.json"
        chosen.write_text(json.dumps([record]))
        self.assert_ok(self.bench(*words, "--kernels", chosen))
        other = self.stored()[-1]
        kernels = {use["kernel"] for use in other["kernels"] if use["op"] in ("linear", "matmul")}
        self.assertEqual(kernels, {"cublaslt_3"})
        self.assertAlmostEqual(record["loss"]["values"][0], other["loss"]["values"][0], places=5)

    def test_algorithm_that_refuses_to_launch_is_left_out(self):
        self.environment["LAPTIME_FAKE_CUBLASLT_REFUSES"] = "1"
        self.assert_ok(self.bench(*TINY, *ONE_STEP, "--device", "cuda", "--mode", "compile"))
        (record,) = self.stored()
        self.assertEqual(record["status"], "ok", record["reason"])
        self.assertNotIn("cublaslt_1", {use["kernel"] for use in record["kernels"]})

    def attention_kernels(self, record: dict) -> set:
        return {use["kernel"] for use in record["kernels"] if use["op"].startswith("scaled_dot_product_attention")}

    def test_runs_cudnn_attention(self):
        words = [*TINY, "--warmup", "0", "--steps", "3", "--device", "cuda", "--dtype", "bfloat16", "--mode", "compile"]
        self.assert_ok(self.bench(*words))
        (record,) = self.stored()
        losses = []
        for kernel in ("tiles", "cudnn"):
            for use in record["kernels"]:
                if use["op"].startswith("scaled_dot_product_attention"):
                    use["kernel"] = kernel
            chosen = self.folder / f"{kernel}.json"
            chosen.write_text(json.dumps([record]))
            self.assert_ok(self.bench(*words, "--kernels", chosen))
            self.assertEqual(self.attention_kernels(self.stored()[-1]), {kernel})
            losses.append(self.stored()[-1]["loss"]["values"])
        for ours, other in zip(*losses, strict=True):
            self.assertAlmostEqual(ours, other, places=2)

    def test_uses_own_attention_kernel_without_cudnn(self):
        words = [*TINY, *ONE_STEP, "--device", "cuda", "--dtype", "bfloat16", "--mode", "compile"]
        self.environment["LAPTIME_FAKE_CUDNN_REFUSES"] = "1"
        self.assert_ok(self.bench(*words))
        del self.environment["LAPTIME_FAKE_CUDNN_REFUSES"]
        self.environment["LAPTIME_FAKE_CUDNN_VERSION"] = "91002"
        self.assert_ok(self.bench(*words))
        for record in self.stored():
            self.assertEqual(self.attention_kernels(record), {"tiles"})
        done = self.laptime("list", "devices")
        self.assertIn("no cuDNN", done.stdout)

    def test_tf32_changes_the_loss_and_is_recorded(self):
        self.assert_ok(self.bench(*TINY, *ONE_STEP, "--device", "cuda", "--dtype", "float32,tf32", "--mode", "compile"))
        exact, tf32 = self.stored()
        self.assertIn("tf32", tf32["math_mode"])
        self.assertNotIn("tf32", exact["math_mode"])
        self.assertNotEqual(exact["loss"]["values"], tf32["loss"]["values"])
        self.assertAlmostEqual(exact["loss"]["values"][0], tf32["loss"]["values"][0], places=2)

    def test_launches_of_a_captured_step_wait_for_all_operands(self):
        """The losses do not depend on the order of launches that the GPU may run concurrently."""
        gpt2 = ["--edition", "gpt2", "--embd-pdrop", "0.1", "--attn-pdrop", "0.1", "--resid-pdrop", "0.1"]
        for more in (["--dtype", "float16"], ["--dtype", "bfloat16", *gpt2]):
            with self.subTest(more=more):
                words = [*TINY, "--warmup", "0", "--steps", "3", "--device", "cuda", "--mode", "compile", *more]
                losses = []
                for order in ({}, {"LAPTIME_FAKE_CUDA_EAGER": "1"}):
                    self.environment.pop("LAPTIME_FAKE_CUDA_EAGER", None)
                    self.environment.update(order)
                    self.assert_ok(self.bench(*words))
                    losses.append(self.stored()[-1]["loss"]["values"])
                self.assertEqual(*losses)

    def test_recomputation_does_not_change_the_loss(self):
        words = [*TINY, *ONE_STEP, "--device", "cuda", "--mode", "compile", "--reproducible"]
        self.assert_ok(self.bench(*words, "--recompute", "none,block"))
        plain, recomputed = self.stored()
        self.assertAlmostEqual(plain["loss"]["values"][0], recomputed["loss"]["values"][0], places=5)

    def test_padded_logits_of_an_odd_vocabulary_match_the_cpu(self):
        """In compile mode, steps with padded logits give the losses of the CPU and use the planned memory."""
        words = [*MODEL[:-4], "--batch", "1", "--vocab", "1003", "--context", "16", "--warmup", "0", "--steps", "2", "--mode", "compile"]
        for dtype, places in (("float32", 5), ("bfloat16", 2)):
            with self.subTest(dtype=dtype):
                self.store = self.folder / f"{dtype}.sqlite"
                self.assert_ok(self.bench(*words, "--dtype", dtype))
                self.assert_ok(self.bench(*words, "--dtype", dtype, "--device", "cuda"))
                on_cpu, on_card = self.stored()
                self.assertEqual(on_card["memory"]["peak_bytes"], on_card["memory"]["predicted_peak_bytes"])
                products = [use for use in on_card["kernels"] if use["op"] in ("linear", "matmul") and "1003" in use["signature"]]
                self.assertIn("padded=true", products[0]["signature"])
                self.assertEqual(len(products), 3)
                for use in products:
                    use["kernel"] = "cublaslt_padded_1"
                chosen = self.folder / "chosen.json"
                chosen.write_text(json.dumps([on_card]))
                self.assert_ok(self.bench(*words, "--dtype", dtype, "--device", "cuda", "--kernels", chosen))
                split = self.stored()[-1]
                self.assertEqual([use for use in split["kernels"] if "padded_1" in use["kernel"]], products)
                for record in (on_card, split):
                    for ours, other in zip(record["loss"]["values"], on_cpu["loss"]["values"], strict=True):
                        self.assertAlmostEqual(ours, other, places=places)

    def test_cuda_errors_fail_each_point_with_a_reason(self):
        for status, words in ((700, "illegal memory access"), (214, "nvidia-smi -q -d ECC"), (702, "timed out"), (46, "nvidia-smi")):
            with self.subTest(status=status):
                self.environment["LAPTIME_FAKE_CUDA_FAIL"] = f"{status}@40"
                self.store = self.folder / f"{status}.sqlite"
                done = self.bench(*MODEL, *ONE_STEP, "--device", "cuda", "--context", "8,16")
                self.assertEqual(done.returncode, 1, done.stderr)
                records = self.stored()
                self.assertEqual([record["status"] for record in records], ["failed"] * 2)
                for record in records:
                    self.assertIn(words, record["reason"])

    def test_memory_of_other_programs_is_not_counted_as_available(self):
        self.environment["LAPTIME_FAKE_CUDA_TAKEN"] = str((4 << 30) - (32 << 20) - 50_000)  # cuBLASLt takes 32 MiB
        self.bench(*TINY, *ONE_STEP, "--device", "cuda")
        (record,) = self.stored()
        self.assertEqual(record["status"], "out_of_memory", record["reason"])
        self.assertEqual(record["bytes_available"], 50_000)

    def test_recording_that_does_not_fit_is_out_of_memory(self):
        words = [*TINY, *ONE_STEP, "--device", "cuda", "--mode", "compile"]
        self.assert_ok(self.bench(*words))
        held = self.stored()[0]["memory"]["peak_bytes"]
        self.environment["LAPTIME_FAKE_CUDA_TAKEN"] = str((4 << 30) - (32 << 20) - held)
        self.assert_ok(self.bench(*words))
        record = self.stored()[-1]
        self.assertEqual(record["status"], "out_of_memory", record["reason"])
        self.assertIn("cuGraphInstantiate failed", record["reason"])
        self.assertIsNone(record["bytes_requested"])

    def test_record_contains_the_sensors_of_the_gpu(self):
        self.environment["LAPTIME_FAKE_NVML_REASONS"] = str(0x04 | 0x40)
        self.assert_ok(self.bench(*TINY, "--warmup", "1", "--steps", "20", "--device", "cuda"))
        (record,) = self.stored()
        sensors = record["machine"]["sensors"]
        count = len(sensors["power_watts"])
        # Steps on the fake card are far shorter than the interval between readings.
        self.assertIn(count, range(1, 20))
        self.assertEqual(sensors["power_watts"], [300.0] * count)
        self.assertEqual(sensors["clock_hz"], [1.98e9] * count)
        self.assertEqual(sensors["slowed_steps"], {"power cap": count, "heat (hardware)": count})
        self.assertIsNone(sensors["uncorrected_errors"])
        self.assertIn(f"the device was slowed in {count} of {count} reading{'s' * (count > 1)}: power cap", record["verdict"]["reasons"])
        self.assertIn("1 other program also used the device", record["verdict"]["reasons"])

    def test_eager_steps_allocate_from_a_pool(self):
        words = [*TINY, *ONE_STEP, "--device", "cuda"]
        self.assert_ok(self.bench(*words, "--mode", "eager,compile"))
        eager, compiled = (record["memory"] for record in self.stored())
        self.assertEqual(eager["peak_bytes"], eager["predicted_peak_bytes"])
        self.assertGreater(eager["reserved_bytes"], eager["peak_bytes"])  # the pool grows in units of 2 MiB
        self.assertLess(eager["requested_bytes"], eager["peak_bytes"] + 1)
        self.assertEqual(compiled["reserved_bytes"], compiled["peak_bytes"])
        done = self.laptime("memory", "--run", "--view", "accounts", *words, "--mode", "eager")
        self.assert_ok(done)
        self.assertRegex(done.stdout, r"reserved .* taken from the device by the step's memory pool")

    def test_steps_are_timed_by_host_and_device(self):
        self.assert_ok(self.bench(*TINY, "--warmup", "1", "--steps", "3", "--device", "cuda"))
        (record,) = self.stored()
        host = record["host"]
        self.assertEqual(len(host["samples"]), 3)
        device = record["time"]["step"]["median"]
        self.assertAlmostEqual(host["difference"], host["median"] / device - 1, places=6)
        done = self.laptime("show", "--store", self.store, "--columns", "median,host_time,host_difference")
        self.assert_ok(done)
        self.assertRegex(done.stdout, r"host_time +host_difference")

    def finding(self, kind: str, *words) -> dict:
        """The single finding of the given kind in a profile."""
        done = self.laptime("profile", *TINY, *ONE_STEP, "--device", "cuda", "--output", "json", *words)
        self.assert_ok(done)
        (point,) = json.loads(done.stdout)
        (found,) = [finding for finding in point["findings"] if finding["kind"] == kind]
        return found

    def test_profile_states_the_idle_time_of_the_gpu(self):
        words = ["--traced-steps", "2", "--store", "none", "--mode"]
        idle = self.finding("device_idle", *words, "eager")
        self.assertEqual((idle["records"], idle["watched_steps"]), ("CUPTI", 2))
        self.assertGreater(idle["kernels"], 0)
        self.assertGreater(idle["graph_s"], 0)
        self.assertTrue(0 <= idle["share"] < 1, idle)
        self.assertEqual(idle["is_launch_bound"], idle["share"] >= 0.1)
        self.assertGreater(self.finding("launch_sum", *words, "eager")["launches_s"], 0)
        for mode, text in (("eager", r"idles [\d.]+ % of a step"), ("compile", r"idles at least [\d.]+ % of a step")):
            done = self.laptime("profile", *TINY, *ONE_STEP, "--device", "cuda", "--verbose", *words, mode)
            self.assertRegex(done.stdout, text)
        self.environment["LAPTIME_FAKE_CUPTI_REFUSES"] = "1"
        idle = self.finding("device_idle", *words, "eager")
        self.assertEqual(idle["watched_steps"], 0)
        self.assertIn("CUPTI_ERROR_INSUFFICIENT_PRIVILEGES (status 35)", idle["missing"])
        self.assertGreater(self.finding("marks", *words, "eager")["mark_s"], 0)
        self.assertTrue(0 <= idle["share"] < 1, idle)
        idle = self.finding("device_idle", *words, "compile")
        self.assertIsNone(idle["share"])
        self.assertTrue(idle["is_graph"])

    def test_profile_has_the_measured_limits_of_the_gpu(self):
        rates = self.finding("rates", "--store", self.store)
        self.assertGreater(rates["peak_flops_per_second"], 0)
        self.assertGreater(rates["bandwidth_bytes_per_second"], 0)
        (record,) = self.stored()
        self.assertGreater(record["flops"]["mfu_measured"], 0)
        self.assertIsNone(record["flops"]["mfu_datasheet"])  # the fake GPU has no data sheet

    def test_nvtx_tool_receives_range_names(self):
        tool = FAKE / "liblaptime_fake_nvtx.so"
        if not tool.exists():
            self.skipTest("built without the NVTX header")
        heard = self.folder / "ranges.txt"
        self.environment |= {"NVTX_INJECTION64_PATH": str(tool), "LAPTIME_FAKE_NVTX_OUTPUT": str(heard)}
        self.assert_ok(self.bench(*TINY, "--warmup", "1", "--steps", "1", "--device", "cuda", "--mode", "eager"))
        lines = heard.read_text().splitlines()
        step = lines[lines.index("step"):]
        self.assertLess(lines.index("warmup"), lines.index("step"))
        self.assertEqual([line.strip() for line in step if line.startswith("  ") and line[2] != " "],
                         ["forward", "backward", "optimizer"])
        self.assertIn("    scaled dot product attention", step)
        for name in ("computing attention scores", "computing softmax", "final matmul"):
            self.assertIn("      " + name, step)

    def test_profiles_attention_alone(self):
        """Outputs must be checked before the traced steps, which free them."""
        self.assert_ok(self.laptime("profile", "--model", "attention", "--d-model", "16", "--context", "16", "--batch", "1",
                                    *ONE_STEP, "--mode", "eager,compile", "--device", "cuda", "--store", self.store))
        self.assertEqual([record["status"] for record in self.stored()], ["ok", "ok"])

    def test_gpu_check_lists_its_steps(self):
        done = run([CHECK, BINARY, "--list"], self.environment)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"kernels part 16 of 16 +numbers +\d+\.\d min\n")
        self.assertRegex(done.stdout, r"\n\d+ steps, about \d+ min\n\Z")

    def test_bench_records_the_gpu(self):
        done = self.bench(*TINY, *ONE_STEP, "--device", "cuda")
        self.assert_ok(done)
        (record,) = self.stored()
        self.assertEqual(record["config"]["device"], "cuda")
        self.assertEqual(record["status"], "ok")
        card = record["machine"]["card"]
        self.assertEqual((card["name"], card["compute_capability"], card["driver"]), ("fake card", "9.0", "13.0"))
        self.assertIn("cuDNN 9.19", card["libraries"])
        self.assertIn("fake card", done.stdout)


if __name__ == "__main__":
    unittest.main()
