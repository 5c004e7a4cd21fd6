"""Bytes that models of transformers save for backward, and their peak, in an eager step of forward and backward.

    python memory.py DIR ...   prints the JSON of memory.json for folders made by golden_hf.py

`saved_bytes`: size of the storages that autograd saves, without parameters, in float32; `saved_bytes_bfloat16`: the
same under the autocast of golden_hf.py. `peak_bytes`: the most bytes allocated at once in float32, without parameters
and tokens. PyTorch's CPU allocator counts exactly the bytes that ops request.
"""

import json
import sys
from pathlib import Path

import torch
from safetensors.torch import load_file
from transformers import AutoModelForCausalLM

from golden_hf import CudaAutocast


def loss_of(model, tokens, targets):
    logits = model(input_ids=tokens, use_cache=False).logits
    return torch.nn.functional.cross_entropy(logits.view(-1, logits.shape[-1]), targets.view(-1))


def saved_bytes(model, tokens, targets):
    parameters = {w.untyped_storage().data_ptr() for w in model.parameters()}
    saved = {}

    def pack(tensor):
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in parameters:
            saved[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        loss = loss_of(model, tokens, targets)
    del loss
    return sum(saved.values())


def saved_bytes_bfloat16(model, tokens, targets):
    with CudaAutocast(torch.bfloat16):
        return saved_bytes(model, tokens, targets)


def peak_bytes(model, tokens, targets):
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True) as profiler:
        loss_of(model, tokens, targets).backward()
    events = [event for event in profiler.profiler.kineto_results.events() if event.name() == "[memory]"]
    held = peak = 0
    for event in sorted(events, key=lambda event: event.start_ns()):
        held += event.nbytes()
        peak = max(peak, held)
    return peak


def memory(folder):
    values = load_file(folder / "values.safetensors")
    tokens, targets = values["tokens"].long(), values["targets"].long()
    figures = {}
    for measure in (saved_bytes, saved_bytes_bfloat16, peak_bytes):
        model = AutoModelForCausalLM.from_pretrained(folder, attn_implementation="eager", dtype=torch.float32).train()
        figures[measure.__name__] = measure(model, tokens, targets)
    return figures


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    print(json.dumps({Path(folder).name: memory(Path(folder)) for folder in sys.argv[1:]}, indent=2))
