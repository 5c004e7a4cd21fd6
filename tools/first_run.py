#!/usr/bin/env python3
"""The first run of laptime on a machine: builds it, compares its numbers with PyTorch's, and measures a small model.

Usage: first_run.py [--build]
Prints one line of progress for the build, then a screen of results, each row as soon as it is measured. The program has
kernels only for this machine. With --build it has kernels for every machine, and only the build runs.
The log of the build is build/quickstart_build.log; other logs are in build/quickstart/. Records of the small model go
to the user's store.
"""

import json
import os
import re
import struct
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PROGRAM = "build/release/laptime"
REPORTS = ROOT / "build" / "quickstart"
GOLDEN = "tests/golden/tiny_2025.safetensors"
SMALL = "--model small --edition 2025 --batch 4 --context 256 --dtype float32,bfloat16 --mode compile".split()
LEARNING = ("--edition 2025 --d-model 256 --d-ff 1024 --num-layers 4 --num-heads 8 --batch 4 --context 256 --vocab 256 "
            "--data-format bytes --batches fresh --dtype float32 --mode compile --warmup 0 --steps 20").split()


class Failed(Exception):
    """Ends the run; the message states which step failed and where its log is."""


def duration(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 60 else f"{seconds // 60:.0f} min {seconds % 60:.0f} s"


def progress_line(done: int, total: int, elapsed: float) -> str:
    """`[ 45 %] 123 of 275, about 3 min left`; no estimate until one twentieth is done."""
    line = f"[{100 * done // total:3d} %] {done} of {total}"
    if done * 20 < total or done == total:
        return line
    left = elapsed * (total - done) / done
    return f"{line}, about {left / 60:.0f} min left" if left >= 90 else f"{line}, about {left:.0f} s left"


def build(isas: str) -> float:
    """Builds the program with kernels for these instruction sets, '' for all, and returns the seconds that it took."""
    start = time.monotonic()
    log = ROOT / "build" / "quickstart_build.log"
    log.parent.mkdir(exist_ok=True)
    with open(log, "w", encoding="utf-8") as file:
        configure = ["cmake", "--preset", "release", f"-DLAPTIME_ONLY_ISAS={isas}", "-DLAPTIME_TESTS=OFF",
                     "-DLAPTIME_UNITE=ON"]
        if subprocess.run(configure, cwd=ROOT, stdout=file, stderr=file, check=False).returncode:
            raise Failed(f"CMake cannot configure the build; see {log}")
        environment = {**os.environ, "NINJA_STATUS": "[%f/%t] "}
        with subprocess.Popen(["cmake", "--build", "--preset", "release", "--target", "laptime"], cwd=ROOT, text=True,
                              env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as ninja:
            for line in ninja.stdout:
                file.write(line)
                counts = re.match(r"\[(\d+)/(\d+)\]", line)
                if counts:
                    shown = progress_line(int(counts[1]), int(counts[2]), time.monotonic() - start)
                    show_progress(f"building {shown}")
    show_progress("")
    if ninja.returncode:
        lines = log.read_text(encoding="utf-8").splitlines()
        first = next((i for i, line in enumerate(lines) if line.startswith("FAILED:")), len(lines) - 20)
        raise Failed("\n".join([*lines[max(first, 0):][:30], f"The build failed; see {log}"]))
    return time.monotonic() - start


def numbers() -> str:
    """Compares ten training steps with stored PyTorch values; raises Failed if any value differs."""
    log = REPORTS / "verify.txt"
    with open(log, "w", encoding="utf-8") as file:
        done = subprocess.run([PROGRAM, "verify", GOLDEN, "--verbose", "--mode", "compile", "--store", "none"], cwd=ROOT,
                              stdout=file, stderr=subprocess.STDOUT, check=False)
    if done.returncode == 1:
        raise Failed(f"The numbers differ from PyTorch's, so nothing is measured; see {log}")
    if done.returncode:
        raise Failed(f"laptime verify ended with exit code {done.returncode}, so nothing is measured; see {log}")
    with open(ROOT / GOLDEN, "rb") as golden:
        (size,) = struct.unpack("<Q", golden.read(8))
        stored = json.loads(json.loads(golden.read(size))["__metadata__"]["laptime"])
    types = ", ".join(dtype for dtype in ("float32", "bfloat16", "float16") if f"losses_{dtype}" in stored)
    return f"match PyTorch: forward, gradients, {stored['steps']} steps, in {types}"


def records_of(log: str, *words: str):
    """Runs `laptime bench` and yields each record as soon as it is measured; its messages go to a log in build/quickstart/."""
    command = [PROGRAM, "bench", *words, "--output", "jsonl", "--columns", "all"]
    with open(REPORTS / log, "w", encoding="utf-8") as file, \
            subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=file, text=True) as bench:
        for line in bench.stdout:
            record = json.loads(line)
            if record["status"] != "ok":
                raise Failed(f"{record['name']}: {record['status']}: {record['reason']}")
            yield record
    if bench.returncode:
        raise Failed(f"laptime bench ended with exit code {bench.returncode}; see {REPORTS / log}")


def show_progress(text: str):
    """Shows a line on a terminal until the next line replaces it; empty text removes it."""
    if sys.stdout.isatty():
        print(f"\r\x1b[K{text}", end="", flush=True)


def two_digits(value: float) -> str:
    return f"{round(value, 2 - len(str(int(value)))):,.0f}" if value >= 10 else f"{value:.1f}"


def machine(record: dict) -> str:
    known = record["machine"]
    width = {"avx512": "AVX-512", "avx2": "AVX2", "plain": "no AVX2"}.get(known["isa_used"], known["isa_used"])
    cores = known["cores_allowed"]
    return f"{known['cpu_model']}, {cores} core{'s' * (cores != 1)}, {width}"


def size(record: dict) -> str:
    config = record["config"]
    parameters = record["memory"]["parts"]["parameter"] / 4
    return f"{parameters / 1e6:.0f} M parameters, batch {config['batch_size']} x {config['context_length']}"


def row(record: dict, first: dict) -> str:
    step, memory, mfu = record["time"]["step"], record["memory"]["peak_bytes"], record["flops"]["mfu_measured"]
    seconds = step["median"]
    text = f"{seconds:.1f} s" if seconds >= 1 else f"{seconds * 1e3:.0f} ms"
    parts = [f"  {record['config']['dtype']:<10}{text:>6} per step", f"{two_digits(record['tokens_per_second'])} tokens/s",
             f"{100 * mfu:.0f} % of peak" if mfu else "", f"{memory / 2**30:.1f} GiB",
             f"{first['time']['step']['median'] / seconds:.1f}x" if record is not first else ""]
    return "   ".join(part for part in parts if part)


def learning(record: dict) -> str:
    losses = record["loss"]["values"]
    if losses[0] - losses[-1] < 1:
        raise Failed(f"The loss on text went from {losses[0]:.2f} to {losses[-1]:.2f}; it should have fallen by 1 or more")
    return f"loss {losses[0]:.2f} -> {losses[-1]:.2f} in {len(losses)} steps on this repository's sources"


def warning(records: list[dict]) -> str:
    """Returns a line if other programs were running, otherwise an empty string."""
    load = max(record["machine"]["during"]["load"] or 0 for record in records)
    cores = records[0]["machine"]["cores_allowed"]
    if load < cores + 0.5:
        return ""
    return f"! other programs were running (load {load:.1f} on {cores} cores); expect shorter times on an idle machine"


def main() -> int:
    only_build = sys.argv[1:] == ["--build"]
    built = build(isas="" if only_build else "native")
    if only_build:
        print(f"built in {duration(built)}: {PROGRAM}")
        return 0
    REPORTS.mkdir(parents=True, exist_ok=True)
    show_progress("comparing numbers with PyTorch's")
    compared = numbers()
    show_progress("measuring a step of the small model, up to 30 s for each type")
    records = []
    for record in records_of("small.log", *SMALL):
        show_progress("")
        if not records:
            print(f"laptime works here: built in {duration(built)}, {machine(record)}")
            print(f"numbers     {compared}")
            print(f"small GPT   {size(record)}")
        records.append(record)
        print(row(record, records[0]), flush=True)
    show_progress("learning from this repository's sources")
    text = REPORTS / "sources.txt"
    sources = sorted(path for path in (ROOT / "src").rglob("*") if path.suffix in (".h", ".cpp", ".inc"))
    text.write_bytes(b"".join(path.read_bytes() for path in sources))
    (learned,) = records_of("learning.log", *LEARNING, "--data", str(text), "--store", "none")
    show_progress("")
    print(f"learning    {learning(learned)}")
    if said := warning(records):
        print(said)
    print(f"try         {PROGRAM} plan --model small,large --device h100 --grid")
    print(f"            {PROGRAM} report --last --html step.html")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Failed as failure:
        sys.exit(str(failure))
    except KeyboardInterrupt:
        sys.exit(130)
