#!/usr/bin/env python3
"""Writes docs/tutorial.md: the questions from the source documents, each with a command and its output on this machine.

Usage: tools/make_tutorial.py BINARY [--options "--num-layers 2"] > docs/tutorial.md

The commands run on this machine, in order, with a new store. `--options` are added to every command that runs a
model, for machines that are too slow for the full model.
"""

import argparse
import fcntl
import os
import pty
import re
import shlex
import struct
import subprocess
import sys
import tempfile
import termios
from pathlib import Path

COLUMNS = 100
LINES = 9  # lines of output per command; the rest is omitted
SOURCE = Path(__file__).resolve().parent.parent

# (heading, text before, [command, ...], text after)
SECTIONS = [
    ("How long do forward, backward and both take, and how much do they vary?",
     "Phases are timed in place in the same step, so backward is not a difference of two runs.",
     ["bench --model small {m} --pass forward_backward --warmup 2 --steps 10 --columns mean_std"],
     ""),
    ("Why do the first steps take longer without warm-up?",
     "",
     ["bench --model small {m} --pass forward_backward --warmup 0,1,2,5 --steps 10 --columns first_steps"],
     "Kernel trials, code generation, allocation and initial weights happen before the first step, so they are not in these times."),
    ("How much faster do bfloat16 and compilation make a step?",
     "",
     ["bench --model small {m} --mode eager,compile --dtype float32,bfloat16 --warmup 2 --steps 8 "
      "--columns default,speedup"],
     "A processor without bfloat16 instructions multiplies widened numbers, so the gain depends on the machine."),
    ("Which kernel takes the most time, and how often is it called?",
     "",
     ["profile --model small {m}"],
     ""),
    ("Which kernels other than matrix products matter in forward?",
     "",
     ["profile 'class != matmul' --model small {m} --phase forward --view kernels --top 6"],
     ""),
    ("How does the share of matrix products change from inference to a full step?",
     "",
     ["profile --model small {m} --pass inference,forward_backward,step --view classes --top 4 --traced-steps 3"],
     ""),
    ("How does softmax compare with the two products around it in time and FLOPs?",
     "One document finds softmax as slow as the products on a GPU although it has far fewer FLOPs. The bound says why: memory "
     "bandwidth limits softmax, arithmetic limits the products.",
     ["profile --model small {m} --view attention"],
     ""),
    ("Where does compile mode save time?",
     "",
     ["profile --model small {m} --compare-modes --view classes --top 4 --traced-steps 3"],
     ""),
    ("What share of the time do casts take, and is bfloat16 worth it on a small model?",
     "",
     ["profile 'class = cast or class = matmul' --model small {m} --dtype bfloat16 --view classes"],
     ""),
    ("What is the peak memory for inference, forward with backward, and a step?",
     "Nothing runs here: the bytes come from the plan and are exact.",
     ["memory --model 2.7B --context 128,256,512 --pass inference,forward_backward,step --dtype float32,bfloat16"],
     ""),
    ("What does a step use memory for, and what does a block save for backward?",
     "",
     ["memory --model small {m}"],
     ""),
    ("How long would a step take on another machine, and what would fit there?",
     "The machines of `laptime list devices` are described by their data sheets, and GPUs also by the "
     "rates that programs reach on them.",
     ["plan --model small,medium,large --context 512 --dtype bfloat16 --device h100,rtx4090,rtx3070 --largest"],
     ""),
    ("What do sums in float16 lose?",
     "",
     ["demo accumulate"],
     ""),
    ("Which values of a toy model are float16 or bfloat16 under autocast, and where does layer norm overflow?",
     "",
     ["demo autocast", "demo layernorm"],
     ""),
    ("Attention by itself: which widths and lengths fit, and what do they cost?",
     "",
     ["attention --d-model 16,64 --context 256,1024 --mode eager,compile --warmup 2 --steps 10"],
     ""),
]

WRONG = """## What the documents got wrong

- **Backward by subtraction.** A difference of two runs has the noise of both and once came out negative. `laptime` times
  every phase in place.
- **A number without an interval.** Several tables have a mean of five steps. Here a figure is a median with an interval.
- **First steps inside the mean.** With no warm-up the documents' means contain allocation and kernel selection. Here the
  excess of the first steps is a separate figure.
- **Number types of the toy model.** One document states parameters in float16 and a first layer in float32. Autocast does the
  opposite: parameters stay float32, and the first layer's output is lowered.
- **Traces that do not match the clock.** A profiler's overhead was not stated. Here traced and untraced steps run in turn,
  and the cost of tracing is known.
"""


def run(binary: str, words: list[str], folder: str) -> str:
    """Returns the text that the program prints on a terminal with COLUMNS columns."""
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 50, COLUMNS, 0, 0))
    environment = {**os.environ, "HOME": folder, "LC_ALL": "C.UTF-8", "TERM": "xterm"}
    complaint = tempfile.TemporaryFile()
    process = subprocess.Popen([binary, *words], stdout=follower, stderr=complaint, env=environment, cwd=SOURCE)
    os.close(follower)
    text = b""
    while True:
        try:
            piece = os.read(leader, 65536)
        except OSError:
            break
        if not piece:
            break
        text += piece
    os.close(leader)
    if process.wait() != 0:
        complaint.seek(0)
        last = complaint.read().decode(errors="replace").strip().splitlines()[-1:]
        sys.exit(f"make_tutorial: {shlex.join(words)} ended with {process.returncode}: {' '.join(last)}")
    return re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", text.decode().replace("\r\n", "\n")).rstrip()


def shortened(text: str) -> str:
    lines = text.splitlines()
    return text if len(lines) <= LINES else "\n".join([*lines[:LINES - 1], f"... {len(lines) - LINES + 1} more lines"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary")
    parser.add_argument("--options", default="--batch 4 --context 128")
    arguments = parser.parse_args()
    binary = str(Path(arguments.binary).resolve())
    with tempfile.TemporaryDirectory() as folder:
        machine = run(binary, ["list", "devices"], folder).splitlines()
        print("# The documents' questions, one command each\n")
        print("The source documents ([models and editions](models.md)) ask where the time and the memory of a "
              "training\nstep go. Each question below is one command, followed by what it printed on the machine where "
              "this page was made\n(`tools/make_tutorial.py`). The machine was shared with other work, so the times "
              "only illustrate the answers; run\nthe commands for those of your own machine.\n")
        print("```text\n" + "\n".join(line for line in machine if line.startswith("cpu")) + "\n```\n")
        for heading, before, commands, after in SECTIONS:
            print(f"## {heading}\n")
            if before:
                print(before + "\n")
            for command in commands:
                command = command.format(m=arguments.options)
                print("```console\n$ laptime " + command)
                print(shortened(run(binary, shlex.split(command), folder)) + "\n```\n")
                print(f"make_tutorial: {command}", file=sys.stderr)
            if after:
                print(after + "\n")
        print(WRONG, end="")


if __name__ == "__main__":
    main()
