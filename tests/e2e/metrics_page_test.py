"""docs/metrics.md is what the program says."""

import unittest
from pathlib import Path

from program import ProgramTest

PAGE = Path(__file__).resolve().parents[2] / "docs" / "metrics.md"


class MetricsPage(ProgramTest):
    def test_the_page_is_what_the_program_prints(self):
        listed = self.laptime("list", "metrics")
        self.assert_ok(listed)
        self.assertEqual(PAGE.read_text().split("```\n")[1], listed.stdout)


if __name__ == "__main__":
    unittest.main()
