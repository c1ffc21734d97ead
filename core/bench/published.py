"""Times that others published, as data: what the dashed lines of the race are drawn from."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from core.bench.workloads import workload_named


@dataclass(frozen=True)
class PublishedPoint:
    """`below_resolution` marks a printed 0: shorter than the publisher's clock could tell."""

    rows: int
    seconds: float
    below_resolution: bool
    note: str


@dataclass(frozen=True)
class PublishedLine:
    """`operations` are those of ours that it may be compared with: their timers hold the same work."""

    workload: str
    system: str
    title: str
    operations: tuple[str, ...]
    note: str
    points: tuple[PublishedPoint, ...]
    source: str
    machine: str
    statistic: str
    runs: int


@cache
def published(workload: str) -> tuple[PublishedLine, ...]:
    """Every line published for a workload; none for one that nobody published. Raises UnknownWorkload."""
    source = files("resources") / "published" / f"{workload_named(workload).id}.json"
    if not source.is_file():
        return ()
    document = json.loads(source.read_text(encoding="utf-8"))
    return tuple(_line(document, item) for item in document["lines"])


def published_lines(workload: str, operation: str) -> list[PublishedLine]:
    return [line for line in published(workload) if operation in line.operations]


def _line(document: dict[str, Any], item: dict[str, Any]) -> PublishedLine:
    return PublishedLine(
        workload=document["workload"],
        system=item["system"],
        title=item["title"],
        operations=tuple(item["operations"]),
        note=item["note"],
        points=tuple(PublishedPoint(**point) for point in item["points"]),
        source=document["source"],
        machine=", ".join(document["machine"].values()),
        statistic=document["statistic"],
        runs=document["runs"],
    )
