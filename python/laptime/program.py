"""Finds the program, runs it, and turns its exit code and messages into results and exceptions."""

from __future__ import annotations

import importlib.metadata
import os
import selectors
import shutil
import signal
import subprocess
import threading
import warnings
from collections.abc import Callable, Iterable
from typing import Any, Protocol

_OK = 0
# Exit codes with complete records. _FAILED: some points failed, and their records state why, or a comparison exceeded
# --fail-above. _UNDECIDED: a comparison could not be judged.
_FAILED = 1
_UNDECIDED = 3


class Error(Exception):
    """The program rejected its input or failed; the text is its message. `records`: the records so far, if any."""

    def __init__(self, message: str, records: Any = None):
        super().__init__(message)
        self.records = records


class Interrupted(KeyboardInterrupt):
    """Ctrl-C ended a run. `records` contains the records so far, with the samples of the interrupted point."""

    def __init__(self, message: str, records: Any = None):
        super().__init__(message)
        self.records = records


class LaptimeWarning(UserWarning):
    """A run finished, but points failed, or a comparison exceeds `fail_above` or cannot be judged."""


class Watcher(Protocol):
    """Receives the lines of standard error, without line breaks, while a run is in progress."""

    def line(self, text: str) -> None: ...


def path() -> str:
    """The path of the program: LAPTIME_BINARY if it is set, else the program in this package, else the one on PATH.

    Raises:
        Error: there is no program.
    """
    if named := os.environ.get("LAPTIME_BINARY"):
        return named
    try:
        for file in importlib.metadata.files("laptime") or ():
            if file.name == "laptime" and file.parent.name == "bin":
                return os.path.realpath(file.locate())
    except importlib.metadata.PackageNotFoundError:
        pass
    if found := shutil.which("laptime"):
        return found
    raise Error("the program laptime is neither in this package nor on PATH; install it, or set LAPTIME_BINARY to its "
                "path")


def message_of(lines: Iterable[str]) -> str:
    """The messages among the lines of standard error: "laptime: ..." and the indented lines that follow."""
    found: list[str] = []
    in_message = False
    for line in lines:
        in_message = line.startswith(("laptime:", "laptime ")) or (in_message and line.startswith("  "))
        if in_message:
            found.append(line)
    return "\n".join(found)


class Interrupts:
    """Passes Ctrl-C on to the program instead of raising KeyboardInterrupt, so that no line is lost.

    The program runs in its own session, so the terminal sends it no signals. Outside the main thread Python delivers no
    signals, and there is nothing to pass on.
    """

    def __init__(self, child: subprocess.Popen):
        self._child = child
        self._previous: Any = None
        self.count = 0

    def _pass_on(self, *_: object) -> None:
        self.count += 1
        self._child.send_signal(signal.SIGINT)

    def __enter__(self) -> Interrupts:
        if threading.current_thread() is threading.main_thread():
            self._previous = signal.signal(signal.SIGINT, self._pass_on)
        return self

    def __exit__(self, *_: object) -> None:
        if self._previous is not None:
            signal.signal(signal.SIGINT, self._previous)


class _Lines:
    """Splits the pieces of a stream into lines."""

    def __init__(self, take: Callable[[str], None]):
        self._take = take
        self._rest = b""

    def add(self, piece: bytes) -> None:
        *lines, self._rest = (self._rest + piece).split(b"\n")
        for line in lines:
            self._take(line.decode("utf-8", "replace"))

    def end(self) -> None:
        if self._rest:
            self._take(self._rest.decode("utf-8", "replace"))


def _run(words: list[str], watcher: Watcher | None) -> tuple[int, bool, bytes, list[str]]:
    """Runs the program. Returns (exit code, whether Ctrl-C was pressed, output, lines of standard error)."""
    try:
        child = subprocess.Popen([path(), *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, start_new_session=True)
    except OSError as error:
        raise Error(f"the program laptime cannot be run: {error}") from error
    assert child.stdout is not None and child.stderr is not None
    output: list[bytes] = []
    errors: list[str] = []

    def take_error(line: str) -> None:
        errors.append(line)
        if watcher is not None:
            watcher.line(line)

    try:
        with Interrupts(child) as interrupts, selectors.DefaultSelector() as selector:
            error_lines = _Lines(take_error)
            selector.register(child.stdout, selectors.EVENT_READ, output.append)
            selector.register(child.stderr, selectors.EVENT_READ, error_lines.add)
            while selector.get_map():
                for key, _ in selector.select():
                    piece = os.read(key.fd, 65536)
                    if piece:
                        key.data(piece)
                    else:
                        selector.unregister(key.fileobj)
            error_lines.end()
            code = child.wait()
        return code, interrupts.count > 0, b"".join(output), errors
    finally:
        if child.poll() is None:  # the watcher raised an exception
            child.terminate()
            child.wait()
        child.stdout.close()
        child.stderr.close()


def failure(code: int, errors: list[str]) -> str:
    message = message_of(errors)
    if message:
        return message
    ended = f"was killed by signal {-code}" if code < 0 else f"exited with code {code}"
    return "\n".join([f"laptime {ended}", *errors])


def records_of(words: list[str], watcher: Watcher | None, read: Callable[[list[str]], Any]) -> Any:
    """Runs a command, passes the lines that it prints to `read`, and returns the result.

    Issues a LaptimeWarning for the exit codes _FAILED and _UNDECIDED.

    Raises:
        Error: any other exit code, such as for bad input, or a failure without a record.
        Interrupted: Ctrl-C.
    """
    code, interrupted, output, errors = _run(words, watcher)
    lines = output.decode("utf-8", "replace").split("\n")[:-1]  # the last element is empty or an incomplete line
    records = read(lines)
    if interrupted:
        raise Interrupted(message_of(errors) or "laptime: interrupted", records)
    if code == _OK:
        return records
    if code in (_FAILED, _UNDECIDED) and lines:
        warnings.warn(message_of(errors) or "laptime: some points did not succeed; see status and reason", LaptimeWarning,
                      stacklevel=4)
        return records
    raise Error(failure(code, errors), records)


def output_of(words: list[str], watcher: Watcher | None = None) -> bytes:
    """The output of a command. Raises Error if it does not exit with 0, and Interrupted after Ctrl-C."""
    code, interrupted, output, errors = _run(words, watcher)
    if interrupted:
        raise Interrupted("laptime: interrupted")
    if code != _OK:
        raise Error(failure(code, errors))
    return output
