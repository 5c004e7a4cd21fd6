"""Kills at random times, and many programs writing to one store: no finished point may be lost or duplicated."""

import subprocess
import time
from collections import Counter
from pathlib import Path

from attacks.outcome import MODEL, Outcome, Setting, records_of

POINTS = 20
SEEDS = ",".join(str(seed) for seed in range(1, POINTS + 1))
CPU = [*MODEL, "--device", "cpu", "--threads", "1"]
SWEEP = ["bench", *CPU, "--seed", SEEDS, "--resume", "--output", "jsonl"]


class Round:
    """A store that collects points from sweeps that are killed repeatedly, until it contains every point."""

    def __init__(self, setting: Setting, number: int, outcome: Outcome):
        self.setting = setting
        self.outcome = outcome
        self.store = setting.folder / f"round{number}.sqlite"
        self.printed: set[str] = set()

    def start(self, output: Path) -> subprocess.Popen:
        return self.setting.start(*SWEEP, "--store", self.store, "--output-file", output, stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL)

    def add_printed(self, output: Path) -> None:
        if output.exists():
            self.printed.update(record["name"] for record in records_of(output.read_text()))

    def check(self, what: str) -> bool:
        """Compares the store with the printed records; returns whether the store contains every point."""
        names = Counter(record["name"] for record in self.setting.stored(self.store) if record["status"] == "ok")
        lost = self.printed - set(names)
        doubled = [name for name, count in names.items() if count > 1]
        self.outcome.figures["lost"] += len(lost)
        self.outcome.figures["doubled"] += len(doubled)
        if lost or doubled:
            self.outcome.problems.append(f"{what}: {len(lost)} printed records lost, {len(doubled)} points duplicated")
        return len(names) == POINTS


def kill_at_random_instants(setting: Setting) -> list[Outcome]:
    outcome = Outcome("kills at random instants", figures={"kills": 0, "kills while running": 0, "lost": 0, "doubled": 0})
    begin = time.monotonic()
    setting.run(*SWEEP, "--store", "timed.sqlite")
    duration = time.monotonic() - begin
    end = time.monotonic() + setting.seconds
    number = 0
    current = Round(setting, number, outcome)
    while time.monotonic() < end:
        helped = number % 2 == 1  # in every other round a second program shares the points and is not killed
        outputs = [setting.folder / f"output{outcome.tries}_{i}.jsonl" for i in range(1 + helped)]
        sweeps = [current.start(output) for output in outputs]
        time.sleep(setting.random.uniform(0, 0.7 * duration / (1 + helped)))
        outcome.figures["kills while running"] += sweeps[0].poll() is None
        sweeps[0].kill()
        for sweep in sweeps:
            sweep.wait(timeout=120)
        outcome.tries += 1
        outcome.figures["kills"] += 1
        for output in outputs:
            current.add_printed(output)
        if current.store.exists() and current.store.stat().st_size > 0 and current.check(f"kill {outcome.tries}"):
            done = setting.run(*SWEEP, "--store", current.store)
            if len(records_of(done.stdout)) != POINTS:
                outcome.problems.append(f"round {number}: {done.returncode}, {done.stderr}")
            number += 1
            current = Round(setting, number, outcome)
    return [outcome]


def many_writers(setting: Setting) -> list[Outcome]:
    writers, each = 5, 40
    apart = Outcome("five writers of one store", tries=writers, figures={"lost": 0, "doubled": 0})
    store = setting.folder / "writers.sqlite"
    sweeps = []
    for writer in range(writers):
        seeds = ",".join(str(writer * each + i + 1) for i in range(each))
        sweeps.append(setting.start("bench", *MODEL, "--device", "roofline:h100", "--seed", seeds, "--store", store,
                                    stdout=subprocess.DEVNULL))
    finish(sweeps, apart)
    count_seeds(setting, store, range(1, writers * each + 1), apart)

    shared = Outcome("five programs that resume one sweep", tries=writers, figures={"lost": 0, "doubled": 0})
    store = setting.folder / "shared.sqlite"
    seeds = ",".join(str(seed) for seed in range(1, each + 1))
    finish([setting.start("bench", *CPU, "--seed", seeds, "--store", store, "--resume", stdout=subprocess.DEVNULL)
            for _ in range(writers)], shared)
    count_seeds(setting, store, range(1, each + 1), shared)
    return [apart, shared]


def finish(sweeps: list[subprocess.Popen], outcome: Outcome) -> None:
    for sweep in sweeps:
        _, errors = sweep.communicate(timeout=300)
        if sweep.returncode != 0:
            outcome.problems.append(f"exit code {sweep.returncode}: {errors[-300:]}")


def count_seeds(setting: Setting, store: Path, expected: range, outcome: Outcome) -> None:
    seeds = Counter(record["config"]["seed"] for record in setting.stored(store) if record["status"] == "ok")
    outcome.figures["lost"] = len(set(expected) - set(seeds))
    outcome.figures["doubled"] = sum(count > 1 for count in seeds.values())
    if outcome.figures["lost"] or outcome.figures["doubled"]:
        outcome.problems.append(f"{outcome.figures['lost']} lost, {outcome.figures['doubled']} doubled")
