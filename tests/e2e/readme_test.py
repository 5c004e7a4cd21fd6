"""The commands in README.md and docs use existing options and values, examples print the output on the page, cheap
commands run, and the pandas recipe works."""

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
    """Commands after a `$`, each with the output below it."""
    pattern = re.compile(r"^    \$ laptime (.*)\n((?:(?!    \$ |    >>> )    .*\n|\n(?=    ))*)", re.MULTILINE)
    return [(words, re.sub("^    ", "", text, flags=re.MULTILINE).strip()) for words, text in pattern.findall(page)]


def commands_of(page: str) -> list[list[str]]:
    """The arguments of each `laptime` in code blocks and text of a page, up to a shell operator or an ellipsis."""
    lines = re.findall(r"^(?: {4,}|\$ )(?:\$ )?(?:\S*/)?laptime (.*)$", page.replace("\\\n", " "), re.MULTILINE)
    commands = []
    for line in lines + re.findall(r"`laptime ([^`]+)`", page):
        words = shlex.split(re.sub(r"\[(--[^]]*)\]", r"\1", line), comments=True)
        end = next((i for i, word in enumerate(words) if re.match(r"[|>;&]|.*\.\.\.$", word)), len(words))
        if end < len(words) and words[end] == "..." and words[end - 1].startswith("--"):
            end -= 1
        commands.append(words[:end])
    return commands


def all_commands() -> list[tuple[str, list[str]]]:
    """Every command once, with the first page that contains it."""
    first = {}
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]:
        for words in commands_of(page.read_text()):
            first.setdefault(shlex.join(words), (page.name, words))
    return list(first.values())


class Documents(ProgramTest):
    def test_documented_options_exist(self):
        """Appends an unknown option to each command. The program must name that option, and not one before it."""
        commands = all_commands()
        self.assertGreater(len(commands), 80)
        for page, words in commands:
            if words[0] != "completion":
                with self.subTest(f"{page}: laptime {shlex.join(words)}"):
                    self.assertIn("'--no-such-option'", self.laptime(*words, "--no-such-option").stderr)

    def test_documented_option_values_are_accepted(self):
        """Adds one layer, a device with only a data sheet, and no store, unless the command states these options."""
        for page, words in all_commands():
            needs_files = any(re.search(r"\.(json|toml|bin|csv)\b|^\./|^[A-Z]+$", word) for word in words)
            if words[0] not in ("bench", "profile", "attention", "memory", "plan", "explain") or needs_files:
                continue
            if "--ranks" in words and words[0] != "plan":  # such a command would run on this machine
                continue
            if "--launcher" in words:  # needs a cluster
                words[words.index("--launcher") + 1] = "env"
            of_test = {"--device": "h100", "--store": "none", "--num-layers": "1"}
            if words[0] == "attention":
                del of_test["--num-layers"]
            added = [word for option, value in of_test.items() if option not in words for word in (option, value)]
            with self.subTest(f"{page}: laptime {shlex.join(words)}"):
                done = self.laptime(*words, *added)
                self.assertEqual(done.returncode, 0, done.stderr)


class Readme(ProgramTest):
    def test_predictions_match_the_readme(self):
        predictions = [(words, text) for words, text in printed_examples(README) if "--device h100" in words and text]
        self.assertGreater(len(predictions), 0)
        for words, text in predictions:
            with self.subTest(words):
                self.environment["COLUMNS"] = "100"
                self.environment["LC_ALL"] = "C.UTF-8"
                done = self.laptime(*shlex.split(words))
                self.assert_ok(done)
                self.assertEqual([line.rstrip() for line in done.stdout.strip().splitlines()], text.splitlines())

    def test_commands_that_run_no_step_succeed(self):
        commands = [line.split("#")[0].strip() for line in README.splitlines() if line.startswith("    laptime ")]
        cheap = [line for line in commands if any(part in re.sub(" +", " ", line) for part in RUNS_NOTHING)]
        self.assertGreater(len(cheap), 1)
        for line in cheap:
            with self.subTest(line):
                done = self.laptime(*shlex.split(line)[1:])
                self.assert_ok(done)
                self.assertNotEqual(done.stdout, "")

    def test_pandas_recipe_works(self):
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
            self.assertTrue({"std_s", "count"}.isdisjoint(row))  # a prediction has no samples
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
