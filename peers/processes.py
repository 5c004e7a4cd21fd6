"""Runs each measured point in its own process, with limits and a chosen allocator."""

import ctypes.util
import json
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import model_config
import records

# malloc of the C library; preloaded alternatives; thp: malloc, but PyTorch requests huge pages.
ALLOCATORS = ("malloc", "jemalloc", "tcmalloc", "thp")
_PRELOADED = {"jemalloc": ("jemalloc", "libjemalloc2"), "tcmalloc": ("tcmalloc_minimal", "libtcmalloc-minimal4")}
THP = {"THP_MEM_ALLOC_ENABLE": "1"}
# jemalloc keeps dirty pages instead of returning them to the system, and uses huge pages.
MALLOC_CONF = "dirty_decay_ms:-1,muzzy_decay_ms:-1,thp:always"
_MEMORY_SHARE = 0.95  # share of the available memory that a point may use; beyond it allocations fail


def run_group(words, timeout):
    """Runs a program and returns the completed process, with its output as text. Raises TimeoutExpired after `timeout`
    seconds. Kills its children too, because a surviving child would slow down the next measurement."""
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
    try:
        output, errors = process.communicate(timeout=timeout)
    except BaseException:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        raise
    return subprocess.CompletedProcess(words, process.returncode, output, errors)


def environment(allocator, library=None):
    """Environment variables that select this allocator for a process; ConfigError if its library is not installed."""
    if allocator not in _PRELOADED:
        return THP if allocator == "thp" else {}
    name, package = _PRELOADED[allocator]
    found = library if allocator == "jemalloc" and library else ctypes.util.find_library(name)
    if found is None:
        advice = ", or name the file with --jemalloc" if allocator == "jemalloc" else ""
        raise model_config.ConfigError(f"no lib{name}; install it (Debian: {package}){advice}")
    return {"LD_PRELOAD": found} | ({"MALLOC_CONF": MALLOC_CONF} if allocator == "jemalloc" else {})


def check_allocator(allocator):
    """Raises ConfigError if this process does not use the given allocator."""
    with open("/proc/self/maps", encoding="utf-8") as file:
        maps = file.read()
    for name in _PRELOADED:
        if (name in maps) != (allocator == name):
            raise model_config.ConfigError(
                f"--allocator {allocator}, but this process runs {'with' if name in maps else 'without'} {name}"
            )
    if allocator == "thp" and os.environ.get("THP_MEM_ALLOC_ENABLE") != "1":
        raise model_config.ConfigError("--allocator thp, but THP_MEM_ALLOC_ENABLE is not 1")


def launcher(options):
    """The words that start a script: Python and, if requested, PyTorch's launcher for CPUs, which binds the threads and
    sets up OpenMP. The launcher may not preload an allocator, because --allocator chooses it."""
    if not getattr(options, "launcher", False):
        return [sys.executable]
    words = [sys.executable, "-m", "torch.backends.xeon.run_cpu", "--ninstances", "1"]
    # The number of cores may be a list, so a flag must end the list.
    return [*words, "--ncores-per-instance", str(options.threads), "--use-default-allocator"]


def available_memory():
    """Available memory in bytes."""
    with open("/proc/meminfo", encoding="utf-8") as lines:
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:"))


def seconds_since_start():
    """Seconds since the kernel started this process, with a resolution of 10 ms."""
    with open("/proc/self/stat", encoding="utf-8") as file:
        ticks = int(file.read().rpartition(")")[2].split()[19])
    return time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")


# Messages of Python, the C++ library and PyTorch when an allocation fails; the last two occur on a GPU.
_NO_MEMORY = ("allocate memory", "bad_alloc", "MemoryError", "CUDA out of memory", "CUDA error: out of memory")
_SCALE = {"bytes": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}


def card_bytes(before, text, after=""):
    """The bytes of the size, such as "20.00 MiB", between these words in PyTorch's message on a full GPU, or None."""
    found = re.search(rf"{before} ([\d.]+) (bytes|KiB|MiB|GiB){after}", text)
    return int(float(found[1]) * _SCALE[found[2]]) if found else None


def how_it_ended(code, stderr):
    """(status, reason, bytes requested) of a process that left no record."""
    lines = [line for line in stderr.strip().splitlines() if line.strip()]
    refused = re.search(r"tried to allocate (\d+) bytes", stderr) or re.search(r"allocating (\d+) bytes", stderr)
    requested = int(refused[1]) if refused else card_bytes(r"Tried to allocate", stderr)
    if code == -signal.SIGKILL:
        return "out_of_memory", "killed by the kernel", requested
    if refused or any(words in stderr for words in _NO_MEMORY):
        return "out_of_memory", lines[-1] if lines else "no memory", requested
    if code < 0:
        return "failed", f"signal {signal.Signals(-code).name}", requested
    return "unsupported" if code == 2 else "failed", lines[-1] if lines else f"exit code {code}", requested


def measure_in_child(script, options, config, flag_names=None, left_out=()):
    """The record of one point, measured in a fresh process. If the process dies, the record states the reason.

    `options` are passed to `script` as flags, except those in `left_out`. `flag_names` contains the flags that are
    spelt differently from their field.
    """
    flags = [*launcher(options), str(script), "--in-process"]
    for key, value in vars(options).items():
        flag = "--" + (flag_names or {}).get(key, key).replace("_", "-")
        if value is not None and value is not False and key not in ("output_file", "in_process", "launcher", *left_out):
            flags += [flag] if value is True else [flag, str(value)]
    # The driver of a GPU reserves far more address space than it uses, so a limit would stop it.
    limit = None if options.device == "cuda" else int(available_memory() * _MEMORY_SHARE)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "record.json")
        child = subprocess.run(
            [*flags, "--output-file", str(path)],
            env=os.environ | environment(options.allocator, options.jemalloc),
            preexec_fn=None if limit is None else lambda: resource.setrlimit(resource.RLIMIT_DATA, (limit, limit)),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        if child.returncode == 0:
            return json.loads(path.read_text())[0]
    record = records.empty_record(config)
    record["status"], record["reason"], record["bytes_requested"] = how_it_ended(child.returncode, child.stderr)
    if record["status"] == "out_of_memory":
        record["bytes_available"] = card_bytes("of which", child.stderr, " is free") if limit is None else limit
    return record


def add_options(parser):
    """The options of a program that measures each point in its own process."""
    parser.add_argument(
        "--allocator",
        choices=ALLOCATORS,
        default="malloc",
        help=f"malloc: the C library's; jemalloc: preloaded, with MALLOC_CONF={MALLOC_CONF}; tcmalloc: preloaded; "
        "thp: malloc, with THP_MEM_ALLOC_ENABLE=1, so that PyTorch uses huge pages",
    )
    parser.add_argument("--jemalloc", metavar="FILE", help="path of the jemalloc library; default: the system's")
    parser.add_argument(
        "--output-file", help="JSON array of records; '-': standard output (the summary then goes to standard error)"
    )
    parser.add_argument(
        "--in-process", action="store_true", help="measure in this process instead of a child process per point"
    )


def run_points(points, measure, measure_apart, options, summary):
    """Measures `points`, which are (options, config), prints summaries and writes records. Returns the exit code."""
    if options.output_file not in (None, "-") and not Path(options.output_file).parent.is_dir():
        raise model_config.ConfigError(f"--output-file: no folder {Path(options.output_file).parent}; create it first")
    results = []
    text_to = sys.stderr if options.output_file == "-" else sys.stdout
    for point, config in points:
        if sys.stderr.isatty():
            print(f"point {len(results) + 1} of {len(points)} ...", end="\r", file=sys.stderr, flush=True)
        if options.in_process:
            check_allocator(options.allocator)
        results.append(measure(config) if options.in_process else measure_apart(point, config))
        print(summary(results[-1]), file=text_to, flush=True)
    if options.output_file:
        text = json.dumps(results, indent=1)
        if options.output_file == "-":
            print(text)
        else:
            Path(options.output_file).write_text(text + "\n")
    return 0 if all(r["status"] in ("ok", "out_of_memory") for r in results) else 1
