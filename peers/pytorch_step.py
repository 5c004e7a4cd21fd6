#!/usr/bin/env python3
"""Measures one training step of a model in PyTorch, on the CPU or a GPU, and writes records of laptime's schema.

    build/peers-venv/bin/python peers/pytorch_step.py --model small --context 256 --pass step --output-file step.json

--model, --context, --dtype, --pass, --mode and --implementation take comma-separated lists, swept as a product.
Each point runs in its own process, so peak memory is per point, and if a process dies, its record states the reason.
"""

import contextlib
import sys
import time
from pathlib import Path

import devices
import model_config
import step_program


class Step:
    """The model, its batch and optimizer, and one sample of the pass with every phase timed in place."""

    def __init__(self, config, setup):
        import torch
        import gpt_pytorch

        self.torch, self.gpt, self.config = torch, gpt_pytorch, config
        self.device = devices.of(config)
        self.load(setup)
        self.optimizer = gpt_pytorch.make_optimizer(self.p, config["optimizer"]) if config["pass"] == "step" else None
        if config["mode"] == "compile":
            started = time.perf_counter()
            self.loss = torch.compile(self.loss, mode=config["compile_mode"])
            self._forward_backward()
            self._release()
            setup["plan"] = time.perf_counter() - started
        self.device.forget_peaks()

    def load(self, setup):
        """Sets `p`, the parameters by name, and `loss`, a function of the batch."""
        gpt, config = self.gpt, self.config
        started = time.perf_counter()
        self.p = gpt.parameters(config)
        setup["weights"] = time.perf_counter() - started
        started = time.perf_counter()
        tokens, targets = gpt.batch(config)
        setup["data"] = time.perf_counter() - started
        tables, implementation = gpt.rope_tables(config), config["implementation"]
        self.loss = lambda: gpt.loss(config, self.p, tables, tokens, targets, implementation)

    def _autocast(self):
        if self.config["dtype"] != "bfloat16":
            return contextlib.nullcontext()
        if self.config["autocast"] != self.device.name:
            return self.gpt.CudaAutocast()
        return self.device.autocast()

    def _forward_backward(self):
        """Runs forward and backward once, so that they are compiled before the first sample."""
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
        """(phase or pass -> seconds, total on the host's clock or None if the device has no clock of its own, loss)."""
        wanted = self.config["pass"]
        if wanted != "step":
            self._release()  # in a step, releasing gradients is part of the timed work
        clock = self.device.clock()
        clock.mark()
        if wanted == "step":
            self._release()
        clock.mark()
        with self._grad_mode(), self._autocast():
            loss = self.loss()
        clock.mark()
        if wanted not in ("forward", "inference"):
            loss.backward()
            clock.mark()
        if wanted == "step":
            if self.config["clip_norm"]:
                self.gpt.clip_gradients(self.p, self.config["clip_norm"], self.config["implementation"] == "tuned")
            self.optimizer.step()
            clock.mark()
        marks, host = clock.read()
        return phases(wanted, marks), host, loss.item()


def phases(wanted, marks):
    """Phase or pass -> seconds, from the times of the marks: start, gradients released, and the end of each phase."""
    released, forwarded, *later = marks[1:]
    if wanted in ("forward", "inference"):
        return {wanted: forwarded - released}
    seconds = {"forward": forwarded - released, "backward": later[0] - forwarded}
    if wanted == "forward_backward":
        return seconds | {wanted: later[0] - released}
    if wanted == "step":
        return seconds | {"optimizer": later[1] - later[0], "step": later[1] - marks[0]}
    return seconds


def add_options(parser):
    parser.add_argument(
        "--compile", dest="mode", action="store_const", const="compile", help="the same as --mode compile"
    )
    parser.add_argument(
        "--compile-mode",
        choices=("default", "max-autotune"),
        default="default",
        help="mode of torch.compile; max-autotune also times its own kernels for matrix products while compiling",
    )
    parser.add_argument(
        "--launcher",
        action="store_true",
        help="start each point with torch.backends.xeon.run_cpu, PyTorch's launcher for CPUs",
    )
    parser.add_argument(
        "--autocast",
        choices=("cpu", "cuda"),
        help="autocast lists for bfloat16 (default: those of the device); CUDA's are slow on the CPU, so only compare numbers",
    )


def check(config):
    if (config["device"], config["autocast"]) == ("cuda", "cpu"):
        raise model_config.ConfigError("--autocast cpu is for --device cpu")
    if config["dtype"] == "bfloat16" and config["autocast"] != config["device"] and config["mode"] == "compile":
        raise model_config.ConfigError("--autocast cuda on the CPU works in eager mode only")
    if config["device"] == "cuda" and (config["launcher"] or config["allocator"] != "malloc"):
        raise model_config.ConfigError("--launcher and --allocator are for --device cpu")


def version():
    import torch

    return f"pytorch {torch.__version__}"


def math_mode(config):
    if config["dtype"] != "bfloat16":
        return config["dtype"]
    return {"cpu": "bfloat16 (autocast, CPU lists)", "cuda": "bfloat16 (autocast, CUDA lists)"}[config["autocast"]]


PROGRAM = step_program.Program(
    system="pytorch",
    module="torch",
    script=Path(__file__),
    description=__doc__.split("\n")[0],
    modes=("eager", "compile"),
    implementations=("reference", "tuned"),
    prepare=Step,
    version=version,
    math_mode=math_mode,
    check=check,
    add_options=add_options,
    devices=devices.DEVICES,
    config_of=lambda options: {
        "autocast": options.autocast or options.device,
        "compile_mode": options.compile_mode,
        "launcher": options.launcher,
    },
)

if __name__ == "__main__":
    sys.exit(step_program.main(PROGRAM))
