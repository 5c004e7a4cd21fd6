"""docs/tutorial.md: its script runs with the current program, and the page has the commands of the script."""

import os
import re
import subprocess
import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
import make_tutorial  # noqa: E402

SCRIPT = ROOT / "tools/make_tutorial.py"
SMALL = "--num-layers 1 --d-model 32 --d-ff 64 --num-heads 2 --vocab 64 --context 8 --batch 1"


def commands_in(page: str) -> list[str]:
    return re.findall(r"^\$ laptime (.*)$", page, re.MULTILINE)


class Tutorial(unittest.TestCase):
    def test_script_runs_and_matches_the_page(self):
        done = subprocess.run([sys.executable, SCRIPT, os.environ["LAPTIME_BINARY"], "--options", SMALL],
                              capture_output=True, text=True, timeout=600, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        page = (ROOT / "docs/tutorial.md").read_text()
        self.assertEqual(re.findall("^## .*$", done.stdout, re.MULTILINE), re.findall("^## .*$", page, re.MULTILINE))
        # The page may show different options.
        first = make_tutorial.SECTIONS[0][2][0]
        begin, end = first.split("{m}")
        options = commands_in(page)[0].removeprefix(begin).removesuffix(end)
        commands = [command.format(m=options) for section in make_tutorial.SECTIONS for command in section[2]]
        self.assertEqual(commands_in(page), commands)
        for command, text in re.findall(r"^\$ laptime (.*)\n(.*)$", done.stdout, re.MULTILINE):
            self.assertNotEqual(text, "```", command)


if __name__ == "__main__":
    unittest.main()
