"""A table of texts, for a terminal and for Markdown."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

NO_BREAK = "\N{NO-BREAK SPACE}"
_BOLD = "**"
_FIGURE = re.compile(r"[*÷×≈\s]*\d|–$")


@dataclass(frozen=True)
class ReportTable:
    """Cells may have Markdown's bold; columns of figures stand to the right."""

    title: str
    header: tuple[str, ...]
    lines: tuple[tuple[str, ...], ...]

    def as_text(self) -> str:
        lines = [tuple(map(_plain, line)) for line in (self.header, *self.lines)]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        return "\n".join([self.title, *(self._aligned(line, widths) for line in lines)])

    def as_markdown(self) -> str:
        ruler = "|".join("---:" if right else ":---" for right in self._figures)
        return "\n".join(
            [f"**{self.title}**", "", _piped(self.header), f"|{ruler}|", *map(_piped, self.lines)]
        )

    @property
    def _figures(self) -> list[bool]:
        """Of each column but the first, whether it holds nothing else."""
        columns = list(zip(*self.lines, strict=True)) or [()] * len(self.header)
        return [False, *(all(map(_FIGURE.match, column)) for column in columns[1:])]

    def _aligned(self, line: Sequence[str], widths: Sequence[int]) -> str:
        cells = zip(line, widths, self._figures, strict=True)
        told = (cell.rjust(width) if right else cell.ljust(width) for cell, width, right in cells)
        return f"  {'   '.join(told)}".rstrip()


def unbroken(text: str) -> str:
    """Stays on one line where a browser folds a cell."""
    return text.replace(" ", NO_BREAK)


def _plain(cell: str) -> str:
    return cell.replace(_BOLD, "").replace(NO_BREAK, " ")


def _piped(line: Sequence[str]) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |"
