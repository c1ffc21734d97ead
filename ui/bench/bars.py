"""What a chart of bars shows, as data: groups of bars, each with a value or the reason why there is none."""

from __future__ import annotations

from collections.abc import Container, Iterable
from dataclasses import dataclass, replace

from lamella.core.bench.results.figures import shown_factor
from lamella.ui.bench.quantities import Quantity
from lamella.ui.bench.series import Series, SeriesPoint, place_of

EQUAL_WITHIN = 1.05


@dataclass(frozen=True)
class Bar:
    """`words` stand beside it; `lost` says that they are the reason why there is no value."""

    series: Series
    point: SeriesPoint | None
    words: str
    tip: str
    lost: bool = False

    @property
    def value(self) -> float:
        return (self.point.value or 0.0) if self.point else 0.0


@dataclass(frozen=True)
class BarGroup:
    title: str
    bars: tuple[Bar, ...]

    @property
    def largest(self) -> float:
        return max((bar.point.high for bar in self.bars if bar.point), default=0.0)

    @property
    def smallest(self) -> float:
        ends = (end for bar in self.bars if bar.point for end in (bar.value, bar.point.low))
        return min((end for end in ends if end > 0), default=0.0)


@dataclass(frozen=True)
class Bars:
    """Each group is drawn to its own largest; with a `reference` all are drawn to one scale, and a line
    stands at that value."""

    groups: tuple[BarGroup, ...]
    log: bool = False
    reference: float | None = None

    @property
    def series(self) -> list[Series]:
        """Whose bars there are, each once, in an order that no value changes."""
        found = {bar.series.label: bar.series for group in self.groups for bar in group.bars}
        return sorted(found.values(), key=lambda one: (one.published, place_of(one.system), one.label))

    def without(self, hidden: Container[str]) -> Bars:
        groups = (
            BarGroup(group.title, tuple(bar for bar in group.bars if bar.series.label not in hidden))
            for group in self.groups
        )
        return replace(self, groups=tuple(group for group in groups if group.bars))


def ranked(title: str, bars: Iterable[Bar], quantity: Quantity, factors: bool = True) -> BarGroup:
    """A group, lowest value first and those without one last; each says how many times the lowest it is."""
    ordered = sorted(bars, key=lambda bar: (bar.point is None, bar.value))
    own = [bar.value for bar in ordered if bar.value > 0 and not bar.series.published]
    lowest = min(own, default=0.0)
    return BarGroup(title, tuple(_with_words(bar, quantity, lowest if factors else 0.0) for bar in ordered))


def _with_words(bar: Bar, quantity: Quantity, lowest: float) -> Bar:
    if bar.point is None:
        return bar
    if bar.point.value is None:
        return replace(bar, words="below clock resolution")
    factor = bar.value / lowest if lowest else 0.0
    times = f"  {shown_factor(factor)} ×" if factor >= EQUAL_WITHIN else ""
    return replace(bar, words=quantity.exact(bar.value) + times)
