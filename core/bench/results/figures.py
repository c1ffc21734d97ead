"""How numbers, systems and operations are shown, and tables of them for a terminal and for Markdown."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from lamella.core.bench.registry import place_in_table, workload_named
from lamella.core.bench.results.records import Sample
from lamella.core.bench.workloads.model import Workload
from lamella.core.errors import LamellaError
from lamella.core.phrases import quantity

EQUAL_WITHIN = 1.05
"""Within this factor, one run cannot tell which is faster."""


def competitors(records: Sequence[Sample]) -> list[str]:
    """The systems of the records in the table's order, Lamella first, the user's own last."""
    return in_order(record.system for record in records)


def in_order(systems: Iterable[str]) -> list[str]:
    """The distinct systems, in the table's order."""
    return sorted(set(systems), key=lambda name: (place_in_table(name), name))


def short_titles(titles: Sequence[str]) -> list[str]:
    """The titles without their configurations in brackets, unless two would become the same."""
    short = [title.partition(" (")[0] for title in titles]
    return [name if short.count(name) == 1 else title for name, title in zip(short, titles, strict=True)]


def shown_seconds(seconds: float) -> str:
    """A time with three significant digits and a unit: "1.93 ms"."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{_digits(seconds / size, 3)} {unit}"
    return f"{seconds * 1e9:.0f} ns"


def shown_bytes(size: float) -> str:
    for unit, step in (("GB", 1e9), ("MB", 1e6), ("KB", 1e3)):
        if size >= step:
            return f"{_digits(size / step, 3)} {unit}"
    return f"{size:,.0f} B"


def shown_factor(times: float) -> str:
    """A factor with two significant digits, or all before the decimal point: "1.4", "52", "1,250"."""
    return _digits(times, 2)


def shown_share(share: float) -> str:
    """One value as a share of another: "÷ 12" is a twelfth, "× 2.0" twice as much."""
    return f"÷ {shown_factor(1 / share)}" if share < 1 else f"× {shown_factor(share)}"


def shown_against(share: float) -> str:
    """Like `shown_share`, or "≈" if one run cannot tell which is more."""
    return "≈" if 1 / EQUAL_WITHIN < share < EQUAL_WITHIN else shown_share(share)


def shown_rows(rows: int) -> str:
    return quantity(rows, "row")


def _digits(value: float, significant: int) -> str:
    """A number with significant digits, never in scientific notation."""
    magnitude = math.floor(math.log10(value))
    if round(value, significant - 1 - magnitude) >= 10.0 ** (magnitude + 1):
        magnitude += 1  # 9.96 to two digits is 10, not 10.0
    return f"{value:,.{max(0, significant - 1 - magnitude)}f}"


def workload_title(name: str) -> str:
    workload = workload_or_none(name)
    return workload.title if workload else name


def workload_about(name: str) -> str:
    workload = workload_or_none(name)
    return workload.about if workload else ""


def operation_title(workload: str, operation: str, call: str = "") -> str:
    """The title of an operation. `call` is "first" or "again" if a question's calls are distinguished."""
    known_workload = workload_or_none(workload)
    title = operation
    if known_workload is not None and known_workload.has(operation):
        title = known_workload.operation(operation).title
    return f"{title}, {call}" if call else title


def workload_or_none(name: str) -> Workload | None:
    """The workload, or None if this version does not have it or its file is gone."""
    try:
        return workload_named(name)
    except LamellaError:
        return None


NO_BREAK = "\N{NO-BREAK SPACE}"
_BOLD = "**"
_FIGURE = re.compile(r"[*÷×≈\s]*\d|–$")


@dataclass(frozen=True)
class ReportTable:
    """A table. Cells may be bold in Markdown; columns of figures are aligned to the right."""

    title: str
    header: tuple[str, ...]
    lines: tuple[tuple[str, ...], ...]

    def as_text(self) -> str:
        lines = [tuple(map(_plain_text, line)) for line in (self.header, *self.lines)]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        return "\n".join([self.title, *(self._align(line, widths) for line in lines)])

    def as_markdown(self) -> str:
        ruler = "|".join("---:" if right else ":---" for right in self._figures)
        return "\n".join(
            [f"**{self.title}**", "", _table_line(self.header), f"|{ruler}|", *map(_table_line, self.lines)]
        )

    @property
    def _figures(self) -> list[bool]:
        """For each column, whether it holds only figures; the first one never counts."""
        columns = list(zip(*self.lines, strict=True)) or [()] * len(self.header)
        return [False, *(all(map(_FIGURE.match, column)) for column in columns[1:])]

    def _align(self, line: Sequence[str], widths: Sequence[int]) -> str:
        cells = zip(line, widths, self._figures, strict=True)
        padded_cells = (cell.rjust(width) if right else cell.ljust(width) for cell, width, right in cells)
        return f"  {'   '.join(padded_cells)}".rstrip()


def unbroken(text: str) -> str:
    """The text with non-breaking spaces, so that browsers do not wrap it in a cell."""
    return text.replace(" ", NO_BREAK)


def _plain_text(cell: str) -> str:
    return cell.replace(_BOLD, "").replace(NO_BREAK, " ")


def _table_line(line: Sequence[str]) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |"
