"""PageTest: a page of laptime report, open in a browser."""

import sys
import unittest
from pathlib import Path

from report_test import ReportTest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))
import browser  # noqa: E402


@unittest.skipUnless(browser.find_chromium(), "needs Chromium")
class PageTest(ReportTest):
    def setUp(self):
        super().setUp()
        self.page = self.measured_page()
        self.chromium = browser.Browser()
        self.addCleanup(self.chromium.close)
        self.chromium.resize(1280, 900)

    def open(self, **look):
        self.chromium.show_as(**look)
        self.chromium.open(self.page)
        self.chromium.draw_all()
