"""Writes Excel workbooks with a Rust library that keeps only a few rows in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from decimal import Decimal
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lamella.core.arrow.arrays import to_numpy
from lamella.core.errors import Advice, BadData, FileProblem, visible
from lamella.core.jobs import Job
from lamella.core.transfer.text_columns import PER_SECOND, floats_of, naming_column, texts_of
from lamella.core.transfer.writer import Rows, Values, kind_of, pieces, unique_names

MOST_ROWS, MOST_COLUMNS = 1_048_576, 16_384
LONGEST_TEXT = 32_767
MOST_DIGITS = 15
"""The digits that Excel keeps of a number; it turns further ones into zeros."""
ROWS_A_SHEET = MOST_ROWS - 1
LONGEST_NAME = 31
FIRST_DAY, LAST_DAY = -25_508, 2_932_896
"""In days since 1970: 1 March 1900, before which Excel counts a day that never existed, and the end of
9999."""
DAYS_BEFORE = 25_569
"""The days from Excel's day 0 to 1970."""
LAST_TIME = 86_399_999 / 86_400_000
"""The last millisecond of a day: Excel rounds to milliseconds, and would turn a later time into midnight."""
NUMBER_FORMATS = {
    "date": "yyyy-mm-dd",
    "time": "hh:mm:ss",
    "timestamp": "yyyy-mm-dd hh:mm:ss",
    "zoned": "yyyy-mm-dd hh:mm:ss",
    "duration": "[h]:mm:ss",
}
WIDTHS = {"date": 12, "time": 10, "timestamp": 20, "zoned": 20, "text": 20}
AS_TEXT = frozenset(("text", "category", "binary", "interval", "list", "struct", "map"))


def needs_total(values: Values) -> bool:
    """Whether the rows must be counted first: the library needs the number of sheets before it writes the
    first."""
    return bool(values["too_many_rows"] == "split")


def write_excel(path: Path, rows: Rows, values: Values, job: Job) -> None:
    import rustpy_xlsxwriter as excel

    _refuse_size(rows, values)
    names = unique_names(rows.schema.names)
    count = 1 if rows.total is None else max(1, -(-rows.total // ROWS_A_SHEET))
    title = _sheet_name(values["sheet"] or rows.name)
    titles = [title] if count == 1 else [_numbered_name(title, number) for number in range(1, count + 1)]
    formats = _formats(excel.Format, rows.schema, names)
    cells = _rows_of_cells(rows, names, values["long_text"] == "cut")
    first = next(cells, None)
    data: list[tuple[str, Any]] = (
        [(title, pa.Table.from_batches([], pa.schema([(name, pa.string()) for name in names])))]
        if first is None
        else [(title, _sheet(cells, first if number == 0 else None)) for number, title in enumerate(titles)]
    )
    try:
        excel.write_worksheets(
            data,
            str(path),
            freeze_panes={"general": {"row": 1, "col": 0}},
            bold_headers=True,
            column_widths=dict.fromkeys(titles, _widths(rows.schema, names)),
            column_formats=dict.fromkeys(titles, formats),
            autofilter=dict.fromkeys(titles, True),
            ignore_errors={each: list(formats) for each in titles},
        )
    except (RuntimeError, ValueError) as error:
        job.check()
        raise FileProblem(
            path, "could not be written", str(error), "Choose another folder or format, or make room"
        ) from error
    _refuse_more_rows(cells, rows.name)


def _sheet(cells: Iterator[dict[str, Any]], first: dict[str, Any] | None) -> Iterator[dict[str, Any]]:
    """Yield the rows of the next sheet; `first` has already been read, to see whether there are any."""
    if first is not None:
        yield first
    yield from islice(cells, ROWS_A_SHEET - (first is not None))


def _refuse_size(rows: Rows, values: Values) -> None:
    if len(rows.schema) > MOST_COLUMNS:
        raise BadData(
            f"{rows.name} has {len(rows.schema):,} columns",
            f"A sheet of Excel has at most {MOST_COLUMNS:,}",
            "Choose some of the columns, or another format",
        )
    if not len(rows.schema):
        raise BadData(f"{rows.name} has no columns to write", fix="Choose some")
    if rows.total is not None and rows.total > ROWS_A_SHEET and values["too_many_rows"] == "refuse":
        raise _too_many_error(rows.name, f"{rows.total:,}")


def _refuse_more_rows(cells: Iterator[dict[str, Any]], name: str) -> None:
    """Raise `BadData` if more rows follow than a sheet holds, in case their number was unknown."""
    if next(cells, None) is not None:
        raise _too_many_error(name, f"more than {ROWS_A_SHEET:,}")


def _too_many_error(name: str, count: str) -> BadData:
    return BadData(
        f"{name} has {count} rows",
        f"A sheet of Excel has {MOST_ROWS:,}, one of them for the header",
        Advice(
            "Filter the rows, choose another format, or use several sheets: too_many_rows='split'",
            "Filter the rows, choose another format, or 'Several sheets' at 'Too many rows'",
            "Filter the rows, choose another format, or use several sheets: --too-many-rows split",
        ),
    )


def _sheet_name(text: str) -> str:
    """A valid name for a sheet: not too long, without forbidden characters or apostrophes at the ends, and
    not the reserved one."""
    plain = "".join("_" if sign in "[]:*?/\\" or sign < " " else sign for sign in text)
    name = plain[:LONGEST_NAME].strip("' ")
    return "Sheet1" if not name or name.casefold() == "history" else name


def _numbered_name(name: str, number: int) -> str:
    suffix = f" {number}"
    return name[: LONGEST_NAME - len(suffix)] + suffix


def _formats(make: Any, schema: pa.Schema, names: list[str]) -> dict[str, Any]:
    """The number formats of columns. Text stays text when it is edited, even 007 and =1+1."""
    formats = {}
    for name, field in zip(names, schema, strict=True):
        kind = _shown_kind(field.type)
        if kind in NUMBER_FORMATS or kind in AS_TEXT:
            formats[name] = make().set_num_format(NUMBER_FORMATS.get(kind, "@"))
    return formats


def _widths(schema: pa.Schema, names: list[str]) -> dict[str, float]:
    """The column widths: enough for the name beside the filter arrow, and for the values."""
    return {
        name: float(min(40, max(len(name) + 4, WIDTHS.get(_shown_kind(field.type), 10))))
        for name, field in zip(names, schema, strict=True)
    }


def _shown_kind(kind: pa.DataType) -> str:
    return _shown_kind(kind.value_type) if pa.types.is_dictionary(kind) else kind_of(kind)


def _rows_of_cells(rows: Rows, names: list[str], cut: bool) -> Iterator[dict[str, Any]]:
    for batch in pieces(rows.tables):
        columns = [
            _cells(values, name, cut) for name, values in zip(batch.schema.names, batch.columns, strict=True)
        ]
        for cells in zip(*columns, strict=True):
            yield dict(zip(names, cells, strict=True))


def _cells(values: pa.Array, name: str, cut: bool) -> list[Any]:
    """The values in the library's form: numbers, booleans, text, None. Times are numbers of days."""
    if isinstance(values.type, pa.UuidType):
        return list(texts_of(values).to_pylist())
    if isinstance(values, pa.ExtensionArray):
        return _cells(values.storage, name, cut)
    kind = kind_of(values.type)
    if kind == "category":
        return _cells(values.dictionary_decode(), name, cut)
    if kind in ("boolean", "integer"):
        return list(values.to_pylist())
    if kind in _NUMBERS:
        return _NUMBERS[kind](values)
    with naming_column(name):
        texts = texts_of(values)
    return _short_texts(texts, name, cut)


def _integers(values: pa.Array) -> list[Any]:
    limit = 10**MOST_DIGITS
    return [v if v is None or -limit < v < limit else str(v) for v in values.to_pylist()]


def _floats(values: pa.Array) -> list[Any]:
    """Floats; NaN and infinities, which a workbook lacks, become text."""
    numbers = values.cast(pa.float64())
    finite = pc.is_finite(numbers)
    if pc.all(finite, min_count=0).as_py():
        return list(numbers.to_pylist())
    pairs = zip(numbers.to_pylist(), finite.to_pylist(), strict=True)
    return [number if is_finite or number is None else str(number) for number, is_finite in pairs]


def _decimals(values: pa.Array) -> list[Any]:
    if values.type.precision <= MOST_DIGITS:
        return list(floats_of(values).to_pylist())
    return [None if value is None else _number(value) for value in values.to_pylist()]


def _number(value: Decimal) -> float | str:
    digits = "".join(map(str, value.as_tuple().digits)).strip("0")
    return float(value) if len(digits) <= MOST_DIGITS else str(value)


def _stored_values(values: pa.Array) -> np.ndarray:
    """The stored values, including the arbitrary ones behind nulls."""
    return to_numpy(
        pa.Array.from_buffers(values.type, len(values), [None, values.buffers()[1]], 0, values.offset)
    )


def _days(values: pa.Array) -> list[Any]:
    days = values.cast(pa.date32()).cast(pa.int32())
    numbers = _stored_values(days).astype(np.int64)
    return _serials(values, numbers, numbers + DAYS_BEFORE)


def _timestamps(values: pa.Array) -> list[Any]:
    """Timestamps as serial numbers, in local time if there is a zone."""
    local = pc.local_timestamp(values) if values.type.tz else values
    per_day = PER_SECOND[values.type.unit] * 86_400
    counts = _stored_values(local.cast(pa.int64()))
    days, remainder = np.divmod(counts, per_day)
    return _serials(values, days, days + DAYS_BEFORE + remainder / per_day)


def _serials(values: pa.Array, days: np.ndarray, numbers: np.ndarray) -> list[Any]:
    """Serial numbers; days that Excel lacks become text."""
    inside = (days >= FIRST_DAY) & (days <= LAST_DAY)
    serials: list[Any] = numbers.tolist()
    if values.null_count or not inside.all():
        texts = texts_of(values).to_pylist()
        pairs = zip(serials, inside.tolist(), texts, strict=True)
        return [text if text is None or not has else number for number, has, text in pairs]
    return serials


def _times(values: pa.Array) -> list[Any]:
    per_day = PER_SECOND[values.type.unit] * 86_400
    width = pa.int32() if pa.types.is_time32(values.type) else pa.int64()
    counts = values.cast(width).to_pylist()
    return [None if count is None else min(count / per_day, LAST_TIME) for count in counts]


def _durations(values: pa.Array) -> list[Any]:
    """Durations as numbers of days; negative ones, which Excel cannot show, become text."""
    per_day = PER_SECOND[values.type.unit] * 86_400
    counts = zip(values.cast(pa.int64()).to_pylist(), texts_of(values).to_pylist(), strict=True)
    return [text if count is None or count < 0 else count / per_day for count, text in counts]


def _short_texts(texts: pa.Array, name: str, cut: bool) -> list[Any]:
    lengths = pc.utf8_length(texts)
    longest = pc.max(lengths).as_py() or 0
    # Excel counts UTF-16 units; characters beyond U+FFFF take two.
    if longest * 2 <= LONGEST_TEXT:
        return list(texts.to_pylist())
    return [None if text is None else _fitting(text, name, cut) for text in texts.to_pylist()]


def _fitting(text: str, name: str, cut: bool) -> str:
    if len(text) + sum(sign > "\uffff" for sign in text) <= LONGEST_TEXT:
        return text
    if not cut:
        raise BadData(
            f"column '{visible(name)}' holds a text of {len(text):,} characters",
            f"A cell of Excel has at most {LONGEST_TEXT:,}",
            Advice(
                "Leave the column out, choose another format, or cut long text: long_text='cut'",
                "Leave the column out, choose another format, or 'Cut it' at 'Long text'",
                "Leave the column out, choose another format, or cut long text: --long-text cut",
            ),
        )
    return text.encode("utf-16-le")[: 2 * LONGEST_TEXT].decode("utf-16-le", errors="ignore")


_NUMBERS: dict[str, Callable[[pa.Array], list[Any]]] = {
    "int64": _integers,
    "uint64": _integers,
    "float": _floats,
    "decimal": _decimals,
    "date": _days,
    "timestamp": _timestamps,
    "zoned": _timestamps,
    "time": _times,
    "duration": _durations,
}
