"""A text file in blocks of whole rows; each can be read independently, on any thread."""

from __future__ import annotations

import re
from collections.abc import Generator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Protocol

import numpy as np
import pyarrow as pa

from lamella.core.arrow.sorted_ids import union
from lamella.core.datasets.base import Problem
from lamella.core.datasets.blocks import Reading
from lamella.core.datasets.text.encodings import UTF8, is_utf8
from lamella.core.datasets.text.source import TextSource
from lamella.core.datasets.text.types import join_json, solid
from lamella.core.errors import FileProblem


@dataclass(frozen=True)
class RowEnds:
    """How rows end. If `quote` is None, every line break ends a row. If `blank_rows`, an empty line is a
    row."""

    newline: bytes = b"\n"
    delimiter: bytes = b","
    quote: bytes | None = None
    blank_rows: bool = False

    def has_no_row(self, data: bytes) -> bool:
        """Whether the lines contain no row."""
        return not data if self.blank_rows else not data.strip(b"\r\n")

    def last(self, data: bytes) -> int:
        """Return how many bytes of `data`, which begins at the start of a row, are complete rows."""
        if self.quote is None or self.quote not in data:
            return data.rfind(self.newline) + 1
        quotes = np.flatnonzero(np.frombuffer(data, np.uint8) == self.quote[0])
        if self._are_paired(data, quotes):
            return self._last_outside(data, quotes)
        return self._scan_last_end(data)

    def _are_paired(self, data: bytes, quotes: np.ndarray) -> bool:
        """Whether every quote opens a field, closes one or is doubled, so that it is enough to count them."""
        framed = np.frombuffer(self.newline + data + self.newline, np.uint8)
        openers, closers = quotes[0::2], quotes[1::2]
        doubled = closers[: len(openers[1:])] + 1 == openers[1:]
        starts = self._among(framed[openers], self.delimiter + b"\n\r")
        starts[1:] |= doubled
        ends = self._among(framed[closers + 2], self.delimiter + b"\n\r")
        ends[: len(doubled)] |= doubled
        return bool(starts.all() and ends.all())

    def spans(self, data: bytes, lone_returns: bool = True) -> tuple[np.ndarray, np.ndarray]:
        """Return the start and stop of each row, blank lines included; the stop is after the line break.
        `lone_returns`: whether a carriage return without a newline is a line break."""
        view = np.frombuffer(data, np.uint8)
        breaks = np.flatnonzero(view == ord("\n"))
        if lone_returns and b"\r" in data:
            returns = np.flatnonzero(view == ord("\r"))
            follows = view[np.minimum(returns + 1, len(view) - 1)] == ord("\n")
            breaks = union(breaks, returns[~follows])
        if self.quote is not None and self.quote in data:
            breaks = breaks[~self._inside_quotes(data, breaks)]
        stops = breaks + 1
        if data and (not len(stops) or stops[-1] != len(data)):
            stops = np.append(stops, len(data))
        return np.append(0, stops[:-1]) if len(stops) else stops, stops

    def _inside_quotes(self, data: bytes, places: np.ndarray) -> np.ndarray:
        assert self.quote is not None
        quotes = np.flatnonzero(np.frombuffer(data, np.uint8) == self.quote[0])
        if not self._are_paired(data, quotes):
            ends = [0]
            while (opened := self._next_opening(data, ends[-1])) >= 0:
                closed = self._closing(data, opened + 1)
                ends += [opened, closed + 1 if closed >= 0 else len(data)]
            quotes = np.array(ends[1:], np.int64)
        inside: np.ndarray = np.searchsorted(quotes, places) % 2 == 1
        return inside

    def field_end(self, row: bytes, place: int) -> int:
        """Return where the field that begins at `place` ends: at a delimiter, or at the end of the row."""
        if self.quote is not None and row.startswith(self.quote, place):
            closed = self._closing(row, place + 1)
            place = len(row) if closed < 0 else closed + 1
        end = row.find(self.delimiter, place)
        return end if end >= 0 else len(row)

    @staticmethod
    def _among(places: np.ndarray, sign: bytes) -> np.ndarray:
        table = np.zeros(256, bool)
        table[np.frombuffer(sign, np.uint8)] = True
        among: np.ndarray = table[places]
        return among

    def _last_outside(self, data: bytes, quotes: np.ndarray) -> int:
        end = data.rfind(self.newline)
        while end >= 0:
            before = int(np.searchsorted(quotes, end))
            if before % 2 == 0:
                break
            end = data.rfind(self.newline, 0, int(quotes[before - 1]))
        return end + 1

    def _scan_last_end(self, data: bytes) -> int:
        """The end of the last whole row, found field by field, for text with quotes inside unquoted
        fields."""
        assert self.quote is not None
        last = place = 0
        while (opened := self._next_opening(data, place)) >= 0:
            last = max(last, data.rfind(self.newline, place, opened) + 1)
            closed = self._closing(data, opened + 1)
            if closed < 0:
                return last
            place = closed + 1
        return max(last, data.rfind(self.newline, place) + 1)

    def _next_opening(self, data: bytes, place: int) -> int:
        assert self.quote is not None
        before = {*self.delimiter, *b"\n\r"}
        at = data.find(self.quote, place)
        while at > 0 and data[at - 1] not in before:
            at = data.find(self.quote, at + 1)
        return at

    def _closing(self, data: bytes, place: int) -> int:
        assert self.quote is not None
        at = data.find(self.quote, place)
        while at >= 0 and data[at + 1 : at + 2] == self.quote:
            at = data.find(self.quote, at + 2)
        return at


BEGINNING = 1 << 10
"""The bytes of an overlong line that are kept for the list of problems."""
LONGEST_ROW = 64 << 20
"""Bytes of UTF-8. Reading a row takes several times its size in memory."""


@dataclass(frozen=True)
class TextBlock:
    """Whole rows of a text file. `first_line` counts from 1; `progress` is the number of bytes of the file
    that were read up to the block's end. `doubtful`: it may hold lines that are not text or not whole rows.
    `too_long` are overlong lines before it, which were left out. `encoding` is that of the file up to its
    end."""

    number: int
    data: bytes
    first_line: int
    progress: int
    doubtful: bool = False
    too_long: tuple[Problem, ...] = ()
    encoding: str = UTF8


def blocks(
    source: TextSource, ends: RowEnds, size: int, skip_lines: int = 0
) -> Generator[TextBlock, None, None]:
    """Yield blocks of about `size` bytes that contain rows, after the lines to skip. If the source passes
    bytes that are not text, rows that never end are passed, too, in doubtful blocks; else `FileProblem` is
    raised."""
    line, number, tail, doubtful = 1, 0, b"", False
    too_long: tuple[Problem, ...] = ()
    is_after_return = False
    for piece in source.pieces(size):
        tail += piece.data
        if is_after_return and tail:  # both are one line break, though a piece ended between them
            tail, is_after_return = tail.removeprefix(b"\n"), False
        doubtful |= piece.doubtful
        if line <= skip_lines:
            start, lines = after_lines(tail, skip_lines - line + 1, piece.last)
            tail, line = tail[start:], line + lines
            if line <= skip_lines:
                continue
        cut, is_open = _cut(source, tail, ends, line, piece.last)
        if not cut and is_open and not piece.last:
            too_long, tail = _longer(too_long, tail, line), b""
            continue
        if not cut and not piece.last:
            continue
        data, tail = tail[:cut], tail[cut:].removeprefix(b"\n") if ends.newline == b"\r" else tail[cut:]
        is_after_return = ends.newline == b"\r" and not tail
        if too_long:
            data, line = data[data.find(ends.newline) + 1 or len(data) :], line + 1
        if not ends.has_no_row(data) or too_long:
            is_doubtful = doubtful or is_open or bool(too_long)
            yield TextBlock(number, data, line, piece.progress, is_doubtful, too_long, piece.encoding)
            number += 1
        line += data.count(ends.newline)
        doubtful, too_long = piece.doubtful and bool(tail), ()


def _cut(source: TextSource, tail: bytes, ends: RowEnds, line: int, is_last: bool) -> tuple[int, bool]:
    """Where the last whole row ends (0 if the first is incomplete), and whether a row never ends. Such a row
    is cut at a line break if the source passes bad text; else `FileProblem` is raised."""
    cut = ends.last(tail + ends.newline) if is_last else ends.last(tail)
    is_open = cut <= len(tail) if is_last else not cut and len(tail) > LONGEST_ROW
    if is_open and not source.passing:
        raise (
            unclosed_quote_error(source, tail[:cut], ends, line)
            if is_last
            else endless_row(source, ends, tail, line)
        )
    if is_last:
        return len(tail), is_open
    return (tail.rfind(ends.newline) + 1 if is_open else cut), is_open


def _longer(problems: tuple[Problem, ...], data: bytes, line: int) -> tuple[Problem, ...]:
    """The problems with an overlong line added, unless one is listed already."""
    text = data[:BEGINNING].decode(errors="replace")
    return problems or (Problem(line, text, f"It is longer than {LONGEST_ROW >> 20} MB"),)


def first_block(source: TextSource, data: bytes, whole: bool, ends: RowEnds, skip_lines: int) -> TextBlock:
    """Return the whole rows in `data`, the beginning of a file."""
    start, lines = after_lines(data, skip_lines, whole)
    tail = data[start:] if lines == skip_lines else b""
    doubtful = source.passing and (b"\0" in tail or not is_utf8(tail))
    cut = ends.last(tail + ends.newline) if whole else ends.last(tail)
    if whole and cut <= len(tail):
        if not source.passing:
            raise unclosed_quote_error(source, tail[:cut], ends, lines + 1)
        doubtful = True
    cut = len(tail) if whole else cut
    return TextBlock(0, tail[:cut], lines + 1, start + cut, doubtful, encoding=source.encoding)


def unclosed_quote_error(source: TextSource, before: bytes, ends: RowEnds, line: int) -> FileProblem:
    """The error for a quote that is still open at the end of the file."""
    return FileProblem(
        source.path,
        f"opens a quote in the row at line {line + before.count(ends.newline):,} and never closes it",
        "Everything from there to the end of the file would be one value",
        "Close or remove that quote, or leave out what cannot be read (bad_lines='set-aside')",
    )


def after_lines(data: bytes, lines: int, whole: bool) -> tuple[int, int]:
    """Return where the first `lines` lines end, and how many of them there are, which may be fewer. Unless
    `data` is the `whole` rest of the file, a carriage return at its end does not count yet: a line feed may
    follow."""
    ends = [line_break.end() for line_break in islice(_LINE_BREAK.finditer(data), lines)]
    if ends and ends[-1] == len(data) and data.endswith(b"\r") and not whole:
        ends.pop()
    return ends[-1] if ends else 0, len(ends)


_LINE_BREAK = re.compile(rb"\r\n?|\n")


def endless_row(source: TextSource, ends: RowEnds, row: bytes, line: int) -> FileProblem:
    quoted = ends.quote is not None and ends.quote in row
    return FileProblem(
        source.path,
        f"has a row at line {line:,} that does not end within {LONGEST_ROW >> 20} MB",
        "A quote that opens there is probably never closed" if quoted else "Longer rows are not read",
        "Look at that line for a stray quote" if quoted else "Check that each row is on its own line",
    )


class TextFormat(Protocol):
    """How a text file holds rows. Implementations have no state, so blocks can be read in parallel."""

    path: Path
    label: str
    skip_lines: int
    ends: RowEnds

    def find_schema(self, block: TextBlock) -> pa.Schema:
        """Return the columns of a first block; a column without values has the type null."""

    def read(self, block: TextBlock, schema: pa.Schema) -> Reading:
        """Return the block's rows. Raises `FileProblem` if they cannot be parsed. Call `read_block`
        instead."""


def solid_schema(schema: pa.Schema) -> pa.Schema:
    return pa.schema([pa.field(field.name, solid(field.type)) for field in schema])


def join_schemas(a: pa.Schema, b: pa.Schema) -> pa.Schema:
    """Return columns with types that fit both schemas, matched by name; those only in `b` come last."""
    kinds = {field.name: field.type for field in a}
    for field in b:
        kinds[field.name] = join_json(kinds.get(field.name, pa.null()), field.type)
    return pa.schema([pa.field(name, kind) for name, kind in kinds.items()])
