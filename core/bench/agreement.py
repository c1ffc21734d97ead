"""Who vouches for the answers of a workload whose right ones nobody knows beforehand: the systems, for one
another."""

from __future__ import annotations

from collections.abc import Sequence

from lamella.core.bench.backends import entry_named
from lamella.core.bench.families import family_of
from lamella.core.bench.ratios import in_order
from lamella.core.bench.report_table import ReportTable
from lamella.core.bench.results import Record
from lamella.core.bench.workloads import Operation, Workload


def agreement_tables(workload: Workload, records: Sequence[Record], before: str = "") -> list[ReportTable]:
    """One, or none where answers were known. Those that differ are failures, and not among `records`."""
    if family_of(workload).answers is not None:
        return []
    told: dict[str, list[str]] = {}
    for operation in workload.operations:
        if systems := _fewest(operation, records):
            told.setdefault(_words(systems), []).append(operation.title)
    lines = tuple((words, "all" if len(told) == 1 else "; ".join(titles)) for words, titles in told.items())
    title = f"{before}Answers, of which none was known beforehand"
    return [ReportTable(title, ("answers", "operations"), lines)] if lines else []


def _fewest(operation: Operation, records: Sequence[Record]) -> set[str]:
    """The systems that answered, at the size where they are fewest."""
    systems: dict[int, set[str]] = {}
    for record in records:
        if record.operation == operation.id:
            systems.setdefault(record.rows, set()).add(record.backend)
    return min(systems.values(), key=len, default=set())


def _words(systems: set[str]) -> str:
    titles = [entry_named(name).title for name in in_order(systems)]
    if len(titles) == 1:
        return f"{titles[0]} alone: checked against nobody"
    return f"agreed by {len(titles)} systems"
