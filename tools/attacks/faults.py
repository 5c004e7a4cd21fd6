"""The end-to-end fault tests, with one outcome per file."""

import io
import unittest

from attacks.outcome import Outcome, Setting

FILES = {
    "fault_test": "clock, terminal, names, signals, limits",
    "output_test": "outputs: closed, full, unreadable",
    "overwrite_test": "outputs that would replace other files",
    "store_trouble_test": "stores: damaged, removed, foreign",
    "point_test": "child processes that die or hang",
    "input_test": "wrong input",
    "resume_test": "resuming and sharing",
    "kill_test": "kills, Ctrl-C, SIGTERM, a closed terminal",
    "compare_test": "comparisons without a verdict",
    "export_test": "exports that other tools read",
}


def run_tests(_: Setting) -> list[Outcome]:
    outcomes = []
    for file, what in FILES.items():
        tests = unittest.defaultTestLoader.loadTestsFromName(file)
        result = unittest.TextTestRunner(stream=io.StringIO()).run(tests)
        outcome = Outcome(what, tries=result.testsRun)
        if result.skipped:
            outcome.figures["skipped"] = len(result.skipped)
        for test, text in result.failures + result.errors:
            outcome.problems.append(f"{test}: {text.strip().splitlines()[-1]}")
        outcomes.append(outcome)
    return outcomes
