"""The picture of the README: what the program prints of the records that are stored beside it."""

import importlib.util
import json
import os
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
spec = importlib.util.spec_from_file_location("readme_picture", ROOT / "tools" / "readme_picture.py")
readme_picture = importlib.util.module_from_spec(spec)
spec.loader.exec_module(readme_picture)


class ReadmePicture(unittest.TestCase):
    def test_it_is_drawn_from_the_stored_records(self):
        drawn = readme_picture.picture(os.environ["LAPTIME_BINARY"])
        self.assertEqual(drawn, readme_picture.PICTURE.read_text(), "draw it again with tools/readme_picture.py")

    def test_its_figures_are_possible(self):
        for line in readme_picture.RECORDS.read_text().splitlines():
            record = json.loads(line)
            self.assertEqual((record["status"], record["binary"]["build_type"]), ("ok", "Release"))
            if record["flops"]["mfu_measured"] > 1:
                self.assertTrue(record["flops"]["above_peak"])


if __name__ == "__main__":
    unittest.main()
