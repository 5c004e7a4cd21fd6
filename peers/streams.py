"""The seeded streams that generate weights, tokens and targets, so that every system starts from the same bits.

Element i of the stream NAME is splitmix64(key + i) with key = splitmix64(seed XOR fnv1a64(NAME)), all modulo 2^64.
"""

import math

import numpy as np

_WORD = 0xFFFFFFFFFFFFFFFF
_CHUNK = 1 << 20  # elements per chunk; small, so that temporaries do not raise peak memory


def _splitmix64(x):
    """One step of SplitMix64 on uint64: adds the constant and mixes the bits, modulo 2^64."""
    with np.errstate(over="ignore"):
        x = x + np.uint64(0x9E3779B97F4A7C15)
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return x ^ (x >> np.uint64(31))


def _fnv1a64(text):
    h = 0xCBF29CE484222325
    for byte in text.encode():
        h = ((h ^ byte) * 0x100000001B3) & _WORD
    return h


def key_of(seed, name):
    """The key of a stream, an int of 64 bits."""
    return int(_splitmix64(np.array([(seed ^ _fnv1a64(name)) & _WORD], np.uint64))[0])


def scale_of(std):
    """The float32 factor `a` of `uniform`."""
    return np.float32(math.sqrt(3.0) * std)


def _chunks(seed, name, count):
    """The stream in pieces: (first index, uint64 values)."""
    key = np.uint64(key_of(seed, name))
    for first in range(0, count, _CHUNK):
        with np.errstate(over="ignore"):
            yield first, _splitmix64(key + np.arange(first, min(first + _CHUNK, count), dtype=np.uint64))


def uniform(seed, name, shape, std):
    """float32 values uniform in [-a, a), a = float32(sqrt(3) std): (2 u - 2^24) 2^-24 a with u the top 24 bits."""
    out = np.empty(math.prod(shape), np.float32)
    for first, words in _chunks(seed, name, out.size):
        u = (words >> np.uint64(40)).astype(np.int64)
        unit = (2 * u - (1 << 24)).astype(np.float32) * np.float32(2.0**-24)
        out[first : first + words.size] = unit * scale_of(std)
    return out.reshape(shape)


def integers(seed, name, shape, high):
    """int64 values in [0, high)."""
    out = np.empty(math.prod(shape), np.int64)
    for first, words in _chunks(seed, name, out.size):
        out[first : first + words.size] = (words % np.uint64(high)).astype(np.int64)
    return out.reshape(shape)
