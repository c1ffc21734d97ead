"""The encodings of text: inferred from its bytes, and converted to UTF-8."""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable
from typing import Protocol
from unicodedata import category

import numpy as np

UTF8 = "utf-8"
WESTERN, MAC = "cp1252", "mac_roman"
ASCII = "ascii"
_MARKS = (
    (codecs.BOM_UTF8, UTF8),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_MOST_CONTROLS = 0.02
_CONTROLS = bytes(set(range(32)) - set(b"\t\n\r\f\x1b\x1c\x1d\x1e\x1f")) + b"\x7f"
ERRORS, PASSING, REPLACING = "lamella-western", "lamella-passing", "lamella-replacing"
"""How Python's codecs treat bytes that cannot be decoded: as an error, but for those that cp1252 and the like
leave undefined; as a lone surrogate, which is not valid in UTF-8; and as U+FFFD."""
REPLACEMENT = "\ufffd"


def _western_gap(error: UnicodeError) -> tuple[str, int]:
    """Decode the bytes that cp1252 and the like leave undefined as control characters, as Latin-1 does."""
    if isinstance(error, UnicodeDecodeError) and error.encoding in {"charmap", WESTERN}:
        return chr(error.object[error.start]), error.start + 1
    raise error


def _substitution(character: str) -> Callable[[UnicodeError], tuple[str, int]]:
    def substitute(error: UnicodeError) -> tuple[str, int]:
        if isinstance(error, UnicodeDecodeError) and error.encoding not in {"charmap", WESTERN}:
            return character, error.end
        return _western_gap(error)

    return substitute


codecs.register_error(ERRORS, _western_gap)
codecs.register_error(PASSING, _substitution("\udcff"))
codecs.register_error(REPLACING, _substitution(REPLACEMENT))


def find_encoding(head: bytes) -> tuple[str, int]:
    """Return the encoding of a text, inferred from its first bytes, and the length of its byte order mark.

    Bytes that are not valid UTF-8, and contain hardly any UTF-8 sequences, are taken as Western.
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
    """Whether the data has non-ASCII characters that were almost certainly written as UTF-8."""
    ascii_bytes = len(data.translate(None, _OTHERS))
    valid_bytes = data.decode(UTF8, errors="ignore").encode(UTF8)
    sequences = len(valid_bytes.translate(None, _ASCII))
    return sequences > 0 and sequences >= _LEAST_UTF8 * (len(data) - ascii_bytes)


_ASCII, _OTHERS = bytes(range(128)), bytes(range(128, 256))
_LEAST_UTF8 = 0.5
"""The share of non-ASCII bytes: in other encodings, some form UTF-8 sequences by chance."""


def is_text(head: bytes) -> bool:
    """Whether the bytes look like text: hardly any of them are control characters."""
    name, mark = find_encoding(head)
    if name not in {UTF8, WESTERN}:
        return True
    body = head[mark:]
    controls = len(body) - len(body.translate(None, _CONTROLS))
    return controls <= max(1, _MOST_CONTROLS * len(body))


def _wide(head: bytes) -> str | None:
    """The byte order of UTF-16 without a mark, if it is that: every other byte of Western text is zero."""
    units = np.frombuffer(head[: len(head) // 2 * 2], np.uint8).reshape(-1, 2)
    if not len(units):
        return None
    low, high = np.mean(units == 0, axis=0)
    if high > 0.4 and low < 0.1:
        return "utf-16-le"
    return "utf-16-be" if low > 0.4 and high < 0.1 else None


_LONGEST_CHARACTER = 4


class Characters(Protocol):
    @property
    def encoding(self) -> str: ...

    def feed(self, piece: bytes, final: bool, ahead: bytes = b"") -> bytes:
        """Return the whole characters so far as UTF-8; `ahead` is what follows, as far as it is known. Bytes
        that cannot be decoded raise `UnicodeDecodeError`, or are passed on as invalid UTF-8, or replaced."""


def characters(encoding: str, is_named: bool, passing: bool = False, replacing: bool = False) -> Characters:
    """Return a converter to UTF-8. `is_named`: the user chose the encoding, so no other is tried. `passing`:
    bytes that cannot be decoded are passed on. `replacing`: they are replaced by U+FFFD."""
    if encoding == UTF8:
        return Utf8Checker(not is_named, passing, replacing)
    is_strict = is_named and encoding != WESTERN
    if replacing and is_strict:
        return _Converter(encoding, "replace")
    return _Converter(encoding, _errors(passing, replacing, is_strict))


def _errors(passing: bool, replacing: bool, is_strict: bool = False) -> str:
    if replacing:
        return REPLACING
    return PASSING if passing else "strict" if is_strict else ERRORS


class _Converter:
    def __init__(self, encoding: str, errors: str) -> None:
        self.encoding = encoding
        self._decoder = codecs.getincrementaldecoder(encoding)(errors)

    def feed(self, piece: bytes, final: bool, ahead: bytes = b"") -> bytes:
        return self._decoder.decode(piece, final).encode(UTF8, "surrogatepass")


class Utf8Checker:
    """Passes UTF-8 through unchanged. If `lenient`, the encoding of text that was ASCII so far is inferred
    from its first other bytes and those that follow."""

    def __init__(self, lenient: bool, passing: bool = False, replacing: bool = False) -> None:
        self._lenient, self._passing, self._replacing = lenient, passing, replacing
        self._remainder = b""
        self._legacy: _Converter | None = None

    @property
    def encoding(self) -> str:
        return self._legacy.encoding if self._legacy else UTF8

    @property
    def is_decided(self) -> bool:
        return not self._lenient

    def feed(self, piece: bytes, final: bool, ahead: bytes = b"") -> bytes:
        if self._legacy:
            return self._legacy.feed(piece, final)
        data = self._remainder + piece if self._remainder else piece
        cut = len(data) if final else _end_of_characters(data)
        whole, self._remainder = data[:cut], data[cut:]
        if whole.isascii():
            return whole
        if self._lenient:
            self._lenient = False
            sample = _from_first_beyond_ascii(data, ahead)
            if not (is_utf8(sample, final) or has_utf8_sequence(sample)):
                encoding = find_legacy_encoding(sample[:_LEGACY_SAMPLE])
                self._legacy = _Converter(encoding, _errors(self._passing, self._replacing))
                return self._legacy.feed(data, final)
        try:
            whole.decode(UTF8)
        except UnicodeDecodeError:
            if self._replacing:
                return whole.decode(UTF8, "replace").encode()
            if not self._passing:
                raise
        return whole


LATE_SAMPLE, _LEGACY_SAMPLE = 8 << 20, 1 << 20


def _from_first_beyond_ascii(data: bytes, ahead: bytes) -> bytes:
    """The bytes from the line with the first non-ASCII byte on: as many for pieces of any size, so that the
    same encoding is found."""
    first = BEYOND_ASCII.search(data)
    start = data.rfind(b"\n", 0, first.start()) + 1 if first else len(data)
    return (data[start:] + ahead[:LATE_SAMPLE])[:LATE_SAMPLE]


def _end_of_characters(data: bytes) -> int:
    """The end of the last character that is certainly complete."""
    for back in range(1, min(_LONGEST_CHARACTER, len(data)) + 1):
        byte = data[-back]
        if byte < 0x80:
            break
        if byte >= 0xC0:
            length = 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4
            return len(data) - back if length > back else len(data)
    return len(data)


_OF_SEVERAL_BYTES = ("cp932", "gb18030", "big5", "cp949", "euc_jp")
_LEGACY = (
    "cp1252", "cp1250", "cp1251", "cp1253", "cp1254", "cp1255", "cp1256", "cp1257", "koi8_r", "cp437",
    "cp850", "mac_roman", *_OF_SEVERAL_BYTES,
)  # fmt: skip
"""The encodings in question. Bytes that a guess of a single-byte one leaves undefined are control
characters."""
_USUAL = frozenset("äöüÄÖÜßéèêëàâáãåæçîïíìñôóòõøœùûúÿÉÈÀÂÅÆÇÑÓØÚÍÁ€£§°²³µ½¼±×·«»“”„‘’‚–—…•®©™´`¡¿ºª\u00a0")
_MOST_LINES, _MOST_BYTES = 200, 16 << 10
_LEAST_WESTERN = 0.98
"""A text with this share of Western letters and signs among its non-ASCII characters is taken as Western."""
_LIKE_WESTERN = (WESTERN, "cp1254")
_SIGN_IN_WORD = re.compile("(?<=[a-z\u00df-\u00f6])[\u00a1-\u00bf](?=[a-z\u00df-\u00f6])", re.IGNORECASE)
_MOST_ODD = 0.1
"""With this share of the non-ASCII characters as signs inside words, these are letters in another
encoding."""
_LEAST_USUAL_ON_MAC, _LEAST_ODD = 0.9, 0.5
_ALONE, _CLOSING = "ÊÐÑ", "ÓÕ"
"""What cp1252 makes of the no-break space, the dashes and the closing quotes of Macs."""
BEYOND_ASCII = re.compile(rb"[\x80-\xff]")


def find_legacy_encoding(sample: bytes) -> str:
    """The legacy encoding of a text as detected by charset-normalizer; cp1252 if there is no evidence of
    another. One with characters of several bytes has to decode all of the sample."""
    text = _lines_beyond_ascii(sample)
    if _is_mac_roman(text):
        return MAC
    beyond = [sign for sign in text.decode(WESTERN, "replace") if sign > "\x7f"]
    usual = sum(sign in _USUAL for sign in beyond)
    if not beyond or usual >= _LEAST_WESTERN * len(beyond):
        return WESTERN
    from charset_normalizer import from_bytes

    odd = len(_SIGN_IN_WORD.findall(text.decode(WESTERN, "replace")))
    encodings = [name for name in _LEGACY if odd < _MOST_ODD * len(beyond) or name not in _LIKE_WESTERN]
    encodings = [name for name in encodings if name not in _OF_SEVERAL_BYTES or _decodes(sample, name)]
    best = from_bytes(text, cp_isolation=encodings).best()
    return WESTERN if best is None else best.encoding


def _decodes(sample: bytes, encoding: str) -> bool:
    try:
        codecs.getincrementaldecoder(encoding)().decode(sample)
    except UnicodeDecodeError:
        return False
    return True


def _is_mac_roman(text: bytes) -> bool:
    """Whether the signs of a text that older Macs wrote, such as quotes and no-break spaces, would be
    capitals inside words or alone in cp1252: donÕt. charset-normalizer takes so few signs for Western."""
    western, mac = text.decode(WESTERN, ERRORS), text.decode(MAC)
    places = [place for place, byte in enumerate(text) if byte > 0x7F]
    usual = sum(mac[place] in _USUAL for place in places)
    odd_in_western, odd_in_mac = (sum(_is_odd(other, place) for place in places) for other in (western, mac))
    return (
        usual >= _LEAST_USUAL_ON_MAC * len(places)
        and odd_in_western >= _LEAST_ODD * max(1, len(places))
        and odd_in_mac <= (1 - _LEAST_WESTERN) * len(places)
    )


def _is_odd(text: str, place: int) -> bool:
    """Whether a sign is a capital behind a small letter, a capital where only punctuation can be, or a
    control character."""
    sign, before, after = text[place], text[place - 1 : place], text[place + 1 : place + 2]
    if before.islower() and sign.isupper():
        return True
    if before.isalpha() or after.isalpha():
        return False
    return sign in _ALONE or (sign in _CLOSING and bool(before.strip())) or category(sign) == "Cc"


def _lines_beyond_ascii(sample: bytes) -> bytes:
    """Lines with non-ASCII bytes, as many as are needed to detect the encoding."""
    lines = (line for line in sample.splitlines() if BEYOND_ASCII.search(line))
    matches, size = [], 0
    for line in lines:
        matches.append(line)
        size += len(line)
        if len(matches) == _MOST_LINES or size > _MOST_BYTES:
            break
    return b"\n".join(matches)[:_MOST_BYTES]
