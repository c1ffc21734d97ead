"""Two races of the same things: what became faster, what slower, and what cannot be told apart.

Faster and slower need spreads that do not overlap: the middle halves of the samples (from their 25th to their
75th percentile), of three samples or more on each side, and medians further apart than 5%.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lamella.core.bench.backends import entry_named
from lamella.core.bench.calls import by_call, by_workload
from lamella.core.bench.ratios import EQUAL_WITHIN, competitors, shown_factor, shown_seconds
from lamella.core.bench.report_table import ReportTable
from lamella.core.bench.results import Record, Summary, spread, summaries
from lamella.core.bench.titles import operation_title, workload_title

FASTER, SLOWER, SAME, TOO_FEW = "faster", "slower", "same", "too few samples"
LEAST_SAMPLES = 3


@dataclass(frozen=True)
class Comparison:
    """One operation of one backend at one size, before and after.

    `call` is "first" or "again" where a question's calls are told apart, and else empty.
    """

    workload: str
    operation: str
    backend: str
    rows: int
    before: Summary
    after: Summary
    call: str = ""

    @property
    def factor(self) -> float:
        """How many times faster it became, by the medians; below 1, slower."""
        return self.before.median / self.after.median

    @property
    def verdict(self) -> str:
        """ "faster", "slower", "same" or "too few samples"."""
        if min(len(self.before.samples), len(self.after.samples)) < LEAST_SAMPLES:
            return TOO_FEW
        (low, high), (new_low, new_high) = spread(self.before, "median"), spread(self.after, "median")
        if new_high < low and self.factor > EQUAL_WITHIN:
            return FASTER
        return SLOWER if new_low > high and self.factor < 1 / EQUAL_WITHIN else SAME


def compare(before: Sequence[Record], after: Sequence[Record]) -> list[Comparison]:
    """Of every point that both races measured, by workload, operation, system and size."""
    old, new = by_workload(before), by_workload(after)
    return [found for name in old if name in new for found in _of_workload(name, old[name], new[name])]


def comparison_table(found: Sequence[Comparison]) -> ReportTable:
    """A line for each, the slower ones first."""
    ordered = sorted(found, key=lambda one: (_ORDER.index(one.verdict), one.factor))
    header = ("verdict", "workload", "operation", "system", "rows", "before", "after", "factor", "samples")
    return ReportTable("Before and after (medians)", header, tuple(map(_line, ordered)))


_ORDER = (SLOWER, FASTER, SAME, TOO_FEW)


def _of_workload(name: str, before: Sequence[Record], after: Sequence[Record]) -> list[Comparison]:
    old, new = by_call(before), by_call(after)
    return [
        Comparison(name, operation, backend, rows, point, newer[operation, backend, rows], call)
        for (operation, call), records in old.items()
        if (operation, call) in new
        for newer in [summaries(new[operation, call])]
        for (_, backend, rows), point in sorted(
            summaries(records).items(), key=lambda item: (competitors(records).index(item[0][1]), item[0][2])
        )
        if (operation, backend, rows) in newer
    ]


def _line(one: Comparison) -> tuple[str, ...]:
    times = shown_factor(one.factor if one.factor >= 1 else 1 / one.factor)
    return (
        one.verdict,
        workload_title(one.workload),
        operation_title(one.workload, one.operation, one.call),
        entry_named(one.backend).title,
        f"{one.rows:,}",
        shown_seconds(one.before.median),
        shown_seconds(one.after.median),
        f"{times} × {'faster' if one.factor >= 1 else 'slower'}",
        f"{len(one.before.samples)}, {len(one.after.samples)}",
    )
