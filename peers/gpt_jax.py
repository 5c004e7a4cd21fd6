"""The 2025 model in JAX, with the same names, weights and tokens as gpt_pytorch.py, and one compiled training step."""

import functools
import math

import jax
import jax.numpy as jnp
import numpy as np

import model_config
import streams


def parameters(c):
    """Name -> float32 array from the seeded streams."""
    out = {}
    for name, (shape, std) in model_config.parameter_shapes(c).items():
        # Norm weights are 1.0 plus noise, so that a model that ignores them has a different loss.
        w = streams.uniform(c["seed"], name, shape, 0.05 if std is None else std)
        out[name] = jnp.array(w + np.float32(1.0) if std is None else w)  # a copy, because a step may donate the array
    return out


def batch(c):
    """Tokens and targets, int32 (B, T)."""
    shape = (c["batch_size"], c["context_length"])
    return tuple(
        jnp.asarray(streams.integers(c["seed"], n, shape, c["vocab_size"]).astype(np.int32))
        for n in ("tokens", "targets")
    )


def _rope_tables(c):
    """cos and sin, (T, 1, d_head / 2), theta 10,000."""
    d_head = c["d_model"] // c["num_heads"]
    frequency = jnp.float32(10000.0) ** -(jnp.arange(0, d_head, 2, dtype=jnp.float32) / d_head)
    angle = jnp.arange(c["context_length"], dtype=jnp.float32)[:, None, None] * frequency
    return jnp.cos(angle), jnp.sin(angle)


def _rope(x, tables, edition):
    """Rotates the pairs of x (B, T, h, d_head) in float32. 2025 interleaves the results, 2026 writes two halves."""
    cos, sin = tables
    x1, x2 = x[..., 0::2].astype(jnp.float32), x[..., 1::2].astype(jnp.float32)
    y1, y2 = cos * x1 - sin * x2, sin * x1 + cos * x2
    y = jnp.stack((y1, y2), -1).reshape(x.shape) if edition == "2025" else jnp.concatenate((y1, y2), -1)
    return y.astype(x.dtype)


def _rms_norm(x, weight):
    wide = x.astype(jnp.float32)
    scaled = wide * jax.lax.rsqrt(jnp.mean(jnp.square(wide), -1, keepdims=True) + 1e-5)
    return (weight.astype(jnp.float32) * scaled).astype(x.dtype)


def loss(c, p, tokens, targets):
    """Mean cross-entropy of the model over the batch.

    For bfloat16 the weights are cast once, and activations are bfloat16; norms, softmax, RoPE and the loss are float32.
    """
    if c["dtype"] == "bfloat16":
        p = {name: w.astype(jnp.bfloat16) for name, w in p.items()}
    tables = _rope_tables(c)
    rows, length = tokens.shape

    def linear(name, x):
        return jnp.einsum("...i,oi->...o", x, p[name + ".weight"])

    x = p["token_embeddings.weight"][tokens]
    for i in range(c["num_layers"]):
        block = f"layers.{i}."
        y = _rms_norm(x, p[block + "ln1.weight"])
        names = (block + "attn." + n for n in ("q_proj", "k_proj", "v_proj"))
        q, k, v = (linear(n, y).reshape(rows, length, c["num_heads"], -1) for n in names)
        q, k = _rope(q, tables, c["edition"]), _rope(k, tables, c["edition"])
        o = jax.nn.dot_product_attention(q, k, v, is_causal=True)
        x = x + linear(block + "attn.output_proj", o.reshape(rows, length, -1))
        y = _rms_norm(x, p[block + "ln2.weight"])
        y = jax.nn.silu(linear(block + "ffn.w1", y)) * linear(block + "ffn.w3", y)
        x = x + linear(block + "ffn.w2", y)
    logits = linear("lm_head", _rms_norm(x, p["ln_final.weight"])).astype(jnp.float32)
    log_p = jax.nn.log_softmax(logits)
    return -jnp.mean(jnp.take_along_axis(log_p, targets[..., None], -1))


def _adamw(c, w, g, m, v, t):
    """One tensor's new (w, m, v); t counts from 1. The three rules are the same as in gpt_pytorch.py."""
    lr, b1, b2, eps, decay = (c[k] for k in ("lr", "beta1", "beta2", "eps", "weight_decay"))
    rule = c["optimizer"]
    left1, left2 = (-jnp.expm1(t * math.log(b)) for b in (b1, b2))  # 1 - b^t without the rounding of b^t
    m, v = b1 * m + (1 - b1) * g, b2 * v + (1 - b2) * jnp.square(g)
    if rule != "2025":
        w = w - lr * decay * w
    if rule == "torch":
        return w - lr / left1 * m / (jnp.sqrt(v) / jnp.sqrt(left2) + eps), m, v
    w = w - lr * jnp.sqrt(left2) / left1 * m / (jnp.sqrt(v) + eps)
    return (w - lr * decay * w if rule == "2025" else w), m, v


def initial_state(p):
    """Parameters, both moments and the number of steps taken."""
    zeros = lambda: jax.tree.map(jnp.zeros_like, p)
    return {"p": p, "m": zeros(), "v": zeros(), "t": jnp.zeros((), jnp.float32)}


def _step(c, state, tokens, targets):
    value, grads = jax.value_and_grad(functools.partial(loss, c))(state["p"], tokens, targets)
    if c["clip_norm"]:
        norm = jnp.sqrt(sum(jnp.sum(jnp.square(g)) for g in grads.values()))
        grads = jax.tree.map(lambda g: g * jnp.minimum(1.0, c["clip_norm"] / (norm + 1e-6)), grads)
    t = state["t"] + 1
    new = {n: _adamw(c, w, grads[n], state["m"][n], state["v"][n], t) for n, w in state["p"].items()}
    p, m, v = ({n: parts[i] for n, parts in new.items()} for i in range(3))
    return {"p": p, "m": m, "v": v, "t": t}, value


def compiled(c, state, tokens, targets):
    """The compiled function of the pass: (state, tokens, targets) -> (kept, loss). For a step, `kept` is the new state,
    for forward_backward the gradients, and otherwise None.

    A step reuses the memory of its state (donated buffers).
    """
    if c["pass"] == "step":
        function = jax.jit(functools.partial(_step, c), donate_argnums=0)
    elif c["pass"] == "forward_backward":

        def function(state, tokens, targets):
            value, grads = jax.value_and_grad(functools.partial(loss, c))(state["p"], tokens, targets)
            return grads, value

        function = jax.jit(function)
    else:
        function = jax.jit(lambda state, tokens, targets: (None, loss(c, state["p"], tokens, targets)))
    return function.lower(state, tokens, targets).compile()
