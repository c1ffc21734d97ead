"""Published results, as data: times, shown as dashed lines, and claims, which a run may confirm. Each claim
says where its document contradicts itself, and how measurements can test it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import pairwise
from typing import Any

from lamella.core.bench.registry import entry_named, workload_named
from lamella.core.bench.results.figures import (
    ReportTable,
    shown_bytes,
    shown_factor,
    shown_rows,
    shown_seconds,
)
from lamella.core.bench.results.records import Sample, Tally, by_workload


@dataclass(frozen=True)
class PublishedPoint:
    """`value` is in the unit of its line. `below_resolution` marks a published 0: shorter than the
    publisher's clock could measure."""

    rows: int
    value: float
    below_resolution: bool
    note: str

    @property
    def seconds(self) -> float:
        """The value, for a line of times."""
        return self.value


@dataclass(frozen=True)
class PublishedLine:
    """A published line of points. `operations` are the benchmark's own ones that it can be compared with,
    because their timers cover the same work.

    `published_name` is its name in the document, if that says more than the operation. `quantity` is a field
    of `Record`: seconds, or whatever else the points measure.
    """

    workload: str
    system: str
    title: str
    operations: tuple[str, ...]
    published_name: str
    note: str
    points: tuple[PublishedPoint, ...]
    source: str
    machine: str
    statistic: str
    runs: int
    quantity: str


@cache
def publications(workload: str) -> tuple[PublishedLine, ...]:
    """All lines published for a workload; empty if there are none. Raises UnknownWorkload."""
    source = files("lamella.resources") / "published" / f"{workload_named(workload).id}.json"
    if not source.is_file():
        return ()
    document = json.loads(source.read_text(encoding="utf-8"))
    return tuple(_published_line(document, item) for item in document["lines"])


def published_lines(workload: str, operation: str, quantity: str = "seconds") -> list[PublishedLine]:
    return [
        line for line in publications(workload) if operation in line.operations and line.quantity == quantity
    ]


def _published_line(document: dict[str, Any], item: dict[str, Any]) -> PublishedLine:
    return PublishedLine(
        workload=document["workload"],
        system=item["system"],
        title=item["title"],
        operations=tuple(item["operations"]),
        published_name=item.get("published_as", ""),
        note=item["note"],
        points=tuple(map(_point, item["points"])),
        source=document["source"],
        machine=", ".join(document["machine"].values()),
        statistic=item.get("statistic", document["statistic"]),
        runs=document["runs"],
        quantity=item.get("quantity", "seconds"),
    )


def _point(point: dict[str, Any]) -> PublishedPoint:
    """A point of the file, where times are named `seconds` and everything else `value`."""
    value = point["seconds"] if "seconds" in point else point["value"]
    return PublishedPoint(
        rows=point["rows"],
        value=value,
        below_resolution=point.get("below_resolution", False),
        note=point.get("note", ""),
    )


REPRODUCED, NOT_REPRODUCED = "reproduced", "not reproduced"
PARTLY, NOT_MEASURED, CANNOT = "in part", "not measured in this run", "cannot be asked here"

GROWS_LIKE_ROWS = (0.5, 2.0)
"""The range of time per row, from one size to the next, that counts as growing in proportion."""


@dataclass(frozen=True)
class Claim:
    """A published claim. `itself` says where the document contradicts itself or makes an invalid comparison;
    `cannot` says why it cannot be tested here; `tests` are plain data, each of a `kind` in TESTS."""

    document: str
    claim: str
    itself: str
    cannot: str
    tests: tuple[Mapping[str, Any], ...]


@dataclass(frozen=True)
class Finding:
    """The result of one test: whether the claim holds, and what was measured, in words."""

    holds: bool
    measurement: str


@cache
def claims() -> tuple[Claim, ...]:
    items = json.loads((files("lamella.resources") / "claims.json").read_text(encoding="utf-8"))
    return tuple(Claim(**(item | {"tests": tuple(item["tests"])})) for item in items)


def claims_table(records: Sequence[Sample]) -> ReportTable:
    """What a run says about each claim, and what its own document says. Only documents for which the run
    measured something are listed."""
    tallies = {name: Tally(group) for name, group in by_workload(records).items()}
    findings = [(claim, *judge_claim(claim, tallies)) for claim in claims()]
    touched = {claim.document for claim, verdict, _ in findings if verdict not in (NOT_MEASURED, CANNOT)}
    lines = [
        (claim.document, claim.claim, verdict, measured or "–", claim.itself or "–")
        for claim, verdict, measured in findings
        if claim.document in touched
    ]
    header = ("document", "it claims", "here", "measured here", "what its own figures say")
    return ReportTable("Claims of the documents", header, tuple(lines))


def judge_claim(claim: Claim, tallies: Mapping[str, Tally]) -> tuple[str, str]:
    """The verdict, and the measurements behind it. `tallies` are by workload."""
    if not claim.tests:
        return CANNOT, claim.cannot
    findings = [finding for test in claim.tests if (finding := _finding(test, tallies)) is not None]
    if not findings:
        return NOT_MEASURED, ""
    outcomes = {finding.holds for finding in findings}
    verdict = PARTLY if len(outcomes) > 1 else REPRODUCED if outcomes == {True} else NOT_REPRODUCED
    return verdict, "; ".join(finding.measurement for finding in findings)


def _finding(test: Mapping[str, Any], tallies: Mapping[str, Tally]) -> Finding | None:
    tally = tallies.get(test["workload"])
    return None if tally is None else TESTS[test["kind"]](test, tally)


def _ratio(test: Mapping[str, Any], tally: Tally) -> Finding | None:
    """Test a ratio, at the given size or the largest that both have."""
    slow, fast, quantity = test["slow"], test["fast"], test.get("quantity", "seconds")
    sizes = [n for n in tally.rows if _value(tally, slow, n, quantity) and _value(tally, fast, n, quantity)]
    rows = test.get("rows", max(sizes, default=None))
    if rows not in sizes:
        return None
    above, below = _value(tally, slow, rows, quantity), _value(tally, fast, rows, quantity)
    assert above is not None and below is not None
    factor = above / below
    as_text = shown_bytes if quantity == "disk_bytes" else shown_seconds
    parts = (
        f"{_system_title(test, slow)} {as_text(above)}, {_system_title(test, fast)} {as_text(below)}: "
        f"× {shown_factor(factor)} at {shown_rows(rows)}"
    )
    return Finding(test["least"] <= factor <= test.get("most", float("inf")), parts)


def _order(test: Mapping[str, Any], tally: Tally) -> Finding | None:
    """Test an order, fastest first, at every size that all systems have."""
    parts, holds = [], True
    for rows in tally.rows:
        sides = [{"system": name, "operation": test["operation"]} for name in test["systems"]]
        values = [_value(tally, side, rows) for side in sides]
        if any(value is None for value in values):
            continue
        times = [value for value in values if value is not None]
        holds = holds and times == sorted(times)
        names = (entry_named(name).title for name in test["systems"])
        each = ", ".join(f"{name} {shown_seconds(time)}" for name, time in zip(names, times, strict=True))
        parts.append(f"{shown_rows(rows)}: {each}")
    return Finding(holds, "; ".join(parts)) if parts else None


def _flat(test: Mapping[str, Any], tally: Tally) -> Finding | None:
    """Test that the slowest size takes at most `factor` times as long as the fastest."""
    points = _line(test, tally)
    if len(points) < 2:
        return None
    times = [seconds for _, seconds in points]
    (first, _), (last, _) = points[0], points[-1]
    range_text = (
        f"{shown_seconds(min(times))} to {shown_seconds(max(times))} from {first:,} to {shown_rows(last)}"
    )
    return Finding(max(times) / min(times) <= test["factor"], f"{_system_title(test, test)} {range_text}")


def _linear(test: Mapping[str, Any], tally: Tally) -> Finding | None:
    """Test proportional growth from the second largest size to the largest."""
    steps = list(pairwise(_line(test, tally)))
    if not steps:
        return None
    (smaller, before), (larger, after) = steps[-1]
    growth = (after / before) / (larger / smaller)
    low, high = GROWS_LIKE_ROWS
    steps_text = f"{shown_seconds(before)} at {smaller:,}, {shown_seconds(after)} at {shown_rows(larger)}"
    return Finding(low <= growth <= high, f"{_system_title(test, test)} {steps_text}")


def _below(test: Mapping[str, Any], tally: Tally) -> Finding | None:
    """Test that a percentile of one operation's samples is at most `seconds`."""
    points = dict(_line(test, tally, test.get("percent", 50)))
    rows = test.get("rows", max(points, default=None))
    if rows not in points:
        return None
    point_text = f"{_system_title(test, test)} {shown_seconds(points[rows])} at {shown_rows(rows)}"
    return Finding(points[rows] <= test["seconds"], point_text)


TESTS: dict[str, Callable[[Mapping[str, Any], Tally], Finding | None]] = {
    "ratio": _ratio,
    "order": _order,
    "flat": _flat,
    "linear": _linear,
    "below": _below,
}


def _line(side: Mapping[str, Any], tally: Tally, percent: float = 50) -> list[tuple[int, float]]:
    """Pairs of rows and seconds, in ascending order of rows."""
    values = ((rows, _value(tally, side, rows, percent=percent)) for rows in tally.rows)
    return [(rows, seconds) for rows, seconds in values if seconds is not None]


def _value(
    tally: Tally, side: Mapping[str, Any], rows: int, quantity: str = "seconds", percent: float = 50
) -> float | None:
    summary = tally.summary((side["operation"], side["system"], rows), quantity)
    return None if summary is None else summary.percentile(percent)


def _system_title(test: Mapping[str, Any], side: Mapping[str, Any]) -> str:
    title = workload_named(test["workload"]).operation(side["operation"]).title
    return f"{entry_named(side['system']).title} {title[:1].lower()}{title[1:]}"
