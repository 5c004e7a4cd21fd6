#!/usr/bin/env python3
"""Counts the test cases in a ctest run: GoogleTest and unittest cases; any other program counts as one case.

Usage: count_tests.py JUNIT_FILE
Prints the failed cases and the skipped ones with their reasons to standard error, and "PASSED FAILED SKIPPED" to standard
output.
"""

import re
import sys
import xml.etree.ElementTree as ElementTree

GTEST_OK = re.compile(r"^\[       OK \] ", re.MULTILINE)
GTEST_SKIPPED = re.compile(r"(?:: Skipped\n(.+)\n+)?^\[  SKIPPED \] (\S+?) \(\d+ ms\)$", re.MULTILINE)
GTEST_FAILED = re.compile(r"^\[  FAILED  \] (\S+?)(?:, where .*)? \(\d+ ms\)$", re.MULTILINE)
UNITTEST_RAN = re.compile(r"^Ran (\d+) tests? in ", re.MULTILINE)
UNITTEST_BAD = re.compile(r"^(?:FAIL|ERROR): (.+)$", re.MULTILINE)
UNITTEST_SKIPPED = re.compile(r"^(?:OK|FAILED) \(.*?skipped=(\d+)", re.MULTILINE)
UNITTEST_REASON = re.compile(r"^(?:(test_\w+) \(.*\)|.*) \.\.\. skipped (['\"])(.*)\2$", re.MULTILINE)


def count(output: str, program_failed: bool, name: str) -> tuple[int, list[str], list[str]]:
    """Returns (passed, names of failed, names and reasons of skipped) for one program."""
    skipped = []
    ran = UNITTEST_RAN.search(output)
    if "[==========] Running " in output:
        passed = len(GTEST_OK.findall(output))
        failed = GTEST_FAILED.findall(output)
        skipped = [f"{case}: {reason or 'no reason given'}" for reason, case in GTEST_SKIPPED.findall(output)]
    elif ran:
        failed = UNITTEST_BAD.findall(output)
        in_all = UNITTEST_SKIPPED.search(output)
        skipped = [f"{name} {case}: {reason}" for case, _, reason in UNITTEST_REASON.findall(output)]
        skipped += [f"{name}: no reason given"] * ((int(in_all.group(1)) if in_all else 0) - len(skipped))
        passed = int(ran.group(1)) - len(failed) - len(skipped)
    else:
        return (0, [name], []) if program_failed else (1, [], [])
    if program_failed and not failed:
        failed = [f"{name} (exited before all tests ran)"]
    return passed, failed, skipped


def main() -> int:
    passed, failed, skipped = 0, [], []
    for case in ElementTree.parse(sys.argv[1]).getroot().iter("testcase"):
        name = case.get("name", "?")
        output = case.findtext("system-out") or ""
        case_passed, case_failed, case_skipped = count(output, case.get("status") == "fail", name)
        passed += case_passed
        failed += case_failed
        skipped += case_skipped
    for name in failed:
        print(f"  failed: {name}", file=sys.stderr)
    for name in skipped:
        print(f"  skipped: {name}", file=sys.stderr)
    print(passed, len(failed), len(skipped))
    return 0


if __name__ == "__main__":
    sys.exit(main())
