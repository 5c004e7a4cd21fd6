"""The examples of the README: predictions with their output, what costs little, and the recipe for pandas."""

import csv
import importlib.util
import re
import shlex
import unittest
from pathlib import Path

from program import ProgramTest, without_date

README = (Path(__file__).parents[2] / "README.md").read_text()
CHEAP = ("--device h100", "--device h200", "laptime list", "laptime explain")


def printed_examples() -> list[tuple[str, str]]:
    """Commands behind a `$` with the lines that follow them."""
    pattern = re.compile(r"^    \$ laptime (.*)\n((?:(?!    \$ |    >>> )    .*\n|\n(?=    ))*)", re.MULTILINE)
    return [(words, re.sub("^    ", "", text, flags=re.MULTILINE).strip()) for words, text in pattern.findall(README)]


def comparable(text: str) -> str:
    """Without program and date, which differ, in the signs of ASCII."""
    return "\n".join(line.rstrip() for line in without_date(text).replace("·", "-").strip().splitlines())


class Readme(ProgramTest):
    def test_predictions_print_what_the_readme_shows(self):
        predictions = [(words, text) for words, text in printed_examples() if "--device" in words and text]
        self.assertGreater(len(predictions), 0)
        for words, text in predictions:
            with self.subTest(words):
                done = self.laptime(*shlex.split(words))
                self.assert_ok(done)
                self.assertEqual(comparable(done.stdout), comparable(text))
                self.assertIn("predicted", done.stdout)

    def test_commands_that_cost_little_run(self):
        commands = [line.split("#")[0].strip() for line in README.splitlines() if line.startswith("    laptime ")]
        cheap = [line for line in commands if any(part in re.sub(" +", " ", line) for part in CHEAP)]
        self.assertGreater(len(cheap), 2)
        for line in cheap:
            words = shlex.split(line)[1:]
            topics = words[-1].split("|") if words[0] == "list" else [words[-1]]
            for topic in topics:
                with self.subTest(line=line, topic=topic):
                    done = self.laptime(*words[:-1], topic)
                    self.assert_ok(done)
                    self.assertNotIn("out_of_memory", done.stdout)
                    self.assertNotEqual(done.stdout, "")

    def test_the_recipe_for_pandas(self):
        (words,) = [words for words, _ in printed_examples() if "records.csv" in words]
        recipe = re.findall(r"^    >>> (.*)$", README, flags=re.MULTILINE)
        self.assertEqual(len(recipe), 2)
        self.assert_ok(self.laptime(*shlex.split(words)))
        path = self.folder / "records.csv"
        with open(path, newline="") as file:
            rows = list(csv.DictReader(file))
        self.assertEqual([row["context_length"] for row in rows], ["32", "64"])
        for row in rows:
            self.assertGreater(float(row["median_s"]), 0)
            self.assertEqual((row["predicted"], row["std_s"], row["count"]), ("true", "", ""))
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
