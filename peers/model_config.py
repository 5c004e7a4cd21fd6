"""Models: named sizes, defaults of the editions, parameters with their shapes, and FLOPs."""

import math

EDITIONS = ("2024", "2025", "2026", "gpt2")

_SIZES = {  # d_model, d_ff, num_layers, num_heads
    "small": (768, 3072, 12, 12),
    "medium": (1024, 4096, 24, 16),
    "large": (1280, 5120, 36, 20),
    "xl": (1600, 6400, 48, 25),
    "2.7B": (2560, 10240, 32, 32),
    "10B": (4608, 12288, 50, 36),
    "8B": (4096, 11008, 34, 32),
    "gpt2-124M": (768, 3072, 12, 12),
    "gpt2-355M": (1024, 4096, 24, 16),
    "gpt2-774M": (1280, 5120, 36, 20),
    "gpt2-1558M": (1600, 6400, 48, 25),
}
_ALIASES = {"S": "small", "M": "medium", "L": "large", "XL": "xl", "2p7": "2.7B"}

_DEFAULTS = {  # by edition
    "2024": dict(
        batch_size=16, vocab_size=10000, context_length=128, seed=20230310, optimizer="torch", warmup=1, steps=5
    ),
    "2025": dict(batch_size=4, vocab_size=10000, context_length=256, seed=1, optimizer="2025", warmup=5, steps=10),
    "2026": dict(batch_size=4, vocab_size=10000, context_length=512, seed=1, optimizer="2026", warmup=5, steps=10),
    "gpt2": dict(batch_size=4, vocab_size=50257, context_length=1024, seed=1, optimizer="torch", warmup=5, steps=10),
}


class ConfigError(Exception):
    """An invalid argument. The text states what is wrong, where, and what to do."""


def is_named(model):
    """Whether `model` names a model of the documents, or is "custom"."""
    return model == "custom" or _ALIASES.get(model, model) in _SIZES


def is_modern(edition):
    """Whether the edition has RoPE and SwiGLU and no position table. Other editions have GELU and two feed-forward matrices."""
    return edition in ("2025", "2026", "llama", "qwen2", "qwen3")


def attention_widths(c):
    """(number of columns of the queries, number of columns of the keys and of the values)."""
    head = c.get("head_dim") or c["d_model"] // c["num_heads"]
    return head * c["num_heads"], head * (c.get("num_kv_heads") or c["num_heads"])


def resolve(model, edition, given):
    """Configuration of a model by name (or "custom"); values missing from `given` follow from the name and the edition."""
    name = _ALIASES.get(model, model)
    edition = edition or ("gpt2" if name.startswith("gpt2-") else "2026" if name == "8B" else "2025")
    if edition not in EDITIONS:
        raise ConfigError(f"--edition: unknown edition '{edition}'; known: {', '.join(EDITIONS)}")
    dims = ("d_model", "d_ff", "num_layers", "num_heads")
    if name == "custom":
        missing = [d for d in dims if d != "d_ff" and given.get(d) is None]
        if missing:
            raise ConfigError(f"--model custom needs {', '.join('--' + m.replace('_', '-') for m in missing)}")
        size = dict.fromkeys(dims)
    elif name in _SIZES:
        size = dict(zip(dims, _SIZES["2.7B" if (name, edition) == ("xl", "2026") else name]))
    else:
        raise ConfigError(f"--model: unknown model '{model}'; known: custom, {', '.join(_SIZES)}")
    if given.get("d_model") is not None and given.get("d_ff") is None:
        size["d_ff"] = 4 * given["d_model"]
    base = size | _DEFAULTS[edition] | dict(weight_tie=edition == "gpt2", bias=edition == "gpt2")
    if name == "8B":
        base |= dict(vocab_size=151936, context_length=32768)
    c = dict(model=name, edition=edition) | {k: v if given.get(k) is None else given[k] for k, v in base.items()}
    for key in (*dims, "vocab_size", "context_length", "batch_size", "steps"):
        if c[key] < 1:
            raise ConfigError(f"{key} is {c[key]}; it must be at least 1")
    if c["warmup"] < 0 or c["seed"] < 0:
        raise ConfigError("--warmup and --seed must not be negative")
    if c["d_model"] % c["num_heads"]:
        raise ConfigError(f"d_model ({c['d_model']}) must be divisible by num_heads ({c['num_heads']})")
    if is_modern(edition) and c["d_model"] // c["num_heads"] % 2:
        raise ConfigError(f"RoPE needs an even d_head; it is {c['d_model'] // c['num_heads']}")
    if is_modern(edition) and (c["weight_tie"] or c["bias"]):
        raise ConfigError(f"edition {edition} supports neither --weight-tie nor --bias")
    return c


def parameter_shapes(c):
    """Name -> (shape, std of the stream, or None for 1.0 plus noise), in the order of the model."""
    d, d_ff, layers = c["d_model"], c["d_ff"], c["num_layers"]
    modern, gpt2 = is_modern(c["edition"]), c["edition"] == "gpt2"
    width, kv_width = attention_widths(c)
    p = {}

    def linear(name, rows, columns, residual=False, bias=c["bias"]):
        if modern:
            std = math.sqrt(2.0 / (rows + columns))
        else:
            std = 0.02 / math.sqrt(2.0 * layers) if residual else 0.02
        p[name + ".weight"] = ((rows, columns), std)
        if bias:
            p[name + ".bias"] = ((rows,), 0.02)

    def norm(name, columns=d):
        p[name + ".weight"] = ((columns,), None)
        if gpt2:
            p[name + ".bias"] = ((d,), 0.02)

    p["token_embeddings.weight"] = ((c["vocab_size"], d), 1.0 if modern else 0.02)
    if not modern:
        p["position_embeddings.weight"] = ((c["context_length"], d), 0.02)
    for i in range(layers):
        block = f"layers.{i}."
        norm(block + "ln1")
        for name, rows in (("q_proj", width), ("k_proj", kv_width), ("v_proj", kv_width)):
            linear(block + "attn." + name, rows, d, bias=c["bias"] or c["edition"] == "qwen2")
        if c["edition"] == "qwen3":
            norm(block + "attn.q_norm", width // c["num_heads"])
            norm(block + "attn.k_norm", width // c["num_heads"])
        linear(block + "attn.output_proj", d, width, residual=True)
        norm(block + "ln2")
        linear(block + "ffn.w1", d_ff, d)
        linear(block + "ffn.w2", d, d_ff, residual=True)
        if modern:
            linear(block + "ffn.w3", d_ff, d)
    norm("ln_final")
    if not c["weight_tie"]:
        p["lm_head.weight"] = ((c["vocab_size"], d), math.sqrt(2.0 / (c["vocab_size"] + d)) if modern else 0.02)
    if c["edition"] == "2024" and c["bias"]:
        p["lm_head.bias"] = ((c["vocab_size"],), 0.02)
    return p


def parameter_count(c):
    return sum(math.prod(shape) for shape, _ in parameter_shapes(c).values())


def forward_flops(c):
    """FLOPs of the matrix products of one forward pass with full (not causal) attention. A backward pass has twice as many."""
    d, tokens = c["d_model"], c["batch_size"] * c["context_length"]
    matrices = 3 if is_modern(c["edition"]) else 2
    width, kv_width = attention_widths(c)
    attention = 2 * d * (width + kv_width)  # weights of the four projections
    linear = 2 * tokens * (c["num_layers"] * (attention + matrices * d * c["d_ff"]) + c["vocab_size"] * d)
    return linear + 4 * c["num_layers"] * tokens * c["context_length"] * width
