"""A function for each command that returns data. The program defines the options; they are not listed here."""

from __future__ import annotations

import json
import keyword
import os
import tempfile
from collections.abc import Callable, Iterable
from typing import Any, TypeVar, Union

from laptime import program
from laptime.progress import Progress
from laptime.records import Exported, Page, Records, Report, Reports

# One value of an option: a switch, a number, a word or a path. Anything else is converted to text (torch.bfloat16).
Value = Union[bool, int, float, str, "os.PathLike[str]", Any]
# The setting of an option: a value, several values, or None, which omits the option.
Option = Union[Value, Iterable[Value], None]

Result = TypeVar("Result", Records, Reports)

# Options that the module sets itself, because it reads the output of the program.
_OWN_OPTIONS = ("output", "format", "output_file")


def _text(value: Value) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return os.fspath(value) if isinstance(value, os.PathLike) else str(value)


def words_of(options: dict[str, Option]) -> list[str]:
    words = []
    for name, value in options.items():
        if value is None:
            continue
        flag = name.rstrip("_").replace("_", "-")
        if isinstance(value, Iterable) and not isinstance(value, (str, bytes, os.PathLike)):
            words.append(f"--{flag}={','.join(map(_text, value))}")
        else:
            words.append(f"--{flag}={_text(value)}")
    return words


def _words(command: str, arguments: Iterable[str | os.PathLike[str]], options: dict[str, Option]) -> list[str]:
    """Returns the words of a command line, without empty arguments."""
    given = [os.fspath(argument) for argument in arguments if argument]
    return [command, *words_of(options), *(["--", *given] if given else [])]


def _reject_own(command: str, options: dict[str, Option]) -> None:
    for name in _OWN_OPTIONS:
        if name in options:
            raise program.Error(f"laptime.{command}: {name} is not an option here, since the result is data; to write a "
                                "file, use laptime.run or the table from to_pandas()")


def _lines_of(command: str, arguments: Iterable[str | os.PathLike[str]], options: dict[str, Option], progress: bool,
              kept: Callable[[Iterable[dict[str, Any]]], Result]) -> Result:
    _reject_own(command, options)
    with Progress(progress) as shown:
        words = _words(command, arguments, {"output": "jsonl", **options})
        return program.records_of(words, shown, lambda lines: kept(json.loads(line) for line in lines))


def _printed(words: list[str]) -> str:
    return program.output_of(words).decode("utf-8", "replace")


def _reports(lines: Iterable[dict[str, Any]]) -> Reports:
    return Reports(Report.from_json(line) for line in lines)


def bench(*, progress: bool = True, **options: Option) -> Records:
    """Measures training steps: a record for each point of the product of all lists.

    `laptime.bench(model="small", context=[128, 256], dtype="bfloat16", warmup=5, steps=10)`

    Each record has the same keys, with units in their names (`median_s`, `peak_bytes`, `context_length`);
    `columns="all"` returns whole records. A point that fails or does not fit has a record with `status` and `reason`.
    Records are also stored (see `show`), unless `store="none"`. Ctrl-C raises `Interrupted`, which contains the records
    so far. `progress=False` hides the progress.

    Raises:
        Error: the input is rejected; contains the program's message.
    """
    return _lines_of("bench", [], options, progress, Records)


def attention(*, progress: bool = True, **options: Option) -> Records:
    """Measures attention alone; the options and the result are as in `bench`."""
    return _lines_of("attention", [], options, progress, Records)


def show(filter: str = "", **options: Option) -> Records:  # noqa: A002: named as in the program
    """Returns stored records: `laptime.show("model = small and ctx >= 256", last=True)`."""
    return _lines_of("show", [filter], options, False, Records)


def profile(filter: str = "", *, progress: bool = True, **options: Option) -> Reports:  # noqa: A002
    """Shows where the time of a step goes; `filter` selects launches: `laptime.profile("op = matmul", model="small")`."""
    return _lines_of("profile", [filter], options, progress, _reports)


def memory(*, progress: bool = True, **options: Option) -> Reports:
    """Shows what a step uses memory for."""
    return _lines_of("memory", [], options, progress, _reports)


def plan(**options: Option) -> Reports:
    """Predicts time and bytes of a step without running it."""
    return _lines_of("plan", [], options, False, _reports)


def compare(a: str | os.PathLike[str] = "", b: str | os.PathLike[str] = "", *, progress: bool = True,
            **options: Option) -> Reports:
    """Measures two points in turn, or compares two files of records: `laptime.compare(mode=["eager", "compile"])`.

    The table `phases` has the ratio of each phase with its interval and a verdict. Issues a `LaptimeWarning` if no point
    of two files can be compared and, with `fail_above`, if the result is slower or cannot be judged.
    """
    return _lines_of("compare", (a, b), options, progress, _reports)


def report(filter: str = "", *, html: str | os.PathLike[str] | None = None, progress: bool = True,  # noqa: A002
           **options: Option) -> Page:
    """Makes a page with charts of stored records or of a sweep, in the file `html` (default: a temporary one)."""
    if html is None:
        descriptor, html = tempfile.mkstemp(prefix="laptime_", suffix=".html")
        os.close(descriptor)
    with Progress(progress) as shown:
        program.output_of(_words("report", [filter], {"html": html, **options}), shown)
    return Page(os.fspath(html))


def export(format: str, filter: str = "", **options: Option) -> Exported:  # noqa: A002
    """Returns stored records and traces in the format of another tool: `laptime.export("trace").write("step.json")`."""
    _reject_own("export", options)
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "export")
        program.output_of(_words("export", [format, filter], {"output_file": file, **options}))
        with open(file, "rb") as content:
            return Exported(format, content.read())


def explain(**options: Option) -> str:
    """Describes as text what `bench` would run: parameters, FLOPs, bytes, passes, kernels."""
    return run("explain", **options)


def run(command: str, *arguments: str, **options: Option) -> str:
    """Runs any command and returns what it prints: `laptime.run("list", "models")`.

    Raises:
        Error: the program does not exit with 0.
    """
    return _printed([command, *words_of(options), *arguments])


def options(command: str = "bench") -> dict[str, str]:
    """Returns the options of a command, named as keywords, each with its help text."""
    found = {}
    for line in _printed(["completion", "words", "--", command, "--"]).splitlines():
        flag, _, meaning = line.partition("\t")
        name = flag.removeprefix("--").replace("-", "_")
        found[f"{name}_" if keyword.iskeyword(name) else name] = meaning
    found.pop("help", None)
    return found


def version() -> str:
    """Returns the program's version, commit and libraries."""
    return _printed(["--version"])
