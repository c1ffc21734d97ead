"""Where one system stands among all the others: what it wins, and what it loses to whom."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from lamella.core.bench.backends import entry_named
from lamella.core.bench.calls import by_call
from lamella.core.bench.ratios import EQUAL_WITHIN, competitors, shown_against
from lamella.core.bench.report_table import unbroken
from lamella.core.bench.results import Record, Summary, summaries
from lamella.core.bench.workloads import Operation, workload_named

AHEAD, LEVEL, BEHIND = "ahead", "level", "behind"


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
    def title(self) -> str:
        return f"{self.operation.title}, {self.call}" if self.call else self.operation.title

    @property
    def verdict(self) -> str:
        if 1 / EQUAL_WITHIN < self.factor < EQUAL_WITHIN:
            return LEVEL
        return AHEAD if self.factor > 1 else BEHIND


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


def shown_standing(one: Standing) -> str:
    """ "2 of 5, × 3.1 SQLite": what the subject takes of the best other's time."""
    against = unbroken(shown_against(1 / one.factor))
    return f"{one.place} of {one.systems}, {against} {entry_named(one.rival).title}"


def tally_of(found: Iterable[Standing]) -> str:
    """ "Of 6, Lamella is ahead in 2, level in 1, behind in 3". `found` is of one subject, and not empty."""
    each = list(found)
    counts = {verdict: sum(one.verdict == verdict for one in each) for verdict in (AHEAD, LEVEL, BEHIND)}
    told = [f"{verdict} in {count:,}" for verdict, count in counts.items() if count]
    return f"Of {len(each):,}, {entry_named(each[0].subject).title} is {', '.join(told)}"


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
