"""The pictures of a page: their list in README.md, and the sweep that they are of."""

import re
import sys
import tempfile
import tomllib
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
import report_pictures  # noqa: E402

README = report_pictures.README.read_text()


class ReportPictures(unittest.TestCase):
    def test_the_list_has_every_picture_and_nothing_else_changes(self):
        text = report_pictures.with_captions(README)
        begin = text.index("More of the same page:")
        paragraph = text[begin:text.index("\n\n", begin)]
        links = dict((name, caption) for caption, name in re.findall(r"\[([^]]*)\]\(docs/images/([^)]*)\)", paragraph))
        self.assertEqual(links, {one.name: one.caption for one in report_pictures.PICTURES if one.caption})
        self.assertEqual(text[:begin], README[:README.index("More of the same page:")])
        rest = README[README.index("Series differ in pattern"):]
        self.assertEqual(" ".join(text[text.index("Series differ in pattern"):].split()), " ".join(rest.split()))
        self.assertEqual(report_pictures.with_captions(text), text)

    def test_all_pictures_are_of_one_sweep_with_something_to_compare(self):
        self.assertEqual([path.name for path in report_pictures.IMAGES.glob("*.toml")], [report_pictures.SWEEP.name])
        sweep = tomllib.loads(report_pictures.SWEEP.read_text())
        for option in ("context", "dtype", "mode", "pass"):
            self.assertGreater(len(sweep[option]), 1, option)

    def test_a_trial_has_the_same_points_of_fewer_layers(self):
        with tempfile.TemporaryDirectory() as folder:
            quick = tomllib.loads(report_pictures.quick_sweep(Path(folder)).read_text())
        sweep = tomllib.loads(report_pictures.SWEEP.read_text())
        self.assertEqual((quick["num_layers"], quick["batch"]), (2, 1))
        for option in set(sweep) - {"batch", "warmup", "steps"}:
            self.assertEqual(quick[option], sweep[option], option)


if __name__ == "__main__":
    unittest.main()
