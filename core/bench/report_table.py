"""A table of texts, for a terminal and for Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class ReportTable:
    title: str
    header: tuple[str, ...]
    lines: tuple[tuple[str, ...], ...]

    def as_text(self) -> str:
        widths = [max(map(len, column)) for column in zip(self.header, *self.lines, strict=True)]
        return "\n".join([self.title, *(_aligned(line, widths) for line in (self.header, *self.lines))])

    def as_markdown(self) -> str:
        ruler = "|:---|" + "---:|" * (len(self.header) - 1)
        return "\n".join([f"**{self.title}**", "", _piped(self.header), ruler, *map(_piped, self.lines)])


def _aligned(line: Sequence[str], widths: Sequence[int]) -> str:
    return "  " + "   ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True))


def _piped(line: Sequence[str]) -> str:
    return f"| {' | '.join(line)} |"
