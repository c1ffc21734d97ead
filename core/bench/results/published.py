"""Times that others published, as data: what the dashed lines of the benchmark are drawn from."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from lamella.core.bench.registry import workload_named


@dataclass(frozen=True)
class PublishedPoint:
    """`value` is in the unit of its line. `below_resolution` marks a printed 0: shorter than the publisher's
    clock could tell."""

    rows: int
    value: float
    below_resolution: bool
    note: str

    @property
    def seconds(self) -> float:
        """The value, of a line of times."""
        return self.value


@dataclass(frozen=True)
class PublishedLine:
    """`operations` are those of ours that it may be compared with: their timers hold the same work.

    `published_as` is what the document calls it, where that says more than the operation. `quantity` is a
    field of `Record`: seconds, or what the points count instead.
    """

    workload: str
    system: str
    title: str
    operations: tuple[str, ...]
    published_as: str
    note: str
    points: tuple[PublishedPoint, ...]
    source: str
    machine: str
    statistic: str
    runs: int
    quantity: str


@cache
def published(workload: str) -> tuple[PublishedLine, ...]:
    """Every line published for a workload; none for one that nobody published. Raises UnknownWorkload."""
    source = files("lamella.resources") / "published" / f"{workload_named(workload).id}.json"
    if not source.is_file():
        return ()
    document = json.loads(source.read_text(encoding="utf-8"))
    return tuple(_line(document, item) for item in document["lines"])


def published_lines(workload: str, operation: str, quantity: str = "seconds") -> list[PublishedLine]:
    return [
        line for line in published(workload) if operation in line.operations and line.quantity == quantity
    ]


def _line(document: dict[str, Any], item: dict[str, Any]) -> PublishedLine:
    return PublishedLine(
        workload=document["workload"],
        system=item["system"],
        title=item["title"],
        operations=tuple(item["operations"]),
        published_as=item.get("published_as", ""),
        note=item["note"],
        points=tuple(map(_point, item["points"])),
        source=document["source"],
        machine=", ".join(document["machine"].values()),
        statistic=item.get("statistic", document["statistic"]),
        runs=document["runs"],
        quantity=item.get("quantity", "seconds"),
    )


def _point(point: dict[str, Any]) -> PublishedPoint:
    """Times are written as `seconds`, all else as `value`."""
    value = point["seconds"] if "seconds" in point else point["value"]
    return PublishedPoint(
        rows=point["rows"],
        value=value,
        below_resolution=point.get("below_resolution", False),
        note=point.get("note", ""),
    )
