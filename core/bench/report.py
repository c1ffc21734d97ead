"""A race as tables: one per operation, a column per system, each against the first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from core.bench.backends import entry_named
from core.bench.ratios import Ratio, competitors, ratios, shown_bytes, shown_seconds
from core.bench.results import STATISTICS, Record, Summary, summaries
from core.bench.workloads import Operation, workload_named

MANY = 50
"""Samples from which on the slowest hundredth says more than a deviation."""


@dataclass(frozen=True)
class ReportTable:
    """Text alone; the header names the systems."""

    title: str
    header: tuple[str, ...]
    lines: tuple[tuple[str, ...], ...]

    def as_text(self) -> str:
        widths = [max(map(len, column)) for column in zip(self.header, *self.lines, strict=True)]
        return "\n".join([self.title, *(_aligned(line, widths) for line in (self.header, *self.lines))])

    def as_markdown(self) -> str:
        ruler = "|" + "---:|" * len(self.header)
        return "\n".join([f"**{self.title}**", "", _piped(self.header), ruler, *map(_piped, self.lines)])


def report_tables(records: Sequence[Record], statistic: str = "median") -> list[ReportTable]:
    """Times, then sizes on disk. All records are of one workload; none for no records."""
    if not records:
        return []
    known = workload_named(records[0].workload).operations
    measured = [operation for operation in known if any(r.operation == operation.id for r in records)]
    maker = _Maker(records, statistic)
    times = [maker.times(operation) for operation in measured]
    return times + [maker.sizes(operation) for operation in measured if operation.resizes]


def text_report(records: Sequence[Record], statistic: str = "median") -> str:
    """All records are of one workload; empty text for none."""
    return "\n\n".join(table.as_text() for table in report_tables(records, statistic))


class _Maker:
    def __init__(self, records: Sequence[Record], statistic: str) -> None:
        self.statistic = statistic
        self.names = competitors(records)
        self.rows = sorted({record.rows for record in records})
        self.points = summaries(records)
        self.disk = summaries(records, quantity="disk_bytes")
        self.ratios = {(r.operation.id, r.rival, r.rows): r for r in ratios(records, statistic)}

    def times(self, operation: Operation) -> ReportTable:
        cells = [[self._time(operation, name, rows) for name in self.names] for rows in self.rows]
        return self._table(f"{operation.title} ({self.statistic})", cells)

    def sizes(self, operation: Operation) -> ReportTable:
        cells = [[self._size(operation, name, rows) for name in self.names] for rows in self.rows]
        return self._table(f"Size on disk after: {operation.title} (median)", cells)

    def _table(self, title: str, cells: list[list[str]]) -> ReportTable:
        header = ("rows", *(entry_named(name).title for name in self.names))
        lines = tuple((f"{rows:,}", *line) for rows, line in zip(self.rows, cells, strict=True))
        return ReportTable(title, header, lines)

    def _time(self, operation: Operation, name: str, rows: int) -> str:
        summary = self.points.get((operation.id, name, rows))
        if summary is None:
            return "–"
        ratio = self.ratios.get((operation.id, entry_named(name).title, rows))
        return _with_spread(summary, self.statistic) + (f"  {_against(ratio)}" if ratio else "")

    def _size(self, operation: Operation, name: str, rows: int) -> str:
        summary = self.disk.get((operation.id, name, rows))
        return shown_bytes(summary.median) if summary else "–"


def _with_spread(summary: Summary, statistic: str) -> str:
    shown = shown_seconds(STATISTICS[statistic](summary))
    if len(summary.samples) >= MANY:
        return f"{shown}, p99 {shown_seconds(summary.percentile(99))}"
    return f"{shown} ± {shown_seconds(summary.deviation)}" if len(summary.samples) > 1 else shown


def _against(ratio: Ratio) -> str:
    """How this system did against the subject: the factor is the subject's advantage."""
    return f"[{ratio.subject} {ratio.verdict}]"


def _aligned(line: Sequence[str], widths: Sequence[int]) -> str:
    return "  " + "   ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True))


def _piped(line: Sequence[str]) -> str:
    return f"| {' | '.join(line)} |"
