"""What of a sample can be shown, and how its values are written."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from lamella.core.bench.results.figures import shown_bytes, shown_factor, shown_seconds
from lamella.ui.bench.axes import BYTES, SECONDS, Units


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
