"""Datasets as virtual tables of SQLite: the module, its tables and cursors, the scans behind them, and
connections that use them."""

from __future__ import annotations

import weakref
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import repeat
from pathlib import Path
from typing import Any, cast

import apsw
import numpy as np
import pyarrow as pa

from lamella.core.arrow.arrays import take, to_numpy
from lamella.core.bridge.planning import (
    ALL_NULL,
    ROWID,
    UNKNOWN,
    Constraint,
    DeclaredColumn,
    Extent,
    Plan,
    RowIdColumn,
    best_index,
    current_column,
    declare,
    extents,
    fold_case,
    matching_values,
    plan_of,
    statement,
    storage_of,
)
from lamella.core.bridge.values import Floats, MatchingValues, column_type, inside
from lamella.core.datasets import open_dataset
from lamella.core.datasets.base import Dataset
from lamella.core.datasets.formats import tables_of
from lamella.core.datasets.tables import quote_identifier
from lamella.core.errors import BadData, LamellaError
from lamella.core.jobs import Job
from lamella.core.query.find import is_cacheable
from lamella.core.query.source import whole_snapshot
from lamella.core.scan.cache import browsing_cache, cache
from lamella.core.scan.parquet_file import unchanged_footer
from lamella.core.scan.read import Piece, changed_cells, finish, pieces
from lamella.core.scan.row_ids import ID_COLUMN
from lamella.core.scan.snapshot import Column, FileSegment, Snapshot
from lamella.core.store.paths import is_store
from lamella.core.store.rows import RowsById
from lamella.core.store.store import Store
from lamella.core.validation import path_of


@dataclass(frozen=True, eq=False)
class RowBlock:
    """Rows as SQLite takes them: `columns` are lists of `size` values each."""

    columns: list[list[Any]]
    size: int
    _numbers: Callable[[], np.ndarray]

    @cached_property
    def row_ids(self) -> list[int]:
        numbers: list[int] = self._numbers().tolist()
        return numbers


class PieceRows:
    """The live rows of a piece, as narrowed by `keep`. A column is decoded when it is first read."""

    def __init__(self, snapshot: Snapshot, piece: Piece, id_column: Column | None) -> None:
        self._snapshot, self._piece, self._id_column = snapshot, piece, id_column
        self._into = cache if is_cacheable(snapshot) else browsing_cache
        self._decoded_columns: dict[Column, pa.ChunkedArray] = {}
        self._selection: np.ndarray | None = None
        low, high = np.searchsorted(snapshot.deleted_positions, [piece.first, piece.stop])
        self.positions = np.delete(
            np.arange(piece.first, piece.stop), snapshot.deleted_positions[low:high] - piece.first
        )

    def __len__(self) -> int:
        return len(self.positions)

    def decode(self, columns: Iterable[Column]) -> None:
        """Decode several columns at once, which is faster than one after the other."""
        missing = [column for column in columns if column not in self._decoded_columns]
        if not missing:
            return
        stored = self._piece.stored_chunks(self._snapshot, missing, self._into)
        table = finish(self._snapshot, self._piece.first, self._piece.stop, missing, stored)
        for column, values in zip(missing, table.columns, strict=True):
            self._decoded_columns[column] = (
                values if self._selection is None else take(values, self._selection)
            )

    def values(self, column: Column) -> pa.ChunkedArray:
        self.decode([column])
        return self._decoded_columns[column]

    def keep(self, mask: np.ndarray) -> None:
        """Drop the rows where the mask is false."""
        if mask.all():
            return
        places = np.flatnonzero(mask)
        self.positions = self.positions[places]
        self._selection = places if self._selection is None else self._selection[places]
        self._decoded_columns = {
            column: take(values, places) for column, values in self._decoded_columns.items()
        }

    def block(self, columns: Sequence[Column], first: int, rows: int) -> RowBlock:
        """Return at most `rows` rows, starting at `first`."""
        self.decode(columns)
        stop = min(first + rows, len(self))
        lists = [
            _python_values(column, self._decoded_columns[column].slice(first, stop - first))
            for column in columns
        ]
        return RowBlock(lists, stop - first, lambda: self._numbers(first, stop))

    def _numbers(self, first: int, stop: int) -> np.ndarray:
        if self._id_column is None:
            numbers: np.ndarray = self.positions[first:stop] + 1
            return numbers
        return to_numpy(self.values(self._id_column).slice(first, stop - first))


def _python_values(column: Column, values: pa.ChunkedArray) -> list[Any]:
    parts = [column_type(column.type).values(chunk) for chunk in values.chunks]
    return parts[0] if len(parts) == 1 else [value for part in parts for value in part]


Begin = Callable[[Plan, Sequence[Any]], Iterator[RowBlock]]


class Cursor:
    """SQLite calls `Filter` to begin, then `Eof` and `Next` for each row, and `Column` for each value it
    reads.

    `Filter` creates the functions that are called per row: a method in between would double the cost.
    """

    Next: Callable[[], None]
    Eof: Callable[[], bool]
    Column: Callable[[int], Any]
    Rowid: Callable[[], int]

    def __init__(self, begin: Begin) -> None:
        self._begin = begin

    def Filter(self, _number: int, plan: str, values: Sequence[Any]) -> None:  # noqa: N802 -- SQLite's name
        scan_plan = plan_of(plan)
        self._read(self._begin(scan_plan, values), scan_plan.columns)

    def Close(self) -> None:  # noqa: N802
        """Drop the functions, which hold rows, and which the cursor holds."""
        self.__dict__.clear()

    def _read(self, blocks: Iterator[RowBlock], columns: Sequence[int]) -> None:
        places = {column: place for place, column in enumerate(columns)}
        block: RowBlock
        row: tuple[Any, ...]

        def rows() -> Iterator[None]:
            nonlocal block, row
            for block in blocks:
                for row in zip(*block.columns, range(block.size), strict=True):  # noqa: B007 -- it is what `value` reads
                    yield
            self.Eof = repeat(True).__next__
            yield

        def value(column: int) -> Any:
            return row[places[column]]

        def row_id() -> int:
            number: int = block.row_ids[row[-1]]
            return number

        self.Eof = repeat(False).__next__
        self.Column, self.Rowid, self.Next = value, row_id, rows().__next__
        self.Next()


FIRST_BLOCK, LARGEST_BLOCK = 64, 1 << 14
"""In rows: a statement that reads a few rows does not wait for many."""


@dataclass
class RowGroups:
    """How many row groups of files were decoded for SQLite, and how many were skipped."""

    read: int = 0
    skipped: int = 0


@dataclass(frozen=True)
class Condition:
    column: Column
    matching_values: MatchingValues


@dataclass(frozen=True)
class Scan:
    """One scan of a snapshot. `id_column` holds the row ids; without one they are row numbers from 1.
    `numbers` are the constraints on row numbers."""

    snapshot: Snapshot
    columns: Sequence[Column]
    conditions: Sequence[Condition]
    numbers: Sequence[MatchingValues]
    id_column: Column | None
    row_groups: RowGroups

    def blocks(self) -> Iterator[RowBlock]:
        """Yield the matching rows in the snapshot's order."""
        rows = FIRST_BLOCK
        for piece in pieces(self.snapshot, 0, self.snapshot.num_positions):
            may_match = self._may_hold(piece)
            self._count(piece, may_match)
            matching, first = self._matching_rows(piece) if may_match else None, 0
            while matching is not None and first < len(matching):
                yield matching.block(self.columns, first, rows)
                first, rows = first + rows, min(4 * rows, LARGEST_BLOCK)

    def _count(self, piece: Piece, may_match: bool) -> None:
        if isinstance(piece.segment, FileSegment):
            self.row_groups.read += may_match
            self.row_groups.skipped += not may_match

    def _may_hold(self, piece: Piece) -> bool:
        numbers = Extent(piece.first + 1, piece.stop, nulls=False)
        return all(numbers.meets(number) for number in self.numbers) and all(
            _may_hold(self.snapshot, piece, condition) for condition in self.conditions
        )

    def _matching_rows(self, piece: Piece) -> PieceRows:
        rows = PieceRows(self.snapshot, piece, self.id_column)
        for number in self.numbers:
            rows.keep(inside(rows.positions + 1, number))
        for condition in self.conditions:
            if not len(rows):
                break
            rows.keep(_meeting(condition, rows.values(condition.column)))
        return rows


def _may_hold(snapshot: Snapshot, piece: Piece, condition: Condition) -> bool:
    """Return whether some row of the piece may match, as far as can be known without decoding it."""
    segment, column = piece.segment, condition.column
    if not isinstance(segment, FileSegment) or _is_changed(snapshot, piece, column):
        return UNKNOWN.meets(condition.matching_values)
    name, constant = segment.names.get(column.key), segment.constants.get(column.key)
    if name is None and constant is not None:
        return bool(_meeting(condition, pa.chunked_array([constant])).any())
    extent = (
        ALL_NULL if name is None else extents(unchanged_footer(segment), name, column)[piece.row_groups.start]
    )
    return extent.meets(condition.matching_values)


def _is_changed(snapshot: Snapshot, piece: Piece, column: Column) -> bool:
    """Return whether pending changes replace a value of this column in the piece."""
    changed = changed_cells(snapshot, column)
    if changed is None:
        return False
    low, high = np.searchsorted(changed[0], [piece.first, piece.stop])
    return bool(low < high)


def _meeting(condition: Condition, values: pa.ChunkedArray) -> np.ndarray:
    """Return which values may match. NaN is null in SQLite."""
    order, condition_values = column_type(condition.column.type).order, condition.matching_values
    if pa.types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    null = to_numpy(values.is_null(nan_is_null=isinstance(order, Floats)))
    keys_order = None if condition_values.all_values else order
    matching = np.ones(len(values), bool) if keys_order is None else keys_order.mask(values, condition_values)
    return np.where(null, condition_values.nulls, matching)


SCANS_BEFORE = 16
"""Up to this many repetitions, scans are faster, because they skip row groups."""
MOST_ROWS = 1_000_000
"""Larger tables get no look-up: it holds Python values until the table changes or is disconnected."""
MOST_LOOKUPS = 4

StartScan = Callable[[Plan, Sequence[Any]], Scan]


class Lookup:
    """The rows of a scan, by their values in the block columns with the indexes `keys`, where `ROWID` stands
    for the row ids."""

    def __init__(self, blocks: Iterator[RowBlock], keys: Sequence[int]) -> None:
        self._places: dict[tuple[Any, ...], list[tuple[RowBlock, int]]] = {}
        for block in blocks:
            columns = [block.row_ids if key == ROWID else block.columns[key] for key in keys]
            for place, values in enumerate(zip(*columns, strict=True)):
                self._places.setdefault(values, []).append((block, place))

    def block(self, values: tuple[Any, ...], columns: int) -> RowBlock:
        """Return the rows that have these values, in scan order."""
        rows = self._places.get(values, [])
        lists = [[block.columns[column][place] for block, place in rows] for column in range(columns)]
        return RowBlock(lists, len(rows), lambda: np.array([block.row_ids[place] for block, place in rows]))


class Scans:
    """The scans of one version of a table; they do not protect it from a vacuum. Scans that are repeated, for
    the inner table of a join or a correlated subquery, become look-ups, of which a few are cached."""

    def __init__(self, columns: Sequence[DeclaredColumn]) -> None:
        self._columns = columns
        self._scans_begun_by_plan: Counter[Plan] = Counter()
        self._lookups: OrderedDict[tuple[Plan, tuple[int, ...]], Lookup | None] = OrderedDict()

    def blocks(self, start: StartScan, plan: Plan, values: Sequence[Any]) -> Iterator[RowBlock]:
        self._scans_begun_by_plan[plan] += 1
        which = self._equalities(plan, values) if self._scans_begun_by_plan[plan] > SCANS_BEFORE else ()
        lookup = (
            self._lookup(start, plan, tuple(plan.constraints[i].column for i in which)) if which else None
        )
        if lookup is None:
            return start(plan, values).blocks()
        return iter((lookup.block(tuple(values[i] for i in which), len(plan.columns)),))

    def _equalities(self, plan: Plan, values: Sequence[Any]) -> tuple[int, ...]:
        """Return the indexes of the constraints that a look-up can serve: equality with one value. A value
        whose class differs from the column's may need conversion, which is left to SQLite."""
        return tuple(
            which for which, value in enumerate(values) if self._fits(plan, plan.constraints[which], value)
        )

    def _fits(self, plan: Plan, constraint: Constraint, value: Any) -> bool:
        if constraint.op != "=" or value is None:
            return False
        if constraint.column == ROWID:
            return type(value) is int
        return constraint.column in plan.columns and self._columns[
            constraint.column
        ].type.storage is storage_of(value)

    def _lookup(self, start: StartScan, plan: Plan, columns: tuple[int, ...]) -> Lookup | None:
        """Return the look-up for these columns; None if the table is too large for one."""
        key = (plan, columns)
        if key not in self._lookups:
            scan = start(Plan(plan.columns, ()), ())
            keys = [ROWID if column == ROWID else plan.columns.index(column) for column in columns]
            is_small = scan.snapshot.num_rows <= MOST_ROWS
            self._lookups[key] = Lookup(scan.blocks(), keys) if is_small else None
            if len(self._lookups) > MOST_LOOKUPS:
                self._lookups.popitem(last=False)
        self._lookups.move_to_end(key)
        return self._lookups[key]


class VirtualTable:
    """A read-only virtual table: it has none of the methods by which SQLite changes tables. `close`, if
    given, is called when SQLite disconnects it."""

    def __init__(self, dataset: Dataset, counted: RowGroups, close: Callable[[], None] | None = None) -> None:
        self._dataset, self._counts, self._close = dataset, counted, close
        columns = whole_snapshot(dataset, Job()).columns  # of a text file, types are certain at its end
        names = [column.name for column in columns]
        self._columns: list[DeclaredColumn] = declare(columns)
        self._number_condition = RowIdColumn(
            names.index(ID_COLUMN.name) if isinstance(dataset, RowsById) else None
        )
        self._scans: tuple[object, Scans] | None = None
        self.declaration = statement(self._columns)

    def BestIndexObject(self, info: apsw.IndexInfo) -> bool:  # noqa: N802 -- SQLite's names, here and below
        best_index(info, self._columns, self._number_condition, self._dataset.num_rows)
        return True

    def Open(self) -> Cursor:  # noqa: N802
        """A cursor sees one version from start to end, however often a join restarts it."""
        snapshot = self._dataset.snapshot()
        if self._scans is None or self._scans[0] != snapshot.token:
            self._scans = (snapshot.token, Scans(self._columns))
        return Cursor(partial(self._scans[1].blocks, partial(self._scan, snapshot)))

    def Disconnect(self) -> None:  # noqa: N802
        self._scans = None
        if self._close is not None:
            self._close()

    Destroy = Disconnect

    def _scan(self, snapshot: Snapshot, plan: Plan, values: Sequence[Any]) -> Scan:
        numbers, conditions = [], []
        for constraint, value in zip(plan.constraints, values, strict=True):
            if constraint.column == ROWID:
                numbers.append(matching_values(column_type(pa.int64()), constraint.op, value))
            else:
                described = self._columns[constraint.column]
                column = current_column(described, snapshot)
                conditions.append(
                    Condition(
                        column, matching_values(described.type, constraint.op, value, constraint.literal)
                    )
                )
        columns = [current_column(self._columns[place], snapshot) for place in plan.columns]
        place = self._number_condition.id_place
        id_column = None if place is None else current_column(self._columns[place], snapshot)
        return Scan(snapshot, columns, conditions, numbers, id_column, self._counts)


BY_PATH, BY_NAME = "lamella", "lamella_dataset"
FORMS = "Write lamella('files'), lamella('store or file', 'table') or lamella('store', 'table', 'version')"


class Module:
    """Creates virtual tables. `row_groups` covers all tables created with it; `datasets` are the datasets of
    `lamella_dataset`, by name, and `omitted_tables` those that cannot become virtual tables."""

    def __init__(self) -> None:
        self.row_groups = RowGroups()
        self.datasets: dict[str, Dataset] = {}
        self.omitted_tables: dict[str, BadData] = {}

    def Create(  # noqa: N802 -- SQLite's name
        self, connection: apsw.Connection, modulename: str, databasename: str, tablename: str, *args: object
    ) -> tuple[str, VirtualTable]:
        words = [_unquote(str(word)) for word in args]
        table = self._make_registered(*words) if modulename == BY_NAME else self._make_named(words)
        return table.declaration, table

    Connect = Create

    def _make_registered(self, name: str) -> VirtualTable:
        return VirtualTable(self.datasets[name], self.row_groups)

    def _make_named(self, words: list[str]) -> VirtualTable:
        if not 1 <= len(words) <= 3:
            raise LamellaError(f"lamella() takes one to three arguments, not {len(words)}", fix=FORMS)
        path = path_of(words[0], "lamella()")
        if is_store(path):
            return self._of_store(path, *words[1:])
        if len(words) > 2:
            raise LamellaError(f"{path}: there is no store here", fix=FORMS)
        return VirtualTable(open_dataset(words[0], table=words[1] if words[1:] else None), self.row_groups)

    def _of_store(self, path: Path, table: str = "", version: str = "") -> VirtualTable:
        store = Store.open(path, read_only=True)
        try:
            dataset = store[table]
            rows = dataset.as_of(int(version) if version.isdigit() else version) if version else dataset
            return VirtualTable(rows, self.row_groups, store.close)
        except BaseException:
            store.close()
            raise


def _unquote(word: str) -> str:
    """Remove the quotes from an argument, which SQLite passes on as it is written."""
    quote = word[:1]
    if len(word) > 1 and quote in ("'", '"') and word.endswith(quote):
        return word[1:-1].replace(2 * quote, quote)
    return word


_modules: weakref.WeakKeyDictionary[apsw.Connection, weakref.ref[Module]] = weakref.WeakKeyDictionary()
"""SQLite keeps a module until its connection is closed."""


def _do_nothing() -> None:
    return None


def connect(source: Store | str | Path | Iterable[str | Path]) -> apsw.Connection:
    """Return a SQLite database in memory with a virtual table for each table of a store (open, or given by
    its folder), or for each of the given files, folders or patterns, named after it; a file with several
    tables gives one for each. These tables are read-only; other tables can be created beside them.

    Raises `FileProblem` and `StoreProblem`. Use a connection in one thread at a time.
    """
    connection = apsw.Connection(":memory:")
    try:
        module = add_modules(connection)
        for name, dataset in _datasets(source, module):
            free = _free(name, module.datasets)
            try:
                register(connection, free, dataset)
            except BadData as error:
                module.omitted_tables[free] = error
    except BaseException:
        connection.close()
        raise
    return connection


def register(connection: apsw.Connection, name: str, dataset: Dataset) -> None:
    """Make the dataset a table of the connection until the connection is closed. Raises `BadData` for a name
    that is taken or begins with `sqlite_`, and for a dataset with no columns or more than 2,000."""
    module = add_modules(connection)
    if "\0" in name:
        raise BadData(
            f"SQLite cannot have {name!r} as a table", "It holds a null character", "Choose another name"
        )
    if fold_case(name) in map(fold_case, module.datasets) or connection.table_exists(None, name):
        raise BadData(f"SQLite has a table '{name}' already", fix="Choose another name")
    module.datasets[name] = dataset
    try:
        connection.execute(
            f"CREATE VIRTUAL TABLE temp.{quote_identifier(name)} USING {BY_NAME}({quote_identifier(name)})"
        )
    except apsw.SQLError as error:
        del module.datasets[name]
        raise BadData(
            f"SQLite cannot have '{name}' as a table",
            str(error),
            "Register it under another name, or with fewer columns",
        ) from error


def add_modules(connection: apsw.Connection) -> Module:
    """Enable CREATE VIRTUAL TABLE … USING lamella('trips/*.parquet') on a connection. A second call does
    nothing."""
    earlier_module = _modules.get(connection, _do_nothing)()
    if earlier_module is not None:
        return earlier_module
    module = Module()
    for name in (BY_PATH, BY_NAME):
        connection.create_module(
            name, cast("apsw.VTModule", module), use_bestindex_object=True, read_only=True
        )
    _modules[connection] = weakref.ref(module)
    return module


def left_out(connection: apsw.Connection) -> dict[str, BadData]:
    """Return the tables that `connect` left out, and why."""
    return dict(add_modules(connection).omitted_tables)


def row_groups(connection: apsw.Connection) -> RowGroups:
    """Return how many row groups the statements of this connection read and skipped so far."""
    counts = add_modules(connection).row_groups
    return RowGroups(counts.read, counts.skipped)


def _datasets(
    source: Store | str | Path | Iterable[str | Path], module: Module
) -> Iterator[tuple[str, Dataset]]:
    if isinstance(source, Store):
        yield from ((name, source[name]) for name in source.tables)
        return
    several = isinstance(source, Iterable) and not isinstance(source, str | bytes)
    paths = cast("Iterable[str | Path]", source if several else [source])
    for path in paths:
        if is_store(path_of(path, "the store or file")):
            store = Store.open(path, read_only=True)
            weakref.finalize(module, store.close)
            yield from ((name, store[name]) for name in store.tables)
        else:
            tables = [table.name for table in tables_of(path) if table.is_offered]
            for table in tables if len(tables) > 1 else [None]:
                dataset = open_dataset(path, table=table)
                yield dataset.name, dataset


def _free(name: str, names: Iterable[str]) -> str:
    """Return a name that is not taken: files of different folders may have the same name."""
    taken_names, free, number = set(map(fold_case, names)), name, 2
    while fold_case(free) in taken_names:
        free, number = f"{name}_{number}", number + 1
    return free
