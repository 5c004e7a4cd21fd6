"""Writes grad_scaler.json beside this file: loss scales and skipped steps of torch.amp.GradScaler, which laptime must reproduce.

Needs torch, numpy, safetensors. `rules`: GradScaler with one gradient, which overflows in the steps in `overflows`.
`scales` and `good_steps` are the state after each step. `trainings`: float16 autocast runs of the model in golden.py
whose first steps overflow, with the scale and the loss of each step and the numbers of the skipped steps, counted from 1.
"""
import json
from pathlib import Path

import torch

import golden

RULES = [
    dict(init_scale=65536.0, growth_interval=2000, overflows=[0, 1, 5], steps=8),
    dict(init_scale=4.0, growth_interval=3, overflows=[4, 5, 9], steps=20),
    dict(init_scale=2.0**126, growth_interval=1, overflows=[3], steps=6),  # stops growing at the largest float32
    dict(init_scale=1.0, growth_interval=2, overflows=list(range(6)), steps=12),
]
SMALL = golden.BASE | dict(edition="2025", batch_size=1, steps=16)
TRAININGS = {
    "one position": SMALL | dict(context_length=1, seed=21),
    "two positions": SMALL | dict(context_length=2, seed=22),
    "gpt2": SMALL | dict(edition="gpt2", optimizer="torch", tied=True, context_length=1, seed=23),
}


def follow(rule):
    weight = torch.zeros(1, requires_grad=True)
    optimizer = torch.optim.SGD([weight], lr=1.0)
    scaler = torch.amp.GradScaler("cpu", init_scale=rule["init_scale"], growth_interval=rule["growth_interval"])
    scales, good_steps = [], []
    for step in range(rule["steps"]):
        optimizer.zero_grad()
        scaler.scale(weight.sum()).backward()
        if step in rule["overflows"]:
            weight.grad.fill_(float("inf"))
        scaler.step(optimizer)
        scaler.update()
        scales.append(scaler.get_scale())
        good_steps.append(scaler._get_growth_tracker())
    return rule | {"scales": scales, "good_steps": good_steps}


def train(c):
    run = golden.run(c, torch.float32, torch.float16, c["steps"])
    scales = run["loss_scales"]
    skipped = [i + 1 for i in range(len(scales) - 1) if scales[i + 1] < scales[i]]
    keys = ("edition", "seed", "batch_size", "vocab_size", "context_length", "d_model", "d_ff", "num_layers", "num_heads", "tied", "optimizer", "steps")
    return {k: c[k] for k in keys} | {"scales": scales, "skipped": skipped, "losses": run["losses"]}


if __name__ == "__main__":
    values = {"torch": torch.__version__, "rules": [follow(rule) for rule in RULES], "trainings": {n: train(c) for n, c in TRAININGS.items()}}
    (Path(__file__).resolve().parent / "grad_scaler.json").write_text(json.dumps(values, indent=1) + "\n")
    for name, training in values["trainings"].items():
        print(name, training["scales"], training["skipped"])
