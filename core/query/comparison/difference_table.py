"""The rows that differ, as a table to write: what happened to each, and its previous values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import pyarrow as pa

from lamella.core.arrow.arrays import from_numpy, from_values
from lamella.core.jobs import Job
from lamella.core.query.comparison.comparison import Comparison
from lamella.core.query.comparison.rows import DIFFERENT, CellsBefore, ComparedRows, RowChange

ROWS_A_STEP = 100_000
CHANGE, COLUMNS = "_change", "_columns"
"""The columns for what happened to a row, and for which of its columns differ."""
BEFORE = b"lamella.before"
"""The metadata key of a column of previous values; its value is the column they belong to."""


def difference_schema(comparison: Comparison) -> pa.Schema:
    """`_change` and `_columns`, then the columns of the later side. Each column with differences is followed
    by its previous values as `<name>_before`, null where the cell does not differ. A name that is taken gets
    another `_`."""
    changed = {column.name for column in comparison.columns if column.rows}
    rows = ComparedRows(comparison)
    used = set(rows.schema.names)
    fields = [pa.field(_unused_name(name, used), pa.string()) for name in (CHANGE, COLUMNS)]
    for field in rows.schema:
        fields.append(field)
        if field.name in changed:
            name = _unused_name(f"{field.name}_before", used)
            fields.append(pa.field(name, field.type, metadata={BEFORE: field.name.encode()}))
    return pa.schema(fields)


def _unused_name(name: str, used: set[str]) -> str:
    """The name, with underscores added until it is unused; marks it as used."""
    while name in used:
        name += "_"
    used.add(name)
    return name


def difference_tables(rows: ComparedRows, job: Job, limit: int | None = None) -> Iterator[pa.Table]:
    """Yield rows as described by `difference_schema`, in blocks, at most `limit`."""
    schema = difference_schema(rows.comparison)
    stop = rows.num_rows if limit is None else min(limit, rows.num_rows)
    for offset in range(0, stop, ROWS_A_STEP):
        job.report(offset, stop, f"{offset:,} of {stop:,} rows")
        yield _table(rows, offset, min(ROWS_A_STEP, stop - offset), schema)


def read_differences(comparison: Comparison, limit: int | None = None, job: Job | None = None) -> pa.Table:
    """Read the rows that differ, at most `limit`, as described by `difference_schema`."""
    rows = ComparedRows(comparison, DIFFERENT)
    tables = list(difference_tables(rows, job or Job(), limit))
    return pa.concat_tables(tables) if tables else difference_schema(comparison).empty_table()


def _table(rows: ComparedRows, offset: int, count: int, schema: pa.Schema) -> pa.Table:
    words = np.array([kind.word for kind in RowChange])
    page, before = rows.page(offset, count), rows.cells_before(offset, count, rows.schema.names)
    arrays: list[pa.Array | pa.ChunkedArray] = [
        from_values(words[rows.kinds(offset, count)].tolist(), pa.string()),
        from_values(_changed_names(before, len(page)), pa.string()),
    ]
    for field in list(schema)[2:]:
        of = (field.metadata or {}).get(BEFORE)
        arrays.append(
            page.column(field.name) if of is None else _spread(before.get(of.decode()), len(page), field.type)
        )
    return pa.Table.from_arrays(arrays, schema=schema)


def _changed_names(before: Mapping[str, CellsBefore], count: int) -> list[str | None]:
    names: list[list[str]] = [[] for _ in range(count)]
    for name, cells in before.items():
        for place in cells.places.tolist():
            names[place].append(name)
    return [", ".join(some) if some else None for some in names]


def _spread(cells: CellsBefore | None, count: int, kind: pa.DataType) -> pa.Array:
    """The values at their rows, null elsewhere."""
    if cells is None:
        return pa.nulls(count, kind)
    places = np.full(count, len(cells.values), np.int64)
    places[cells.places] = np.arange(len(cells.values))
    valid = places < len(cells.values)
    return cells.values.take(from_numpy(np.where(valid, places, 0), valid=valid))
