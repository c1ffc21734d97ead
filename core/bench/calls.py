"""Operations that are done first and then again on the same open database: two quantities, never one.

A workload of questions has, of each repeat, one sample of the first call and one that holds the latencies of
those after it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from lamella.core.bench.results import Record

FIRST, AGAIN = "first", "again"

Group = tuple[str, str]
"""An operation and which of its calls: "first", "again", or "" where they are not told apart."""


def by_call(records: Sequence[Record]) -> dict[Group, list[Record]]:
    """The records of one workload, told apart; in the order in which they came."""
    both = _asked_again(records)
    groups: dict[Group, list[Record]] = {}
    for record in records:
        groups.setdefault((record.operation, _call(record, both)), []).append(record)
    return groups


def by_workload(records: Iterable[Record]) -> dict[str, list[Record]]:
    groups: dict[str, list[Record]] = {}
    for record in records:
        groups.setdefault(record.workload, []).append(record)
    return groups


def _call(record: Record, both: set[str]) -> str:
    if record.operation not in both:
        return ""
    return AGAIN if record.latencies else FIRST


def _asked_again(records: Sequence[Record]) -> set[str]:
    many = {record.operation for record in records if record.latencies}
    once = {record.operation for record in records if not record.latencies}
    return many & once
