"""Invalid input: exit code 2, one message that names the error, and nothing on standard output."""

import struct
import unittest

from program import PREDICTED, TINY, ProgramTest

# description -> (command-line arguments, texts that the message must contain)
WRONG = {
    "no command": (["nonsense"], ["'nonsense'"]),
    "a command misspelt": (["bensh"], ["'bensh'", "'bench'"]),
    "an option before the command": (["--model", "small"], ["'--model'"]),
    "an unknown option": (["bench", "--modle", "small"], ["'--modle'", "--model"]),
    "an unknown short option": (["bench", "-x"], ["'-x'"]),
    "an option without value": (["bench", "--model"], ["--model"]),
    "an option with an empty value": (["bench", "--model="], ["--model"]),
    "an option twice": (["bench", "--batch", "1", "--batch", "2"], ["--batch", "2 times"]),
    "a word without option": (["bench", "small"], ["'small'"]),
    "an unknown model": (["bench", "--model", "smal"], ["'smal'", "'small'"]),
    "an unknown edition": (["bench", "--edition", "2023"], ["'2023'"]),
    "an unknown type": (["bench", "--dtype", "float3"], ["'float3'", "'float32'"]),
    "an unknown pass": (["bench", "--pass", "backwards"], ["'backwards'", "'backward'"]),
    "a mode that does not exist": (["bench", "--mode", "graph"], ["'graph'"]),
    "an unknown optimizer": (["bench", "--optimizer", "sgd"], ["'sgd'"]),
    "an unknown device": (["bench", "--device", "tpu"], ["'tpu'"]),
    "a limit without a unit": (["bench", *PREDICTED, "--memory-limit", "8"], ["--memory-limit", "did you mean 8GiB?"]),
    "a store in a folder that is not there": (["bench", *PREDICTED, "--store", "none/a.sqlite"],
                                              ["'none/a.sqlite'", "folder 'none' does not exist"]),
    "an unknown predicted device": (["bench", "--device", "roofline:h1000"], ["h1000", "h100"]),
    "a word instead of a number": (["bench", "--batch", "four"], ["--batch", "'four'"]),
    "a number with a suffix": (["bench", "--batch", "4x"], ["--batch", "'4x'"]),
    "a fraction where a count is needed": (["bench", "--steps", "1.5"], ["--steps", "'1.5'"]),
    "a number below its range": (["bench", "--batch", "0"], ["--batch", "'0'"]),
    "a negative number": (["bench", "--batch", "-1"], ["--batch", "'-1'"]),
    "a number above its range": (["bench", "--threads", "5000"], ["--threads", "'5000'"]),
    "a number beyond 64 bits": (["bench", "--batch", "99999999999999999999"], ["--batch", "99999999999999999999"]),
    "infinity": (["bench", "--lr", "inf"], ["--lr", "'inf'"]),
    "not a number": (["bench", "--lr", "nan"], ["--lr", "'nan'"]),
    "no steps": (["bench", "--steps", "0"], ["--steps", "'0'"]),
    "an empty element of a list": (["bench", "--batch", "1,,2"], ["--batch", "''"]),
    "a value listed twice": (["bench", "--batch", "1,2,1"], ["--batch", "'1'", "twice"]),
    "a list for an option with one value": (["bench", "--timeout", "1,2"], ["--timeout", "1,2"]),
    "a product of too many points": (
        ["bench", "--seed", ",".join(map(str, range(1, 200))), "--batch", ",".join(map(str, range(1, 200)))],
        ["10000 points"]),
    "a width not divisible by the heads": (["bench", "--d-model", "32", "--num-heads", "5"], ["32", "5"]),
    "a width divisible at no point": (["bench", "--d-model", "32", "--num-heads", "5,6,7"], ["no point", "5"]),
    "sizes whose product overflows": (
        ["bench", "--d-model", "2147483646", "--num-heads", "1", "--num-layers", "100000", "--vocab", "2147483647"],
        ["2147483646"]),
    "weights that are not there": (["bench", *PREDICTED, "--weights", "none.safetensors"], ["none.safetensors"]),
    "weights whose name is too long": (["bench", *PREDICTED, "--weights", 300 * "a"], ["aaa", "too long"]),
    "a machine file whose name is too long": (["bench", "--device", f"roofline:{300 * 'a'}"], ["aaa"]),
    "data that is not there": (["bench", *PREDICTED, "--data", "none.txt"], ["none.txt"]),
    "data that is a folder": (["bench", *PREDICTED, "--data", "."], ["'.'"]),
    "a kernels file that is not there": (["bench", *PREDICTED, "--kernels", "none.json"], ["none.json"]),
    "explaining with a kernels file that is not there": (["explain", *PREDICTED, "--kernels", "none.json"],
                                                         ["none.json"]),
    "a kernels file that is a folder": (["bench", *PREDICTED, "--kernels", "."], ["'.'", "directory"]),
    "a sweep file that is not there": (["bench", "--config", "none.toml"], ["none.toml"]),
    "resuming from nowhere": (["bench", *PREDICTED, "--store", "none", "--resume"], ["--resume", "--store"]),
    "an unknown output format": (["bench", "--output", "xml"], ["'xml'"]),
    "an unknown column": (["bench", *PREDICTED, "--columns", "name,mediam"], ["'mediam'", "'median'"]),
    "sorting by an unknown column": (["bench", *PREDICTED, "--sort", "sped"], ["'sped'"]),
    "sorting in an unknown direction": (["bench", *PREDICTED, "--sort", "median:up"], ["up"]),
    "a label with an unknown option": (["bench", *PREDICTED, "--label", "{modell}"], ["modell"]),
    "a file in a folder that is not there": (["bench", *PREDICTED, "--output-file", "no/such/file"], ["no/such/file"]),
    "a file that is a folder": (["bench", *PREDICTED, "--output-file", "."], ["'.'"]),
    "a store that is a folder": (["bench", *PREDICTED, "--store", "."], ["'.'"]),
    "a store that is not there": (["show", "--store", "none.sqlite"], ["none.sqlite"]),
    "an incomplete filter": (["show", "--store", "good.sqlite", "model ="], ["model"]),
    "an unknown named sweep": (["bench", "--config", "end_to_ent"], ["'end_to_end'", "laptime list sweeps"]),
    "a filter with an unknown column": (["show", "--store", "good.sqlite", "medain > 1"], ["'medain'", "'median'"]),
    "a list without a topic": (["list"], ["models"]),
    "a list of an unknown topic": (["list", "planets"], ["'planets'"]),
    "nothing to verify": (["verify"], ["FILE"]),
    "verifying a file that is not there": (["verify", "none.safetensors"], ["none.safetensors"]),
    "help on an unknown command": (["help", "bensh"], ["'bensh'"]),
    "control bytes in a word": (["bench", "--model", "\x1b[31mred"], ["\\x1b"]),
}


class WrongInput(ProgramTest):
    def refuse(self, words, parts):
        done = self.laptime(*words)
        self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
        self.assertEqual(done.stdout, "")
        self.assertTrue(done.stderr.startswith("laptime"), done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        self.assertNotIn("\x1b", done.stderr)
        for part in parts:
            self.assertIn(part, done.stderr)

    def test_messages_name_the_wrong_argument(self):
        self.assert_ok(self.laptime("bench", *PREDICTED, "--steps", "1", "--store", "good.sqlite"))
        for what, (words, parts) in WRONG.items():
            with self.subTest(what):
                self.refuse(words, parts)

    def file(self, name: str, content: bytes) -> str:
        (self.folder / name).write_bytes(content)
        return name

    def test_messages_name_the_malformed_file(self):
        huge = 1 << 62
        header = b'{"w":{"dtype":"F32","shape":[9000000000000000000,9],"data_offsets":[0,4]}}'
        files = {
            "odd.bin": (["bench", *PREDICTED, "--data"], b"123"),
            "short.bin": (["bench", *PREDICTED, "--data"], b"12"),
            "beyond.bin": (["bench", *PREDICTED, "--data"], struct.pack("<H", 64) * 100),
            "beyond.txt": (["bench", *PREDICTED, "--data"], b"z" * 100),
            "empty.txt": (["bench", *PREDICTED, "--data"], b""),
            "empty.safetensors": (["bench", *PREDICTED, "--weights"], b""),
            "long_header.safetensors": (["bench", *PREDICTED, "--weights"], struct.pack("<Q", huge) + b"{}"),
            "no_json.safetensors": (["bench", *PREDICTED, "--weights"], struct.pack("<Q", 4) + b"{{{{"),
            "overflow.safetensors": (["bench", *PREDICTED, "--weights"],
                                     struct.pack("<Q", len(header)) + header + b"abcd"),
            "other.safetensors": (["bench", *PREDICTED, "--weights"], struct.pack("<Q", 2) + b"{}"),
            "golden.safetensors": (["verify"], struct.pack("<Q", 2) + b"{}"),
            "text_kernels.json": (["bench", *PREDICTED, "--kernels"], b"tiles\n"),
            "binary_kernels.json": (["bench", *PREDICTED, "--kernels"], bytes(range(256))),
            "broken_kernels.json": (["bench", *PREDICTED, "--kernels"], b'[{"kernels": ['),
            "other_kernels.json": (["explain", *PREDICTED, "--kernels"], b'{"kernels": [{"op": "matmul"}]}'),
            "unknown_kernels.json": (
                ["bench", *PREDICTED, "--kernels"],
                b'{"kernels": [{"op": "matmul", "signature": "matmul(a)", "kernel": "rofline"}]}'),
            "key.toml": (["bench", *PREDICTED, "--config"], b'modle = "small"\n'),
            "type.toml": (["bench", *PREDICTED, "--config"], b"batch = [[1]]\n"),
            "broken.toml": (["bench", *PREDICTED, "--config"], b"batch = [1\n"),
            "binary.toml": (["bench", *PREDICTED, "--config"], bytes(range(256))),
            "store.sqlite": (["bench", *PREDICTED, "--store"], b"not a database" * 1000),
            "stored.sqlite": (["show", "--store"], b"not a database" * 1000),
        }
        for name, (words, content) in files.items():
            with self.subTest(name):
                self.refuse([*words, self.file(name, content)], [name])

    def test_invalid_points_of_a_sweep_have_rows(self):
        words = ["--d-model", "32", "--num-heads", "2,5", "--device", "roofline:h100", "--steps", "1"]
        done = self.bench(*words, "--columns", "name,status")
        self.assert_ok(done)
        self.assertIn("unsupported", done.stdout)

    def test_a_sweep_without_a_supported_point_fails(self):
        for words in (["bench"], ["profile"], ["memory"], ["memory", "--run"], ["plan"], ["explain"], ["selfcheck"],
                      ["compare", "--again"]):
            with self.subTest(words):
                done = self.laptime(*words, *TINY, "--dtype", "tf32", "--store", "none")
                self.assertEqual(done.returncode, 1, done.stderr)
                self.assertIn("tf32 is a mode of NVIDIA tensor cores", done.stdout)
        self.assertEqual(self.bench(*TINY, "--dtype", "tf32", "--steps", "1").returncode, 1)
        refused = self.laptime("plan", "--model", "small", "--device", "h100", "--ranks", "8", "--batch", "3")
        self.assertEqual(refused.returncode, 1, refused.stderr)
        self.assertIn("batch (3) must be divisible", refused.stdout)
        self.assert_ok(self.bench(*TINY, "--device", "cuda,roofline:h100", "--steps", "1"))
        self.assertEqual([record["status"] for record in self.stored()], ["unsupported", "unsupported", "ok"])

    def test_creates_the_folder_of_the_default_store(self):
        self.assert_ok(self.laptime("bench", *PREDICTED, "--steps", "1"))
        self.assertTrue((self.folder / ".local/share/laptime/records.sqlite").is_file())

    def test_a_point_that_the_device_does_not_support_has_a_row(self):
        done = self.bench(*TINY, "--dtype", "float32,tf32", "--steps", "1", "--columns", "name,status")
        self.assert_ok(done)
        self.assertEqual([record["status"] for record in self.stored()], ["ok", "unsupported"])


if __name__ == "__main__":
    unittest.main()
