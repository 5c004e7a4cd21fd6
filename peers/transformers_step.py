#!/usr/bin/env python3
"""Measures one training step of a model of the library transformers, and writes records of laptime's schema.

    build/peers-venv/bin/python peers/model_folder.py SmolLM2-135M build/smollm2
    build/peers-venv/bin/python peers/transformers_step.py --model build/smollm2 --batch 2 --implementation eager,sdpa

The model is a folder with a config.json and weights. The implementation is the library's attention. The loss is the
library's, with explicit targets, so nothing is shifted. Everything else is as in pytorch_step.py.
"""

import dataclasses
import sys
import time
from pathlib import Path

import model_config
import model_folder
import pytorch_step
import step_program


class Step(pytorch_step.Step):
    """A step of the library's model."""

    def load(self, setup):
        from transformers import AutoModelForCausalLM, logging

        logging.disable_progress_bar()
        started = time.perf_counter()
        model = AutoModelForCausalLM.from_pretrained(
            self.config["model"], attn_implementation=self.config["implementation"], dtype=self.torch.float32
        ).train(self.config["pass"] != "inference")
        setup["weights"] = time.perf_counter() - started
        started = time.perf_counter()
        tokens, targets = self.gpt.batch(self.config)
        setup["data"] = time.perf_counter() - started
        self.p = dict(model.named_parameters())
        self.loss = lambda: model(input_ids=tokens, labels=targets, shift_labels=targets, use_cache=False).loss


def resolve(model, edition, given):
    if not model_folder.has_weights(model):
        raise model_config.ConfigError(f"--model: {model} has no weights; make them with peers/model_folder.py")
    return model_folder.resolve(model, edition, given)


def version():
    import torch
    import transformers

    return f"transformers {transformers.__version__} pytorch {torch.__version__}"


PROGRAM = dataclasses.replace(
    pytorch_step.PROGRAM,
    system="transformers",
    module="transformers.modeling_utils",
    script=Path(__file__),
    description=__doc__.split("\n")[0],
    implementations=("sdpa", "eager"),
    prepare=Step,
    version=version,
    devices=("cpu",),
    resolve=resolve,
)

if __name__ == "__main__":
    sys.exit(step_program.main(PROGRAM))
