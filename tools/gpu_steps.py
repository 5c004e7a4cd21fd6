"""The steps of tools/gpu_check: what runs on a card, and what its output must contain."""

import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
GOLDEN = sorted((ROOT / "tests/golden").glob("*.safetensors"))
FOLDERS = sorted(path.parent for path in (ROOT / "tests/golden_hf").glob("*/values.safetensors"))
DEVICE = ["--device", "cuda"]
PEERS_PYTHON = ROOT / "build/peers-venv/bin/python"

# Kernel tests run in this many parts, each a separate process: once a kernel has broken the card, every later test in
# the same process fails.
PARTS = 16
FAKE_CASES = "*/Conformance.MatchesReference/linear_float32_*"
ATTENTION_CASES = "*/Conformance.MatchesReference/scaled_dot_product_attention*bfloat16_2x3x20x24_*"
# The attention kernels for both directions, in any order.
ATTENTION_KERNELS = r"(?s)(?=.*(scaled_dot_product_attention:\w+))(?=.*(scaled_dot_product_attention_backward:\w+))"
PEER_COLUMNS = "laptime-compile,pytorch-reference,pytorch-tuned,pytorch-tuned-compile"


@dataclass
class Step:
    name: str  # also the name of the output file
    part: str  # numbers, wishes or tables
    words: list[str]  # arguments for laptime or for `binary`, or a whole command
    minutes: float
    on_fake: bool = True
    binary: str = ""  # another program in laptime's folder; empty: laptime; "-": `words` is a whole command
    environment: dict[str, str] = field(default_factory=dict)
    expects: str = ""  # pattern that the output must match; its groups are printed
    skipped: str = ""  # why the step cannot run here
    is_timed: bool = True  # must have the GPU to itself

    @property
    def file(self) -> str:
        return self.name.replace(" ", "_")

    def limit(self, minutes_left: float = float("inf")) -> float:
        """Returns the time limit in minutes: five times `minutes`, at least 5, and at most the minutes left."""
        return min(max(5 * self.minutes, 5), minutes_left)


def numbers() -> list[Step]:
    """Steps that check a card's results and its description. A time is meaningless if the result is wrong."""
    card = {"LAPTIME_CONFORMANCE": "card"}
    every = [Step("devices", "numbers", ["list", "devices"], 0.1, expects=r"((?:no )?cuDNN[ \d.]*)")]

    def kernels(name: str, cases: str, minutes: float, **more):
        environment = {**card, **more.pop("environment", {})}
        words = [f"--gtest_filter={cases}", "--gtest_brief=1"]
        every.append(Step(name, "numbers", words, minutes, binary="test_ops", environment=environment,
                          expects=r"(kernels run on [^\n]+)", is_timed=False, **more))

    def verify(name: str, what: Path, *more: str, on_fake: bool):
        words = ["verify", str(what), *DEVICE, "--store", "none", *more]
        every.append(Step(f"verify {name}", "numbers", words, 0.1, on_fake, is_timed=False))

    kernels("kernels of linear", FAKE_CASES, 0.1)
    kernels("kernels of attention", ATTENTION_CASES, 0.1)
    for part in range(PARTS):
        shard = {"GTEST_TOTAL_SHARDS": str(PARTS), "GTEST_SHARD_INDEX": str(part)}
        kernels(f"kernels part {part + 1} of {PARTS}", "*/Conformance.*", 0.5, on_fake=False, environment=shard)
    for mode in ("eager", "compile"):
        for file in GOLDEN:
            on_fake = (file.stem, mode) == ("tiny_2025", "compile")
            verify(f"{file.stem} {mode}", file, "--mode", mode, on_fake=on_fake)
            verify(f"{file.stem} {mode} tf32", file, "--mode", mode, "--tf32", on_fake=on_fake)
        for folder in FOLDERS:
            verify(f"{folder.name} {mode}", folder, "--mode", mode, on_fake=False)
    tiny = "--d-model 32 --d-ff 64 --num-layers 1 --num-heads 2 --vocab 64 --batch 1 --context 16 --steps 1 --warmup 0".split()
    tiny += [*DEVICE, "--store", "none"]
    watched = ["profile", *tiny, "--traced-steps", "2", "--verbose"]
    for name, words, minutes, expects in (
        ("memory of the pool", ["memory", "--run", *tiny, "--view", "accounts"], 0.2,
         "taken from the device by the step's memory pool"),
        ("two clocks", ["bench", *tiny, "--columns", "median,host_time,host_difference"], 0.2, "host_difference"),
        ("records of CUPTI", watched, 0.3, "(according to CUPTI, 2 steps)"),
        ("a step as a graph", watched, 0.3, r"idles [\d.]+ % of a step; as a graph a step takes [\d.]+ [mu]?s"),
        ("attention of a step",
         ["profile", *tiny, "--dtype", "bfloat16", "--mode", "compile", "--view", "kernels", "--top", "0"], 0.3,
         ATTENTION_KERNELS),
        ("measured peaks", watched, 0.3, "peak of matrix products .*memory bandwidth"),
    ):
        every.append(Step(name, "numbers", words, minutes, expects=expects))
    return every


def peers_python() -> str:
    """Returns a Python whose PyTorch sees a GPU: from peers/setup, or else from the path; empty if there is none."""
    for python in (str(PEERS_PYTHON), "python3"):
        if shutil.which(python):
            words = [python, str(ROOT / "peers/devices.py")]
            if subprocess.run(words, capture_output=True, check=False).returncode == 0:
                return python
    return ""


def wishes(folder: Path, program: Path, fake: bool, rounds: int = 3) -> list[Step]:
    """The measurements on which verdicts are based (gpu_verdicts.py). The comparison with PyTorch takes `rounds` rounds."""
    store = ["--store", str(folder / "records.sqlite")]
    every = []

    def measure(name: str, command: str, words: str, minutes: float, expects: str = ""):
        every.append(Step(name, "wishes", [command, *DEVICE, *store, *words.split()], minutes, False, expects=expects))

    products = Step("products", "wishes", [], 0.4, False, binary="bench_cuda_products", expects=r"(least [\d.]+ % [^\n]*)")
    if not (program.parent / products.binary).exists():
        products.skipped = f"{products.binary} is not beside the program; build it: ninja {products.binary}"
    every.append(products)
    compiled = "--mode compile --dtype bfloat16"
    measure("attention of 16384", "attention", f"--batch 16 --d-model 64 --context 16384 {compiled}", 0.2)
    measure("kernels of a step", "profile", f"--model xl --batch 4 --context 512 {compiled} --view kernels --top 0 "
            "--output csv", 0.3)
    measure("gpt2 124M", "bench", f"--model gpt2-124M --batch 16 --context 1024 {compiled}", 0.2)
    measure("gpt2 1558M", "bench", f"--model gpt2-1558M --batch 8 --context 1024 {compiled}", 0.3)
    python = "" if fake else peers_python()
    for dtype in ("bfloat16", "tf32"):
        for model, minutes in (("small", 2), ("2.7B", 4.5)):
            words = [sys.executable, str(ROOT / "peers/run"), *DEVICE, "--cases", f"{model}:4x512:{dtype}", "--columns",
                     PEER_COLUMNS, "--rounds", str(rounds), "--laptime", str(program), "--python", python, "--output", "json"]
            step = Step(f"peers {model} {dtype}", "wishes", words, minutes, False, binary="-")
            if not python:
                step.skipped = "no Python with a PyTorch that sees a GPU; run peers/setup cuda"
            every.append(step)
    return every


def tables(folder: Path) -> list[Step]:
    """Tables of measurements: number types, contexts, and the sizes from the source documents."""
    store = ["--store", str(folder / "records.sqlite")]
    every = []

    def measure(name: str, command: str, words: str, minutes: float, expects: str = ""):
        every.append(Step(name, "tables", [command, *DEVICE, *store, *words.split()], minutes, False, expects=expects))

    small = "--model small --batch 4"
    for mode in ("eager", "compile"):
        measure(f"types {mode}", "bench", f"{small} --context 256 --mode {mode} --dtype float32,tf32,bfloat16,float16", 0.7)
    measure("recompute", "bench", f"{small} --context 512 --mode compile --dtype bfloat16 --recompute none,block", 0.4)
    for mode in ("eager", "compile"):
        measure(f"profile {mode}", "profile", f"{small} --context 256 --mode {mode} --dtype bfloat16", 0.4, "idle")
    measure("attention that won", "profile",
            f"{small} --context 256 --mode compile --dtype bfloat16 --view kernels --top 0", 0.4, ATTENTION_KERNELS)
    measure("eager against compile", "compare", f"{small} --context 256 --dtype bfloat16 --mode eager,compile --budget 10s", 1)
    for dtype in ("bfloat16", "tf32", "float32"):
        for model in ("small", "medium", "large", "xl", "2.7B"):
            measure(f"size {model} {dtype}", "bench", f"--model {model} --batch 4 --context 128,256,512,1024 "
                    f"--mode compile,eager --budget 1s --dtype {dtype}", 1.2 if model in ("xl", "2.7B") else 0.6)
    every.append(Step("table", "tables", ["show", *store], 0.1, False))
    return every


def steps(folder: Path, program: Path, fake: bool, rounds: int = 3) -> list[Step]:
    every = [*numbers(), *wishes(folder, program, fake, rounds), *tables(folder)]
    return [step for step in every if step.on_fake or not fake]
