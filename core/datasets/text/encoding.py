"""Which characters a text's bytes stand for."""

from __future__ import annotations

import codecs

import numpy as np

UTF8 = "utf-8"
WESTERN = "cp1252"
_MARKS = (
    (codecs.BOM_UTF8, UTF8),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_MOST_CONTROLS = 0.02
_CONTROLS = bytes(set(range(32)) - set(b"\t\n\r\f\x1b\x1c\x1d\x1e\x1f")) + b"\x7f"
ERRORS = "lamella-western"


def _western_gap(error: UnicodeError) -> tuple[str, int]:
    """The five bytes that cp1252 leaves open are control characters, as in Latin-1."""
    if isinstance(error, UnicodeDecodeError) and error.encoding in {"charmap", WESTERN}:
        return chr(error.object[error.start]), error.start + 1
    raise error


codecs.register_error(ERRORS, _western_gap)


def find_encoding(head: bytes) -> tuple[str, int]:
    """The encoding of a text by its first bytes, and how many of them are a byte order mark.

    Bytes that are not UTF-8 although none of them is a UTF-8 sequence either are taken as Western.
    """
    for mark, name in _MARKS:
        if head.startswith(mark):
            return name, len(mark)
    if b"\0" in head:
        return _wide(head) or UTF8, 0
    return (UTF8 if is_utf8(head, final=False) or has_utf8_sequence(head) else WESTERN), 0


def is_utf8(data: bytes, final: bool = True) -> bool:
    if data.isascii():
        return True
    try:
        codecs.getincrementaldecoder(UTF8)().decode(data, final)
    except UnicodeDecodeError:
        return False
    return True


def has_utf8_sequence(data: bytes) -> bool:
    """Whether characters beyond ASCII are there that were surely written as UTF-8."""
    known = data.decode(UTF8, errors="ignore")
    return not known.isascii()


def is_text(head: bytes) -> bool:
    """Whether the bytes read as text: hardly any control characters among them."""
    name, mark = find_encoding(head)
    if name not in {UTF8, WESTERN}:
        return True
    body = head[mark:]
    controls = len(body) - len(body.translate(None, _CONTROLS))
    return controls <= max(1, _MOST_CONTROLS * len(body))


def decoder(name: str) -> codecs.IncrementalDecoder:
    return codecs.getincrementaldecoder(name)(ERRORS if name == WESTERN else "strict")


def _wide(head: bytes) -> str | None:
    """UTF-16 without a mark: every other byte of Western text is zero."""
    units = np.frombuffer(head[: len(head) // 2 * 2], np.uint8).reshape(-1, 2)
    if not len(units):
        return None
    low, high = np.mean(units == 0, axis=0)
    if high > 0.4 and low < 0.1:
        return "utf-16-le"
    return "utf-16-be" if low > 0.4 and high < 0.1 else None
