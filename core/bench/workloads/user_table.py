"""A benchmark on the user's own table: a copy of the open table, with its filter and columns, in every system
that can store it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyarrow import types as is_

from lamella.core.bench.engine.measure import Cycle, Sample, measure
from lamella.core.bench.systems.base import FileBasedSystem, System
from lamella.core.bench.workloads.model import Check, Operation, Workload
from lamella.core.errors import LamellaError

if TYPE_CHECKING:
    import duckdb

    from lamella.core.filters import Filter

PREFIX = "mine"

TABLE = "the table"
"""The placeholder for its name in the sentences."""

SMALL_ROWS = 1_000

LOAD = Operation(
    "load",
    "Load",
    "loads {rows} of the table",
    "From a copy in Parquet into the system, until the rows are stored.",
    resizes=True,
)

READ = Operation("read", "Read", "reads {rows} of the table", "The chosen columns of all rows.")

READ_AGAIN = Operation(
    "read_again", "Read again", "reads {rows} of the table once more", "The same once more."
)

FILTER = Operation(
    "filter", "Filter", "filters {rows} of the table", "The chosen columns of the rows that match."
)

FILTER_AGAIN = Operation(
    "filter_again", "Filter again", "filters {rows} of the table once more", "The same once more."
)

UPDATE = Operation(
    "update",
    "Update the matches",
    "updates the matches in {rows} of the table",
    "Set a new value in one column of every row that matches, in one commit.",
    resizes=True,
)

USER_TABLE = Workload(
    id=PREFIX,
    title="My table",
    about="The table or file that is open, with its current filter and columns.",
    steps=("load", "read", "filter", "update"),
    operations=(LOAD, READ, READ_AGAIN, FILTER, FILTER_AGAIN, UPDATE),
    default_rows=(),
    default_repeats=3,
    family="mine",
    check=Check.BY_DUCKDB,
)


def with_options(workload: Workload) -> Workload:
    """Return the workload with the options' texts and sizes, and only the steps that have something to do."""
    options = workload.options
    idle = {"filter"} if not options["where"] else set[str]()
    idle |= {"update"} if not options["column"] else set()
    return replace(
        workload,
        title=options["title"],
        about=options["about"],
        default_rows=(options["rows"],),
        small_rows=(min(SMALL_ROWS, options["rows"]),),
        steps=tuple(step for step in workload.steps if step not in idle),
        operations=tuple(o for o in workload.operations if o.id.removesuffix("_again") not in idle),
    )


def user_table_named(name: str) -> Workload | None:
    """Return the workload of a name such as "mine:flights-1a2b3c4d", as far as the name tells; None for
    another name."""
    prefix, colon, table = name.partition(":")
    if prefix != PREFIX or not colon:
        return None
    title = table.rpartition("-")[0] or table
    escaped = title.replace("{", "{{").replace("}", "}}")
    operations = tuple(_of_table(operation, escaped) for operation in USER_TABLE.operations)
    return replace(USER_TABLE, id=name, title=title, operations=operations)


def _of_table(operation: Operation, table: str) -> Operation:
    return replace(operation, sentence=operation.sentence.replace(TABLE, table))


LONGEST_DECIMAL = 38
MOST_SQLITE_COLUMNS = 2000


def compared_type(kind: pa.DataType) -> pa.DataType | None:
    """Return the plain type with the same values, which every system gets; None if such values cannot be
    compared."""
    if is_.is_dictionary(kind):
        return compared_type(kind.value_type)
    if is_.is_boolean(kind) or is_.is_integer(kind) or is_.is_date32(kind):
        return kind
    if is_.is_floating(kind):
        return pa.float32() if is_.is_float16(kind) else kind
    if is_.is_null(kind) or is_.is_string(kind) or is_.is_large_string(kind) or is_.is_string_view(kind):
        return pa.string()
    if is_.is_binary(kind) or is_.is_large_binary(kind) or is_.is_binary_view(kind):
        return pa.binary()
    if is_.is_fixed_size_binary(kind):
        return pa.binary()
    return _compared_time(kind) if is_.is_temporal(kind) else _comparison_type(kind)


def _compared_time(kind: pa.DataType) -> pa.DataType | None:
    if is_.is_date64(kind):
        return pa.timestamp("ms")
    if is_.is_timestamp(kind):
        return pa.timestamp("ms", kind.tz) if kind.unit == "s" else kind
    if is_.is_time(kind):
        return kind if kind.unit == "ns" else pa.time64("us")
    return None


def _comparison_type(kind: pa.DataType) -> pa.DataType | None:
    if is_.is_decimal(kind):
        fits = kind.precision <= LONGEST_DECIMAL and 0 <= kind.scale <= kind.precision
        return pa.decimal128(kind.precision, kind.scale) if fits else None
    if is_.is_list(kind) or is_.is_large_list(kind) or is_.is_fixed_size_list(kind):
        items = compared_type(kind.value_type)
        return None if items is None else pa.list_(items)
    if is_.is_struct(kind) and kind.num_fields:
        fields = [(field.name, compared_type(field.type)) for field in kind]
        return None if any(type_ is None for _, type_ in fields) else pa.struct(fields)
    return None


def cannot_hold(system: str, schema: pa.Schema, nan: Iterable[str]) -> str:
    """Return why a system cannot store these columns exactly; empty if it can. `nan` are the columns with
    NaN."""
    reasons = _OF_COLUMNS.get(system)
    columns = reasons(schema, set(nan)) if reasons else {}
    if columns:
        text = "; ".join(f"{name}: {why}" for name, why in columns.items())
        return f"It cannot store {text}"
    if system in _SQLITE and len(schema) > MOST_SQLITE_COLUMNS:
        return f"SQLite has at most {MOST_SQLITE_COLUMNS:,} columns, and there are {len(schema):,}"
    return ""


def _not_in_sqlite(schema: pa.Schema, nan: set[str]) -> Mapping[str, str]:
    columns = {}
    for field in schema:
        kind = field.type
        if is_.is_nested(kind):
            columns[field.name] = f"SQLite has no type for {_word(kind)}"
        elif is_.is_decimal(kind):
            columns[field.name] = "decimal numbers would be rounded to floats"
        elif is_.is_uint64(kind):
            columns[field.name] = "its integers have at most 63 bits"
        elif field.name in nan:
            columns[field.name] = "it stores NaN as NULL"
    return columns


def _not_in_csv(schema: pa.Schema, _nan: set[str]) -> Mapping[str, str]:
    nested = {f.name: f"CSV has no form for {_word(f.type)}" for f in schema if is_.is_nested(f.type)}
    return nested | {f.name: "CSV has no form for bytes" for f in schema if is_.is_binary(f.type)}


def _not_in_json(schema: pa.Schema, _nan: set[str]) -> Mapping[str, str]:
    columns = {}
    for field in schema:
        inner = set(leaves(field.type))
        if any(is_.is_decimal(kind) for kind in inner):
            columns[field.name] = "Python's JSON has no decimal numbers"
        elif any(is_.is_binary(kind) for kind in inner):
            columns[field.name] = "JSON has no form for bytes"
        elif is_.is_nested(field.type) and any(is_.is_temporal(kind) for kind in inner):
            columns[field.name] = "JSON has no dates and times inside nested values"
    return columns


def _not_in_pickle(schema: pa.Schema, _nan: set[str]) -> Mapping[str, str]:
    fine = [f.name for f in schema if is_.is_nested(f.type) and any(map(_is_fine, leaves(f.type)))]
    return dict.fromkeys(fine, "Python's times have only microseconds")


def leaves(kind: pa.DataType) -> list[pa.DataType]:
    """Return the types of the single values in a nested type; for a plain type, itself."""
    if is_.is_list(kind):
        return leaves(kind.value_type)
    if is_.is_struct(kind):
        return [leaf for field in kind for leaf in leaves(field.type)]
    return [kind]


def _is_fine(kind: pa.DataType) -> bool:
    return is_.is_temporal(kind) and not is_.is_date(kind) and kind.unit == "ns"


def _word(kind: pa.DataType) -> str:
    return "lists" if is_.is_list(kind) else "nested values"


_SQLITE = ("sqlite", "sqlite-wal")

_OF_COLUMNS = {
    "sqlite": _not_in_sqlite,
    "sqlite-wal": _not_in_sqlite,
    "csv": _not_in_csv,
    "jsonl": _not_in_json,
    "pickle": _not_in_pickle,
}

BATCH_ROWS = 65_536


@dataclass(frozen=True)
class Change:
    """An update of `column` in the rows that match: add `add` to it, or set it to `text`."""

    column: str
    add: int | None = None
    text: str = ""


@dataclass(frozen=True)
class TableCopy:
    """A copy of the table as a Parquet file with plain types. `condition` is a filter as JSON; `nan` are the
    columns with NaN."""

    path: Path
    name: str
    rows: int
    condition: Any
    change: Change | None
    nan: tuple[str, ...]

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> TableCopy:
        """Create it from a workload's options, which `options` returns."""
        change = options["change"]
        return cls(
            path=Path(options["path"]),
            name=options["name"],
            rows=options["rows"],
            condition=options["where"],
            change=Change(**change) if change else None,
            nan=tuple(options["nan"]),
        )

    @property
    def options(self) -> dict[str, Any]:
        """The copy as plain data."""
        return asdict(self) | {"path": str(self.path), "nan": list(self.nan), "where": self.condition}

    @cached_property
    def schema(self) -> pa.Schema:
        import pyarrow.parquet as pq

        return pq.read_schema(self.path).remove_metadata()

    @cached_property
    def where(self) -> Filter | None:
        """The filter, bound to the copy's columns."""
        from lamella.core.filters import bind, from_json

        return None if self.condition is None else bind(from_json(self.condition), self.schema, self.name)

    def batches(self, rows: int) -> Iterator[pa.RecordBatch]:
        """Yield the first `rows` rows."""
        import pyarrow.parquet as pq

        remaining = rows
        with pq.ParquetFile(self.path) as file:
            for batch in file.iter_batches(min(BATCH_ROWS, max(1, rows))):
                yield batch.slice(0, remaining).cast(self.schema)
                remaining -= batch.num_rows
                if remaining <= 0:
                    return

    def reader(self, rows: int) -> pa.RecordBatchReader:
        return pa.RecordBatchReader.from_batches(self.schema, self.batches(rows))


def right_answer(workload: Workload, operation: Operation, rows: int) -> str:
    """Return the digest of an operation's right answer, or of the table after it, for the first `rows` rows
    of the copy."""
    import duckdb

    copied = TableCopy.of(workload.options)
    with duckdb.connect() as connection:
        fill_duckdb(connection, copied, rows)
        return digest(connection.sql(_sql_text(copied, operation.id)).to_arrow_table(), copied.schema)


def digest(rows: pa.Table, schema: pa.Schema) -> str:
    """Return "rows:digest" of rows with the columns of `schema`, whose types may be any that cast to its
    types."""
    columns = [_countable(rows.column(place).cast(field.type)) for place, field in enumerate(schema)]
    compared = pa.table(columns, names=names_of(schema))
    with _hashing().cursor() as cursor:
        cursor.register("compared", compared)
        sql = f"select count(*), sum(hash({', '.join(names_of(schema))})::hugeint) from compared"
        ((count, total),) = cursor.sql(sql).fetchall()
    return f"{count}:{(total or 0) % 2**64:016x}"


@cache
def _hashing() -> duckdb.DuckDBPyConnection:
    """Return an empty database, which is opened once: opening takes longer than most digests."""
    import duckdb

    return duckdb.connect()


def fill_duckdb(connection: duckdb.DuckDBPyConnection, copied: TableCopy, rows: int) -> None:
    """Create the table `mine`. Its columns are named by position, because SQL ignores the case of names."""
    connection.execute("set temp_directory = $place", {"place": str(copied.path.parent / "spill")})
    plain_schema = pa.schema([pa.field(f"c{place}", field.type) for place, field in enumerate(copied.schema)])
    renamed = (batch.rename_columns(plain_schema.names) for batch in copied.batches(rows))
    reader = pa.RecordBatchReader.from_batches(plain_schema, renamed)
    connection.register("copied", reader)
    connection.execute("create table mine as select * from copied")
    connection.unregister("copied")


def names_of(schema: pa.Schema) -> list[str]:
    return [f"c{place}" for place in range(len(schema))]


def condition_to_sql(where: Filter | None, schema: pa.Schema) -> str:
    from lamella.core.filters import to_sql

    names = dict(zip(schema.names, names_of(schema), strict=True))
    return "true" if where is None else to_sql(where, names).sql("duckdb")


def change_to_sql(change: Change, schema: pa.Schema) -> tuple[str, str]:
    """Return the column that changes and its new value, in any dialect of SQL."""
    column = f"c{schema.get_field_index(change.column)}"
    text = change.text.replace("'", "''")
    return column, f"{column} + {change.add}" if change.add else f"'{text}'"


def _sql_text(copied: TableCopy, operation: str) -> str:
    condition = condition_to_sql(copied.where, copied.schema)
    if operation.startswith("filter"):
        return f"select * from mine where {condition}"
    if operation != "update":
        return "select * from mine"
    assert copied.change is not None
    column, value = change_to_sql(copied.change, copied.schema)
    return f"select * replace (case when {condition} then {value} else {column} end as {column}) from mine"


def _countable(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Convert dates and times to integers, so that nothing depends on a time zone."""
    if not is_.is_temporal(values.type):
        return values
    return values.cast(pa.int32() if values.type.bit_width == 32 else pa.int64())


Row = tuple[Any, ...]


def rows_of(copied: TableCopy, rows: int) -> Iterator[Row]:
    """Yield the first `rows` rows as tuples, with dates and times as integers."""
    for batch in copied.batches(rows):
        yield from zip(*map(_comparable_values, batch.columns), strict=True)


def table_of(rows: Iterable[Sequence[Any]], schema: pa.Schema) -> pa.Table:
    columns = list(zip(*rows, strict=True)) or [()] * len(schema)
    arrays = [_arrow(column, field.type) for column, field in zip(columns, schema, strict=True)]
    return pa.Table.from_arrays(arrays, schema=schema)


def _comparable_values(array: pa.Array) -> list[Any]:
    if is_.is_temporal(array.type):
        array = array.cast(_count_type(array.type))
    values: list[Any] = array.to_pylist()
    return values


def _arrow(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    if is_.is_temporal(kind):
        return pa.array(values, _count_type(kind)).cast(kind)
    if is_.is_boolean(kind):
        return pa.array([None if value is None else bool(value) for value in values], kind)
    return pa.array(values, kind)


def _count_type(kind: pa.DataType) -> pa.DataType:
    return pa.int32() if kind.bit_width == 32 else pa.int64()


class CannotAsk(LamellaError):
    """A system does not support a condition."""


class UserTableSystem(System):
    """A system with a copy of the user's table. Answers have the system's own form; `as_table` converts them,
    untimed."""

    def __init__(self, folder: Path, workload: Workload) -> None:
        super().__init__(folder, workload)
        self.table_copy = TableCopy.of(workload.options)

    @property
    def columns(self) -> int:
        return len(self.table_copy.schema)

    @property
    def cannot(self) -> Mapping[str, str]:  # type: ignore[override]  # it depends on the table
        if reason := cannot_hold(self.id, self.table_copy.schema, self.table_copy.nan):
            return dict.fromkeys(self.workload.steps, "It could not be loaded") | {"load": reason}
        try:
            self.condition()
        except CannotAsk as error:
            return dict.fromkeys(("filter", "update"), error.what)
        return {}

    @abstractmethod
    def condition(self) -> Any:
        """Return the filter in the system's form. Raises `CannotAsk` if the system does not support it."""

    @abstractmethod
    def load(self, rows: int) -> None:
        """Load the first `rows` rows of the copy into the system, which stores them in `folder`."""

    @abstractmethod
    def read(self) -> Any:
        """Return all rows and columns."""

    @abstractmethod
    def filter(self) -> Any:
        """Return all columns of the rows that meet the condition."""

    @abstractmethod
    def update(self) -> None:
        """Change the rows that meet the condition."""

    @abstractmethod
    def as_table(self, answer: Any) -> pa.Table:
        """Return the columns of an answer in the copy's order; their types have to cast to the copy's."""


class UserTableFile(FileBasedSystem, UserTableSystem):
    """A system with its rows in one file, which a change rewrites."""

    @property
    def statistics(self) -> bool | list[str]:
        """The columns for which a Parquet file has statistics, or True for all. Statistics ignore NaN, so
        that filters pushed down to them would lose rows with NaN."""
        sound = [name for name in self.table_copy.schema.names if name not in self.table_copy.nan]
        return sound if self.table_copy.nan else True


class UserTableCycle(Cycle[UserTableSystem]):
    steps = USER_TABLE.steps

    def load(self) -> Iterator[Sample]:
        cost = self._changing(lambda: self.system.load(self.rows))
        self._owe(("load", cost))
        yield from ()

    def read(self) -> Iterator[Sample]:
        yield from self._twice("read", self.system.read)

    def filter(self) -> Iterator[Sample]:
        yield from self.settle()
        yield from self._twice("filter", self.system.filter)

    def update(self) -> Iterator[Sample]:
        yield from self.settle()
        cost = self._changing(self.system.update)
        self._owe(("update", cost))

    def _twice(self, name: str, ask: Callable[[], Any]) -> Iterator[Sample]:
        """Ask a database that was just opened, and once more."""
        answer, cost = self._measure_opening(ask, writing=False)
        fingerprint = self._digest(answer)
        del answer
        answer, cost_again = measure(ask)
        told_again = self._digest(answer)
        self.system.close()
        size = self.system.disk_bytes()
        yield Sample(name, cost, size, fingerprint)
        yield Sample(f"{name}_again", cost_again, size, told_again, again=True)
        if name == "read":
            yield from self._checked_samples(fingerprint)

    def _digest(self, answer: Any) -> str:
        return digest(self.system.as_table(answer), self.system.table_copy.schema)

    def _database_digest(self) -> str:
        return self._digest(self.system.read())
