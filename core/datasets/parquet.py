"""Parquet files read in place, any number of them as one dataset."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from operator import attrgetter
from pathlib import Path

import pyarrow as pa

from lamella.core.arrow.types import common_type
from lamella.core.datasets.base import Checksums, Dataset, Problem
from lamella.core.datasets.contents import Contents, look_into
from lamella.core.datasets.locate import Location
from lamella.core.datasets.partitions import folder_columns, noted_types
from lamella.core.errors import FileProblem
from lamella.core.jobs import current_job, on_behalf_of
from lamella.core.scan.file_checks import AT_ONCE_BYTES
from lamella.core.scan.parquet_file import (
    Footer,
    check_whole,
    footer_of,
    statistics_of,
)
from lamella.core.scan.partial_footer import UnreadableColumns
from lamella.core.scan.snapshot import Column, FileSegment, Snapshot

ROUNDING = (
    "Some times of this column had nanoseconds, which were cut off: others are before 1677 or after 2262, "
    "which only microseconds can express. To keep the nanoseconds, move those other times to another column"
)
ABSURD = (
    "Some times of this column are invalid: they are more than 292,000 years away, and show as wrong times"
)
_EXACT_INTEGERS = range(-(1 << 53), (1 << 53) + 1)


class FileColumns:
    """The columns of several files by name, in the order in which they first appear, each with a type that
    fits its values in all files."""

    def __init__(self, coarse_int96: bool = False) -> None:
        """`coarse_int96`: some of the files need microseconds for their times of 96 bits, so microseconds are
        used in every file where they change no value."""
        self._coarse_int96 = coarse_int96
        self._keys: dict[str, int] = {}
        self._types: list[pa.DataType] = []
        self._first_footers: list[Footer] = []
        self._whole_and_double: set[str] = set()
        self._last: tuple[Footer, dict[int, str]] | None = None

    def take(self, footer: Footer, omitted_names: Collection[str] = ()) -> dict[int, str]:
        """Add a file's columns, but those left out, and return their names in the file by key. Files with the
        same schema share one dict."""
        if self._last and self._are_alike(footer, self._last[0]):
            return self._last[1]
        _refuse_duplicates(footer)
        fields = [field for field in self._schema(footer) if field.name not in omitted_names]
        names = {self._key(field, footer): field.name for field in fields}
        self._last = (footer, names)
        return names

    def unify(self, footers: Sequence[Footer]) -> tuple[Column, ...]:
        """Return the columns of all added files. Raises `FileProblem` if a value would change."""
        for name in self._whole_and_double:
            self._refuse_inexact(name, footers)
        int96 = [footer.int96 for footer in _with_int96(footers) if footer.int96]
        notes = {name: ROUNDING for times in int96 for name in times.rounded_columns}
        notes |= {name: ABSURD for times in int96 for name in times.absurd}
        return tuple(
            Column(name, self._types[key], key, note=notes.get(name, "")) for name, key in self._keys.items()
        )

    def _are_alike(self, footer: Footer, sibling: Footer) -> bool:
        if not footer.metadata.schema.equals(sibling.metadata.schema):
            return False
        return sibling.int96 is None or self._schema(footer).equals(self._schema(sibling))

    def _schema(self, footer: Footer) -> pa.Schema:
        coarse = self._coarse_int96 and footer.int96 is not None and footer.int96.whole
        return footer.coarse_schema if coarse else footer.schema

    def _key(self, field: pa.Field, footer: Footer) -> int:
        key = self._keys.setdefault(field.name, len(self._types))
        if key == len(self._types):
            self._types.append(field.type)
            self._first_footers.append(footer)
            return key
        wide = common_type(self._types[key], field.type)
        if wide is None and _is_whole_and_double(self._types[key], field.type):
            self._whole_and_double.add(field.name)
            wide = pa.float64()
            if pa.types.is_floating(field.type):
                self._first_footers[key] = footer
        if wide is None:
            raise self._conflict(field, footer)
        self._types[key] = wide
        return key

    def _refuse_inexact(self, name: str, footers: Sequence[Footer]) -> None:
        """Raise `FileProblem` if a column of integers here and doubles there, as pandas writes columns with
        gaps, cannot become one of doubles: the statistics must show that every integer is exact as a
        double."""
        for footer in footers:
            place = footer.schema.get_field_index(name)
            if (
                place >= 0
                and pa.types.is_integer(footer.schema.field(place).type)
                and not _fits_double(footer, name)
            ):
                raise self._conflict(footer.schema.field(place), footer)

    def _conflict(self, field: pa.Field, footer: Footer) -> FileProblem:
        key = self._keys[field.name]
        other = self._first_footers[key].path
        return FileProblem(
            footer.path,
            f"column '{field.name}' is {field.type} here but {self._types[key]} in {other}",
            "No single type keeps the values of both",
            "Open the files one by one",
        )


def _is_whole_and_double(a: pa.DataType, b: pa.DataType) -> bool:
    whole, double = (a, b) if pa.types.is_integer(a) else (b, a)
    return bool(pa.types.is_integer(whole) and pa.types.is_float64(double))


def _fits_double(footer: Footer, name: str) -> bool:
    """Whether the statistics of every row group show that all values are exact as doubles."""
    groups = (footer.metadata.row_group(number) for number in range(footer.metadata.num_row_groups))
    for group in groups:
        leaf, column = next(
            (leaf, group.column(leaf))
            for leaf in range(group.num_columns)
            if group.column(leaf).path_in_schema == name
        )
        statistics = statistics_of(column, footer.metadata.schema.column(leaf))
        if statistics is None or not statistics.has_min_max:
            empty = (
                statistics is not None
                and statistics.has_null_count
                and statistics.null_count == column.num_values
            )
            if not empty:
                return False
        elif statistics.min not in _EXACT_INTEGERS or statistics.max not in _EXACT_INTEGERS:
            return False
    return True


def _refuse_duplicates(footer: Footer) -> None:
    name, times = max(Counter(footer.schema.names).items(), key=lambda item: item[1], default=("", 0))
    if times > 1:
        raise FileProblem(
            footer.path,
            f"has {times} columns named '{name}'",
            "Parquet columns are found by name, so they cannot be told apart",
            "Write the file again with different names",
        )


MAGIC = b"PAR1"
FOOTER_READERS = 8


def is_parquet(contents: Contents) -> bool:
    return contents.head.startswith(MAGIC) and (contents.tail.endswith(MAGIC) or b"\0" in contents.head)


class ParquetDataset(Dataset):
    """Files whose columns are matched by name. The order of columns may differ, a missing column reads as
    null, and a type is widened if every value stays exact."""

    format = "Parquet"

    def __init__(self, location: Location, checksums: Checksums = "verify") -> None:
        """Open the files. Small ones are checked whole, so that damage is reported at once."""
        self.name, self.paths = location.name, location.files
        is_verified = checksums == "verify"
        footers = read_footers(location.files, is_verified)
        self.unreadable_columns = _unreadable_columns(footers)
        """Why columns cannot be read, in some file at least, by name: they are left out of all files."""
        self._snapshot = _snapshot(location, footers, self.unreadable_columns)
        check_small(self._snapshot, is_verified)

    @property
    def problems(self) -> tuple[Problem, ...]:
        """Always empty: all rows are read, or the file is refused."""
        return ()

    @property
    def remarks(self) -> tuple[str, ...]:
        return tuple(f"Column '{name}' is left out: {why}" for name, why in self.unreadable_columns.items())

    def snapshot(self) -> Snapshot:
        return self._snapshot


def check_small(snapshot: Snapshot, is_verified: bool) -> None:
    """Raise `DamagedFile` if one of the first small files is damaged."""
    check_whole(list(_small(snapshot.files)) if is_verified else [])


def _small(files: Sequence[FileSegment]) -> Iterator[FileSegment]:
    """The first files that together are small enough to be read whole at once."""
    room = AT_ONCE_BYTES
    for file in files:
        room -= file.fingerprint[0] if file.fingerprint else 0
        if room < 0:
            return
        yield file


def read_footers(files: Sequence[Path], is_verified: bool) -> list[Footer]:
    """Read the footers of several files in parallel; parsing releases the GIL. Raises `FileProblem`, which
    says what a file is if it is not Parquet."""
    if len(files) == 1:
        return [_footer(files[0], is_verified)]
    job = current_job()

    def read(file: Path) -> Footer:
        with on_behalf_of(job):
            return _footer(file, is_verified)

    with ThreadPoolExecutor(FOOTER_READERS) as readers:
        return list(readers.map(read, files))


def _any_in_microseconds(footers: list[Footer]) -> bool:
    """Whether some file needs microseconds for its times of 96 bits; to tell, they may have to be decoded."""
    timed = _with_int96(footers)
    if not timed:
        return False
    with ThreadPoolExecutor(FOOTER_READERS) as readers:
        units = [footer.unit for footer in readers.map(attrgetter("int96"), timed)]
    return "us" in units


def _with_int96(footers: Sequence[Footer]) -> list[Footer]:
    """The files that may have times of 96 bits. Most files have the schema of the file before."""
    int96: list[Footer] = []
    before, has_any = None, False
    for footer in footers:
        if before is None or not footer.metadata.schema.equals(before.metadata.schema):
            before, has_any = footer, bool(footer.int96_columns)
        if has_any:
            int96.append(footer)
    return int96


def _footer(path: Path, is_verified: bool) -> Footer:
    try:
        return footer_of(path, is_verified)
    except UnreadableColumns:
        raise
    except FileProblem as problem:
        raise _diagnosis(path, problem) from problem
    except UnicodeEncodeError as error:
        why = "Arrow opens Parquet files by name, and this name is not UTF-8"
        raise FileProblem(path, "cannot be opened", why, "Rename the file, or the folder it is in") from error


def _diagnosis(path: Path, problem: FileProblem) -> FileProblem:
    contents = look_into(path)
    if not contents.head.startswith(MAGIC):
        return FileProblem(path, "is not a Parquet file", "It does not begin with PAR1", "Open it by itself")
    if contents.tail.endswith(MAGIC):
        length = int.from_bytes(contents.tail[-8:-4], "little")
        is_beyond = length + 8 > contents.size
        return FileProblem(
            path,
            "has a damaged Parquet footer",
            f"Its last bytes say that it takes {length:,} bytes, but the whole file has {contents.size:,}"
            if is_beyond
            else problem.why,
            "Download or write the file again; Lamella did not change it",
        )
    return FileProblem(
        path,
        "is a Parquet file that was cut off",
        f"Its {contents.size:,} bytes do not end with PAR1, so the footer is missing",
        "Copy or download it again, or wait until it is written",
    )


def _unreadable_columns(footers: Sequence[Footer]) -> dict[str, str]:
    several = len(footers) > 1
    reasons: dict[str, str] = {}
    for footer in footers:
        for name, why in footer.unreadable_columns.items():
            reasons.setdefault(name, f"in {footer.path.name}, {why}" if several else why)
    return reasons


def _snapshot(location: Location, footers: list[Footer], omitted_names: Collection[str]) -> Snapshot:
    columns = FileColumns(coarse_int96=_any_in_microseconds(footers))
    names = [columns.take(footer, omitted_names) for footer in footers]
    stored = columns.unify(footers)
    types = noted_types([footer.metadata.metadata for footer in footers])
    partition_columns, constants = folder_columns(
        location.root, [footer.path for footer in footers], stored, types
    )
    segments = tuple(
        FileSegment(
            footer.path, footer.num_rows, keys, footer.fingerprint, values, is_verified=footer.is_verified
        )
        for footer, keys, values in zip(footers, names, constants, strict=True)
        if footer.num_rows
    )
    token = ("parquet", *((str(footer.path), *footer.fingerprint, footer.is_verified) for footer in footers))
    return Snapshot(location.name, (*stored, *partition_columns), segments, token)
