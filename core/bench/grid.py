"""Systems beside each other: a line for each operation and a column for each system, or the other way round
where there are many systems."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from lamella.core.bench.backends import entry_named
from lamella.core.bench.ratios import EQUAL_WITHIN, in_order, shown_against
from lamella.core.bench.report_table import ReportTable, unbroken
from lamella.core.bench.results import Summary

NOTHING = "–"


@dataclass(frozen=True)
class GridLine:
    """`cells` are by system; `standing` says how the subject stands, where that is told."""

    label: str
    cells: Mapping[str, str]
    standing: str = ""


@dataclass(frozen=True)
class Grid:
    """`subject` is the system that the others are compared with; of cells that are `wide` half as many stand
    beside each other."""

    title: str
    subject: str
    lines: Sequence[GridLine]
    wide: bool = False

    def tables(self, most: int) -> list[ReportTable]:
        """One; where there are more than `most` systems they stand below each other, in tables of at most
        so many lines of the grid beside each other."""
        if not self.lines:
            return []
        beside = most // 2 if self.wide else most
        if len(self._systems) <= beside:
            return [self._across()]
        count = math.ceil(len(self.lines) / beside)
        size = math.ceil(len(self.lines) / count)
        starts = range(0, len(self.lines), size)
        return [self._down(self.lines[start : start + size], start > 0) for start in starts]

    def _across(self) -> ReportTable:
        lines = (
            (line.label, *(cells[at] for cells in self._columns(self.lines).values()))
            for at, line in enumerate(self.lines)
        )
        return ReportTable(self.title, ("", *self._columns(self.lines)), tuple(lines))

    def _down(self, lines: Sequence[GridLine], further: bool) -> ReportTable:
        told = ((title, *cells) for title, cells in self._columns(lines).items())
        title = f"{self.title}, continued" if further else self.title
        return ReportTable(title, ("", *(line.label for line in lines)), tuple(told))

    def _columns(self, lines: Sequence[GridLine]) -> dict[str, list[str]]:
        """The cells by what stands above them, or before them."""
        standing = {f"{entry_named(self.subject).title} against the best other": [o.standing for o in lines]}
        systems = {
            entry_named(name).title: [line.cells.get(name, NOTHING) for line in lines]
            for name in self._systems
        }
        return {**(standing if any(line.standing for line in self.lines) else {}), **systems}

    @property
    def _systems(self) -> list[str]:
        return in_order(name for line in self.lines for name in line.cells)


def compared(
    found: Mapping[str, Summary], subject: str, shown: Callable[[float], str], spread: bool
) -> dict[str, str]:
    """A cell for each system: its median, the spread of its samples, and how the subject did against it.

    What is within 5 % of the least is bold.
    """
    least = min((one.median for one in found.values() if one.median > 0), default=0.0)
    best = {name for name, one in found.items() if 0 < one.median < least * EQUAL_WITHIN}
    own = found[subject].median if subject in found else 0.0
    cells = {}
    for name, one in found.items():
        value = unbroken(shown(one.median))
        parts = [f"**{value}**" if name in best and len(found) > 1 else value]
        if spread and len(one.samples) > 1 and one.median > 0:
            parts.append(f"±{one.deviation / one.median:,.0%}")
        if name != subject and own > 0 and one.median > 0:
            parts.append(unbroken(shown_against(own / one.median)))
        cells[name] = " ".join(parts)
    return cells
