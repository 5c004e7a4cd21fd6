#!/usr/bin/env python3
"""Measures causal attention alone in PyTorch, on the CPU or a GPU: forward, backward, and the bytes held between them.

    build/peers-venv/bin/python peers/pytorch_attention.py --d-model 64 --context 1024,4096 --output-file attention.json

No heads and no projections: q, k and v are (batch, context, d). eager is written out as in the source documents,
compile is the same through torch.compile, and sdpa is F.scaled_dot_product_attention. --d-model, --context, --dtype and
--implementation take comma-separated lists; each point runs in its own process.
"""

import argparse
import contextlib
import importlib.util
import itertools
import os
import sys
import time
from pathlib import Path

import devices
import model_config
import processes
import records

AXES = ("implementation", "dtype", "d_model", "context_length")
IMPLEMENTATIONS = ("eager", "compile", "sdpa")
_FLAG_NAMES = {"context_length": "context", "batch_size": "batch"}


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--d-model", default="16,32,64,128", help="list")
    parser.add_argument("--context", dest="context_length", default="256,1024,4096", help="sequence length; list")
    parser.add_argument("--batch", dest="batch_size", type=int, default=8)
    parser.add_argument("--device", choices=devices.DEVICES, default="cpu", help="default: %(default)s")
    parser.add_argument("--dtype", default="float32", help="float32, bfloat16 (tensors of that type), tf32 on cuda; list")
    parser.add_argument("--implementation", default=",".join(IMPLEMENTATIONS), help="list")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)), help="default: all cores")
    parser.add_argument("--warmup", type=int, default=3)
    parser.add_argument("--steps", type=int, default=10, help="samples; the source documents take 100")
    processes.add_options(parser)
    return parser.parse_args()


def points(options):
    """(options, config) of every point."""
    known = {"implementation": IMPLEMENTATIONS, "dtype": devices.DTYPES}
    for values in itertools.product(*(str(getattr(options, axis)).split(",") for axis in AXES)):
        chosen = dict(zip(AXES, values))
        for key, words in known.items():
            if chosen[key] not in words:
                raise model_config.ConfigError(f"--{key}: unknown '{chosen[key]}'; known: {', '.join(words)}")
        for key in ("d_model", "context_length"):
            if not chosen[key].isdigit() or int(chosen[key]) < 1:
                raise model_config.ConfigError(f"{key} is '{chosen[key]}'; it must be a whole number above 0")
            chosen[key] = int(chosen[key])
        point = argparse.Namespace(**(vars(options) | chosen))
        if min(point.batch_size, point.threads, point.steps) < 1 or min(point.warmup, point.seed) < 0:
            raise model_config.ConfigError("--batch, --threads, --steps must be at least 1, --warmup, --seed at least 0")
        devices.check(point.device, point.dtype)
        if point.device == "cuda" and point.allocator != "malloc":
            raise model_config.ConfigError("--allocator is for --device cpu")
        yield point, make_config(point)


def make_config(point):
    """The `config` of a record; options that do not apply to attention are null."""
    nothing = dict.fromkeys(("edition", "d_ff", "num_layers", "num_heads", "vocab_size", "optimizer"))
    return nothing | {
        "model": "attention",
        "d_model": point.d_model,
        "context_length": point.context_length,
        "batch_size": point.batch_size,
        "dtype": point.dtype,
        "mode": "compile" if point.implementation == "compile" else "eager",
        "pass": "forward_backward",
        "device": point.device,
        "threads": point.threads,
        "warmup": point.warmup,
        "steps": point.steps,
        "seed": point.seed,
        "init": "stream",
        "system": "pytorch",
        "implementation": point.implementation,
        "allocator": point.allocator,
    }


def product_flops(config):
    """FLOPs of the two matrix products of one forward pass, with full (not causal) attention. Backward has twice as many."""
    return 4 * config["batch_size"] * config["context_length"] ** 2 * config["d_model"]


class Attention:
    """q, k, v and the gradient of the output, from the seeded streams."""

    def __init__(self, config, setup):
        import gpt_pytorch
        import torch
        import torch.nn.functional as F

        self.config, self.device = config, devices.of(config)
        started = time.perf_counter()
        shape = (config["batch_size"], config["context_length"], config["d_model"])
        dtype = getattr(torch, devices.torch_type(config["dtype"]))
        self.q, self.k, self.v, self.grad = (
            gpt_pytorch.uniform(config, name, shape, 1.0).to(dtype) for name in "qkvg"
        )
        for x in (self.q, self.k, self.v):
            x.requires_grad_(True)
        setup["data"] = time.perf_counter() - started
        length = config["context_length"]
        if config["implementation"] == "sdpa":
            self.function = lambda q, k, v: F.scaled_dot_product_attention(
                q.unsqueeze(1), k.unsqueeze(1), v.unsqueeze(1), is_causal=True
            ).squeeze(1)
        else:
            mask = torch.ones(length, length, dtype=torch.bool, device=config["device"]).tril()
            self.function = lambda q, k, v: gpt_pytorch.attention(q, k, v, mask)
        if config["mode"] == "compile":
            started = time.perf_counter()
            self.function = torch.compile(self.function)
            self.sample()
            setup["plan"] = time.perf_counter() - started
        self.device.forget_peaks()

    def input_bytes(self):
        """Bytes of q, k, v and the gradient of the output."""
        return sum(x.numel() * x.element_size() for x in (self.q, self.k, self.v, self.grad))

    def _release(self):
        for x in (self.q, self.k, self.v):
            x.grad = None

    def sample(self, watch=contextlib.nullcontext):
        """(phase -> seconds, seconds of the whole on the host's clock or None without another clock).

        `watch()` surrounds the forward pass.
        """
        self._release()
        clock = self.device.clock()
        clock.mark()
        with watch():
            out = self.function(self.q, self.k, self.v)
        clock.mark()
        out.backward(self.grad)
        clock.mark()
        (_, forwarded, backwarded), host = clock.read()
        return {"forward": forwarded, "backward": backwarded - forwarded, "forward_backward": backwarded}, host

    def held_bytes(self):
        """Bytes allocated in a forward pass and still held at its end: values saved for backward, and the output."""
        watched = []

        @contextlib.contextmanager
        def watch():
            with self.device.held_bytes() as held:
                watched.append(held)
                yield

        self.sample(watch)
        return watched[0][0]


def measure(config):
    """The record of one point, measured in this process."""
    record, setup = records.empty_record(config), {}
    began = time.perf_counter()
    import torch

    record["machine"]["import_seconds"] = time.perf_counter() - began
    record["memory"]["base_rss_bytes"] = records.peak_rss_bytes()
    attention = Attention(config, setup)
    setup["total"] = time.perf_counter() - began
    record["setup"] |= setup
    samples, host_samples, warmup_seconds = {}, [], []
    for i in range(config["warmup"] + config["steps"]):
        seconds, host_seconds = attention.sample()
        if i == 0:
            record["machine"]["first_step_done_seconds"] = processes.seconds_since_start()
        if i < config["warmup"]:
            warmup_seconds.append(seconds["forward_backward"])
            continue
        for name, value in seconds.items():
            samples.setdefault(name, []).append(value)
        if host_seconds is not None:
            host_samples.append(host_seconds)
    record["memory"]["peak_rss_bytes"] = records.peak_rss_bytes()
    record["memory"] |= attention.device.memory()
    record["machine"] |= attention.device.describes
    math_mode = config["dtype"]
    records.fill(
        record, samples, warmup_seconds, [], math_mode, f"pytorch {torch.__version__}", product_flops(config)
    )
    records.fill_host(record, host_samples)
    # after the samples, because the profiler itself takes time and memory
    record["machine"]["input_bytes"] = attention.input_bytes()
    record["machine"]["before_backward_bytes"] = attention.input_bytes() + attention.held_bytes()
    return record


def summary(record):
    """One line with the times of a point, the bytes held before backward, and the peak."""
    c = record["config"]
    head = f"{c['implementation']:<8}{c['dtype']:<9} d {c['d_model']:<5} sequence {c['context_length']:<6}"
    if record["status"] != "ok":
        return f"{head} {record['status']}: {record['reason']}"
    times = (
        f"{name} {1e3 * t['median']:9.2f} ms (mad {1e3 * t['mad']:.2f})"
        for name, t in record["time"].items()
        if name != "forward_backward"
    )
    held = record["machine"]["before_backward_bytes"] / 2**20
    memory = record["memory"]
    peak = f"peak resident {memory['peak_rss_bytes'] / 2**20:.0f} MiB"
    if memory["peak_bytes"] is not None:
        peak = f"peak of tensors {memory['peak_bytes'] / 2**20:.0f} MiB"
    return f"{head} {'   '.join(times)}   before backward {held:8.1f} MiB   {peak}"


def main():
    options = parse_arguments()
    try:
        if importlib.util.find_spec("torch") is None:
            raise model_config.ConfigError("no torch in this Python; run peers/setup, then build/peers-venv/bin/python")
        swept = list(points(options))
        if options.device == "cuda" and not options.in_process:
            devices.require_card()
        return processes.run_points(
            swept,
            measure,
            lambda point, config: processes.measure_in_child(Path(__file__), point, config, _FLAG_NAMES),
            options,
            summary,
        )
    except (model_config.ConfigError, OSError) as error:
        print(f"pytorch_attention: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
