"""JSON documents with one array of objects, read as if each object were on its own line."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from lamella.core.datasets.text.json_lines import JsonLines
from lamella.core.datasets.text.source import Piece, TextSource
from lamella.core.errors import FileProblem

_QUOTE, _OPENING, _CLOSING, _COMMA, _BREAK = range(1, 6)
_SIGNS = b'"[{]},\n\r'
_PLAIN_BYTES = bytes(set(range(256)) - set(_SIGNS))
_KINDS = bytes.maketrans(
    _SIGNS + _PLAIN_BYTES,
    bytes((_QUOTE, _OPENING, _OPENING, _CLOSING, _CLOSING, _COMMA, _BREAK, _BREAK))
    + bytes(len(_PLAIN_BYTES)),
)
"""The table for `translate`, which is several times as fast as a lookup in NumPy."""
_BACKSLASH = ord("\\")
_LINE, _BLANK = ord("\n"), ord(" ")
LONGEST_BEGINNING = 64 << 20
"""The most bytes that may precede the array."""


class JsonDocument(JsonLines):
    """The objects of an array. Messages number objects instead of lines, since lines do not match the
    file's."""

    label = "JSON"
    unit = "object"


def holds_array(head: bytes) -> bool:
    """Whether a text may be such a document: it begins with an array of objects or with an object."""
    text = head.lstrip()
    if text.startswith(b"["):
        return text[1:].lstrip()[:1] in (b"{", b"]")
    return text.startswith(b"{") and text[1:].lstrip()[:1] in (b'"', b"}")


@dataclass(frozen=True)
class ArraySource(TextSource):
    """The text of a document with each object of its array on its own line, and nothing else."""

    def pieces(self, size: int) -> Iterator[Piece]:
        scanner = _Scanner(self.path)
        for piece in super().pieces(size):
            data = scanner.lines(piece.data)
            if piece.last:
                scanner.refuse_unfinished_text()
            yield Piece(data, piece.progress, piece.last, encoding=piece.encoding)


class _Scanner:
    """Finds brackets and commas outside strings, with state that carries over from piece to piece."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._remainder = (
            b""  # may continue in the next piece: backslashes in a string, text before the array
        )
        self._in_string = False
        self._depth = self._base = 0
        self._is_over = False

    def lines(self, data: bytes) -> bytes:
        data = self._remainder + data
        cut = len(data)
        while cut and data[cut - 1] == _BACKSLASH:
            cut -= 1
        data, self._remainder = data[:cut], data[cut:]
        if not self._base:
            begin = self._beginning(data)
            if begin is None:
                self._remainder = data + self._remainder
                if len(self._remainder) > LONGEST_BEGINNING:
                    raise self._no_array()
                return b""
            data = data[begin:]
        return self._split(data)

    def _beginning(self, data: bytes) -> int | None:
        """The position after the array's opening bracket; None if more text is needed to find it."""
        text = data.lstrip()
        if not text:
            return None
        if text.startswith(b"["):
            self._base = self._depth = 1
            return data.index(b"[") + 1
        signs = _Signs(data, in_string=False)
        for place, following in signs.arrays(0):
            if following == b"{":
                self._base = self._depth = 2
                return place + 1
            if not following:
                return None
        if len(signs.places) and signs.depths(0)[-1] <= 0:
            raise self._no_array()
        return None

    def _split(self, data: bytes) -> bytes:
        if self._is_over:
            self._refuse_remainder(data)
            return b""
        signs, text = _Signs(data, self._in_string), np.frombuffer(data, np.uint8).copy()
        depths = signs.depths(self._depth)
        text[signs.places[signs.kinds == _BREAK]] = _BLANK
        text[signs.places[(signs.kinds == _COMMA) & (depths == self._base)]] = _LINE
        ends = np.flatnonzero(depths < self._base)
        if len(ends):
            end = int(signs.places[ends[0]])
            self._is_over, self._in_string, self._depth = True, False, self._base - 1
            self._refuse_remainder(data[end + 1 :])
            return text[:end].tobytes() + b"\n"
        self._in_string = signs.ends_in_string
        self._depth = int(depths[-1]) if len(depths) else self._depth
        return text.tobytes()

    def _refuse_remainder(self, data: bytes) -> None:
        """Raise `FileProblem` for text after the document, and for another array of objects; other members
        may follow the array."""
        signs = _Signs(data, self._in_string)
        depths = signs.depths(self._depth)
        ends = np.flatnonzero(depths <= 0)
        begin = 0 if self._depth <= 0 else int(signs.places[ends[0]]) + 1 if len(ends) else len(data)
        if data[begin:].strip():
            raise FileProblem(
                self._path,
                "continues after its first value",
                "A JSON document is a single value",
                "Write one array, or JSON lines: one object per line",
            )
        if any(following == b"{" for _, following in signs.arrays(self._depth)):
            raise FileProblem(
                self._path,
                "holds several arrays of objects",
                "Only one of them could be the rows",
                "Write the one you want to its own file (for instance with jq '.name')",
            )
        self._in_string = signs.ends_in_string
        self._depth = int(depths[-1]) if len(depths) else self._depth

    def refuse_unfinished_text(self) -> None:
        """Raise `FileProblem` if the text ended before the array."""
        if not self._base:
            raise self._no_array()
        if not self._is_over:
            raise FileProblem(
                self._path,
                "ends inside its array",
                "It was cut off, or a bracket or quote in it is never closed",
                "Download or write it again",
            )

    def _no_array(self) -> FileProblem:
        return FileProblem(
            self._path,
            "is a JSON document without an array of objects",
            "Rows are the objects of an array, which is the whole document or a member of its object",
            "Write it as JSON lines: one object per line (for instance with jq -c)",
        )


class _Signs:
    """The positions and kinds of brackets, commas and line breaks outside strings."""

    def __init__(self, data: bytes, in_string: bool) -> None:
        self._data = data
        view, kinds = np.frombuffer(data, np.uint8), np.frombuffer(data.translate(_KINDS), np.uint8)
        places = np.flatnonzero(kinds)
        kinds = kinds[places]
        quotes = kinds == _QUOTE
        if b"\\" in data:
            quotes[quotes] = ~_escape_mask(view, places[quotes])
        inside = (np.cumsum(quotes, dtype=np.int32) + in_string) & 1
        outside = (inside == 0) & (kinds != _QUOTE)
        self.places, self.kinds = places[outside], kinds[outside]
        self.ends_in_string = bool(inside[-1]) if len(inside) else in_string

    def depths(self, before: int) -> np.ndarray:
        """Return the nesting depth after each sign."""
        steps = (self.kinds == _OPENING).astype(np.int8) - (self.kinds == _CLOSING)
        depths: np.ndarray = before + np.cumsum(steps, dtype=np.int64)
        return depths

    def arrays(self, before: int) -> Iterator[tuple[int, bytes]]:
        """Yield the position of each array that is a member of the document's object, and the first byte in
        it."""
        members = self.places[(self.kinds == _OPENING) & (self.depths(before) == 2)]
        for place in members.tolist():
            if self._data[place : place + 1] == b"[":
                yield place, self._data[place + 1 :].lstrip()[:1]


def _escape_mask(view: np.ndarray, quotes: np.ndarray) -> np.ndarray:
    """A mask of the quotes that follow an odd number of backslashes."""
    escaped = (quotes > 0) & (view[quotes - 1] == _BACKSLASH)
    doubtful = quotes[escaped]
    if len(doubtful):
        plain = np.flatnonzero(view != _BACKSLASH)
        before = np.searchsorted(plain, doubtful)
        last = np.where(before > 0, plain[before - 1], -1)
        escaped[escaped] = (doubtful - 1 - last) % 2 == 1
    return np.asarray(escaped)
