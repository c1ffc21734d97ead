"""Who was faster and by how much, in numbers and in sentences."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from lamella.core.bench.backends import ENTRIES, entry_named
from lamella.core.bench.results import STATISTICS, Point, Record, Summary, summaries
from lamella.core.bench.workloads import Operation, Workload, workload_named

EQUAL_WITHIN = 1.05
"""Closer than this, one run cannot say who was faster."""

PLURALS = {"median": "medians", "mean": "means", "lowest": "lowest"}


@dataclass(frozen=True)
class Ratio:
    """One system against another at one point; `factor` above 1 says the subject was faster."""

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
        return self.rival_seconds / self.subject_seconds

    @property
    def verdict(self) -> str:
        """ "52 × faster", "1.4 × slower" or "as fast"."""
        slower = self.factor < 1
        times = 1 / self.factor if slower else self.factor
        if times < EQUAL_WITHIN:
            return "as fast"
        return f"{shown_factor(times)} × {'slower' if slower else 'faster'}"

    @property
    def sentence(self) -> str:
        does = self.operation.sentence.format(rows=shown_rows(self.rows))
        joined = "as" if self.verdict == "as fast" else "than"
        times = f"{shown_seconds(self.subject_seconds)} against {shown_seconds(self.rival_seconds)}"
        return f"{self.subject} {does} {self.verdict} {joined} {self.rival}: {times}, {self._counted()}"

    def _counted(self) -> str:
        return f"{PLURALS[self.statistic]} of {self.samples}" if self.samples > 1 else "one run"


def ratios(
    records: Sequence[Record], statistic: str = "median", temperature: str | None = None
) -> list[Ratio]:
    """The subject (Lamella, or else the first system) against every other, largest sizes first.

    `samples` of a ratio is the smaller count of the two. All records are of one workload.
    """
    if not records:
        return []
    return ratios_between(workload_named(records[0].workload), summaries(records, temperature), statistic)


def ratios_between(
    workload: Workload, points: Mapping[Point, Summary], statistic: str = "median"
) -> list[Ratio]:
    """As `ratios`, of summaries of one workload by operation, system and rows."""
    names = in_order(backend for _, backend, _ in points)
    subject = names[0] if names else ""
    value = STATISTICS[statistic]
    return [
        Ratio(
            operation=operation,
            rows=rows,
            subject=entry_named(subject).title,
            rival=entry_named(rival).title,
            subject_seconds=value(own),
            rival_seconds=value(other),
            statistic=statistic,
            samples=min(len(own.samples), len(other.samples)),
        )
        for operation in workload.operations
        for rows in sorted({rows for _, _, rows in points}, reverse=True)
        for rival in names
        if rival != subject
        and (own := points.get((operation.id, subject, rows)))
        and (other := points.get((operation.id, rival, rows)))
    ]


def competitors(records: Sequence[Record]) -> list[str]:
    """The backends of the records in the table's order, Lamella first, others' own last."""
    return in_order(record.backend for record in records)


def in_order(backends: Iterable[str]) -> list[str]:
    """Each once, in the table's order."""
    known = list(ENTRIES)
    return sorted(set(backends), key=lambda name: (known.index(name) if name in known else len(known), name))


def shown_seconds(seconds: float) -> str:
    """Three significant digits with a unit: "1.93 ms"."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{_digits(seconds / size, 3)} {unit}"
    return f"{seconds * 1e9:.0f} ns"


def shown_bytes(size: float) -> str:
    for unit, step in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if size >= step:
            return f"{_digits(size / step, 3)} {unit}"
    return f"{size:,.0f} B"


def shown_factor(times: float) -> str:
    """Two significant digits, more for hundreds: "1.4", "52", "1,250"."""
    return _digits(times, 2)


def shown_share(share: float) -> str:
    """What one takes of what another takes: "÷ 12" is a twelfth, "× 2.0" twice as much."""
    return f"÷ {shown_factor(1 / share)}" if share < 1 else f"× {shown_factor(share)}"


def shown_against(share: float) -> str:
    """As `shown_share`; "≈" where one run cannot say which is more."""
    return "≈" if 1 / EQUAL_WITHIN < share < EQUAL_WITHIN else shown_share(share)


def shown_rows(rows: int) -> str:
    return f"{rows:,} row" if rows == 1 else f"{rows:,} rows"


def _digits(value: float, significant: int) -> str:
    """Plain notation, since "1e+02 ms" is nobody's number."""
    magnitude = math.floor(math.log10(value))
    if round(value, significant - 1 - magnitude) >= 10.0 ** (magnitude + 1):
        magnitude += 1  # 9.96 to two digits is 10, not 10.0
    return f"{value:,.{max(0, significant - 1 - magnitude)}f}"
