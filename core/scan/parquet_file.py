"""Parquet files as they are opened: footers parsed once per process, and one open file per thread."""

from __future__ import annotations

import re
import threading
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, wraps
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from lamella.core.errors import CHANGED_ON_DISK, DamagedFile, FileProblem
from lamella.core.remote.paths import RemotePath
from lamella.core.scan.checksums import checksum_of_open
from lamella.core.scan.file_checks import (
    OTHER_FOOTER,
    OTHER_PAGES,
    FileCheck,
    FileRecord,
    checks,
    identity_of,
    record_of,
)
from lamella.core.scan.parquet_source import footer_bytes, open_parquet
from lamella.core.scan.snapshot import FileSegment

KEPT_FOOTERS = 4096
LENGTH_BYTES = 4
"""What the length of each text takes where it is not a place in a dictionary."""
OTHER_TYPES = "Write the file again with another type: decimal(38, 0) or text for whole numbers of 128 bits"
MOST_MEASURED = 1 << 20
"""Rows of a file of Spark's whose times are looked at: it has microseconds, but wraps those far away."""
SIGNATURE_BYTES = 28
"""Follow the footer of a file with encrypted columns. To ask pyarrow 26 for the metadata of such a column
ends the process."""
MOST_NESTED_TEXT = 2**31 - 1
"""Bytes of it that Arrow decodes at once: the reach of the offsets of one array."""
LENGTH_AND_LEVELS = 8
"""Bytes that a text takes at most besides its own: its length, and how deep it lies."""
REFUSALS = (OSError, pa.ArrowException, UnicodeDecodeError)
"""What pyarrow raises for a file that it cannot open, the last for names of columns that are no text."""
_BYTES = ("BYTE_ARRAY", "FIXED_LEN_BYTE_ARRAY", "INT96")
_UNSIGNED = ("UINT_8", "UINT_16", "UINT_32", "UINT_64")
_ORDERED_BY = ("parquet-cpp-arrow ", "DuckDB ", "parquet-rs ", "Polars")
"""Programs that put bytes in the order of their values, all of them."""


@dataclass(frozen=True)
class Int96:
    """The times of a file that are stored in the old form of 96 bits: the unit that they are read in, and
    whether each is a whole microsecond, as engines read them. `rounded` columns lose nanoseconds by it, and
    some times in `absurd` ones are beyond the reach of microseconds, so that they come as others. `by_spark`:
    they were not looked at, since Spark writes microseconds alone."""

    unit: str
    whole: bool
    by_spark: bool = False
    rounded: frozenset[str] = frozenset()
    absurd: frozenset[str] = frozenset()


BODY = b"lamella:body"
"""Where a footer of ours says, as `bytes:CRC-32` in hexadecimal digits, what lies before it: with that the
checksum of the file that the catalog has is one of the footer alone."""
_WRONG_PAGE = "CRC checksum verification failed"


def _by_column(question: Callable[[Footer, str], bool]) -> Callable[[Footer, str], bool]:
    """Answers are kept in the footer: to look at every row group of a large file takes milliseconds."""

    @wraps(question)
    def answer(footer: Footer, name: str) -> bool:
        key = (question.__name__, name)
        known_answer = footer._answers.get(key)
        if known_answer is None:
            known_answer = footer._answers[key] = question(footer, name)
        return known_answer

    return answer


@dataclass(frozen=True, eq=False)
class Footer:
    """What a Parquet file says of itself. `fingerprint` is (size, mtime in ns) when it was read; `record`
    what is known of the file. `is_verified`: its pages are, when they are first decoded."""

    path: Path
    fingerprint: tuple[int, int]
    metadata: pq.FileMetaData
    record: FileRecord
    is_verified: bool = True
    _answers: dict[tuple[str, str], bool] = field(default_factory=dict, init=False, repr=False)

    @cached_property
    def schema(self) -> pa.Schema:
        coarse = self.int96 is not None and self.int96.unit == "us"
        return self.coarse_schema if coarse else self._arrow_schema

    @cached_property
    def coarse_schema(self) -> pa.Schema:
        """The schema with all times of 96 bits in microseconds."""
        if self.int96 is None:
            return self._arrow_schema
        with self._open("us") as file:
            coarse = file.schema_arrow
        pairs = zip(self._arrow_schema, coarse, strict=True)
        fields = [other if field.name in self.int96_columns else field for field, other in pairs]
        return pa.schema(fields, self._arrow_schema.metadata)

    @cached_property
    def _arrow_schema(self) -> pa.Schema:
        return self.metadata.schema.to_arrow_schema()

    @cached_property
    def num_rows(self) -> int:
        """Of all row groups together: the number that the footer gives for the file may be another."""
        return int(self.row_group_starts[-1])

    @cached_property
    def int96(self) -> Int96 | None:
        """None where the file has no such times. Nothing but the values tells whether nanoseconds reach them,
        so they are decoded once, unless they are many and Spark's, which has microseconds alone."""
        if not self.int96_columns:
            return None
        if self.num_rows > MOST_MEASURED and _is_by_spark(self.metadata):
            return Int96("us", whole=True, by_spark=True)
        try:
            return self._measured_int96(self.int96_columns)
        except REFUSALS:
            # A damaged column does not keep the others from being read; Arrow, which decodes what is
            # not whole, says what is wrong with it.
            return Int96("ns", whole=False)

    @cached_property
    def int96_columns(self) -> list[str]:
        """The columns that are, or hold, such times."""
        paths = [leaf.path for leaf in self._leaves() if leaf.physical_type == "INT96"]
        names = self._arrow_schema.names if paths else []
        return [name for name in names if any(_lies_in(path, name) for path in paths)]

    def _measured_int96(self, columns: list[str]) -> Int96:
        unit, broken, absurd = "ns", set[str](), set[str]()
        with self._open("ns") as fine, self._open("us") as coarse, self._open("ms") as far:
            for group in range(self.metadata.num_row_groups):
                values = coarse.read_row_group(group, columns=columns)
                exact = fine.read_row_group(group, columns=columns)
                # Beyond the reach of nanoseconds both wrap round alike, so that what differs is digits.
                wrapped = values.cast(exact.schema, safe=False)
                broken.update(name for name in columns if not wrapped[name].equals(exact[name]))
                if unit == "ns" and _cast(values, fine.schema_arrow) is not None:
                    continue
                unit = "us"  # of which the last digits are cut off by every reader
                distant, schema = far.read_row_group(group, columns=columns), coarse.schema_arrow
                absurd.update(name for name in columns if _cast(distant.select([name]), schema) is None)
        if unit == "ns":
            return Int96(unit, not broken)
        return Int96(unit, not absurd, rounded=frozenset(broken - absurd), absurd=frozenset(absurd))

    @cached_property
    def ambiguous_layout(self) -> tuple[str, ...]:
        """All column names in order where two differ only in case, else nothing."""
        names = tuple(self.schema.names)
        return names if len({name.casefold() for name in names}) < len(names) else ()

    @cached_property
    def row_group_starts(self) -> np.ndarray:
        """Row number at which each row group starts, and the file's row count at the end."""
        sizes = [self.metadata.row_group(i).num_rows for i in range(self.metadata.num_row_groups)]
        return np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)]).astype(np.int64)

    @cached_property
    def row_group_sizes(self) -> list[int]:
        sizes: list[int] = np.diff(self.row_group_starts).tolist()
        return sizes

    @_by_column
    def of_one_text(self, name: str) -> bool:
        """Whether in some row group the values of the column, or of a text or bytes inside it, are nulls and
        one single value as far as statistics tell, and are not written as places in a dictionary."""
        leaves = self._texts.get(name, [])
        groups = range(self.metadata.num_row_groups if leaves else 0)
        return any(
            _is_one_and_null(self.metadata.row_group(i).column(leaf)) for i in groups for leaf in leaves
        )

    def has_statistics(self, name: str) -> bool:
        """Whether extremes are told, in some row group, of the column or of something inside it."""
        metadata, leaves = self.metadata, self.leaves_within(name)
        groups = range(metadata.num_row_groups)
        return any(metadata.row_group(g).column(leaf).is_stats_set for g in groups for leaf in leaves)

    def leaves_within(self, name: str) -> list[int]:
        """Where the leaves of a column are, or of a field inside one by its path."""
        paths, places = self._sorted_leaves
        within = range(bisect_left(paths, f"{name}."), bisect_left(paths, f"{name}/"))  # "/" comes after "."
        same = range(bisect_left(paths, name), bisect_right(paths, name))
        return sorted(places[i] for i in (*same, *within))

    def _leaves(self) -> list[pq.ColumnSchema]:
        return [self.metadata.schema.column(place) for place in range(self.metadata.num_columns)]

    @cached_property
    def _sorted_leaves(self) -> tuple[list[str], list[int]]:
        """The paths of all leaves in order, and where each is: of very many columns each is found at once."""
        paths = [leaf.path for leaf in self._leaves()]
        places = sorted(range(len(paths)), key=paths.__getitem__)
        return [paths[place] for place in places], places

    @_by_column
    def has_doubtful_extremes(self, name: str) -> bool:
        """Whether statistics of the column, or of something inside it, may give extremes in another order
        than that of the values: programs of before 2018 put all bytes in order as if they had signs."""
        leaves = [] if self._is_by_known_writer else self.leaves_within(name)
        groups = map(self.metadata.row_group, range(self.metadata.num_row_groups if leaves else 0))
        return any(self._is_doubtful(group.column(leaf), leaf) for group in groups for leaf in leaves)

    def _is_doubtful(self, chunk: pq.ColumnChunkMetaData, leaf: int) -> bool:
        """Arrow leaves extremes out that it cannot believe, but those of decimals."""
        kind = self.metadata.schema.column(leaf)
        if chunk.physical_type in _BYTES and kind.logical_type.type == "DECIMAL":
            return not _is_by_later_java(self.metadata)
        statistics = chunk.statistics
        believed = statistics is not None and (
            statistics.has_min_max or statistics.null_count == chunk.num_values
        )
        return not believed and (chunk.physical_type in _BYTES or kind.converted_type in _UNSIGNED)

    @cached_property
    def _is_by_known_writer(self) -> bool:
        return _writer(self.metadata).startswith(_ORDERED_BY)

    def has_intervals_or_variants(self, name: str) -> bool:
        """Whether the column, or something inside it, is a calendar interval or a variant."""
        return any(name == path or path.startswith(f"{name}.") for path in self._intervals_and_variants)

    @cached_property
    def _intervals_and_variants(self) -> set[str]:
        """Their paths. A variant's own name is of a group: of its leaves, `metadata` is always there."""
        leaves = self._leaves()
        intervals = {leaf.path for leaf in leaves if leaf.converted_type == "INTERVAL"}
        return intervals | {leaf.path for leaf in leaves if leaf.name == "metadata"}

    @_by_column
    def repeats_texts(self, name: str) -> bool:
        """Whether the column is of texts that repeat, so that they come quicker as places in dictionaries, to
        be looked up: a text by itself takes four bytes for its length alone."""
        place = self._flat_texts.get(name)
        groups = range(self.metadata.num_row_groups)
        return place is not None and all(_is_small(self.metadata.row_group(i), place) for i in groups)

    def is_narrow(self, name: str) -> bool:
        """Whether the column is of numbers, times or truth values, which are decoded in no time."""
        place = self.schema.get_field_index(name)
        return place >= 0 and bool(pa.types.is_primitive(self.schema.field(place).type))

    @cached_property
    def _flat_texts(self) -> dict[str, int]:
        """Where the leaves of columns of text are: those whose names nothing else has as its path."""
        paths = [leaf.path for leaf in self._leaves()]
        places, times = dict(zip(paths, range(len(paths)), strict=True)), Counter(paths)
        texts = (field.name for field in self.schema if pa.types.is_string(field.type))
        return {name: places[name] for name in texts if times[name] == 1}

    @cached_property
    def _texts(self) -> dict[str, list[int]]:
        """Which leaves hold texts or bytes, and may hold null, by every beginning of their path: the names of
        columns may have points too."""
        places: dict[str, list[int]] = {}
        for place, leaf in enumerate(self._leaves()):
            if _is_text(leaf) and leaf.max_definition_level > 0:
                steps = leaf.path.split(".")
                for end in range(len(steps)):
                    places.setdefault(".".join(steps[: end + 1]), []).append(place)
        return places

    def refuse_too_large(self, row_groups: Sequence[int], names: Sequence[str]) -> None:
        """Raise `FileProblem` where Arrow would decode a nested column for long, only to refuse it."""
        for group, leaf in self._too_large:
            if group in row_groups and any(_lies_in(leaf, name) for name in names):
                raise FileProblem(
                    self.path,
                    f"column '{leaf.split('.')[0]}' holds more than 2 GB of text in row group {group:,}",
                    "Inside lists, maps and structs Arrow reads no more of it at a time",
                    "Open the other columns, or write the file again in smaller row groups",
                )

    @cached_property
    def _too_large(self) -> list[tuple[int, str]]:
        """Row groups and the nested leaves in them whose texts or bytes have no room in one array."""
        metadata = self.metadata
        groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
        sizes = []
        for number, group in enumerate(groups):
            for place in range(group.num_columns if group.total_byte_size > MOST_NESTED_TEXT else 0):
                chunk, leaf = group.column(place), metadata.schema.column(place)
                least = chunk.total_uncompressed_size - LENGTH_AND_LEVELS * chunk.num_values
                if least > MOST_NESTED_TEXT and leaf.path != leaf.name and _is_text(leaf):
                    sizes.append((number, leaf.path))
        return sizes

    def needs_verifying(self, row_groups: Sequence[int], names: Sequence[str]) -> bool:
        """Whether pages of these columns, or fields inside columns, are to be decoded for the first time."""
        return self.is_verified and not self.record.is_verified(row_groups, names)

    def open(self, coded: Sequence[str] = (), verifying: bool = True) -> pq.ParquetFile:
        """A reader of its own for the calling thread; the footer is not parsed again. `coded` columns come as
        places in dictionaries. The file is closed by `close(force=True)`, or with the last who knows it."""
        return self._open(None if self.int96 is None else self.int96.unit, coded, verifying)

    def _open(
        self, int96_unit: str | None, coded: Sequence[str] = (), verifying: bool = True
    ) -> pq.ParquetFile:
        try:
            return open_parquet(
                self.path, metadata=self.metadata, pre_buffer=False, read_dictionary=list(coded) or None,
                coerce_int96_timestamp_unit=int96_unit,
                page_checksum_verification=verifying,
            )  # fmt: skip
        except REFUSALS as error:
            raise self.unreadable(error) from error

    def unreadable(self, error: Exception) -> FileProblem:
        """What pyarrow raised while it read the file, as an error of ours."""
        if _WRONG_PAGE in str(error):
            self.record.note_wrong_pages()
            return self.record.damaged(self.path, OTHER_PAGES)
        return unreadable(self.path, error)


def _cast(times: pa.Table, schema: pa.Schema) -> pa.Table | None:
    """The columns in the types of `schema`; None where these do not reach as far."""
    try:
        return times.cast(pa.schema([field for field in schema if field.name in times.schema.names]))
    except pa.ArrowInvalid:
        return None


def _is_by_spark(metadata: pq.FileMetaData) -> bool:
    """Other programs may copy the keys into files of their own, but do not write as `parquet-mr`."""
    keys = metadata.metadata or {}
    spark = any(key.startswith(b"org.apache.spark.") for key in keys)
    return spark and _writer(metadata).startswith("parquet-mr")


def _is_by_later_java(metadata: pq.FileMetaData) -> bool:
    match = re.match(r"parquet-mr version (\d+)\.(\d+)", _writer(metadata))
    return match is not None and (int(match[1]), int(match[2])) >= (1, 10)


def _writer(metadata: pq.FileMetaData) -> str:
    """The program that wrote the file; empty where the name is not text."""
    try:
        return str(metadata.created_by)
    except UnicodeDecodeError:
        return ""


class UnreadableFile(FileProblem):
    """A file that is no Parquet, or not whole."""


class UnknownType(FileProblem):
    """A whole file, one of whose types Arrow does not have."""


class EncryptedColumns(FileProblem):
    """A file whose footer can be read, but not all of its columns."""


_footers: dict[bool, dict[Path, Footer]] = {True: {}, False: {}}
_lock = threading.Lock()


def footer_of(path: Path, is_verified: bool = True) -> Footer:
    """The footer of `path`, from memory while the file is the same."""
    try:
        status = path.stat()
    except OSError as error:
        raise unreadable(path, error) from error
    identity = identity_of(status)
    with _lock:
        footer = _footers[is_verified].get(path)
    if footer is not None and footer.record.identity == identity:
        return footer
    return _remember(_parse(path, record_of(identity) if is_verified else FileRecord(identity), is_verified))


def unchanged(segment: FileSegment) -> Footer:
    """The footer of a segment's file; raises `FileProblem` when the file is another one by now, `DamagedFile`
    when its checksums tell so."""
    try:
        footer = footer_of(segment.path, segment.is_verified)
    except UnreadableFile as problem:
        if not segment.remedy:
            raise
        raise DamagedFile(segment.path, "is damaged", problem.why, segment.remedy) from problem
    if segment.fingerprint not in (None, footer.fingerprint):
        raise FileProblem(segment.path, CHANGED_ON_DISK, fix="Reload it to see its new content")
    record = footer.record
    if record.accepted is not segment.names:
        _refuse_other(segment, footer)
        record.accepted = segment.names
    if record.damage:
        raise record.damaged(segment.path, record.damage)
    return footer


def check_whole(segments: Sequence[FileSegment]) -> None:
    """Have the files checked, once, that an engine is to read which verifies nothing: most in the background.
    Those elsewhere are not: it would fetch all of them.

    Raises `DamagedFile` for one that is known to be damaged.
    """
    footers = [unchanged(segment) for segment in segments]
    due = [
        FileCheck(segment.path, footer.record, segment.checksum, footer.metadata)
        for segment, footer in zip(segments, footers, strict=True)
        if footer.is_verified and not footer.record.is_checked and not isinstance(footer.path, RemotePath)
    ]
    if due:
        checks.begin(due)
        refuse_damaged(segments)


def refuse_damaged(segments: Iterable[FileSegment]) -> None:
    """Raise `DamagedFile` where a file turned out so since its rows were read, or `FileProblem` where it is
    another one by now. Costs nothing before something is damaged."""
    if checks.damages:
        for segment in segments:
            unchanged(segment)


def _refuse_other(segment: FileSegment, footer: Footer) -> None:
    """Raise `FileProblem` for a file that is not the segment's though it lies in its place.

    Small files of ours are read whole for it. Of large ones it is the footer, for which alone a column need
    not be decoded to be believed.
    """
    footer.record.remedy = segment.remedy
    if segment.checksum and footer.record.is_small:
        checks.begin([FileCheck(segment.path, footer.record, segment.checksum, footer.metadata)])
        if footer.record.damage:
            return
    elif segment.checksum and not _is_footer_of(segment, footer):
        raise footer.record.damaged(segment.path, OTHER_FOOTER)
    if segment.fingerprint is not None:
        return
    if footer.metadata.num_rows != segment.num_rows:
        why = f"It holds {footer.metadata.num_rows:,} rows instead of {segment.num_rows:,}"
    elif missing := set(segment.names.values()).difference(footer.schema.names):
        why = f"It has no column '{min(missing)}'"
    else:
        return
    raise FileProblem(segment.path, "is another file than was written", why, segment.remedy)


def _is_footer_of(segment: FileSegment, footer: Footer) -> bool:
    """Whether the footer, with what it says of the bytes before it, has the file's checksum. Earlier formats
    said nothing of them."""
    body = (footer.metadata.metadata or {}).get(BODY)
    if body is None:
        return True
    try:
        length, crc = (int(part, 16) for part in body.split(b":"))
        with segment.path.open("rb", buffering=0) as file:
            file.seek(length)
            return checksum_of_open(file, crc) == segment.checksum
    except ValueError:
        return False
    except OSError as error:
        raise unreadable(segment.path, error) from error


def unreadable(path: Path, error: Exception) -> FileProblem:
    if isinstance(error, FileNotFoundError):
        why = "It was moved or removed, or the transaction that wrote it was taken back"
        return FileProblem(path, "is not there any more", why, "Begin again with what is there now")
    if isinstance(error, pa.ArrowNotImplementedError):
        return UnknownType(path, "has a column that cannot be read", str(error), OTHER_TYPES)
    return UnreadableFile(path, "could not be read", str(error), "Check that the file is whole")


def _lies_in(path: str, name: str) -> bool:
    return path == name or path.startswith(f"{name}.")


def _is_text(leaf: pq.ColumnSchema) -> bool:
    numeric = leaf.logical_type.type in ("DECIMAL", "FLOAT16")
    return leaf.physical_type in _BYTES[:2] and not numeric


def _is_small(group: pq.RowGroupMetaData, place: int) -> bool:
    chunk = group.column(place)
    return bool(chunk.has_dictionary_page and chunk.total_uncompressed_size <= LENGTH_BYTES * group.num_rows)


def _is_one_and_null(chunk: pq.ColumnChunkMetaData) -> bool:
    statistics = chunk.statistics
    if chunk.has_dictionary_page or statistics is None or not statistics.has_min_max:
        return False
    return bool(
        statistics.min_raw == statistics.max_raw
        and not (statistics.has_null_count and statistics.null_count == 0)
    )


def _parse(path: Path, record: FileRecord, is_verified: bool) -> Footer:
    size, changed = record.identity[2:]
    try:
        with open_parquet(path) as file:
            footer = Footer(path, (size, changed), file.metadata, record, is_verified)
        signed = footer_bytes(path) == footer.metadata.serialized_size + SIGNATURE_BYTES
    except REFUSALS as error:
        record.note_wrong_pages()
        raise unreadable(path, error) from error
    if signed:
        raise EncryptedColumns(
            path,
            "has encrypted columns",
            "Its footer is signed as it is where columns are encrypted",
            "Decrypt it with the program that has its keys",
        )
    return footer


def _remember(parsed: Footer) -> Footer:
    with _lock:
        footers = _footers[parsed.is_verified]
        while len(footers) >= KEPT_FOOTERS:
            footers.pop(next(iter(footers)))
        footers[parsed.path] = parsed
    return parsed


class OpenFile:
    """`alone`: no other thread decodes at the same time, so Arrow's own ones may."""

    def __init__(self, alone: bool = True) -> None:
        self.alone = alone
        self._footer: Footer | None = None
        self._coded = set[str]()
        self._verifies = False
        self._file: pq.ParquetFile | None = None

    def __enter__(self) -> OpenFile:
        return self

    def __exit__(self, *_: object) -> None:
        self._close()

    def read(self, footer: Footer, row_groups: Sequence[int], names: Sequence[str]) -> pa.Table:
        """Columns, or fields inside them, of these row groups; texts that repeat may come as places in
        dictionaries. Raises `FileProblem`."""
        coded = [name for name in names if footer.repeats_texts(name)]
        if self.alone and not all(name in coded or footer.is_narrow(name) for name in names):
            coded = []  # while a thread of Arrow's decodes what takes long, others have time for texts
        footer.refuse_too_large(row_groups, names)
        try:
            threads = self.alone and len(names) > (2 if coded else 1)
            verifying = footer.needs_verifying(row_groups, names)
            file = self._reader(footer, coded, verifying)
            rows = file.read_row_groups(list(row_groups), columns=names, use_threads=threads)
        except pa.ArrowNotImplementedError as error:
            if len(row_groups) == 1:
                raise footer.unreadable(error) from error
            # More than 2 GB of nested text are refused at once, and read one row group after the other.
            return pa.concat_tables([self.read(footer, [group], names) for group in row_groups])
        except REFUSALS as error:
            raise footer.unreadable(error) from error
        if verifying:
            footer.record.note_verified(row_groups, names)
        return rows

    def _reader(self, footer: Footer, coded: Sequence[str], verifying: bool) -> pq.ParquetFile:
        """A file that verifies pages stays open where none is to be verified: to open another costs more."""
        same = self._file is not None and self._footer is footer and self._coded.issuperset(coded)
        if self._file is None or not same or (verifying and not self._verifies):
            before = self._coded if self._footer is footer else set[str]()
            self._close()
            self._footer, self._coded, self._verifies = footer, before.union(coded), verifying
            self._file = footer.open(sorted(self._coded), verifying)
        return self._file

    def _close(self) -> None:
        if self._file is not None:
            self._file.close(force=True)
            self._file = None
