"""The device on which PyTorch runs a step: the place of its tensors, its casts, its clock and its memory.

    build/peers-venv/bin/python peers/devices.py      # prints the GPU that PyTorch uses; without one, why (exit code 2)
"""

import contextlib
import importlib.util
import subprocess
import sys
import time

import model_config

DEVICES = ("cpu", "cuda")
DTYPES = ("float32", "tf32", "bfloat16")


def check(device, dtype):
    """Raises ConfigError if the device cannot compute in this type."""
    if dtype == "tf32" and device != "cuda":
        raise model_config.ConfigError("tf32 is a mode of NVIDIA tensor cores, which a CPU lacks; use --device cuda")


def torch_type(dtype):
    """Type of the tensors; tf32 is a way to multiply float32 tensors."""
    return "float32" if dtype == "tf32" else dtype


def of(config):
    """The device of a configuration; ConfigError if PyTorch finds none."""
    return Cuda(config) if config["device"] == "cuda" else Cpu(config)


class Cpu:
    """This machine's processor."""

    name = "cpu"
    describes = {}  # the entries for a record's `machine` that describe the device

    def __init__(self, config):
        import torch

        self.torch = torch
        torch.set_num_threads(config["threads"])

    def autocast(self):
        return self.torch.autocast("cpu", self.torch.bfloat16)

    def clock(self):
        return HostClock()

    def forget_peaks(self):
        """Resets the peaks, if that is possible."""

    def memory(self):
        """The peaks for a record's `memory`."""
        return {}

    @contextlib.contextmanager
    def held_bytes(self):
        """Yields a list, and on exit appends the bytes that the work allocated and still holds."""
        held = []
        with self.torch.profiler.profile(profile_memory=True) as profiler:
            yield held
        held.append(sum(event.self_cpu_memory_usage for event in profiler.key_averages()))


class Cuda:
    """The first GPU that PyTorch sees."""

    name = "cuda"

    def __init__(self, config):
        import torch

        if reason := missing(torch):
            raise model_config.ConfigError(f"--device cuda: {reason}")
        if config["mode"] == "compile" and not has_triton():
            raise model_config.ConfigError(
                "--mode compile on --device cuda needs triton, which is not installed: run peers/setup cuda"
            )
        self.torch = torch
        torch.set_num_threads(config["threads"])
        torch.cuda.set_device(0)
        torch.set_float32_matmul_precision("high" if config["dtype"] == "tf32" else "highest")
        torch.backends.cudnn.allow_tf32 = config["dtype"] == "tf32"
        card = torch.cuda.get_device_properties(0)
        self.describes = {
            "card": {
                "name": card.name,
                "compute_capability": f"{card.major}.{card.minor}",
                "memory_bytes": card.total_memory,
                "libraries": [f"CUDA {torch.version.cuda}", f"cuDNN {torch.backends.cudnn.version()}"],
            }
        }
        self.events = [torch.cuda.Event(enable_timing=True) for _ in range(5)]

    def autocast(self):
        return self.torch.autocast("cuda", self.torch.bfloat16)

    def clock(self):
        return CardClock(self.torch, self.events)

    def forget_peaks(self):
        self.torch.cuda.synchronize()
        self.torch.cuda.empty_cache()
        self.torch.cuda.reset_peak_memory_stats()

    def memory(self):
        statistics = self.torch.cuda.memory_stats()
        peaks = {
            "peak_bytes": self.torch.cuda.max_memory_allocated(),
            "requested_bytes": statistics["requested_bytes.all.peak"],
            "reserved_bytes": self.torch.cuda.max_memory_reserved(),
        }
        workspaces = self._free_workspaces()
        return {name: peak - workspaces for name, peak in peaks.items()}

    @contextlib.contextmanager
    def held_bytes(self):
        self._free_workspaces()
        held, before = [], self.torch.cuda.memory_allocated()
        yield held
        self._free_workspaces()
        held.append(self.torch.cuda.memory_allocated() - before)

    def _free_workspaces(self):
        """Frees the workspaces of cuBLAS and returns their bytes.

        PyTorch allocates them like tensors at the first product and keeps them; laptime's peaks leave out its own.
        """
        before = self.torch.cuda.memory_allocated()
        if clear := getattr(self.torch._C, "_cuda_clearCublasWorkspaces", None):
            clear()
        return before - self.torch.cuda.memory_allocated()


class HostClock:
    """Measures with the host's clock. A call must return only when its work is complete."""

    def __init__(self):
        self.marks = []

    def mark(self):
        self.marks.append(time.perf_counter())

    def read(self):
        """(seconds from the first mark to each mark, None because the host's clock is the only one)."""
        return [mark - self.marks[0] for mark in self.marks], None


class CardClock:
    """Measures with events in the GPU's stream, and with the host's clock from the start until the GPU has finished."""

    def __init__(self, torch, events):
        self.torch, self.events, self.marks = torch, events, 0
        torch.cuda.synchronize()
        self.started = time.perf_counter()

    def mark(self):
        self.events[self.marks].record()
        self.marks += 1

    def read(self):
        self.torch.cuda.synchronize()
        host = time.perf_counter() - self.started
        return [1e-3 * self.events[0].elapsed_time(event) for event in self.events[: self.marks]], host


def missing(torch):
    """The reason why PyTorch has no GPU; empty if it has one."""
    if torch.version.cuda is None:
        return "this PyTorch was built without CUDA; run peers/setup cuda"
    if not torch.cuda.is_available():
        return "PyTorch finds no NVIDIA GPU or no driver for it; see nvidia-smi, or use --device cpu"
    return ""


def require_card():
    """Raises ConfigError unless PyTorch finds a GPU. Checks in another process, so that this one uses no GPU memory."""
    found = subprocess.run([sys.executable, __file__], capture_output=True, text=True)
    if found.returncode != 0:
        said = found.stderr.strip().splitlines()
        raise model_config.ConfigError(f"--device cuda: {said[-1] if said else 'PyTorch does not start'}")


def has_triton():
    return importlib.util.find_spec("triton") is not None


def main():
    try:
        import torch
    except ImportError as error:
        print(f"no PyTorch: {error}; run peers/setup cuda", file=sys.stderr)
        return 2
    if reason := missing(torch):
        print(reason, file=sys.stderr)
        return 2
    print(torch.cuda.get_device_name(0))
    return 0


if __name__ == "__main__":
    sys.exit(main())
