"""Evaluates the measurements of tools/gpu_check: for each goal, the wanted value, the measured value, and the verdict."""

import csv
import json
import re
import statistics
from dataclasses import dataclass, replace
from pathlib import Path

EAGER = ("pytorch-reference", "pytorch-tuned")
COMPILED = ("pytorch-tuned-compile",)
OURS = "laptime-compile"
SPEED_UPS = {"small": (3.0, 1.5), "2.7B": (1.5, 1.15)}  # minimum speed-up over eager and over compiled PyTorch
LARGE = 1 << 30  # bytes; smaller peaks are not compared, because a pool may reserve several megabytes more
PEAK_WITHIN = 0.02


@dataclass
class Verdict:
    wish: str
    wanted: str
    got: str
    verdict: str  # "ok", "missed", "not measured" or "not measured on an H200"


def at_least(wish: str, wanted: float, got: float | None, text) -> Verdict:
    """Returns the verdict on a number; `text` formats it."""
    if got is None:
        return Verdict(wish, f">= {text(wanted)}", "", "not measured")
    return Verdict(wish, f">= {text(wanted)}", text(got), "ok" if got >= wanted else "missed")


def percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def times(ratio: float) -> str:
    return f"{ratio:.2f} x"


def of_steps(wish: str, states: list[str]) -> Verdict:
    """Returns the verdict on a goal; `states` are the results of the steps that check it (passed, failed or open)."""
    wanted = f"{len(states)} pass"
    passed = states.count("passed")
    if "failed" in states:
        return Verdict(wish, wanted, f"{passed} passed, {states.count('failed')} failed", "missed")
    if not states or "open" in states:
        return Verdict(wish, wanted, f"{passed} passed so far", "not measured")
    return Verdict(wish, wanted, f"{passed} passed", "ok")


def products(text: str) -> Verdict:
    found = re.search(r"(\d+) below 95.0 % of the best; least ([\d.]+) %", text)
    verdict = at_least("products, share of cuBLASLt's best", 0.95, float(found[2]) / 100 if found else None, percent)
    return replace(verdict, verdict="missed") if found and int(found[1]) > 0 else verdict


def kernel_rows(text: str) -> list[dict]:
    """Returns the rows of `laptime profile --view kernels --output csv`, skipping messages before them."""
    lines = text.splitlines()
    start = next((i for i, line in enumerate(lines) if line.startswith("name,table,")), len(lines))
    return [row for row in csv.DictReader(lines[start:]) if row["table"] == "kernels" and row["of_roofline"]]


def of_bandwidth(wish: str, text: str, ops: tuple[str, ...]) -> Verdict:
    """Returns the verdict on the share of the measured bandwidth that the launches of these ops reach together."""
    rows = [row for row in kernel_rows(text) if row["kernel"].split(":")[0] in ops]
    seconds = sum(float(row["total_s"]) for row in rows)
    least = sum(float(row["total_s"]) * float(row["of_roofline"]) for row in rows)
    return at_least(wish, 0.85, least / seconds if seconds else None, percent)


def newest(records: list[dict], **config) -> dict | None:
    """Returns the last successful record whose configuration has these values."""
    good = [r for r in records if r["status"] == "ok" and all(r["config"].get(k) == v for k, v in config.items())]
    return good[-1] if good else None


def mfu(records: list[dict], model: str, wanted: float) -> list[Verdict]:
    record = newest(records, model=model, mode="compile", dtype="bfloat16")
    found = record["flops"] if record else {}
    return [at_least(f"{model}: MFU of the {name} peak", wanted, found.get(key), percent)
            for name, key in (("data sheet's", "mfu_datasheet"), ("measured", "mfu_measured"))]


def attention(records: list[dict]) -> Verdict:
    wish, wanted = "attention 16 x 16384 x 64, bfloat16, causal, forward and backward", "<= 5.36 ms (H200)"
    record = newest(records, model="attention", context_length=16384, d_model=64, batch_size=16, dtype="bfloat16")
    if record is None:
        return Verdict(wish, wanted, "", "not measured")
    taken = record["time"]
    seconds = taken["forward_backward"]["median"] if "forward_backward" in taken else sum(
        taken[phase]["median"] for phase in ("forward", "backward"))
    card = record["machine"].get("card", {}).get("name", "")
    got = f"{1e3 * seconds:.2f} ms on {card}"
    if "H200" not in card:
        return Verdict(wish, wanted, got, "not measured on an H200")
    return Verdict(wish, wanted, got, "ok" if seconds <= 5.36e-3 else "missed")


def ratios(case: dict, opponents: tuple[str, ...]) -> tuple[float | None, str]:
    """Returns (speed-up of laptime over the fastest opponent, ""), or (None, reason). Medians over the rounds."""
    rows = {row["column"]: row for row in case["rows"]}
    ours = rows.get(OURS)
    if ours is None or ours["status"] != "ok":
        return None, f"{OURS}: {ours['status'] if ours else 'did not run'}"
    found, reasons = [], []
    for name in opponents:
        row = rows.get(name)
        if row is not None and row["status"] == "ok":
            found.append(statistics.median(theirs / own for own, theirs in zip(ours["rounds"], row["rounds"])))
        elif row is not None:
            reasons.append(f"{name}: {row['status'].replace('_', ' ')}")
    return (min(found), "") if found else (None, "; ".join(reasons))


def against_pytorch(model: str, dtype: str, text: str) -> list[Verdict]:
    """Returns the verdicts on speed-ups over PyTorch. `text`: the JSON printed by peers/run; empty if it did not run."""
    try:
        case = json.loads(text[text.index("{"):])["cases"][0]
    except (ValueError, LookupError):  # missing or incomplete
        case = None
    verdicts = []
    for name, opponents, wanted in zip(("eager", "torch.compile"), (EAGER, COMPILED), SPEED_UPS[model]):
        wish = f"{model} 4 x 512 {dtype} against PyTorch, {name}"
        got, reason = ratios(case, opponents) if case else (None, "")
        verdict = at_least(wish, wanted, got, times)
        if got is None and reason and all(part.endswith("out of memory") for part in reason.split("; ")) \
                and not reason.startswith(OURS):
            verdict.verdict = "ok"  # laptime fits, but PyTorch does not
        if got is None and reason:
            verdict.got = reason
        if case and not case["fine"]:
            verdict.verdict, verdict.got = "missed", f"{verdict.got}, but the losses differ or a run failed".lstrip(", ")
        verdicts.append(verdict)
    return verdicts


def worst_difference(records: list[dict], key: str, reference: str) -> tuple[float, str]:
    """Returns the largest relative difference of memory `key` from `reference`, and a text; (0, "") without points."""
    found = [(abs(memory[key] / memory[reference] - 1), record["name"]) for record in records if record["status"] == "ok"
             and (memory := record["memory"])[key] and (memory[reference] or 0) >= LARGE]
    worst, name = max(found, default=(0, ""))
    return worst, f"{percent(worst)} at most, of {len(found)} points ({name})" if found else ""


def memory(records: list[dict]) -> list[Verdict]:
    """Returns the verdict on predicted peaks, and a line on what pools reserve beyond the peak, which is not predicted."""
    worst, peaks = worst_difference(records, "peak_bytes", "predicted_peak_bytes")
    eager = [record for record in records if record["config"].get("mode") == "eager"]
    _, pools = worst_difference(eager, "reserved_bytes", "peak_bytes")
    judged = "ok" if worst <= PEAK_WITHIN else "missed"
    return [Verdict("predicted peak memory", f"within {percent(PEAK_WITHIN)}", peaks, judged if peaks else "not measured"),
            Verdict("reserved by pools beyond the peak, eager", "no goal", pools, "ok" if pools else "not measured")]


def documents(records: list[dict]) -> Verdict:
    """Returns the verdict on whether each point of the documents' sizes was measured or is out of memory."""
    seen = {}
    for record in records:
        config = record["config"]
        if config.get("model") in ("small", "medium", "large", "xl", "2.7B") and config.get("pass") == "step":
            key = tuple(config.get(k) for k in ("model", "context_length", "mode", "dtype"))
            if key[1] in (128, 256, 512, 1024) and key[3] in ("float32", "tf32", "bfloat16"):
                seen[key] = record["status"]
    good, full = (list(seen.values()).count(status) for status in ("ok", "out_of_memory"))
    got = f"{good} measured, {full} out of memory"
    verdict = "ok" if good + full >= 120 else "not measured" if good + full == len(seen) else "missed"
    return Verdict("sizes small to 2.7B, contexts 128 to 1024", "120 points", got, verdict)


def verdicts(outputs: dict[str, str], states: dict[str, str], records: list[dict]) -> list[Verdict]:
    """Returns all verdicts. `outputs`: text by step name; `states`: passed, failed or open, by step name."""
    verify = [state for name, state in states.items() if name.startswith("verify ")]
    kernels = [state for name, state in states.items() if name.startswith("kernels ") and name != "kernels of a step"]
    of_step = outputs.get("kernels of a step", "")
    every = [
        of_steps("kernels against their references on the card", kernels),
        of_steps("golden files: float32, bfloat16, tf32; eager and compile", verify),
    ]
    for model in SPEED_UPS:
        for dtype in ("bfloat16", "tf32"):
            every += against_pytorch(model, dtype, outputs.get(f"peers {model} {dtype}", ""))
    every += [*mfu(records, "gpt2-124M", 0.45), *mfu(records, "gpt2-1558M", 0.52), attention(records)]
    every += [
        products(outputs.get("products", "")),
        of_bandwidth("AdamW, share of the measured bandwidth", of_step, ("adamw", "adamw_with_copy")),
        of_bandwidth("norms, share of the measured bandwidth", of_step,
                     ("rms_norm", "rms_norm_backward", "layer_norm", "layer_norm_backward")),
        documents(records),
        *memory(records),
    ]
    return every


def table(rows: list[Verdict]) -> str:
    cells = [("goal", "wanted", "measured", "verdict"), *((v.wish, v.wanted, v.got, v.verdict) for v in rows)]
    widths = [max(len(row[i]) for row in cells) for i in range(3)]
    return "\n".join("  ".join([*(cell.ljust(width) for cell, width in zip(row, widths)), row[3]]) for row in cells)


def read_records(text: str) -> list[dict]:
    """Returns the records printed by `laptime show --output json`."""
    begin = text.find("[")
    return json.loads(text[begin:]) if begin >= 0 else []


def read_outputs(folder: Path, names: dict[str, str]) -> dict[str, str]:
    """Returns the output of the steps; `names`: step name -> file."""
    return {name: (folder / f"{file}.txt").read_text() for name, file in names.items() if (folder / f"{file}.txt").exists()}
