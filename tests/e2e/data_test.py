"""--data: token files of other trainers are recognised, the record describes the data, and a large file is read once."""

import json
import struct
import subprocess
import unittest

from program import BINARY, PREDICTED, ProgramTest

SMALL = "--d-model 32 --d-ff 64 --num-layers 1 --num-heads 2 --batch 1 --context 16".split()
LLAMA3 = struct.pack("<256i", 20240801, 7, 600, *[0] * 253) + struct.pack("<600I", *(i * 211 for i in range(600)))


class Data(ProgramTest):
    def record(self, *words):
        done = self.laptime("bench", *words, "--steps", "1", "--store", "none", "--output", "json", "--columns", "all")
        self.assert_ok(done)
        return json.loads(done.stdout)[0]

    def test_large_vocabulary_reads_uint32_tokens(self):
        (self.folder / "llama3.bin").write_bytes(LLAMA3)
        record = self.record(*SMALL, "--vocab", "128256", "--warmup", "0", "--data", "llama3.bin")
        self.assertEqual(record["data"], {"format": "llmc", "type": "uint32", "files": 1, "tokens": 600, "smallest": 0,
                                          "largest": 126389, "zero_share": 1 / 600, "remarks": []})
        self.assertEqual(record["status"], "ok")

    def test_reads_shards_from_a_list_or_a_pattern(self):
        for i in range(3):
            (self.folder / f"shard_{i}.bin").write_bytes(struct.pack("<100H", *range(i, 100 + i)))
        words = [*SMALL, "--vocab", "200", "--device", "roofline:h100"]
        sweep = self.folder / "sweep.toml"
        sweep.write_text('data = ["shard_0.bin", "shard_1.bin", "shard_2.bin"]\n')
        whole = self.record(*words, "--data", "shard_*.bin")
        for more in (["--data", "shard_0.bin,shard_1.bin,shard_2.bin"], ["--config", "sweep.toml"]):
            record = self.record(*words, *more)
            self.assertEqual(record["data"]["files"], 3)
            self.assertEqual(record["config_hash"], whole["config_hash"])
        self.assertEqual((whole["data"]["tokens"], whole["data"]["largest"]), (300, 101))
        done = self.laptime("bench", *words, "--data", "none_*.bin")
        self.assertEqual(done.returncode, 2)
        self.assertIn("no file matches 'none_*.bin'", done.stderr)

    def test_output_does_not_overwrite_a_shard(self):
        (self.folder / "shard_1.bin").write_bytes(bytes(200))
        done = self.laptime("bench", *PREDICTED, "--data", "shard_*.bin", "--output-file", "shard_1.bin")
        self.assertEqual(done.returncode, 2)
        self.assertIn("the data file", done.stderr)

    def test_large_file_is_read_once(self):
        size = 30 << 20
        (self.folder / "large.bin").write_bytes(bytes(range(1, 60)) * (size // 59))
        script = f'"{BINARY}" bench "$@" --steps 1 --store none > /dev/null 2>&1; grep rchar /proc/$$/io'

        def bytes_read(*words) -> int:
            done = subprocess.run(["sh", "-c", script, "sh", *words], env=self.environment, cwd=self.folder, text=True,
                                  capture_output=True, check=True)
            return int(done.stdout.split()[1])

        words = [*SMALL, "--vocab", "65536", "--device", "roofline:h100", "--seed", "1,2,3", "--data-format", "uint16"]
        without = bytes_read(*words[:-2])
        self.assertLess(bytes_read(*words, "--data", "large.bin") - without, 1.2 * size)


if __name__ == "__main__":
    unittest.main()
