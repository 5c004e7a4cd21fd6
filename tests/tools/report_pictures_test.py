"""tools/report_pictures.py makes exactly the pictures in docs/images, and its sweep varies every axis of a page."""

import sys
import tomllib
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
import report_pictures  # noqa: E402


class Pictures(unittest.TestCase):
    def test_image_folder_has_exactly_the_pictures(self):
        pictures = (*report_pictures.PICTURES, *report_pictures.PUBLISHED_PICTURES)
        self.assertEqual({path.name for path in report_pictures.IMAGES.glob("*.png")}, {one.name for one in pictures})

    def test_sweep_varies_every_axis_of_a_page(self):
        sweep = tomllib.loads(report_pictures.SWEEP.read_text())
        for option in ("context", "dtype", "mode", "pass"):
            self.assertGreater(len(sweep[option]), 1, option)


if __name__ == "__main__":
    unittest.main()
