#!/usr/bin/env python3
"""Holds the predictions for described machines against what other people published, and prints two tables in Markdown.

    tools/published_predictions.py build/release/laptime

The first has the times of published/figures.csv over the predicted ones, by machine, arithmetic and mode, and how many points
that were out of memory there are predicted not to fit. The second says below which context a step of each model is bound by the
launches of its kernels. It takes about a minute.
"""

import collections
import csv
import json
import statistics
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# The hardware of the sources whose machine is described in machines/. A source that does not name its GPU is left out.
MACHINES = {"H100": "h100", "H100 80 GB": "h100", "A100 80 GB (not named)": "a100", "A100 80 GB PCIe": "a100",
            "80 GB GPU, like an A100": "a100", "A100 40 GB": "a100-40", "B200": "b200", "L4": "l4", "RTX 4090": "rtx4090",
            "RTX PRO 6000 Workstation": "rtx-pro-6000", "8 GB Ampere GPU": "rtx3070"}
DTYPES = {"float32": "float32", "tf32": "tf32", "bfloat16 autocast": "bfloat16"}


def predicted(binary: str, common: dict[str, str], models: set[str], contexts: set[str]) -> dict:
    """Status and seconds by model and context."""
    words = [f"--{name}={value}" for name, value in common.items()]
    done = subprocess.run([binary, "bench", *words, f"--model={','.join(models)}", f"--context={','.join(contexts)}",
                           "--store=none", "--output=jsonl", "--columns=all"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          text=True)
    found = {}
    for line in done.stdout.splitlines():
        record = json.loads(line)
        time = record["time"].get(common["pass"], {}).get("median")
        config = record["config"]
        found[config["model"], str(config["context_length"])] = record["status"], time
    return found


def times_table(binary: str) -> list[list[str]]:
    groups = collections.defaultdict(list)
    with open(ROOT / "published/figures.csv", newline="") as file:
        for row in csv.DictReader(file):
            if row["hardware"] in MACHINES and row["arithmetic"] in DTYPES:
                key = (MACHINES[row["hardware"]], row["edition"], row["arithmetic"], row["mode"], row["pass"], row["batch_size"])
                groups[key].append(row)
    ratios, fits = collections.defaultdict(list), collections.defaultdict(list)
    for (machine, edition, arithmetic, mode, wanted, batch), rows in groups.items():
        common = {"device": f"roofline:{machine}", "edition": edition, "dtype": DTYPES[arithmetic], "mode": mode,
                  "pass": wanted, "batch": batch}
        found = predicted(binary, common, {r["model"] for r in rows}, {r["context_length"] for r in rows})
        for row in rows:
            status, seconds = found.get((row["model"], row["context_length"]), (None, None))
            line = (machine, arithmetic, mode)
            if row["status"] == "ok" and seconds:
                ratios[line].append(float(row["time_s"]) / seconds)
            elif row["status"] == "out_of_memory" and status in ("ok", "out_of_memory"):
                fits[line].append(status == "out_of_memory")
    table = [["machine", "arithmetic", "mode", "times", "published / predicted, median", "range", "out of memory, as predicted"]]
    for line in sorted(set(ratios) | set(fits)):
        values = sorted(ratios[line])
        middle = f"{statistics.median(values):.2f}" if values else "-"
        ends = f"{values[0]:.2f} to {values[-1]:.2f}" if values else "-"
        table.append([*line, str(len(values)), middle, ends, f"{sum(fits[line])} of {len(fits[line])}" if fits[line] else "-"])
    every = sorted(ratio for values in ratios.values() for ratio in values)
    table.append(["all", "", "", str(len(every)), f"{statistics.median(every):.2f}", f"{every[0]:.2f} to {every[-1]:.2f}",
                  f"{sum(map(sum, fits.values()))} of {sum(map(len, fits.values()))}"])
    return table


def launches_table(binary: str) -> list[list[str]]:
    table = [["machine", "model", "mode", "launches", "launch-bound below context"]]
    for machine in ("h100", "a100", "rtx4090"):
        for model in ("small", "medium", "large", "xl", "2.7B"):
            for mode in ("eager", "compile"):
                done = subprocess.run([binary, "plan", f"--device=roofline:{machine}", f"--model={model}", f"--mode={mode}",
                                       "--dtype=bfloat16", "--context=512", "--output=json"], stdout=subprocess.PIPE,
                                      text=True, check=True)
                bound = next(one for one in json.loads(done.stdout)[0]["findings"] if one["kind"] == "launch_bound")
                below = bound["below_context"]
                table.append([machine, model, mode, str(bound["launches"]),
                              "any" if below is None else "-" if below == 1 else str(below)])
    return table


def markdown(table: list[list[str]]) -> str:
    lines = [" | ".join(row) for row in (table[0], ["---"] * len(table[0]), *table[1:])]
    return "\n".join(f"| {line} |" for line in lines)


def main() -> int:
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        print(__doc__, file=sys.stderr)
        return 2
    print(markdown(times_table(sys.argv[1])), markdown(launches_table(sys.argv[1])), sep="\n\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
