"""The text of a file as UTF-8, whatever its encoding and compression."""

from __future__ import annotations

import lzma
import stat
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Protocol

import pyarrow as pa

from lamella.core.datasets.locate import Stamp, cannot_read, fingerprint_of, refuse_changed_files
from lamella.core.datasets.options import codec_name
from lamella.core.datasets.text.encodings import (
    ASCII,
    LATE_SAMPLE,
    REPLACEMENT,
    UTF8,
    WESTERN,
    Utf8Checker,
    characters,
    find_encoding,
    find_legacy_encoding,
    is_utf8,
)
from lamella.core.errors import Advice, FileProblem
from lamella.core.phrases import quantity

if TYPE_CHECKING:
    import zipfile

XZ, ZIP = "xz", "zip"
_COMPRESSIONS = (
    (b"\x1f\x8b", "gzip"),
    (b"\x28\xb5\x2f\xfd", "zstd"),
    (b"BZh", "bz2"),
    (b"\xfd7zXZ\0", XZ),
    (b"PK\x03\x04", ZIP),
)
_ENCRYPTION_FLAG = 1
_ZIP_METHODS = (0, 8, 12, 14)
"""The numbers of the methods that Python reads: stored, deflated, bzip2 and LZMA."""


class Bytes(Protocol):
    def read(self, size: int, /) -> bytes: ...


@dataclass(frozen=True)
class Piece:
    """A stretch of text. `progress` is the number of bytes of the file read up to its end. `doubtful`: some
    bytes are not text. `encoding` is that of the file as far as it was read."""

    data: bytes
    progress: int
    last: bool
    doubtful: bool = False
    encoding: str = UTF8


@dataclass(frozen=True)
class TextSource:
    """A text file as a source of UTF-8. `fingerprint` is (size, mtime in ns) when it was opened; a file that
    has changed since is refused.

    `is_named`: the user chose the encoding. `passing`: bytes that are not text are passed on, not refused.
    `replacing`: bytes that cannot be decoded are replaced by U+FFFD."""

    path: Path
    encoding: str
    is_named: bool
    mark_bytes: int
    compression: str | None
    fingerprint: tuple[int, int]
    passing: bool = False
    replacing: bool = False

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
        reader = characters(self.encoding, self.is_named, self.passing, self.replacing)
        line = 1
        with open_bytes(self.path, self.compression) as (raw, position):
            raw.read(self.mark_bytes)
            ahead = _read(raw, size)
            while True:
                now, ahead = ahead, _read(raw, size)
                try:
                    data = reader.feed(now, not ahead, ahead)
                except UnicodeDecodeError as error:
                    raise self._broken_encoding(line, error, reader.encoding, is_all=not ahead) from error
                doubtful = self.passing and (b"\0" in data or not is_utf8(data))
                if not self.passing:
                    self._refuse_nul(data, line)
                yield Piece(data, position(), not ahead, doubtful, reader.encoding)
                if not ahead:
                    return
                line += data.count(b"\n")

    def final_encoding(self) -> str:
        """Return the encoding of the whole text: one that begins as ASCII may stay so, or become another."""
        if self.encoding != UTF8 or self.is_named:
            return self.encoding
        reader = Utf8Checker(lenient=True)
        with open_bytes(self.path, self.compression) as (raw, _):
            raw.read(self.mark_bytes)
            ahead = _read(raw, LATE_SAMPLE)
            while ahead and not reader.is_decided:
                now, ahead = ahead, _read(raw, LATE_SAMPLE)
                with suppress(UnicodeDecodeError):
                    reader.feed(now, not ahead, ahead)
        return reader.encoding if reader.is_decided else ASCII

    @property
    def stamp(self) -> Stamp:
        return (str(self.path), *self.fingerprint)

    def refuse_changed_file(self) -> None:
        refuse_changed_files([self.stamp])

    def _broken_encoding(
        self, line: int, error: UnicodeDecodeError, encoding: str, is_all: bool
    ) -> FileProblem:
        """`is_all`: the end of the file was read, too, so that all such places can be counted."""
        bad, data = error.object[error.start], error.object
        line += data[: error.start].count(b"\n")
        why = f"The byte 0x{bad:02X} is not a valid character there ({error.reason})"
        more = _broken_places(data[error.start :]) - 1 if encoding == UTF8 else 0
        if more > 0:
            why += f"; there {'are' if more > 1 else 'is'} {quantity(more, 'more such place')}"
            why += " behind it" if is_all else " in the next megabytes"
        return FileProblem(
            self.path,
            f"has bytes in line {line:,} that are not {encoding}",
            why,
            Advice(
                f"{_SAVE_OR_NAME}, leave such lines out (bad_lines='set-aside'), or read these bytes as "
                f"'{REPLACEMENT}' (bad_bytes='replace')",
                _SAVE_OR_NAME,
                f"{_SAVE_OR_NAME}, leave such lines out (--bad-lines set-aside), or read these bytes as "
                f"'{REPLACEMENT}' (--bad-bytes replace)",
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
    valid = data.decode(UTF8, errors="ignore").count(REPLACEMENT)
    return data.decode(UTF8, errors="replace").count(REPLACEMENT) - valid


def open_source(
    path: Path, encoding: str | None, sample_bytes: int, *, passing: bool = False, replacing: bool = False
) -> TextSource:
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
        name = find_legacy_encoding(sample)
    return TextSource(path, name, encoding is not None, mark, compression, fingerprint, passing, replacing)


def compression_of(head: bytes) -> str | None:
    return next((name for magic, name in _COMPRESSIONS if head.startswith(magic)), None)


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
    if member.flag_bits & _ENCRYPTION_FLAG:
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
