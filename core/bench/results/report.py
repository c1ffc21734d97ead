"""A benchmark as tables. For each workload: times by size; then, for all sizes, latencies of calls that were
timed one by one, memory, sizes on disk and, if the right answers were not known beforehand, which systems
agreed."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby

from lamella.core.bench.registry import entry_named
from lamella.core.bench.results.compare import (
    AHEAD,
    BEHIND,
    LEVEL,
    Standing,
    shown_standing,
    standing_counts,
    standings,
)
from lamella.core.bench.results.figures import (
    EQUAL_WITHIN,
    ReportTable,
    competitors,
    in_order,
    shown_against,
    shown_bytes,
    shown_rows,
    shown_seconds,
    shown_share,
    unbroken,
    workload_or_none,
    workload_title,
)
from lamella.core.bench.results.records import (
    AGAIN,
    FIRST,
    Group,
    Point,
    Sample,
    Summary,
    by_call,
    by_workload,
    repeats_of,
    summaries,
)
from lamella.core.bench.workloads.model import Check, Operation, Workload
from lamella.core.phrases import sentence_case

NOTHING = "–"


@dataclass(frozen=True)
class GridLine:
    """`cells` are by system; `standing` is that of the subject, if it is shown."""

    label: str
    cells: Mapping[str, str]
    standing: str = ""


@dataclass(frozen=True)
class Grid:
    """`subject` is the system that the others are compared with; `wide` halves the number of columns of a
    table."""

    title: str
    subject: str
    lines: Sequence[GridLine]
    wide: bool = False

    def tables(self, most: int) -> list[ReportTable]:
        """The grid as one table, with a column for each system. With more than `most` systems, it has a row
        for each system instead, in several tables with at most `most` lines of the grid as columns."""
        if not self.lines:
            return []
        beside = most // 2 if self.wide else most
        if len(self._systems) <= beside:
            return [self._across()]
        count = math.ceil(len(self.lines) / beside)
        size = math.ceil(len(self.lines) / count)
        starts = range(0, len(self.lines), size)
        return [self._down(self.lines[start : start + size], start > 0) for start in starts]

    def _across(self) -> ReportTable:
        lines = (
            (line.label, *(cells[at] for cells in self._columns(self.lines).values()))
            for at, line in enumerate(self.lines)
        )
        return ReportTable(self.title, ("", *self._columns(self.lines)), tuple(lines))

    def _down(self, lines: Sequence[GridLine], further: bool) -> ReportTable:
        rows = ((title, *cells) for title, cells in self._columns(lines).items())
        title = f"{self.title}, continued" if further else self.title
        return ReportTable(title, ("", *(line.label for line in lines)), tuple(rows))

    def _columns(self, lines: Sequence[GridLine]) -> dict[str, list[str]]:
        """The cells by their column header, or by their row header."""
        standing = {f"{entry_named(self.subject).title} against the best other": [o.standing for o in lines]}
        systems = {
            entry_named(name).title: [line.cells.get(name, NOTHING) for line in lines]
            for name in self._systems
        }
        return {**(standing if any(line.standing for line in self.lines) else {}), **systems}

    @property
    def _systems(self) -> list[str]:
        return in_order(name for line in self.lines for name in line.cells)


def comparison_cells(
    summaries: Mapping[str, Summary], subject: str, text_of: Callable[[float], str], spread: bool
) -> dict[str, str]:
    """A cell for each system: its median, the spread of its samples, and the comparison with the subject.

    Values within 5 % of the lowest are bold.
    """
    least = min((times.median for times in summaries.values() if times.median > 0), default=0.0)
    best = {name for name, times in summaries.items() if 0 < times.median < least * EQUAL_WITHIN}
    reference = summaries[subject].median if subject in summaries else 0.0
    cells = {}
    for name, summary in summaries.items():
        value = unbroken(text_of(summary.median))
        parts = [f"**{value}**" if name in best and len(summaries) > 1 else value]
        if spread and summary.count > 1 and summary.median > 0:
            parts.append(f"±{summary.deviation / summary.median:,.0%}")
        if name != subject and reference > 0 and summary.median > 0:
            parts.append(unbroken(shown_against(reference / summary.median)))
        cells[name] = " ".join(parts)
    return cells


def agreement_tables(workload: Workload, records: Sequence[Sample], before: str = "") -> list[ReportTable]:
    """A table of the systems that agreed; none if answers were known beforehand. Answers that differ are
    failures, and not among `records`."""
    agreements = _agreements(workload, points_of(records)) if workload.check is Check.AGREED else {}
    lines = tuple(
        (words, "all" if len(agreements) == 1 else "; ".join(titles)) for words, titles in agreements.items()
    )
    title = f"{before}Answers, none of which was known beforehand"
    return [ReportTable(title, ("answers", "operations"), lines)] if lines else []


def points_of(records: Iterable[Sample]) -> set[Point]:
    return {(record.operation, record.system, record.rows) for record in records}


def shown_check(workload: Workload, points: Iterable[Point]) -> str:
    """A sentence on how the answers were checked, or will be checked if there are none yet."""
    points = set(points)
    if points and workload.check is not Check.AGREED:
        return f"Every timed answer equals the right one, {workload.check.value}."
    agreements = _agreements(workload, points)
    if not agreements:
        return workload.check.sentence
    if len(agreements) == 1:
        return f"The right answers were not known beforehand; they are {next(iter(agreements))}."
    parts = (f"{words}: {', '.join(titles)}" for words, titles in agreements.items())
    return f"The right answers were not known beforehand. {sentence_case('; '.join(parts))}."


def _agreements(workload: Workload, points: Iterable[Point]) -> dict[str, list[str]]:
    """The titles of operations by the systems that agreed, at the size with the fewest."""
    answered: dict[str, dict[int, set[str]]] = {}
    for operation, system, rows in points:
        answered.setdefault(operation, {}).setdefault(rows, set()).add(system)
    agreements: dict[str, list[str]] = {}
    for step in workload.operations:
        if step.id in answered:
            agreements.setdefault(_words(min(answered[step.id].values(), key=len)), []).append(step.title)
    return agreements


def _words(systems: set[str]) -> str:
    titles = [entry_named(name).title for name in in_order(systems)]
    if len(titles) == 1:
        return f"from {titles[0]} alone, with nothing to check against"
    return f"agreed by {len(titles)} systems"


def overview_table(records: Sequence[Sample]) -> ReportTable:
    """A table of the standings by workload and size; empty if no two systems were measured together."""
    header = ("workload", "rows", "system", "ahead", "level", "behind", "furthest behind", "furthest ahead")
    lines = (
        _line(name, rows, list(group_standings))
        for name, group in by_workload(records).items()
        for rows, group_standings in groupby(sorted(standings(group), key=_rows), key=_rows)
    )
    return ReportTable("Against the best of the others", header, tuple(lines))


def _line(name: str, rows: int, standings: Sequence[Standing]) -> tuple[str, ...]:
    counts = (
        f"{sum(standing.verdict == verdict for standing in standings):,}"
        for verdict in (AHEAD, LEVEL, BEHIND)
    )
    return (
        _link(workload_title(name)),
        f"{rows:,}",
        entry_named(standings[0].subject).title,
        *counts,
        _furthest(standings, BEHIND, min),
        _furthest(standings, AHEAD, max),
    )


def _furthest(standings: Iterable[Standing], verdict: str, most: Callable[..., Standing]) -> str:
    such = [standing for standing in standings if standing.verdict == verdict]
    if not such:
        return "–"
    example = most(such, key=lambda example: example.factor)
    against = unbroken(shown_share(1 / example.factor))
    return f"{example.title} {against} {entry_named(example.rival).title}"


def _rows(standing: Standing) -> int:
    return standing.rows


def _link(title: str) -> str:
    """A link to the heading of that name, with GitHub's form of anchors."""
    anchor = re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")
    return f"[{title}](#{anchor})"


PAGE_COLUMNS, TERMINAL_COLUMNS = 8, 4
"""With more systems than these, each has a row instead of a column."""

SIGNS = (
    "Beside a time: ± is the standard deviation, as a share of the median; ÷ 3.1 means that Lamella (or, if\n"
    "missing, the first system) takes that time divided by 3.1, × 2.0 twice that time, ≈ within 5 % of it."
)


def report_tables(
    records: Sequence[Sample], most: int = PAGE_COLUMNS, placed: bool = True
) -> list[ReportTable]:
    """The tables of all workloads, with at most `most` columns of systems. Empty if there are no records.

    `placed` adds to each line the place of Lamella, and its comparison with the best other system.
    """
    groups = by_workload(records)
    reports = (
        _WorkloadReport(workload, group, len(groups) > 1, placed)
        for name, group in groups.items()
        if (workload := workload_or_none(name)) is not None
    )
    return [table for report in reports for table in report.tables(most)]


def text_report(records: Sequence[Sample]) -> str:
    """The report as text; empty if there are no records."""
    reports = report_tables(records, TERMINAL_COLUMNS, placed=False)
    groups = by_workload(records)
    checks = [_check_line(name, group, len(groups) > 1) for name, group in groups.items()]
    tables = [*(table.as_text() for table in reports), "\n".join(checks), SIGNS if reports else ""]
    return "\n\n".join(filter(None, tables))


def _check_line(name: str, records: Sequence[Sample], titled: bool) -> str:
    workload = workload_or_none(name)
    if workload is None:
        return f"{name}: this version does not know the workload, so it has no tables."
    return (f"{workload.title}: " if titled else "") + shown_check(workload, points_of(records))


@dataclass(frozen=True)
class _Call:
    """An operation, or its first or later calls, with its samples."""

    operation: Operation
    call: str
    records: Sequence[Sample]

    @property
    def title(self) -> str:
        return f"{self.operation.title}, {self.call}" if self.call else self.operation.title

    @cached_property
    def times(self) -> dict[int, dict[str, Summary]]:
        return self.by_size("seconds")

    def by_size(self, quantity: str) -> dict[int, dict[str, Summary]]:
        summaries_by_size: dict[int, dict[str, Summary]] = {}
        for (_, system, rows), summary in sorted(summaries(self.records, quantity=quantity).items()):
            summaries_by_size.setdefault(rows, {})[system] = summary
        return summaries_by_size


@dataclass(frozen=True)
class _WorkloadReport:
    """The records of one workload."""

    workload: Workload
    records: Sequence[Sample]
    titled: bool
    placed: bool

    @cached_property
    def calls(self) -> list[_Call]:
        """The calls in the workload's order, the first call of a question before the later ones."""
        groups = by_call(self.records)
        return [
            _Call(operation, call, groups[operation.id, call])
            for operation in self.workload.operations
            for call in ("", FIRST, AGAIN)
            if (operation.id, call) in groups
        ]

    def tables(self, most: int) -> list[ReportTable]:
        grids = [*self._times(), self._latencies(), self._memory(), self._sizes()]
        tables = [table for grid in grids for table in grid.tables(most)]
        return [*tables, *agreement_tables(self.workload, self.records, self._before)]

    def _times(self) -> Iterator[Grid]:
        all_standings = standings(self.records)
        for rows in self._rows:
            standings_by_call = {
                (standing.operation.id, standing.call): standing
                for standing in all_standings
                if standing.rows == rows
            }
            lines = [self._time(call, rows, standings_by_call) for call in self.calls if rows in call.times]
            repeats = repeats_of(record for record in self.records if record.rows == rows)
            repeats_text = f"{repeats:,} repeats" if repeats > 1 else "1 repeat"
            standing_text = f". {standing_counts(standings_by_call.values())}" if standings_by_call else ""
            yield self._grid(f"Times at {shown_rows(rows)}, {repeats_text}{standing_text}", lines)

    def _time(self, call: _Call, rows: int, standings_of: Mapping[Group, Standing]) -> GridLine:
        cells = comparison_cells(call.times[rows], self._subject, shown_seconds, spread=True)
        standing = standings_of.get((call.operation.id, call.call))
        return GridLine(call.title, cells, shown_standing(standing) if standing and self.placed else "")

    def _latencies(self) -> Grid:
        title = "Calls timed one by one: p50 / p95 / p99, and calls per second by the mean"
        timed_calls = [call for call in self.calls if any(record.many_calls for record in call.records)]
        lines = [
            GridLine(
                f"{call.title}{self._at(rows)}, {_call_count(summaries_of)}",
                {name: _percentiles(summary) for name, summary in summaries_of.items()},
            )
            for call in timed_calls
            for rows, summaries_of in call.times.items()
        ]
        return self._grid(title, lines, wide=True)

    def _memory(self) -> Grid:
        with_memory = [call for call in self.calls if call.operation.holds]
        return self._bytes("Peak memory (medians)", "peak_rss_bytes", with_memory)

    def _sizes(self) -> Grid:
        """The sizes on disk, after the later calls of an operation if these are distinguished."""
        last_calls = {call.operation.id: call for call in self.calls if call.operation.resizes}
        return self._bytes("Size on disk (medians)", "disk_bytes", list(last_calls.values()), "after ")

    def _bytes(self, title: str, quantity: str, calls: Sequence[_Call], before: str = "") -> Grid:
        lines = [
            GridLine(
                f"{before}{call.title}{self._at(rows)}",
                comparison_cells(summaries_of, self._subject, shown_bytes, spread=False),
            )
            for call in calls
            for rows, summaries_of in call.by_size(quantity).items()
        ]
        return self._grid(title, lines)

    def _grid(self, title: str, lines: Sequence[GridLine], wide: bool = False) -> Grid:
        return Grid(f"{self._before}{title}", self._subject, lines, wide)

    def _at(self, rows: int) -> str:
        """The size as a suffix, if there are several sizes."""
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


def _call_count(summaries_of: Mapping[str, Summary]) -> str:
    """The number of calls, as a range if systems differ."""
    counts = sorted({summary.count for summary in summaries_of.values()})
    return f"{'–'.join(f'{count:,}' for count in dict.fromkeys((counts[0], counts[-1])))} calls"


def _percentiles(summary: Summary) -> str:
    times = (unbroken(shown_seconds(summary.percentile(percent))) for percent in (50, 95, 99))
    a_second = f"{1 / summary.mean:,.0f}/s" if summary.mean > 0 else NOTHING
    return f"{' / '.join(times)}, {a_second}"
