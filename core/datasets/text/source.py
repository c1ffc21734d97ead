"""A text file's bytes as UTF-8, whatever its encoding and compression."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import pyarrow as pa

from lamella.core.datasets.locate import cannot_read
from lamella.core.datasets.text.characters import characters
from lamella.core.datasets.text.encoding import find_encoding
from lamella.core.errors import FileProblem, nearest

_COMPRESSED = ((b"\x1f\x8b", "gzip"), (b"\x28\xb5\x2f\xfd", "zstd"), (b"BZh", "bz2"))
_ENCODINGS = ("utf-8", "utf-16", "utf-16-le", "utf-16-be", "cp1252", "latin-1", "cp1250", "cp1251", "gb18030")


class Bytes(Protocol):
    def read(self, size: int, /) -> bytes: ...


@dataclass(frozen=True)
class Piece:
    """`done` is how many bytes of the file were read by its end."""

    data: bytes
    done: int
    last: bool


@dataclass(frozen=True)
class TextSource:
    """`fingerprint` is (size, mtime in ns) when it was opened; a file that changed since is refused."""

    path: Path
    encoding: str
    told: bool
    mark_bytes: int
    compression: str | None
    fingerprint: tuple[int, int]

    @property
    def size(self) -> int:
        return self.fingerprint[0]

    def beginning(self, size: int) -> tuple[bytes, bool]:
        """About the first `size` bytes, maybe cut inside a row, and whether that is all."""
        piece = next(self.pieces(size))
        return piece.data, piece.last

    def pieces(self, size: int) -> Iterator[Piece]:
        """Stretches of about `size` bytes; raises `FileProblem` at the first that is no text."""
        self.refuse_changed()
        reader = characters(self.encoding, self.told)
        line = 1
        with open_bytes(self.path, self.compression) as (raw, done):
            raw.read(self.mark_bytes)
            ahead = _read(raw, size)
            while True:
                now, ahead = ahead, _read(raw, size)
                try:
                    data = reader.feed(now, final=not ahead)
                except UnicodeDecodeError as error:
                    raise self._broken_encoding(line, error) from error
                self._refuse_nul(data, line)
                yield Piece(data, done(), not ahead)
                if not ahead:
                    return
                line += data.count(b"\n")

    def refuse_changed(self) -> None:
        if fingerprint_of(self.path) != self.fingerprint:
            raise FileProblem(
                self.path, "changed on disk since it was opened", fix="Reload it to see its new content"
            )

    def _broken_encoding(self, line: int, error: UnicodeDecodeError) -> FileProblem:
        bad = error.object[error.start]
        line += error.object[: error.start].count(b"\n")
        return FileProblem(
            self.path,
            f"has bytes in line {line:,} that are not {self.encoding}",
            f"The byte 0x{bad:02X} stands for no character there ({error.reason})",
            "Save it as UTF-8, or name its encoding when opening it, such as cp1252 for Western text",
        )

    def _refuse_nul(self, data: bytes, line: int) -> None:
        if b"\0" in data:
            line += data[: data.index(b"\0")].count(b"\n")
            raise FileProblem(
                self.path,
                f"holds a NUL byte in line {line:,}",
                "Text has none: the file is binary in part, or was damaged",
                "Write it again, or remove the NUL bytes",
            )


def open_source(path: Path, encoding: str | None, sample_bytes: int) -> TextSource:
    """What the file's first bytes tell of its compression and encoding."""
    found = fingerprint_of(path)
    with open_bytes(path, None) as (raw, _):
        compression = compression_of(raw.read(4))
    with open_bytes(path, compression) as (raw, _):
        name, mark = find_encoding(_read(raw, sample_bytes))
    if encoding is not None:
        name = _known(encoding)
    return TextSource(path, name, encoding is not None, mark, compression, found)


def compression_of(head: bytes) -> str | None:
    return next((name for magic, name in _COMPRESSED if head.startswith(magic)), None)


def fingerprint_of(path: Path) -> tuple[int, int]:
    try:
        status = path.stat()
    except OSError as error:
        raise cannot_read(path, error) from error
    return status.st_size, status.st_mtime_ns


@contextmanager
def open_bytes(path: Path, compression: str | None) -> Iterator[tuple[Bytes, Callable[[], int]]]:
    """The plain bytes, and how many bytes of the file were read for them so far."""
    try:
        with path.open("rb") as file:
            if compression is None:
                yield file, file.tell
            else:
                with pa.CompressedInputStream(pa.PythonFile(file), compression) as plain:
                    yield plain, file.tell
    except OSError as error:
        if compression is None or error.errno is not None:
            raise cannot_read(path, error) from error
        raise FileProblem(
            path,
            f"could not be decompressed as {compression}",
            str(error),
            "It may be cut off: fetch it again",
        ) from error


def _read(raw: Bytes, size: int) -> bytes:
    """`size` bytes, fewer only at the end."""
    piece = raw.read(size)
    while 0 < len(piece) < size and (more := raw.read(size - len(piece))):
        piece += more
    return piece


def _known(encoding: str) -> str:
    try:
        return codecs.lookup(encoding).name
    except LookupError as error:
        near = nearest(encoding, _ENCODINGS)
        raise ValueError(f"no encoding is called '{encoding}'; did you mean {near or _ENCODINGS}?") from error
