"""Where one system stands among all the others: what it wins, and what it loses to whom."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from core.bench.backends import entry_named
from core.bench.calls import by_call
from core.bench.ratios import EQUAL_WITHIN, competitors, shown_factor, shown_seconds
from core.bench.report_table import ReportTable
from core.bench.results import Record, Summary, summaries
from core.bench.workloads import Operation, workload_named


@dataclass(frozen=True)
class Standing:
    """By medians. `factor` is how many times faster the subject was than the best other; below 1, slower.

    `place` is 1 for the fastest of `systems`; `call` is "first" or "again" where calls are told apart.
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
        return self.rival_seconds / self.seconds

    @property
    def verdict(self) -> str:
        if 1 / EQUAL_WITHIN < self.factor < EQUAL_WITHIN:
            return "as fast"
        times = max(self.factor, 1 / self.factor)
        return f"{shown_factor(times)} × {'faster' if self.factor > 1 else 'slower'}"


def standings(records: Sequence[Record]) -> list[Standing]:
    """Of the first system (Lamella, where it took part), wherever others were measured too.

    All records are of one workload.
    """
    if not records:
        return []
    subject, groups = competitors(records)[0], by_call(records)
    return [
        standing
        for operation in workload_named(records[0].workload).operations
        for (name, call), group in groups.items()
        if name == operation.id
        for standing in _of_group(operation, call, subject, group)
    ]


def standings_table(found: Sequence[Standing]) -> ReportTable:
    """What was lost stands first. `found` is of one workload, and not empty."""
    subject = entry_named(found[0].subject).title
    header = ("operation", "rows", subject, "place", "best other", "its time", subject + " is")
    ordered = sorted(found, key=lambda one: one.factor)
    return ReportTable(
        f"{subject} against the best of the others (medians)", header, tuple(map(_line, ordered))
    )


def _of_group(operation: Operation, call: str, subject: str, records: Sequence[Record]) -> list[Standing]:
    by_rows: dict[int, dict[str, Summary]] = {}
    for (_, backend, rows), summary in summaries(records).items():
        by_rows.setdefault(rows, {})[backend] = summary
    return [
        _standing(operation, call, rows, subject, systems)
        for rows, systems in sorted(by_rows.items())
        if subject in systems and len(systems) > 1
    ]


def _standing(
    operation: Operation, call: str, rows: int, subject: str, systems: dict[str, Summary]
) -> Standing:
    medians = {name: summary.median for name, summary in systems.items()}
    own = medians.pop(subject)
    rival = min(medians, key=lambda name: medians[name])
    return Standing(
        operation=operation,
        call=call,
        rows=rows,
        subject=subject,
        seconds=own,
        place=1 + sum(seconds < own for seconds in medians.values()),
        systems=len(systems),
        rival=rival,
        rival_seconds=medians[rival],
    )


def _line(one: Standing) -> tuple[str, ...]:
    return (
        f"{one.operation.title}, {one.call}" if one.call else one.operation.title,
        f"{one.rows:,}",
        shown_seconds(one.seconds),
        f"{one.place} of {one.systems}",
        entry_named(one.rival).title,
        shown_seconds(one.rival_seconds),
        one.verdict,
    )
