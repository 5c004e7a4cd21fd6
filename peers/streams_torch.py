"""The seeded streams of streams.py, generated bit for bit on a GPU: billions of weights in seconds."""

import math

import streams

_CHUNK = 1 << 26  # elements per chunk: temporaries of half a GiB
_SIGN = 1 << 63


def _signed(word):
    """The int64 with the bits of a uint64."""
    return word - (1 << 64) if word & _SIGN else word


def _shifted(x, bits):
    """Shifts int64 to the right and fills with zeros, as for uint64."""
    return (x >> bits) & ((1 << (64 - bits)) - 1)


def _splitmix64(x):
    """One step of SplitMix64 on the bits of int64, which wrap around like uint64."""
    x = x + _signed(0x9E3779B97F4A7C15)
    x = (x ^ _shifted(x, 30)) * _signed(0xBF58476D1CE4E5B9)
    x = (x ^ _shifted(x, 27)) * _signed(0x94D049BB133111EB)
    return x ^ _shifted(x, 31)


def uniform(torch, device, seed, name, shape, std):
    """Like streams.uniform, but a tensor on the device."""
    out = torch.empty(math.prod(shape), dtype=torch.float32, device=device)
    scale = float(streams.scale_of(std))
    for first in range(0, out.numel(), _CHUNK):
        last = min(first + _CHUNK, out.numel())
        words = _splitmix64(torch.arange(first, last, device=device) + _signed(streams.key_of(seed, name)))
        out[first:last] = (2 * _shifted(words, 40) - (1 << 24)).to(torch.float32) * 2.0**-24 * scale
    return out.reshape(shape)
