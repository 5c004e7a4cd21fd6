#!/usr/bin/env python3
"""Runs laptime's and PyTorch's eager step in turn on this machine; prints medians, spread and ratio per phase.

    python3 peers/compare_eager.py --model small --context 256 --dtype float32,bfloat16 --rounds 3

Every run is a process of its own, in the order A B A B, so that a slow drift of the machine meets both. Both sides
start from the same seeded weights and tokens; the first losses must agree, else the times mean nothing and the exit
code is 1.
"""

import argparse
import itertools
import json
import os
import shlex
import statistics
import subprocess
import sys
from pathlib import Path

import records

ROOT = Path(__file__).resolve().parent.parent
SAME_WITHIN = 0.02  # ratios closer to 1 than this are called the same
# Relative. PyTorch's autocast for the CPU keeps the logits and the written-out loss in bfloat16 (8 bits), ours follows
# CUDA's lists; with --autocast cuda both do the same casts.
FIRST_LOSS_WITHIN = {
    ("float32", "cpu"): 1e-5,
    ("float32", "cuda"): 1e-5,
    ("bfloat16", "cpu"): 1e-2,
    ("bfloat16", "cuda"): 4e-3,
}
MUST_AGREE = (
    "edition",
    "d_model",
    "d_ff",
    "num_layers",
    "num_heads",
    "vocab_size",
    "context_length",
    "batch_size",
    "dtype",
    "mode",
    "pass",
    "optimizer",
    "seed",
    "threads",
    "warmup",
    "steps",
)


class RunFailed(Exception):
    """A side gave no usable record; the text says which command and why."""


def run(command):
    """The one record that a command prints."""
    try:
        done = subprocess.run(command, capture_output=True, text=True)
    except OSError as error:
        hint = "build it, or name another with --laptime or --python"
        raise RunFailed(f"{command[0]}: {error.strerror}; {hint}") from error
    try:
        found = json.loads(done.stdout)
    except json.JSONDecodeError:
        found = []
    if len(found) != 1:
        raise RunFailed(f"no record from: {shlex.join(command)}\n{done.stderr.strip()[-2000:]}")
    if found[0]["status"] != "ok":
        raise RunFailed(f"{found[0]['status']} ({found[0]['reason']}) from: {shlex.join(command)}")
    return found[0]


def differing_configs(ours, theirs):
    """Names of the settings in which two records are not the same work."""
    return [k for k in MUST_AGREE if str(ours["config"].get(k)) != str(theirs["config"].get(k))]


def loss_difference(ours, theirs, count=None):
    """Largest relative difference of the first `count` losses of two records (default: all that both have)."""
    pairs = list(zip(ours["loss"]["values"], theirs["loss"]["values"]))[:count]
    if not pairs or any(a is None or b is None for a, b in pairs):
        return float("inf")
    return max(abs(a - b) / abs(b) for a, b in pairs)


def verdict(ratios):
    """Words for the ratios PyTorch / laptime of the rounds."""
    if all(abs(r - 1) <= SAME_WITHIN for r in ratios):
        return f"same within {SAME_WITHIN:.0%}"
    if len(ratios) < 2 or min(ratios) <= 1 <= max(ratios):
        return "undecided"
    return "faster" if min(ratios) > 1 else "slower"


def phase_rows(ours, theirs):
    """Per phase that all records time: pooled median and MAD of both sides, ratio of each round, their median.

    The two runs of a round are neighbours in time, so a ratio within a round is freer of drift than one of all runs.
    """
    shared = [n for n in theirs[0]["time"] if all(n in r["time"] for r in ours + theirs)]
    rows = []
    for name in shared:
        pooled = [[s for r in side for s in r["time"][name]["samples"]] for side in (ours, theirs)]
        a, b = map(statistics.median, pooled)
        rounds = [t["time"][name]["median"] / o["time"][name]["median"] for o, t in zip(ours, theirs)]
        rows.append(
            {
                "phase": name,
                "laptime": a,
                "laptime_mad": records.mad(pooled[0]),
                "pytorch": b,
                "pytorch_mad": records.mad(pooled[1]),
                "ratio": statistics.median(rounds),
                "rounds": rounds,
                "verdict": verdict(rounds),
            }
        )
    return rows


def table(ours, theirs):
    head = f"  {'phase':<17}{'laptime s':>11}{'mad':>9}{'PyTorch s':>11}{'mad':>9}{'ratio':>8}"
    lines = [f"{head}  {'per round':<18} laptime is"]
    for r in phase_rows(ours, theirs):
        spread = f"{min(r['rounds']):.2f} ... {max(r['rounds']):.2f}"
        sides = "".join(f"{r[side]:>11.4f}{r[side + '_mad']:>9.4f}" for side in ("laptime", "pytorch"))
        lines.append(f"  {r['phase']:<17}{sides}{r['ratio']:>8.2f}  {spread:<18} {r['verdict']}")
    a, b = (max(r["memory"]["peak_rss_bytes"] for r in side) / 2**20 for side in (ours, theirs))
    lines.append(f"  {'peak resident':<17}{a:>7.0f} MiB{'':<9}{b:>7.0f} MiB{'':<9}{b / a:>8.2f}")
    return "\n".join(lines)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--laptime", default=str(ROOT / "build/release/laptime"), help="our program")
    parser.add_argument(
        "--python", default=str(ROOT / "build/peers-venv/bin/python"), help="a Python that has PyTorch"
    )
    parser.add_argument("--laptime-options", default="", help="more options for laptime bench, as one text")
    parser.add_argument("--pytorch-options", default="", help="more options for pytorch_step.py, as one text")
    parser.add_argument("--model", default="small", help="list")
    parser.add_argument("--edition", default="2025")
    parser.add_argument("--context", default="256", help="list")
    parser.add_argument("--batch", default="4")
    parser.add_argument("--vocab", default="10000")
    parser.add_argument("--dtype", default="float32", help="list")
    parser.add_argument("--pass", default="step", help="list")
    parser.add_argument("--optimizer", choices=("2025", "2026", "torch"), default="torch")
    parser.add_argument("--implementation", choices=("reference", "tuned"), default="reference")
    parser.add_argument(
        "--autocast", choices=("cpu", "cuda"), default="cpu", help="whose casts PyTorch's bfloat16 means"
    )
    parser.add_argument("--seed", default="1")
    parser.add_argument("--threads", default=str(len(os.sched_getaffinity(0))))
    parser.add_argument("--warmup", default="2")
    parser.add_argument("--steps", default="5")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--output-file", help="every record of both sides, as a JSON array")
    options = parser.parse_args()
    if options.rounds < 1:
        parser.error("--rounds must be at least 1")
    return options


def commands(options, model, context, dtype, wanted):
    """The command lines of the two sides for one point."""
    shared = [
        "--model",
        model,
        "--edition",
        options.edition,
        "--context",
        context,
        "--batch",
        options.batch,
        "--vocab",
        options.vocab,
        "--dtype",
        dtype,
        "--pass",
        wanted,
        "--mode",
        "eager",
        "--optimizer",
        options.optimizer,
        "--init",
        "stream",
        "--seed",
        options.seed,
        "--threads",
        options.threads,
        "--warmup",
        options.warmup,
        "--steps",
        options.steps,
    ]
    ours = [
        options.laptime,
        "bench",
        *shared,
        "--store",
        "none",
        "--output",
        "json",
        *shlex.split(options.laptime_options),
    ]
    theirs = [
        options.python,
        str(ROOT / "peers/pytorch_step.py"),
        *shared,
        "--implementation",
        options.implementation,
        "--autocast",
        options.autocast,
        "--output-file",
        "-",
        *shlex.split(options.pytorch_options),
    ]
    return ours, theirs


def compare_point(options, point):
    """Runs the rounds of one point and prints its table; (records, whether the first losses agree)."""
    sides = ([], [])
    for done in range(options.rounds):
        for side, command in zip(sides, commands(options, *point)):
            if sys.stderr.isatty():
                print(
                    f"\rround {done + 1} of {options.rounds}: {Path(command[0]).name:<10}", end="\r", file=sys.stderr
                )
            side.append(run(command))
    ours, theirs = sides
    wrong = [k for pair in zip(ours, theirs) for k in differing_configs(*pair)]
    if wrong:
        raise RunFailed(f"the two sides did not run the same work; they differ in {', '.join(sorted(set(wrong)))}")
    model, context, dtype, wanted = point
    first = max(loss_difference(a, b, 1) for a, b in zip(ours, theirs))
    every = max(loss_difference(a, b) for a, b in zip(ours, theirs))
    allowed = FIRST_LOSS_WITHIN[dtype, options.autocast]
    print(
        f"{wanted} of {model}, {options.batch} x {context}, {dtype}, optimizer {options.optimizer}, {options.threads} "
        f"threads: laptime eager, PyTorch {options.implementation} eager; {options.rounds} rounds of {options.warmup} "
        f"warm-up + {options.steps} steps each"
    )
    print(table(ours, theirs))
    agree = first <= allowed
    a, b = (side[0]["loss"]["values"][0] for side in sides)
    within = f"{'within' if agree else 'NOT WITHIN'} {allowed:.0e}"
    print(f"  {'first loss':<17} {a:.6f} and {b:.6f}: {first:.1e} apart, {within}; all steps {every:.1e}", flush=True)
    return ours + theirs, agree


def main():
    options = parse_arguments()
    load, cores = os.getloadavg()[0], len(os.sched_getaffinity(0))
    cpu = records.machine()["cpu_model"]
    print(f"{cpu}, {cores} cores, load {load:.2f}; ratio = PyTorch / laptime: above 1 laptime is faster", flush=True)
    if load > 0.25 * cores:
        print(
            f"warning: load {load:.2f}: something else runs here, these times are not to be trusted", file=sys.stderr
        )
    everything, fine = [], True
    lists = (getattr(options, axis).split(",") for axis in ("model", "context", "dtype", "pass"))
    for point in itertools.product(*lists):
        try:
            found, agree = compare_point(options, point)
        except RunFailed as error:
            print(f"compare_eager: {error}", file=sys.stderr)
            fine = False
            continue
        everything += found
        fine = fine and agree
    if options.output_file:
        Path(options.output_file).write_text(json.dumps(everything, indent=1) + "\n")
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
