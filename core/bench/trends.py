"""How one measurement went over all the runs that were kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from lamella.core.bench.calls import by_call
from lamella.core.bench.kept import Kept
from lamella.core.bench.results import STATISTICS, Record, Summary, spread, summaries


@dataclass(frozen=True)
class TrendPoint:
    """What one run says: the statistic over its samples, and the ends of an error bar."""

    run: int
    started: datetime
    value: float
    low: float
    high: float
    samples: int


def trend(
    kept: Kept,
    workload: str,
    operation: str,
    backend: str,
    rows: int,
    statistic: str = "median",
    quantity: str = "seconds",
    call: str | None = None,
) -> list[TrendPoint]:
    """Oldest run first; runs without a sample have no point.

    `quantity` is a numeric field of a record. `call` is "first" or "again" where a question's calls are told
    apart; left out, the later calls count where there are some. Raises FileProblem.
    """
    found = kept.samples_of(workload, operation, backend, rows)
    told = [(run, started, _summary(records, call, quantity)) for run, started, records in found]
    return [_point(run, started, summary, statistic) for run, started, summary in told if summary]


def _summary(records: Sequence[Record], call: str | None, quantity: str) -> Summary | None:
    groups = {found: group for (_, found), group in by_call(records).items()}
    wanted = max(groups, key=lambda found: len(groups[found][0].latencies)) if call is None else call
    of_group = summaries(groups[wanted], quantity=quantity) if wanted in groups else {}
    return next(iter(of_group.values()), None)


def _point(run: int, started: datetime, summary: Summary, statistic: str) -> TrendPoint:
    low, high = spread(summary, statistic)
    return TrendPoint(run, started, STATISTICS[statistic](summary), low, high, len(summary.samples))
