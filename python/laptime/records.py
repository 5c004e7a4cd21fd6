"""Results of commands: records (one row each), reports (findings and tables for each point), pages and files."""

from __future__ import annotations

import csv
import html
import io
import json
import math
import os
import pickle
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, overload

from laptime.program import Error

if TYPE_CHECKING:
    import pandas


def _frame(rows: Iterable[dict[str, Any]]) -> pandas.DataFrame:
    try:
        import pandas
    except ImportError as error:
        raise ImportError("to_pandas() needs pandas: pip install pandas") from error
    return pandas.json_normalize(list(rows))


def _html_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    def line(cells: Sequence[str], tag: str) -> str:
        return "<tr>" + "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in cells) + "</tr>"

    return f"<table><thead>{line(header, 'th')}</thead><tbody>{''.join(line(row, 'td') for row in rows)}</tbody></table>"


def _cell(value: Any) -> str:
    """A value as text in a table: empty for None, four significant digits for a float."""
    if value is None:
        return ""
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _seconds(seconds: float) -> str:
    for factor, unit in ((1, "s"), (1e-3, "ms"), (1e-6, "us")):
        if seconds >= factor:
            return f"{seconds / factor:.4g} {unit}"
    return f"{seconds / 1e-9:.4g} ns"


def _bytes(count: float) -> str:
    for factor, unit in ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB")):
        if count >= factor:
            return f"{count / factor:.3g} {unit}"
    return f"{count:.0f} B"


def _uncertainty(record: dict[str, Any]) -> float:
    """Longer side of the median's 95 % interval as a fraction of the median; for 2 to 5 samples, half of the mean's
    interval by Student's t as a fraction of the mean; 1 for a single sample; 0 for a prediction."""
    seconds, low, high = (record.get(key) for key in ("median_s", "ci_low_s", "ci_high_s"))
    if seconds and low is not None and high is not None:
        return max(high - seconds, seconds - low) / seconds
    if record.get("predicted"):
        return 0
    count, mean, std = (record.get(key) for key in ("count", "mean_s", "std_s"))
    if not mean or std is None or count not in (2, 3, 4, 5):
        return 1
    return {2: 12.71, 3: 4.30, 4: 3.18, 5: 2.78}[count] * std / math.sqrt(count) / mean


def _ratio(slower: dict[str, Any], faster: dict[str, Any]) -> str:
    """The speed-up with its 95 % interval by the delta method: "1.9x (1.8-2.1)"."""
    ratio = slower["median_s"] / faster["median_s"]
    factor = 1 + math.hypot(_uncertainty(slower), _uncertainty(faster))
    if factor == 1:
        return f"{ratio:.2f}x"
    low, high = ratio / factor, ratio * factor
    digits = 2 if high - low < 0.1 else 1 if high - low < 10 else 0
    return f"{ratio:.{digits}f}x ({low:.{digits}f}-{high:.{digits}f})"


def _row(record: Record) -> Record:
    """Adds the columns that `_cells` reads to a whole record (`columns="all"`), which has them under other keys."""
    if not isinstance(record.get("config"), dict):
        return record
    config, memory, times = (record.get(key) or {} for key in ("config", "memory", "time"))
    time = times.get(config.get("pass")) or (next(iter(times.values())) if len(times) == 1 else {})
    keys = ("median",) if record["predicted"] else ("median", "mean", "std", "ci_low", "ci_high")
    return Record({**record, **{f"{key}_s": time.get(key) for key in keys}, "count": time.get("count"),
                   "peak_bytes": memory.get("peak_bytes")})


class Record(dict):
    """One record: values by column name, None for a missing value. A value can be read as `record["median_s"]` or as
    `record.median_s`. A key that is also a method of dict needs brackets: `record.loss["values"]`.

    A whole record (`columns="all"`) also has the key `predicted`.
    """

    def __init__(self, values: Any = ()):
        super().__init__(values)
        if isinstance(config := self.get("config"), dict):
            rating = (self.get("verdict") or {}).get("rating")
            self.setdefault("predicted", rating == "predicted" or str(config.get("device")).startswith("roofline:"))

    def __getattr__(self, name: str) -> Any:
        try:
            value = self[name]
        except KeyError:
            raise AttributeError(f"the record has no {name!r}; its keys are {', '.join(self)}") from None
        return Record(value) if isinstance(value, dict) else value

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self]

    @property
    def is_ok(self) -> bool:
        """Whether the point was measured or predicted. If not, `reason` states why."""
        return self.get("status") == "ok"

    def _cells(self, first: Record | None) -> list[str]:
        """Name, time with interval, ratio to the first record with interval, tokens per second, and peak memory. There is
        no ratio between a prediction and a measurement."""
        name = str(self.get("name") or "") + (" (predicted)" if self.get("predicted") else "")
        seconds = self.get("median_s")
        if not self.is_ok or not seconds:
            return [name, str(self.get("status") or ""), "", "", "", ""]
        low, high = self.get("ci_low_s"), self.get("ci_high_s")
        interval = f"±{_uncertainty(self):.1%}" if low is not None and high is not None else ""
        ratio = ""
        if (first is not None and first is not self and first.is_ok and first.get("median_s")
                and bool(first.get("predicted")) == bool(self.get("predicted"))):
            ratio = _ratio(first, self)
        rate, peak = self.get("tokens_per_second"), self.get("peak_bytes")
        return [name, _seconds(seconds), interval, ratio, f"{rate:,.0f} tokens/s" if rate else "",
                _bytes(peak) if peak else ""]

    def _repr_html_(self) -> str:
        return Records([self])._repr_html_()


class Records(Sequence):
    """Records in the order of the run. Iterate over them, index them, or make a table of them."""

    def __init__(self, records: Iterable[dict[str, Any]] = ()):
        self._records = [record if isinstance(record, Record) else Record(record) for record in records]

    @overload
    def __getitem__(self, index: int) -> Record: ...
    @overload
    def __getitem__(self, index: slice) -> Records: ...
    def __getitem__(self, index):
        return Records(self._records[index]) if isinstance(index, slice) else self._records[index]

    def __len__(self) -> int:
        return len(self._records)

    def __add__(self, other: Iterable[dict[str, Any]]) -> Records:
        return Records([*self._records, *other])

    def to_pandas(self) -> pandas.DataFrame:
        """A row for each record. Keys of whole records (`columns="all"`) are joined by dots."""
        return _frame(self._records)

    def _rows(self) -> list[list[str]]:
        rows = [_row(record) for record in self._records]
        return [row._cells(rows[0]) for row in rows]

    def __repr__(self) -> str:
        lines = [f"{len(self)} record{'' if len(self) == 1 else 's'}"]
        for record, (name, *cells) in zip(self._records, self._rows()):
            shown = "  ".join(cell for cell in cells if cell)
            lines.append("  " + (f"{name}: {shown}" if shown else str(dict(record))))
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        if not all("status" in record for record in self._records):  # rows of a table in a report
            keys = list(dict.fromkeys(key for record in self._records for key in record))
            return _html_table(keys, ([_cell(record.get(key)) for key in keys] for record in self._records))
        header = ["point", "time", "interval", "faster than the first", "rate", "peak memory"]
        rows = self._rows()
        used = [i for i in range(len(header)) if i == 0 or any(row[i] for row in rows)]
        return _html_table([header[i] for i in used], ([row[i] for i in used] for row in rows))


@dataclass(frozen=True)
class Report:
    """The report on one point: findings, each with a kind, a subject and values, and tables by name."""

    name: str
    status: str = "ok"
    reason: str = ""  # the reason if the status is not ok
    findings: list[Record] = field(default_factory=list)
    tables: dict[str, Records] = field(default_factory=dict)

    @staticmethod
    def from_json(line: dict[str, Any]) -> Report:
        """Parses a line of the program's `--output jsonl`."""
        tables = {name: Records(rows) for name, rows in line["tables"].items()}
        return Report(line["name"], line["status"], line["reason"], [Record(one) for one in line["findings"]], tables)

    def finding(self, kind: str, subject: str | None = None) -> Record | None:
        """The first finding of a kind and, if given, of a subject: `report.finding("class_share", "matmul")`."""
        return next((one for one in self.findings
                     if one["kind"] == kind and (subject is None or one.get("subject") == subject)), None)

    def to_pandas(self, table: str | None = None) -> pandas.DataFrame:
        """Like `Reports.to_pandas`, but only for this point."""
        return Reports([self]).to_pandas(table)

    def __repr__(self) -> str:
        sizes = [f"  {name}: {len(rows)} rows" for name, rows in self.tables.items()]
        failed = [] if self.status == "ok" else [f"  {self.status}: {self.reason}"]
        return "\n".join([self.name, *failed, f"  {len(self.findings)} findings", *sizes])

    def _repr_html_(self) -> str:
        return Reports([self])._repr_html_()


class Reports(Sequence):
    """Reports in the order of the run."""

    def __init__(self, reports: Iterable[Report] = ()):
        self._reports = list(reports)

    @overload
    def __getitem__(self, index: int) -> Report: ...
    @overload
    def __getitem__(self, index: slice) -> Reports: ...
    def __getitem__(self, index):
        return Reports(self._reports[index]) if isinstance(index, slice) else self._reports[index]

    def __len__(self) -> int:
        return len(self._reports)

    @property
    def tables(self) -> list[str]:
        """The names of the tables, in the order in which they first appear."""
        return list(dict.fromkeys(name for report in self._reports for name in report.tables))

    def _rows(self, table: str) -> list[dict[str, Any]]:
        return [{"name": report.name, **row} for report in self._reports for row in report.tables.get(table, ())]

    def to_pandas(self, table: str | None = None) -> pandas.DataFrame:
        """The rows of one table (the first, if none is named) of all points; the column `name` identifies the point.

        Without any table, for example if no point could be planned, returns names, statuses and reasons of the points.

        Raises:
            KeyError: no report has a table of this name; the names are in `tables`.
        """
        known = self.tables
        if table is None and not known:
            return _frame({"name": one.name, "status": one.status, "reason": one.reason} for one in self._reports)
        table = known[0] if table is None else table
        if table not in known:
            raise KeyError(f"no table {table!r}; the tables are: {', '.join(known) or 'none'}")
        return _frame(self._rows(table))

    def __repr__(self) -> str:
        return "\n".join(map(repr, self._reports)) or "no reports"

    def _repr_html_(self) -> str:
        parts = []
        for table in self.tables:
            rows = self._rows(table)
            keys = [key for key in dict.fromkeys(key for row in rows for key in row)
                    if key != "name" or len(self._reports) > 1]
            shown = _html_table(keys, ([_cell(row.get(key)) for key in keys] for row in rows))
            parts.append(f"<p>{html.escape(table)}</p>{shown}")
        return "".join(parts) or f"<pre>{html.escape(repr(self))}</pre>"


@dataclass(frozen=True)
class Page:
    """The page of `laptime report` in the file `path`. Notebooks show it."""

    path: str

    @property
    def data(self) -> Record:
        """The data of the page: points, traces, answers."""
        with open(self.path, encoding="utf-8") as file:
            found = re.search(r'<script type="application/json" id="data">(.*?)</script>', file.read(), re.DOTALL)
        assert found is not None
        return Record(json.loads(found.group(1)))

    def to_pandas(self) -> pandas.DataFrame:
        """A row for each point of the page."""
        return _frame(self.data["points"])

    def _repr_html_(self) -> str:
        with open(self.path, encoding="utf-8") as file:
            return f'<iframe srcdoc="{html.escape(file.read())}" width="100%" height="800"></iframe>'


@dataclass(frozen=True)
class Exported:
    """The output of `laptime export`, for another tool."""

    format: str
    content: bytes

    def write(self, path: str | os.PathLike[str]) -> None:
        """Writes the content to a file, replacing an existing one."""
        with open(path, "wb") as file:
            file.write(self.content)

    @property
    def text(self) -> str:
        """The content as text.

        Raises:
            laptime.Error: the format is binary.
        """
        try:
            return self.content.decode("utf-8")
        except UnicodeDecodeError:
            raise Error(f"laptime export {self.format}: the format is binary and has no text; use data or write()") from None

    @property
    def data(self) -> Any:
        """The parsed content: JSON, JSON lines, CSV rows or the snapshot of memory_viz; otherwise, the text."""
        if self.format == "memory_viz":
            return pickle.loads(self.content)
        if self.format == "jsonl":
            return [json.loads(line) for line in self.text.splitlines()]
        if self.format in ("csv", "nsys"):
            return list(csv.DictReader(io.StringIO(self.text)))
        try:
            return json.loads(self.content)
        except ValueError:
            return self.text

    def to_pandas(self) -> pandas.DataFrame:
        """A row for each record, sample, event or line of the format.

        Raises:
            ValueError: the format has no rows of named values; `data` has its content.
        """
        data = self.data
        if isinstance(data, dict):  # Google Benchmark, hyperfine and traces keep the rows under a key
            data = next((data[key] for key in ("benchmarks", "results", "traceEvents") if key in data), None)
        if not isinstance(data, list):
            raise ValueError(f"{self.format} has no rows of named values; read .data instead")
        return _frame(data)
