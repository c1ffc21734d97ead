"""A stream of bytes in some encoding as UTF-8, piece by piece."""

from __future__ import annotations

from typing import Protocol

from lamella.core.datasets.text.encoding import UTF8, WESTERN, decoder, has_utf8_sequence

_LONGEST_CHARACTER = 4


class Characters(Protocol):
    def feed(self, piece: bytes, final: bool) -> bytes:
        """Whole characters as UTF-8; raises `UnicodeDecodeError`."""


def characters(encoding: str, told: bool) -> Characters:
    """`told`: a person named the encoding, so nothing else is tried."""
    return _Checked(lenient=not told) if encoding == UTF8 else _Converted(encoding)


class _Converted:
    def __init__(self, encoding: str) -> None:
        self._decoder = decoder(encoding)

    def feed(self, piece: bytes, final: bool) -> bytes:
        return self._decoder.decode(piece, final).encode(UTF8, "surrogatepass")


class _Checked:
    """UTF-8 goes through as it is. When `lenient`, text that was plain ASCII so far and then has bytes
    that are not UTF-8 is Western from there on."""

    def __init__(self, lenient: bool) -> None:
        self._lenient = lenient
        self._held = b""
        self._western: Characters | None = None

    def feed(self, piece: bytes, final: bool) -> bytes:
        if self._western:
            return self._western.feed(piece, final)
        data = self._held + piece if self._held else piece
        cut = len(data) if final else _end_of_characters(data)
        whole, self._held = data[:cut], data[cut:]
        if whole.isascii():
            return whole
        try:
            whole.decode(UTF8)
        except UnicodeDecodeError:
            if not self._lenient or has_utf8_sequence(whole):
                raise
            self._western = _Converted(WESTERN)
            return self._western.feed(data, final)
        self._lenient = False
        return whole


def _end_of_characters(data: bytes) -> int:
    """Where the last character that is surely whole ends."""
    for back in range(1, min(_LONGEST_CHARACTER, len(data)) + 1):
        byte = data[-back]
        if byte < 0x80:
            break
        if byte >= 0xC0:
            length = 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4
            return len(data) - back if length > back else len(data)
    return len(data)
