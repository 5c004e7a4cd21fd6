"""Shows the progress of a run, from the lines that the program prints, in a notebook or in a terminal."""

from __future__ import annotations

import re
import shutil
import sys
from typing import Any

_PROGRESS = re.compile(r"\[(\d+)/(\d+)\] (.*)")
_STEP = re.compile(r"step (\d+) of (\d+)")


def _in_notebook() -> bool:
    """Whether this is a notebook, which can show displays and widgets; IPython in a terminal cannot."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return shell is not None and hasattr(shell, "kernel")


class _Terminal:
    """One line of standard error, which each update overwrites."""

    _ERASE = "\r\x1b[K"

    def show(self, text: str, _: float) -> None:
        width = shutil.get_terminal_size().columns
        sys.stderr.write(self._ERASE + text[: width - 1])
        sys.stderr.flush()

    def message(self, text: str) -> None:
        sys.stderr.write(f"{self._ERASE}{text}\n")

    def close(self) -> None:
        sys.stderr.write(self._ERASE)
        sys.stderr.flush()


class _Display:
    """Text that changes in place below the cell; requires only IPython."""

    def __init__(self) -> None:
        from IPython.display import display

        self._handle: Any = display({"text/plain": ""}, raw=True, display_id=True)

    def show(self, text: str, _: float) -> None:
        self._handle.update({"text/plain": text}, raw=True)

    def message(self, text: str) -> None:
        print(text, file=sys.stderr)

    def close(self) -> None:
        self._handle.update({"text/plain": ""}, raw=True)


class _Bar(_Display):
    """An ipywidgets bar with the text next to it."""

    def __init__(self) -> None:
        import ipywidgets
        from IPython.display import display

        self._bar = ipywidgets.FloatProgress(value=0.0, min=0.0, max=1.0)
        self._text = ipywidgets.Label("starting")
        self._box = ipywidgets.HBox([self._bar, self._text])
        display(self._box)

    def show(self, text: str, fraction: float) -> None:
        self._bar.value = fraction
        self._text.value = text

    def close(self) -> None:
        self._box.close()


def _view() -> Any:
    if _in_notebook():
        try:
            return _Bar()
        except ImportError:
            return _Display()
    return _Terminal() if sys.stderr is not None and sys.stderr.isatty() else None


class Progress:
    """Shows the lines of the program's standard error: "[1/4] ctx 128: steps, step 3 of 10, 1.2 s each"."""

    def __init__(self, is_wanted: bool = True):
        self._is_wanted = is_wanted
        self._view: Any = None

    def __enter__(self) -> Progress:
        self._view = _view() if self._is_wanted else None
        return self

    def __exit__(self, *_: object) -> None:
        if self._view is not None:
            self._view.close()

    def line(self, text: str) -> None:
        """Shows a line of standard error, given without its line break."""
        if self._view is None:
            return
        if (found := _PROGRESS.match(text)) is not None:
            point, points = int(found[1]), int(found[2])
            step = _STEP.search(found[3])
            part = int(step[1]) / max(1, int(step[2])) if step else 0.0
            self._view.show(text, min(1.0, (point - 1 + part) / points))
        elif text.startswith(("laptime:", "laptime ")):
            self._view.message(text)
