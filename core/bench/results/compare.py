"""Compares systems with each other, and two benchmarks of the same things: which was faster, and by how much.

Two benchmarks differ where they have at least three samples each, the middle halves of the samples (from the
25th to the 75th percentile) do not overlap, and the medians are more than 5% apart."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from lamella.core.bench.registry import entry_named, workload_named
from lamella.core.bench.results.figures import (
    EQUAL_WITHIN,
    ReportTable,
    competitors,
    in_order,
    operation_title,
    shown_against,
    shown_factor,
    shown_rows,
    shown_seconds,
    unbroken,
    workload_or_none,
    workload_title,
)
from lamella.core.bench.results.records import (
    STATISTICS,
    Point,
    Sample,
    Summary,
    by_call,
    by_workload,
    spread,
    summaries,
)
from lamella.core.bench.workloads.model import Operation, Workload

PLURALS = {"median": "medians", "mean": "means", "lowest": "lowest"}


LEAST_SECONDS = 1e-9
"""Less than clocks can measure: saved times may be 0."""


def quotient(seconds: float, by: float) -> float:
    return max(seconds, LEAST_SECONDS) / max(by, LEAST_SECONDS)


@dataclass(frozen=True)
class Ratio:
    """One system against another at one point; a `factor` above 1 means that the subject was faster."""

    operation: Operation
    rows: int
    subject: str
    rival: str
    subject_seconds: float
    rival_seconds: float
    statistic: str
    samples: int

    @property
    def factor(self) -> float:
        return quotient(self.rival_seconds, self.subject_seconds)

    @property
    def verdict(self) -> str:
        """The comparison in words: "52 × faster", "1.4 × slower" or "as fast"."""
        slower = self.factor < 1
        times = 1 / self.factor if slower else self.factor
        if times < EQUAL_WITHIN:
            return "as fast"
        return f"{shown_factor(times)} × {'slower' if slower else 'faster'}"

    @property
    def sentence(self) -> str:
        does = self.operation.sentence.format(rows=shown_rows(self.rows))
        conjunction = "as" if self.verdict == "as fast" else "than"
        times = f"{shown_seconds(self.subject_seconds)} against {shown_seconds(self.rival_seconds)}"
        return f"{self.subject} {does} {self.verdict} {conjunction} {self.rival}: {times}, {self._size()}"

    def _size(self) -> str:
        return f"{PLURALS[self.statistic]} of {self.samples}" if self.samples > 1 else "one run"


def ratios(
    records: Sequence[Sample], statistic: str = "median", temperature: str | None = None
) -> list[Ratio]:
    """The subject (Lamella or, if it is missing, the first system) against each other one, largest sizes
    first.

    `samples` of a ratio is the smaller count of the two. All records are of one workload.
    """
    if not records:
        return []
    return ratios_between(workload_named(records[0].workload), summaries(records, temperature), statistic)


def ratios_between(
    workload: Workload, points: Mapping[Point, Summary], statistic: str = "median"
) -> list[Ratio]:
    """Like `ratios`, for the summaries of one workload by operation, system and rows."""
    names = in_order(system for _, system, _ in points)
    subject = names[0] if names else ""
    value = STATISTICS[statistic]
    return [
        Ratio(
            operation=operation,
            rows=rows,
            subject=entry_named(subject).title,
            rival=entry_named(rival).title,
            subject_seconds=value(own_summary),
            rival_seconds=value(rival_summary),
            statistic=statistic,
            samples=min(own_summary.count, rival_summary.count),
        )
        for operation in workload.operations
        for rows in sorted({rows for _, _, rows in points}, reverse=True)
        for rival in names
        if rival != subject
        and (own_summary := points.get((operation.id, subject, rows)))
        and (rival_summary := points.get((operation.id, rival, rows)))
    ]


AHEAD, LEVEL, BEHIND = "ahead", "level", "behind"


@dataclass(frozen=True)
class Standing:
    """The subject compared with the best other system, by medians. `factor` is how many times faster it was;
    below 1, it was slower.

    `place` is 1 for the fastest of `systems`; `call` is "first" or "again" if these calls are distinguished.
    """

    operation: Operation
    call: str
    rows: int
    subject: str
    seconds: float
    place: int
    systems: int
    rival: str
    rival_seconds: float

    @property
    def factor(self) -> float:
        return quotient(self.rival_seconds, self.seconds)

    @property
    def title(self) -> str:
        return f"{self.operation.title}, {self.call}" if self.call else self.operation.title

    @property
    def verdict(self) -> str:
        if 1 / EQUAL_WITHIN < self.factor < EQUAL_WITHIN:
            return LEVEL
        return AHEAD if self.factor > 1 else BEHIND


def standings(records: Sequence[Sample]) -> list[Standing]:
    """The standings of the first system (Lamella, if it took part), wherever others were measured, too.

    All records are of one workload.
    """
    workload = workload_or_none(records[0].workload) if records else None
    if workload is None:
        return []
    subject, groups = competitors(records)[0], by_call(records)
    return [
        standing
        for operation in workload.operations
        for (name, call), group in groups.items()
        if name == operation.id
        for standing in _of_group(operation, call, subject, group)
    ]


def shown_standing(standing: Standing) -> str:
    """A standing such as "2 of 5, × 3.1 SQLite", with the subject's time as a share of the best other's."""
    against = unbroken(shown_against(1 / standing.factor))
    return f"{standing.place} of {standing.systems}, {against} {entry_named(standing.rival).title}"


def standing_counts(standings: Iterable[Standing]) -> str:
    """A sentence such as "Of 6, Lamella is ahead in 2, level in 1, behind in 3". All standings, at least one,
    have the same subject."""
    all_standings = list(standings)
    counts = {
        verdict: sum(standing.verdict == verdict for standing in all_standings)
        for verdict in (AHEAD, LEVEL, BEHIND)
    }
    parts = [f"{verdict} in {count:,}" for verdict, count in counts.items() if count]
    return f"Of {len(all_standings):,}, {entry_named(all_standings[0].subject).title} is {', '.join(parts)}"


def _of_group(operation: Operation, call: str, subject: str, records: Sequence[Sample]) -> list[Standing]:
    by_rows: dict[int, dict[str, Summary]] = {}
    for (_, system, rows), summary in summaries(records).items():
        by_rows.setdefault(rows, {})[system] = summary
    return [
        _standing(operation, call, rows, subject, systems)
        for rows, systems in sorted(by_rows.items())
        if subject in systems and len(systems) > 1
    ]


def _standing(
    operation: Operation, call: str, rows: int, subject: str, systems: dict[str, Summary]
) -> Standing:
    medians = {name: summary.median for name, summary in systems.items()}
    reference = medians.pop(subject)
    rival = min(medians, key=lambda name: medians[name])
    return Standing(
        operation=operation,
        call=call,
        rows=rows,
        subject=subject,
        seconds=reference,
        place=1 + sum(seconds < reference for seconds in medians.values()),
        systems=len(systems),
        rival=rival,
        rival_seconds=medians[rival],
    )


REFERENCE = "sqlite"


@dataclass(frozen=True)
class Multiple:
    """A system's values as multiples of the reference's: the mean over sizes, the lowest and the highest."""

    system: str
    mean: float
    low: float
    high: float
    sizes: tuple[int, ...]


def reference_of(points: Mapping[Point, Summary]) -> str:
    """SQLite in the published configuration if it took part, or the first system; empty if there are no
    points."""
    names = in_order(system for _, system, _ in points)
    return REFERENCE if REFERENCE in names else next(iter(names), "")


def multiples(
    points: Mapping[Point, Summary], operation: str, reference: str, statistic: str = "mean"
) -> list[Multiple]:
    """The multiples of one operation, for each system that shares a size with the reference."""
    value = STATISTICS[statistic]
    base = {rows: value(summary) for (name, system, rows), summary in points.items()
            if name == operation and system == reference and value(summary) > 0}  # fmt: skip
    by_system: dict[str, dict[int, float]] = {}
    for (name, system, rows), summary in points.items():
        if name == operation and rows in base:
            by_system.setdefault(system, {})[rows] = value(summary) / base[rows]
    return [_multiple(name, by_system[name]) for name in in_order(by_system)]


def _multiple(system: str, by_rows: Mapping[int, float]) -> Multiple:
    values = by_rows.values()
    return Multiple(system, fmean(values), min(values), max(values), tuple(sorted(by_rows)))


FASTER, SLOWER, SAME, TOO_FEW = "faster", "slower", "same", "too few samples"
LEAST_SAMPLES = 3


@dataclass(frozen=True)
class Comparison:
    """One operation of one system at one size, before and after.

    `call` is "first" or "again" if a question's calls are distinguished, and otherwise empty.
    """

    workload: str
    operation: str
    system: str
    rows: int
    before: Summary
    after: Summary
    call: str = ""

    @property
    def factor(self) -> float:
        """How many times faster it became, by medians; below 1, it became slower."""
        return quotient(self.before.median, self.after.median)

    @property
    def verdict(self) -> str:
        """The verdict: "faster", "slower", "same" or "too few samples"."""
        if min(self.before.count, self.after.count) < LEAST_SAMPLES:
            return TOO_FEW
        (low, high), (new_low, new_high) = spread(self.before, "median"), spread(self.after, "median")
        if new_high < low and self.factor > EQUAL_WITHIN:
            return FASTER
        return SLOWER if new_low > high and self.factor < 1 / EQUAL_WITHIN else SAME


def compare(before: Sequence[Sample], after: Sequence[Sample]) -> list[Comparison]:
    """The comparisons of all points that both benchmarks measured, by workload, operation, system and
    size."""
    old, new = by_workload(before), by_workload(after)
    return [
        comparison for name in old if name in new for comparison in _of_workload(name, old[name], new[name])
    ]


def comparison_table(comparisons: Sequence[Comparison]) -> ReportTable:
    """A table with a line for each comparison, the slower ones first."""
    ordered = sorted(
        comparisons, key=lambda comparison: (_ORDER.index(comparison.verdict), comparison.factor)
    )
    header = ("verdict", "workload", "operation", "system", "rows", "before", "after", "factor", "samples")
    return ReportTable("Before and after (medians)", header, tuple(map(_line, ordered)))


_ORDER = (SLOWER, FASTER, SAME, TOO_FEW)


def _of_workload(name: str, before: Sequence[Sample], after: Sequence[Sample]) -> list[Comparison]:
    old, new = by_call(before), by_call(after)
    return [
        Comparison(name, operation, system, rows, point, newer[operation, system, rows], call)
        for (operation, call), records in old.items()
        if (operation, call) in new
        for newer in [summaries(new[operation, call])]
        for (_, system, rows), point in sorted(
            summaries(records).items(), key=lambda item: (competitors(records).index(item[0][1]), item[0][2])
        )
        if (operation, system, rows) in newer
    ]


def _line(comparison: Comparison) -> tuple[str, ...]:
    times = shown_factor(comparison.factor if comparison.factor >= 1 else 1 / comparison.factor)
    return (
        comparison.verdict,
        workload_title(comparison.workload),
        operation_title(comparison.workload, comparison.operation, comparison.call),
        entry_named(comparison.system).title,
        f"{comparison.rows:,}",
        shown_seconds(comparison.before.median),
        shown_seconds(comparison.after.median),
        f"{times} × {'faster' if comparison.factor >= 1 else 'slower'}",
        f"{comparison.before.count}, {comparison.after.count}",
    )
