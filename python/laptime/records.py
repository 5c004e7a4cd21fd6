"""What commands give: records, a row each, and reports, which are tables for each point."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, overload

if TYPE_CHECKING:
    import pandas

# One run: names of columns with their values; None where it has no value.
Record = dict[str, Any]


def _frame(rows: Iterable[dict[str, Any]]) -> pandas.DataFrame:
    try:
        import pandas
    except ImportError as error:
        raise ImportError("to_pandas() needs pandas: pip install pandas") from error
    return pandas.json_normalize(list(rows))


class Records(Sequence):
    """Records in the order of the run. Iterate over them, index them, or make a table of them."""

    def __init__(self, records: Iterable[Record] = ()):
        self._records = list(records)

    @overload
    def __getitem__(self, index: int) -> Record: ...
    @overload
    def __getitem__(self, index: slice) -> Records: ...
    def __getitem__(self, index):
        return Records(self._records[index]) if isinstance(index, slice) else self._records[index]

    def __len__(self) -> int:
        return len(self._records)

    def __add__(self, other: Iterable[Record]) -> Records:
        return Records([*self._records, *other])

    def to_pandas(self) -> pandas.DataFrame:
        """A row for each record. Keys of whole records (`columns="all"`) are joined by dots."""
        return _frame(self._records)

    def __repr__(self) -> str:
        lines = [f"{len(self)} record{'' if len(self) == 1 else 's'}"]
        for record in self._records:
            seconds = record.get("median_s")
            shown = f"{seconds * 1e3:.4g} ms" if record.get("status") == "ok" and seconds else record.get("status")
            lines.append("  " + (f"{record.get('name')}: {shown}" if shown else str(record)))
        return "\n".join(lines)


@dataclass(frozen=True)
class Report:
    """One point: findings, values by kind and subject, and tables by name."""

    name: str
    status: str = "ok"
    reason: str = ""  # why the status is not ok
    findings: list[dict[str, Any]] = field(default_factory=list)
    tables: dict[str, Records] = field(default_factory=dict)

    @staticmethod
    def from_json(line: dict[str, Any]) -> Report:
        """From a line of the program's `--output jsonl`."""
        tables = {name: Records(rows) for name, rows in line["tables"].items()}
        return Report(line["name"], line["status"], line["reason"], line["findings"], tables)

    def finding(self, kind: str, subject: str | None = None) -> dict[str, Any] | None:
        """The first finding of a kind and, where it is given, of a subject: `report.finding("class_share", "matmul")`."""
        return next((one for one in self.findings
                     if one["kind"] == kind and (subject is None or one.get("subject") == subject)), None)

    def __repr__(self) -> str:
        sizes = [f"  {name}: {len(rows)} rows" for name, rows in self.tables.items()]
        failed = [] if self.status == "ok" else [f"  {self.status}: {self.reason}"]
        return "\n".join([self.name, *failed, f"  {len(self.findings)} findings", *sizes])


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

    def to_pandas(self, table: str | None = None) -> pandas.DataFrame:
        """The rows of one table (the first, if none is named) of all points; the column `name` says of which.

        Raises:
            KeyError: no report has a table of this name; the names are in `tables`.
        """
        known = self.tables
        if table is None and known:
            table = known[0]
        if table not in known:
            raise KeyError(f"no table {table!r}; there are {', '.join(known) or 'none'}")
        return _frame({"name": report.name, **row} for report in self._reports for row in report.tables.get(table, ()))

    def __repr__(self) -> str:
        return "\n".join(map(repr, self._reports)) or "no reports"
