"""The example record in the documentation: its layout keeps the JSON value, and the page shows its command."""

import importlib.util
import json
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
spec = importlib.util.spec_from_file_location("record_example", ROOT / "tools" / "record_example.py")
record_example = importlib.util.module_from_spec(spec)
spec.loader.exec_module(record_example)

RECORD = {
    "name": "step/model:custom",
    "label": None,
    "time": {"step": {"samples": [0.001 * i for i in range(40)], "count": 40, "modes": [{"count": 40, "median": 0.02}]}},
    "kernels": [{"op": "matmul", "signature": "matmul(" + "float32 [64, 64], " * 8 + ")", "kernel": "tiles"}] * 3,
    "loss": {"values": []},
    "machine": {},
}


class RecordExample(unittest.TestCase):
    def test_layout_keeps_the_json_value(self):
        text = record_example.layout(RECORD)
        self.assertEqual(json.loads(text), RECORD)
        for line in text.splitlines():
            self.assertTrue(len(line) <= 120 or '"signature"' in line, line)
        self.assertEqual(sum('"signature"' in line for line in text.splitlines()), 3)

    def test_document_has_the_command_and_its_output(self):
        text = record_example.DOCUMENT.read_text()
        self.assertIn("laptime bench " + " ".join(record_example.OPTIONS), " ".join(text.split()))
        example = text.partition(record_example.BEGIN)[2].partition(record_example.END)[0]
        self.assertEqual(example, record_example.layout(json.loads(example)) + "\n")


if __name__ == "__main__":
    unittest.main()
