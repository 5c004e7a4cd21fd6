"""Computes statistics of samples, and makes records in the JSON schema of `laptime bench --output json`."""

import datetime
import json
import math
import os
import platform
import random
import resource
import shutil
import statistics
from pathlib import Path

import model_config

SCHEMA_VERSION = 1
_BOOTSTRAP_ROUNDS = 2000
FEWEST_FOR_INTERVAL = 6  # with fewer samples, even [min, max] has less than 95 % confidence
_INSTRUCTION_SETS = (  # in the order of src/base/machine.cpp
    "sse4_2 avx f16c fma avx2 avx_vnni avx512f avx512dq avx512cd avx512bw avx512vl avx512vbmi avx512_vnni avx512_bf16 "
    "avx512_fp16 amx_tile amx_int8 amx_bf16 amx_fp16 avx10"
).split()
_FLOPS_KEYS = (
    "forward backward optimizer model_flops_per_second peak_measured peak_datasheet mfu_measured mfu_datasheet"
).split()


def quantile(samples, q):
    """Interpolates linearly between the two nearest order statistics."""
    ordered = sorted(samples)
    place = q * (len(ordered) - 1)
    low = math.floor(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (place - low) * (ordered[high] - ordered[low])


def loss_apart(ours, theirs):
    """Relative difference of two losses; infinite if one of them is missing or not finite, so that max() keeps it."""
    if ours is None or theirs is None or not math.isfinite(ours) or not math.isfinite(theirs):
        return math.inf
    return abs(ours - theirs) / (abs(theirs) or 1)


def median_interval(samples):
    """The 95 % percentile bootstrap interval of the median, with a fixed seed; (None, None) below FEWEST_FOR_INTERVAL samples."""
    if len(samples) < FEWEST_FOR_INTERVAL:
        return None, None
    rng = random.Random(20230310)
    medians = [statistics.median(rng.choices(samples, k=len(samples))) for _ in range(_BOOTSTRAP_ROUNDS)]
    return quantile(medians, 0.025), quantile(medians, 0.975)


def sure_interval(samples):
    """The narrowest pair of order statistics that contains the median with 95 % probability whatever the distribution (the
    interval of the sign test); (None, None) below FEWEST_FOR_INTERVAL samples.

    A bootstrap interval is too narrow for few samples: with six, it misses the median in one of ten cases.
    """
    if len(samples) < FEWEST_FOR_INTERVAL:
        return None, None
    ordered, count = sorted(samples), len(samples)
    outside, cut = 2 * 0.5**count, 0  # probability that the median is not between the order statistics `cut` and its mirror
    while outside + 2 * math.comb(count, cut + 1) * 0.5**count <= 0.05:
        cut += 1
        outside += 2 * math.comb(count, cut) * 0.5**count
    return ordered[cut], ordered[count - 1 - cut]


def mad(samples):
    middle = statistics.median(samples)
    return statistics.median(abs(x - middle) for x in samples)


def time_stats(samples):
    low, high = median_interval(samples)
    return {
        "unit": "s",
        "samples": samples,
        "count": len(samples),
        "mean": statistics.fmean(samples),
        "median": statistics.median(samples),
        "std": statistics.stdev(samples) if len(samples) > 1 else None,
        "std_population": statistics.pstdev(samples),
        "min": min(samples),
        "max": max(samples),
        "total": sum(samples),
        "mad": mad(samples),
        "p10": quantile(samples, 0.1),
        "p90": quantile(samples, 0.9),
        "ci_low": low,
        "ci_high": high,
    }


def peak_rss_bytes():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def page_faults():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_minflt + usage.ru_majflt


def _field(path, key):
    """The value of the first line "key : value" in a file in /proc; None if there is no such line."""
    try:
        with open(path, encoding="utf-8") as lines:
            return next((line.split(":", 1)[1].strip() for line in lines if line.split(":")[0].strip() == key), None)
    except OSError:
        return None


def machine():
    """Description of the machine with the keys that laptime uses."""
    flags = set((_field("/proc/cpuinfo", "flags") or "").split())
    memory = _field("/proc/meminfo", "MemTotal")

    def number(key):
        text = _field("/proc/cpuinfo", key)
        return int(text) if text and text.isdigit() else None

    return {
        "cpu_model": _field("/proc/cpuinfo", "model name"),
        "cpu_family": number("cpu family"),
        "cpu_model_number": number("model"),
        "cpu_stepping": number("stepping"),
        "cores_online": os.cpu_count(),
        "cores_allowed": len(os.sched_getaffinity(0)),
        "isa_available": [name for name in _INSTRUCTION_SETS if name in flags],
        "memory_total_bytes": int(memory.split()[0]) * 1024 if memory else None,
        "kernel": platform.release(),
        "load_average": list(os.getloadavg()),
        "libraries": [f"python {platform.python_version()}"],
        "preload": os.environ.get("LD_PRELOAD"),
        "malloc_conf": os.environ.get("MALLOC_CONF"),
    }


def fingerprint(found):
    """The machine fingerprint, identical to that of laptime, so that records of one machine can be compared."""
    memory = found["memory_total_bytes"]
    cpu = " ".join(
        f"{word} {'?' if found[key] is None else found[key]}"
        for word, key in (("family", "cpu_family"), ("model", "cpu_model_number"), ("stepping", "cpu_stepping"))
    )
    size = "?" if memory is None else (memory + (1 << 29)) >> 30
    isa = " ".join(found["isa_available"])
    return f"{found['cpu_model'] or 'unknown CPU'} ({cpu}), {found['cores_online']} cores, {size} GiB, {isa}"


def _point_name(config):
    name = f"{config['pass']}/model:{config['model']}/ctx:{config['context_length']}"
    if config["model"] in ("attention", "custom"):
        name += f"/d_model:{config['d_model']}"
    name += f"/dtype:{config['dtype']}/mode:{config['mode']}"
    name += f"/system:{config['system']}/implementation:{config['implementation']}"
    if config["device"] != "cpu":
        name += f"/device:{config['device']}"
    return name if config.get("allocator", "malloc") == "malloc" else f"{name}/allocator:{config['allocator']}"


def empty_record(config):
    """A record with the keys that a peer can fill, but without measurements; `config` contains the options."""
    found = machine()
    return {
        "schema_version": SCHEMA_VERSION,
        "name": _point_name(config),
        "label": None,
        "status": "ok",
        "reason": None,
        "bytes_requested": None,
        "bytes_available": None,
        "op": None,
        "scope": None,
        "config": config,
        "math_mode": None,
        "time": {},
        "host": {"samples": [], "median": None, "difference": None},
        "phases": [],
        "tokens_per_second": None,
        "flops": dict.fromkeys(_FLOPS_KEYS),
        "memory": {
            "predicted_peak_bytes": None,
            "peak_bytes": None,
            "peak_rss_bytes": None,
            "base_rss_bytes": None,
            "requested_bytes": None,
            "reserved_bytes": None,
            "parts": {},
        },
        "loss": {"values": []},
        "setup": dict.fromkeys(("plan", "kernel_trial", "memory", "weights", "data", "total")),
        "transient": {
            "warmup": [],
            "steps": None,
            "excess": None,
            "page_faults": None,
            "rest": None,
        },
        "stopping": {
            "rule": "fixed",
            "reason": "warm-up and steps were given",
            "warmup": config["warmup"],
            "steps": config["steps"],
            "steps_per_sample": 1,
        },
        "verdict": {"rating": None, "reasons": []},
        "kernels": [],
        "machine": found,
        "fingerprint": fingerprint(found),
        "binary": {"version": None, "commit": None, "build_type": "release", "id": None},
        "sweep": None,
        "run": None,
        "config_hash": None,
        "created": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
    }


def fill(record, samples, warmup_seconds, losses, math_mode, version, forward_flops=None):
    """Adds the measurements to the record. `samples`: phase or pass -> the seconds of every timed step."""
    config = record["config"]
    forward = model_config.forward_flops(config) if forward_flops is None else forward_flops
    flops = {"inference": forward, "forward": forward, "backward": 2 * forward}.get(config["pass"], 3 * forward)
    total = statistics.median(samples[config["pass"]])
    record["time"] = {name: time_stats(values) for name, values in samples.items()}
    record["phases"] = _phases(samples, config["pass"])
    record["tokens_per_second"] = config["batch_size"] * config["context_length"] / total
    record["flops"] |= {
        "forward": forward,
        "backward": 0 if config["pass"] in ("forward", "inference") else 2 * forward,
        "model_flops_per_second": flops / total,
    }
    record["loss"]["values"] = losses
    record["transient"]["warmup"] = warmup_seconds
    record["math_mode"] = math_mode
    record["binary"] |= {"version": version, "id": version}


def fill_host(record, samples):
    """Adds the host-clock samples of whole steps, if the device has its own clock."""
    if not samples:
        return
    wanted = record["config"]["pass"]
    names = ("forward", "backward") if wanted == "backward" else (wanted,)  # a step of this pass runs both phases
    steps = zip(*(record["time"][name]["samples"] for name in names))
    median = statistics.median(samples)
    whole = statistics.median(map(sum, steps))
    record["host"] = {"samples": samples, "median": median, "difference": median / whole - 1}


def _phases(samples, whole):
    """Mean seconds and share of each phase of the pass, with the remainder as the residue."""
    parts = [name for name in samples if name != whole]
    if not parts or whole not in ("step", "forward_backward"):
        return []
    total = statistics.fmean(samples[whole])
    means = {name: statistics.fmean(samples[name]) for name in parts}
    means["residue"] = total - sum(means.values())
    return [{"phase": name, "seconds": seconds, "share": seconds / total} for name, seconds in means.items()]


def finite(value):
    """The value with null for numbers that JSON cannot represent."""
    if isinstance(value, dict):
        return {k: finite(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite(v) for v in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def write(path, kept):
    """Writes records to a file as a JSON array.

    A regular file is replaced as a whole, so a full disk or Ctrl-C leaves the records that it had.
    """
    path, text = Path(path), json.dumps(finite(kept), indent=1) + "\n"
    if path.exists() and not path.is_file():  # /dev/stdout, or a pipe
        path.write_text(text)
        return
    path = path.resolve()  # keeps a symbolic link and replaces its target
    part = path.with_name(f"{path.name}.part")
    try:
        part.write_text(text)
        if path.exists():
            shutil.copymode(path, part)
        os.replace(part, path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
