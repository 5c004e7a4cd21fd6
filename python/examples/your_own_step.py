"""A training step of a small GPT, as nanoGPT writes it, measured by laptime."""

import sys

import laptime
import torch
from torch import nn
from torch.nn import functional

LAYERS, HEADS, WIDTH, VOCAB, CONTEXT, BATCH = 4, 4, 256, 4096, 128, 8


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.project = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        q, k, v = self.qkv(self.ln1(x)).view(BATCH, CONTEXT, 3, HEADS, -1).permute(2, 0, 3, 1, 4)
        attended = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.project(attended.transpose(1, 2).reshape(x.shape))
        return x + self.down(functional.gelu(self.up(self.ln2(x)), approximate="tanh"))


class GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(VOCAB, WIDTH), nn.Embedding(CONTEXT, WIDTH)
        self.blocks = nn.Sequential(*(Block() for _ in range(LAYERS)))
        self.ln = nn.LayerNorm(WIDTH)
        for weight in self.parameters():
            if weight.dim() > 1:
                nn.init.normal_(weight, std=0.02)

    def forward(self, tokens, targets):
        x = self.blocks(self.tokens(tokens) + self.positions.weight)
        logits = self.ln(x) @ self.tokens.weight.T  # the head shares the embedding
        return functional.cross_entropy(logits.flatten(0, 1), targets.flatten())


model = GPT()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
tokens = torch.randint(VOCAB, (BATCH, CONTEXT))
targets = tokens.roll(-1, dims=1)


def step():
    with laptime.phase("forward"):
        loss = model(tokens, targets)
    with laptime.phase("backward"):
        loss.backward()
    with laptime.phase("optimizer"):
        optimizer.step()
        optimizer.zero_grad()
    return loss


options = dict(word.split("=") for word in sys.argv[1:])  # any options of laptime record, such as steps=20
size = {"num_layers": LAYERS, "num_heads": HEADS, "d_model": WIDTH, "vocab": VOCAB}
print(laptime.measure(step, model="custom", edition="gpt2", **size, context=CONTEXT, batch=BATCH, **options))
