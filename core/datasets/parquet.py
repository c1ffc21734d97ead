"""Parquet files read where they lie, any number of them as one dataset."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import repeat
from operator import attrgetter
from pathlib import Path

from lamella.core.dataset import Dataset
from lamella.core.datasets.columns import FileColumns
from lamella.core.datasets.contents import Contents, look_into
from lamella.core.datasets.hive import folder_columns, noted_types
from lamella.core.datasets.locate import Found
from lamella.core.datasets.options import Checksums
from lamella.core.errors import FileProblem
from lamella.core.scan.file_checks import AT_ONCE_BYTES
from lamella.core.scan.footers import EncryptedColumns, Footer, UnknownType, check_whole, footer
from lamella.core.scan.snapshot import FileSegment, Snapshot

MAGIC = b"PAR1"
FOOTER_READERS = 8


def is_parquet(contents: Contents) -> bool:
    return contents.head.startswith(MAGIC) and (contents.tail.endswith(MAGIC) or b"\0" in contents.head)


class ParquetDataset(Dataset):
    """Files with the same columns by name. Their order may differ, a missing column reads as null,
    and a type widens where every value stays exact."""

    format = "Parquet"

    def __init__(self, found: Found, checksums: Checksums = "verify") -> None:
        """Small files are checked now, so that damage is told when they are opened."""
        self.name, self.paths = found.name, found.files
        is_verified = checksums == "verify"
        self._snapshot = _snapshot(found, _footers(found.files, is_verified))
        files = [segment for segment in self._snapshot.segments if isinstance(segment, FileSegment)]
        check_whole(list(_small(files)) if is_verified else [])

    def snapshot(self) -> Snapshot:
        return self._snapshot


def _small(files: Sequence[FileSegment]) -> Iterator[FileSegment]:
    """The first files, as far as to read them whole takes no time."""
    room = AT_ONCE_BYTES
    for file in files:
        room -= file.fingerprint[0] if file.fingerprint else 0
        if room < 0:
            return
        yield file


def _footers(files: tuple[Path, ...], is_verified: bool) -> list[Footer]:
    """Parsing releases the interpreter, so many files are opened side by side."""
    if len(files) == 1:
        return [_footer(files[0], is_verified)]
    with ThreadPoolExecutor(FOOTER_READERS) as readers:
        return list(readers.map(_footer, files, repeat(is_verified)))


def _any_in_microseconds(footers: list[Footer]) -> bool:
    """Whether times of 96 bits are in microseconds in some file; they may have to be decoded to tell."""
    timed = _with_int96(footers)
    if not timed:
        return False
    with ThreadPoolExecutor(FOOTER_READERS) as readers:
        units = [told.unit for told in readers.map(attrgetter("int96"), timed)]
    return "us" in units


def _with_int96(footers: list[Footer]) -> list[Footer]:
    """The files that may have times of 96 bits. Most files are like the one before."""
    found: list[Footer] = []
    before, has_any = None, False
    for told in footers:
        if before is None or not told.metadata.schema.equals(before.metadata.schema):
            before, has_any = told, bool(told.int96_columns)
        if has_any:
            found.append(told)
    return found


def _footer(path: Path, is_verified: bool) -> Footer:
    try:
        return footer(path, is_verified)
    except EncryptedColumns:
        raise
    except UnknownType as problem:
        raise _naming_columns(problem) from problem
    except FileProblem as problem:
        raise _diagnosis(path, problem) from problem


def _naming_columns(problem: UnknownType) -> FileProblem:
    from lamella.core.datasets.untyped import untyped_columns

    why = problem.why
    if names := untyped_columns(problem.path):
        why += f"; only the program that wrote it can tell the type of {', '.join(map(repr, names))}"
    return FileProblem(problem.path, problem.what.removeprefix(f"{problem.path}: "), why, problem.fix)


def _diagnosis(path: Path, problem: FileProblem) -> FileProblem:
    contents = look_into(path)
    if not contents.head.startswith(MAGIC):
        return FileProblem(path, "is not a Parquet file", "It does not begin with PAR1", "Open it by itself")
    if contents.tail.endswith(MAGIC):
        return FileProblem(
            path,
            "has a damaged Parquet footer",
            problem.why,
            "Fetch or write the file again; it was not changed",
        )
    return FileProblem(
        path,
        "is a Parquet file that was cut off",
        f"Its {contents.size:,} bytes do not end with PAR1, so the footer is missing",
        "Copy or download it again, or wait until it is written",
    )


def _snapshot(found: Found, footers: list[Footer]) -> Snapshot:
    columns = FileColumns(coarse_int96=_any_in_microseconds(footers))
    names = [columns.take(told) for told in footers]
    stored = columns.unified(footers)
    types = noted_types([told.metadata.metadata for told in footers])
    named, constants = folder_columns(found.root, [told.path for told in footers], stored, types)
    segments = tuple(
        FileSegment(told.path, told.num_rows, keys, told.fingerprint, values, is_verified=told.is_verified)
        for told, keys, values in zip(footers, names, constants, strict=True)
        if told.num_rows
    )
    token = ("parquet", *((str(told.path), *told.fingerprint, told.is_verified) for told in footers))
    return Snapshot(found.name, (*stored, *named), segments, token)
