"""The one table of formats that can be opened in place, recognised by the content of files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from lamella.core.datasets.base import (
    BadBytes,
    BadLines,
    Checksums,
    Dataset,
    OpenOptions,
    RaggedRows,
)
from lamella.core.datasets.contents import (
    Contents,
    foreign_format,
    is_arrow_file,
    is_arrow_stream,
    is_workbook,
    look_into,
    refuse_foreign,
)
from lamella.core.datasets.locate import Location, locate, locate_several
from lamella.core.datasets.options import BY_NAME, read_options
from lamella.core.datasets.parquet import ParquetDataset, is_parquet
from lamella.core.datasets.tables import ForeignKey, TableEntry
from lamella.core.datasets.text.dataset import (
    is_note,
    is_prose,
    looks_like_delimited,
    looks_like_json_document,
    looks_like_json_lines,
)
from lamella.core.datasets.text.files import open_delimited_text, open_json_document, open_json_lines
from lamella.core.errors import FileProblem
from lamella.core.jobs import Job, current_job, on_behalf_of
from lamella.core.phrases import sentence_case
from lamella.core.remote.files import files as remote_files
from lamella.core.remote.paths import RemotePath
from lamella.core.remote.spark_connect import is_server_address
from lamella.core.validation import path_of

MOST_NAMES = 3
MOST_FILES = 100
STORE = "store"
"""The label of a folder that is a store; set by callers that know stores."""


@dataclass(frozen=True)
class Format:
    """A format that can be opened. `suffixes` are the usual ones, without the dot, but files are recognised
    by content. `media` are the media types that the program is registered for. `several`: whether several
    files can be opened as one dataset. `is_read_whole`: its library needs a local file, so a remote one is
    fetched first. `options` are the `OpenOptions` that it supports. `tables` lists the tables of a file with
    several. `is_folder`: a folder whose files only this format can interpret."""

    id: str
    label: str
    suffixes: tuple[str, ...]
    recognises: Callable[[Contents], bool]
    open: Callable[[Location, OpenOptions], Dataset]
    media: tuple[str, ...] = ()
    several: bool = False
    is_text: bool = False
    is_read_whole: bool = False
    options: tuple[str, ...] = ()
    tables: Callable[[Path], list[TableEntry]] | None = None
    foreign_keys: Callable[[Path], list[ForeignKey]] | None = None
    is_folder: bool = False


def _open_delta(location: Location, options: OpenOptions) -> Dataset:
    from lamella.core.datasets.delta import open_delta

    return open_delta(location, options)


def _is_folder(contents: Contents) -> bool:
    """Never matches a file: the format is a folder."""
    return False


def _open_parquet(location: Location, options: OpenOptions) -> Dataset:
    return ParquetDataset(location, options.checksums)


def _open_arrow_file(location: Location, options: OpenOptions) -> Dataset:
    from lamella.core.datasets.arrow_ipc import open_arrow_file

    return open_arrow_file(location, options)


def _open_arrow_stream(location: Location, options: OpenOptions) -> Dataset:
    from lamella.core.datasets.arrow_ipc import open_arrow_stream

    return open_arrow_stream(location, options)


def is_sqlite(contents: Contents) -> bool:
    return contents.head.startswith(b"SQLite format 3\0")


def _open_sqlite(location: Location, options: OpenOptions) -> Dataset:
    from lamella.core.datasets.sqlite_file import open_table

    return open_table(location, options)


def _sqlite_tables(path: Path) -> list[TableEntry]:
    from lamella.core.datasets.sqlite_file import tables_of

    return tables_of(path)


def _sqlite_keys(path: Path) -> list[ForeignKey]:
    from lamella.core.datasets.sqlite_file import foreign_keys_of

    return foreign_keys_of(path)


def is_duckdb(contents: Contents) -> bool:
    return contents.head[8:12] == b"DUCK"


def _open_duckdb(location: Location, options: OpenOptions) -> Dataset:
    from lamella.core.datasets.duckdb_file import open_table

    return open_table(location, options)


def _duckdb_tables(path: Path) -> list[TableEntry]:
    from lamella.core.datasets.duckdb_file import tables_of

    return tables_of(path)


def _duckdb_keys(path: Path) -> list[ForeignKey]:
    from lamella.core.datasets.duckdb_file import foreign_keys_of

    return foreign_keys_of(path)


def _open_sheet(location: Location, options: OpenOptions) -> Dataset:
    from lamella.core.datasets.excel import open_sheet

    return open_sheet(location, options)


def _sheets(path: Path) -> list[TableEntry]:
    from lamella.core.datasets.excel import sheets_of

    return sheets_of(path)


TYPE_OPTIONS = ("types", "names", "decimal", "thousands", "dates", "zone")
"""Options of formats without a dialect, whose columns can be read as other types."""
_SHEET = "vnd.openxmlformats-officedocument.spreadsheetml.sheet"
DELTA = Format(
    "delta", "Delta Lake", (), _is_folder, _open_delta, options=("checksums", "version"), is_folder=True
)
FORMATS = (
    Format(
        "parquet", "Parquet", ("parquet", "pq", "parq"), is_parquet, _open_parquet,
        several=True, options=("checksums",), media=("application/vnd.apache.parquet",),
    ),
    Format(
        "arrow", "Arrow", ("arrow", "feather", "ipc"), is_arrow_file, _open_arrow_file, is_read_whole=True,
        media=("application/vnd.apache.arrow.file",),
    ),
    Format(
        "arrow-stream", "Arrow stream", ("arrows",), is_arrow_stream, _open_arrow_stream, is_read_whole=True,
        media=("application/vnd.apache.arrow.stream",),
    ),
    Format(
        "excel", "Excel workbook", ("xlsx", "xlsm", "xlsb", "xls", "ods"), is_workbook, _open_sheet,
        is_read_whole=True,
        options=("table", "header", "cells", *TYPE_OPTIONS), tables=_sheets,
        media=(
            f"application/{_SHEET}", "application/vnd.ms-excel",
            "application/vnd.oasis.opendocument.spreadsheet",
        ),
    ),
    Format(
        "sqlite", "SQLite", ("sqlite", "sqlite3", "db", "db3"), is_sqlite, _open_sqlite, is_read_whole=True,
        options=("table", *TYPE_OPTIONS), tables=_sqlite_tables, foreign_keys=_sqlite_keys,
        media=("application/vnd.sqlite3",),
    ),
    Format(
        "duckdb", "DuckDB", ("duckdb", "ddb"), is_duckdb, _open_duckdb, is_read_whole=True,
        options=("table",), tables=_duckdb_tables, foreign_keys=_duckdb_keys,
    ),
    Format(
        "json", "JSON", ("json", "geojson"), looks_like_json_document, open_json_document,
        several=True, is_text=True, options=("encoding",), media=("application/json",),
    ),
    Format(
        "jsonl", "JSON lines", ("jsonl", "ndjson"), looks_like_json_lines, open_json_lines,
        several=True, is_text=True, options=("encoding",), media=("application/x-ndjson",),
    ),
    Format(
        "csv", "delimited text", ("csv", "tsv", "tab", "txt"), looks_like_delimited, open_delimited_text,
        several=True, is_text=True,
        options=(
            "ragged", "encoding", "delimiter", "quote", "header", "skip_rows", "decimal", "thousands",
            "dates", "zone", "nulls", "booleans", "text_columns", "types", "names", "bad_lines",
            "bad_bytes",
        ),
        media=("text/csv", "text/tab-separated-values"),
    ),
    DELTA,
)  # fmt: skip
COMPRESSED_SUFFIXES = ("gz", "zst", "bz2", "xz", "zip")
"""The suffixes of compressed text."""


def usual_suffixes() -> tuple[str, ...]:
    """The usual suffixes of all files that can be opened, for a dialog."""
    return (*(suffix for format in FORMATS for suffix in format.suffixes), *COMPRESSED_SUFFIXES)


def recognise(path: Path) -> Format:
    """Recognise the format of a file by its content; raise `FileProblem` that says what the file is
    instead."""
    contents = look_into(path)
    if not contents.size:
        is_lines = path.suffix.casefold() in (".jsonl", ".ndjson")
        why = "JSON lines name their columns in each row" if is_lines else "It holds no bytes at all"
        raise FileProblem(path, "is empty", why, "Choose a file with data in it")
    for format in FORMATS:
        if not format.is_text and format.recognises(contents):
            return format
    refuse_foreign(contents, _openable)
    for format in FORMATS:
        if format.is_text and format.recognises(contents):
            _refuse_prose_named_parquet(format, contents)
            return format
    raise FileProblem(
        path, "is not in a known data format", "It holds binary data of another kind", _openable()
    )


def _refuse_prose_named_parquet(candidate: Format, contents: Contents) -> None:
    """Raise `FileProblem` for prose in a file named like Parquet. A text table with such a name is opened,
    but a line of text there is hardly a table."""
    if candidate.recognises is looks_like_delimited and _named_parquet(contents.path) and is_prose(contents):
        raise FileProblem(
            contents.path,
            "is named like a Parquet file but holds plain text",
            "It is neither Parquet nor a table of several columns",
            f"Download the Parquet file again, or rename it to {contents.path.stem}.csv to open it as text",
        )


def _named_parquet(path: Path) -> bool:
    return path.suffix.casefold() in (".parquet", ".parq", ".pq")


def data_files(location: Location) -> Location:
    """Leave notes out of a folder's files: text with one field on one line is not a table."""
    is_file = location.files == (location.root,)
    if location.is_delta or is_file or not location.root.is_dir() or is_parquet(look_into(location.files[0])):
        return location
    files = tuple(file for file in location.files if not _is_note(file))
    if not files:
        names = ", ".join(file.name for file in location.files[:MOST_NAMES])
        more = f" and {len(location.files) - MOST_NAMES:,} more" if len(location.files) > MOST_NAMES else ""
        raise FileProblem(
            location.root,
            "holds no data files",
            f"It holds {names}{more}: text, but no table",
            "Choose another",
        )
    return replace(location, files=files)


def _is_note(path: Path) -> bool:
    contents = look_into(path)
    return foreign_format(contents) is None and is_note(contents)


def common_format(location: Location) -> Format:
    """The common format of all the files. If the first is Parquet, opening them shows whether the others
    are."""
    if location.is_delta:
        return DELTA
    first = recognise(location.files[0])
    if len(location.files) == 1 or (first.several and not first.is_text):
        return first
    kinds = Counter(_kind(file) for file in location.files[:MOST_FILES])
    if len(kinds) > 1:
        raise FileProblem(
            location.root,
            "holds " + _count_text(kinds, len(location.files)),
            "Files of several formats cannot be shown as one",
            f"Open them one by one, {location.files[0].name} first, or name some of them: *.csv",
        )
    if not first.several:
        raise FileProblem(
            location.root,
            f"holds {len(location.files):,} {first.label} files",
            "Several of them cannot be shown as one",
            f"Open them one by one, {location.files[0].name} first",
        )
    return first


def _count_text(kinds: Mapping[str, int], files: int) -> str:
    """Describe counts: `2 CSV files, 1 Parquet file`."""
    counts = ", ".join(f"{count:,} {kind} file{'' if count == 1 else 's'}" for kind, count in kinds.items())
    more = files - MOST_FILES
    return f"{counts} and {more:,} more" if more > 0 else counts


def _kind(file: Path) -> str:
    try:
        return recognise(file).label
    except FileProblem:
        return "other"


def openable_formats() -> str:
    """List the formats: `Parquet, Arrow, … and delimited text`."""
    labels = [format.label for format in FORMATS]
    return ", ".join(labels[:-1]) + " and " + labels[-1]


def _openable() -> str:
    return f"What can be opened: {openable_formats()}"


def open_dataset(  # noqa: PLR0913 -- independent options
    path: str | Path | Sequence[str | Path],
    *,
    cache_dir: str | Path | None = None,
    ragged: RaggedRows = "refuse",
    bad_lines: BadLines = "refuse",
    bad_bytes: BadBytes | None = None,
    encoding: str | None = None,
    delimiter: str | None = None,
    quote: str | None = None,
    header: bool | None = None,
    skip_rows: int | None = None,
    decimal: str | None = None,
    thousands: str | None = None,
    dates: str | None = None,
    zone: str | None = None,
    nulls: Sequence[str] = (),
    booleans: Sequence[str | tuple[str, str]] = (),
    text_columns: Sequence[str] = (),
    types: Mapping[str, str] | None = None,
    names: Mapping[str, str] | None = None,
    cells: str | None = None,
    version: int | None = None,
    row_key: Sequence[str] = (),
    checksums: Checksums = "verify",
    table: str | None = None,
    sheet: str | None = None,
    job: Job | None = None,
) -> Dataset:
    """Open a file, a folder, a glob or several files as one read-only dataset, recognised by content.

    A format without fast access to any row is read through a columnar cache below `cache_dir` (the user's
    cache folder for None), which `fill` completes; the first rows are available at once.

    The notation of delimited text is detected, unless an option gives it: `encoding`, `delimiter`, `quote`,
    `header`, `skip_rows` above the table, the `decimal` separator, the `thousands` separator, which part of
    `dates` comes first ("day-first", "month-first"), the `zone` of times without one, words for null
    (`nulls`), and words for true and false (`booleans`, such as ["ja/nein"]). `text_columns` keep their
    exact text; `types` are the types of other columns, by their names in the file: {"plz": "text", "price":
    "decimal(10, 2)"}. A value that does not fit its type becomes null; `remarks` counts these, and
    `problems` lists them. `names` renames columns.

    `bad_lines="set-aside"` leaves out lines that cannot be read; they are counted and listed likewise.
    `bad_bytes="replace"` reads bytes that are not valid in the encoding as U+FFFD; `remarks` counts them.

    Parquet pages whose checksums differ raise a `DamagedFile`, now or when they are first read.
    `checksums="ignore"` reads them all the same.

    For a file with several tables, `table`, or `sheet` in a workbook, is the one to open: `tables_of` lists
    them. `cells` of a sheet is a range such as "B3:F200". Columns of sheets and of SQLite also take `types`
    and `names`, with `decimal`, `thousands`, `dates` and `zone` for text values. Cancelling `job` ends a
    slow opening, such as that of a view of a database.

    `sc://host:15002/database.table`, or `…/parquet:/path`, is a table on a Spark server, where queries of it
    run. `row_key` names the columns that identify and order its rows; no other option applies.

    Raises `FileProblem`, `SeveralTables` if one has to be named, `NoSuchTable`, `UnknownColumn` for one of
    `text_columns`, `types` or `names`, `BadData` for an invalid option, and `Cancelled`.
    """
    if is_server_address(path):
        from lamella.core.datasets.spark import open_spark_table

        return open_spark_table(str(path), BY_NAME["row_key"].read(row_key), job)
    with on_behalf_of(job or current_job()):
        location = _location(path, job)
        format = common_format(location)
        for path_elsewhere in location.files if format.is_read_whole else ():
            if isinstance(path_elsewhere, RemotePath):
                remote_files.local_copy(path_elsewhere, job)
    reading = read_options(
        {
            "encoding": encoding, "delimiter": delimiter, "quote": quote, "header": header,
            "skip_rows": skip_rows, "decimal": decimal, "thousands": thousands, "dates": dates, "zone": zone,
            "nulls": nulls or None, "booleans": booleans or None, "text_columns": text_columns or None,
            "types": types or None, "names": names or None, "cells": cells, "version": version,
            "row_key": row_key or None, "bad_bytes": bad_bytes,
        }
    )  # fmt: skip
    _refuse_useless(location, format, reading)
    part = sheet if table is None else table
    if part is not None and format.tables is None:
        raise FileProblem(location.root, f"is {format.label}, which is one table", fix=f"Leave '{part}' out")
    bad_lines = BY_NAME["bad_lines"].read(bad_lines)
    cache = None if cache_dir is None else path_of(cache_dir, "the cache")
    options = OpenOptions(
        cache, ragged, checksums=checksums, table=part, job=job, bad_lines=bad_lines, **reading
    )
    with on_behalf_of(job or current_job()):
        return format.open(location, options)


def _location(path: str | Path | Sequence[str | Path], job: Job | None) -> Location:
    return data_files(locate(path, job)) if isinstance(path, (str, Path)) else locate_several(path, job)


def _refuse_useless(location: Location, format: Format, reading: Mapping[str, object]) -> None:
    """Raise `FileProblem` for options that would have no effect, such as types for a file that has its
    own."""
    useless = [name for name in reading if name not in format.options]
    useless = [name for name in useless if name in REFUSED_ELSEWHERE]
    if useless == ["version"]:
        raise FileProblem(location.root, f"is {format.label}, which has no versions", fix="Leave version out")
    if useless == ["row_key"]:
        raise FileProblem(
            location.root, f"is {format.label}, whose rows have an order", fix="Leave row_key out"
        )
    if useless:
        raise FileProblem(
            location.root,
            f"is {format.label}, whose values already have types",
            fix=f"Leave {useless[0]} out",
        )


REFUSED_ELSEWHERE = frozenset(
    (
        "text_columns", "types", "names", "decimal", "thousands", "dates", "zone", "nulls", "booleans",
        "skip_rows", "cells", "version", "row_key",
    )
)  # fmt: skip
"""Options that are refused for formats they do not apply to; options about splitting bytes into fields are
ignored there instead."""


def tables_of(path: str | Path) -> list[TableEntry]:
    """List the tables or sheets of a file; empty for a file that is one table. Raises `FileProblem`."""
    location = locate(path)
    if len(location.files) != 1:
        return []
    format = recognise(location.files[0])
    return format.tables(location.files[0]) if format.tables else []


def foreign_keys_of(path: str | Path) -> list[ForeignKey]:
    """List the foreign keys between the tables of a database; empty for other files. Raises `FileProblem`."""
    location = locate(path)
    format = recognise(location.files[0]) if len(location.files) == 1 else None
    return format.foreign_keys(location.files[0]) if format and format.foreign_keys else []


@dataclass(frozen=True)
class Kind:
    """What a path holds: `label` says what can be opened, `problem` why it cannot."""

    path: Path
    label: str = ""
    files: int = 1
    problem: FileProblem | None = None
    is_table: bool = False
    """Whether the folder is one table, whatever files it contains."""


def kind_of(path: Path) -> Kind:
    """Examine a file, or a folder by the first of its data files."""
    try:
        location = data_files(locate(path))
        format = common_format(location)
        return Kind(path, format.label, len(location.files), is_table=format.is_folder)
    except FileProblem as problem:
        return Kind(path, problem=problem)


def sentence(kinds: Sequence[Kind]) -> str:
    """Describe what can be opened: `2 Parquet files, a folder of 12 Parquet files; notes.pdf cannot be
    opened`. For a single file that cannot be opened, say what it is."""
    if len(kinds) == 1 and kinds[0].problem is not None:
        return kinds[0].problem.headline
    good = [kind for kind in kinds if kind.problem is None]
    files = Counter(kind.label for kind in good if not kind.path.is_dir())
    parts = [f"{_number(count)} {label} file{'' if count == 1 else 's'}" for label, count in files.items()]
    parts += [
        "a store of tables"
        if k.label == STORE
        else f"a {k.label} table"
        if k.is_table
        else f"a folder of {k.files:,} {k.label} file{'' if k.files == 1 else 's'}"
        for k in good
        if k.path.is_dir()
    ]
    bad = [kind.path.name for kind in kinds if kind.problem is not None]
    refused = f"{_shorten(bad)} cannot be opened" if bad else ""
    readable = ", ".join(parts)
    return "; ".join(part for part in (sentence_case(readable), refused) if part)


def _number(count: int) -> str:
    return "one" if count == 1 else f"{count:,}"


def _shorten(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1:,} more"
