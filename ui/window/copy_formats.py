"""ONE table of the formats in which cells are copied. Each writes complete values."""

from __future__ import annotations

import datetime as dt
import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import pyarrow as pa

from lamella.core.arrow.nested_values import python_values
from lamella.core.filters.cell_texts import Texts, whole_texts
from lamella.core.filters.kinds import NUMBERS, Kind, kind_of
from lamella.ui.formats.formats import Format, form_of, format_texts

Lines = Iterator[str]
SPECIAL_CHARACTERS = "\t\n\r"
CSV_SPECIAL = ',"\n\r'


@dataclass(frozen=True)
class Cells:
    """Cells to copy: `pages` have the columns of `schema` and follow one another. `name` is the name of
    a table made of them."""

    name: str
    schema: pa.Schema
    pages: Iterable[pa.Table]
    formats: Mapping[str, Format] = field(default_factory=dict)
    """How columns are formatted, by name."""

    def rows_of_texts(self) -> Iterator[tuple[str | None, ...]]:
        for page in self.pages:
            yield from zip(*(whole_texts(column) for column in page.columns), strict=True)

    def formatted_rows(self) -> Iterator[tuple[str | None, ...]]:
        for page in self.pages:
            yield from zip(*(self._formatted_column(page, name) for name in page.column_names), strict=True)

    def _formatted_column(self, page: pa.Table, name: str) -> Texts:
        values = page.column(name)
        form = form_of(self.formats, name, values.type)
        return whole_texts(values) if form is None or form.kind == "plain" else format_texts(values, form)

    def rows_of_values(self) -> Iterator[tuple[Any, ...]]:
        for page in self.pages:
            yield from zip(*(python_values(column) for column in page.columns), strict=True)


def _tsv(cells: Cells) -> Lines:
    for row in cells.rows_of_texts():
        yield "\t".join(map(tsv_cell, row))


def _tsv_with_names(cells: Cells) -> Lines:
    yield "\t".join(map(tsv_cell, cells.schema.names))
    yield from _tsv(cells)


def _formatted_tsv(cells: Cells) -> Lines:
    for row in cells.formatted_rows():
        yield "\t".join(map(tsv_cell, row))


def tsv_cell(text: str | None) -> str:
    """Quote a text that a spreadsheet would otherwise split or unquote."""
    if text is None:
        return ""
    return _in_quotes(text) if text.startswith('"') or any(c in text for c in SPECIAL_CHARACTERS) else text


def _csv(cells: Cells) -> Lines:
    """CSV: null is written as nothing, empty text as a pair of quotes."""
    yield ",".join(map(_csv_cell, cells.schema.names))
    for row in cells.rows_of_texts():
        yield ",".join(map(_csv_cell, row))


def _csv_cell(text: str | None) -> str:
    if text is None:
        return ""
    special = not text or text != text.strip() or any(c in text for c in CSV_SPECIAL)
    return _in_quotes(text) if special else text


def _in_quotes(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


def _json(cells: Cells) -> Lines:
    names = [json.dumps(name, ensure_ascii=False) for name in cells.schema.names]
    before = "["
    for row in cells.rows_of_values():
        values = (f"{name}: {_json_value(value)}" for name, value in zip(names, row, strict=True))
        yield before + "{" + ", ".join(values) + "}"
        before = ","
    yield "]" if before == "," else "[]"


def _json_value(value: Any) -> str:
    """A value as JSON; NaN, infinities, dates and bytes, which JSON lacks, become text."""
    if isinstance(value, Decimal) and value.is_finite():
        return str(value)
    if isinstance(value, dict):
        inner = (f"{json.dumps(str(k), ensure_ascii=False)}: {_json_value(v)}" for k, v in value.items())
        return "{" + ", ".join(inner) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_json_value, value)) + "]"
    if isinstance(value, bool | int) or value is None:
        return json.dumps(value)
    if isinstance(value, float) and math.isfinite(value):
        return repr(value)
    return json.dumps(_plain_text(value), ensure_ascii=False)


def _plain_text(value: Any) -> str:
    if isinstance(value, bytes):
        return "0x" + value.hex()
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return value.isoformat(sep=" ") if isinstance(value, dt.datetime) else str(value)


def _markdown(cells: Cells) -> Lines:
    rules = ["---:" if kind_of(field.type) in NUMBERS else ":---" for field in cells.schema]
    yield _markdown_row(cells.schema.names)
    yield "| " + " | ".join(rules) + " |"
    for row in cells.rows_of_texts():
        yield _markdown_row(row)


def _markdown_row(row: Iterable[str | None]) -> str:
    texts = ((text or "").replace("\\", "\\\\").replace("|", "\\|") for text in row)
    lines = ("<br>".join(text.replace("\r\n", "\n").splitlines()) for text in texts)
    return "| " + " | ".join(lines) + " |"


def _sql_insert(cells: Cells) -> Lines:
    columns = ", ".join(map(_in_quotes, cells.schema.names))
    yield f"INSERT INTO {_in_quotes(cells.name)} ({columns}) VALUES"
    yield from _sql_rows(cells, ";")


def _sql_values(cells: Cells) -> Lines:
    yield "VALUES"
    yield from _sql_rows(cells, "")


def _sql_rows(cells: Cells, end: str) -> Lines:
    types = cells.schema.types
    before = None
    for row in cells.rows_of_values():
        if before is not None:
            yield before + ","
        values = (sql_literal(value, type_) for value, type_ in zip(row, types, strict=True))
        before = f"  ({', '.join(values)})"
    if before is not None:
        yield before + end


def _in_list(cells: Cells) -> Lines:
    """An SQL IN list: each value once, without nulls, which IN never finds; rows of several columns in
    parentheses."""
    types, literals_listed = cells.schema.types, dict[str, None]()
    for row in cells.rows_of_values():
        if None not in row:
            literals = [sql_literal(value, type_) for value, type_ in zip(row, types, strict=True)]
            literals_listed[literals[0] if len(literals) == 1 else f"({', '.join(literals)})"] = None
    yield "(" + ", ".join(literals_listed) + ")"


SQL_TYPES = {Kind.DATE: "DATE", Kind.TIME: "TIME", Kind.UUID: "UUID"}


def sql_literal(value: Any, type_: pa.DataType) -> str:
    """A value as a literal of DuckDB and PostgreSQL."""
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, float) and not math.isfinite(value):
        return f"CAST('{_plain_text(value)}' AS DOUBLE PRECISION)"
    if isinstance(value, int | float | Decimal):
        return str(value)
    if isinstance(value, bytes):
        return "CAST('" + "".join(f"\\x{byte:02X}" for byte in value) + "' AS BLOB)"
    text = _sql_text(_json_value(value) if isinstance(value, dict | list | tuple) else _plain_text(value))
    kind = kind_of(type_)
    if kind is Kind.TIMESTAMP:
        return f"{'TIMESTAMPTZ' if type_.tz else 'TIMESTAMP'} {text}"
    return f"{SQL_TYPES[kind]} {text}" if kind in SQL_TYPES else text


def _sql_text(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _python(cells: Cells) -> Lines:
    """A list of values, or of dicts for several columns, which `eval` reads back."""
    names = [repr(name) for name in cells.schema.names]
    yield "["
    for row in cells.rows_of_values():
        if len(names) == 1:
            yield f"    {_python_value(row[0])},"
        else:
            pairs = zip(names, map(_python_value, row), strict=True)
            yield "    {" + ", ".join(f"{name}: {value}" for name, value in pairs) + "},"
    yield "]"


def _python_value(value: Any) -> str:
    if isinstance(value, float) and not math.isfinite(value):
        return f"float('{value}')"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{k!r}: {_python_value(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_python_value, value)) + "]"
    return repr(value)


@dataclass(frozen=True)
class CopyFormat:
    id: str
    label: str
    write: Callable[[Cells], Lines]


FORMATS = (
    CopyFormat("tsv", "Tab-separated text", _tsv),
    CopyFormat("tsv_names", "Tab-separated text with names", _tsv_with_names),
    CopyFormat("shown", "Tab-separated text as shown", _formatted_tsv),
    CopyFormat("csv", "CSV", _csv),
    CopyFormat("json", "JSON", _json),
    CopyFormat("markdown", "Markdown table", _markdown),
    CopyFormat("sql_insert", "SQL INSERT", _sql_insert),
    CopyFormat("sql_values", "SQL VALUES", _sql_values),
    CopyFormat("in_list", "SQL IN list", _in_list),
    CopyFormat("python", "Python", _python),
)
BY_ID = {entry.id: entry for entry in FORMATS}
