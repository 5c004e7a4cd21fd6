"""Shared code of the programs that measure a training step: options, sweep, sampling loop, and summary."""

import argparse
import dataclasses
import importlib.util
import itertools
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

import devices
import model_config
import processes
import records

AXES = ("model", "context", "dtype", "pass", "mode", "implementation")
PASSES = ("forward", "backward", "forward_backward", "step", "inference")
_FLAG_NAMES = {"vocab_size": "vocab", "batch_size": "batch"}


@dataclasses.dataclass(frozen=True)
class Program:
    """One system's step. `prepare(config, setup)` imports the system and returns an object with `sample()`."""

    system: str  # value of config.system
    module: str  # module that must be importable
    script: Path
    description: str
    modes: tuple
    implementations: tuple
    prepare: Callable  # (config, setup: dict to fill) -> object with sample() -> (phase -> seconds, host seconds, loss)
    version: Callable  # () -> text
    math_mode: Callable  # config -> text
    check: Callable  # config -> None; raises ConfigError for a point that the system cannot run
    add_options: Callable = lambda parser: None
    config_of: Callable = lambda options: {}  # additional config values of the system
    devices: tuple = ("cpu",)
    resolve: Callable = model_config.resolve  # (model, edition, given) -> config of the model


def _words(known):
    def parse(text):
        for word in text.split(","):
            if word not in known:
                raise argparse.ArgumentTypeError(f"unknown '{word}'; known: {', '.join(known)}")
        return text

    return parse


def parser_of(program):
    parser = argparse.ArgumentParser(description=program.description)
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
    parser.add_argument("--device", choices=program.devices, default="cpu", help="default: %(default)s")
    parser.add_argument("--dtype", type=_words(devices.DTYPES), default="float32", help="list; tf32 only on cuda")
    parser.add_argument("--pass", type=_words(PASSES), default="step", help="the timed pass; list")
    parser.add_argument("--mode", type=_words(program.modes), default=program.modes[0], help="list")
    parser.add_argument(
        "--implementation",
        type=_words(program.implementations),
        default=program.implementations[0],
        help=f"{' or '.join(program.implementations)} (README.md); list",
    )
    parser.add_argument(
        "--optimizer",
        choices=("2025", "2026", "torch"),
        default="torch",
        help="AdamW: the framework's (torch), or the arithmetic of a source document",
    )
    parser.add_argument("--clip-norm", type=float, help="clip the gradients to this global norm")
    parser.add_argument(
        "--init", choices=("stream",), default="stream", help="source of weights and tokens: the seeded streams"
    )
    parser.add_argument("--seed", type=int)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)), help="default: all cores")
    parser.add_argument("--warmup", type=int)
    parser.add_argument("--steps", type=int)
    program.add_options(parser)
    processes.add_options(parser)
    return parser


def make_config(program, options):
    """The `config` of a record: the options of one point."""
    try:
        context = None if options.context is None else int(options.context)
    except ValueError:
        raise model_config.ConfigError(f"--context: '{options.context}' is not a whole number") from None
    given = vars(options) | {"context_length": context}
    config = program.resolve(options.model, options.edition, given)
    if options.threads < 1:
        raise model_config.ConfigError("--threads must be at least 1")
    if options.clip_norm is not None and not options.clip_norm > 0:
        raise model_config.ConfigError("--clip-norm must be above 0")
    config |= {
        "dtype": options.dtype,
        "mode": options.mode,
        "pass": getattr(options, "pass"),
        "device": options.device,
        "threads": options.threads,
        "lr": 1e-3,
        "beta1": 0.9,
        "beta2": 0.999,
        "eps": 1e-8,
        "weight_decay": 0.01,
        "clip_norm": options.clip_norm,
        "accumulate": False,
        "init": options.init,
        "system": program.system,
        "implementation": options.implementation,
        "allocator": options.allocator,
    } | program.config_of(options)
    devices.check(config["device"], config["dtype"])
    program.check(config)
    return config


def points(options):
    """One copy of the options per point of the sweep."""
    lists = [[None] if getattr(options, axis) is None else getattr(options, axis).split(",") for axis in AXES]
    for values in itertools.product(*lists):
        yield argparse.Namespace(**(vars(options) | dict(zip(AXES, values))))


def measure(program, config):
    """The record of one point, measured in this process."""
    record, setup = records.empty_record(config), {}
    began = time.perf_counter()
    try:
        __import__(program.module)
    except ImportError as error:
        raise model_config.ConfigError(
            f"{program.module} does not import: {error}; reinstall its environment (peers/setup)"
        ) from error
    record["machine"]["import_seconds"] = time.perf_counter() - began
    record["memory"]["base_rss_bytes"] = records.peak_rss_bytes()
    step = program.prepare(config, setup)
    setup["total"] = time.perf_counter() - began
    record["setup"] |= setup
    samples, host_samples, warmup_seconds, losses = {}, [], [], []
    faults = 0
    for i in range(config["warmup"] + config["steps"]):
        before = records.page_faults()
        seconds, host_seconds, loss = step.sample()
        if i == 0:
            record["machine"]["first_step_done_seconds"] = processes.seconds_since_start()
        losses.append(loss)
        if i < config["warmup"]:
            warmup_seconds.append(seconds[config["pass"]])
            continue
        faults += records.page_faults() - before
        for name, value in seconds.items():
            samples.setdefault(name, []).append(value)
        if host_seconds is not None:
            host_samples.append(host_seconds)
    records.fill(record, samples, warmup_seconds, losses, program.math_mode(config), program.version())
    records.fill_host(record, host_samples)
    record["machine"]["page_faults_per_step"] = faults / config["steps"]
    record["memory"]["peak_rss_bytes"] = records.peak_rss_bytes()
    if device := getattr(step, "device", None):
        record["memory"] |= device.memory()
        record["machine"] |= device.describes
    return record


def summary(record):
    """A summary as text: the point, then median, spread and range per phase."""
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
    losses, setup, machine = record["loss"]["values"], record["setup"], record["machine"]
    if record["host"]["median"] is not None:
        lines.append(f"  on the host's clock median {record['host']['median']:.4f} s   on {machine['card']['name']}")
    if memory["reserved_bytes"] is not None:
        held, reserved = memory["peak_bytes"] / 2**20, memory["reserved_bytes"] / 2**20
        lines.append(f"  peak of tensors {held:.0f} MiB ({reserved:.0f} reserved)")
    peak, base = memory["peak_rss_bytes"] / 2**20, memory["base_rss_bytes"] / 2**20
    lines.append(
        f"  loss {losses[0]:.6f} -> {losses[-1]:.6f}   {record['tokens_per_second']:.0f} tokens/s   set-up "
        f"{setup['total']:.1f} s   first step done {machine['first_step_done_seconds']:.1f} s after program start"
    )
    lines.append(
        f"  peak resident {peak:.0f} MiB ({base:.0f} after import)   {machine['page_faults_per_step']:.0f} page faults "
        "per step"
    )
    return "\n".join(lines)


def main(program):
    """Measures the points of the command line; returns the exit code."""
    options = parser_of(program).parse_args()
    try:
        sweep = [(point, make_config(program, point)) for point in points(options)]
        package = program.module.partition(".")[0]
        if importlib.util.find_spec(package) is None:
            raise model_config.ConfigError(
                f"no {package} in this Python; run peers/setup, then build/peers-venv/bin/python"
            )
        if options.device == "cuda" and not options.in_process:
            devices.require_card()
        return processes.run_points(
            sweep,
            lambda config: measure(program, config),
            lambda point, config: processes.measure_in_child(program.script, point, config, _FLAG_NAMES),
            options,
            summary,
        )
    except (model_config.ConfigError, OSError) as error:
        print(f"{program.script.stem}: {error}", file=sys.stderr)
        return 2
