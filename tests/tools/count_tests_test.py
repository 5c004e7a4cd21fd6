"""count_tests.py counts the GoogleTest and unittest cases that passed, failed or were skipped."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

TOOL = pathlib.Path(__file__).resolve().parents[2] / "tools" / "count_tests.py"

GTEST = """[==========] Running 3 tests from 1 test suite.
[       OK ] Product.IsExact (1 ms)
product_test.cpp:9: Skipped
this machine has no AMX

[  SKIPPED ] Product.Amx (0 ms)
[  FAILED  ] Product.Bits (2 ms)
[==========] 3 tests from 1 test suite ran. (3 ms total)
[  SKIPPED ] 1 test, listed below:
[  SKIPPED ] Product.Amx
[  FAILED  ] 1 test, listed below:
[  FAILED  ] Product.Bits
"""
UNITTEST = """test_one (page.Page.test_one) ... ok
test_table (page.Page.test_table)
A table of pandas. ... ok
test_page (page.Page.test_page) ... skipped 'needs Chromium'
Ran 3 tests in 0.1s

OK (skipped=1)
"""


def junit(cases):
    body = "".join(
        f'<testcase name="{name}" status="{status}"><system-out><![CDATA[{output}]]></system-out></testcase>'
        for name, status, output in cases
    )
    return f"<testsuite>{body}</testsuite>"


class CountTests(unittest.TestCase):
    def counts(self, cases):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "junit.xml"
            path.write_text(junit(cases), encoding="utf-8")
            run = subprocess.run([sys.executable, TOOL, path], capture_output=True, text=True, check=True)
        return run.stdout.strip(), run.stderr

    def test_lists_failed_and_skipped_cases_with_reasons(self):
        counts, names = self.counts([("test_ops", "fail", GTEST), ("e2e", "run", UNITTEST), ("fuzz", "run", "done")])
        self.assertEqual(counts, "4 1 2")
        self.assertIn("failed: Product.Bits", names)
        self.assertIn("skipped: Product.Amx: this machine has no AMX\n", names)
        self.assertIn("skipped: e2e test_page: needs Chromium\n", names)

    def test_program_that_exits_early_counts_as_failed(self):
        counts, names = self.counts([("test_ops", "fail", "[==========] Running 3 tests from 1 test suite.\n")])
        self.assertEqual(counts, "0 1 0")
        self.assertIn("exited before all tests ran", names)


if __name__ == "__main__":
    unittest.main()
