"""The columns of a table: how they are changed, what is noted about them, which values a wider type keeps."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, Protocol, overload

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import types as is_

from lamella.core.arrow.nested import python_value
from lamella.core.arrow.types import (
    TypeName,
    always_fits,
    exact_cast,
    inexact,
    stored_type,
    type_named,
    type_of,
)
from lamella.core.errors import BadData, shown
from lamella.core.filters.condition import Condition, rows_chosen
from lamella.core.jobs import Job
from lamella.core.scan.chunks import column_chunks
from lamella.core.scan.parquet_file import Footer, unchanged
from lamella.core.scan.row_ids import ID_COLUMN
from lamella.core.scan.snapshot import Column, FileSegment, MemorySegment, Segment
from lamella.core.store.checks import checks_change, default_change, new_rows
from lamella.core.store.column_changes import (
    CAST_FROM,
    CastFailures,
    added,
    cast_change,
    cast_failures,
    columns_named,
    dropped,
    refuse_names,
    renamed,
    reordered,
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
"""The column id under which the table's own are kept."""
Values = Mapping[str | bytes, str | bytes | None]
_FIELD_ID = b"PARQUET:field_id"
REQUIRED = b"lamella.required"
"""Noted about a column whose field said that it holds no null, until one comes."""
_OWN = frozenset({REQUIRED, CAST_FROM}) | RULES
"""Notes that are not people's."""


def from_schema(schema: pa.Schema, columns: Sequence[Column]) -> Metadata:
    """What a schema says of the table, and its fields of the columns.

    All of it is kept, what pandas noted of a DataFrame too; but not the field ids of a Parquet file that the
    data came from.
    """
    noted = {(TABLE, key): value for key, value in (schema.metadata or {}).items()}
    keys = {c.name: c.key for c in columns}
    for field in schema:
        own = _OWN | {_FIELD_ID}
        noted |= {(keys[field.name], key): v for key, v in (field.metadata or {}).items() if key not in own}
        if not field.nullable:
            noted[keys[field.name], REQUIRED] = b""
    return noted


def with_nulls_noted(change: Change, metadata: Metadata) -> Change:
    """`change` of a table of this metadata, after which required columns that get a null are so no more."""
    noted = metadata if change.metadata is None else change.metadata
    required = [key for key, name in noted if name == REQUIRED]
    gained = {key for key in required if _gets_null(change, key)}
    if not gained:
        return change
    notes = {about: value for about, value in noted.items() if about[1] != REQUIRED or about[0] not in gained}
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
    """Files of our own writing say of columns without nulls that they are required."""
    name = {int(number): name for number, name in json.loads(file.names).items()}.get(key)
    return name is None or bool(pq.read_schema(file.path).field(name).nullable)


def with_metadata(state: TableVersion) -> pa.Schema:
    """The table's columns; of one that is required, or was given so and holds no null yet, that it is."""
    by_column: dict[int, dict[bytes, bytes]] = {}
    for (column, key), value in state.metadata.items():
        if key not in _OWN:
            by_column.setdefault(column, {})[key] = value
    required = {key for key, name in state.metadata if name == REQUIRED}
    required |= {key for key, checks in state.rules.checks.items() if checks.required}
    fields = [pa.field(c.name, c.type, c.key not in required, by_column.get(c.key)) for c in state.columns]
    return pa.schema([pa.field(ID_COLUMN.name, ID_COLUMN.type), *fields], by_column.get(TABLE))


def of_column(state: TableVersion, name: str | None) -> dict[str, str]:
    """What is noted about a column, or about the table where `name` is None."""
    column_id = _key(state, name)
    noted = {key: value for (column, key), value in state.metadata.items() if column == column_id}
    return {_text(key): _text(value) for key, value in noted.items() if key not in _OWN}


def refuse_other_than_text(table: str, values: Values) -> None:
    """Raises `BadData` for keys and values that cannot be noted, before any of them is."""
    if not isinstance(values, Mapping):
        raise BadData(f"{table}: metadata is a dict of text, not {shown(values)}", fix="Give {key: value}")
    for key, value in values.items():
        if not isinstance(key, (str, bytes)):
            raise BadData(f"{table}: a key of metadata is text, not {shown(key)}", fix="Write it as text")
        if _bytes(key) in _OWN:
            raise BadData(
                f"{table}: '{key if isinstance(key, str) else key.decode()}' is a key of the store's own",
                fix="Choose another key; table.columns.set_checks and set_default note checks and defaults",
            )
        if value is not None and not isinstance(value, (str, bytes)):
            called = key if isinstance(key, str) else key.decode(errors="replace")
            raise BadData(
                f"{table}: metadata is text; '{called}' is {shown(value)}",
                fix="Write it as text, such as JSON; None forgets what was noted",
            )


def changed(state: TableVersion, name: str | None, values: Values, message: str) -> Change:
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
    """Raises `BadData` for halves of characters that stand for no byte."""
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
    """Raise `BadData` naming the column that holds a value which its wider type would change.

    Deleted rows count: they are decoded with the others.
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
    """The same for files written before their columns widened."""
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
        footer = unchanged(segment)
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
    """Stored numbers up to this size fit; None where it is not a matter of size."""
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
    """What makes the commits of a table, as far as its columns need it."""

    def commit(self, build: Callable[[TableVersion], Change], job: Job) -> Commit: ...

    def take_column_ids(self, count: int) -> int: ...

    def follow_casts(self, before: TableVersion, job: Job) -> None:
        """Have the indexes of columns that were cast follow them."""
        ...


class Columns(Sequence[str]):
    """The columns of a table by their names, in order, without `_id`: `table.columns.add("weight", float)`.

    Columns have permanent ids, so that renaming, dropping and reordering touch the catalog alone. Each change
    is one commit. It raises `UnknownColumn`, and `BadData` for a name that is empty, taken or the table's
    own; nothing changes then.
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
        """What is noted about a column; raises `UnknownColumn`."""
        return of_column(self._reader.current(), column)

    def set_metadata(self, column: str, values: Values, message: str = "") -> Commit:
        """Note these values about a column, beside what is noted already; None forgets one.

        Keys and values are text (or bytes); raises `BadData` for others.
        """
        text_of(column, f"{self._name}: the column")
        return noted(self._reader.current().row.name, self._writer, column, values, message)

    def add(
        self,
        name: str,
        type: TypeName | None = None,
        default: Any = None,
        after: str | None = None,
        message: str = "",
        job: Job | None = None,
    ) -> Commit:
        """A new column, last or behind the column `after`; `default` fills the rows that are there.

        The type may be Arrow's, its name, or a Python type, and is that of `default` when left out. The
        default lasts: new rows that leave the column out get it, until `set_default` changes it. Without one
        it takes no time, however many rows there are.
        """
        text_of(name, f"{self._name}: the column name")
        if type is None and default is None:
            raise BadData(f"{self._name}: column '{name}' needs a type", fix="Give one, or a default")
        kind = stored_type(type_of(default) if type is None else type_named(type))
        work = job or Job()

        def build(state: TableVersion) -> Change:
            refuse_names(self._name, [c.name for c in state.columns], [name])
            column = Column(name, kind, self._writer.take_column_ids(1))
            return added(state, column, default, after, work, message or f"add {name}")

        return self._writer.commit(build, work)

    def default(self, column: str) -> Any:
        """What new rows get that leave the column out; None where there is no default."""
        state = self._reader.current()
        value = state.rules.defaults.get(columns_named(state, [column])[0].key)
        return None if value is None else python_value(value[0])

    def set_default(self, column: str, value: Any, message: str = "") -> Commit:
        """Give new rows that leave the column out this value, and None to forget it. Rows that are there stay
        as they are, and None in a new row stays null."""
        text_of(column, f"{self._name}: the column")
        message = message or (f"no default for {column}" if value is None else f"default for {column}")
        return self._writer.commit(
            lambda state: default_change(state, columns_named(state, [column])[0], value, message), Job()
        )

    def new_rows(self, count: int) -> pa.Table:
        """So many rows of defaults, and of nulls in other columns, as `table.edit` takes them."""
        return new_rows(self._reader.current(), count_of(count, f"{self._name}: new_rows"))

    def checks(self, column: str) -> Checks:
        """What every value of the column has to meet."""
        state = self._reader.current()
        return state.rules.checks.get(columns_named(state, [column])[0].key, NO_CHECKS).shown

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
        """Let in no null (`required`), no value twice (`unique`), or these values only (`one_of`).

        Every change that comes later has to meet the checks, or is refused whole with `BrokenCheck`. What is
        left out stays as it is; False, and `one_of=[]`, take a check away. Null is not a double of null, and
        one of any values, unless the column is required. An index of the column makes `unique` quicker.

        Raises `BrokenCheck` listing the first rows that do not meet them now; nothing changes then.
        """
        text_of(column, f"{self._name}: the column")
        for name, flag in (("required", required), ("unique", unique)):
            if flag not in (True, False, None):
                raise BadData(f"{self._name}: {name} is {shown(flag)}", fix="Say True or False")
        values = None if one_of is None or isinstance(one_of, str) else items_of(one_of)
        if one_of is not None and values is None:
            raise BadData(f"{self._name}: one_of takes a list of values, not {shown(one_of)}")
        work, message = job or Job(), message or f"checks of {column}"

        def build(state: TableVersion) -> Change:
            named = columns_named(state, [column])[0]
            return checks_change(state, named, required, unique, values, work, message)

        return self._writer.commit(build, work)

    def drop(self, *names: str, message: str = "") -> Commit:
        """Take columns away, named one after the other or in a list; their values come back with undo.

        The last one may go: rows keep their `_id`.
        """
        listed = names[0] if len(names) == 1 else names
        gone = names_of(listed, f"{self._name}: columns.drop")
        message = message or f"drop {', '.join(gone)}"
        return self._writer.commit(lambda state: dropped(state, gone, message), Job())

    def rename(self, names: str | Mapping[str, str], new: str | None = None, message: str = "") -> Commit:
        """Give a column another name, `rename("a", "b")`, or several at once, `rename({"a": "b", "b": "a"})`:
        two columns can swap their names. No data is written."""
        if isinstance(names, Mapping) == (new is not None):
            raise BadData(
                f"{self._name}: columns.rename was given {shown(names)}",
                fix="Give the old name and the new one, or a dict {old: new}",
            )
        if not isinstance(names, Mapping):
            names = {text_of(names, f"{self._name}: the column"): new or ""}
        for name in names.values():
            text_of(name, f"{self._name}: the column name")
        message = message or "rename " + ", ".join(f"{old} to {new}" for old, new in names.items())
        new_names = dict(names)
        return self._writer.commit(lambda state: renamed(state, new_names, message), Job())

    def reorder(self, names: Sequence[str], message: str = "") -> Commit:
        """These columns first, in this order, and the others behind them."""
        first = names_of(names, f"{self._name}: columns.reorder")
        message = message or f"order {', '.join(first)}"
        return self._writer.commit(lambda state: reordered(state, first, message), Job())

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
        """The column's values as another type; text is read as what it says.

        Refused with `BadData` naming the first value that would be lost. `lossy` cuts what is too fine for
        the type instead: 1.7 as int64 becomes 1, a time its day; 300 as int8 and NaN as int64 are refused all
        the same. `on_error="null"` makes null of what does not fit. A time without a zone is taken for the
        wall clock's in the zone of the type. Widening takes no time, however many rows there are.

        How text is written: `decimal=","` and `thousands="."` for 1.234,50, `dates="day first"` (or "month
        first") for 31.12.2024.
        """
        if on_error not in ("refuse", "null"):
            raise BadData(f"on_error cannot be {shown(on_error)}", fix="Give 'refuse' or 'null'")
        text_of(name, f"{self._name}: the column name")
        notation = Notation(decimal, thousands, dates)
        how, work = Cast(type_named(type), lossy, on_error == "null", notation), job or Job()
        message = message or f"cast {name} to {how.to}"

        def build(state: TableVersion) -> Change:
            take_ids = self._writer.take_column_ids
            return cast_change(state, name, how, take_ids, work, message)

        before = self._reader.current()
        done = self._writer.commit(build, work)
        self._writer.follow_casts(before, work)
        return done

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
        """What `cast` would refuse, or make null: how many values, and the first so many with their ids and
        why. Raises `TypeConflict` where no value of the one type means anything as the other."""
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
        """Divide texts at each `by` into new columns, `split("name", ["first", "last"])`: the last one gets
        the rest, and parts that a text lacks are null. Without `keep` the column goes.

        `where`, a filter or ids, chooses rows; the others get nulls. Raises `TypeConflict` for a column that
        is not text, and `BadData` for a pattern that is none.
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
        """A new column of the values of others as text, `merge(["first", "last"], "name")`. Nulls are left
        out; where there is nothing else it is null. Without `keep` the others go."""
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
        chosen = rows_chosen(where, f"{self._name}: where", self._reader.current().snapshot)

        def build(state: TableVersion) -> Change:
            ids = chosen_ids(state, chosen)
            return column_change(state, act, ids, self._writer.take_column_ids, work, message)

        return self._writer.commit(build, work)

    @property
    def _name(self) -> str:
        return self._reader.current().row.name


def noted(table: str, writer: ColumnWriter, column: str | None, values: Values, message: str) -> Commit:
    """Note values about a column, or about the table where `column` is None."""
    refuse_other_than_text(table, values)
    keys = (key if isinstance(key, str) else key.decode(errors="replace") for key in values)
    message = message or f"metadata of {column or 'the table'}: {', '.join(keys)}"
    return writer.commit(lambda state: changed(state, column, values, message), Job())
