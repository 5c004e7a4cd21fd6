"""Computations of peers/run: parses cases and columns, and computes rows, ratios and tables from records."""

import dataclasses
import math
import random
import statistics
import subprocess
from collections.abc import Callable

import devices
import records

SAME_WITHIN = 0.02  # ratios within this distance of 1 count as equal
# Limits on the relative difference of first losses. In bfloat16 the frameworks keep logits or the whole residual stream
# in bfloat16, whereas laptime follows the casts of CUDA autocast. In tf32, truncation changes each factor of a product
# by up to 2^-10 of its value.
FIRST_LOSS_WITHIN = {"float32": 1e-5, "tf32": 1e-3, "bfloat16": 1e-2}
MUST_AGREE = (
    "edition d_model d_ff num_layers num_heads vocab_size context_length batch_size dtype pass optimizer seed threads "
    "warmup steps device"
).split()
DTYPES = {"f32": "float32", "bf16": "bfloat16"} | {name: name for name in devices.DTYPES}
PASSES = ("step", "forward_backward", "forward", "backward", "inference")


class WrongInput(Exception):
    """An invalid argument. The text states what is wrong, where, and what to do."""


@dataclasses.dataclass(frozen=True)
class Column:
    """One system with one set of options."""

    name: str
    system: str  # laptime, pytorch, jax or transformers
    flags: tuple
    dtype: str = ""  # runs only cases of this type; empty: any type
    devices: tuple = devices.DEVICES


_ON_CPU = ("cpu",)
_COLUMNS = (
    Column("laptime-eager", "laptime", ("--mode", "eager")),
    # Eager mode that does not lower the ops for which pytorch-tuned calls a single function.
    Column(
        "laptime-eager-tuned",
        "laptime",
        (
            "--mode",
            "eager",
            "--keep",
            "linear+rms_norm+layer_norm+gelu_new+scaled_dot_product_attention+cross_entropy",
        ),
    ),
    Column("laptime-compile", "laptime", ("--mode", "compile")),
    # Plain float32 arithmetic; the column above chooses the fastest arithmetic for float32.
    Column("laptime-compile-ieee", "laptime", ("--mode", "compile", "--float32-precision", "ieee"), "float32", _ON_CPU),
    Column("pytorch-reference", "pytorch", ("--implementation", "reference", "--mode", "eager")),
    Column("pytorch-reference-compile", "pytorch", ("--implementation", "reference", "--mode", "compile")),
    Column("pytorch-tuned", "pytorch", ("--implementation", "tuned", "--mode", "eager")),
    Column("pytorch-tuned-compile", "pytorch", ("--implementation", "tuned", "--mode", "compile")),
    Column(
        "pytorch-tuned-max-autotune",
        "pytorch",
        ("--implementation", "tuned", "--mode", "compile", "--compile-mode", "max-autotune"),
    ),
    Column("jax", "jax", ("--mode", "compile"), "", _ON_CPU),
    Column("transformers-eager", "transformers", ("--implementation", "eager", "--mode", "eager"), "", _ON_CPU),
    Column("transformers-sdpa", "transformers", ("--implementation", "sdpa", "--mode", "eager"), "", _ON_CPU),
    Column("transformers-compile", "transformers", ("--implementation", "sdpa", "--mode", "compile"), "", _ON_CPU),
)
_PEERS = ("pytorch", "jax", "transformers")
AGAIN = "again"
# Variants of a column, selected by a suffix after "+": suffix -> (systems that support it, flags). All except AGAIN
# run only on the CPU.
_WAYS = {
    "jemalloc": (_PEERS, ("--allocator", "jemalloc")),
    "tcmalloc": (_PEERS, ("--allocator", "tcmalloc")),
    "thp": (("pytorch", "transformers"), ("--allocator", "thp")),
    "launcher": (("pytorch", "transformers"), ("--launcher",)),
    AGAIN: (("laptime", *_PEERS), ()),
}


def card_here(laptime):
    """The GPU as laptime describes it; WrongInput if there is none."""
    try:
        done = subprocess.run([laptime, "list", "devices"], capture_output=True, text=True)
    except OSError as error:
        hint = "build it, or name another with --laptime"
        raise WrongInput(f"--device cuda: cannot run {laptime}: {error.strerror}; {hint}") from None
    rows = (line.split(None, 1) for line in done.stdout.splitlines())
    row = next((row[1] for row in rows if row[:1] == ["cuda"]), "no such device")
    if row.startswith("not available") or done.returncode != 0:
        raise WrongInput(f"--device cuda: {row}")
    return row.split(",")[0]


def columns_of(text, device="cpu"):
    """The columns of a comma-separated list of names; `all` means every column of the device."""
    known = {c.name: c for c in _COLUMNS}
    chosen = []
    for word in text.split(","):
        base, plus, way = word.partition("+")
        systems, flags = _WAYS.get(way, ((), ())) if plus else ((known[base].system,) if base in known else (), ())
        if word == "all":
            chosen += [c for c in _COLUMNS if device in c.devices]
        elif base in known and (device not in known[base].devices or (device != "cpu" and way not in ("", AGAIN))):
            raise WrongInput(f"--columns: '{word}' is for --device cpu; leave it out")
        elif base not in known or known[base].system not in systems:
            ways = ", ".join(f"+{name} ({' or '.join(of)})" for name, (of, _) in _WAYS.items())
            raise WrongInput(
                f"--columns: unknown '{word}'; known: all, {', '.join(known)}; a name may end in one of {ways}"
            )
        else:
            chosen.append(dataclasses.replace(known[base], name=word, flags=known[base].flags + flags))
    if len({c.name for c in chosen}) < len(chosen):
        raise WrongInput("--columns: a column is named twice")
    return chosen


def of_model(columns, of_library):
    """The columns that can run a model of transformers if `of_library`, or else a model of the source documents."""
    systems = ("laptime", "transformers") if of_library else ("laptime", "pytorch", "jax")
    return [c for c in columns if c.system in systems]


@dataclasses.dataclass(frozen=True)
class Case:
    """The point that every column measures."""

    model: str
    batch: int
    context: int
    dtype: str
    wanted: str = "step"  # the pass

    def __str__(self):
        return f"{self.model} {self.batch} x {self.context} {self.dtype} {self.wanted}"


def cases_of(text):
    """The cases of a comma-separated list of MODEL:BATCHxCONTEXT:DTYPE or MODEL:BATCHxCONTEXT:DTYPE:PASS."""
    cases = []
    for word in text.split(","):
        parts = word.split(":")
        size = parts[1].split("x") if len(parts) in (3, 4) else []
        if len(size) != 2 or not all(s.isdecimal() and int(s) > 0 for s in size):
            raise WrongInput(f"--cases: '{word}' is not MODEL:BATCHxCONTEXT:DTYPE[:PASS], such as small:4x256:f32")
        if parts[2] not in DTYPES:
            raise WrongInput(f"--cases: unknown type '{parts[2]}' in '{word}'; known: {', '.join(DTYPES)}")
        if parts[3:] and parts[3] not in PASSES:
            raise WrongInput(f"--cases: unknown pass '{parts[3]}' in '{word}'; known: {', '.join(PASSES)}")
        cases.append(Case(parts[0], int(size[0]), int(size[1]), DTYPES[parts[2]], *parts[3:]))
    return cases


def differing_configs(ours, theirs):
    """Names of the settings in which two records differ so that they cannot be compared."""
    # On a GPU, host threads compute nothing.
    settings = [k for k in MUST_AGREE if k != "threads" or ours["config"].get("device") != "cuda"]
    return [k for k in settings if str(ours["config"].get(k)) != str(theirs["config"].get(k))]


def loss_difference(ours, theirs, count=None):
    """Largest relative difference of the first `count` losses of two records (default: all common steps); infinite if
    there are none, or if a loss is missing or not finite."""
    pairs = list(zip(ours["loss"]["values"], theirs["loss"]["values"]))[:count]
    return max((records.loss_apart(a, b) for a, b in pairs), default=math.inf)


def verdict(low, high):
    """Verdict on laptime from the 95 % interval of the median ratio theirs / ours over the rounds."""
    if low is None:
        return f"undecided (fewer than {records.FEWEST_FOR_INTERVAL} rounds)"
    if 1 - SAME_WITHIN <= low and high <= 1 + SAME_WITHIN:
        return f"same within {SAME_WITHIN:.0%}"
    if low <= 1 <= high:
        return "undecided"
    return "faster" if low > 1 else "slower"


def order_of(columns, seed, case, done):
    """The columns, shuffled for round number `done`; the same seed gives the same order."""
    shuffled = list(columns)
    random.Random(f"{seed} {case} {done}").shuffle(shuffled)
    return shuffled


def above_start(record):
    """Peak resident bytes minus the resident bytes before the first tensor, after a peer has imported its library."""
    return record["memory"]["peak_rss_bytes"] - (record["memory"]["base_rss_bytes"] or 0)


@dataclasses.dataclass(frozen=True)
class Memory:
    """The two memory figures in the rows for a device."""

    peak: str  # name of the bytes that `peak_of` returns
    second: str
    peak_of: Callable  # record -> bytes
    second_of: Callable


_MEMORY = {
    "cpu": Memory("peak resident", "above start", lambda r: r["memory"]["peak_rss_bytes"], above_start),
    "cuda": Memory(
        "peak of tensors", "reserved", lambda r: r["memory"]["peak_bytes"], lambda r: r["memory"]["reserved_bytes"]
    ),
}


def memory_of(device):
    return _MEMORY[device]


def row_of(column, rounds):
    """One row. `rounds` contains the records of the column's processes in order, starting with the first round.

    A column stops at its first failure, so a failed record is always the last.
    """
    good = [r for r in rounds if r["status"] == "ok"]
    row = {
        "column": column.name,
        "system": column.system,
        "device": rounds[-1]["config"].get("device", "cpu"),
        "status": rounds[-1]["status"],
        "reason": rounds[-1]["reason"],
        "arithmetic": good[0]["math_mode"] if good else "",
        "rounds": [r["time"][r["config"]["pass"]]["median"] for r in good],
        "losses": good[0]["loss"]["values"] if good else [],
    }
    if not good:
        return row
    samples = [s for r in good for s in r["time"][r["config"]["pass"]]["samples"]]
    names = [n for n in good[0]["time"] if all(n in r["time"] for r in good)]
    first_done = [r["machine"].get("first_step_done_seconds") for r in good]
    host = [r.get("host", {}).get("median") for r in good]
    memory = memory_of(row["device"])
    return row | {
        "median": statistics.median(row["rounds"]),
        "mad": records.mad(samples),
        "phases": {n: statistics.median(r["time"][n]["median"] for r in good) for n in names},
        "host": None if None in host else statistics.median(host),
        "peak_bytes": statistics.median(memory.peak_of(r) for r in good),
        "second_bytes": statistics.median(memory.second_of(r) for r in good),
        "first_step_done": None if None in first_done else statistics.median(first_done),
    }


def ratio(ours, theirs):
    """The ratio theirs / ours of two rows: median, range and interval over the rounds, because the runs of a round are
    close in time. None without a common round."""
    rounds = [t / o for o, t in zip(ours["rounds"], theirs["rounds"])]
    if not rounds:
        return None
    low, high = records.sure_interval(rounds)
    return {
        "ours": ours["column"],
        "theirs": theirs["column"],
        "median": statistics.median(rounds),
        "min": min(rounds),
        "max": max(rounds),
        "ci_low": low,
        "ci_high": high,
        "verdict": verdict(low, high),
        "by_host": None if None in (ours["host"], theirs["host"]) else theirs["host"] / ours["host"],
        "memory": ours["peak_bytes"] / theirs["peak_bytes"],
        "second_memory": ours["second_bytes"] / theirs["second_bytes"],
    }


def _is_pytorch(row):
    return row["system"] == "pytorch"


def _is_transformers(row):
    return row["system"] == "transformers"


# Opponents of a laptime column: name -> (whether a row belongs to the opponent, key that is lowest in its best row).
_OPPONENTS = {
    "fastest PyTorch": (_is_pytorch, "median"),
    "fastest PyTorch as installed": (lambda r: _is_pytorch(r) and "+" not in r["column"], "median"),
    "reference eager": (lambda r: r["column"] == "pytorch-reference", "median"),
    "tuned eager": (lambda r: r["column"] == "pytorch-tuned", "median"),
    "JAX": (lambda r: r["column"] == "jax", "median"),
    "leanest PyTorch": (_is_pytorch, "peak_bytes"),
    "fastest transformers": (_is_transformers, "median"),
    "leanest transformers": (_is_transformers, "peak_bytes"),
    "fastest peer": (lambda r: r["system"] != "laptime", "median"),
}


def ratios_of(rows):
    """For each laptime column that ran: opponent -> ratio. Rows with wrong losses are left out on both sides."""
    good = [r for r in rows if r["status"] == "ok" and r.get("losses_agree", True)]
    found = {}
    for ours in (r for r in good if r["system"] == "laptime" and not r["column"].endswith(f"+{AGAIN}")):
        found[ours["column"]] = against = {}
        again = (lambda r: r["column"] == f"{ours['column']}+{AGAIN}", "median")
        for name, (belongs, key) in (_OPPONENTS | {"itself": again}).items():
            field = [r for r in good if belongs(r)]
            if field:
                against[name] = ratio(ours, min(field, key=lambda r: r[key]))
    return found


def compare(case, columns, outcomes, floor=None):
    """The result of one case. `outcomes`: column name -> records of its rounds."""
    reference = next((outcomes[c.name] for c in columns if any(r["status"] == "ok" for r in outcomes[c.name])), [])
    rows = []
    for column in columns:
        mine = outcomes[column.name]
        row = row_of(column, mine)
        pairs = [(a, b) for a, b in zip(reference, mine) if a["status"] == b["status"] == "ok"]
        if pairs:
            wrong = sorted({k for a, b in pairs for k in differing_configs(a, b)})
            if wrong:
                row |= {"status": "failed", "reason": f"not the same work: differs in {', '.join(wrong)}"}
            row["first_loss_apart"] = max(loss_difference(a, b, 1) for a, b in pairs)
            row["losses_apart"] = max(loss_difference(a, b) for a, b in pairs)
            # Later losses drift apart by rounding alone, so they only have to be finite.
            first_agrees = row["first_loss_apart"] <= FIRST_LOSS_WITHIN[case.dtype]
            row["losses_agree"] = first_agrees and math.isfinite(row["losses_apart"])
        rows.append(row)
    return {
        "case": str(case),
        "config": dataclasses.asdict(case),
        "rows": rows,
        "ratios": ratios_of(rows),
        "floor": floor,
        "fine": all(r["status"] != "failed" and r.get("losses_agree", True) for r in rows),
    }


def aligned(rows):
    """Lines of a table with the first column left-aligned and the others right-aligned."""
    widths = [max(len(r[i]) for r in rows) for i in range(len(rows[0]))]
    padded = [[w.rjust(n) if i else w.ljust(n) for i, (w, n) in enumerate(zip(r, widths))] for r in rows]
    return ["  ".join(cells).rstrip() for cells in padded]


def floor_of_row(row, floor):
    """Minimum seconds of a row: for multiply-adds if the row uses plain float32, else for the fastest arithmetic."""
    uses_float32 = (row["arithmetic"] or "").startswith("float32") and "bfloat16 terms" not in row["arithmetic"]
    return (floor.get("multiply_add_seconds") if uses_float32 else None) or floor["seconds"]


def case_text(result):
    """The rows of one case as text, with a verdict on the laptime columns."""
    rows, ours = result["rows"], list(result["ratios"])
    phases = [n for n in ("forward", "backward", "optimizer") if any(n in r.get("phases", {}) for r in rows)]
    memory, by_host = memory_of(rows[0]["device"]), any(r.get("host") for r in rows)
    head = ["", "median s", *(["host s"] if by_host else []), "rounds", "mad", *phases]
    head += ["peak MiB", memory.second, "first step", *(f"/ {n}" for n in ours), "loss apart"]
    lines, remarks = [head], []
    by_name = {r["column"]: r for r in rows}
    for r in rows:
        if r["status"] != "ok":
            remarks.append(f"  {r['column']}: {r['status']}: {r['reason']}")
        if not r["rounds"]:
            lines.append([r["column"], r["status"], *[""] * (len(head) - 2)])
            continue
        first = r["first_step_done"]
        against = [ratio(by_name[n], r) for n in ours]
        apart = f"{r['first_loss_apart'] if math.isfinite(r['losses_apart']) else math.inf:.0e}"
        lines.append(
            [
                r["column"],
                f"{r['median']:.4f}",
                *([f"{r['host']:.4f}" if r["host"] else ""] if by_host else []),
                f"{min(r['rounds']):.3f} ... {max(r['rounds']):.3f}",
                f"{r['mad']:.4f}",
                *(f"{r['phases'][n]:.4f}" if n in r["phases"] else "" for n in phases),
                f"{r['peak_bytes'] / 2**20:.0f}",
                f"{r['second_bytes'] / 2**20:.0f}",
                "" if first is None else f"{first:.1f}",
                *("" if a is None or a["ours"] == a["theirs"] else f"{a['median']:.2f}" for a in against),
                apart if r.get("losses_agree", True) else f"{apart} WRONG",
            ]
        )
    text = [result["case"], *("  " + line for line in aligned(lines)), *remarks]
    for column, opponents in result["ratios"].items():
        for name, a in opponents.items():
            if name == "fastest peer":
                continue
            sure = "" if a["ci_low"] is None else f", 95 % {a['ci_low']:.2f} ... {a['ci_high']:.2f}"
            by_clock = "" if a["by_host"] is None else f"; by the host's clock {a['by_host']:.2f}x"
            text.append(
                f"  {column} against {name} ({a['theirs']}): {a['median']:.2f}x (rounds {a['min']:.2f} ... "
                f"{a['max']:.2f}{sure}), {a['verdict']}{by_clock}; memory {a['memory']:.2f}x, {memory.second} "
                f"{a['second_memory']:.2f}x"
            )
        if result["floor"]:
            least, median = floor_of_row(by_name[column], result["floor"]), by_name[column]["median"]
            text.append(
                f"  {column} ({by_name[column]['arithmetic']}) is at {least / median:.0%} of the floor of its arithmetic, "
                f"{least:.3f} s (peaks {result['floor']['peaks']['source']})"
            )
    return "\n".join(text)


def summary_rows(results):
    """Header and one line per case: seconds (peak MiB) of every column, then floor / ours and fastest peer / ours."""
    names = list(dict.fromkeys(r["column"] for result in results for r in result["rows"]))
    ours = list(dict.fromkeys(n for result in results for n in result["ratios"]))
    floors = ours if any(result["floor"] for result in results) else []
    lines = [["case", *names, *(f"floor / {n}" for n in floors), *(f"fastest peer / {n}" for n in ours)]]
    for result in results:
        by_name = {r["column"]: r for r in result["rows"]}
        digits = 2 if result["rows"][0]["device"] == "cpu" else 4
        line = [result["case"]]
        for name in names:
            r = by_name.get(name)
            good = r is not None and r["status"] == "ok"
            wrong = "" if r is None or r.get("losses_agree", True) else " WRONG"
            text = f"{r['median']:.{digits}f} ({r['peak_bytes'] / 2**20:.0f}){wrong}" if good else r["status"] if r else ""
            line.append(text)
        for name in floors:
            r = by_name.get(name)
            known = result["floor"] and r is not None and r["status"] == "ok"
            line.append(f"{floor_of_row(r, result['floor']) / r['median']:.0%}" if known else "")
        for name in ours:
            fastest = result["ratios"].get(name, {}).get("fastest peer")
            line.append(f"{fastest['median']:.2f}" if fastest else "")
        lines.append(line)
    return lines


def markdown(rows):
    """A table in Markdown; the first row is the header."""
    cells = [[c.replace("|", "\\|") for c in r] for r in rows]
    return "\n".join("| " + " | ".join(r) + " |" for r in (cells[0], ["---"] * len(cells[0]), *cells[1:]))
