"""Opens Parquet files: footers are parsed once per process, and each thread has its own open file."""

from __future__ import annotations

import re
import threading
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
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
from lamella.core.scan.logical_types import Rendering, renderings, with_texts, with_uuids
from lamella.core.scan.parquet_source import footer_bytes, open_parquet
from lamella.core.scan.partial_footer import (
    OTHER_COLUMNS,
    SIGNATURE_BYTES,
    Part,
    UnreadableColumns,
    readable_part,
)
from lamella.core.scan.snapshot import FileSegment

KEPT_FOOTERS = 4096
LENGTH_BYTES = 4
"""The bytes that store a text's length where it is not dictionary-encoded."""
MOST_SPARK_ROWS = 1 << 20
"""The most rows of a file by Spark whose times are examined: it writes microseconds, but far times wrap
around."""
MOST_NESTED_TEXT = 2**31 - 1
"""The most bytes of nested text that Arrow decodes at once: the range of an array's offsets."""
LENGTH_AND_LEVELS = 8
"""The most bytes that a text takes in addition to its own: its length and levels."""
REFUSALS = (OSError, pa.ArrowException, UnicodeDecodeError)
"""What pyarrow raises for a file that it cannot open; the last, for names of columns that are not valid
text."""
_BYTES = ("BYTE_ARRAY", "FIXED_LEN_BYTE_ARRAY", "INT96")
_UNSIGNED_TYPES = ("UINT_8", "UINT_16", "UINT_32", "UINT_64")
_ORDERING_WRITERS = ("parquet-cpp-arrow ", "DuckDB ", "parquet-rs ", "Polars")
"""Programs that order all bytes by their values in statistics."""


@dataclass(frozen=True)
class Int96:
    """How to read 96-bit times: their unit, and whether all are whole microseconds, as engines read them.
    `rounded_columns` lose nanoseconds in that unit; `absurd` ones have times out of its range, which come out
    wrong. `by_spark`: the values were not examined, because Spark writes only microseconds."""

    unit: str
    whole: bool
    by_spark: bool = False
    rounded_columns: frozenset[str] = frozenset()
    absurd: frozenset[str] = frozenset()


BODY = b"lamella:body"
"""The metadata key under which Lamella's footers record the length and CRC-32 of everything before the
footer, as `bytes:CRC-32` in hexadecimal. With it, checking the footer alone verifies the file's checksum in
the catalog."""
_WRONG_PAGE = "CRC checksum verification failed"


def _by_column(question: Callable[[Footer, str], bool]) -> Callable[[Footer, str], bool]:
    """Cache answers in the footer, since examining every row group of a large file takes milliseconds."""

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
    """The metadata of a Parquet file. `fingerprint` is (size, mtime in ns) when it was read; `record` is what
    is known about the file. `is_verified`: its pages are verified when they are first decoded.
    `unreadable_columns`, with the reason by name, are in the file, but not in its schema here."""

    path: Path
    fingerprint: tuple[int, int]
    metadata: pq.FileMetaData
    record: FileRecord
    is_verified: bool = True
    unreadable_columns: Mapping[str, str] = field(default_factory=dict)
    _stored_names: tuple[str, ...] = ()
    _answers: dict[tuple[str, str], bool] = field(default_factory=dict, init=False, repr=False)

    @cached_property
    def schema(self) -> pa.Schema:
        coarse = self.int96 is not None and self.int96.unit == "us"
        return self.coarse_schema if coarse else self._arrow_schema

    @cached_property
    def coarse_schema(self) -> pa.Schema:
        """The schema with all 96-bit times in microseconds."""
        if self.int96 is None:
            return self._arrow_schema
        with self._open("us") as file:
            coarse = file.schema_arrow
        pairs = zip(self._arrow_schema, coarse, strict=True)
        fields = [replacement if field.name in self.int96_columns else field for field, replacement in pairs]
        return pa.schema(fields, self._arrow_schema.metadata)

    @cached_property
    def _arrow_schema(self) -> pa.Schema:
        return with_texts(self.stored_schema, self.renderings)

    @cached_property
    def stored_schema(self) -> pa.Schema:
        """The schema with the types of columns that are shown as text, too."""
        return with_uuids(self.metadata, self.metadata.schema.to_arrow_schema())

    @cached_property
    def renderings(self) -> Mapping[str, Rendering]:
        """How the texts of columns are made that are shown as text and stored as something else, by name."""
        return renderings(self.metadata, self.stored_schema)

    @cached_property
    def num_rows(self) -> int:
        """The rows of all row groups together; the footer's own total may differ."""
        return int(self.row_group_starts[-1])

    @cached_property
    def int96(self) -> Int96 | None:
        """How to read 96-bit times; None if the file has none. Only the values show whether nanoseconds can
        hold them, so they are decoded once, unless they are many and from Spark, which writes only
        microseconds."""
        if not self.int96_columns:
            return None
        if self.num_rows > MOST_SPARK_ROWS and _is_by_spark(self.metadata):
            return Int96("us", whole=True, by_spark=True)
        try:
            return self._measured_int96(self.int96_columns)
        except REFUSALS:
            # A damaged column must not prevent reading the others; when Arrow decodes it, its error says
            # what is wrong.
            return Int96("ns", whole=False)

    @cached_property
    def int96_columns(self) -> list[str]:
        """The columns that are, or contain, 96-bit times."""
        paths = [leaf.path for leaf in self._leaves() if leaf.physical_type == "INT96"]
        names = self._arrow_schema.names if paths else []
        return [name for name in names if any(_lies_in(path, name) for path in paths)]

    def _measured_int96(self, columns: list[str]) -> Int96:
        unit, broken, absurd = "ns", set[str](), set[str]()
        with self._open("ns") as fine, self._open("us") as coarse, self._open("ms") as far:
            for group in range(self.metadata.num_row_groups):
                values = coarse.read_row_group(group, columns=columns)
                exact = fine.read_row_group(group, columns=columns)
                # Out of the range of nanoseconds both wrap around alike, so a difference means lost digits.
                wrapped = values.cast(exact.schema, safe=False)
                broken.update(name for name in columns if not wrapped[name].equals(exact[name]))
                if unit == "ns" and _cast(values, fine.schema_arrow) is not None:
                    continue
                unit = "us"  # every reader cuts off the digits beyond
                distant, schema = far.read_row_group(group, columns=columns), coarse.schema_arrow
                absurd.update(name for name in columns if _cast(distant.select([name]), schema) is None)
        if unit == "ns":
            return Int96(unit, not broken)
        return Int96(unit, not absurd, rounded_columns=frozenset(broken - absurd), absurd=frozenset(absurd))

    @property
    def stored_names(self) -> tuple[str, ...]:
        """The names of all columns in the file, with those left out."""
        return self._stored_names or tuple(self.schema.names)

    @cached_property
    def ambiguous_layout(self) -> tuple[str, ...]:
        """All column names in order if two differ only in case, else nothing."""
        names = self.stored_names
        return names if len({name.casefold() for name in names}) < len(names) else ()

    @cached_property
    def row_group_starts(self) -> np.ndarray:
        """The row number at which each row group starts, and the file's row count at the end."""
        sizes = [self.metadata.row_group(i).num_rows for i in range(self.metadata.num_row_groups)]
        return np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)]).astype(np.int64)

    @cached_property
    def row_group_sizes(self) -> list[int]:
        sizes: list[int] = np.diff(self.row_group_starts).tolist()
        return sizes

    @_by_column
    def of_one_text(self, name: str) -> bool:
        """Whether in some row group the column, or a text or bytes inside it, may have only nulls and one
        single value by its statistics, and is not dictionary-encoded."""
        leaves = self._texts.get(name, [])
        groups = range(self.metadata.num_row_groups if leaves else 0)
        schema = self.metadata.schema
        return any(
            _is_one_and_null(self.metadata.row_group(group).column(leaf), schema.column(leaf))
            for group in groups
            for leaf in leaves
        )

    def has_statistics(self, name: str) -> bool:
        """Whether some row group has statistics for the column or something inside it."""
        metadata, leaves = self.metadata, self.leaves_within(name)
        groups = range(metadata.num_row_groups)
        return any(metadata.row_group(g).column(leaf).is_stats_set for g in groups for leaf in leaves)

    def leaves_within(self, name: str) -> list[int]:
        """The indices of the leaves of a column, or of a field inside one, given by its path."""
        paths, places = self._sorted_leaves
        within = range(bisect_left(paths, f"{name}."), bisect_left(paths, f"{name}/"))  # "/" comes after "."
        same = range(bisect_left(paths, name), bisect_right(paths, name))
        return sorted(places[i] for i in (*same, *within))

    def _leaves(self) -> list[pq.ColumnSchema]:
        return [self.metadata.schema.column(place) for place in range(self.metadata.num_columns)]

    @cached_property
    def _sorted_leaves(self) -> tuple[list[str], list[int]]:
        """The sorted paths of all leaves, and the index of each, for fast lookup among very many columns."""
        paths = [leaf.path for leaf in self._leaves()]
        places = sorted(range(len(paths)), key=paths.__getitem__)
        return [paths[place] for place in places], places

    @_by_column
    def has_doubtful_extremes(self, name: str) -> bool:
        """Whether the statistics of the column, or of something inside it, may be in another order than the
        values: programs from before 2018 ordered all bytes as signed."""
        leaves = [] if self._is_by_known_writer else self.leaves_within(name)
        groups = map(self.metadata.row_group, range(self.metadata.num_row_groups if leaves else 0))
        return any(self._is_doubtful(group.column(leaf), leaf) for group in groups for leaf in leaves)

    def _is_doubtful(self, chunk: pq.ColumnChunkMetaData, leaf: int) -> bool:
        """Whether a chunk's extremes may be wrong. Arrow omits those it does not trust, but for decimals."""
        kind = self.metadata.schema.column(leaf)
        if chunk.physical_type in _BYTES and kind.logical_type.type == "DECIMAL":
            return not _is_by_later_java(self.metadata)
        statistics = statistics_of(chunk, kind)
        believed = statistics is not None and (
            statistics.has_min_max or statistics.null_count == chunk.num_values
        )
        return not believed and (chunk.physical_type in _BYTES or kind.converted_type in _UNSIGNED_TYPES)

    @cached_property
    def _is_by_known_writer(self) -> bool:
        return writer_of(self.metadata).startswith(_ORDERING_WRITERS)

    def has_intervals_or_variants(self, name: str) -> bool:
        """Whether the column, or something inside it, is a calendar interval or a variant."""
        return any(name == path or path.startswith(f"{name}.") for path in self._intervals_and_variants)

    @cached_property
    def _intervals_and_variants(self) -> set[str]:
        """The paths of calendar intervals and variants. A variant is a group; among its leaves is always
        `metadata`."""
        leaves = self._leaves()
        intervals = {leaf.path for leaf in leaves if leaf.converted_type == "INTERVAL"}
        return intervals | {leaf.path for leaf in leaves if leaf.name == "metadata"}

    @_by_column
    def repeats_texts(self, name: str) -> bool:
        """Whether the column has texts that repeat, so that it is faster to read them as dictionary indices
        and look them up: every plain text takes four bytes for its length alone."""
        place = self._flat_texts.get(name)
        groups = range(self.metadata.num_row_groups)
        return place is not None and all(_is_small(self.metadata.row_group(i), place) for i in groups)

    def is_narrow(self, name: str) -> bool:
        """Whether the column has numbers, times or booleans, which take almost no time to decode."""
        place = self.schema.get_field_index(name)
        return place >= 0 and bool(pa.types.is_primitive(self.schema.field(place).type))

    @cached_property
    def _flat_texts(self) -> dict[str, int]:
        """The leaf indices of text columns whose names are not also the path of another leaf."""
        paths = [leaf.path for leaf in self._leaves()]
        places, times = dict(zip(paths, range(len(paths)), strict=True)), Counter(paths)
        texts = (field.name for field in self.schema if self._is_stored_text(field))
        return {name: places[name] for name in texts if times[name] == 1}

    def _is_stored_text(self, field: pa.Field) -> bool:
        return pa.types.is_string(field.type) and field.name not in self.renderings

    @cached_property
    def _texts(self) -> dict[str, list[int]]:
        """The leaves of nullable texts or bytes, by every prefix of their path, because names of columns may
        contain dots."""
        places: dict[str, list[int]] = {}
        for place, leaf in enumerate(self._leaves()):
            if _is_text(leaf) and leaf.max_definition_level > 0:
                steps = leaf.path.split(".")
                for end in range(len(steps)):
                    places.setdefault(".".join(steps[: end + 1]), []).append(place)
        return places

    def refuse_too_large(self, row_groups: Sequence[int], names: Sequence[str]) -> None:
        """Raise `FileProblem` if Arrow would decode a nested column for a long time, only to fail."""
        for group, leaf in self._too_large:
            if group in row_groups and any(_lies_in(leaf, name) for name in names):
                raise FileProblem(
                    self.path,
                    f"column '{leaf.split('.')[0]}' holds more than 2 GB of text in row group {group:,}",
                    "Arrow cannot read more at a time inside lists, maps and structs",
                    "Open the other columns, or write the file again in smaller row groups",
                )

    @cached_property
    def _too_large(self) -> list[tuple[int, str]]:
        """The row groups and nested leaves in them whose texts or bytes do not fit into one array."""
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
        """Whether pages of these columns, or fields inside columns, have not been verified yet."""
        return self.is_verified and not self.record.is_verified(row_groups, names)

    def open(self, coded: Sequence[str] = (), verifying: bool = True) -> pq.ParquetFile:
        """Open the file for the calling thread, without parsing the footer again. `coded` columns are read as
        dictionaries. The file is closed by `close(force=True)`, or when its last reference goes."""
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
        """Turn an error that pyarrow raised while reading the file into a `FileProblem`."""
        if _WRONG_PAGE in str(error):
            self.record.note_wrong_pages()
            return self.record.damage_error(self.path, OTHER_PAGES)
        return unreadable(self.path, error)


def _cast(times: pa.Table, schema: pa.Schema) -> pa.Table | None:
    """Cast the columns to the types of `schema`; None if values are out of range."""
    try:
        return times.cast(pa.schema([field for field in schema if field.name in times.schema.names]))
    except pa.ArrowInvalid:
        return None


def _is_by_spark(metadata: pq.FileMetaData) -> bool:
    """Whether Spark wrote the file. Other programs may copy its metadata keys, but do not identify as
    `parquet-mr`."""
    keys = metadata.metadata or {}
    spark = any(key.startswith(b"org.apache.spark.") for key in keys)
    return spark and writer_of(metadata).startswith("parquet-mr")


def _is_by_later_java(metadata: pq.FileMetaData) -> bool:
    match = re.match(r"parquet-mr version (\d+)\.(\d+)", writer_of(metadata))
    return match is not None and (int(match[1]), int(match[2])) >= (1, 10)


def writer_of(metadata: pq.FileMetaData) -> str:
    """The program that wrote the file; empty if the name is not valid text."""
    try:
        return str(metadata.created_by or "")
    except UnicodeDecodeError:
        return ""


class UnreadableFile(FileProblem):
    """A file that is not Parquet, or is incomplete."""


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


def unchanged_footer(segment: FileSegment) -> Footer:
    """Return the footer of a segment's file; raise `FileProblem` if the file has changed, `DamagedFile` if
    checksums show damage."""
    try:
        footer = footer_of(segment.path, segment.is_verified)
    except UnreadableFile as problem:
        if not segment.remedy:
            raise
        raise DamagedFile(segment.path, "is damaged", problem.why, segment.remedy) from problem
    if segment.fingerprint not in (None, footer.fingerprint):
        raise FileProblem(segment.path, CHANGED_ON_DISK, fix="Reload it to see its new content")
    record = footer.record
    if record.accepted_names is not segment.names:
        _refuse_other_file(segment, footer)
        record.accepted_names = segment.names
    if record.damage:
        raise record.damage_error(segment.path, record.damage)
    return footer


def check_whole(segments: Sequence[FileSegment]) -> None:
    """Check, once, files that an engine without verification is about to read; most in the background. Remote
    files are skipped, because a check would download them completely.

    Raises `DamagedFile` for a file that is known to be damaged.
    """
    footers = [unchanged_footer(segment) for segment in segments]
    due = [
        FileCheck(segment.path, footer.record, segment.checksum, footer.metadata)
        for segment, footer in zip(segments, footers, strict=True)
        if footer.is_verified and not footer.record.is_checked and not isinstance(footer.path, RemotePath)
    ]
    if due:
        checks.begin(due)
        refuse_damaged_files(segments)


def refuse_damaged_files(segments: Iterable[FileSegment]) -> None:
    """Raise `DamagedFile` for a file found damaged since its rows were read, or `FileProblem` for one that
    has changed. Costs nothing until damage is found."""
    if checks.damages:
        for segment in segments:
            unchanged_footer(segment)


def _refuse_other_file(segment: FileSegment, footer: Footer) -> None:
    """Raise `FileProblem` if another file has taken the place of the segment's. Small files of Lamella are
    read whole to check; of large ones only the footer, so that columns need not be decoded."""
    footer.record.remedy = segment.remedy
    if segment.checksum and footer.record.is_small:
        checks.begin([FileCheck(segment.path, footer.record, segment.checksum, footer.metadata)])
        if footer.record.damage:
            return
    elif segment.checksum and not is_footer_of(segment, footer):
        raise footer.record.damage_error(segment.path, OTHER_FOOTER)
    if segment.fingerprint is not None:
        return
    if footer.metadata.num_rows != segment.num_rows:
        why = f"It holds {footer.metadata.num_rows:,} rows instead of {segment.num_rows:,}"
    elif missing := set(segment.names.values()).difference(footer.schema.names):
        why = f"It has no column '{min(missing)}'"
    else:
        return
    raise FileProblem(segment.path, "is another file than was written", why, segment.remedy)


def is_footer_of(segment: FileSegment, footer: Footer) -> bool:
    """Whether the footer, with the recorded checksum of the bytes before it, matches the file's checksum.
    Earlier formats recorded none."""
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
        if not isinstance(path, RemotePath) and not path.parent.exists():
            why = "Its folder is gone as well: the disk was removed, or the folder was moved"
            return FileProblem(path, "is not there any more", why, "Put it back where it was, and try again")
        why = "It was moved or removed, or the transaction that wrote it was rolled back"
        return FileProblem(path, "is not there any more", why, "Start again from the current state")
    if isinstance(error, pa.ArrowNotImplementedError):
        return UnreadableColumns(path, "has a column that cannot be read", str(error), OTHER_COLUMNS)
    return UnreadableFile(path, "could not be read", str(error), "Check that the file is whole")


def statistics_of(chunk: pq.ColumnChunkMetaData, leaf: pq.ColumnSchema) -> pq.Statistics | None:
    """The statistics of a column chunk of this leaf. None if it has none, or claims to be of another type:
    asking pyarrow 26 for its statistics then ends the process."""
    return chunk.statistics if chunk.physical_type == leaf.physical_type else None


def _lies_in(path: str, name: str) -> bool:
    return path == name or path.startswith(f"{name}.")


def _is_text(leaf: pq.ColumnSchema) -> bool:
    numeric = leaf.logical_type.type in ("DECIMAL", "FLOAT16")
    return leaf.physical_type in _BYTES[:2] and not numeric


def _is_small(group: pq.RowGroupMetaData, place: int) -> bool:
    chunk = group.column(place)
    return bool(chunk.has_dictionary_page and chunk.total_uncompressed_size <= LENGTH_BYTES * group.num_rows)


def _is_one_and_null(chunk: pq.ColumnChunkMetaData, leaf: pq.ColumnSchema) -> bool:
    statistics = statistics_of(chunk, leaf)
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
            part = Part(file.metadata)
        if footer_bytes(path) == part.metadata.serialized_size + SIGNATURE_BYTES:
            part = readable_part(path) or part
    except REFUSALS as error:
        if (rest := readable_part(path)) is None:
            record.note_wrong_pages()
            raise unreadable(path, error) from error
        part = rest
    return Footer(
        path, (size, changed), part.metadata, record, is_verified, part.unreadable_columns, part.names
    )


def _remember(parsed: Footer) -> Footer:
    with _lock:
        footers = _footers[parsed.is_verified]
        while len(footers) >= KEPT_FOOTERS:
            footers.pop(next(iter(footers)))
        footers[parsed.path] = parsed
    return parsed
