"""The columns of a table: changing them, their metadata, and whether a wider type keeps all stored values."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, Protocol, overload

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import types as is_

from lamella.core.arrow.nested_values import python_value
from lamella.core.arrow.types import (
    TypeName,
    always_fits,
    exact_cast,
    inexact,
    stored_type,
    type_named,
    type_of,
)
from lamella.core.errors import BadData, short_text
from lamella.core.filters.condition import Condition, row_selection
from lamella.core.jobs import Job
from lamella.core.scan.chunks import column_chunks
from lamella.core.scan.parquet_file import Footer, unchanged_footer
from lamella.core.scan.row_ids import ID_COLUMN
from lamella.core.scan.snapshot import Column, FileSegment, MemorySegment, Segment
from lamella.core.store.checks import checks_change, default_change, new_rows
from lamella.core.store.column_changes import (
    CAST_FROM,
    CastFailures,
    add_change,
    cast_change,
    cast_failures,
    columns_named,
    drop_change,
    refuse_names,
    rename_change,
    reorder_change,
)
from lamella.core.store.column_rules import NO_CHECKS, RULES, Checks
from lamella.core.store.commit import Change, Commit
from lamella.core.store.data_files import WrittenFile
from lamella.core.store.evolution import Cast, Notation
from lamella.core.store.row_lookup import chosen_ids
from lamella.core.store.split_merge import Merge, Split, column_change
from lamella.core.store.table_version import Metadata, Reader, TableVersion
from lamella.core.validation import count_of, items_of, names_of, text_of

TABLE = 0
"""The column id for the metadata of the table itself."""
Values = Mapping[str | bytes, str | bytes | None]
_FIELD_ID = b"PARQUET:field_id"
NOT_NULL = b"lamella.required"
"""The metadata key of a column that was declared without nulls; it is removed when a null arrives."""
_OWN_KEYS = frozenset({NOT_NULL, CAST_FROM}) | RULES
"""The metadata keys that Lamella uses itself."""


def from_schema(schema: pa.Schema, columns: Sequence[Column]) -> Metadata:
    """Read metadata from a schema: that of the table, and that of the columns from its fields.

    All of it is kept, including pandas' metadata of a DataFrame, except the field ids of a source Parquet
    file.
    """
    noted = {(TABLE, key): value for key, value in (schema.metadata or {}).items()}
    keys = {c.name: c.key for c in columns}
    for field in schema:
        own = _OWN_KEYS | {_FIELD_ID}
        noted |= {(keys[field.name], key): v for key, v in (field.metadata or {}).items() if key not in own}
        if not field.nullable:
            noted[keys[field.name], NOT_NULL] = b""
    return noted


def with_nulls_noted(change: Change, metadata: Metadata) -> Change:
    """Return `change` with the "required" mark removed from columns that get a null."""
    noted = metadata if change.metadata is None else change.metadata
    required = [key for key, name in noted if name == NOT_NULL]
    gained = {key for key in required if _gets_null(change, key)}
    if not gained:
        return change
    notes = {about: value for about, value in noted.items() if about[1] != NOT_NULL or about[0] not in gained}
    return replace(change, metadata=notes)


def _gets_null(change: Change, key: int) -> bool:
    cells = {} if change.cells is None else change.cells.values
    if key in cells and cells[key].null_count:
        return True
    if change.rows is not None and change.rows[1] and not _is_complete(change.rows[0], key):
        return True
    return any(_may_hold_null(file, key) for file in change.files)


def _is_complete(values: Mapping[int, pa.Array], key: int) -> bool:
    return key in values and not values[key].null_count


def _may_hold_null(file: WrittenFile, key: int) -> bool:
    """Whether a column of a file may hold a null. Files that Lamella writes mark columns without nulls as
    required."""
    name = {int(number): name for number, name in json.loads(file.names).items()}.get(key)
    return name is None or bool(pq.read_schema(file.path).field(name).nullable)


def with_metadata(state: TableVersion) -> pa.Schema:
    """The table's schema with metadata. A column is not nullable if it is required, or was declared so and
    holds no null yet."""
    by_column: dict[int, dict[bytes, bytes]] = {}
    for (column, key), value in state.metadata.items():
        if key not in _OWN_KEYS:
            by_column.setdefault(column, {})[key] = value
    required = {key for key, name in state.metadata if name == NOT_NULL}
    required |= {key for key, checks in state.rules.checks.items() if checks.required}
    fields = [pa.field(c.name, c.type, c.key not in required, by_column.get(c.key)) for c in state.columns]
    return pa.schema([pa.field(ID_COLUMN.name, ID_COLUMN.type), *fields], by_column.get(TABLE))


def of_column(state: TableVersion, name: str | None) -> dict[str, str]:
    """The metadata of a column, or of the table if `name` is None."""
    column_id = _key(state, name)
    noted = {key: value for (column, key), value in state.metadata.items() if column == column_id}
    return {_text(key): _text(value) for key, value in noted.items() if key not in _OWN_KEYS}


def refuse_other_than_text(table: str, values: Values) -> None:
    """Raise `BadData` for keys and values that are not valid metadata, before any is stored."""
    if not isinstance(values, Mapping):
        raise BadData(
            f"{table}: metadata is a dict of text, not {short_text(values)}", fix="Give {key: value}"
        )
    for key, value in values.items():
        if not isinstance(key, (str, bytes)):
            raise BadData(
                f"{table}: a key of metadata is text, not {short_text(key)}", fix="Write it as text"
            )
        if _bytes(key) in _OWN_KEYS:
            raise BadData(
                f"{table}: '{key if isinstance(key, str) else key.decode()}' is a reserved key",
                fix="Choose another key; table.columns.set_checks and set_default set checks and defaults",
            )
        if value is not None and not isinstance(value, (str, bytes)):
            called = key if isinstance(key, str) else key.decode(errors="replace")
            raise BadData(
                f"{table}: metadata is text; '{called}' is {short_text(value)}",
                fix="Write it as text, such as JSON; None removes the key",
            )


def metadata_change(state: TableVersion, name: str | None, values: Values, message: str) -> Change:
    about = _key(state, name)
    noted = dict(state.metadata)
    for key, value in values.items():
        if value is None:
            noted.pop((about, _bytes(key)), None)
        else:
            noted[about, _bytes(key)] = _bytes(value)
    return Change(message, state.columns, noted)


def _key(state: TableVersion, name: str | None) -> int:
    return TABLE if name is None else columns_named(state, [name])[0].key


def _text(stored: bytes) -> str:
    return stored.decode(errors="surrogateescape")


def _bytes(value: str | bytes) -> bytes:
    """Encode text as bytes; raise `BadData` for lone surrogates that stand for no byte."""
    if isinstance(value, bytes):
        return value
    try:
        return value.encode(errors="surrogateescape")
    except UnicodeEncodeError:
        return text_of(value, "the metadata").encode()


LARGEST_DOUBLE_INTEGER = 2**53
_TICKS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_SECONDS_A_DAY = 86_400


def refuse_stored_misfits(state: TableVersion, widened: Iterable[Column]) -> None:
    """Raise `BadData`, naming the column, if its wider type would change a stored value.

    Deleted rows count too, because they are decoded with the others.
    """
    before = {c.key: c.type for c in state.columns}
    for column in widened:
        if not always_fits(before[column.key], column.type):
            for segment in state.snapshot.segments:
                _refuse_misfit(segment, column)
            for cells in state.cells.values():
                if column.key in cells.values and exact_cast(cells.values[column.key], column.type) is None:
                    raise inexact(column.name, before[column.key], column.type)


def refuse_misfits(files: Iterable[WrittenFile], columns: Iterable[Column]) -> None:
    """Like `refuse_stored_misfits`, for files written before their columns widened."""
    columns = tuple(columns)
    for file in files:
        names = {int(key): name for key, name in json.loads(file.names).items()}
        for column in columns:
            _refuse_misfit(FileSegment(file.path, file.rows, names), column)


def _refuse_misfit(segment: Segment, column: Column) -> None:
    if isinstance(segment, MemorySegment):
        name = str(column.key)
        cells = segment.rows.column(name) if name in segment.rows.column_names else None
        if cells is not None and exact_cast(cells, column.type) is None:
            raise inexact(column.name, cells.type, column.type)
    elif column.key in segment.names:
        footer = unchanged_footer(segment)
        kind = footer.schema.field(segment.names[column.key]).type
        if not (always_fits(kind, column.type) or _file_fits(segment, footer, kind, column)):
            raise inexact(column.name, kind, column.type)


def _file_fits(segment: FileSegment, footer: Footer, kind: pa.DataType, column: Column) -> bool:
    largest = _largest(kind, column.type)
    if largest is not None and _all_within(footer, segment.names[column.key], largest):
        return True
    stored = Column(column.name, kind, column.key)
    groups = range(footer.metadata.num_row_groups)
    chunks = (column_chunks(segment, group, [stored], into=None)[0] for group in groups)
    return all(exact_cast(chunk, column.type) is not None for chunk in chunks)


def _largest(kind: pa.DataType, wider: pa.DataType) -> int | None:
    """The largest stored number that fits; None where size does not decide."""
    if is_.is_integer(kind) and is_.is_float64(wider):
        return LARGEST_DOUBLE_INTEGER
    if is_.is_temporal(kind) and (is_.is_timestamp(wider) or is_.is_duration(wider)):
        ticks = _TICKS[wider.unit]
        factor = ticks * _SECONDS_A_DAY if is_.is_date32(kind) else ticks // _TICKS[kind.unit]
        return (2**63 - 1) // max(1, factor)
    return None


def _all_within(footer: Footer, name: str, largest: int) -> bool:
    metadata = footer.metadata
    leaves = [metadata.schema.column(i) for i in range(len(metadata.schema))]
    places = [i for i, leaf in enumerate(leaves) if leaf.path == leaf.name == name]
    for group in range(metadata.num_row_groups):
        column = metadata.row_group(group).column(places[0])
        told_of = column.statistics if column.is_stats_set else None
        if told_of is None:
            return False
        if not told_of.has_min_max:
            if told_of.null_count != column.num_values:
                return False
        elif max(abs(int(told_of.min_raw)), abs(int(told_of.max_raw))) > largest:
            return False
    return True


class ColumnWriter(Protocol):
    """What the columns need of the writer of a table."""

    def commit(self, build: Callable[[TableVersion], Change], job: Job) -> Commit: ...

    def take_column_ids(self, count: int) -> int: ...

    def follow_casts(self, before: TableVersion, job: Job) -> None:
        """Move the indexes of columns that were cast to the new columns."""
        ...


class Columns(Sequence[str]):
    """The names of a table's columns, in order, without `_id`; and methods to change columns:
    `table.columns.add("weight", float)`.

    Columns have permanent ids, so renaming, dropping and reordering change only the catalog. Each change is
    one commit. Every method raises `UnknownColumn`, and `BadData` for a name that is empty, taken or
    reserved by the table; nothing changes then.
    """

    __slots__ = ("_reader", "_writer")

    def __init__(self, reader: Reader, writer: ColumnWriter) -> None:
        self._reader, self._writer = reader, writer

    def __repr__(self) -> str:
        return f"<Columns of '{self._reader.last_name}'>"

    def __len__(self) -> int:
        return len(self._reader.current().columns)

    def __iter__(self) -> Iterator[str]:
        return iter([column.name for column in self._reader.current().columns])

    @overload
    def __getitem__(self, place: int) -> str: ...

    @overload
    def __getitem__(self, place: slice) -> list[str]: ...

    def __getitem__(self, place: int | slice) -> str | list[str]:
        return list(self)[place]

    def metadata(self, column: str) -> dict[str, str]:
        """The metadata of a column; raises `UnknownColumn`."""
        return of_column(self._reader.current(), column)

    def set_metadata(self, column: str, values: Values, message: str = "") -> Commit:
        """Add these values to a column's metadata, or replace values of the same keys; None removes a key.

        Keys and values are text (or bytes); raises `BadData` for others.
        """
        text_of(column, f"{self._name}: the column")
        return store_metadata(self._reader.current().row.name, self._writer, column, values, message)

    def add(
        self,
        name: str,
        type: TypeName | None = None,
        default: Any = None,
        after: str | None = None,
        message: str = "",
        job: Job | None = None,
    ) -> Commit:
        """Add a column, last or behind the column `after`; `default` fills the existing rows.

        The type may be an Arrow type, its name, or a Python type; if it is left out, it is that of
        `default`. The default lasts: new rows that leave the column out get it, until `set_default` changes
        it. Without a default, adding takes no time, however many rows there are.
        """
        text_of(name, f"{self._name}: the column name")
        if type is None and default is None:
            raise BadData(f"{self._name}: column '{name}' needs a type", fix="Give one, or a default")
        kind = stored_type(type_of(default) if type is None else type_named(type))
        work = job or Job()

        def build(state: TableVersion) -> Change:
            refuse_names(self._name, [c.name for c in state.columns], [name])
            column = Column(name, kind, self._writer.take_column_ids(1))
            return add_change(state, column, default, after, work, message or f"add {name}")

        return self._writer.commit(build, work)

    def default(self, column: str) -> Any:
        """The value of new rows that leave the column out; None if there is no default."""
        state = self._reader.current()
        value = state.rules.defaults.get(columns_named(state, [column])[0].key)
        return None if value is None else python_value(value[0])

    def set_default(self, column: str, value: Any, message: str = "") -> Commit:
        """Set the value of new rows that leave the column out; None removes the default. Existing rows stay
        as they are, and an explicit None in a new row stays null."""
        text_of(column, f"{self._name}: the column")
        message = message or (f"no default for {column}" if value is None else f"default for {column}")
        return self._writer.commit(
            lambda state: default_change(state, columns_named(state, [column])[0], value, message), Job()
        )

    def new_rows(self, count: int) -> pa.Table:
        """Make `count` rows with defaults, and nulls in the other columns, for `table.edit`."""
        return new_rows(self._reader.current(), count_of(count, f"{self._name}: new_rows"))

    def checks(self, column: str) -> Checks:
        """The checks that every value of the column must pass."""
        state = self._reader.current()
        return state.rules.checks.get(columns_named(state, [column])[0].key, NO_CHECKS).to_checks

    def set_checks(
        self,
        column: str,
        *,
        required: bool | None = None,
        unique: bool | None = None,
        one_of: Iterable[Any] | None = None,
        message: str = "",
        job: Job | None = None,
    ) -> Commit:
        """Set checks on a column: no null (`required`), no value twice (`unique`), or only these values
        (`one_of`).

        Every later change must pass the checks, or is refused as a whole with `BrokenCheck`. Arguments left
        out keep their checks; False, and `one_of=[]`, remove a check. Nulls are not duplicates of each
        other, and pass `one_of` unless the column is required. An index on the column makes `unique` faster.

        Raises `BrokenCheck` listing the first rows that fail them now; nothing changes then.
        """
        text_of(column, f"{self._name}: the column")
        for name, flag in (("required", required), ("unique", unique)):
            if flag not in (True, False, None):
                raise BadData(f"{self._name}: {name} is {short_text(flag)}", fix="Say True or False")
        values = None if one_of is None or isinstance(one_of, str) else items_of(one_of)
        if one_of is not None and values is None:
            raise BadData(f"{self._name}: one_of takes a list of values, not {short_text(one_of)}")
        work, message = job or Job(), message or f"checks of {column}"

        def build(state: TableVersion) -> Change:
            target = columns_named(state, [column])[0]
            return checks_change(state, target, required, unique, values, work, message)

        return self._writer.commit(build, work)

    def drop(self, *names: str, message: str = "") -> Commit:
        """Drop columns, given as separate names or as a list; undo brings their values back.

        The last column may be dropped: rows keep their `_id`.
        """
        listed = names[0] if len(names) == 1 else names
        gone = names_of(listed, f"{self._name}: columns.drop")
        message = message or f"drop {', '.join(gone)}"
        return self._writer.commit(lambda state: drop_change(state, gone, message), Job())

    def rename(self, names: str | Mapping[str, str], new: str | None = None, message: str = "") -> Commit:
        """Rename a column, `rename("a", "b")`, or several at once, `rename({"a": "b", "b": "a"})`, so that
        columns can swap names. No data is written."""
        if isinstance(names, Mapping) == (new is not None):
            raise BadData(
                f"{self._name}: columns.rename was given {short_text(names)}",
                fix="Give the old name and the new one, or a dict {old: new}",
            )
        if not isinstance(names, Mapping):
            names = {text_of(names, f"{self._name}: the column"): new or ""}
        for name in names.values():
            text_of(name, f"{self._name}: the column name")
        message = message or "rename " + ", ".join(f"{old} to {new}" for old, new in names.items())
        new_names = dict(names)
        return self._writer.commit(lambda state: rename_change(state, new_names, message), Job())

    def reorder(self, names: Sequence[str], message: str = "") -> Commit:
        """Put these columns first, in this order, and the others behind them."""
        first = names_of(names, f"{self._name}: columns.reorder")
        message = message or f"order {', '.join(first)}"
        return self._writer.commit(lambda state: reorder_change(state, first, message), Job())

    def cast(  # noqa: PLR0913 -- all that can be said of a cast, by keyword
        self,
        name: str,
        type: TypeName,
        lossy: bool = False,
        on_error: Literal["refuse", "null"] = "refuse",
        message: str = "",
        job: Job | None = None,
        *,
        decimal: str = ".",
        thousands: str = "",
        dates: str = "iso",
    ) -> Commit:
        """Change the type of a column; text is parsed.

        Raises `BadData` naming the first value that would be lost. With `lossy`, precision that the type
        lacks is cut off instead: 1.7 as int64 becomes 1, a time becomes its day; 300 as int8 and NaN as
        int64 are refused all the same. `on_error="null"` turns values that do not fit into nulls. A time
        without a zone is taken as local time in the zone of the type. Widening takes no time, however many
        rows there are.

        The notation of text: `decimal=","` and `thousands="."` for 1.234,50, `dates="day first"` (or "month
        first") for 31.12.2024.
        """
        if on_error not in ("refuse", "null"):
            raise BadData(f"on_error cannot be {short_text(on_error)}", fix="Give 'refuse' or 'null'")
        text_of(name, f"{self._name}: the column name")
        notation = Notation(decimal, thousands, dates)
        how, work = Cast(type_named(type), lossy, on_error == "null", notation), job or Job()
        message = message or f"cast {name} to {how.to}"

        def build(state: TableVersion) -> Change:
            take_ids = self._writer.take_column_ids
            return cast_change(state, name, how, take_ids, work, message)

        before = self._reader.current()
        commit = self._writer.commit(build, work)
        self._writer.follow_casts(before, work)
        return commit

    def cast_failures(
        self,
        name: str,
        type: TypeName,
        lossy: bool = False,
        most: int = 100,
        job: Job | None = None,
        *,
        decimal: str = ".",
        thousands: str = "",
        dates: str = "iso",
    ) -> CastFailures:
        """Find the values that `cast` would refuse, or turn into nulls: how many, and up to `most` of them
        with their ids and reasons. Raises `TypeConflict` where no value of one type has a meaning in the
        other."""
        text_of(name, f"{self._name}: the column name")
        how = Cast(type_named(type), lossy, notation=Notation(decimal, thousands, dates))
        most = count_of(most, f"{self._name}: most")
        return cast_failures(self._reader.current(), name, how, most, job or Job())

    def split(
        self,
        name: str,
        into: Sequence[str],
        by: str = " ",
        regex: bool = False,
        keep: bool = True,
        where: Condition | Iterable[int] | None = None,
        message: str = "",
        job: Job | None = None,
    ) -> Commit:
        """Split texts at each `by` into new columns, `split("name", ["first", "last"])`: the last one gets
        the rest, and parts that a text lacks are null. Without `keep` the column is dropped.

        `where`, a filter or ids, selects rows; the others get nulls. Raises `TypeConflict` for a column that
        is not text, and `BadData` for an invalid pattern.
        """
        parts = tuple(names_of(into, f"{self._name}: into"))
        act = Split(text_of(name, f"{self._name}: the column"), parts, by, regex, keep)
        return self._make_of(act, where, message, job)

    def merge(
        self,
        names: Sequence[str],
        into: str,
        between: str = " ",
        keep: bool = True,
        where: Condition | Iterable[int] | None = None,
        message: str = "",
        job: Job | None = None,
    ) -> Commit:
        """Merge the values of columns into a new column of text, `merge(["first", "last"], "name")`. Nulls
        are left out; a row with nothing else is null. Without `keep` the others are dropped."""
        act = Merge(tuple(names_of(names, f"{self._name}: columns.merge")), into, between, keep)
        return self._make_of(act, where, message, job)

    def _make_of(
        self,
        act: Split | Merge,
        where: Condition | Iterable[int] | None,
        message: str,
        job: Job | None,
    ) -> Commit:
        work = job or Job()
        selection = row_selection(where, f"{self._name}: where", self._reader.current().snapshot)

        def build(state: TableVersion) -> Change:
            ids = chosen_ids(state, selection)
            return column_change(state, act, ids, self._writer.take_column_ids, work, message)

        return self._writer.commit(build, work)

    @property
    def _name(self) -> str:
        return self._reader.current().row.name


def store_metadata(
    table: str, writer: ColumnWriter, column: str | None, values: Values, message: str
) -> Commit:
    """Store metadata of a column, or of the table if `column` is None."""
    refuse_other_than_text(table, values)
    keys = (key if isinstance(key, str) else key.decode(errors="replace") for key in values)
    message = message or f"metadata of {column or 'the table'}: {', '.join(keys)}"
    return writer.commit(lambda state: metadata_change(state, column, values, message), Job())
