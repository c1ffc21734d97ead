"""A race as tables: times by system and size, latencies where there are many, sizes on disk.

A question's first call and its later ones are two tables. Where no right answer was known beforehand, the
last one says who agreed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from core.bench.agreement import agreement_tables
from core.bench.backends import entry_named
from core.bench.calls import by_call, by_workload
from core.bench.ratios import Ratio, competitors, ratios, shown_bytes, shown_rows, shown_seconds
from core.bench.report_table import ReportTable
from core.bench.results import STATISTICS, Point, Record, Summary, summaries
from core.bench.workloads import Operation, workload_named

MANY_SYSTEMS = 4
"""More than these do not stand beside each other but below."""

NOTHING = "–"

__all__ = ["ReportTable", "report_tables", "text_report"]


def report_tables(records: Sequence[Record], statistic: str = "median") -> list[ReportTable]:
    """Workload by workload: times, latencies, sizes on disk, then who agreed. None for no records."""
    groups = by_workload(records)
    several = len(groups) > 1
    return [
        table for name, group in groups.items() for table in _of_workload(name, group, statistic, several)
    ]


def text_report(records: Sequence[Record], statistic: str = "median") -> str:
    """Empty for no records."""
    return "\n\n".join(table.as_text() for table in report_tables(records, statistic))


def _of_workload(name: str, records: Sequence[Record], statistic: str, titled: bool) -> list[ReportTable]:
    workload = workload_named(name)
    before = f"{workload.title}: " if titled else ""
    groups = by_call(records)
    told = [
        _Told(operation, call, groups[key], competitors(records), statistic, before)
        for operation in workload.operations
        for key in groups
        for _, call in [key]
        if key[0] == operation.id
    ]
    sizes = {one.operation.id: one.sizes() for one in told if one.operation.resizes}
    memory = [one.memory() for one in told if one.operation.holds]
    times = (table for one in told for table in one.times())
    return [*memory, *times, *sizes.values(), *agreement_tables(workload, records, before)]


@dataclass(frozen=True)
class _Told:
    """One operation, or its first or its later calls."""

    operation: Operation
    call: str
    records: Sequence[Record]
    names: Sequence[str]
    statistic: str
    before: str
    points: dict[Point, Summary] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "points", summaries(self.records))

    def times(self) -> list[ReportTable]:
        title = f"{self.before}{self.title} ({self.statistic})"
        found = {(ratio.rival, ratio.rows): ratio for ratio in ratios(self.records, self.statistic)}
        table = self._table(title, lambda name, rows: self._time(name, rows, found))
        many = any(record.latencies for record in self.records)
        return [table, self._latencies()] if many else [table]

    def sizes(self) -> ReportTable:
        return self._bytes("disk_bytes", f"Size on disk after: {self.operation.title}")

    def memory(self) -> ReportTable:
        return self._bytes("peak_rss_bytes", f"Memory: {self.operation.title}")

    def _bytes(self, quantity: str, title: str) -> ReportTable:
        found = summaries(self.records, quantity=quantity)

        def shown(name: str, rows: int) -> str:
            summary = found.get((self.operation.id, name, rows))
            return shown_bytes(summary.median) if summary else NOTHING

        return self._table(f"{self.before}{title} (median)", shown)

    @property
    def title(self) -> str:
        return f"{self.operation.title}, {self.call}" if self.call else self.operation.title

    @property
    def rows(self) -> list[int]:
        return sorted({record.rows for record in self.records})

    def _latencies(self) -> ReportTable:
        """One line for each system and size, since six numbers do not fit one cell."""
        header = ("rows", "system", "samples", "mean", "p50", "p95", "p99", "per second")
        lines = tuple(
            (f"{rows:,}", entry_named(name).title, *_spread_out(self.points[self.operation.id, name, rows]))
            for rows in self.rows
            for name in self.names
            if (self.operation.id, name, rows) in self.points
        )
        return ReportTable(f"{self.before}Latencies: {self.title}", header, lines)

    def _table(self, title: str, cell: Callable[[str, int], str]) -> ReportTable:
        titles = [entry_named(name).title for name in self.names]
        if len(self.names) <= MANY_SYSTEMS:
            lines = tuple((f"{rows:,}", *(cell(name, rows) for name in self.names)) for rows in self.rows)
            return ReportTable(title, ("rows", *titles), lines)
        header = ("system", *map(shown_rows, self.rows))
        told = zip(titles, self.names, strict=True)
        return ReportTable(
            title, header, tuple((shown, *(cell(name, rows) for rows in self.rows)) for shown, name in told)
        )

    def _time(self, name: str, rows: int, found: dict[tuple[str, int], Ratio]) -> str:
        summary = self.points.get((self.operation.id, name, rows))
        if summary is None:
            return NOTHING
        ratio = found.get((entry_named(name).title, rows))
        return _with_spread(summary, self.statistic) + (f"  {_against(ratio)}" if ratio else "")


def _with_spread(summary: Summary, statistic: str) -> str:
    shown = shown_seconds(STATISTICS[statistic](summary))
    return f"{shown} ± {shown_seconds(summary.deviation)}" if len(summary.samples) > 1 else shown


def _spread_out(summary: Summary) -> tuple[str, ...]:
    seconds = (summary.mean, *(summary.percentile(percent) for percent in (50, 95, 99)))
    a_second = f"{1 / summary.mean:,.0f}" if summary.mean > 0 else NOTHING
    return (f"{len(summary.samples):,}", *map(shown_seconds, seconds), a_second)


def _against(ratio: Ratio) -> str:
    """How this system did against the subject: the factor is the subject's advantage."""
    return f"[{ratio.subject} {ratio.verdict}]"
