#!/usr/bin/env python3
"""Runs the models of pytorch_step.py and jax_step.py on golden files and compares the losses of every step.

    build/peers-venv/bin/python peers/check_golden.py --system pytorch tests/golden/*.safetensors

The exit code is 1 if a loss differs by more than 2 x 1e-6 in float32 or 2 x 2e-3 in bfloat16, or by more than twice the
error of PyTorch that the file states, if that is larger. A loss that is not finite differs.
"""

import argparse
import json
import struct
import sys
import types
from pathlib import Path

import jax_step
import model_config
import pytorch_step
import records
import step_program

PROGRAMS = {"pytorch": pytorch_step.PROGRAM, "jax": jax_step.PROGRAM}
FLOOR = {"float32": 1e-6, "bfloat16": 2e-3}
MAX_HEADER = 100 << 20


def read_metadata(path):
    """The case described by a safetensors file."""
    with open(path, "rb") as file:
        length = struct.unpack("<Q", file.read(8))[0]
        if length > MAX_HEADER:
            raise ValueError(f"{path}: header of {length} bytes exceeds {MAX_HEADER}; the file may not be safetensors")
        return json.loads(json.loads(file.read(length))["__metadata__"]["laptime"])


def losses(meta, dtype, system, implementation, steps):
    program = PROGRAMS[system]
    options = types.SimpleNamespace(
        model="custom",
        edition=meta["edition"],
        context=meta["context_length"],
        weight_tie=meta["tied"],
        bias=meta["edition"] == "gpt2" or meta.get("bias", False),
        dtype=dtype,
        mode=program.modes[0],
        implementation=implementation or program.implementations[0],
        allocator="malloc",
        autocast="cuda",
        device="cpu",
        compile_mode="default",
        launcher=False,
        threads=2,
        warmup=0,
        steps=steps,
        init="stream",
        clip_norm=meta["clip"],
        optimizer=meta["optimizer"],
        seed=meta["seed"],
        **{k: meta[k] for k in ("d_model", "d_ff", "num_layers", "num_heads", "vocab_size", "batch_size")},
    )
    setattr(options, "pass", "step")
    step = program.prepare(step_program.make_config(program, options), {})
    return [step.sample()[-1] for _ in range(steps)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("files", nargs="+")
    parser.add_argument("--system", choices=PROGRAMS, default="pytorch")
    parser.add_argument("--implementation", choices=("reference", "tuned"), help="implementation in PyTorch; default: reference")
    parser.add_argument("--steps", type=int, help="maximum number of steps per case")
    options = parser.parse_args()
    bad = 0
    for path in options.files:
        meta = read_metadata(path)
        steps = min(meta["steps"], options.steps or meta["steps"])
        for dtype in FLOOR:
            want = meta["losses_" + dtype][:steps]
            try:
                got = losses(meta, dtype, options.system, options.implementation, steps)
            except model_config.ConfigError as error:
                print(f"skip {Path(path).stem:<22} {dtype:<9} {error}", flush=True)
                continue
            worst = max(records.loss_apart(a, b) for a, b in zip(got, want))
            allowed = 2 * max(FLOOR[dtype], meta["torch_error"].get(dtype, {}).get("losses", 0))
            ok = worst <= allowed
            bad += not ok
            equal = sum(a == b for a, b in zip(got, want))
            print(
                f"{'ok  ' if ok else 'FAIL'} {Path(path).stem:<22} {dtype:<9} loss {got[0]:.6f} -> {got[-1]:.6f}, "
                f"{equal} of {steps} bitwise equal, worst relative difference {worst:.1e} (allowed {allowed:.1e})",
                flush=True,
            )
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
