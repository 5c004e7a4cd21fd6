#!/usr/bin/env python3
"""Measures one training step of a model in PyTorch on the CPU and writes records of laptime's schema.

    build/peers-venv/bin/python peers/pytorch_step.py --model small --context 256 --pass step --output-file step.json

--model, --context, --dtype, --pass, --mode and --implementation take comma-separated lists, swept as a product.
Each point has a process of its own: its peak memory is its own, and a point that dies is a record that says why.
"""

import argparse
import contextlib
import importlib.util
import itertools
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import model_config
import records

AXES = ("model", "context", "dtype", "pass", "mode", "implementation")
PASSES = ("forward", "backward", "forward_backward", "step", "inference")


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    words = lambda known: lambda text: _words(text, known)
    parser.add_argument(
        "--model", default="small", help="size by name, or custom with the four dimensions below; list"
    )
    parser.add_argument("--edition", choices=model_config.EDITIONS, help="default 2025")
    for name in ("--d-model", "--d-ff", "--num-layers", "--num-heads"):
        parser.add_argument(name, type=int)
    parser.add_argument("--vocab", type=int, dest="vocab_size")
    parser.add_argument("--context", help="context length; list")
    parser.add_argument("--batch", type=int, dest="batch_size")
    parser.add_argument("--weight-tie", action="store_true", default=None)
    parser.add_argument("--bias", action="store_true", default=None)
    parser.add_argument(
        "--dtype", type=words(("float32", "bfloat16")), default="float32", help="bfloat16 is autocast; list"
    )
    parser.add_argument("--pass", type=words(PASSES), default="step", help="what a sample is; list")
    parser.add_argument("--mode", type=words(("eager", "compile")), default="eager", help="list")
    parser.add_argument(
        "--compile", dest="mode", action="store_const", const="compile", help="the same as --mode compile"
    )
    parser.add_argument(
        "--implementation",
        type=words(("reference", "tuned")),
        default="reference",
        help="reference: as the documents write it; tuned: with PyTorch's fused functions; list",
    )
    parser.add_argument(
        "--autocast",
        choices=("cpu", "cuda"),
        default="cpu",
        help="whose casts bfloat16 means: PyTorch's own for the CPU, or CUDA's lists (slow, for numbers)",
    )
    parser.add_argument(
        "--optimizer",
        choices=("2025", "2026", "torch"),
        help="torch: torch.optim.AdamW(fused=True); default: of the edition",
    )
    parser.add_argument("--clip-norm", type=float, help="largest global norm of the gradients")
    parser.add_argument(
        "--init", choices=("stream",), default="stream", help="weights and tokens from the seeded streams"
    )
    parser.add_argument("--seed", type=int)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)), help="default: all cores")
    parser.add_argument("--warmup", type=int)
    parser.add_argument("--steps", type=int)
    parser.add_argument(
        "--output-file", help="JSON array of records; '-': standard output (the summary then goes to standard error)"
    )
    parser.add_argument(
        "--in-process", action="store_true", help="measure in this process, not in a child for each point"
    )
    return parser.parse_args()


def _words(text, known):
    for word in text.split(","):
        if word not in known:
            raise argparse.ArgumentTypeError(f"unknown '{word}'; known: {', '.join(known)}")
    return text


def make_config(options):
    """The `config` of a record: what one point was asked for."""
    try:
        context = None if options.context is None else int(options.context)
    except ValueError:
        raise model_config.ConfigError(f"--context: '{options.context}' is not a whole number") from None
    given = vars(options) | {"context_length": context}
    c = model_config.resolve(options.model, options.edition, given)
    if options.threads < 1:
        raise model_config.ConfigError("--threads must be at least 1")
    if options.clip_norm is not None and not options.clip_norm > 0:
        raise model_config.ConfigError("--clip-norm must be above 0")
    if options.dtype == "bfloat16" and options.autocast == "cuda" and options.mode == "compile":
        raise model_config.ConfigError("--autocast cuda works in eager mode only")
    return c | {
        "dtype": options.dtype,
        "mode": options.mode,
        "pass": getattr(options, "pass"),
        "device": "cpu",
        "threads": options.threads,
        "lr": 1e-3,
        "beta1": 0.9,
        "beta2": 0.999,
        "eps": 1e-8,
        "weight_decay": 0.01,
        "clip_norm": options.clip_norm,
        "accumulate": False,
        "init": options.init,
        "system": "pytorch",
        "implementation": options.implementation,
        "autocast": options.autocast,
    }


class Step:
    """The model, its batch and optimizer, and one sample of the pass with every phase timed in place."""

    def __init__(self, config, setup):
        import torch
        import gpt_pytorch

        self.torch, self.gpt, self.config = torch, gpt_pytorch, config
        torch.set_num_threads(config["threads"])
        started = time.perf_counter()
        self.p = gpt_pytorch.parameters(config)
        setup["weights"] = time.perf_counter() - started
        started = time.perf_counter()
        self.tokens, self.targets = gpt_pytorch.batch(config)
        setup["data"] = time.perf_counter() - started
        tables, implementation = gpt_pytorch.rope_tables(config), config["implementation"]
        self.loss = lambda: gpt_pytorch.loss(config, self.p, tables, self.tokens, self.targets, implementation)
        self.optimizer = gpt_pytorch.make_optimizer(self.p, config["optimizer"]) if config["pass"] == "step" else None
        if config["mode"] == "compile":
            started = time.perf_counter()
            self.loss = torch.compile(self.loss)
            self._forward_backward()
            self._release()
            setup["plan"] = time.perf_counter() - started

    def _autocast(self):
        if self.config["dtype"] == "float32":
            return contextlib.nullcontext()
        if self.config["autocast"] == "cuda":
            return self.gpt.CudaAutocast()
        return self.torch.autocast("cpu", self.torch.bfloat16)

    def _forward_backward(self):
        """Compiles what the samples will run; no update."""
        with self._grad_mode(), self._autocast():
            loss = self.loss()
        if self.config["pass"] not in ("inference", "forward"):
            loss.backward()

    def _grad_mode(self):
        return self.torch.set_grad_enabled(self.config["pass"] != "inference")

    def _release(self):
        for w in self.p.values():
            w.grad = None

    def sample(self):
        """(phase or pass -> seconds, loss)."""
        wanted, clock = self.config["pass"], time.perf_counter
        if wanted != "step":
            self._release()  # in a step it is part of what is timed
        started = clock()
        if wanted == "step":
            self._release()
        released = clock()
        with self._grad_mode(), self._autocast():
            loss = self.loss()
        forwarded = clock()
        if wanted in ("forward", "inference"):
            return {wanted: forwarded - released}, loss.item()
        loss.backward()
        backwarded = clock()
        seconds = {"forward": forwarded - released, "backward": backwarded - forwarded}
        if wanted == "backward":
            return seconds, loss.item()
        if wanted == "forward_backward":
            return seconds | {wanted: backwarded - released}, loss.item()
        if self.config["clip_norm"]:
            self.gpt.clip_gradients(self.p, self.config["clip_norm"], self.config["implementation"] == "tuned")
        self.optimizer.step()
        stepped = clock()
        return seconds | {"optimizer": stepped - backwarded, "step": stepped - started}, loss.item()


def measure(config):
    """The record of one point, measured in this process."""
    record, setup = records.empty_record(config), {}
    began = started = time.perf_counter()
    try:
        import torch
    except ImportError as error:
        raise model_config.ConfigError(f"PyTorch does not import: {error}; make its environment anew") from error
    record["machine"]["import_seconds"] = time.perf_counter() - started
    record["memory"]["base_rss_bytes"] = records.peak_rss_bytes()
    step = Step(config, setup)
    setup["total"] = time.perf_counter() - began
    record["setup"] |= setup
    samples, warmup_seconds, losses = {}, [], []
    faults = 0
    for i in range(config["warmup"] + config["steps"]):
        before = records.page_faults()
        seconds, loss = step.sample()
        losses.append(loss)
        if i < config["warmup"]:
            warmup_seconds.append(seconds[config["pass"]])
            continue
        faults += records.page_faults() - before
        for name, value in seconds.items():
            samples.setdefault(name, []).append(value)
    lists = {"cpu": "autocast, CPU lists", "cuda": "autocast, CUDA lists"}[config["autocast"]]
    math_mode = "float32" if config["dtype"] == "float32" else f"bfloat16 ({lists})"
    records.fill(record, samples, warmup_seconds, losses, math_mode, f"pytorch {torch.__version__}")
    record["machine"]["page_faults_per_step"] = faults / config["steps"]
    record["memory"]["peak_rss_bytes"] = records.peak_rss_bytes()
    return record


def points(options):
    """One copy of the options per point of the sweep."""
    lists = [[None] if getattr(options, axis) is None else getattr(options, axis).split(",") for axis in AXES]
    for values in itertools.product(*lists):
        yield argparse.Namespace(**(vars(options) | dict(zip(AXES, values))))


def measure_in_child(options, config):
    """The record of one point, measured in a fresh process; a child that dies becomes a record with the reason."""
    flags = [sys.executable, __file__, "--in-process"]
    for key, value in vars(options).items():
        flag = {"vocab_size": "--vocab", "batch_size": "--batch"}.get(key, "--" + key.replace("_", "-"))
        if value is not None and key not in ("output_file", "in_process"):
            flags += [flag] if value is True else [flag, str(value)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "record.json")
        child = subprocess.run(
            [*flags, "--output-file", str(path)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        )
        if child.returncode == 0:
            return json.loads(path.read_text())[0]
    record = records.empty_record(config)
    killed = child.returncode == -signal.SIGKILL
    lines = child.stderr.strip().splitlines()
    record["status"] = "out_of_memory" if killed or "allocate memory" in child.stderr else "failed"
    record["reason"] = "killed by the kernel" if killed else lines[-1] if lines else f"exit code {child.returncode}"
    refused = re.search(r"tried to allocate (\d+) bytes", child.stderr)
    record["bytes_requested"] = int(refused[1]) if refused else None
    return record


def summary(record):
    """Lines for people: what ran, then median, spread and range per phase."""
    c, memory = record["config"], record["memory"]
    lines = [
        f"{record['name']}  ({c['edition']}, batch {c['batch_size']}, vocab {c['vocab_size']}, optimizer "
        f"{c['optimizer']}, {c['threads']} threads, {c['warmup']} warm-up, {c['steps']} steps)"
    ]
    if record["status"] != "ok":
        return "\n".join([*lines, f"  {record['status']}: {record['reason']}"])
    for name, t in record["time"].items():
        lines.append(
            f"  {name:<17} median {t['median']:9.4f} s   mad {t['mad']:.4f}   mean {t['mean']:.4f}   "
            f"min {t['min']:.4f}   max {t['max']:.4f}"
        )
    losses, setup = record["loss"]["values"], record["setup"]
    peak, base = memory["peak_rss_bytes"] / 2**20, memory["base_rss_bytes"] / 2**20
    faults = record["machine"]["page_faults_per_step"]
    lines.append(
        f"  loss {losses[0]:.6f} -> {losses[-1]:.6f}   {record['tokens_per_second']:.0f} tokens/s   set-up "
        f"{setup['total']:.1f} s"
    )
    lines.append(f"  peak resident {peak:.0f} MiB ({base:.0f} after import)   {faults:.0f} page faults per step")
    return "\n".join(lines)


def run(options):
    """Measures every point; the exit code."""
    if options.output_file not in (None, "-") and not Path(options.output_file).parent.is_dir():
        raise model_config.ConfigError(f"--output-file: no folder {Path(options.output_file).parent}; make it first")
    sweep = [(point, make_config(point)) for point in points(options)]
    if importlib.util.find_spec("torch") is None:
        raise model_config.ConfigError("no PyTorch in this Python; run peers/setup, then build/peers-venv/bin/python")
    results = []
    text_to = sys.stderr if options.output_file == "-" else sys.stdout
    for point, config in sweep:
        if sys.stderr.isatty():
            print(f"point {len(results) + 1} of {len(sweep)} ...", end="\r", file=sys.stderr, flush=True)
        results.append(measure(config) if options.in_process else measure_in_child(point, config))
        print(summary(results[-1]), file=text_to, flush=True)
    if options.output_file:
        text = json.dumps(results, indent=1)
        if options.output_file == "-":
            print(text)
        else:
            Path(options.output_file).write_text(text + "\n")
    return 0 if all(r["status"] in ("ok", "out_of_memory") for r in results) else 1


def main():
    try:
        return run(parse_arguments())
    except (model_config.ConfigError, OSError) as error:
        print(f"pytorch_step: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
