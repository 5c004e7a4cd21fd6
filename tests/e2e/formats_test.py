"""--output: each command writes every format that its help lists, and rejects other formats with this list."""

import json
import re
import unittest

from program import ONE_STEP, PREDICTED, ProgramTest

POINT = [*PREDICTED, "--store", "none"]
COMMANDS = {
    "bench": [*POINT, *ONE_STEP],
    "attention": ["--d-model", "16", "--context", "32", "--batch", "1", "--device", "h100", "--store", "none"],
    "profile": POINT,
    "memory": POINT,
    "plan": POINT,
    "explain": POINT,
    "compare": [*PREDICTED, "--mode", "eager,compile", "--store", "none"],
}


class Formats(ProgramTest):
    def formats(self, command: str) -> list[str]:
        text = " ".join(self.laptime(command, "--help").stdout.split())
        found = re.search(r"--output NAME .*?one of ([a-z, ]+);", text)
        if found is None:  # the help refers to laptime bench --help
            return self.formats("bench")
        return found[1].split(", ")

    def test_writes_every_format_listed_in_help(self):
        for command, words in COMMANDS.items():
            for form in self.formats(command):
                with self.subTest(command=command, format=form):
                    done = self.laptime(command, *words, "--output", form)
                    self.assert_ok(done)
                    self.assertTrue(done.stdout)
                    if form == "json":
                        json.loads(done.stdout)

    def test_rejects_unlisted_formats_and_lists_the_valid_ones(self):
        for command in ("profile", "memory", "plan", "explain", "compare", "selfcheck", "history"):
            with self.subTest(command=command):
                done = self.laptime(command, *COMMANDS.get(command, []), "--output", "samples")
                self.assertEqual((done.returncode, done.stdout), (2, ""))
                self.assertIn(", ".join(self.formats(command)), done.stderr)
                self.assertNotIn("samples", self.formats(command))
        (self.folder / "sweep.toml").write_text('output = "samples"\nmodel = "small"\n')
        done = self.laptime("plan", "--config", "sweep.toml", "--store", "none")
        self.assertEqual(done.returncode, 2)
        self.assertIn("table, markdown, csv, json, jsonl", done.stderr)

    def test_dumps_are_written_only_as_plain_text(self):
        self.assert_ok(self.laptime("explain", *POINT, "--dump", "plan"))
        done = self.laptime("explain", *POINT, "--dump", "plan", "--output", "json")
        self.assertEqual(done.returncode, 2)
        self.assertIn("a dump is plain text", done.stderr)


if __name__ == "__main__":
    unittest.main()
