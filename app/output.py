"""Answers of `lamella query` as text, batch by batch."""

from __future__ import annotations

import csv
import json
import math
import re
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from typing import Any, TextIO

import pyarrow as pa

from lamella.core.arrow.nested import no_text, python_value
from lamella.core.errors import visible

BATCH_ROWS = 10_000
WIDEST = 60
NULL = "NULL"
_LEFT_RAW = re.compile(r"[\x7f-\x9f]")
"""Control characters that JSON allows in strings; escaped, they say the same and no terminal obeys them."""


def write_csv(table: pa.Table, out: TextIO) -> None:
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(table.column_names)
    writer.writerows(["" if cell is None else _cell_text(cell) for cell in row] for row in _rows(table))


def write_jsonl(table: pa.Table, out: TextIO) -> None:
    for row in _objects(table):
        out.write(row + "\n")


def write_json(table: pa.Table, out: TextIO) -> None:
    out.write("[")
    for number, row in enumerate(_objects(table)):
        out.write((",\n " if number else "\n ") + row)
    out.write("\n]\n")


def write_table(table: pa.Table, out: TextIO) -> None:
    """Columns as wide as their contents, numbers to the right, nothing wider than 60 characters, and no
    control characters, wherever it is written to: it is for people to read."""
    names = list(map(_cell, table.column_names))
    rows = [[_cell(cell) for cell in row] for row in _rows(table)]
    columns = zip(names, *rows, strict=True) if table.num_columns else []
    widths = [min(WIDEST, max(map(len, column))) for column in columns]
    right = [pa.types.is_integer(kind) or _is_fraction(kind) for kind in table.schema.types]
    out.write(_line(names, widths, right))
    out.write("  ".join("─" * width for width in widths) + "\n")
    out.writelines(_line(row, widths, right) for row in rows)
    out.write(f"({table.num_rows:,} row{'' if table.num_rows == 1 else 's'})\n")


FORMATS: dict[str, Callable[[pa.Table, TextIO], None]] = {
    "table": write_table,
    "csv": write_csv,
    "json": write_json,
    "jsonl": write_jsonl,
}


def _rows(table: pa.Table) -> Iterator[tuple[Any, ...]]:
    for batch in table.to_batches(max_chunksize=BATCH_ROWS):
        yield from zip(*map(_values, batch.schema.names, batch.columns), strict=True)


def _values(name: str, column: pa.Array) -> list[Any]:
    """Times that Python has no value for are text, or what is stored. Raises `BadData` for text that is not
    UTF-8."""
    try:
        return list(column.to_pylist())
    except UnicodeDecodeError as error:
        raise no_text(f"Text of column '{visible(name)}'", error) from error
    except (OverflowError, ValueError):
        return [python_value(value) for value in column]


def _objects(table: pa.Table) -> Iterator[str]:
    names = _unique_names(table.column_names)
    for row in _rows(table):
        text = json.dumps(_finite(dict(zip(names, row, strict=True))), default=_cell_text, ensure_ascii=False)
        yield _LEFT_RAW.sub(lambda control: f"\\u{ord(control[0]):04x}", text)


def _unique_names(names: Sequence[str]) -> list[str]:
    """An object has a name once: the second `city` is `city_2`."""
    unique: list[str] = []
    for name in names:
        free, number = name, 2
        while free in unique:
            free, number = f"{name}_{number}", number + 1
        unique.append(free)
    return unique


def _finite(value: Any) -> Any:
    """JSON has no NaN and no infinity: they become their names. Decimals are numbers that say the same."""
    if isinstance(value, Decimal):
        return _number(value)
    if isinstance(value, pa.MonthDayNano):
        return _span(value)
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, dict):
        return {str(key): _finite(item) for key, item in value.items()}
    return [_finite(item) for item in value] if isinstance(value, list | tuple) else value


def _number(value: Decimal) -> int | float | str:
    if not value.is_finite():
        return str(value)
    if value == value.to_integral_value():
        return int(value)
    return float(value) if Decimal(repr(float(value))) == value else str(value)


def _cell_text(value: Any) -> Any:
    """Nested values as JSON, bytes as hex, times in ISO form, everything else as it prints."""
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, pa.MonthDayNano):
        return _span(value)
    if isinstance(value, dict | list):
        return json.dumps(_finite(value), default=_cell_text, ensure_ascii=False)
    return value.isoformat(" ") if hasattr(value, "hour") and hasattr(value, "year") else str(value)


def _span(value: pa.MonthDayNano) -> str:
    """In ISO form: P3M, P1DT2.5S."""
    seconds = Decimal(value.nanoseconds).scaleb(-9).normalize()
    parts = [f"{value.months}M" if value.months else "", f"{value.days}D" if value.days else ""]
    time = f"T{seconds:f}S" if seconds or not any(parts) else ""
    return f"P{''.join(parts)}{time}"


def _cell(value: Any) -> str:
    text = NULL if value is None else visible(str(_cell_text(value)).replace("\n", "⏎").replace("\t", " "))
    return text if len(text) <= WIDEST else text[: WIDEST - 1] + "…"


def _line(cells: Sequence[str], widths: Sequence[int], right: Sequence[bool]) -> str:
    placed = (
        cell[:width].rjust(width) if at_right else cell[:width].ljust(width)
        for cell, width, at_right in zip(cells, widths, right, strict=True)
    )
    return "  ".join(placed).rstrip() + "\n"


def _is_fraction(kind: pa.DataType) -> bool:
    return bool(pa.types.is_floating(kind) or pa.types.is_decimal(kind))
