"""The right answers to a race on somebody's own table, by DuckDB over the copy, and one text for each.

Rows count in any order, columns by their place, and every value counts: numbers exactly (a system keeps them
or does not), -0.0 as 0, every NaN as the same one, which is not null; moments by the instant, whatever zone
they are shown in; decimals with their scale."""

from __future__ import annotations

from functools import cache

import duckdb
import pyarrow as pa
from pyarrow import types as is_

from lamella.core.bench.mine.copied import Change, Copied
from lamella.core.bench.workloads import Operation, Workload
from lamella.core.filters import Filter, to_sql


def expected(workload: Workload, operation: Operation, rows: int) -> str:
    """What an operation ought to give, or leave behind, of the first `rows` of the copy."""
    copied = Copied.of(workload.options)
    with duckdb.connect() as connection:
        fill(connection, copied, rows)
        return digest(connection.sql(_asked(copied, operation.id)).to_arrow_table(), copied.schema)


def digest(rows: pa.Table, schema: pa.Schema) -> str:
    """ "rows:digest" of rows with the columns of `schema`, in any type that casts to its types."""
    columns = [_countable(rows.column(place).cast(field.type)) for place, field in enumerate(schema)]
    compared = pa.table(columns, names=names_of(schema))
    with _hashing().cursor() as cursor:
        cursor.register("compared", compared)
        asked = f"select count(*), sum(hash({', '.join(names_of(schema))})::hugeint) from compared"
        ((count, total),) = cursor.sql(asked).fetchall()
    return f"{count}:{(total or 0) % 2**64:016x}"


@cache
def _hashing() -> duckdb.DuckDBPyConnection:
    """Empty, and opened once: that takes longer than most tables."""
    return duckdb.connect()


def fill(connection: duckdb.DuckDBPyConnection, copied: Copied, rows: int) -> None:
    """Make the table `mine`, its columns called by their place, since SQL does not tell the cases of names
    apart."""
    connection.execute("set temp_directory = $place", {"place": str(copied.path.parent / "spill")})
    named = pa.schema([pa.field(f"c{place}", field.type) for place, field in enumerate(copied.schema)])
    renamed = (batch.rename_columns(named.names) for batch in copied.batches(rows))
    reader = pa.RecordBatchReader.from_batches(named, renamed)
    connection.register("copied", reader)
    connection.execute("create table mine as select * from copied")
    connection.unregister("copied")


def names_of(schema: pa.Schema) -> list[str]:
    return [f"c{place}" for place in range(len(schema))]


def condition_sql(where: Filter | None, schema: pa.Schema) -> str:
    names = dict(zip(schema.names, names_of(schema), strict=True))
    return "true" if where is None else to_sql(where, names).sql("duckdb")


def change_sql(change: Change, schema: pa.Schema) -> tuple[str, str]:
    """The column that changes and its new value, for any SQL."""
    column = f"c{schema.get_field_index(change.column)}"
    text = change.text.replace("'", "''")
    return column, f"{column} + {change.add}" if change.add else f"'{text}'"


def _asked(copied: Copied, operation: str) -> str:
    condition = condition_sql(copied.where, copied.schema)
    if operation.startswith("filter"):
        return f"select * from mine where {condition}"
    if operation != "update":
        return "select * from mine"
    assert copied.change is not None
    column, value = change_sql(copied.change, copied.schema)
    return f"select * replace (case when {condition} then {value} else {column} end as {column}) from mine"


def _countable(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Dates and times as their counts, so that nothing depends on a time zone."""
    if not is_.is_temporal(values.type):
        return values
    return values.cast(pa.int32() if values.type.bit_width == 32 else pa.int64())
