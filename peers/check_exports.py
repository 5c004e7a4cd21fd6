#!/usr/bin/env python3
"""Exports the newest traced record of a store in every format but llama_bench, and reads each file with its tool.

    build/release/laptime profile --model small --store profile.sqlite
    build/peers-venv/bin/python peers/check_exports.py --store profile.sqlite

Readers that are not installed are listed and skipped: PyTorch's _memory_viz (with peers/setup), pandas and
HolisticTraceAnalysis (PyPI), compare.py of Google Benchmark (Debian: libbenchmark-tools), welch_ttest.py of hyperfine
(--hyperfine-scripts FOLDER). The exit code is 1 if a reader fails or its totals differ.
"""

import argparse
import importlib
import importlib.util
import json
import pickle
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

FORMATS = ("trace", "memory_viz", "nsys", "folded", "google_benchmark", "hyperfine", "csv", "jsonl")
COMPARE = Path("/usr/share/benchmark/compare.py")


class NotInstalled(Exception):
    pass


def module(name):
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise NotInstalled(f"{name} ({error})") from error


def require(condition, message):
    if not condition:
        raise ValueError(message)


def launch_nanoseconds(files):
    """The total time of all launches in the exported step."""
    events = json.loads(files["trace"].read_text())["traceEvents"]
    return sum(event["args"]["ns"] for event in events if event.get("cat") == "kernel")


def read_memory_viz(files, _options):
    # Loads the file directly: importing torch would take seconds, and the module does not need it.
    spec = importlib.util.find_spec("torch")
    if spec is None:
        raise NotInstalled("torch")
    source = Path(spec.submodule_search_locations[0]) / "cuda" / "_memory_viz.py"
    spec = importlib.util.spec_from_file_location("memory_viz", source)
    memory_viz = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(memory_viz)
    snapshot = pickle.loads(files["memory_viz"].read_bytes())
    trace = json.loads(files["jsonl"].read_text())["trace"]
    summary = memory_viz.segsum(snapshot)  # fails unless the blocks of each segment fill it
    allocations = memory_viz.trace(snapshot).count(" = ")
    stacks = memory_viz.memory(snapshot, format_flamegraph=lambda lines: lines)
    page = memory_viz.trace_plot(snapshot)
    alive = peak = 0
    for event in snapshot["device_traces"][0]:
        alive += {"alloc": 1, "free_completed": -1}.get(event["action"], 0) * event["size"]
        peak = max(peak, alive)
    buffers = trace["buffers"]
    resident = sum(size for size, stays in zip(buffers["bytes"], buffers["resident"]) if stays)
    require(peak == resident + trace["live_peak_bytes"], f"peak {peak}, not {resident} + {trace['live_peak_bytes']}")
    active = [block for segment in snapshot["segments"] for block in segment["blocks"]
              if block["state"] == "active_allocated"]
    require(sum(block["size"] for block in active) == alive, "the bytes in the segments differ from those of the events")
    require(len(stacks.splitlines()) >= len(active), "some blocks have no stack")
    require("Active Memory Timeline" in page, "no page")
    return f"{allocations} allocations, peak {peak} bytes; {next(line for line in summary.splitlines() if 'reserved' in line)}"


def read_trace_with_hta(files, _options):
    analysis = module("hta.trace_analysis")
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(files["trace"], Path(folder) / "rank0.json")
        trace = analysis.TraceAnalysis(trace_dir=folder)
        kernels, _ = trace.get_gpu_kernel_breakdown(visualize=False)
        idle = trace.get_temporal_breakdown(visualize=False)
    busy = float(kernels["sum"].sum())
    total = launch_nanoseconds(files) / 1000
    require(abs(busy - total) <= max(1, 1e-3 * total), f"kernels take {busy} us, not {total}")
    idle_percent = float(idle["idle_time_pctg"].iloc[0])
    require(idle_percent < 0.5, f"{idle_percent} % idle, though launches follow one another")
    return f"kernels {busy:.0f} us, idle {idle_percent:.2f} %"


def read_nsys_with_pandas(files, _options):
    table = module("pandas").read_csv(files["nsys"])
    total = int(table["Total Time (ns)"].sum())
    require(total == launch_nanoseconds(files), f"kernels take {total} ns, not {launch_nanoseconds(files)}")
    require(abs(table["Time (%)"].sum() - 100) < 0.1 * len(table), "shares do not add up")
    return f"{len(table)} kernels, {total} ns"


def read_csv_with_pandas(files, _options):
    table = module("pandas").read_csv(files["csv"])
    record = json.loads(files["jsonl"].read_text())
    median = record["time"][record["config"]["pass"]]["median"]
    require(abs(table["median_s"][0] - median) <= 1e-12, f"median {table['median_s'][0]}, not {median}")
    words = [name for name in table.columns if name.endswith(("_s", "_bytes", "_fraction")) and table[name].dtype == object]
    require(not words, f"columns that are not numbers: {words}")
    parts = sum(table[name][0] for name in table.columns if name.startswith("memory."))
    require(parts == table["predicted_peak_memory_bytes"][0], "the roles do not add up to the peak")
    return f"{len(table.columns)} columns"


def read_json_lines_with_pandas(files, _options):
    table = module("pandas").read_json(files["jsonl"], lines=True)
    return f"{len(table.columns)} columns, trace of {len(table['trace'][0]['launches']['op'])} launches"


def read_stacks(files, _options):
    total = sum(int(line.rsplit(" ", 1)[1]) for line in files["folded"].read_text().splitlines()
                if not line.startswith("step;residue "))
    require(total == launch_nanoseconds(files), f"stacks take {total} ns, not {launch_nanoseconds(files)}")
    return f"{total} ns"


def run(command):
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
    if "ModuleNotFoundError" in done.stderr:
        raise NotInstalled(done.stderr.splitlines()[-1])
    require(done.returncode == 0, done.stderr)
    return done.stdout


def read_google_benchmark(files, options):
    if not options.compare.exists():
        raise NotInstalled(str(options.compare))
    lines = run([sys.executable, options.compare, "--no-color", "benchmarks", files["google_benchmark"],
                 files["google_benchmark"]]).splitlines()
    rows = [line for line in lines if "/model:" in line]
    require(rows and all("+0.0000" in line for line in rows if "pvalue" not in line), "\n".join(lines))
    return f"{len(rows)} rows compared with themselves"


def read_hyperfine(files, options):
    script = options.hyperfine_scripts and options.hyperfine_scripts / "welch_ttest.py"
    if not script or not script.exists():
        raise NotInstalled("welch_ttest.py of hyperfine; name its folder with --hyperfine-scripts")
    results = json.loads(files["hyperfine"].read_text())
    twice = files["hyperfine"].with_suffix(".twice")
    twice.write_text(json.dumps({"results": results["results"] * 2}))
    return run([sys.executable, script, twice]).splitlines()[-1].strip() or "read"


READERS = {
    "memory_viz by torch.cuda._memory_viz": read_memory_viz,
    "trace by HolisticTraceAnalysis": read_trace_with_hta,
    "nsys by pandas": read_nsys_with_pandas,
    "csv by pandas": read_csv_with_pandas,
    "jsonl by pandas": read_json_lines_with_pandas,
    "folded, added up": read_stacks,
    "google_benchmark by compare.py": read_google_benchmark,
    "hyperfine by welch_ttest.py": read_hyperfine,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--laptime", type=Path, default=Path("build/release/laptime"))
    parser.add_argument("--store", type=Path, required=True)
    parser.add_argument("--compare", type=Path, default=COMPARE, help="compare.py of Google Benchmark")
    parser.add_argument("--hyperfine-scripts", type=Path, help="folder of hyperfine's Python scripts")
    options = parser.parse_args()
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        files = {name: Path(folder) / name for name in FORMATS}
        for name, file in files.items():
            subprocess.run([options.laptime, "export", name, "--newest", "--store", options.store, "--output-file", file],
                           check=True)
        for name, read in READERS.items():
            try:
                print(f"{name}: ok, {read(files, options)}")
            except NotInstalled as error:
                print(f"{name}: not installed: {error}")
            except Exception as error:  # the reader may raise anything
                print(f"{name}: FAILED: {type(error).__name__}: {error}")
                failed = True
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
