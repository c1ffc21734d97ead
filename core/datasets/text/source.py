"""The text of a file as UTF-8, whatever its encoding and compression."""

from __future__ import annotations

import codecs
import lzma
import re
import stat
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Protocol
from unicodedata import category

import numpy as np
import pyarrow as pa

from lamella.core.datasets.locate import Stamp, cannot_read, fingerprint_of, refuse_changed_files
from lamella.core.datasets.options import codec_name
from lamella.core.errors import Advice, FileProblem
from lamella.core.phrases import quantity

if TYPE_CHECKING:
    import zipfile

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
ERRORS = "lamella-western"


def _western_gap(error: UnicodeError) -> tuple[str, int]:
    """Decode the bytes that cp1252 and the like leave undefined as control characters, as Latin-1 does."""
    if isinstance(error, UnicodeDecodeError) and error.encoding in {"charmap", WESTERN}:
        return chr(error.object[error.start]), error.start + 1
    raise error


codecs.register_error(ERRORS, _western_gap)
PASSING = "lamella-passing"


def _pass(error: UnicodeError) -> tuple[str, int]:
    """Replace bytes that cannot be decoded by a lone surrogate, which is not valid in UTF-8."""
    if not isinstance(error, UnicodeDecodeError):
        raise error
    if error.encoding in {"charmap", WESTERN}:
        return _western_gap(error)
    return "\udcff", error.end


codecs.register_error(PASSING, _pass)


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
    ascii_bytes = len(data.translate(None, _BEYOND_ASCII))
    known = data.decode(UTF8, errors="ignore").encode(UTF8)
    sequences = len(known.translate(None, _ASCII))
    return sequences > 0 and sequences >= _LEAST_UTF8 * (len(data) - ascii_bytes)


_ASCII, _BEYOND_ASCII = bytes(range(128)), bytes(range(128, 256))
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
_PIECE_BYTES = 8 << 20


class Characters(Protocol):
    def feed(self, piece: bytes, final: bool) -> bytes:
        """Return the whole characters so far as UTF-8. Bytes that cannot be decoded raise
        `UnicodeDecodeError`, or are passed on as invalid UTF-8."""


def characters(encoding: str, is_named: bool, passing: bool = False) -> Characters:
    """Return a converter to UTF-8. `is_named`: the user chose the encoding, so no other is tried. `passing`:
    bytes that cannot be decoded are passed on."""
    if encoding == UTF8:
        return _Utf8Checker(not is_named, passing)
    return _Converter(encoding, passing, is_strict=is_named and encoding != WESTERN)


class _Converter:
    def __init__(self, encoding: str, passing: bool = False, is_strict: bool = False) -> None:
        errors = PASSING if passing else "strict" if is_strict else ERRORS
        self._decoder = codecs.getincrementaldecoder(encoding)(errors)

    def feed(self, piece: bytes, final: bool) -> bytes:
        return self._decoder.decode(piece, final).encode(UTF8, "surrogatepass")


class _Utf8Checker:
    """Passes UTF-8 through unchanged. If `lenient`, text that was ASCII so far is read as Western from the
    first bytes on that are not UTF-8."""

    def __init__(self, lenient: bool, passing: bool = False) -> None:
        self._lenient, self._passing = lenient, passing
        self._remainder = b""
        self._western: Characters | None = None

    @property
    def encoding(self) -> str:
        return WESTERN if self._western else UTF8

    @property
    def is_decided(self) -> bool:
        return self._western is not None or not self._lenient

    def feed(self, piece: bytes, final: bool) -> bytes:
        if self._western:
            return self._western.feed(piece, final)
        data = self._remainder + piece if self._remainder else piece
        cut = len(data) if final else _end_of_characters(data)
        whole, self._remainder = data[:cut], data[cut:]
        if whole.isascii():
            return whole
        try:
            whole.decode(UTF8)
        except UnicodeDecodeError:
            if not self._lenient or has_utf8_sequence(whole):
                if self._passing:
                    return whole
                raise
            self._western = _Converter(WESTERN)
            return self._western.feed(data, final)
        self._lenient = False
        return whole


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
_BEYOND = re.compile(rb"[\x80-\xff]")


def _find_legacy_encoding(sample: bytes) -> str:
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
    lines = (line for line in sample.splitlines() if _BEYOND.search(line))
    chosen, size = [], 0
    for line in lines:
        chosen.append(line)
        size += len(line)
        if len(chosen) == _MOST_LINES or size > _MOST_BYTES:
            break
    return b"\n".join(chosen)[:_MOST_BYTES]


XZ, ZIP = "xz", "zip"
_COMPRESSED = (
    (b"\x1f\x8b", "gzip"),
    (b"\x28\xb5\x2f\xfd", "zstd"),
    (b"BZh", "bz2"),
    (b"\xfd7zXZ\0", XZ),
    (b"PK\x03\x04", ZIP),
)
_ENCRYPTED = 1
_ZIP_METHODS = (0, 8, 12, 14)
"""The numbers of the methods that Python reads: stored, deflated, bzip2 and LZMA."""


class Bytes(Protocol):
    def read(self, size: int, /) -> bytes: ...


@dataclass(frozen=True)
class Piece:
    """A stretch of text. `progress` is the number of bytes of the file read up to its end. `doubtful`: some
    bytes are not text."""

    data: bytes
    progress: int
    last: bool
    doubtful: bool = False


@dataclass(frozen=True)
class TextSource:
    """A text file as a source of UTF-8. `fingerprint` is (size, mtime in ns) when it was opened; a file that
    has changed since is refused.

    `is_named`: the user chose the encoding. `passing`: bytes that are not text are passed on, not refused."""

    path: Path
    encoding: str
    is_named: bool
    mark_bytes: int
    compression: str | None
    fingerprint: tuple[int, int]
    passing: bool = False

    @property
    def size(self) -> int:
        return self.fingerprint[0]

    def beginning(self, size: int) -> tuple[bytes, bool]:
        """Return about the first `size` bytes, which may end inside a row, and whether that is all."""
        piece = next(self.pieces(size))
        return piece.data, piece.last

    def pieces(self, size: int) -> Iterator[Piece]:
        """Yield stretches of about `size` bytes. Raises `FileProblem` at the first that is not text, unless
        `passing`."""
        self.refuse_changed_file()
        reader = characters(self.encoding, self.is_named, self.passing)
        line = 1
        with open_bytes(self.path, self.compression) as (raw, position):
            raw.read(self.mark_bytes)
            ahead = _read(raw, size)
            while True:
                now, ahead = ahead, _read(raw, size)
                try:
                    data = reader.feed(now, final=not ahead)
                except UnicodeDecodeError as error:
                    raise self._broken_encoding(line, error, is_all=not ahead) from error
                doubtful = self.passing and (b"\0" in data or not is_utf8(data))
                if not self.passing:
                    self._refuse_nul(data, line)
                yield Piece(data, position(), not ahead, doubtful)
                if not ahead:
                    return
                line += data.count(b"\n")

    def final_encoding(self) -> str:
        """Return the encoding of the whole text: one that begins as ASCII may stay so, or become Western."""
        if self.encoding != UTF8 or self.is_named:
            return self.encoding
        reader = _Utf8Checker(lenient=True)
        with open_bytes(self.path, self.compression) as (raw, _):
            raw.read(self.mark_bytes)
            while not reader.is_decided and (piece := raw.read(_PIECE_BYTES)):
                reader.feed(piece, final=False)
        return reader.encoding if reader.is_decided else ASCII

    @property
    def stamp(self) -> Stamp:
        return (str(self.path), *self.fingerprint)

    def refuse_changed_file(self) -> None:
        refuse_changed_files([self.stamp])

    def _broken_encoding(self, line: int, error: UnicodeDecodeError, is_all: bool) -> FileProblem:
        """`is_all`: the end of the file was read, too, so that all such places can be counted."""
        bad, data = error.object[error.start], error.object
        line += data[: error.start].count(b"\n")
        why = f"The byte 0x{bad:02X} is not a valid character there ({error.reason})"
        more = _broken_places(data[error.start :]) - 1 if self.encoding == UTF8 else 0
        if more > 0:
            why += f"; there {'are' if more > 1 else 'is'} {quantity(more, 'more such place')}"
            why += " behind it" if is_all else " in the next megabytes"
        return FileProblem(
            self.path,
            f"has bytes in line {line:,} that are not {self.encoding}",
            why,
            Advice(
                f"{_SAVE_OR_NAME}, or leave such lines out: bad_lines='set-aside'",
                _SAVE_OR_NAME,
                f"{_SAVE_OR_NAME}, or leave such lines out: --bad-lines set-aside",
            ),
        )

    def _refuse_nul(self, data: bytes, line: int) -> None:
        if b"\0" in data:
            line += data[: data.index(b"\0")].count(b"\n")
            raise FileProblem(
                self.path,
                f"holds a NUL byte in line {line:,}",
                "Text has none: the file is partly binary, or was damaged",
                "Write it again, or remove the NUL bytes",
            )


_SAVE_OR_NAME = "Save it as UTF-8, or name its encoding when opening it, such as cp1252 for Western text"


def _broken_places(data: bytes) -> int:
    """The number of places that are not UTF-8."""
    valid = data.decode(UTF8, errors="ignore").count("\ufffd")
    return data.decode(UTF8, errors="replace").count("\ufffd") - valid


def open_source(path: Path, encoding: str | None, sample_bytes: int, *, passing: bool = False) -> TextSource:
    """Return the file as a source of text, with its compression and encoding detected from its first
    bytes."""
    fingerprint = fingerprint_of(path)
    with open_bytes(path, None) as (raw, _):
        compression = compression_of(raw.read(8))
    with open_bytes(path, compression) as (raw, _):
        sample = _read(raw, sample_bytes)
    name, mark = find_encoding(sample)
    if encoding is not None:
        name = codec_name(encoding)
    elif name == WESTERN:
        name = _find_legacy_encoding(sample)
    return TextSource(path, name, encoding is not None, mark, compression, fingerprint, passing)


def compression_of(head: bytes) -> str | None:
    return next((name for magic, name in _COMPRESSED if head.startswith(magic)), None)


@contextmanager
def open_bytes(path: Path, compression: str | None) -> Iterator[tuple[Bytes, Callable[[], int]]]:
    """Give the decompressed bytes, and a function for the number of bytes of the file read so far."""
    try:
        with path.open("rb") as file:
            if compression is None:
                yield file, file.tell
            else:
                with _decompress(path, file, compression) as plain:
                    yield _BoundedReader(plain, file.tell, path), file.tell
    except (OSError, EOFError, lzma.LZMAError, zlib.error) as error:
        if isinstance(error, OSError) and (compression is None or error.errno is not None):
            raise cannot_read(path, error) from error
        raise FileProblem(
            path,
            f"could not be decompressed as {compression}",
            str(error),
            "It may be cut off: download it again",
        ) from error


@contextmanager
def _decompress(path: Path, file: BinaryIO, compression: str) -> Iterator[Bytes]:
    if compression == XZ:
        with lzma.open(file) as plain:
            yield plain
    elif compression == ZIP:
        from zipfile import BadZipFile, ZipFile

        try:
            with ZipFile(file) as archive, archive.open(_only_member(path, archive)) as plain:
                yield plain
        except BadZipFile as error:
            raise EOFError(str(error)) from error
    else:
        with pa.CompressedInputStream(pa.PythonFile(file), compression) as plain:
            yield plain


def _only_member(path: Path, archive: zipfile.ZipFile) -> zipfile.ZipInfo:
    """The only file in the archive. Its name is ignored, so nothing is written to where it says."""
    (member,) = members(archive)
    if member.flag_bits & _ENCRYPTED:
        raise FileProblem(
            path, "is protected by a password", "Encrypted archives cannot be read", "Unpack it first"
        )
    if stat.S_ISLNK(member.external_attr >> 16):
        raise FileProblem(
            path, "holds a link, not a file", "Links in archives are not followed", "Unpack it first"
        )
    if member.compress_type not in _ZIP_METHODS:
        raise FileProblem(
            path, "uses a compression that is not supported here", "ZIP has many", "Unpack it first"
        )
    return member


def members(archive: zipfile.ZipFile) -> list[zipfile.ZipInfo]:
    """Return the files of an archive, without those that macOS adds."""
    return [
        each for each in archive.infolist() if not each.is_dir() and not each.filename.startswith("__MACOSX/")
    ]


MOST_PLAIN_BYTES, MOST_TIMES = 512 << 20, 500
"""A file that unpacks to more bytes than this, and to more times its own size, is taken for a decompression
bomb."""


class _BoundedReader:
    """Refuses compressed data that expands too much, whatever size it claims to have."""

    def __init__(self, plain: Bytes, position: Callable[[], int], path: Path) -> None:
        self._plain, self._position, self._path = plain, position, path
        self._total = 0

    def read(self, size: int, /) -> bytes:
        data = self._plain.read(size)
        self._total += len(data)
        if self._total > MOST_PLAIN_BYTES and self._total > MOST_TIMES * self._position():
            raise FileProblem(
                self._path,
                f"is more than {MOST_TIMES:,} times as large when it is decompressed",
                f"{self._position():,} bytes gave {self._total >> 20:,} MB so far, "
                "as real data hardly ever does",
                "Check where it comes from; to open it all the same, decompress it yourself",
            )
        return data


def _read(raw: Bytes, size: int) -> bytes:
    """Read `size` bytes, or fewer at the end."""
    piece = raw.read(size)
    while 0 < len(piece) < size and (more := raw.read(size - len(piece))):
        piece += more
    return piece
