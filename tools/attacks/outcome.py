"""The input and the outcome of an attack, how it runs the program, and the final table."""

import json
import os
import random
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

# The smallest useful model: a point takes milliseconds.
MODEL = ("--model custom --d-model 16 --d-ff 32 --num-layers 1 --num-heads 2 --context 8 --batch 1 --vocab 50 --warmup 1 "
         "--steps 2").split()


@dataclass
class Outcome:
    name: str
    tries: int = 0
    figures: dict[str, int] = field(default_factory=dict)  # counts, such as lost records
    problems: list[str] = field(default_factory=list)  # expectations that were violated
    left_out: str = ""  # why the attack was not tried


@dataclass
class Setting:
    binary: Path
    folder: Path  # an empty folder, removed after the attack
    root: Path  # root of the source tree
    random: random.Random
    seconds: float  # time budget for attacks that could continue indefinitely

    def __post_init__(self):
        self.environment = {"PATH": os.environ["PATH"], "HOME": str(self.folder), "LC_ALL": "C"}

    def start(self, *words, **options) -> subprocess.Popen:
        return subprocess.Popen([str(self.binary), *map(str, words)], env=self.environment, cwd=self.folder, text=True,
                                **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options})

    def run(self, *words, **options) -> subprocess.CompletedProcess:
        return subprocess.run([str(self.binary), *map(str, words)], env=self.environment, cwd=self.folder, text=True,
                              errors="replace", capture_output=True, check=False, **{"timeout": 300, **options})

    def stored(self, store: Path) -> list[dict]:
        done = self.run("show", "--store", store, "--output", "json")
        if done.returncode != 0:
            raise AssertionError(f"show: exit code {done.returncode}: {done.stderr}")
        return json.loads(done.stdout)


def records_of(lines: str) -> list[dict]:
    """Returns the records from complete lines; the last line may be cut off."""
    return [json.loads(line) for line in lines.splitlines(keepends=True) if line.endswith("\n")]


def figures_text(outcome: Outcome) -> str:
    return outcome.left_out or ", ".join(f"{count} {name}" for name, count in outcome.figures.items())


def table(outcomes: list[Outcome]) -> str:
    rows = [("attack", "tries", "problems", "figures")]
    rows += [(outcome.name, "-" if outcome.left_out else str(outcome.tries), str(len(outcome.problems)),
              figures_text(outcome)) for outcome in outcomes]
    widths = [max(len(row[i]) for row in rows) for i in range(3)]
    lines = [f"{name:{widths[0]}}  {tries:>{widths[1]}}  {problems:>{widths[2]}}  {figures}".rstrip()
             for name, tries, problems, figures in rows]
    for outcome in outcomes:
        lines += [f"PROBLEM {outcome.name}: {' '.join(problem.split())}" for problem in outcome.problems[:20]]
    total = sum(len(outcome.problems) for outcome in outcomes)
    lines.append(f"{sum(outcome.tries for outcome in outcomes)} tries, {total} problems")
    return "\n".join(lines)
