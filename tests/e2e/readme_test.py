"""The commands of README.md and docs: examples print what the page shows, cheap commands run, and the pandas recipe works."""

import csv
import importlib.util
import re
import shlex
import unittest
from pathlib import Path

from program import ProgramTest

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
EXPORTS = (ROOT / "docs/exports.md").read_text()
RUNS_NOTHING = ("--device h100", "laptime list", "laptime memory", "laptime plan", "laptime explain")


def printed_examples(page: str) -> list[tuple[str, str]]:
    """Commands behind a `$` with the lines that follow them."""
    pattern = re.compile(r"^    \$ laptime (.*)\n((?:(?!    \$ |    >>> )    .*\n|\n(?=    ))*)", re.MULTILINE)
    return [(words, re.sub("^    ", "", text, flags=re.MULTILINE).strip()) for words, text in pattern.findall(page)]


class Readme(ProgramTest):
    def test_predictions_print_what_the_readme_shows(self):
        predictions = [(words, text) for words, text in printed_examples(README) if "--device h100" in words and text]
        self.assertGreater(len(predictions), 0)
        for words, text in predictions:
            with self.subTest(words):
                self.environment["COLUMNS"] = "100"
                self.environment["LC_ALL"] = "C.UTF-8"
                done = self.laptime(*shlex.split(words))
                self.assert_ok(done)
                self.assertEqual([line.rstrip() for line in done.stdout.strip().splitlines()], text.splitlines())

    def test_commands_that_run_no_step(self):
        commands = [line.split("#")[0].strip() for line in README.splitlines() if line.startswith("    laptime ")]
        cheap = [line for line in commands if any(part in re.sub(" +", " ", line) for part in RUNS_NOTHING)]
        self.assertGreater(len(cheap), 1)
        for line in cheap:
            with self.subTest(line):
                done = self.laptime(*shlex.split(line)[1:])
                self.assert_ok(done)
                self.assertNotEqual(done.stdout, "")

    def test_pandas_recipe(self):
        (words,) = [words for words, _ in printed_examples(EXPORTS) if "records.csv" in words]
        recipe = re.findall(r"^    >>> (.*)$", EXPORTS, flags=re.MULTILINE)
        self.assertEqual(len(recipe), 2)
        self.assert_ok(self.laptime(*shlex.split(words)))
        path = self.folder / "records.csv"
        with open(path, newline="") as file:
            rows = list(csv.DictReader(file))
        self.assertEqual([row["context_length"] for row in rows], ["32", "64"])
        for row in rows:
            self.assertGreater(float(row["median_s"]), 0)
            self.assertEqual(row["predicted"], "true")
            self.assertTrue({"std_s", "count"}.isdisjoint(row))  # a prediction has none
        if importlib.util.find_spec("pandas") is None:
            self.skipTest("pandas is not installed; the csv module has read the file")
        import pandas

        names = {"pandas": pandas}
        exec(recipe[0].replace("records.csv", str(path)), names)
        pivot = eval(recipe[1].removeprefix("table = "), names)
        self.assertEqual(pivot.loc[64, "float32"], float(rows[1]["median_s"]))
        numbers = [name for name in names["table"].columns if name.endswith(("_s", "_bytes"))]
        self.assertEqual([name for name in numbers if names["table"][name].dtype == object], [])


if __name__ == "__main__":
    unittest.main()
