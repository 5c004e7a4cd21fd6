"""Random configurations, each run in several forms that must agree: threads, recomputation, modes, types and ways to save memory."""

import json
import math
import time
from dataclasses import dataclass, field

from attacks.outcome import Outcome, Setting

STEPS = "--warmup 0 --steps 2 --store none --output json --columns all --timeout 120s".split()
# How far two ways to compute the same loss may differ by rounding: sums in another order, 16-bit values between ops.
ROUNDING = {"float32": 2e-5, "bfloat16": 3e-2, "float16": 1e-2}
COMPOSITES = ("linear", "rms_norm", "layer_norm", "rope", "scaled_dot_product_attention", "swiglu", "cross_entropy", "adamw")


@dataclass
class Form:
    """A run with some options changed, and how far its losses may deviate from those of the unchanged configuration."""

    name: str
    changes: dict[str, str]
    allowed: float  # relative; 0: identical bits
    losses: int = 2  # how many losses to compare: an option that changes the update changes the second loss


@dataclass
class Configuration:
    options: dict[str, str]
    forms: list[Form] = field(default_factory=list)


def random_configuration(random) -> Configuration:
    edition = random.choice(("2024", "2025", "2026", "gpt2"))
    heads = random.choice((1, 2, 3, 4))
    width = heads * 2 * random.randint(1, 12)
    options = {
        "edition": edition, "d-model": width, "d-ff": random.randint(1, 90), "num-heads": heads,
        "num-layers": random.randint(1, 4), "context": random.choice((1, 2, 7, 16, 33, 64)),
        "batch": random.randint(1, 5), "vocab": random.randint(2, 400), "seed": random.randint(1, 10**6),
        "mode": random.choice(("eager", "compile")), "dtype": random.choice(("float32", "float32", "bfloat16", "float16")),
        "pass": random.choice(("step", "step", "step", "forward_backward", "forward", "inference")),
        "threads": random.choice((1, 2, 3)), "recompute": random.choice(("none", "none", "block", "every=2")),
    }
    if edition == "2024" and random.random() < 0.5:
        options[random.choice(("weight-tie", "bias"))] = "true"
    if edition == "2024" and random.random() < 0.3:
        options[random.choice(("attn-pdrop", "resid-pdrop", "embd-pdrop"))] = "0.1"
    if options["pass"] == "step":
        if random.random() < 0.3:
            options["clip-norm"] = random.choice(("0.1", "1", "100"))
        if random.random() < 0.3:
            options["optimizer"] = random.choice(("2025", "2026", "torch"))
        if random.random() < 0.2:
            options["moments"] = "bfloat16"
    if options["mode"] == "compile" and random.random() < 0.3:
        options[random.choice(("keep", "lower"))] = "+".join(random.sample(COMPOSITES, random.randint(1, 3)))
    options = {name: str(value) for name, value in options.items()}
    configuration = Configuration(options)
    configuration.forms = forms_of(options, random)
    return configuration


def forms_of(options: dict[str, str], random) -> list[Form]:
    close = ROUNDING[options["dtype"]]
    forms = [
        Form("other threads", {"threads": "1" if options["threads"] != "1" else "2"}, 0),
        Form("unchanged", {}, 0),
        Form("the other mode", {"mode": "eager" if options["mode"] == "compile" else "compile", "keep": "", "lower": ""}, close),
        Form("other recomputation", {"recompute": "block" if options["recompute"] == "none" else "none"}, close),
    ]
    if options["dtype"] != "float32":
        forms.append(Form("in float32", {"dtype": "float32"}, close, losses=1))
    if options["pass"] == "step":
        if "clip-norm" not in options and options["dtype"] != "float16":
            forms.append(Form("optimizer in backward", {"optimizer-in-backward": "true"}, close))
        if options["dtype"] != "float16":
            forms.append(Form("a scaled loss", {"loss-scale": "1024"}, close))
        forms.append(Form("another pass", {"pass": "forward", "clip-norm": "", "moments": ""}, close, losses=1))
    elif options["pass"] != "inference":
        forms.append(Form("another pass", {"pass": "inference"}, close, losses=1))
    if options["mode"] == "compile":
        forms.append(Form("composites lowered", {"keep": "", "lower": random.choice(COMPOSITES)}, close))
    return [forms[0], *random.sample(forms[1:], 2)]


def words_of(options: dict[str, str]) -> list[str]:
    words = [] if not options.get("reproducible") else ["--reproducible"]
    for name, value in options.items():
        if value and name != "reproducible":
            words += [f"--{name}", value]
    return words


@dataclass
class Ran:
    status: str  # status of the record; without a record "refused" or "crashed"
    reason: str
    losses: list
    skipped: list = field(default_factory=list)  # steps that made no update because a gradient overflowed
    problems: list[str] = field(default_factory=list)


def run(setting: Setting, options: dict[str, str]) -> Ran:
    """Runs a configuration with --reproducible, so that its bits do not depend on the kernel choice."""
    done = setting.run("bench", "--model", "custom", *words_of(options), "--reproducible", *STEPS)
    if done.returncode == 2 and not done.stdout:
        return Ran("refused", done.stderr.strip(), [])
    try:
        (record,) = json.loads(done.stdout)
    except ValueError:
        return Ran("crashed", f"exit code {done.returncode}: {done.stderr[-300:]}", [])
    ran = Ran(record["status"], record["reason"] or "", record["loss"]["values"], record["loss_scaling"]["skipped"])
    memory = record["memory"]
    if record["status"] == "ok" and memory["peak_bytes"] != memory["predicted_peak_bytes"]:
        ran.problems.append(f"planned {memory['predicted_peak_bytes']} B, held {memory['peak_bytes']} B")
    return ran


def difference(a: list, b: list) -> float:
    """Returns the largest relative difference, or infinity if a loss is missing."""
    if len(a) != len(b) or None in a or None in b:
        return math.inf
    return max((abs(x - y) / max(abs(x), 1e-6) for x, y in zip(a, b)), default=0)


def check(setting: Setting, configuration: Configuration, outcome: Outcome) -> None:
    text = " ".join(words_of(configuration.options))
    first = run(setting, configuration.options)
    outcome.figures[first.status] = outcome.figures.get(first.status, 0) + 1
    if first.status not in ("ok", "refused", "unsupported"):
        outcome.problems.append(f"{text}: {first.status}: {first.reason}")
    outcome.problems += [f"{text}: {problem}" for problem in first.problems]
    if first.status != "ok":
        return
    for form in configuration.forms:
        changed = configuration.options | form.changes
        ran = run(setting, changed)
        outcome.figures["forms"] += 1
        where = f"{text}: {form.name}"
        if ran.status in ("refused", "unsupported"):
            continue  # these options cannot be combined
        if ran.status != "ok":
            outcome.problems.append(f"{where}: {ran.status}: {ran.reason}")
            continue
        outcome.problems += [f"{where}: {problem}" for problem in ran.problems]
        # Near the largest float16, one form may overflow when another does not; only losses before that update agree.
        losses = form.losses if first.skipped == ran.skipped else 1
        apart = difference(first.losses[:losses], ran.losses[:losses])
        if apart > form.allowed:
            outcome.problems.append(f"{where}: losses {first.losses} and {ran.losses} differ by {apart:.2g}, "
                                    f"allowed {form.allowed:.2g}")


def random_configurations(setting: Setting) -> list[Outcome]:
    outcome = Outcome("random configurations in forms that agree", figures={"forms": 0})
    end = time.monotonic() + setting.seconds
    while time.monotonic() < end and outcome.tries < 300:
        outcome.tries += 1
        check(setting, random_configuration(setting.random), outcome)
    return [outcome]
