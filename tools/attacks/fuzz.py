"""Fuzzes every parser: with libFuzzer if it has been built, otherwise with a fixed sequence of mutants."""

import re
import subprocess
import time
from pathlib import Path

from attacks.outcome import Outcome, Setting


def targets(root: Path) -> list[Path]:
    """Returns the targets in build/fuzz or else in build/sanitize; builds those in build/sanitize if there are none."""
    for folder in ("fuzz", "sanitize"):
        found = sorted(path for path in (root / "build" / folder).glob("fuzz_*") if path.is_file() and "." not in path.name)
        if found:
            return found
    for command in (["cmake", "--preset", "sanitize"],
                    ["cmake", "--build", "--preset", "sanitize", "--target", "fuzz_targets"]):
        subprocess.run(command, cwd=root, check=True, stdout=subprocess.DEVNULL)
    return targets(root)


def run_targets(setting: Setting) -> list[Outcome]:
    found = targets(setting.root)
    return [run_target(setting, target, setting.seconds / len(found)) for target in found]


def run_target(setting: Setting, target: Path, seconds: float) -> Outcome:
    outcome = Outcome(target.name)
    is_libfuzzer = target.parent.name == "fuzz"
    executions, crashes = (libfuzzer if is_libfuzzer else mutants)(setting, target, seconds, outcome)
    outcome.tries = executions
    outcome.figures = {"executions": executions, "crashes": crashes}
    return outcome


def libfuzzer(setting: Setting, target: Path, seconds: float, outcome: Outcome) -> tuple[int, int]:
    done = subprocess.run([target, f"-max_total_time={max(1, round(seconds))}", "-print_final_stats=1", "-timeout=60",
                           f"-seed={setting.random.randrange(1, 2**31)}", "."], cwd=setting.folder, text=True,
                          errors="replace", capture_output=True, check=False)
    count = re.search(r"number_of_executed_units: (\d+)", done.stderr)
    if done.returncode != 0:
        outcome.problems.append(done.stderr[-300:])
    return int(count.group(1)) if count else 0, int(done.returncode != 0)


def mutants(setting: Setting, target: Path, seconds: float, outcome: Outcome) -> tuple[int, int]:
    """Runs ever more mutants until the time is up. Counts only the last run, because it repeats the earlier mutants."""
    number, executions = 100, 0
    end = time.monotonic() + seconds
    while True:
        start = time.monotonic()
        done = subprocess.run([target, str(number)], cwd=setting.folder, text=True, errors="replace",
                              capture_output=True, check=False)
        took = time.monotonic() - start
        if done.returncode != 0:
            outcome.problems.append(done.stderr[-300:])
            return executions, 1
        executions = int(re.search(r"(\d+) inputs", done.stdout).group(1))
        left = end - time.monotonic()
        if left < 2 * took:
            return executions, 0
        number = int(number * min(20, 0.8 * left / max(took, 0.01)))
