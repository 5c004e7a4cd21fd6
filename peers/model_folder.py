#!/usr/bin/env python3
"""Models of the library transformers: names and sizes, and folders with a config.json and weights.

    build/peers-venv/bin/python peers/model_folder.py SmolLM2-135M build/smollm2     # random weights of the seed

A folder with weights is used unchanged. For a name, a config.json or a folder without weights, a folder with weights
is made, so that laptime and transformers read the same file.
"""

import argparse
import csv
import json
import sys
from pathlib import Path

import model_config

KNOWN = Path(__file__).resolve().parent.parent / "tests/golden_hf/models.csv"
WEIGHTS = ("model.safetensors", "model.safetensors.index.json")
# model_type of the library -> laptime's edition, for the known types; most have the same name.
_EDITIONS = {"mistral": "llama", "gpt2": "gpt2_hf"} | {name: name for name in ("llama", "qwen2", "qwen3", "gpt_neox")}
_KV_HEADS = {"mistral": 8, "qwen2": 32, "qwen3": 32}  # if num_key_value_heads is absent; null means num_heads
_LLAMA3 = {"rope_type": "llama3", "low_freq_factor": 1.0, "high_freq_factor": 4.0}
_LLAMA3["original_max_position_embeddings"] = 8192


def known_keys(name):
    """The keys of config.json of a well-known model, or None."""
    with open(KNOWN, encoding="utf-8") as lines:
        row = next((r for r in csv.DictReader(lines) if r["model"].lower() == name.lower()), None)
    if row is None:
        return None
    shared = "hidden_size num_hidden_layers num_attention_heads vocab_size max_position_embeddings tie_word_embeddings"
    keys = {"model_type": row["model_type"]} | {k: json.loads(row[k]) for k in shared.split()}
    eps = float(row["norm_eps"])
    if row["model_type"] == "gpt2":
        dropouts = dict.fromkeys(("embd_pdrop", "attn_pdrop", "resid_pdrop"), 0.0)
        return keys | {"n_inner": int(row["intermediate_size"]), "layer_norm_epsilon": eps} | dropouts
    keys["intermediate_size"] = int(row["intermediate_size"])
    if row["model_type"] == "gpt_neox":
        rotary = {"rotary_pct": float(row["rotary_pct"]), "rotary_emb_base": float(row["rope_theta"])}
        return keys | {"layer_norm_eps": eps} | rotary
    keys |= {"rms_norm_eps": eps, "rope_theta": float(row["rope_theta"])}
    keys |= {k: int(row[k]) for k in ("num_key_value_heads", "head_dim", "sliding_window") if row[k]}
    if row["rope_llama3_factor"]:
        keys["rope_scaling"] = _LLAMA3 | {"factor": float(row["rope_llama3_factor"])}
    return keys


def is_known(model):
    """Whether `model` is a model of the library: a name of models.csv, or a path that exists."""
    return not model_config.is_named(model) and (Path(model).exists() or known_keys(model) is not None)


def has_weights(path):
    return any((Path(path) / name).exists() for name in WEIGHTS)


def read_keys(model):
    """The keys of the config.json that a name, a file or a folder stands for."""
    path = Path(model) / "config.json" if Path(model).is_dir() else Path(model)
    keys = json.loads(path.read_text()) if path.exists() else known_keys(model)
    if keys is None:
        raise model_config.ConfigError(f"unknown model '{model}'; name a folder, a config.json, or a model in {KNOWN}")
    if keys.get("model_type") not in _EDITIONS:
        raise model_config.ConfigError(f"{path}: model_type is {keys.get('model_type')}; known: {', '.join(_EDITIONS)}")
    return keys


def resolve(model, edition, given):
    """Configuration of a model of the library, like model_config.resolve for the models of the documents."""
    keys = read_keys(model)
    short = keys["model_type"] == "gpt2"  # GPT-2 has other keys; the library accepts them and the usual ones
    size = {
        "d_model": keys.get("hidden_size", keys.get("n_embd")),
        "num_layers": keys.get("num_hidden_layers", keys.get("n_layer")),
        "num_heads": keys.get("num_attention_heads", keys.get("n_head")),
    }
    size["d_ff"] = (keys.get("n_inner") or 4 * size["d_model"]) if short else keys["intermediate_size"]
    kv_heads = keys.get("num_key_value_heads", _KV_HEADS.get(keys["model_type"])) or size["num_heads"]
    head_dim = keys.get("head_dim") or (128 if keys["model_type"] == "qwen3" else None)
    run = {"context_length": 256, "batch_size": 4, "seed": 1, "optimizer": "torch", "warmup": 5, "steps": 10}
    return (
        {"model": model, "edition": _EDITIONS[keys["model_type"]], "vocab_size": keys["vocab_size"]}
        | size
        | {"num_kv_heads": kv_heads, "head_dim": head_dim, "bias": False}
        | {"weight_tie": keys.get("tie_word_embeddings", short)}
        | {name: default if given.get(name) is None else given[name] for name, default in run.items()}
    )


def write(model, folder, seed):
    """Makes a folder with random weights. Norm weights are not 1 and biases not 0, so ignoring one changes the loss."""
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM, logging

    logging.disable_progress_bar()
    keys = read_keys(model)
    torch.manual_seed(seed)
    made = AutoModelForCausalLM.from_config(AutoConfig.for_model(**keys), dtype=torch.float32)
    with torch.no_grad():
        for weight in made.parameters():
            if weight.dim() == 1:
                weight += 0.02 * torch.randn_like(weight)
    made.save_pretrained(folder)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help=f"a name of {KNOWN.name}, a config.json, or a folder with one")
    parser.add_argument("folder", help="where to write config.json and model.safetensors")
    parser.add_argument("--seed", type=int, default=1, help="default: %(default)s")
    options = parser.parse_args()
    try:
        write(options.model, options.folder, options.seed)
    except (model_config.ConfigError, OSError, ImportError) as error:
        print(f"model_folder: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
