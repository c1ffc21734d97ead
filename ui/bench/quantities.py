"""What of a sample can be shown, and how its values are written."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from lamella.core.bench.results.figures import shown_bytes, shown_factor, shown_seconds

Units = tuple[tuple[str, float], ...]
"""Largest first."""

SECONDS: Units = (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6), ("ns", 1e-9))
BYTES: Units = (("GB", 1e9), ("MB", 1e6), ("kB", 1e3), ("B", 1.0))
COUNT: Units = (("", 1.0),)


class Scale(StrEnum):
    LOG = "log"
    EVEN = "even"
    INSET = "inset"


@dataclass(frozen=True)
class Quantity:
    """A numeric field of a record; `exact` writes a value, `units` are those of an axis, largest first."""

    field: str
    title: str
    units: Units
    exact: Callable[[float], str]


TIME = Quantity("seconds", "Time", SECONDS, shown_seconds)
PROCESSOR = Quantity("cpu_seconds", "Processor time", SECONDS, shown_seconds)
MEMORY = Quantity("peak_rss_bytes", "Peak memory", BYTES, shown_bytes)
DISK = Quantity("disk_bytes", "Size on disk", BYTES, shown_bytes)
NORMALISED = Quantity(
    "normalised", "Against the reference", (("×", 1.0),), lambda times: f"{shown_factor(times)} ×"
)


def power_of_ten(power: int, units: Units) -> str:
    """In the largest unit that leaves it at least 1."""
    value = 10.0**power
    unit, size = unit_of(value, units)
    return f"{value / size:,.0f} {unit}".rstrip()


def unit_of(value: float, units: Units) -> tuple[str, float]:
    """The largest unit that leaves the value at least 1, or else the smallest."""
    return next((pair for pair in units if value >= pair[1] * 0.999), units[-1])


def even_label(value: float, largest: float, step: float, units: Units) -> str:
    """Of an even axis: in the unit of its `largest` value, with the digits that tell two steps apart."""
    unit, size = unit_of(largest, units)
    digits = max(0, -math.floor(math.log10(step / size) + 1e-9))
    return f"{value / size:,.{digits}f} {unit}".rstrip()
