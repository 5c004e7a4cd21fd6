"""laptime demo: the numbers of the source documents, computed by the engine, and narrow terminals."""

import fcntl
import json
import os
import pty
import struct
import subprocess
import termios
import unittest

from program import BINARY, ProgramTest


class Demo(ProgramTest):
    def tables(self, name: str) -> dict:
        done = self.laptime("demo", name, "--output", "json")
        self.assert_ok(done)
        (report,) = json.loads(done.stdout)
        self.conclusions = " ".join(self.laptime("demo", name).stdout.split())
        return report["tables"]

    def on_narrow_terminal(self, *words) -> str:
        leader, follower = pty.openpty()
        fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 80, 0, 0))
        with subprocess.Popen([BINARY, *words], stdout=follower, env=self.environment, cwd=self.folder):
            os.close(follower)
            text = b""
            while True:
                try:
                    piece = os.read(leader, 65536)
                except OSError:
                    break
                if not piece:
                    break
                text += piece
        os.close(leader)
        return text.decode()

    def test_sums_match_the_source_documents(self):
        rows = {row["loop"]: row for row in self.tables("accumulate")["sums"]}
        for loop, expected in (("float32 += float32", 10.0001), ("float16 += float16", 9.9531),
                               ("float32 += float16", 10.0021), ("float32 += float32(float16)", 10.0021)):
            self.assertEqual(round(rows[loop]["after_1000"], 4), expected, loop)
            self.assertIn(str(expected), self.conclusions)
        for terms in (1, 10, 100, 10000):
            self.assertIn(f"after_{terms}", rows["float16 += float16"])
        self.assertEqual(rows["float16 += float16"]["after_1"], 0.01000213623046875)
        self.assertIn("float16(0.01) is 0.0100021", self.conclusions)
        self.assertEqual(rows["float16 += float16"]["after_10000"], 32)

    def test_autocast_keeps_float32_parameters_and_computes_products_in_16_bits(self):
        tables = self.tables("autocast")
        dtypes = {row["value"]: row for row in tables["dtypes"]}
        for lower in ("float16", "bfloat16"):
            self.assertEqual({value: row[lower] for value, row in dtypes.items()},
                             {"parameters": "float32", "first layer": lower, "layer norm": "float32", "logits": lower,
                              "loss": "float32", "gradients": "float32"})
        self.assertIn("parameters in float16 (it is float32)", self.conclusions)
        self.assertIn("first layer in float32 (it is float16)", self.conclusions)
        self.assertIn("exercise from the course", self.conclusions)
        self.assertNotIn("source documents", self.conclusions)
        self.assertIn("gradient of ln.bias", [row["value"] for row in tables["errors"]])
        for row in tables["errors"]:
            self.assertLess(row["float32"], 1e-6, row)
            self.assertLess(row["float32"], row["float16"], row)
            self.assertLess(row["float16"], row["bfloat16"], row)
            self.assertLess(row["bfloat16"], 2e-2, row)

    def test_layer_norm_overflows_in_float16_but_not_in_bfloat16(self):
        tables = self.tables("layernorm")
        for row in tables["variances"]:
            self.assertEqual(row["float16"] is None, row["largest"] >= 300, row)
            self.assertAlmostEqual(row["bfloat16"], row["float32"], delta=0.01 * row["float32"])
        for row in tables["errors"]:
            self.assertEqual(row["float16"] is None, row["largest"] >= 300, row)
            self.assertLess(row["bfloat16"], 1e-2)
            self.assertLess(row["float16_kernel"], 1e-3, "statistics in float32 do not overflow")
        self.assertIn("is 300:", self.conclusions)

    def test_fits_a_narrow_terminal_and_errors_list_the_demos(self):
        for name in ("accumulate", "autocast", "layernorm"):
            text = self.on_narrow_terminal("demo", name)
            self.assertLessEqual(max(map(len, text.splitlines())), 80, text)
        for words, part in (((), "accumulate, autocast, layernorm"), (("autocst",), "did you mean 'autocast'"),
                            (("autocast", "layernorm"), "layernorm")):
            done = self.laptime("demo", *words)
            self.assertEqual((done.returncode, done.stdout), (2, ""), words)
            self.assertIn(part, done.stderr)


if __name__ == "__main__":
    unittest.main()
