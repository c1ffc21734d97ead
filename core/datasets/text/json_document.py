"""JSON documents that hold one array of objects, read as if each object stood on a line of its own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from lamella.core.datasets.text.json_lines import JsonLines
from lamella.core.datasets.text.source import Piece, TextSource
from lamella.core.errors import FileProblem

_QUOTE, _BACKSLASH, _COMMA = b'"\\,'
_OPENING, _CLOSING, _BREAKS = (
    np.isin(np.arange(256), np.frombuffer(signs, np.uint8)) for signs in (b"[{", b"]}", b"\n\r")
)
_LINE, _BLANK = np.uint8(10), np.uint8(32)
LONGEST_BEGINNING = 64 << 20
"""How much may stand before the array."""


class JsonDocument(JsonLines):
    """The objects of an array, which are counted: the lines they were put on do not tell where they stand."""

    label = "JSON"
    unit = "object"


def holds_array(head: bytes) -> bool:
    """Whether a text may be such a document: an array of objects, or an object that is no JSON line."""
    text = head.lstrip()
    if text.startswith(b"["):
        return text[1:].lstrip()[:1] in (b"{", b"]")
    return text.startswith(b"{") and text[1:].lstrip()[:1] in (b'"', b"}")


@dataclass(frozen=True)
class ArraySource(TextSource):
    """The text of a document with each object of its array on a line, without what stands around it."""

    def pieces(self, size: int) -> Iterator[Piece]:
        scanner = _Scanner(self.path)
        for piece in super().pieces(size):
            data = scanner.lines(piece.data)
            if piece.last:
                scanner.refuse_unfinished()
            yield Piece(data, piece.done, piece.last)


class _Scanner:
    """Finds brackets and commas outside of strings, from one piece of the text to the next."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._rest = b""  # what may continue in the next piece: a string's backslashes, the beginning
        self._in_string = False
        self._depth = self._base = 0
        self._is_over = False

    def lines(self, data: bytes) -> bytes:
        data = self._rest + data
        cut = len(data)
        while cut and data[cut - 1] == _BACKSLASH:
            cut -= 1
        data, self._rest = data[:cut], data[cut:]
        if not self._base:
            begin = self._beginning(data)
            if begin is None:
                self._rest = data + self._rest
                if len(self._rest) > LONGEST_BEGINNING:
                    raise self._no_array()
                return b""
            data = data[begin:]
        return self._split(np.frombuffer(data, np.uint8).copy(), data)

    def _beginning(self, data: bytes) -> int | None:
        """Where the array's first bracket is behind; None where more of the text is needed."""
        text = data.lstrip()
        if not text:
            return None
        if text.startswith(b"["):
            self._base = self._depth = 1
            return data.index(b"[") + 1
        places, steps = _brackets(data, _quotes(data))
        depths = np.cumsum(steps)
        arrays: list[int] = places[(depths == 2) & (steps > 0)].tolist()
        for place in arrays:
            following = data[place + 1 :].lstrip()[:1]
            if data[place : place + 1] == b"[" and following == b"{":
                self._base = self._depth = 2
                return place + 1
            if data[place : place + 1] == b"[" and not following:
                return None
        if len(depths) and depths[-1] <= 0:
            raise self._no_array()
        return None

    def _split(self, signs: np.ndarray, data: bytes) -> bytes:
        if self._is_over:
            self._refuse_rest(data)
            return b""
        quotes = _quotes(data)
        outside = 1 if self._in_string else 0
        places, steps = _brackets(data, quotes, outside)
        depths = self._depth + np.cumsum(steps)
        ends = np.flatnonzero(depths < self._base)
        end = int(places[ends[0]]) if len(ends) else len(data)
        breaks = np.flatnonzero(_BREAKS[signs])
        signs[breaks[np.searchsorted(quotes, breaks) % 2 == outside]] = _BLANK
        commas = np.flatnonzero(signs == _COMMA)
        commas = commas[np.searchsorted(quotes, commas) % 2 == outside]
        known = np.concatenate([[self._depth], depths])
        signs[commas[known[np.searchsorted(places, commas)] == self._base]] = _LINE
        if len(ends):
            self._is_over, self._in_string, self._depth = True, False, self._base - 1
            self._refuse_rest(data[end + 1 :])
            return signs[:end].tobytes() + b"\n"
        self._in_string = (len(quotes) + outside) % 2 == 1
        self._depth = int(known[-1])
        return signs.tobytes()

    def _refuse_rest(self, data: bytes) -> None:
        """Other members of an object may stand behind its array, but nothing behind the document, nor another
        array of objects."""
        quotes, outside = _quotes(data), 1 if self._in_string else 0
        places, steps = _brackets(data, quotes, outside)
        depths = self._depth + np.cumsum(steps)
        ends = np.flatnonzero(depths <= 0)
        begin = 0 if self._depth <= 0 else int(places[ends[0]]) + 1 if len(ends) else len(data)
        if data[begin:].strip():
            raise FileProblem(
                self._path,
                "goes on behind its first value",
                "A JSON document is one value",
                "Write one array, or JSON lines: one object a line",
            )
        for place in places[(depths == 2) & (steps > 0)].tolist():
            if data[place : place + 1] == b"[" and data[place + 1 :].lstrip()[:1] == b"{":
                raise FileProblem(
                    self._path,
                    "holds several arrays of objects",
                    "Only one of them could be the rows",
                    "Write the one you want to a file of its own (jq '.name' does it)",
                )
        self._in_string = (len(quotes) + outside) % 2 == 1
        self._depth = int(depths[-1]) if len(depths) else self._depth

    def refuse_unfinished(self) -> None:
        """Raise `FileProblem` for a text that ended before the array did."""
        if not self._base:
            raise self._no_array()
        if not self._is_over:
            raise FileProblem(
                self._path,
                "ends inside its array",
                "It was cut off, or a bracket or quote in it is never closed",
                "Fetch or write it again",
            )

    def _no_array(self) -> FileProblem:
        return FileProblem(
            self._path,
            "is a JSON document without an array of objects",
            "Rows are the objects of an array, which is all of the document or a member of it",
            "Write it as JSON lines: one object a line (jq -c does it)",
        )


def _quotes(data: bytes) -> np.ndarray:
    """Where quotes are that no backslash stands before, or an even number of them."""
    signs = np.frombuffer(data, np.uint8)
    quotes = np.flatnonzero(signs == _QUOTE)
    after = quotes[quotes > 0]
    escaped = after[signs[after - 1] == _BACKSLASH]
    if not len(escaped):
        return quotes
    plain = np.flatnonzero(signs != _BACKSLASH)
    before = np.searchsorted(plain, escaped)
    last = np.where(before > 0, plain[before - 1], -1)
    odd = escaped[(escaped - 1 - last) % 2 == 1]
    return np.setdiff1d(quotes, odd, assume_unique=True)


def _brackets(data: bytes, quotes: np.ndarray, outside: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Where brackets are outside of strings, and what each adds to the depth."""
    signs = np.frombuffer(data, np.uint8)
    places = np.flatnonzero(_OPENING[signs] | _CLOSING[signs])
    places = places[np.searchsorted(quotes, places) % 2 == outside]
    return places, np.where(_OPENING[signs[places]], 1, -1)
