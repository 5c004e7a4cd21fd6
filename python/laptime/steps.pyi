# Made by tools/python_stub.py from steps.py and the options of the program.

from collections.abc import Callable
from typing import Any
from laptime.commands import Option
from laptime.records import Records

class phase:
    """A part of a step: `forward`, `backward`, `optimizer`, or a name of your own, such as `data`."""
    def __init__(self, name: str) -> None: ...
    def __enter__(self) -> None: ...
    def __exit__(self, kind: Any, *_: object) -> None: ...

def measure(
    step: Callable[[], Any],
    *,
    sync: Callable[[], Any] | None=None,
    peak_bytes: Callable[[], int] | None=None,
    progress: bool=True,
    attention_bias: Option=None,
    attn_pdrop: Option=None,
    batch: Option=None,
    bias: Option=None,
    budget: Option=None,
    causal: Option=None,
    columns: Option=None,
    context: Option=None,
    d_ff: Option=None,
    d_model: Option=None,
    device: Option=None,
    dtype: Option=None,
    edition: Option=None,
    embd_pdrop: Option=None,
    head_dim: Option=None,
    max_context: Option=None,
    micro_batches: Option=None,
    mlp_bias: Option=None,
    mode: Option=None,
    model: Option=None,
    name: Option=None,
    norm_eps: Option=None,
    num_heads: Option=None,
    num_kv_heads: Option=None,
    num_layers: Option=None,
    pad_token: Option=None,
    parallel_residual: Option=None,
    pass_: Option=None,
    projections: Option=None,
    resid_pdrop: Option=None,
    rope_scaling: Option=None,
    rope_theta: Option=None,
    rotary_share: Option=None,
    steps: Option=None,
    store: Option=None,
    system: Option=None,
    system_version: Option=None,
    threads: Option=None,
    tokens: Option=None,
    vocab: Option=None,
    warmup: Option=None,
    weight_tie: Option=None,
) -> Records:
    """Measures your own training step: a record like those of `bench`, in the same store."""
    ...
