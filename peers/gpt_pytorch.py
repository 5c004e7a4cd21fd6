"""The model in PyTorch: written out as in the source documents ("reference") and with its fused functions ("tuned")."""

import math

import torch
import torch.nn.functional as F
from torch.overrides import TorchFunctionMode

import model_config
import streams
import streams_torch

IMPLEMENTATIONS = ("reference", "tuned")


def uniform(c, name, shape, std):
    """A tensor of the stream `name`, on the device of the configuration."""
    if c["device"] == "cpu":
        return torch.from_numpy(streams.uniform(c["seed"], name, shape, std))
    return streams_torch.uniform(torch, c["device"], c["seed"], name, shape, std)


def parameters(c):
    """Name -> trainable float32 tensor from the seeded streams, on the device of the configuration."""
    out = {}
    for name, (shape, std) in model_config.parameter_shapes(c).items():
        # Norm weights are 1.0 plus noise, so that a model that ignores them has a different loss.
        w = uniform(c, name, shape, 0.05 if std is None else std)
        out[name] = (1.0 + w if std is None else w).requires_grad_(True)
    return out


def batch(c):
    """Tokens and targets, int64 (B, T)."""
    shape = (c["batch_size"], c["context_length"])
    return tuple(
        torch.from_numpy(streams.integers(c["seed"], n, shape, c["vocab_size"])).to(c["device"]) for n in ("tokens", "targets")
    )


def rope_tables(c):
    """cos and sin, (T, d_head / 2), theta 10,000; None if the edition has a position table."""
    if not model_config.is_modern(c["edition"]):
        return None
    d_head = c["d_model"] // c["num_heads"]
    frequency = torch.tensor(10000.0) ** -(torch.arange(0, d_head, 2, dtype=torch.float32) / d_head)
    angle = torch.arange(c["context_length"], dtype=torch.float32)[:, None] * frequency[None, :]
    return torch.cos(angle).to(c["device"]), torch.sin(angle).to(c["device"])


def _rope(x, tables, edition):
    """Rotates the pairs of x (B, h, T, d_head). 2025 interleaves the results, 2026 writes two halves."""
    cos, sin = tables
    x1, x2 = x[..., 0::2], x[..., 1::2]
    y1, y2 = cos * x1 - sin * x2, sin * x1 + cos * x2
    return torch.stack((y1, y2), -1).reshape(x.shape) if edition == "2025" else torch.cat((y1, y2), -1)


def _softmax(x):
    e = torch.exp(x - torch.max(x, dim=-1, keepdim=True)[0])
    return e / torch.sum(e, dim=-1, keepdim=True)


def attention(q, k, v, mask):
    """softmax(q k^T / sqrt(d_head), masked) v, written out; q, k, v (B, h, T, d_head), mask True = keep."""
    scores = torch.einsum("...qd,...kd->...qk", q, k) / math.sqrt(q.shape[-1])
    return torch.einsum("...qk,...kd->...qd", _softmax(torch.where(mask, scores, float("-inf"))), v)


def _rms_norm(x, weight):
    wide = x.to(torch.float32)
    return (weight * (wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-5))).to(x.dtype)


def _cross_entropy(logits, targets):
    x = logits - torch.max(logits, dim=-1, keepdim=True)[0]
    log_p = x - torch.log(torch.sum(torch.exp(x), dim=-1, keepdim=True))
    return torch.mean(torch.gather(-log_p, -1, targets.unsqueeze(-1)))


def loss(c, p, tables, tokens, targets, implementation):
    """Mean cross-entropy of the model over the batch."""
    return _loss_of(c, _logits(c, p, tables, tokens, implementation == "tuned"), targets, implementation == "tuned")


def _loss_of(c, logits, targets, tuned):
    if model_config.is_modern(c["edition"]) and not tuned:
        return _cross_entropy(logits, targets)
    return F.cross_entropy(logits.view(-1, logits.shape[-1]), targets.view(-1))


def _logits(c, p, tables, tokens, tuned):
    """(B, T, V)."""
    edition, modern = c["edition"], model_config.is_modern(c["edition"])
    rows, length = tokens.shape

    def linear(name, x):
        weight = p[name + ".weight"]
        if modern and not tuned:
            return torch.einsum("...i,oi->...o", x, weight)
        return F.linear(x, weight, p.get(name + ".bias"))

    def norm(name, x):
        weight = p[name + ".weight"]
        if edition == "gpt2":
            return F.layer_norm(x, (x.shape[-1],), weight, p[name + ".bias"], 1e-5)
        return F.rms_norm(x, (x.shape[-1],), weight, 1e-5) if tuned else _rms_norm(x, weight)

    x = p["token_embeddings.weight"][tokens]
    if not modern:
        x = x + p["position_embeddings.weight"][torch.arange(length, device=x.device)]
    mask = None if tuned else torch.ones(length, length, dtype=torch.bool, device=x.device).tril()
    for i in range(c["num_layers"]):
        block = f"layers.{i}."
        y = norm(block + "ln1", x)
        names = (block + "attn." + n for n in ("q_proj", "k_proj", "v_proj"))
        q, k, v = (linear(n, y).view(rows, length, c["num_heads"], -1).transpose(1, 2) for n in names)
        if modern:
            q, k = _rope(q, tables, edition), _rope(k, tables, edition)
        if tuned:
            o = F.scaled_dot_product_attention(q.to(v.dtype), k.to(v.dtype), v, is_causal=True)
        else:
            o = attention(q, k, v, mask)
        x = x + linear(block + "attn.output_proj", o.transpose(1, 2).reshape(rows, length, -1))
        y = norm(block + "ln2", x)
        a = linear(block + "ffn.w1", y)
        if not modern:
            y = F.gelu(a, approximate="tanh" if edition == "gpt2" else "none")
        elif tuned:
            y = F.silu(a) * linear(block + "ffn.w3", y)
        else:
            y = (a * torch.sigmoid(a)) * linear(block + "ffn.w3", y)
        x = x + linear(block + "ffn.w2", y)
    x = norm("ln_final", x)
    head = p["token_embeddings.weight"] if c["weight_tie"] else p["lm_head.weight"]
    if tuned or "lm_head.bias" in p:
        return F.linear(x, head, p.get("lm_head.bias"))
    return torch.einsum("...i,oi->...o", x, head)


class WrittenOutAdamW:
    """AdamW as in the source documents: 2025 decays after the update, 2026 before it; eps is added to sqrt(v) without
    bias correction."""

    def __init__(self, p, rule, lr, betas, eps, weight_decay):
        self.p, self.rule, self.lr, self.betas, self.eps, self.weight_decay = p, rule, lr, betas, eps, weight_decay
        self.m = {n: torch.zeros_like(w) for n, w in p.items()}
        self.v = {n: torch.zeros_like(w) for n, w in p.items()}
        self.t = 0

    @torch.no_grad()
    def step(self):
        b1, b2 = self.betas
        self.t += 1
        alpha = self.lr * math.sqrt(1 - b2**self.t) / (1 - b1**self.t)
        for n, w in self.p.items():
            self.m[n] = b1 * self.m[n] + (1 - b1) * w.grad
            self.v[n] = b2 * self.v[n] + (1 - b2) * torch.square(w.grad)
            if self.rule == "2026":
                w -= self.lr * self.weight_decay * w
            w -= alpha * self.m[n] / (torch.sqrt(self.v[n]) + self.eps)
            if self.rule == "2025":
                w -= self.lr * self.weight_decay * w


def make_optimizer(p, rule, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01):
    """The optimizer of a rule. `torch` is the framework's single-pass kernel. Every rule decays all parameters."""
    if rule == "torch":
        return torch.optim.AdamW(p.values(), lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, fused=True)
    return WrittenOutAdamW(p, rule, lr, betas, eps, weight_decay)


@torch.no_grad()
def clip_gradients(p, max_norm, tuned):
    if tuned:
        torch.nn.utils.clip_grad_norm_(p.values(), max_norm)
        return
    norm = torch.sqrt(sum((w.grad**2).sum() for w in p.values()))
    coefficient = min(1.0, max_norm / (norm.item() + 1e-6))
    for w in p.values():
        w.grad *= coefficient


class CudaAutocast(TorchFunctionMode):
    """The casts of torch.autocast("cuda", bfloat16) on the CPU, whose own autocast uses different lists.

    It intercepts every call in Python, which takes time, so use it to compare numbers, not speed.
    """

    _LOWER = {"einsum", "linear", "matmul", "bmm", "mm", "addmm", "scaled_dot_product_attention"}
    _FLOAT32 = {
        "exp",
        "log",
        "pow",
        "rsqrt",
        "sum",
        "softmax",
        "log_softmax",
        "layer_norm",
        "cross_entropy",
        "nll_loss",
        "norm",
    }

    def __init__(self):
        super().__init__()
        self.copies = {}

    def __torch_function__(self, func, types, args=(), kwargs=None):
        name = func.__name__
        target = torch.bfloat16 if name in self._LOWER else torch.float32 if name in self._FLOAT32 else None
        if target is None:
            return func(*args, **(kwargs or {}))

        def cast(x):
            if not isinstance(x, torch.Tensor) or not x.is_floating_point() or x.dtype == target:
                return x
            if x.is_leaf and x.requires_grad:  # a weight is cast once; the copy is kept for the whole forward pass
                if x not in self.copies:
                    self.copies[x] = x.to(target)
                return self.copies[x]
            return x.to(target)

        with torch._C.DisableTorchFunction():
            return func(*map(cast, args), **{k: cast(v) for k, v in (kwargs or {}).items()})
