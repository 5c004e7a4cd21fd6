"""docs/metrics.md matches the output of the program."""

import unittest
from pathlib import Path

from program import ProgramTest

PAGE = Path(__file__).resolve().parents[2] / "docs" / "metrics.md"


class MetricsPage(ProgramTest):
    def test_page_matches_the_program(self):
        listed = self.laptime("list", "metrics")
        self.assert_ok(listed)
        self.assertEqual(PAGE.read_text().split("```\n")[1], listed.stdout)


if __name__ == "__main__":
    unittest.main()
