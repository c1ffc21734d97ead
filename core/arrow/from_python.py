"""Converts Python rows and values to Arrow arrays, without changing any value."""

from __future__ import annotations

import datetime as dt
import itertools
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from functools import lru_cache
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa

from lamella.core.arrow.arrays import complete, exact_array, from_numpy, nulls_among, quick_array
from lamella.core.arrow.documents import ReservedKey, as_documents, columns_of_alike, fold_extra_fields
from lamella.core.arrow.ingest import (
    IntegerRows,
    RowBatch,
    as_block,
    fits,
    in_blocks,
    of_valid_text,
    without_columns,
)
from lamella.core.arrow.types import exact_cast, in_plain_layout, inexact, plain_layout, wider_type
from lamella.core.errors import BadData, short_text
from lamella.core.validation import text_of

_PLAIN = {
    int: pa.int64(),
    float: pa.float64(),
    bool: pa.bool_(),
    str: pa.string(),
    dt.date: pa.date32(),
    dt.datetime: pa.timestamp("us"),
}
_COLLECTIONS = {dict, list, tuple}
_NUMPY = (np.int64, np.float64, np.int32, np.bool_)
_REFUSALS = (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError, UnicodeEncodeError, TypeError)  # fmt: skip # noqa: E501
_ANY_REFUSAL = (*_REFUSALS, ReservedKey)
MOST_DIGITS = 76
_NUMPY_TIMES = {np.datetime64, np.timedelta64}
_PYTHON_TIMES = {dt.date, dt.datetime, dt.timedelta}
_ARROW_UNITS = {"s", "ms", "us", "ns"}
_FINE = dict.fromkeys(("ps", "fs", "as"), "ns")
_MOMENT_UNITS = {"Y": "D", "M": "D", "W": "D", "D": "D", "h": "s", "m": "s"} | _FINE
_SPAN_UNITS = {"W": "s", "D": "s", "h": "s", "m": "s"} | _FINE
"""The Arrow units for NumPy's; durations in years and months have no fixed length."""
_PANDAS_NULLS = {"NaTType", "NAType"}


def column_array(name: str, values: Sequence[Any], first: int) -> pa.Array:
    """Convert the values of a column, which begin with row `first`. Raises `BadData`."""
    if isinstance(values, np.ndarray) and values.dtype in _NUMPY:
        return _from_numpy(values)
    if isinstance(values, (pa.Array, pa.ChunkedArray)):
        return values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
    try:
        if isinstance(values, np.ndarray) and values.dtype.kind in "mM":
            return _from_numpy_times(np.ma.filled(values, np.array("NaT", values.dtype)))
        if isinstance(values, np.ndarray) and values.dtype != object:
            return pa.array(values)
        return _convert(list(values))
    except RecursionError as error:
        raise BadData(
            f"column '{name}' holds values nested too deep", fix="Store them as JSON text"
        ) from error
    except _ANY_REFUSAL as error:
        raise _refusal(name, list(values), first, error) from error


def _from_numpy(values: np.ndarray) -> pa.Array:
    """Copy NumPy values, with masked ones as null."""
    masked = np.ma.getmaskarray(values) if np.ma.isMaskedArray(values) else np.zeros(0, bool)
    return from_numpy(np.array(np.ma.getdata(values)), valid=~masked if masked.any() else None)


def _convert(values: list[Any]) -> pa.Array:
    """Convert values: those of one plain type by a fast path; `pa.array` handles what is neither plain nor a
    collection."""
    types = set(map(type, values))
    whole = complete(values, *types) if len(types) == 1 else None
    if whole is not None:
        return whole
    kinds = types - {type(None)}
    if not kinds <= _COLLECTIONS and (len(kinds) != 1 or not kinds <= _PLAIN.keys()):
        values = _without_pandas_nulls(values, kinds)
        kinds = _kinds(values)
        if len(kinds) == 1 and kinds <= _NUMPY_TIMES:
            return _from_numpy_times(_numpy_times(values, *kinds))
        values = _even(values)
        kinds = _kinds(values)
    if kinds == {dict}:
        return as_documents(values, _convert, _REFUSALS)
    if kinds and kinds <= {list, tuple}:
        return _lists(values, type(None) in types)
    kind = _PLAIN.get(next(iter(kinds))) if len(kinds) == 1 else None
    short = None if kind is None else quick_array(values, kind)
    if short is None and kinds == {int}:
        values = [None if v is None else _decimal(v) for v in values]
    return exact_array(values) if short is None else short


def _lists(values: list[Any], nulls: bool) -> pa.Array:
    """Convert lists of any lengths; they contain None only with `nulls`."""
    lists: list[Any] = [() if value is None else value for value in values] if nulls else values
    offsets = np.zeros(len(lists) + 1, np.int64)
    np.cumsum(np.fromiter(map(len, lists), np.int64, len(lists)), out=offsets[1:])
    if offsets[-1] >= 2**31:
        raise OverflowError("too many values in lists")
    inside, mask = _convert(list(chain.from_iterable(lists))), nulls_among(values) if nulls else None
    return pa.ListArray.from_arrays(from_numpy(offsets.astype(np.int32)), inside, mask=mask)


def _numpy_times(values: list[Any], kind: type) -> np.ndarray:
    """Convert to the finest of their units; raise `OverflowError` if a time does not fit it."""
    times = np.array([kind("NaT") if value is None else value for value in values])
    units = {value.dtype for value in values if value is not None}
    same = len(units) == 1 or all(
        value is None or np.isnat(value) or (time.astype(value.dtype) == value and time == value)
        for time, value in zip(times, values, strict=True)
    )
    if not same:
        raise OverflowError("the times are too far away for the finest unit among them")
    return times


def _from_numpy_times(values: np.ndarray) -> pa.Array:
    """Convert NumPy times: days and coarser units become dates, hours and minutes become seconds."""
    unit, span = np.datetime_data(values.dtype)[0], values.dtype.kind == "m"
    if unit == "generic" and np.isnat(values).all():
        return pa.nulls(len(values))
    arrow_unit = (_SPAN_UNITS if span else _MOMENT_UNITS).get(unit, unit if unit in _ARROW_UNITS else "")
    if not arrow_unit:
        raise TypeError(f"a duration in NumPy's unit '{unit}' has no fixed length" if span else "no unit")
    array = values.astype(f"{'timedelta64' if span else 'datetime64'}[{arrow_unit}]")
    present = ~np.isnat(values)
    if not (np.isnat(array) == ~present).all() or (array[present] != values[present]).any():
        raise OverflowError(f"a time in NumPy's unit '{unit}' does not fit Arrow's units")
    if arrow_unit == "D" and present.any() and abs(array[present].astype(np.int64)).max() >= 2**31:
        raise OverflowError("a date is too far away")
    return pa.array(array, mask=~present)


def _kinds(values: list[Any]) -> set[type]:
    return set(map(type, values)) - {type(None)}


def _even(values: list[Any]) -> list[Any]:
    """Convert values of related types to one type, if none changes."""
    kinds = _kinds(values)
    if kinds == {bool, int}:
        values, kinds = [None if v is None else int(v) for v in values], {int}
    if len(kinds) == 1 and kinds <= {int, float, str}:
        return values
    if float in kinds and kinds <= {bool, int, float} and all(map(_is_double, values)):
        return [None if v is None else float(v) for v in values]
    if kinds == {dt.date, dt.datetime}:
        return [dt.datetime(v.year, v.month, v.day) if type(v) is dt.date else v for v in values]
    if kinds & _NUMPY_TIMES and kinds <= _NUMPY_TIMES | _PYTHON_TIMES:
        return _even([_python_time(v) if type(v) in _NUMPY_TIMES else v for v in values])
    if np.ndarray in kinds:
        return [v.tolist() if isinstance(v, np.ndarray) and v.ndim > 1 else v for v in values]
    return values


def _python_time(value: np.datetime64 | np.timedelta64) -> Any:
    """Convert a NumPy time that occurs beside Python's own, which have microseconds."""
    unit, count = np.datetime_data(value.dtype)
    if unit in ("ns", *_FINE):
        microseconds = value.astype(value.dtype.str.replace(f"[{'' if count == 1 else count}{unit}]", "[us]"))
        if microseconds != value:
            raise OverflowError(f"{value} is finer than the microseconds of Python's times beside it")
        value = microseconds
    plain = value.item()
    if isinstance(plain, int):
        raise OverflowError(f"{value!r} cannot be combined with Python's own times")
    return plain


def _without_pandas_nulls(values: list[Any], kinds: set[type]) -> list[Any]:
    """Replace NaT and NA by None; they are recognised by name, because pandas is not imported for this.
    NumPy's NaT is also null beside values of other types."""
    if len(kinds) > 1 and kinds & _NUMPY_TIMES:
        values = [None if type(v) in _NUMPY_TIMES and np.isnat(v) else v for v in values]
    if not {kind.__name__ for kind in kinds} & _PANDAS_NULLS:
        return values
    return [None if type(v).__name__ in _PANDAS_NULLS else v for v in values]


def _is_double(value: Any) -> bool:
    return bool(value is None or value != value or float(value) == value)


def _decimal(value: int) -> Decimal:
    if abs(value) >= 10**MOST_DIGITS:
        raise OverflowError(f"a number of more than {MOST_DIGITS} digits")
    return Decimal(value)


def _refusal(name: str, values: list[Any], first: int, error: Exception) -> BadData:
    """The error that names the first row that makes the conversion fail."""
    good, bad = 0, len(values)
    while good + 1 < bad:
        middle = (good + bad) // 2
        try:
            _convert(values[:middle])
            good = middle
        except _ANY_REFUSAL:
            bad = middle
    try:
        value = repr(values[bad - 1])
    except OverflowError:  # of a time of Arrow's beyond those of Python
        value = short_text(values[bad - 1])
    cut = value if len(value) <= 60 else value[:60] + "…"
    return BadData(
        f"column '{name}' cannot take the value {cut} of row {first + bad - 1}",
        *_why(values[bad - 1], error),
    )


def _why(value: Any, error: Exception) -> tuple[str, str]:
    """The reason and the fix: some values fit nowhere, others just do not fit those before them."""
    if isinstance(error, ReservedKey):
        return str(error), "Rename that key"
    if isinstance(value, Decimal) and not value.is_finite():
        return "Decimals are finite numbers", "Give None, or floats: they have NaN and infinity"
    if isinstance(error, UnicodeEncodeError):
        return str(error), "Remove that half of a character, or decode the original bytes correctly"
    try:
        _convert([value])
    except _ANY_REFUSAL:
        return str(error), "Give a number, a text, a time, bytes, a list or a dict instead"
    return str(error), "Give values of one type: decimals hold every digit, text holds anything"


_INDEX_LEVEL = re.compile(r"__index_level_\d+__")


def without_unnamed_index(block: RowBatch) -> RowBatch:
    """Drop unnamed index columns of pandas, which filtered or sorted rows keep."""
    if b"pandas" not in (block.schema.metadata or {}):
        return block
    names = [name for name in block.schema.names if not _INDEX_LEVEL.fullmatch(name)]
    if len(names) == len(block.schema):
        return block
    fields = [block.schema.field(name) for name in names]
    schema = pa.schema(fields, block.schema.metadata)
    return replace(block, schema=schema, table=lambda: block.table().select(names))


ROWS_A_CHUNK = 1000
Row = Mapping[str, Any]


def blocks(data: Any, noting: Callable[[], Collection[str]] | None = None) -> Iterator[RowBatch]:
    """Read `data` in blocks, in order: rows, a dict of columns, a DataFrame, or any Arrow data. `noting`
    names columns for which the blocks mark the rows that leave them out while others have them; only dicts
    can.

    The caller's data is never modified. Raises `BadData` for anything else.
    """
    if noting is not None and _are_rows(data) and (names := noting()):
        rows = _NotedRows(data, names)
        yield from map(rows.mark_missing_columns, blocks(rows))
        return
    for block in _blocks(data):
        yield block if block.checked else _check(without_unnamed_index(block))


def _check(block: RowBatch) -> RowBatch:
    _refuse_duplicates(block.schema)
    return _lay_out(block)


def _lay_out(block: RowBatch) -> RowBatch:
    """Convert to layouts that can be stored; dictionaries may contain a null, which Parquet does not
    allow."""
    if all(map(_is_kept_as_it_is, block.schema.types)):
        return block
    table = block.table()
    columns = [_in_plain_layout(*each) for each in zip(table.column_names, table.columns, strict=True)]
    fields = [field.with_type(values.type) for field, values in zip(table.schema, columns, strict=True)]
    return as_block(pa.Table.from_arrays(columns, schema=pa.schema(fields, table.schema.metadata)))


@lru_cache(4096)
def _is_kept_as_it_is(kind: pa.DataType) -> bool:
    return bool(kind == plain_layout(kind) and not pa.types.is_dictionary(kind))


def _in_plain_layout(name: str, values: pa.ChunkedArray) -> pa.ChunkedArray:
    try:
        return in_plain_layout(values)
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid) as error:
        raise BadData(
            f"column '{name}' is {values.type}, which cannot be stored as {plain_layout(values.type)}",
            str(error),
            "Cast it first: text holds anything",
        ) from error


def to_table(data: Any) -> pa.Table:
    """Read all of `data` as one table: columns in order of first appearance, each in the narrowest common
    type."""
    return concat_batches(list(blocks(data)))


def concat_batches(batches: Sequence[RowBatch]) -> pa.Table:
    if len(batches) == 1:
        return batches[0].table()
    schema = common_schema(block.schema for block in batches)
    if not schema.names:
        return without_columns(sum(block.num_rows for block in batches))
    tables = [cast_to_schema(block.table(), schema) for block in batches if block.num_rows]
    return pa.concat_tables(tables) if tables else pa.Table.from_batches([], schema)


def _blocks(data: Any) -> Iterator[RowBatch]:
    if isinstance(data, pa.Table):
        yield from map(of_valid_text, in_blocks(data))
    elif isinstance(data, pa.RecordBatch):
        yield from map(of_valid_text, in_blocks(pa.Table.from_batches([data])))
    elif isinstance(data, Mapping):
        yield from _row_blocks([data]) if _is_one_row(data) else in_blocks(from_columns(data))
    elif isinstance(data, pa.RecordBatchReader):
        yield from _stream(data)
    elif hasattr(data, "__arrow_c_stream__"):
        yield from _stream(_reader(data))
    elif isinstance(data, Iterable) and not isinstance(data, (str, bytes)):
        yield from _row_blocks(data)
    else:
        raise BadData(
            f"{_a(data)} cannot become rows",
            fix="Give a list of dicts, a dict of columns, a DataFrame or an Arrow table",
        )


def _are_rows(data: Any) -> bool:
    """Whether data may be several dicts, some of which lack keys of others."""
    if isinstance(data, list):
        return len(data) > 1
    columns = isinstance(data, (Mapping, str, bytes, pa.Table, pa.RecordBatch, pa.RecordBatchReader))
    return isinstance(data, Iterable) and not columns and not hasattr(data, "__arrow_c_stream__")


class _NotedRows:
    """Iterates rows, and notes which of them leave out which columns."""

    def __init__(self, rows: Iterable[Row], names: Collection[str]) -> None:
        self._rows, self._names = rows, tuple(names)
        self._lacking: list[list[bool]] = [[] for _ in self._names]

    def __iter__(self) -> Iterator[Row]:
        for row in self._rows:
            if isinstance(row, Mapping):
                for name, lacking in zip(self._names, self._lacking, strict=True):
                    lacking.append(name not in row and name not in map(str, row))
            yield row

    def mark_missing_columns(self, block: RowBatch) -> RowBatch:
        """Mark the rows of the next block that leave columns out."""
        left_out: dict[str, np.ndarray] = {}
        for name, lacking in zip(self._names, self._lacking, strict=True):
            lacks = np.array(lacking[: block.num_rows], bool)
            del lacking[: block.num_rows]
            if lacks.any() and name in block.schema.names:
                left_out[name] = lacks
        return replace(block, missing_marks=left_out) if left_out else block


def _is_one_row(data: Mapping[str, Any]) -> bool:
    """Whether a dict is a row: none of its values can be a column."""
    return bool(data) and not any(_may_be_column(value) for value in data.values())


def _may_be_column(values: Any) -> bool:
    return not isinstance(values, (str, bytes, Mapping)) and hasattr(values, "__len__")


def from_columns(columns: Mapping[str, Sequence[Any]]) -> pa.Table:
    for name, values in columns.items():
        _refuse_other_than_columns(text_of(str(name), "the column name"), values)
    lengths = {name: len(values) for name, values in columns.items()}
    if len(set(lengths.values())) > 1:
        counts = ", ".join(f"'{name}' has {n}" for name, n in lengths.items())
        raise BadData("the columns differ in length", counts, "Give every column one value for each row")
    return _table(columns, 0)


def _table(columns: Mapping[str, Sequence[Any]], first: int) -> pa.Table:
    """`first` is the number of the first row, for messages."""
    names = [text_of(str(name), "the column name") for name in columns]
    arrays = [column_array(name, values, first) for name, values in zip(names, columns.values(), strict=True)]
    return pa.Table.from_arrays(arrays, names=names)


def _refuse_other_than_columns(name: str, values: Any) -> None:
    if not _may_be_column(values):
        raise BadData(
            f"column '{name}' is {values!r}, not a list of values",
            "In a dict of columns, each value is a list",
            f"For one row give a list of one dict: [{{'{name}': …}}]",
        )
    if isinstance(values, np.ndarray) and values.ndim != 1:
        raise BadData(
            f"column '{name}' is an array of {values.ndim} dimensions",
            "A column has one value for each row",
            "Give each of its columns a name, or lists for rows",
        )


def _a(value: Any) -> str:
    """The name of a value's type, with an article."""
    kind = type(value).__name__
    return f"{'an' if kind[0] in 'aeiouAEIO' else 'a'} {kind}"


def _reader(data: Any) -> pa.RecordBatchReader:
    try:
        return pa.RecordBatchReader.from_stream(data)
    except (ValueError, TypeError, pa.ArrowException) as error:
        raise BadData(
            f"{_a(data)} cannot become rows",
            str(error),
            "Give columns with different names, each with values of one type",
        ) from error


def _stream(reader: pa.RecordBatchReader) -> Iterator[RowBatch]:
    yield as_block(pa.Table.from_batches([], reader.schema))
    for batch in reader:
        yield from map(of_valid_text, in_blocks(pa.Table.from_batches([batch])))


def _row_blocks(rows: Iterable[Row]) -> Iterator[RowBatch]:
    source, position = iter(rows), 0
    integers: IntegerRows | None = None
    while chunk := list(itertools.islice(source, ROWS_A_CHUNK)):
        _refuse_other_than_rows(chunk, position)
        if integers is None or not integers.add(chunk):
            if integers is not None and integers.rows:
                yield integers.row_batch()
            integers = IntegerRows(chunk[0]) if fits(chunk[0]) else None
            if integers is None or not integers.add(chunk):
                integers = None
                yield as_block(_chunk_table(chunk, position))
        if integers is not None and integers.is_full:
            yield integers.row_batch()
        position += len(chunk)
    if integers is not None and integers.rows:
        yield integers.row_batch()


def _refuse_other_than_rows(chunk: list[Any], first: int) -> None:
    if set(map(type, chunk)) != {dict} and not all(isinstance(row, Mapping) for row in chunk):
        number, row = next((i, row) for i, row in enumerate(chunk) if not isinstance(row, Mapping))
        raise BadData(f"row {first + number} is {_a(row)}", fix="Each row has to be a dict")


def _chunk_table(rows: list[Row], first: int) -> pa.Table:
    columns = columns_of_alike(rows) or _columns(rows)
    return _table(columns, first) if columns else without_columns(len(rows))


def _columns(rows: list[Row]) -> dict[str, Sequence[Any]]:
    names = dict.fromkeys(itertools.chain.from_iterable(rows))
    return {name: [row.get(name) for row in rows] for name in names}


def _refuse_duplicates(schema: pa.Schema) -> None:
    names = schema.names
    if len(set(names)) < len(names):
        name, times = Counter(names).most_common(1)[0]
        raise BadData(
            f"there are {times} columns named '{name}'",
            "Columns are identified by their names",
            "Give each a different name",
        )


def common_schema(schemas: Iterable[pa.Schema]) -> pa.Schema:
    types: dict[str, pa.DataType] = {}
    for field in itertools.chain.from_iterable(schemas):
        have = types.get(field.name, pa.null())
        wider = wider_type(have, field.type)
        if wider is None:
            raise BadData(
                f"column '{field.name}' is {have} in some rows and {field.type} in others",
                fix="Give one type, or cast the column first",
            )
        types[field.name] = wider
    return pa.schema(list(types.items()))


def cast_to_schema(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """Convert `table` to `schema`: its columns, in its order and types; null where one is missing.

    Raises `BadData` if a value would not survive.
    """
    if table.schema.equals(schema):
        return table
    columns = [_cast_column(table, field) for field in schema]
    return pa.Table.from_arrays(columns, schema=schema)


def _cast_column(table: pa.Table, field: pa.Field) -> pa.ChunkedArray:
    if field.name not in table.column_names:
        return pa.chunked_array([pa.nulls(table.num_rows, field.type)])
    column = fold_extra_fields(table.column(field.name), field.type)
    fit = exact_cast(column, field.type)
    if fit is None:
        raise inexact(field.name, column.type, field.type)
    return fit


def repeatable(data: Any) -> Any:
    """Return `data` in a form that can be iterated more than once: rows as a list."""
    if isinstance(data, Mapping) and _is_one_row(data):
        return [data]
    columns = isinstance(data, (Mapping, str, bytes, pa.RecordBatch)) or hasattr(data, "__arrow_c_stream__")
    return data if columns or not isinstance(data, Iterable) else list(data)


def is_given_by_key(data: Any) -> bool:
    """Whether the structs of `repeatable` data come from dicts, which need not have all fields."""
    return isinstance(data, (list, Mapping))
