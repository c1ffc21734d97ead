"""Systems as multiples of one of them, averaged over sizes, as Python's storage options were published."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import fmean

from lamella.core.bench.ratios import in_order
from lamella.core.bench.results import STATISTICS, Point, Summary

REFERENCE = "sqlite"


@dataclass(frozen=True)
class Multiple:
    """Of the reference's value: the mean over sizes, and the lowest and highest of any size."""

    backend: str
    mean: float
    low: float
    high: float
    sizes: tuple[int, ...]


def reference_of(points: Mapping[Point, Summary]) -> str:
    """SQLite as it was published where it took part, or else the first system; empty for no points."""
    names = in_order(backend for _, backend, _ in points)
    return REFERENCE if REFERENCE in names else next(iter(names), "")


def multiples(
    points: Mapping[Point, Summary], operation: str, reference: str, statistic: str = "mean"
) -> list[Multiple]:
    """Of one operation, for each system that shares a size with the reference."""
    value = STATISTICS[statistic]
    base = {rows: value(found) for (name, backend, rows), found in points.items()
            if name == operation and backend == reference and value(found) > 0}  # fmt: skip
    by_system: dict[str, dict[int, float]] = {}
    for (name, backend, rows), found in points.items():
        if name == operation and rows in base:
            by_system.setdefault(backend, {})[rows] = value(found) / base[rows]
    return [_multiple(name, by_system[name]) for name in in_order(by_system)]


def _multiple(backend: str, by_rows: Mapping[int, float]) -> Multiple:
    values = by_rows.values()
    return Multiple(backend, fmean(values), min(values), max(values), tuple(sorted(by_rows)))
