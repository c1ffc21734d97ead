"""A table of a store: read like any dataset, changed by commits."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

import numpy as np
import pyarrow as pa

from lamella.core.arrow.from_python import blocks, is_given_by_key, repeatable
from lamella.core.arrow.ingest import RepeatableBlocks, RowBatch
from lamella.core.arrow.types import ID
from lamella.core.errors import BadData
from lamella.core.filters.condition import Condition, condition_of, id_list, row_selection
from lamella.core.index.fulltext.snippets import Highlight
from lamella.core.jobs import Job
from lamella.core.query.source import VersionOrTime
from lamella.core.scan.row_ids import ids_of
from lamella.core.store import changes
from lamella.core.store.catalog.queries import Catalog
from lamella.core.store.changes import (
    insert_instead_change,
    integer_update_change,
    upsert_change,
)
from lamella.core.store.checks import defaults_by_name
from lamella.core.store.columns import Columns, Values, of_column, store_metadata, with_metadata
from lamella.core.store.commit import Change, Commit
from lamella.core.store.edits import cell_tables, edit_change
from lamella.core.store.history import History, StepTransaction, state_at
from lamella.core.store.indexes import Indexes
from lamella.core.store.maintenance import Maintenance
from lamella.core.store.operators import Operators, assignments, operators_text
from lamella.core.store.partial_values import is_odd, partial_rows, partial_rows_of
from lamella.core.store.relations import StoreRelations, TableRelations
from lamella.core.store.row_lookup import chosen_ids, duplicate_ids
from lamella.core.store.rows import OldVersion, RowsById
from lamella.core.store.search import find_words
from lamella.core.store.table_version import Reader, TableVersion
from lamella.core.store.transforming import transform_change
from lamella.core.store.writer import TableWriter
from lamella.core.validation import Missing, ignores_missing, names_of

if TYPE_CHECKING:
    from lamella.core.transfer.exporting import Export


class TableStore(Protocol):
    """What a table, and changes in SQL, need of the store."""

    path: Path

    @property
    def name(self) -> str: ...

    @property
    def read_only(self) -> bool: ...

    @property
    def tables(self) -> list[str]: ...

    @property
    def relations(self) -> StoreRelations: ...

    def __getitem__(self, name: str) -> Table: ...

    def create_table(self, name: str, data: Any, message: str = "", job: Job | None = None) -> Table: ...

    def transaction(self, message: str = "") -> AbstractContextManager[None]: ...


class Table(RowsById):
    """Rows with an `_id`, in `_id` order: read like any dataset, changed by commits. Any thread may use it;
    changes wait for each other.

    `expected_version`, in every method: the version on which the change was based. If the table has a newer
    one, `VersionConflict` is raised and nothing changes.
    """

    def __init__(
        self, store: TableStore, catalog: Catalog, reader: Reader, writer: TableWriter, step: StepTransaction
    ) -> None:
        """`step` undoes or redoes a transaction on all of its tables."""
        self.store = store
        self._catalog, self._reader, self._writer, self._step = catalog, reader, writer, step

    def __repr__(self) -> str:
        return f"<Table '{self._reader.last_name}' of '{self.store.path}'>"

    @property
    def name(self) -> str:  # type: ignore[override]
        """The current name of the table."""
        return self._reader.current().row.name

    @property
    def version(self) -> int:
        """The number of the newest version; every commit adds one."""
        return self._reader.current().version

    @property
    def schema(self) -> pa.Schema:
        """Columns and their types, with the metadata of the table and of each column."""
        return with_metadata(self._reader.current())

    @property
    def columns(self) -> Columns:
        """Add, drop, rename, order and cast columns."""
        return Columns(self._reader, self._writer)

    @property
    def indexes(self) -> Indexes:
        """The indexes, which find rows faster than a full scan."""
        return Indexes(self._catalog, self._reader, self._writer.upkeep.index_new_files)

    @property
    def relations(self) -> TableRelations:
        """The relations to rows of other tables."""
        return TableRelations(self._reader, self.store.relations, self._rows_at)

    @property
    def history(self) -> History:
        """Commits, undo and redo, differences between versions, and names for versions."""
        return History(self._catalog, self._reader, self._writer.restore, self._step)

    @property
    def maintenance(self) -> Maintenance:
        """Flush, compact and verify the table, and expire old versions."""
        return Maintenance(self._catalog, self._reader, self._writer.upkeep)

    @property
    def metadata(self) -> dict[str, str]:
        """The table's metadata. Bytes that are not UTF-8 are escaped as in file names."""
        return of_column(self._reader.current(), None)

    def set_metadata(self, values: Values, message: str = "") -> Commit:
        """Add these values to the table's metadata, or replace values of the same keys; None removes a key.

        Keys and values are text (or bytes); raises `BadData` for others. For the metadata of a column, see
        `table.columns.set_metadata`.
        """
        return store_metadata(self.name, self._writer, None, values, message)

    def as_of(self, when: VersionOrTime) -> OldVersion:
        """Return the table at a version, given by its number, its name, or a time at which it was the newest.

        Raises `StoreProblem` for a time before the first version and for a version that has expired.
        """
        return OldVersion(state_at(self._catalog, self._reader, when))

    def search(  # noqa: PLR0913 -- all that can be asked of a search, by keyword
        self,
        text: str,
        columns: list[str] | None = None,
        where: Condition | None = None,
        limit: int | None = 20,
        offset: int = 0,
        highlight: bool | str | Sequence[str] | Highlight = False,
        job: Job | None = None,
        *,
        on: str | Sequence[str] | None = None,
        as_of: VersionOrTime | None = None,
    ) -> pa.Table:
        """Return the rows that match `text`, the best first: `_id`, `_score`, and the columns.

        Needs a full-text index: `table.indexes.create(["title", "body"], kind="fulltext")`. Of words that
        stand next to each other, one has to match. `+word` must match, `-word` must not; and, or, not,
        parentheses; "words in a row", begin*, near~1 (one letter may differ), title:word (in this column).
        Rows of equal score come in `_id` order. `where` restricts the rows before `limit` and `offset` count
        them. `highlight`: a column `_snippet_title` beside `title`, null where nothing in it matched. `on`:
        the columns of the index, where there are several.

        Raises `BadSearch` with the position in the text, also where there is no index for it.
        """
        state, indexes, earlier = self._state(as_of), self._reader.indexes, as_of is not None
        return find_words(
            state,
            indexes,
            text,
            columns=columns,
            where=where,
            limit=limit,
            offset=offset,
            highlight=highlight,
            job=job or Job(),
            on=on,
            earlier=earlier,
        )

    def export(self, path: str | Path, job: Job | None = None, **options: Any) -> Export:
        """Write rows to a file, or with `partition_by=` to a folder of Parquet files.

        The options are those of `core.transfer.exporting.ExportOptions`, columns, where, sort, format, …,
        and of the format: `table.export("out.csv", delimiter=";")`.
        """
        from lamella.core.transfer.exporting import export, options_of

        return export(self, path, options_of(options), job)

    def insert(
        self, data: Any, message: str = "", job: Job | None = None, expected_version: int | None = None
    ) -> Commit:
        """Add rows. Columns that the table lacks are added, and types widen where no value is lost.

        A dotted key, `"size.h"`, names a field of an existing struct. Where there is no such struct, it
        names a column in Arrow tables, DataFrames and files, and raises `UnknownColumn` in plain Python
        rows.
        """
        coming = blocks(data, lambda: defaults_by_name(self._reader.current()))
        coming = self._refuse_odd_names(coming) if is_given_by_key(data) else coming
        return self._writer.insert(coming, message or "insert", job or Job(), expected_version)

    def _refuse_odd_names(self, coming: Iterator[RowBatch]) -> Iterator[RowBatch]:
        for block in coming:
            if any(map(is_odd, block.schema.names)):
                changes.refuse_odd_keys(self._reader.current(), block.schema.names)
            yield block

    def update(
        self,
        data: Any,
        on: str | Sequence[str] = ID,
        message: str = "",
        job: Job | None = None,
        expected_version: int | None = None,
        *,
        where: Condition | Iterable[int] | None = None,
        missing: Missing = "refuse",
    ) -> Commit:
        """Change the cells given in the rows that the columns `on` identify. None sets null; a dict that
        lacks a key leaves that cell as it is.

        With `where`, a filter or ids, `data` is one dict of values for every matching row,
        `table.update({"late": True, "size": {"h": 80}}, where="n > 5")`, and only rows whose values change
        are written and counted.

        The same holds inside structs: `{"_id": 1, "size": {"h": 80}}` leaves the other fields of `size` as
        they are, and so does the dotted key `{"_id": 1, "size.h": 80}`, which can also name an item of a
        list, `"tags.0"`. A struct that was null is built from the given fields. Lists are replaced whole; so
        are structs in Arrow tables and DataFrames, which have all their fields in every row. To replace a
        struct by a dict use `update_where` with `$set`.

        Null is a key like any other. Every row that has a key is changed, and counted, even where its values
        do not change; `update_where` skips such rows. Raises `UnknownRow` for a key that no row has, unless
        `missing="ignore"` skips it, `BadData` for a key given twice, and `UnknownColumn` for a dotted key
        that names no column; nothing changes then.
        """
        ignore = ignores_missing(missing, self._reader.last_name)
        if where is not None:
            return self._update_rows(data, on, where, message, job or Job(), expected_version, ignore)
        keys, own, message = self._names(on), job or Job(), message or "update"
        source = repeatable(data)
        coming = RepeatableBlocks(blocks(source))
        by_key = is_given_by_key(source)
        if (
            len(keys) == 1 and not ignore
        ):  # returns None at once, without reading the rows, if they fit in the catalog
            change_made = self._writer.replace_rows(coming, keys[0], by_key, message, own, expected_version)
            if change_made is not None:
                return change_made
        all_blocks = coming.all()
        is_one = len(all_blocks) == 1 and keys == [ID] and not ignore
        integer_row = all_blocks[0].integers if is_one else None
        rows = cache(lambda: partial_rows_of(all_blocks, source))

        def build(state: TableVersion) -> Change:
            change = None if integer_row is None else integer_update_change(state, integer_row, message)
            take_ids = self._writer.take_column_ids
            return change or changes.update_change(state, rows(), keys, take_ids, message, ignore)

        return self._writer.commit(build, own, expected_version=expected_version)

    def _update_rows(
        self,
        data: Any,
        on: str | Sequence[str],
        where: Condition | Iterable[int],
        message: str,
        job: Job,
        expected_version: int | None,
        ignore_missing: bool,
    ) -> Commit:
        name = self._reader.last_name
        if not isinstance(data, Mapping) or on != ID:
            raise BadData(
                f"{name}: update with where= takes one dict of values, and no on=",
                "where= chooses the rows, and each gets these values",
                "Leave where= out to find rows by their values",
            )
        selection, rows = row_selection(where, f"{name}: update", self), partial_rows([data])

        def build(state: TableVersion) -> Change:
            ids = chosen_ids(state, selection, ignore_missing)
            return changes.assign_change(state, ids, rows, self._writer.take_column_ids, message or "update")

        return self._writer.commit(build, job, expected_version=expected_version)

    def upsert(
        self,
        data: Any,
        on: str | Sequence[str],
        set_on_insert: Mapping[str, Any] | None = None,
        message: str = "",
        job: Job | None = None,
        expected_version: int | None = None,
        *,
        keep: Literal["refuse", "first", "last"] = "refuse",
    ) -> Commit:
        """Update the rows whose columns `on` hold the same values, and insert the others, in one commit.

        Existing rows get the given cells and fields of structs, as in `update`; new ones also get
        `set_on_insert`, a value for each of some other columns or fields. Null is a key like any other, and
        every row that has a key is updated.

        Raises `BadData` for a key given twice, unless `keep` takes the "first" or the "last" row of a key,
        and `UnknownColumn` for a key column the table lacks; nothing changes then.
        """
        rows, keys = partial_rows(data), self._names(on)
        constants = {} if set_on_insert is None else set_on_insert

        def build(state: TableVersion) -> Change:
            ids = self._writer.take_column_ids
            return upsert_change(state, rows, keys, constants, ids, message or "upsert", keep)

        return self._writer.commit(build, job or Job(), expected_version=expected_version)

    def update_where(
        self,
        where: Condition | Iterable[int] | None,
        operators: Operators,
        message: str = "",
        job: Job | None = None,
        expected_version: int | None = None,
        upsert: bool = False,
    ) -> Commit:
        """Apply update operators, `{"$set": {"late": True}, "$inc": {"fee": 5}}`, to the rows that a filter
        or these ids select, or to all rows for None.

        They compute from what a cell holds when the commit is made, so concurrent increments both count. A
        path like "address.city" or "tags.0" changes a value inside a nested value; a column of exactly that
        name takes precedence. `$set` with a dict replaces a struct whole. Null counts as a missing value:
        `$inc`, `$min`, `$max` and `$push` start from nothing, `$mul` gives 0. Only rows whose values change
        are written and counted.

        With `upsert`, a filter that no row meets inserts one row instead: it starts from the values that the
        filter requires columns to equal, then the operators apply, including `$setOnInsert`, which affects
        no existing row.

        Raises `UnknownName` for an unknown operator, `UnknownColumn` for a column that an operator requires,
        `BadData` or `TypeConflict` for operands that do not fit; nothing changes then.
        """
        selection, own = row_selection(where, f"{self._reader.last_name}: update_where", self), job or Job()

        def build(state: TableVersion) -> Change:
            edits = assignments(operators, state.columns, state.snapshot.name)
            ids = chosen_ids(state, selection)
            text, take_ids = message or operators_text(operators), self._writer.take_column_ids
            if upsert and not len(ids):
                return insert_instead_change(state, selection, edits, take_ids, text)
            return changes.operator_change(state, ids, edits, take_ids, text, own)

        return self._writer.commit(build, own, expected_version=expected_version)

    def edit(
        self,
        cells: Sequence[pa.Table] = (),
        rows: pa.Table | None = None,
        delete: np.ndarray | None = None,
        message: str = "",
        job: Job | None = None,
        expected_version: int | None = None,
    ) -> Commit:
        """Change cells, add rows and delete others, in one commit.

        Each table of `cells` has `_id` and some columns, with the table's own types. It changes exactly
        these cells; where several tables give the same cell, the last one wins. Only rows whose values
        change are written and counted. `rows` are new rows, with null in columns that they lack; `delete`
        has ids.

        delay = pa.table({"_id": [4, 7], "delay": pa.array([0, None], pa.int32())}) table.edit([delay],
        rows=pa.table({"note": ["new"]}), delete=np.array([9]))

        Raises `UnknownRow`, `UnknownColumn`, `TypeConflict` for a column of another type, and `BadData` for
        a row that is both changed and deleted; nothing changes then.
        """
        own, name = job or Job(), self._reader.last_name
        parts = cell_tables(cells, rows, name)
        array = isinstance(delete, np.ndarray) and delete.ndim == 1 and delete.dtype == np.int64
        row_ids = [] if delete is None else delete if array else id_list(delete, f"{name}: delete")

        def build(state: TableVersion) -> Change:
            own.check()
            gone = row_ids if isinstance(row_ids, np.ndarray) else ids_of(state, row_ids)
            return edit_change(state, parts, rows, gone, message or "edit")

        return self._writer.commit(build, own, expected_version=expected_version)

    def transform(
        self,
        function: Callable[[pa.Table], Any],
        columns: Sequence[str] | None = None,
        where: Condition | None = None,
        message: str = "",
        job: Job | None = None,
        expected_version: int | None = None,
    ) -> Commit:
        """Set the values that `function` computes from rows, in one commit.

        It is called with the `columns` (None: all but `_id`) of a batch of rows as an Arrow table, and
        returns a table or a dict of columns with one value for each row. These columns are changed or added;
        the others stay, including those that it leaves out (`columns.drop` drops a column). Rows whose
        values do not change are not written. Changed values stay in memory until all are computed. When
        another process commits in between, the computation starts over.

        Raises `BadData`, naming the rows, where the function fails or returns another number of rows;
        nothing changes then.
        """
        own, condition = job or Job(), condition_of(where, f"{self._reader.last_name}: where", self)
        names = None if columns is None else names_of(columns, f"{self._reader.last_name}: columns")

        def build(state: TableVersion) -> Change:
            ids, text = self._writer.take_column_ids, message or "transform"
            return transform_change(state, function, names, condition, ids, text, own)

        return self._writer.commit(build, own, expected_version=expected_version)

    def drop_duplicates(
        self,
        on: str | Sequence[str] | None = None,
        keep: str = "first",
        message: str = "",
        job: Job | None = None,
        expected_version: int | None = None,
        *,
        where: Condition | Iterable[int] | None = None,
    ) -> Commit:
        """Delete rows that have the same values in the columns `on` (None: in all) as another row, and keep
        the "first" or the "last" of them. Null equals null, and NaN equals NaN. With `where`, a filter or
        ids, only the rows that it selects are compared."""
        own, names = job or Job(), None if on is None else self._names(on)
        selection = row_selection(where, f"{self._reader.last_name}: drop_duplicates", self)

        def build(state: TableVersion) -> Change:
            gone = duplicate_ids(state, names, keep, own, selection)
            return changes.delete_change(state, gone, message or "drop duplicates")

        return self._writer.commit(build, own, expected_version=expected_version)

    def delete(
        self,
        ids: Iterable[int] | None = None,
        where: Condition | None = None,
        message: str = "",
        job: Job | None = None,
        expected_version: int | None = None,
        *,
        missing: Missing = "refuse",
    ) -> Commit:
        """Delete rows by id or by filter; exactly one of the two is required. Raises `UnknownRow` for an id
        that does not exist, unless `missing="ignore"` skips it."""
        if ids is None and where is None:
            raise BadData(f"{self.name}: delete needs the rows to delete", fix="Give either ids= or where=")
        if ids is not None and where is not None:
            raise BadData(
                f"{self.name}: ids= and where= were both given to delete",
                fix="Give one; read(['_id'], where=…, ids=…) finds the rows of both",
            )
        condition = condition_of(where, f"{self._reader.last_name}: where", self)
        row_ids = None if ids is None else id_list(ids, f"{self._reader.last_name}: ids")
        ignore = ignores_missing(missing, self._reader.last_name)

        def build(state: TableVersion) -> Change:
            gone = chosen_ids(state, condition if row_ids is None else row_ids, ignore)
            return changes.delete_change(state, gone, message or "delete")

        return self._writer.commit(build, job or Job(), expected_version=expected_version)

    def _names(self, on: str | Sequence[str]) -> list[str]:
        return names_of(on, f"{self._reader.last_name}: on")

    def _state(self, as_of: VersionOrTime | None = None) -> TableVersion:
        return self._reader.current() if as_of is None else state_at(self._catalog, self._reader, as_of)

    def _rows_at(self, table: str, as_of: VersionOrTime | None) -> TableVersion:
        """The rows of this table, or of another one in the store, at a version."""
        return self.store[table]._state(as_of)

    def _settle(self, draft: int, changed: bool) -> None:
        """Finish a transaction that was committed: keep what was read in it and, if it `changed` this table,
        run the upkeep that follows a commit."""
        self._reader.settle(draft)
        if changed:
            self._writer.upkeep.tidy_if_needed(Job())
            self._writer.upkeep.index_new_files(Job())

    def _refuse_inside_change(self) -> None:
        """Raise `StoreProblem` if called from a function that computes the values of a change of this
        table."""
        self._writer.refuse_inside_change()

    def _abandon(self) -> None:
        """Make every later use raise that the table does not exist, because the transaction that created it
        was rolled back."""
        self._reader.abandon()

    def _let_go(self) -> None:
        """Forget versions in memory that nobody else uses, so that their files may be removed."""
        self._reader.forget()

    def _flush_idle(self, job: Job) -> None:
        """Write pending changes made by this process into files if there are many; meant for idle moments."""
        self._writer.upkeep.flush_idle(job)
