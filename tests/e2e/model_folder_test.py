"""--model with a model folder: shards, number types, older names, and rejected folders."""

import json
import os
import shutil
import struct
import unittest
from pathlib import Path

from program import ProgramTest

FOLDERS = Path(os.environ["LAPTIME_GOLDEN_DIR"]).parent / "golden_hf"
STEP = ["--context", "16", "--batch", "2", "--steps", "2", "--warmup", "1", "--mode", "compile", "--reproducible"]


def read_safetensors(path: Path) -> dict[str, tuple[str, list[int], bytes]]:
    content = path.read_bytes()
    size = struct.unpack("<Q", content[:8])[0]
    header = json.loads(content[8 : 8 + size])
    header.pop("__metadata__", None)
    return {
        name: (one["dtype"], one["shape"], content[8 + size + one["data_offsets"][0] : 8 + size + one["data_offsets"][1]])
        for name, one in header.items()
    }


def write_safetensors(path: Path, tensors: dict[str, tuple[str, list[int], bytes]]) -> None:
    header, data = {}, b""
    for name, (dtype, shape, values) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(values)]}
        data += values
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def as_bfloat16(values: bytes) -> bytes:
    """float32 numbers truncated to bfloat16."""
    return b"".join(values[i + 2 : i + 4] for i in range(0, len(values), 4))


def as_float16(values: bytes) -> bytes:
    """float32 numbers rounded to float16."""
    numbers = struct.unpack(f"<{len(values) // 4}f", values)
    return struct.pack(f"<{len(numbers)}e", *numbers)


class ModelFolder(ProgramTest):
    def copy(self, name: str) -> Path:
        folder = self.folder / name
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(FOLDERS / name, folder)
        return folder

    def losses(self, folder: Path, *more: str, step: list[str] = STEP) -> list[float]:
        done = self.laptime("bench", "--model", folder, *step, *more, "--store", "none", "--output", "json")
        self.assert_ok(done)
        record = json.loads(done.stdout)[0]
        # The folder named gpt2 does not contain the well-known model of that name.
        self.assertEqual(record["config"]["model"], "custom" if folder.name == "gpt2" else folder.name)
        return record["loss"]["values"]

    def refusal(self, *words) -> str:
        done = self.laptime("bench", *words, "--store", "none")
        self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
        return done.stderr

    def test_reads_weights_from_the_folder(self):
        folder = self.copy("llama")
        with_weights = self.losses(folder)
        (folder / "model.safetensors").unlink()
        self.assertNotEqual(self.losses(folder), with_weights)

    def test_training_from_the_weights_lowers_the_loss(self):
        # Each byte is a token. The text has no lower-case letters, whose codes are not in the smallest vocabulary (97).
        sentences = ["THE SHIP LEFT THE BAY AT NOON. ", "A GULL SAT ON THE MAST. ", "THE WIND TURNED, AND THE SEA ROSE. "]
        text = self.folder / "log.txt"
        text.write_text("".join(sentences[i * i % 3] + sentences[i % 2] for i in range(40)))
        step = ["--context", "32", "--batch", "4", "--warmup", "0", "--steps", "60", "--optimizer", "torch"]
        data = ["--data", str(text), "--data-format", "bytes", "--lr", "0.003"]
        for name in ("llama", "qwen2", "gpt2", "gpt_neox"):
            for mode, dtype in (("eager", "float32"), ("compile", "bfloat16")):
                losses = self.losses(FOLDERS / name, *data, "--mode", mode, "--dtype", dtype, step=step)
                self.assertEqual(len(losses), 60)
                self.assertLess(sum(losses[-5:]) / 5, 0.6 * losses[0], (name, mode, losses))

    def test_reads_the_shards_listed_in_the_index_file(self):
        folder = self.copy("qwen3")
        whole = self.losses(folder)
        tensors = read_safetensors(folder / "model.safetensors")
        names = sorted(tensors)
        shards = {"a.safetensors": names[::2], "b.safetensors": names[1::2]}
        for file, inside in shards.items():
            write_safetensors(folder / file, {name: tensors[name] for name in inside})
        weight_map = {name: file for file, inside in shards.items() for name in inside}
        (folder / "model.safetensors").unlink()
        (folder / "model.safetensors.index.json").write_text(json.dumps({"metadata": {}, "weight_map": weight_map}))
        self.assertEqual(self.losses(folder), whole)
        (folder / "b.safetensors").unlink()
        self.assertIn("b.safetensors", self.refusal("--model", folder, *STEP))
        weight_map[names[0]] = "../a.safetensors"
        (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": weight_map}))
        self.assertIn("name of a file in the same folder", self.refusal("--model", folder, *STEP))

    def test_reads_older_tensor_names_and_ignores_buffers(self):
        folder = self.copy("gpt2")
        whole = self.losses(folder)
        tensors = read_safetensors(folder / "model.safetensors")
        older = {name.removeprefix("transformer."): value for name, value in tensors.items()}
        older["h.0.attn.bias"] = ("F32", [1, 1, 2, 2], bytes(16))
        older["lm_head.weight"] = tensors["transformer.wte.weight"]
        write_safetensors(folder / "model.safetensors", older)
        self.assertEqual(self.losses(folder), whole)

    def test_reads_bfloat16_weights(self):
        folder = self.copy("gpt_neox")
        whole = self.losses(folder)
        tensors = read_safetensors(folder / "model.safetensors")
        narrow = {name: ("BF16", shape, as_bfloat16(values)) for name, (_, shape, values) in tensors.items()}
        write_safetensors(folder / "model.safetensors", narrow)
        for loss, exact in zip(self.losses(folder), whole):
            self.assertAlmostEqual(loss, exact, delta=0.05 * exact)
            self.assertNotEqual(loss, exact)

    def test_errors_name_the_damaged_file_or_tensor(self):
        folder = self.copy("llama")
        file = folder / "model.safetensors"
        content = file.read_bytes()
        file.write_bytes(content[: len(content) // 2])
        self.assertIn("model.safetensors", self.refusal("--model", folder, *STEP))
        tensors = read_safetensors(FOLDERS / "llama" / "model.safetensors")
        del tensors["model.norm.weight"]
        write_safetensors(file, tensors)
        self.assertIn("model.norm.weight", self.refusal("--model", folder, *STEP))

    def test_rejects_unsupported_config_keys_that_change_the_computation(self):
        folder = self.copy("qwen2")
        config = json.loads((folder / "config.json").read_text())
        (folder / "config.json").write_text(json.dumps(config | {"num_experts": 8}))
        for command in ("bench", "plan", "memory", "profile", "explain"):
            done = self.laptime(command, "--model", folder, "--context", "16", "--store", "none")
            self.assertEqual(done.returncode, 2, done.stdout)
            self.assertIn("'num_experts' is 8, which is not supported", done.stderr)

    def test_rejects_a_path_without_a_model(self):
        self.assertIn("no file or folder", self.refusal("--model", self.folder / "missing"))
        empty = self.folder / "empty"
        empty.mkdir()
        self.assertIn("config.json", self.refusal("--model", empty))
        os.mkfifo(self.folder / "config.json")
        self.assertIn("cannot be read", self.refusal("--model", self.folder / "config.json"))
        self.assertIn("name its folder", self.refusal("--model", FOLDERS / "llama" / "model.safetensors"))

    def test_rejects_pickled_weights(self):
        folder = self.copy("llama")
        (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
        self.assertIn("save the model as safetensors", self.refusal("--model", folder))
        self.assert_ok(self.laptime("plan", "--model", folder / "config.json", "--context", "16"))

    def test_every_command_accepts_a_config_file(self):
        file = FOLDERS / "llama" / "config.json"
        model = ["--model", file, "--context", "16", "--batch", "2", "--store", self.store]
        compared = ["--mode", "eager,compile", "--budget", "2"]
        recorded = ["--system", "mine", "--micro-batches", "2", "--warmup", "2", "--steps", "10"]
        self.assert_ok(self.laptime("bench", *model, "--budget", "1"))
        for words in (["plan"], ["memory"], ["explain"], ["profile", "--budget", "1"], ["compare", *compared]):
            self.assert_ok(self.laptime(*words, *model))
        self.assert_ok(self.laptime("record", *model, *recorded, input='{"step": 1000000}\n' * 20))
        page = self.folder / "page.html"
        self.assert_ok(self.laptime("report", "--html", page, "--store", self.store))
        self.assertIn('"llama"', page.read_text())

    def test_forward_saves_as_many_bytes_as_pytorch(self):
        sizes = {"gpt2": 33, "gpt_neox": 31, "gpt_neox_sequential": 16, "llama": 33, "llama3_tied": 32, "qwen2": 24, "qwen3": 29}
        stated = json.loads((FOLDERS / "memory.json").read_text())
        for name, context in sizes.items():
            step = ["memory", "--model", FOLDERS / name, "--context", str(context), "--batch", "2", "--pass",
                    "forward_backward", "--store", "none", "--output", "json"]
            findings = {}
            for dtype in ("float32", "bfloat16"):
                done = self.laptime(*step, "--dtype", dtype)
                self.assert_ok(done)
                findings[dtype] = {(one["kind"], one.get("subject")): one for one in json.loads(done.stdout)[0]["findings"]}
            if not name.startswith("gpt"):
                saved = findings["bfloat16"]["saved_for_backward", None]["bytes"]
                self.assertEqual(saved, stated[name]["saved_bytes_bfloat16"], name)
            found = findings["float32"]
            self.assertEqual(found["saved_for_backward", None]["bytes"], stated[name]["saved_bytes"], name)
            tokens = 2 * 2 * context * 8
            own = found["memory_share", "parameters"]["bytes"] + tokens
            peak = found["memory_peak", None]["requested_bytes"] - own
            self.assertAlmostEqual(peak / stated[name]["peak_bytes"], 1, delta=0.05 if name == "gpt2" else 0.01, msg=name)

    def test_verify_compares_a_folder(self):
        done = self.laptime("verify", FOLDERS / "llama3_tied", "--store", "none")
        self.assert_ok(done)
        self.assertRegex(done.stdout, r"\Apassed  folder .*llama3_tied.* \d+ compared, 0 skipped\n\Z")
        self.assert_ok(self.laptime("verify", FOLDERS / "llama3_tied" / "config.json", "--store", "none"))

    def test_reads_float16_weights(self):
        folder = self.copy("qwen3")
        expected = self.losses(folder)
        tensors = read_safetensors(folder / "model.safetensors")
        halves = {name: ("F16", shape, as_float16(values)) for name, (_, shape, values) in tensors.items()}
        write_safetensors(folder / "model.safetensors", halves)
        for found, loss in zip(self.losses(folder), expected, strict=True):
            self.assertAlmostEqual(found, loss, delta=0.002 * loss)


if __name__ == "__main__":
    unittest.main()
