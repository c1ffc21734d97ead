"""A race as tables. Of each workload: times by size, then once for all sizes latencies where calls were timed
one by one, memory, sizes on disk, and where no right answer was known beforehand who agreed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from lamella.core.bench.agreement import agreement_tables
from lamella.core.bench.calls import AGAIN, FIRST, Group, by_call, by_workload
from lamella.core.bench.grid import NOTHING, Grid, GridLine, compared
from lamella.core.bench.ratios import competitors, shown_bytes, shown_rows, shown_seconds
from lamella.core.bench.report_table import ReportTable, unbroken
from lamella.core.bench.results import Record, Summary, summaries
from lamella.core.bench.standings import Standing, shown_standing, standings, tally_of
from lamella.core.bench.workloads import Operation, Workload, workload_named

PAGE_COLUMNS, TERMINAL_COLUMNS = 8, 4
"""More systems than these stand below each other."""

SIGNS = (
    "Beside a time: ± is the standard deviation, as a share of the median; ÷ 3.1 says that Lamella (or else\n"
    "the first system) takes that time divided by 3.1, × 2.0 twice that time, ≈ that they are within 5 %."
)

__all__ = ["ReportTable", "report_tables", "text_report"]


def report_tables(
    records: Sequence[Record], most: int = PAGE_COLUMNS, placed: bool = True
) -> list[ReportTable]:
    """Workload by workload, with at most so many systems beside each other. None for no records.

    `placed` says in each line which place Lamella has, and how it did against the best other.
    """
    groups = by_workload(records)
    told = (_Told(workload_named(name), group, len(groups) > 1, placed) for name, group in groups.items())
    return [table for one in told for table in one.tables(most)]


def text_report(records: Sequence[Record]) -> str:
    """Empty for no records."""
    found = report_tables(records, TERMINAL_COLUMNS, placed=False)
    return "\n\n".join([*(table.as_text() for table in found), SIGNS]) if found else ""


@dataclass(frozen=True)
class _Call:
    """An operation, or its first or its later calls, with its samples by size and system."""

    operation: Operation
    call: str
    records: Sequence[Record]

    @property
    def title(self) -> str:
        return f"{self.operation.title}, {self.call}" if self.call else self.operation.title

    @cached_property
    def times(self) -> dict[int, dict[str, Summary]]:
        return self.by_size("seconds")

    def by_size(self, quantity: str) -> dict[int, dict[str, Summary]]:
        found: dict[int, dict[str, Summary]] = {}
        for (_, backend, rows), summary in sorted(summaries(self.records, quantity=quantity).items()):
            found.setdefault(rows, {})[backend] = summary
        return found


@dataclass(frozen=True)
class _Told:
    """The records of one workload."""

    workload: Workload
    records: Sequence[Record]
    titled: bool
    placed: bool

    @cached_property
    def calls(self) -> list[_Call]:
        """In the workload's order, the first call of a question before the later ones."""
        groups = by_call(self.records)
        return [
            _Call(operation, call, groups[operation.id, call])
            for operation in self.workload.operations
            for call in ("", FIRST, AGAIN)
            if (operation.id, call) in groups
        ]

    def tables(self, most: int) -> list[ReportTable]:
        grids = [*self._times(), self._latencies(), self._memory(), self._sizes()]
        shown = [table for grid in grids for table in grid.tables(most)]
        return [*shown, *agreement_tables(self.workload, self.records, self._before)]

    def _times(self) -> Iterator[Grid]:
        found = standings(self.records)
        for rows in self._rows:
            here = {(one.operation.id, one.call): one for one in found if one.rows == rows}
            lines = [self._time(one, rows, here) for one in self.calls if rows in one.times]
            repeats = len({record.repeat for record in self.records if record.rows == rows})
            counted = f"{repeats:,} repeats" if repeats > 1 else "1 repeat"
            told = f". {tally_of(here.values())}" if here else ""
            yield self._grid(f"Times at {shown_rows(rows)}, {counted}{told}", lines)

    def _time(self, call: _Call, rows: int, found: Mapping[Group, Standing]) -> GridLine:
        cells = compared(call.times[rows], self._subject, shown_seconds, spread=True)
        standing = found.get((call.operation.id, call.call))
        return GridLine(call.title, cells, shown_standing(standing) if standing and self.placed else "")

    def _latencies(self) -> Grid:
        title = "Calls timed one by one: p50 / p95 / p99, and how many a second at the mean"
        asked = [call for call in self.calls if any(record.latencies for record in call.records)]
        lines = [
            GridLine(
                f"{call.title}{self._at(rows)}, {_counted(found)}",
                {name: _percentiles(summary) for name, summary in found.items()},
            )
            for call in asked
            for rows, found in call.times.items()
        ]
        return self._grid(title, lines, wide=True)

    def _memory(self) -> Grid:
        held = [call for call in self.calls if call.operation.holds]
        return self._bytes("Peak memory (medians)", "peak_rss_bytes", held)

    def _sizes(self) -> Grid:
        """The later calls of an operation count, where they are told apart."""
        left = {call.operation.id: call for call in self.calls if call.operation.resizes}
        return self._bytes("Size on disk (medians)", "disk_bytes", list(left.values()), "after ")

    def _bytes(self, title: str, quantity: str, calls: Sequence[_Call], before: str = "") -> Grid:
        lines = [
            GridLine(
                f"{before}{call.title}{self._at(rows)}",
                compared(found, self._subject, shown_bytes, spread=False),
            )
            for call in calls
            for rows, found in call.by_size(quantity).items()
        ]
        return self._grid(title, lines)

    def _grid(self, title: str, lines: Sequence[GridLine], wide: bool = False) -> Grid:
        return Grid(f"{self._before}{title}", self._subject, lines, wide)

    def _at(self, rows: int) -> str:
        """Needless where all is of one size."""
        return f", {shown_rows(rows)}" if len(self._rows) > 1 else ""

    @property
    def _rows(self) -> list[int]:
        return sorted({record.rows for record in self.records})

    @property
    def _before(self) -> str:
        return f"{self.workload.title}: " if self.titled else ""

    @property
    def _subject(self) -> str:
        return competitors(self.records)[0]


def _counted(found: Mapping[str, Summary]) -> str:
    """How many calls; the fewest and the most, where systems differ."""
    counts = sorted({len(summary.samples) for summary in found.values()})
    return f"{'–'.join(f'{count:,}' for count in dict.fromkeys((counts[0], counts[-1])))} calls"


def _percentiles(summary: Summary) -> str:
    times = (unbroken(shown_seconds(summary.percentile(percent))) for percent in (50, 95, 99))
    a_second = f"{1 / summary.mean:,.0f}/s" if summary.mean > 0 else NOTHING
    return f"{' / '.join(times)}, {a_second}"
