"""The minimum time that a machine with a given arithmetic peak and memory bandwidth needs for a pass.

    peers/floor.py RECORDS.json --peaks build/release/bench_memory_bound     # time, floor and fraction of each record

The peaks are measured when this program runs, so run it right after making the records.
"""

import argparse
import json
import re
import subprocess

import model_config

_SCALE = {"": 1, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15, "Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40}
_PEAKS = re.compile(
    r"float32 ([\d.]+) (\w*)FLOP/s(?: \(([\d.]+) (\w*)FLOP/s by tiles\))?, bfloat16 ([\d.]+) (\w*)FLOP/s, "
    r"memory ([\d.]+) ([kMGTKi]*)B/s",
    re.ASCII,
)


def parse_peaks(text):
    """The peaks that laptime's kernel benchmarks print first, FLOP/s and bytes/s; None if they are missing.

    "float32" is the peak of multiply-adds, "split" the peak of float32 products by bfloat16 tiles, 0 if there are none.
    """
    found = _PEAKS.search(text)
    if found is None or any(found[i] not in _SCALE for i in (2, 6, 8)) or (found[3] and found[4] not in _SCALE):
        return None
    values = (float(found[i]) * _SCALE[found[i + 1]] if found[i] else 0 for i in (1, 3, 5, 7))
    return dict(zip(("float32", "split", "bfloat16", "bandwidth"), values))


def work(config):
    """Minimum (FLOPs, bytes) of a pass; None for an edition without a formula.

    FLOPs: the matrix products, with half of the attention, since it is causal. Bytes: the data that AdamW reads
    (weight, gradient, two moments) and writes (weight, moments), the values that a fully fused step saves for backward,
    written and read once, and the logits and their gradient, each written and read. Operands of products are excluded.
    """
    if not model_config.is_modern(config["edition"]):
        return None
    b, t, d, d_ff = (config[k] for k in ("batch_size", "context_length", "d_model", "d_ff"))
    attention, kv = model_config.attention_widths(config)
    layers, wanted = config["num_layers"], config["pass"]
    forward = model_config.forward_flops(config) - 2 * layers * b * t * t * attention
    width = 4 if config["dtype"] in ("float32", "tf32") else 2
    saved = layers * (width * b * t * (2 * d + 2 * attention + 2 * kv + 2 * d_ff) + 4 * b * t * config["num_heads"])
    logits = width * b * t * config["vocab_size"]
    if wanted == "inference":
        return forward, 2 * logits
    if wanted == "forward":
        return forward, saved + 2 * logits
    # `backward` is only that phase; the other passes include forward
    flops, moved = (2 * forward, saved + 2 * logits) if wanted == "backward" else (3 * forward, 2 * saved + 4 * logits)
    return flops, moved + (28 * model_config.parameter_count(config) if wanted == "step" else 0)


def seconds(config, peaks):
    """FLOPs divided by the peak of the fastest arithmetic, plus bytes divided by the bandwidth, if that is known.

    None if the work or the float32 peak is unknown.
    """
    needed = work(config)
    if needed is None or not peaks or not peaks.get("float32"):
        return None
    best = max(peaks["float32"], peaks.get("bfloat16" if config["dtype"] == "bfloat16" else "split") or 0)
    return needed[0] / best + (needed[1] / peaks["bandwidth"] if peaks.get("bandwidth") else 0)


def multiply_add_seconds(config, peaks):
    """The floor if float32 products use multiply-adds; None if bfloat16 tiles would not make the products faster."""
    if config["dtype"] == "bfloat16" or not peaks or (peaks.get("split") or 0) <= peaks["float32"]:
        return None
    return seconds(config, peaks | {"split": 0})


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("records", help="records as `laptime bench --output json` writes them")
    parser.add_argument("--peaks", metavar="PROGRAM", required=True, help="the benchmark that measures the peaks")
    options = parser.parse_args()
    with open(options.records) as file:
        found = json.load(file)
    text = subprocess.run([options.peaks, "--benchmark_filter=^$"], capture_output=True, text=True, check=True).stdout
    peaks = parse_peaks(text)
    print(text.splitlines()[0])
    print("| model | layers | batch | context | dtype | mode | seconds | floor | fraction | of multiply-adds' floor |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for record in found:
        config = record["config"]
        names = ("model", "num_layers", "batch_size", "context_length", "dtype", "mode")
        row = [str(config[name]) for name in names]
        least = seconds(config, peaks)
        if record["status"] == "ok" and least:
            median = record["time"][config["pass"]]["median"]
            by_float32 = multiply_add_seconds(config, peaks) or least
            row += [f"{median:.3f}", f"{least:.3f}", f"{least / median:.2f}", f"{by_float32 / median:.2f}"]
        else:
            row += [record["status"], "", "", ""]
        print("| " + " | ".join(row) + " |")


if __name__ == "__main__":
    main()
