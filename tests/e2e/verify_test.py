"""laptime verify: a golden file passes, a file with a changed number fails, and all files are read first."""

import json
import os
import struct
import unittest
from pathlib import Path

from program import ProgramTest

GOLDEN = Path(os.environ["LAPTIME_GOLDEN_DIR"]) / "tiny_2025.safetensors"


def changed(content: bytes, tensor: str, factor: float) -> bytes:
    """A copy of a golden file in which the largest element of one float64 tensor is scaled."""
    header_bytes = struct.unpack("<Q", content[:8])[0]
    stated = json.loads(content[8 : 8 + header_bytes])[tensor]
    begin, end = (8 + header_bytes + offset for offset in stated["data_offsets"])
    assert stated["dtype"] == "F64"
    values = list(struct.unpack(f"<{(end - begin) // 8}d", content[begin:end]))
    largest = max(range(len(values)), key=lambda i: abs(values[i]))
    values[largest] *= factor
    return content[:begin] + struct.pack(f"<{len(values)}d", *values) + content[end:]


class Verify(ProgramTest):
    def test_a_golden_file_passes(self):
        done = self.laptime("verify", GOLDEN)
        self.assert_ok(done)
        self.assertRegex(done.stdout, r"\Apassed  .*tiny_2025.safetensors.* \(.*: \d+ compared, \d+ skipped\n\Z")
        done = self.laptime("verify", "--verbose", GOLDEN)
        self.assertIn("\npassed\n", done.stdout)
        self.assertGreater(done.stdout.count("\n"), 50)

    def test_uses_the_given_mode_threads_and_kernels(self):
        words = ["--mode", "compile", "--recompute", "block", "--threads", "2", "--store", self.store, "--verbose"]
        done = self.laptime("verify", GOLDEN, *words)
        self.assert_ok(done)
        self.assertIn("\non compile, recompute block, cpu", done.stdout)
        self.assertIn("2 threads, fastest measured kernels\n", done.stdout)
        self.assertFalse(self.store.exists(), "verify only reads a store")
        done = self.laptime("verify", GOLDEN, *words, "--kernels", "none.json")
        self.assertEqual(done.returncode, 2, done.stdout)
        self.assertIn("none.json", done.stderr)

    def test_a_changed_number_fails(self):
        file = self.folder / "changed.safetensors"
        for tensor in ("logits", "grad/layers.0.attn.q_proj.weight"):
            with self.subTest(tensor):
                file.write_bytes(changed(GOLDEN.read_bytes(), tensor, 1.01))
                done = self.laptime("verify", GOLDEN, file)
                self.assertEqual(done.returncode, 1, done.stdout)
                self.assertIn("FAIL", done.stdout)
        reading, writing = os.pipe()
        os.close(reading)
        self.assertEqual(self.laptime("verify", GOLDEN, file, stdout=writing).returncode, 1)
        os.close(writing)

    def test_reads_every_file_before_it_verifies_any(self):
        done = self.laptime("verify", GOLDEN, "none.safetensors")
        self.assertEqual((done.returncode, done.stdout), (2, ""))


if __name__ == "__main__":
    unittest.main()
