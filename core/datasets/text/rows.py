"""Where rows end in a stretch of text, quoted line breaks left alone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class RowEnds:
    """`quote` None: every line break ends a row. `blank_rows`: a line with nothing on it is a row, too."""

    newline: bytes = b"\n"
    delimiter: bytes = b","
    quote: bytes | None = None
    blank_rows: bool = False

    def none_in(self, data: bytes) -> bool:
        """Whether there is no row in whole lines of text."""
        return not data if self.blank_rows else not data.strip(b"\r\n")

    def last(self, data: bytes) -> int:
        """How many bytes of `data`, which begins with a row, are whole rows."""
        if self.quote is None or self.quote not in data:
            return data.rfind(self.newline) + 1
        quotes = np.flatnonzero(np.frombuffer(data, np.uint8) == self.quote[0])
        if self._paired(data, quotes):
            return self._last_outside(data, quotes)
        return self._last_scanned(data)

    def _paired(self, data: bytes, quotes: np.ndarray) -> bool:
        """Whether every quote opens a field, closes one or is doubled, so that counting them is enough."""
        framed = np.frombuffer(self.newline + data + self.newline, np.uint8)
        openers, closers = quotes[0::2], quotes[1::2]
        doubled = closers[: len(openers[1:])] + 1 == openers[1:]
        starts = self._among(framed[openers], self.delimiter + b"\n\r")
        starts[1:] |= doubled
        ends = self._among(framed[closers + 2], self.delimiter + b"\n\r")
        ends[: len(doubled)] |= doubled
        return bool(starts.all() and ends.all())

    @staticmethod
    def _among(found: np.ndarray, wanted: bytes) -> np.ndarray:
        return np.isin(found, np.frombuffer(wanted, np.uint8))

    def _last_outside(self, data: bytes, quotes: np.ndarray) -> int:
        end = data.rfind(self.newline)
        while end >= 0:
            before = int(np.searchsorted(quotes, end))
            if before % 2 == 0:
                break
            end = data.rfind(self.newline, 0, int(quotes[before - 1]))
        return end + 1

    def _last_scanned(self, data: bytes) -> int:
        """Field by field, for text where quotes also stand inside plain fields."""
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
        found = data.find(self.quote, place)
        while found > 0 and data[found - 1] not in before:
            found = data.find(self.quote, found + 1)
        return found

    def _closing(self, data: bytes, place: int) -> int:
        assert self.quote is not None
        found = data.find(self.quote, place)
        while found >= 0 and data[found + 1 : found + 2] == self.quote:
            found = data.find(self.quote, found + 2)
        return found
