"""The ways to look at a benchmark, and which of them a workload begins with."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from lamella.core.bench.workloads.model import Workload
from lamella.ui.bench.benchmark_plot import Scale
from lamella.ui.bench.quantities import DISK, MEMORY, PROCESSOR, TIME, Quantity


class Shape(StrEnum):
    LINES = "lines"
    BARS = "bars"


@dataclass(frozen=True)
class View:
    """One page of the results; only those of a quantity have lines as well as bars."""

    id: str
    title: str
    about: str
    quantity: Quantity | None = None


VIEWS = (
    View("time", "Time", "How long each operation takes", TIME),
    View(
        "normalised",
        "Normalised",
        "Each system as a multiple of SQLite, set up as in the published benchmarks, averaged over sizes",
    ),
    View("size", "Size", "What the data take on disk", DISK),
    View("memory", "Memory", "The most memory that an operation's process held", MEMORY),
    View("processor", "Processor", "Processor time, of all cores together", PROCESSOR),
    View("statistics", "Statistics", "Mean, percentiles and operations per second of each system and size"),
)
BY_ID = {view.id: view for view in VIEWS}

SHAPES = {Shape.LINES: "Lines", Shape.BARS: "Bars"}
LINE_SCALES = {
    Scale.LOG: "Log–log",
    Scale.EVEN: "Linear",
    Scale.INSET: "Linear, inset",
}
BAR_SCALES = {Scale.EVEN: "Linear", Scale.LOG: "Logarithmic"}
MULTIPLE_SCALES = {Scale.LOG: "Logarithmic", Scale.EVEN: "Linear"}


def scales(view: View, shape: Shape) -> dict[Scale, str]:
    """The usual one first; multiples lie on both sides of 1, and far from it."""
    if view.quantity is None:
        return MULTIPLE_SCALES
    return LINE_SCALES if shape is Shape.LINES else BAR_SCALES


def first_shape(view: View, workload: Workload) -> Shape:
    """Lines want several sizes; sizes on disk are read off bars."""
    return Shape.BARS if view.quantity is DISK or len(workload.default_rows) < 3 else Shape.LINES
