"""Measures a training step of any framework as `bench` does: runs and times steps until the program says stop."""

from __future__ import annotations

import gc
import json
import math
import platform
import resource
import select
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from typing import Any

from laptime import program
from laptime.commands import Option, words_of
from laptime.progress import Progress
from laptime.records import Records

_INTERRUPTED = 130
_REFUSAL_SECONDS = 0.2  # the program rejects invalid options within this time


class _Clock:
    """Times of the phases of one step, in nanoseconds."""

    def __init__(self, sync: Callable[[], Any] | None):
        self.sync = sync
        self.phases: dict[str, int] = {}
        self.inside: str | None = None


_clock: _Clock | None = None  # the clock of the step that is being measured


class phase:  # noqa: N801: used like a function, `with laptime.phase("forward"):`
    """A part of a step: `forward`, `backward`, `optimizer`, or a name of your own, such as `data`.

    Several blocks of one phase add up; phases do not nest.

    Outside of `measure`, a phase has no effect. The `sync` of `measure`, if given, is called at the end of the block, so
    that an asynchronous device has finished the work of the phase.
    """

    def __init__(self, name: str):
        self._name = name
        self._clock: _Clock | None = None
        self._begin = 0

    def __enter__(self) -> None:
        self._clock = _clock
        if self._clock is None:
            return
        if self._clock.inside is not None:
            raise program.Error(f"laptime.phase: {self._name!r} begins inside {self._clock.inside!r}; phases must not "
                                "nest")
        self._clock.inside = self._name
        self._begin = time.perf_counter_ns()

    def __exit__(self, kind: Any, *_: object) -> None:
        clock = self._clock
        if clock is None:
            return
        if clock.sync is not None and kind is None:
            clock.sync()
        clock.phases[self._name] = clock.phases.get(self._name, 0) + time.perf_counter_ns() - self._begin
        clock.inside = None


def _wait_for(result: Any) -> None:
    """Waits for an asynchronous result: a JAX array, or a tree of them, or the work that PyTorch has queued on a GPU."""
    cuda = getattr(sys.modules.get("torch"), "cuda", None)
    if cuda is not None and cuda.is_initialized():
        cuda.synchronize()
    if hasattr(result, "block_until_ready"):
        result.block_until_ready()
    elif "jax" in sys.modules:
        sys.modules["jax"].block_until_ready(result)


def _loss_of(result: Any) -> dict[str, float]:
    """Returns the loss entry of a line; empty if the result is neither an int, a float nor an object with `item()`.

    Infinity stands for every loss that is not finite.
    """
    if isinstance(result, bool):
        return {}
    if not isinstance(result, (int, float)):
        if not hasattr(result, "item"):
            return {}
        result = result.item()
    loss = float(result)
    return {"loss": loss if math.isfinite(loss) else math.inf}


def _timed(step: Callable[[], Any], sync: Callable[[], Any] | None) -> tuple[dict[str, Any], Any]:
    """Runs a step. Returns its start, its time, the times of its phases, and its result."""
    global _clock
    clock = _Clock(sync)
    _clock = clock
    try:
        begin = time.perf_counter_ns()
        result = step()
        sync() if sync is not None else _wait_for(result)
        end = time.perf_counter_ns()
    finally:
        _clock = None
    return {"step": end - begin, "begin": begin, **({"phases": clock.phases} if clock.phases else {})}, result


def _surroundings() -> dict[str, Option]:
    """The framework, the device and the number of threads, as far as the loaded frameworks state them.

    With both frameworks loaded, the step may be of either, so only the device is known.
    """
    torch, jax = sys.modules.get("torch"), sys.modules.get("jax")
    # JAX is asked last, because the question may make it reserve most of the memory of a GPU.
    on_cuda = (torch is not None and torch.cuda.is_available() and torch.cuda.is_initialized()
               or jax is not None and jax.default_backend() != "cpu")
    device = "cuda" if on_cuda else None
    if torch is not None and jax is None:
        return {"system": "pytorch", "system_version": torch.__version__, "device": device,
                "threads": None if on_cuda else torch.get_num_threads()}
    if jax is not None and torch is None:
        return {"system": "jax", "system_version": jax.__version__, "device": device}
    return {"system": "python", "system_version": platform.python_version(), "device": device}


class _Recorder:
    """Talks to the program `laptime record` through a pipe."""

    def __init__(self, words: list[str]):
        self._errors = tempfile.TemporaryFile()
        try:
            self._child = subprocess.Popen([program.path(), "record", *words], stdin=subprocess.PIPE,
                                           stdout=subprocess.PIPE, stderr=self._errors, start_new_session=True)
        except OSError as error:
            self._errors.close()
            raise program.Error(f"the program laptime cannot be run: {error}") from error
        assert self._child.stdin is not None and self._child.stdout is not None
        self._input, self._output = self._child.stdin, self._child.stdout

    def __enter__(self) -> _Recorder:
        try:
            # A step may take a long time, so rejected options should be reported before the first step.
            if select.select([self._output], [], [], _REFUSAL_SECONDS)[0]:
                raise self.refusal()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        """Kills the program if it is still running, so that it stores nothing."""
        if self._child.poll() is None:
            self._child.kill()
            self._child.wait()
        try:
            self._input.close()
        except OSError:  # the program had not read everything
            pass
        self._output.close()
        self._errors.close()

    def _messages(self) -> list[str]:
        self._errors.seek(0)
        return self._errors.read().decode("utf-8", "replace").splitlines()

    def refusal(self) -> program.Error:
        return program.Error(program.failure(self._child.wait(), self._messages()))

    def tell(self, line: dict[str, Any]) -> dict[str, str]:
        """Sends a line, and returns what to do next."""
        try:
            self._input.write(json.dumps(line).encode() + b"\n")
            self._input.flush()
        except BrokenPipeError:
            pass  # the program has ended; refusal() reports its messages
        answer = self._output.readline()
        if not answer:
            raise self.refusal()
        return json.loads(answer)

    def interrupt(self) -> None:
        """Ends the series with the steps so far."""
        if self._child.poll() is None:
            self._child.send_signal(signal.SIGINT)

    def records(self) -> Records:
        """Ends the series and returns its record. Raises Error if there is none, and Interrupted after Ctrl-C."""
        try:
            self._input.close()
        except BrokenPipeError:
            pass
        with program.Interrupts(self._child) as interrupts:
            lines = [json.loads(line) for line in self._output]
            code = self._child.wait()
        records = Records(line for line in lines if "next" not in line)
        errors = self._messages()
        if code == _INTERRUPTED or interrupts.count > 0:
            raise program.Interrupted(program.message_of(errors) or "laptime: interrupted", records)
        if not records:
            raise program.Error(program.failure(code, errors))
        if code != 0:
            warnings.warn(program.message_of(errors) or f"laptime: {records[0].get('reason')}", program.LaptimeWarning,
                          stacklevel=3)
        return records


def measure(step: Callable[[], Any], *, sync: Callable[[], Any] | None = None,
            peak_bytes: Callable[[], int] | None = None, progress: bool = True, **options: Option) -> Records:
    """Measures your own training step: a record like those of `bench`, in the same store.

    `laptime.measure(step, model="small", batch=4, context=256, name="flash")`

    `step` does one training step and may return its loss, as a number or as an object whose `item()` is called outside
    of the timed part. It is called until the median is known well enough; warm-up, samples, budget and verdict follow
    the rules of `bench`. Inside `step`, `with laptime.phase("forward"):` times a part of it.

    `sync` is called at the end of each step and phase, inside the timed part, for example `torch.cuda.synchronize`.
    Without it, `measure` waits for a result that has `block_until_ready`. `peak_bytes` is called after each step and
    returns the peak bytes of tensors so far (`torch.cuda.max_memory_allocated`).

    The other keywords are options of `laptime record` (`options("record")`). With `model`, `batch` and `context` of a
    model that the program knows, the record has FLOPs and their share of the machine's peak; otherwise `tokens` gives
    tokens per second. The framework, its version, its threads and the use of CUDA are detected unless they are given.

    The garbage collector runs once before the first step, and as usual afterwards.

    Raises:
        Error: the input is rejected; contains the program's message.
        Interrupted: Ctrl-C; the samples so far are stored, and are in `records`.
        Any exception that `step` raises; then nothing is stored.
    """
    if not callable(step):
        raise program.Error("laptime.measure: the step is not callable; give a function that does one training step")
    words = words_of({**({} if "system" in options else _surroundings()), **options})
    with _Recorder(words) as recorder, Progress(progress) as shown:
        gc.collect()
        try:
            while True:
                line, result = _timed(step, sync)
                line |= _loss_of(result)
                if peak_bytes is not None:
                    line["peak_bytes"] = int(peak_bytes())
                line["peak_rss_bytes"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
                del result
                answer = recorder.tell(line)
                shown.line(f"[1/1] {answer['reason']}")
                if answer["next"] == "stop":
                    break
        except KeyboardInterrupt:
            recorder.interrupt()
        return recorder.records()
