"""A text file in stretches of whole rows, each of which can be read by itself, on any thread."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from lamella.core.datasets.text.rows import RowEnds
from lamella.core.datasets.text.source import TextSource
from lamella.core.errors import FileProblem

LONGEST_ROW = 64 << 20
"""Bytes of UTF-8. Reading a row takes several times its size in memory."""


@dataclass(frozen=True)
class Block:
    """`first_line` counts from 1; `done` is how many bytes of the file were read by the block's end."""

    number: int
    data: bytes
    first_line: int
    done: int


def blocks(source: TextSource, ends: RowEnds, size: int, skip_lines: int = 0) -> Iterator[Block]:
    """Blocks of about `size` bytes, after the lines to skip, without those that hold no row."""
    line, number, held = 1, 0, b""
    for piece in source.pieces(size):
        held += piece.data
        if line <= skip_lines:
            start, lines = _after_lines(held, skip_lines - line + 1, ends.newline)
            held, line = held[start:], line + lines
            if line <= skip_lines:
                continue
        cut = _end(source, held, ends, line) if piece.last else ends.last(held)
        if not cut and len(held) > LONGEST_ROW:
            raise endless_row(source, ends, held, line)
        data, held = held[:cut], held[cut:]
        if not ends.none_in(data):
            yield Block(number, data, line, piece.done)
            number += 1
        line += data.count(ends.newline)


def first_block(source: TextSource, data: bytes, whole: bool, ends: RowEnds, skip_lines: int) -> Block:
    """The whole rows at the beginning of a file of which `data` is the first stretch."""
    start, lines = _after_lines(data, skip_lines, ends.newline)
    rest = data[start:] if lines == skip_lines else b""
    cut = _end(source, rest, ends, lines + 1) if whole else ends.last(rest)
    return Block(0, rest[:cut], lines + 1, start + cut)


def _end(source: TextSource, data: bytes, ends: RowEnds, line: int) -> int:
    """The end of a file ends its last row, with or without a line break, but not inside quotes."""
    cut = ends.last(data + ends.newline)
    if cut <= len(data):
        raise FileProblem(
            source.path,
            f"opens a quote in the row at line {line + data[:cut].count(ends.newline):,} and never closes it",
            "Everything from there to the end of the file would be one value",
            "Close or remove that quote",
        )
    return len(data)


def _after_lines(data: bytes, lines: int, newline: bytes) -> tuple[int, int]:
    """Where the first `lines` lines end, or as many of them as do, and how many those are."""
    place = 0
    for number in range(lines):
        end = data.find(newline, place)
        if end < 0:
            return place, number
        place = end + 1
    return place, lines


def endless_row(source: TextSource, ends: RowEnds, row: bytes, line: int) -> FileProblem:
    quoted = ends.quote is not None and ends.quote in row
    return FileProblem(
        source.path,
        f"has a row at line {line:,} that does not end within {LONGEST_ROW >> 20} MB",
        "A quote that opens there is probably never closed" if quoted else "Longer rows are not read",
        "Look at that line for a stray quote"
        if quoted
        else "Check that its rows stand on lines of their own",
    )
