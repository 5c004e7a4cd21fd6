#!/usr/bin/env python3
"""Measures one training step of the 2025 or 2026 model in JAX on the CPU and writes records of laptime's schema.

    build/peers-venv/bin/python peers/jax_step.py --model small --context 256 --output-file step.json

The whole step is one compiled function, so only the step has a time, not its phases. The passes are step,
forward_backward and inference. --model, --context, --dtype and --pass take comma-separated lists.
"""

import os
import sys
import time
from pathlib import Path

import model_config
import step_program


class Step:
    """The compiled function of the pass, with its state and batch."""

    def __init__(self, config, setup):
        import jax
        import gpt_jax

        self.jax, self.config = jax, config
        started = time.perf_counter()
        p = gpt_jax.parameters(config)
        self.state = gpt_jax.initial_state(p) if config["pass"] == "step" else {"p": p}
        jax.block_until_ready(self.state)
        setup["weights"] = time.perf_counter() - started
        started = time.perf_counter()
        self.tokens, self.targets = gpt_jax.batch(config)
        setup["data"] = time.perf_counter() - started
        started = time.perf_counter()
        self.function = gpt_jax.compiled(config, self.state, self.tokens, self.targets)
        setup["plan"] = time.perf_counter() - started

    def sample(self):
        """(pass -> seconds, None because the host's clock is the only one, loss)."""
        started = time.perf_counter()
        kept, loss = self.jax.block_until_ready(self.function(self.state, self.tokens, self.targets))
        seconds = time.perf_counter() - started
        if self.config["pass"] == "step":
            self.state = kept
        return {self.config["pass"]: seconds}, None, float(loss)


def prepare(config, setup):
    # XLA starts one thread per core that the process may use, and determines the number only once, at its first use.
    cores = sorted(os.sched_getaffinity(0))
    if config["threads"] < len(cores):
        os.sched_setaffinity(0, cores[: config["threads"]])
    return Step(config, setup)


def check(config):
    if not model_config.is_modern(config["edition"]):
        raise model_config.ConfigError(f"the JAX model has only editions 2025 and 2026, not {config['edition']}")
    if config["pass"] not in ("step", "forward_backward", "inference"):
        raise model_config.ConfigError(f"--pass {config['pass']}: JAX times only step, forward_backward and inference")
    if config["threads"] > len(os.sched_getaffinity(0)):
        raise model_config.ConfigError(f"--threads {config['threads']}: JAX runs at most one thread per allowed core")


def version():
    import jax

    return f"jax {jax.__version__}"


def math_mode(config):
    if config["dtype"] == "float32":
        return "float32"
    return "bfloat16 (weights cast, activations bfloat16; norms, softmax, RoPE and loss float32)"


PROGRAM = step_program.Program(
    system="jax",
    module="jax",
    script=Path(__file__),
    description=__doc__.split("\n")[0],
    modes=("compile",),
    implementations=("jit",),
    prepare=prepare,
    version=version,
    math_mode=math_mode,
    check=check,
)

if __name__ == "__main__":
    sys.exit(step_program.main(PROGRAM))
