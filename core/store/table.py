"""A table of a store: read like any dataset, changed by commits."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

import pyarrow as pa

from lamella.core.arrow.from_python import blocks, is_given_by_key, partial_rows, partial_rows_of, repeatable
from lamella.core.arrow.ingest import KeptBlocks, RowBatch
from lamella.core.arrow.types import ID
from lamella.core.errors import BadData
from lamella.core.filters.condition import Condition, condition_of, ids_listed, rows_chosen
from lamella.core.jobs import Job
from lamella.core.query.source import When
from lamella.core.store import changes
from lamella.core.store.changes import (
    duplicate_ids,
    inserted_instead,
    integers_updated,
    transformed,
    upserted,
)
from lamella.core.store.commit import Change, Commit
from lamella.core.store.operators import Operators, assignments, told
from lamella.core.store.partial_values import is_odd, refuse_odd_names
from lamella.core.store.row_lookup import chosen_ids
from lamella.core.store.table_columns import TableColumns
from lamella.core.store.table_history import TableHistory
from lamella.core.store.table_indexes import TableIndexes
from lamella.core.store.table_relations import TableRelations
from lamella.core.store.table_rows import TableHandle
from lamella.core.store.table_search import TableSearch
from lamella.core.store.table_upkeep import TableUpkeep
from lamella.core.store.table_version import State
from lamella.core.validation import names_of


class TableChanges(TableHandle):
    """`expected_version`: the version the change was decided on; `VersionConflict` where the table has
    moved on since, and nothing changes."""

    def insert(
        self, data: Any, message: str = "", job: Job | None = None, expected_version: int | None = None
    ) -> Commit:
        """Add rows; columns the table lacks appear, types widen where no value is lost. A dotted key,
        `"size.h"`, is the field of the struct that is there. Where there is none it names a column in Arrow
        tables, DataFrames and files; in rows of Python's own it raises `UnknownColumn`."""
        coming = self._without_odd_names(blocks(data)) if is_given_by_key(data) else blocks(data)
        return self._writer.insert(coming, message or "insert", job or Job(), expected_version)

    def _without_odd_names(self, coming: Iterator[RowBatch]) -> Iterator[RowBatch]:
        for block in coming:
            if any(map(is_odd, block.schema.names)):
                state = self._reader.current()
                types = {c.name: c.type for c in state.columns}
                refuse_odd_names(state.snapshot.name, block.schema.names, types)
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
    ) -> Commit:
        """Change the rows that the columns `on` find: only the cells given. None sets null; a dict that
        lacks a key leaves that cell as it is.

        With `where`, a filter or ids, `data` is one dict of values for every row that it chooses,
        `table.update({"late": True, "size": {"h": 80}}, where="n > 5")`, and only rows whose values change
        are written and counted.

        So it is inside structs: `{"_id": 1, "size": {"h": 80}}` leaves the other fields of `size` as they
        are, and so does the dotted key `{"_id": 1, "size.h": 80}`, which also finds an item of a list,
        `"tags.0"`. A struct that was null is made of what is given. Lists are replaced whole; so are structs
        in Arrow tables and DataFrames, which have all their fields in every row. To replace a struct by a
        dict use `update_where` with `$set`.

        Null is a key like any other, and every row that has a key is changed, and counted, even where its
        values were these already: `update_where` looks for what differs. Raises `UnknownRow` for a key
        that is not there, `BadData` for one given twice, and `UnknownColumn` for a dotted key that leads into
        no column; nothing changes then.
        """
        if where is not None:
            return self._update_chosen(data, on, where, message, job or Job(), expected_version)
        keys, own, said = self._names(on), job or Job(), message or "update"
        found = repeatable(data)
        coming = KeptBlocks(blocks(found))
        by_key = is_given_by_key(found)
        if len(keys) == 1:
            done = self._writer.replace_rows(coming, keys[0], by_key, said, own, expected_version)
            if done is not None:
                return done
        all_blocks = coming.all()
        one = all_blocks[0].integers if len(all_blocks) == 1 and keys == [ID] else None
        rows = cache(lambda: partial_rows_of(all_blocks, found))

        def build(state: State) -> Change:
            change = None if one is None else integers_updated(state, one, said)
            return change or changes.updated(state, rows(), keys, self._writer.take_column_ids, said)

        return self._writer.commit(build, own, expected_version=expected_version)

    def _update_chosen(
        self,
        data: Any,
        on: str | Sequence[str],
        where: Condition | Iterable[int],
        message: str,
        job: Job,
        expected_version: int | None,
    ) -> Commit:
        name = self._reader.last_name
        if not isinstance(data, Mapping) or on != ID:
            raise BadData(
                f"{name}: update with where= takes one dict of values, and no on=",
                "where= chooses the rows, and each gets these values",
                "Leave where= out to find rows by their values",
            )
        chosen, rows = rows_chosen(where, f"{name}: update", self), partial_rows([data])

        def build(state: State) -> Change:
            ids = chosen_ids(state, chosen)
            return changes.assigned(state, ids, rows, self._writer.take_column_ids, message or "update")

        return self._writer.commit(build, job, expected_version=expected_version)

    def upsert(
        self,
        data: Any,
        on: str | Sequence[str],
        set_on_insert: Mapping[str, Any] | None = None,
        message: str = "",
        job: Job | None = None,
        expected_version: int | None = None,
    ) -> Commit:
        """Update the rows whose columns `on` hold the same values, and insert the others, in one commit.

        Rows that are there get the cells given, and fields of structs, like `update`; new ones also
        `set_on_insert`, a value for each of some other columns or fields. Null is a key like any other, and
        every row that has a key is updated.

        Raises `BadData` for a key given twice, `UnknownColumn` for a key column the table lacks; nothing
        changes then.
        """
        rows, keys = partial_rows(data), self._names(on)

        def build(state: State) -> Change:
            ids = self._writer.take_column_ids
            return upserted(state, rows, keys, set_on_insert or {}, ids, message or "upsert")

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
        or these ids choose; None: to all.

        They compute from what a cell holds when the commit is made, so none of two increments is lost. A path
        like "address.city" or "tags.0" changes a value inside a nested value; a column of exactly that name
        comes first. `$set` with a dict replaces a struct whole. Null stands for a missing value: `$inc`,
        `$min`, `$max` and `$push` begin with it, `$mul` makes it 0. Only rows whose values change are written
        and counted.

        With `upsert`, a filter that no row meets inserts one instead: made of the values that the filter asks
        columns to be equal to, then of the operators, `$setOnInsert` among them, which changes no row that is
        there.

        Raises `UnknownName` for an operator, `UnknownColumn` for a column that an operator has to find,
        `BadData` or `TypeConflict` for what does not fit; nothing changes then.
        """
        chosen = rows_chosen(where, f"{self._reader.last_name}: update_where", self)

        def build(state: State) -> Change:
            found = assignments(operators, state.columns, state.snapshot.name)
            ids = chosen_ids(state, chosen)
            said, take_ids = message or told(operators), self._writer.take_column_ids
            if upsert and not len(ids):
                return inserted_instead(state, chosen, found, take_ids, said)
            return changes.operated(state, ids, found, take_ids, said)

        return self._writer.commit(build, job or Job(), expected_version=expected_version)

    def transform(
        self,
        function: Callable[[pa.Table], Any],
        columns: Sequence[str] | None = None,
        where: Condition | None = None,
        message: str = "",
        job: Job | None = None,
        expected_version: int | None = None,
    ) -> Commit:
        """Give rows the values that `function` computes from them, in one commit.

        It gets the `columns` (None: all but `_id`) of some rows at a time as an Arrow table, and gives back
        a table or a dict of columns with one value for each: these change, or appear; the others stay, those
        that it leaves out too (`drop_column` drops a column). Rows
        that stay the same are not written. Changed values are kept in memory until all are there. When
        another process commits in between, it is called again from the start.

        Raises `BadData`, naming the rows, where it fails or gives back another number of rows; nothing
        changes then.
        """
        own, condition = job or Job(), condition_of(where, f"{self._reader.last_name}: where", self)
        names = None if columns is None else names_of(columns, f"{self._reader.last_name}: columns")

        def build(state: State) -> Change:
            ids, said = self._writer.take_column_ids, message or "transform"
            return transformed(state, function, names, condition, ids, said, own)

        return self._writer.commit(build, own, expected_version=expected_version)

    def drop_duplicates(
        self,
        on: str | Sequence[str] | None = None,
        keep: str = "first",
        message: str = "",
        job: Job | None = None,
        expected_version: int | None = None,
    ) -> Commit:
        """Delete the rows that have the same values in the columns `on` (None: in all) as the one that is
        kept, the "first" or the "last". Null equals null, and NaN equals NaN."""
        own, names = job or Job(), None if on is None else self._names(on)

        def build(state: State) -> Change:
            gone = duplicate_ids(state, names, keep, own)
            return changes.deleted(state, gone, message or "drop duplicates")

        return self._writer.commit(build, own, expected_version=expected_version)

    def delete(
        self,
        ids: Iterable[int] | None = None,
        where: Condition | None = None,
        message: str = "",
        job: Job | None = None,
        expected_version: int | None = None,
    ) -> Commit:
        """Delete rows by id or by filter; exactly one of the two has to be given."""
        if ids is None and where is None:
            raise BadData(f"{self.name}: nothing says which rows to delete", fix="Give either ids= or where=")
        if ids is not None and where is not None:
            raise BadData(
                f"{self.name}: ids= and where= were both given to delete",
                fix="Give one; read(['_id'], where=…, ids=…) finds the rows of both",
            )
        condition = condition_of(where, f"{self._reader.last_name}: where", self)
        listed = None if ids is None else ids_listed(ids, f"{self._reader.last_name}: ids")

        def build(state: State) -> Change:
            gone = chosen_ids(state, condition if listed is None else listed)
            return changes.deleted(state, gone, message or "delete")

        return self._writer.commit(build, job or Job(), expected_version=expected_version)

    def _names(self, on: str | Sequence[str]) -> list[str]:
        return names_of(on, f"{self._reader.last_name}: on")


class Table(TableChanges, TableColumns, TableHistory, TableIndexes, TableRelations, TableSearch, TableUpkeep):
    """Rows with an `_id`, in `_id` order. Any thread; changes wait for each other."""

    def state(self, as_of: When | None = None) -> State:
        return self._reader.current() if as_of is None else self._state_at(as_of)
