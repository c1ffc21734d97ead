"""The one table of export formats: their options, and what each of them loses."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from lamella.core.errors import TypeConflict, UnknownName
from lamella.core.transfer.arrow_file import CODECS as ARROW_CODECS
from lamella.core.transfer.arrow_file import write_arrow
from lamella.core.transfer.delimited import ENCODINGS, NEWLINES, write_delimited_text
from lamella.core.transfer.delta import CODECS as DELTA_CODECS
from lamella.core.transfer.delta import MODES, adds_version, refuse_table, write_delta
from lamella.core.transfer.duckdb_file import write_duckdb
from lamella.core.transfer.excel import needs_total, write_excel
from lamella.core.transfer.json_text import write_array, write_lines
from lamella.core.transfer.markup import write_html, write_markdown
from lamella.core.transfer.parquet import CODECS, write_parquet
from lamella.core.transfer.sqlite_file import write_sqlite
from lamella.core.transfer.text_columns import DATE_FORMATS
from lamella.core.transfer.writer import KINDS, Option, UnknownOption, Values, Write, kind_of, kinds_of


class UnknownFormat(UnknownName):
    kind = "format"


@dataclass(frozen=True)
class Format:
    """An export format. `losses` says for kinds of types (`KINDS`) what does not survive, `always` for every
    export. `refused_kinds` are kinds that it cannot store. `is_text`: its first lines can be shown as they
    are. `needs_total`: whether the rows have to be counted first. `adds`: whether these options add to an
    existing file; `refuse_target` raises `FileProblem` for obstacles that only this format knows."""

    id: str
    label: str
    suffixes: tuple[str, ...]
    write: Write
    options: tuple[Option, ...]
    always: str = ""
    losses: Mapping[str, str] = field(default_factory=dict)
    refused_kinds: tuple[str, ...] = ()
    is_text: bool = False
    needs_total: Callable[[Values], bool] = lambda values: False
    adds: Callable[[Values], bool] = lambda values: bool(values.get("add"))
    refuse_target: Callable[[Path, Values], None] = lambda path, values: None

    @property
    def is_partitioned(self) -> bool:
        """Whether the export can be partitioned into folders by the values of some columns."""
        return any(option.name == "partition_by" for option in self.options)

    def values(self, texts: Mapping[str, Any]) -> Values:
        """Complete and parse the options. Raises `UnknownOption`, and `BadData` for a value that does not
        fit."""
        options = {option.name: option for option in self.options}
        for name in texts:
            if name not in options:
                raise UnknownOption(name, f"Export to {self.label}", options)
        return {
            name: option.read(texts[name]) if name in texts else option.default
            for name, option in options.items()
        }

    def refuse(self, schema: pa.Schema) -> None:
        """Raise `TypeConflict` if the format cannot store a column of this type."""
        for column in schema:
            odd = next((kind for kind in _kinds_within(column.type) if kind in self.refused_kinds), None)
            if odd is not None:
                raise TypeConflict(
                    f"column '{column.name}' of type {column.type} cannot be exported to {self.label}",
                    f"It has no {KINDS[odd]}",
                    "Leave the column out, or cast it",
                )

    def losses_of(self, schema: pa.Schema) -> list[tuple[list[str], str]]:
        """What is lost of columns with these types, with the names of the columns."""
        columns: dict[str, list[str]] = {}
        for column in schema:
            for kind in kinds_of(column.type):
                text = self.losses.get(kind)
                if text and column.name not in columns.setdefault(text, []):
                    columns[text].append(column.name)
        return [(names, text) for text, names in columns.items()]


def _kinds_within(kind: pa.DataType) -> Iterator[str]:
    """Yield the kinds of a type and of all types inside it."""
    yield kind_of(kind)
    if pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind):
        yield from _kinds_within(kind.value_type)
    for number in range(kind.num_fields):
        yield from _kinds_within(kind.field(number).type)


_HEADER = Option("header", "switch", True, "begin with a line of column names", title="Names of columns")
_NEUTRALISE = Option(
    "neutralise_formulas",
    "switch",
    False,
    "write ' before text that begins with = + - @, a tab or CR, which spreadsheets take for a formula",
)
_NULLS = Option(
    "nulls",
    "switch",
    True,
    "write null for cells without a value instead of leaving out their key",
    title="Write nulls",
)
_GROUP_ROWS = Option(
    "row_group_rows", "number", 100_000, "rows per row group", most=10_000_000, title="Rows per row group"
)


def _dialect(delimiter: str) -> tuple[Option, ...]:
    return (
        Option("delimiter", "text", delimiter, "the character between cells", (",", ";", "tab", "|")),
        _HEADER,
        Option("quote", "text", '"', "the character around cells; doubled inside them", ('"', "'")),
        Option(
            "quoting",
            "choice",
            "text",
            "which cells are quoted: text, those that need it, or all that hold a value",
            ("text", "needed", "all"),
        ),
        Option("null", "text", "", "the text for cells without a value", ("", "NULL", "NA", "\\N")),
        Option("decimal_sign", "choice", ".", "the sign between a number and its fraction", (".", ",")),
        Option(
            "dates", "choice", "iso", "how dates are written, alone and in timestamps", tuple(DATE_FORMATS)
        ),
        Option(
            "encoding", "choice", "utf-8", "the encoding of the file; Excel needs utf-8-bom", tuple(ENCODINGS)
        ),
        Option("line_ends", "choice", "lf", "the ends of lines: lf, or crlf as on Windows", tuple(NEWLINES)),
        _NEUTRALISE,
    )


_AS_TEXT = {
    "decimal": "the number of digits after the point is not stored",
    "category": "values are written in full, without their list of categories",
    "binary": "written as hexadecimal digits",
    "zoned": "written with the offset from UTC; the name of the zone is lost",
    "duration": "written as text, h:mm:ss",
    "interval": "written as ISO 8601 text, P1M2DT3S",
    "list": "written as JSON",
    "struct": "written as JSON",
    "map": "written as JSON, a list of pairs",
}
_IN_JSON = {
    "decimal": "written as text, so that no digit is lost",
    "float": "NaN and infinities are written as text",
    "category": _AS_TEXT["category"],
    "binary": _AS_TEXT["binary"],
    "date": "written as text in ISO form",
    "time": "written as text in ISO form",
    "timestamp": "written as text in ISO form",
    "zoned": "written as text with the offset from UTC; the name of the zone is lost",
    "duration": _AS_TEXT["duration"],
    "interval": _AS_TEXT["interval"],
    "map": "written as a list of pairs",
}
_NULL = Option("null", "text", "", "the text for cells without a value", ("", "NULL", "–"))
_KEYS = (
    Option(
        "table_name",
        "text",
        "",
        "the name of the table; by default that of the exported data",
        lasting=False,
    ),
    Option(
        "add",
        "switch",
        False,
        "add the table to an existing database instead of writing a new one",
        lasting=False,
        title="Add to the existing database",
    ),
    Option("primary_key", "columns", (), "columns whose values together are unique", lasting=False),
    Option("indexes", "columns", (), "columns to index, each with its own index", lasting=False),
)
_IN_SQLITE = {
    "null": "the column has no type",
    "boolean": "stored as 0 and 1 in a column declared BOOLEAN",
    "integer": "stored as INTEGER of up to 64 bits",
    "uint64": "numbers from 2⁶³ on are text",
    "float": "NaN becomes null",
    "float16": "stored in 64 bits",
    "float32": "stored in 64 bits",
    "decimal": "stored as REAL, which is exact for up to 15 digits",
    "decimal_16": "numbers of more than 15 digits are stored as text",
    "category": _AS_TEXT["category"],
    "date": "stored as text in ISO form, in a column declared DATE",
    "time": "stored as text in ISO form, in a column declared TIME",
    "timestamp": "stored as text in ISO form, in a column declared TIMESTAMP",
    "zoned": "stored as text with the offset from UTC; the name of the zone is lost",
    "duration": "stored as text, h:mm:ss",
    "interval": "stored as text, P1M2DT3S",
    "list": "stored as JSON",
    "struct": "stored as JSON",
    "map": "stored as JSON, a list of pairs",
}
_IN_DUCKDB = {
    "null": "the column becomes a column of integers",
    "float16": "stored in 32 bits",
    "decimal_39": "numbers of more than 38 digits are stored as text",
    "category": _AS_TEXT["category"],
    "binary_fixed": "the fixed length of values is not stored",
    "date64": "dates of 64 bits become dates of 32 bits",
    "time_s": "seconds become microseconds, with the same values",
    "time_ms": "milliseconds become microseconds, with the same values",
    "zoned": "stored in UTC as microseconds; the name of the zone is lost",
    "zoned_ns": "nanoseconds are lost",
    "duration": "stored as INTERVAL",
    "duration_ns": "nanoseconds are lost",
    "interval": "nanoseconds are lost",
}
_IN_DELTA = {
    "null": "the column becomes a column of text",
    "unsigned": "become signed integers of twice the width, with the same values",
    "uint64": "become decimal numbers of 20 digits, with the same values",
    "float16": "stored in 32 bits",
    "category": _AS_TEXT["category"],
    "binary_fixed": "the fixed length of values is not stored",
    "date64": "dates of 64 bits become dates of 32 bits",
    "timestamp_s": "seconds become microseconds, with the same values",
    "timestamp_ns": "nanoseconds are lost",
    "zoned": "stored in UTC as microseconds; the name of the zone is lost",
    "zoned_ns": "nanoseconds are lost",
}
_IN_EXCEL = {
    "int64": "numbers of more than 15 digits are text, so that no digit is lost",
    "uint64": "numbers of more than 15 digits are text, so that no digit is lost",
    "float": "NaN and infinities are text",
    "decimal": "the number of digits after the point is not stored",
    "decimal_16": "numbers of more than 15 digits are text, so that no digit is lost",
    "text": "an empty text becomes an empty cell, like null; text has at most 32,767 characters",
    "category": "values are written in full; an empty text becomes an empty cell",
    "binary": _AS_TEXT["binary"],
    "date": "dates before March 1900 and after 9999 are text",
    "time": "fractions finer than milliseconds are not exact",
    "timestamp": "text before March 1900 and after 9999; fractions finer than milliseconds are not exact",
    "zoned": "written in the zone's local time; the zone and fractions finer than milliseconds are lost",
    "duration": "negative ones are text; fractions finer than milliseconds are not exact",
    "interval": _AS_TEXT["interval"],
    "list": "written as JSON",
    "struct": "written as JSON",
    "map": "written as JSON, a list of pairs",
}
_IN_DOCUMENTS = {
    **_AS_TEXT,
    "text": "null looks like an empty text unless another text is chosen for it; control characters are lost",
}
_NO_TYPES = "Types and notes of columns are not written: readers infer types from the values."
_BY_ROWS = f"{_NO_TYPES} Columns are named in each row: a file without rows has none, and cannot be opened."

FORMATS = (
    Format(
        "parquet",
        "Parquet",
        (".parquet", ".parq", ".pq"),
        write_parquet,
        (
            Option("codec", "choice", "zstd", "how pages are compressed", CODECS),
            _GROUP_ROWS,
            Option(
                "partition_by",
                "columns",
                (),
                "write a folder with a subfolder for each value of these columns",
                lasting=False,
            ),
        ),
        losses={
            "timestamp_s": "seconds become milliseconds, with the same values",
            "zoned_s": "seconds become milliseconds, with the same values",
            "time_s": "seconds become milliseconds, with the same values",
            "date64": "dates of 64 bits become dates of 32 bits",
        },
        refused_kinds=("interval", "other"),
    ),
    Format(
        "csv",
        "CSV",
        (".csv",),
        write_delimited_text,
        _dialect(","),
        _NO_TYPES,
        _AS_TEXT,
        ("other",),
        is_text=True,
    ),
    Format(
        "tsv",
        "TSV",
        (".tsv", ".tab"),
        write_delimited_text,
        _dialect("\t"),
        _NO_TYPES,
        _AS_TEXT,
        ("other",),
        is_text=True,
    ),
    Format(
        "jsonl",
        "JSON lines",
        (".jsonl", ".ndjson"),
        write_lines,
        (_NULLS,),
        _BY_ROWS,
        _IN_JSON,
        ("other",),
        is_text=True,
    ),
    Format(
        "json",
        "JSON",
        (".json",),
        write_array,
        (
            Option(
                "indent",
                "switch",
                True,
                "write each object on its own line",
                title="Each object on its own line",
            ),
            _NULLS,
        ),
        _BY_ROWS,
        _IN_JSON,
        ("other",),
        is_text=True,
    ),
    Format(
        "arrow",
        "Arrow (Feather)",
        (".arrow", ".feather", ".ipc"),
        write_arrow,
        (
            Option("codec", "choice", "zstd", "how columns are compressed", ARROW_CODECS),
            Option(
                "stream",
                "switch",
                False,
                "write a stream, which has no footer, instead of a file",
                title="As a stream",
            ),
        ),
        losses={"category": _AS_TEXT["category"]},
    ),
    Format(
        "excel",
        "Excel",
        (".xlsx",),
        write_excel,
        (
            Option(
                "sheet",
                "text",
                "",
                "the name of the sheet; by default that of the exported data",
                lasting=False,
            ),
            Option(
                "too_many_rows",
                "choice",
                "refuse",
                "more than the 1,048,575 rows of a sheet are refused, or split into several sheets",
                ("refuse", "split"),
            ),
            Option(
                "long_text",
                "choice",
                "refuse",
                "text of more than 32,767 characters is refused, or cut",
                ("refuse", "cut"),
            ),
        ),
        "Types and notes of columns are not written. Text is never a formula, even if it begins with =.",
        _IN_EXCEL,
        ("other",),
        needs_total=needs_total,
    ),
    Format(
        "sqlite",
        "SQLite",
        (".sqlite", ".db", ".sqlite3"),
        write_sqlite,
        _KEYS,
        "Notes of columns are not written; names that differ only in case get a number.",
        _IN_SQLITE,
        ("other",),
    ),
    Format(
        "duckdb",
        "DuckDB",
        (".duckdb", ".ddb"),
        write_duckdb,
        _KEYS,
        "Notes of columns are not written; names that differ only in case get a number.",
        _IN_DUCKDB,
        ("other",),
    ),
    Format(
        "delta",
        "Delta Lake",
        (".delta",),
        write_delta,
        (
            Option(
                "mode",
                "choice",
                "new",
                "write a new table, or a new version of the existing table: with these rows added to its own,"
                " or in place of them",
                tuple(MODES),
                lasting=False,
            ),
            Option(
                "history",
                "switch",
                False,
                "write each commit of a store's table as a version, or those that an existing table lacks",
                lasting=False,
                in_form=False,  # the form offers it with the choice of rows
            ),
            Option("codec", "choice", "zstd", "how pages are compressed", DELTA_CODECS),
            _GROUP_ROWS,
            Option(
                "partition_by",
                "columns",
                (),
                "write a subfolder for each value of these columns",
                lasting=False,
            ),
        ),
        "A folder that Spark, Trino, DuckDB and Polars can read. Notes of columns are not written; names that"
        " differ only in case get a number.",
        _IN_DELTA,
        ("time", "duration", "interval", "other"),
        adds=adds_version,
        refuse_target=refuse_table,
    ),
    Format(
        "markdown",
        "Markdown",
        (".md", ".markdown"),
        write_markdown,
        (_NULL,),
        "A table for people to read: types are not written.",
        _IN_DOCUMENTS,
        ("other",),
        is_text=True,
    ),
    Format(
        "html",
        "HTML",
        (".html", ".htm"),
        write_html,
        (
            Option(
                "page", "switch", True, "write a whole page instead of only the table", title="Whole page"
            ),
            _NULL,
        ),
        "A table for people to read, to be pasted into documents: types are not written. A spreadsheet that"
        " opens it, or gets it from the clipboard, takes text that begins with = for a formula; the format"
        " Excel keeps it as text.",
        _IN_DOCUMENTS,
        ("other",),
        is_text=True,
    ),
)


def format_named(name: str) -> Format:
    """Return the format with this id; raise `UnknownFormat`."""
    by_id = {format.id: format for format in FORMATS}
    if name not in by_id:
        raise UnknownFormat(name, "Export", by_id)
    return by_id[name]


def format_of_suffix(suffix: str) -> Format | None:
    return next((format for format in FORMATS if suffix.casefold() in format.suffixes), None)


def all_options() -> dict[str, Sequence[tuple[Format, Option]]]:
    """All options by name, with the formats that have each."""
    options: dict[str, list[tuple[Format, Option]]] = {}
    for format in FORMATS:
        for option in format.options:
            options.setdefault(option.name, []).append((format, option))
    return dict(options)
