"""Predicts published times by the formulas of src/predict, for given rates of a machine. tools/fit_machines fits the rates."""

import collections
import math
import tomllib
from pathlib import Path

MIXED = ("bfloat16", "float16", "mixed")  # arithmetic with 16-bit activations

# As in src/predict/launch_times.cpp.
TILES = ((128, 1.0), (64, 0.7))
TILE_AREA = 128 * 128
TILE_LATENCY = 0.9e-6
KERNEL_FLOOR = 2e-6
CACHE_GAIN = 3
CACHE_SHARE = 0.5
OPTIMIZER_HOST = 0.5
BACKWARD_HOST = 0.7
FUSED_HOST = 0.3
CAUSAL_SHARE = 0.5
NARROW_HEAD = 64
OVERLAP = 4
SCORE_PASSES = 2
STORED_SCORE_BYTES = 4
OWN_BANDWIDTH = 0.875
OWN_EAGER_BANDWIDTH = 0.35
OWN_EAGER_RATE = 8.9e9
OWN_PRODUCTS = 1.25
# As in src/predict/parallel_step.cpp.
FLOAT32_BYTES = 4
EXPOSED_SHARE = 0.3
FULL_SHARE = 0.75
SELECTIVE_SHARE = 0.5
EXPOSED_REDUCTIONS = 0.25
HIDDEN_BY_BACKWARD = 2 / 3
FILLED_BUBBLES = 1 / 3
GROUPED_LAUNCHES = 10
HOST_UPDATE_BYTES = 32
HOST_BANDWIDTH = 130e9


def mebibytes(text: str) -> float:
    return float(text[:-3]) * {"MiB": 2**20, "GiB": 2**30}[text[-3:]]


class Machine:
    """The data sheet of a machine, and values derived from it that do not depend on the fit."""

    def __init__(self, path: Path):
        self.name, self.sheet = path.stem, tomllib.loads(path.read_text())
        self.cache = mebibytes(self.sheet["cache"]) if "cache" in self.sheet else 0

    def peak(self, arithmetic: str) -> tuple[float, str]:
        if arithmetic in MIXED:
            return self.sheet["bfloat16"], "reached_tensor"
        if arithmetic == "tf32" and "tf32" in self.sheet:
            return self.sheet["tf32"], "reached_tf32"
        return self.sheet["float32"], "reached_float32"

    def memory(self, size: float) -> float:
        """Seconds that a launch needs to move `size` bytes, some of which are in the cache."""
        hot = min(1, CACHE_SHARE * self.cache / max(size, 1)) ** 2
        return size * (1 - hot + hot / CACHE_GAIN) / self.sheet["bandwidth"]


class Share:
    """The launches of a rank on a machine, by phase and whether they are in a layer: (count in the mean micro-batch, kind,
    whether it is part of the attention core, seconds at the peak, tiles, seconds at the bandwidth, seconds at the bandwidth in
    which laptime copies unaligned matrices, seconds at the peak and at the bandwidth of laptime's attention in 32 bits)."""

    def __init__(self, launches: list[dict], machine: Machine, arithmetic: str, micro_batches: int):
        peak, self.reached = machine.peak(arithmetic)
        sheet = machine.sheet
        self.attention = sheet["reached_attention"]
        self.parts = collections.defaultdict(list)
        for launch in launches:
            seconds, copying = machine.memory(launch["moved"]), 0
            count = launch["count"] + (launch["later"] - launch["count"]) * (micro_batches - 1) / micro_batches
            kind, tiles, stored = launch["kind"], 0, None
            if kind == "product" and self.reached != "reached_float32":
                copying = machine.memory(2 * launch["unaligned"])  # copying reads and writes the bytes
            if kind == "product" and launch["matrices"]:
                sizes = launch["matrices"], launch["rows"], launch["columns"]
                tiles = min(math.ceil(sizes[0] * math.ceil(sizes[1] / edge) * math.ceil(sizes[2] / edge) / sheet["processors"])
                            * edge * edge / TILE_AREA / efficiency for edge, efficiency in TILES)
                computed = tiles * TILE_AREA * launch["work"] / math.prod(sizes) * sheet["processors"] / peak / launch["speedup"]
            elif kind == "product":
                computed = launch["work"] / peak / launch["speedup"]
            elif kind == "attention":
                width = max(1, launch["columns"])
                computed = launch["work"] * max(1, NARROW_HEAD / width) * CAUSAL_SHARE / peak
                if arithmetic not in MIXED:  # laptime stores the scores, and also computes the masked scores
                    stored = launch["work"] / peak, machine.memory(SCORE_PASSES * STORED_SCORE_BYTES * launch["work"] / (2 * width))
            else:
                computed = launch["work"] / sheet["float32"]
            self.parts[launch["phase"], launch["in_layer"]].append(
                (count, kind, launch["in_attention"], computed, tiles, seconds, copying, stored))
        self.known = {}

    def busy(self, values: dict[str, float], is_laptime: bool, only_attention: bool = False) -> dict:
        """Returns the seconds of kernels and the number of launches, by the keys of `parts`."""
        key = values[self.reached], values["reached_bandwidth"], is_laptime, only_attention
        if key not in self.known:
            if len(self.known) > 4:
                self.known.clear()
            found = {}
            for part, launches in self.parts.items():
                kernels = number = 0
                for count, kind, in_attention, computed, tiles, moved, copying, stored in launches:
                    if only_attention and not in_attention:
                        continue
                    if kind == "attention" and is_laptime and stored:
                        seconds = stored[0] / values[self.reached] + stored[1] / values["reached_bandwidth"]
                    elif kind == "attention":
                        seconds = computed / self.attention
                    else:
                        seconds = computed / values[self.reached] + tiles * TILE_LATENCY
                    extra = copying / values["reached_bandwidth"] if is_laptime else 0
                    kernels += count * (max(seconds, moved / values["reached_bandwidth"]) + extra + KERNEL_FLOOR)
                    number += count
                found[part] = kernels, number
            self.known[key] = found
        return self.known[key]


def together(kernels: float, hosts: float) -> float:
    longer = max(kernels, hosts)
    return longer * (1 + (min(kernels, hosts) / longer) ** OVERLAP) ** (1 / OVERLAP) if longer > 0 else 0


def beside(computation: float, communication: float) -> float:
    return max(computation, communication) + EXPOSED_SHARE * min(computation, communication)


class Figure:
    """A published time, and how the ranks of its run share the work."""

    def __init__(self, run: dict, share: Share, machine: Machine):
        self.run, self.share, self.sheet, self.machine = run, share, machine.sheet, machine.name
        self.seconds, self.is_laptime = run["published_s"], run["program"] == "laptime"
        self.source = run["source"]
        if not run["id"].startswith("line "):  # all files and releases of a repository count as one source
            self.source = self.source.split(" ")[0]

    def mode(self) -> str:
        if self.run["ranks"] > 1:
            return "parallel"
        is_eager = self.run["program"] == "pytorch-eager" or (self.is_laptime and not self.run["recorded"])
        return "eager" if is_eager else "compile"

    def ring(self, ranks: float, stride: int) -> float:
        link = self.sheet["link_bandwidth"] * self.sheet["reached_link"]
        if ranks * stride <= self.sheet["link_devices"]:
            return link
        network = (self.run["network"] or self.sheet["network_bandwidth"]) * self.sheet["reached_link"]
        return min(link, network / min(stride, self.sheet["link_devices"]))

    def gather(self, size: float, ranks: float, stride: int) -> float:
        return (ranks - 1) / ranks * size / self.ring(ranks, stride) + self.sheet["link_latency"] if ranks > 1 else 0

    def host(self, phase: str, values: dict[str, float]) -> float:
        if self.is_laptime:
            return 0 if self.run["recorded"] else self.sheet["launch"]
        if self.run["recorded"] and phase != "optimizer":
            return 0
        if phase == "optimizer":
            return OPTIMIZER_HOST * values["host_forward"]
        if self.run["program"] == "pytorch-compile":
            return values["host_compiled"]
        if self.run["program"] == "megatron":
            return FUSED_HOST * values["host_compiled"]
        return values["host_forward"] * (BACKWARD_HOST if phase == "backward" else 1)

    def share_of_ends(self, layer: float, ends: float) -> float:
        ranks = self.run["pipeline"]
        if ranks == 1 or self.run["chunks"] == 1 or ends <= 0:
            return 1
        rest = max(0, ends - layer * self.run["layers"] / ranks / self.run["chunks"])
        return (rest + (ends - rest) / ranks) / ends

    def predicted(self, values: dict[str, float]) -> float:
        run = self.run
        if self.is_laptime:
            eager = OWN_EAGER_RATE * self.sheet["processors"] / self.sheet["bandwidth"]
            values = values | {"reached_bandwidth": OWN_BANDWIDTH if run["recorded"] else min(OWN_BANDWIDTH, max(OWN_EAGER_BANDWIDTH, eager)),
                               "reached_tensor": min(1, OWN_PRODUCTS * values["reached_tensor"])}

        def of(phase: str, in_layer: bool, only_attention: bool = False) -> tuple[float, float]:
            kernels, number = self.share.busy(values, self.is_laptime, only_attention).get((phase, in_layer), (0, 0))
            return kernels, number * self.host(phase, values)

        checkpointing = run["checkpointing"]
        again = {"full": FULL_SHARE, "selective": SELECTIVE_SHARE}.get(checkpointing, 0)
        stage = run["layers"] / run["pipeline"]
        forward, backward = of("forward", True), of("backward", True)
        first, last = of("forward", False), of("backward", False)
        attention = of("forward", True, only_attention=True) if checkpointing == "attention" else (0, 0)
        layer = [forward[i] * (1 + again) + backward[i] + attention[i] for i in (0, 1)]
        ends = self.share_of_ends(layer[0], first[0] + last[0])
        micro = [stage * layer[i] + ends * (first[i] + last[i]) for i in (0, 1)]
        only_forward = together(*(stage * forward[i] + first[i] for i in (0, 1)))
        working = together(*micro)
        if run["quantity"] in ("forward_time_s", "inference_time_s"):
            return only_forward
        if run["quantity"] == "backward_time_s":
            return working - only_forward
        whole = working
        value = 2 if run["arithmetic"] in MIXED else 4  # bytes of an activation
        if run["context"] > 1:
            received = 2 * value * (run["context"] - 1) * run["micro_tokens"] * run["kv_width"] / run["tensor"]
            whole = beside(working, 3 * stage * received / self.ring(run["context"], run["tensor"]))
        tensor = run["tensor"]
        reductions = 6 if checkpointing == "full" else 4
        exposed = EXPOSED_REDUCTIONS if run["program"] == "megatron" else 1
        whole += exposed * stage * reductions * 2 * self.gather(value * run["micro_tokens"] * run["d_model"], tensor, 1)
        part = run["parameters"] / (tensor * run["pipeline"])
        sharers = run["ranks"] // (tensor * run["pipeline"])
        in_node = max(1, self.sheet.get("link_devices", 0))
        group = min(sharers, in_node) if run["in_node"] else sharers
        ours, is_fsdp = self.is_laptime, run["shard"] == "parameters"
        gathered, reduced = FLOAT32_BYTES if ours else value, value if is_fsdp and not ours else FLOAT32_BYTES
        once = ours or run["shard"] in ("none", "optimizer")
        scatters = 1 if once or is_fsdp else run["micro_batches"]
        if is_fsdp:
            whole = beside(whole, self.gather((2 * gathered + (0 if once else reduced)) * part, group, tensor))
            reduction = self.gather(reduced * part, group, tensor) if once else 0
            reduction += 2 * self.gather(reduced * part / group, sharers // group, group)
        else:
            reduction = self.gather((reduced * scatters + (reduced if run["shard"] == "none" else gathered)) * part, sharers, tensor)
        bubbles = (run["pipeline"] - 1) / run["chunks"] * (FILLED_BUBBLES if run["fills_bubbles"] else 1)
        hiding = HIDDEN_BY_BACKWARD * whole * run["pipeline"] * scatters
        step = (run["micro_batches"] + bubbles) * whole + (beside(hiding, reduction) - hiding if reduction > 0 else 0)
        if run["quantity"] == "forward_backward_time_s":
            return step
        updates = 1 if run["shard"] == "none" else group
        grouped = GROUPED_LAUNCHES if run["grouped"] else 1
        updated, outside = of("optimizer", True), of("optimizer", False)
        update = [(stage * updated[0] + outside[0]) / updates, (stage * updated[1] + outside[1]) / grouped]
        if run["offloads"]:
            nodes = max(1, run["ranks"] / in_node)
            update = [run["parameters"] * HOST_UPDATE_BYTES / HOST_BANDWIDTH / nodes, 0]
        if run["ranks"] == 1:
            return together(micro[0] * run["micro_batches"] + update[0], micro[1] * run["micro_batches"] + update[1])
        return step + together(*update)

    def error(self, values: dict[str, float]) -> float:
        return math.log(self.predicted(values) / self.seconds)
