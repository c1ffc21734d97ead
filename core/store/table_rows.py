"""A table of a store as a dataset whose rows have an `_id`, now or at an earlier version."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from lamella.core.arrow.arrays import from_numpy
from lamella.core.arrow.documents import whole
from lamella.core.arrow.types import ID
from lamella.core.datasets.base import Dataset
from lamella.core.filters.condition import Condition, condition_of, ids_listed
from lamella.core.jobs import Job
from lamella.core.query import scan_query
from lamella.core.query.find import count_rows
from lamella.core.query.pages import Page, PageQuery
from lamella.core.query.source import Keys, Source, When
from lamella.core.scan.read import row_at, schema_of
from lamella.core.scan.row_ids import ID_COLUMN, ids_at, ids_of, known_ids
from lamella.core.scan.snapshot import Snapshot, project
from lamella.core.store.table_version import Reader, State
from lamella.core.store.writing import TableWriter
from lamella.core.validation import count_of, names_of

if TYPE_CHECKING:
    from lamella.core.store.store import Store


class RowsById(Dataset):
    """`as_of`, everywhere: a version's number or name, or a time for the version that was the newest then."""

    @abstractmethod
    def state(self, as_of: When | None = None) -> State:
        """What is read: the rows as they are, or were."""

    def snapshot(self) -> Snapshot:
        """The rows of the newest version, frozen: it stays as it is while others write."""
        return self.state().snapshot

    def get(self, row_id: int, as_of: When | None = None) -> dict[str, Any] | None:
        """The row with this `_id`, or None. Raises `BadData` for what is no id.

        A time that Python has no value for, such as one after the year 9999, is text in ISO form, or the
        number that is stored where it is too far away for that too; so is a duration.
        """
        state = self.state(as_of)
        position = int(state.locate(ids_of(state, [row_id]))[0])
        if position < 0:
            return None
        found = row_at(state.snapshot, position, state.snapshot.columns)
        return {name: whole(value) for name, value in found.items()}

    def count(self, where: Condition | None = None, job: Job | None = None, as_of: When | None = None) -> int:
        """How many rows meet `where`."""
        snapshot = self.state(as_of).snapshot
        return count_rows(snapshot, condition_of(where, f"{snapshot.name}: where", snapshot), job)

    def read(  # noqa: PLR0913 -- all that can be asked of a table, by keyword
        self,
        columns: list[str] | None = None,
        where: Condition | None = None,
        sort: list[str] | None = None,
        limit: int | None = None,
        offset: int = 0,
        job: Job | None = None,
        *,
        flatten: bool = False,
        ids: Iterable[int] | None = None,
        as_of: When | None = None,
    ) -> pa.Table:
        """The rows as an Arrow table, in `_id` order unless sorted; all else as for every dataset.

        `ids`: these rows alone, each once, in `_id` order too; none for an empty list. Raises `UnknownRow`
        naming the first that is not there.
        """
        state = self.state(as_of)
        query = scan_query.scan_query_of(state.snapshot, columns, where, sort, limit, offset)
        within = _positions(state, ids)
        if query.columns == (ID,):
            found = scan_query.find_scan_rows(state.snapshot, query, job or Job(), within)
            if found is not None:
                return _ids_alone(state, found)
        return scan_query.read_scan(state.snapshot, query, job, flatten, within)

    def batches(
        self,
        columns: list[str] | None = None,
        where: Condition | None = None,
        sort: list[str] | None = None,
        job: Job | None = None,
        *,
        flatten: bool = False,
        ids: Iterable[int] | None = None,
        as_of: When | None = None,
    ) -> pa.RecordBatchReader:
        """The same rows streamed, in bounded memory (a filter or sort takes eight bytes for each row found).

        The version read is the one at the call, whatever is changed meanwhile.
        """
        state = self.state(as_of)
        query = scan_query.scan_query_of(state.snapshot, columns, where, sort)
        return scan_query.stream_scan(state.snapshot, query, job, flatten, _positions(state, ids))

    def page(
        self,
        size: int,
        after: str | None = None,
        columns: list[str] | None = None,
        where: Condition | None = None,
        sort: list[str] | None = None,
        job: Job | None = None,
        *,
        flatten: bool = False,
        as_of: When | None = None,
    ) -> Page:
        """`size` rows, and as `next` the cursor that gives the page behind them as `after`.

            page = table.page(50, sort=["-price"])
            page = table.page(50, after=page.next, sort=["-price"])

        A page begins behind the last row of the one before, wherever that stands by now: rows that are added,
        changed or deleted meanwhile make no other row appear twice or be left out. Rows that are equal in the
        sort come in `_id` order. A cursor is text and may be kept. Raises `BadData` for one that is of pages
        in another order.
        """
        state = self.state(as_of)
        name = state.snapshot.name
        rows = count_of(size, f"{name}: a page of", least=1)
        named = None if columns is None else names_of(columns, f"{name}: columns")
        asked = PageQuery(
            state.snapshot, project(state.snapshot, named, flatten),
            condition_of(where, f"{name}: where", state.snapshot),
            scan_query.sort_keys(state.snapshot, sort), ID_COLUMN,
            lambda row_id: state.ranges.behind(state.snapshot, row_id),
        )  # fmt: skip
        return asked.page(rows, after, job or Job())


def _ids_alone(state: State, positions: np.ndarray) -> pa.Table:
    """Most are known by arithmetic, and not read."""
    ids = from_numpy(ids_at(state, positions))
    return pa.Table.from_arrays([ids], schema=schema_of([ID_COLUMN]))


def _positions(state: State, ids: Iterable[int] | None) -> np.ndarray | None:
    listed = None if ids is None else ids_listed(ids, f"{state.snapshot.name}: ids")
    return None if listed is None else state.locate(known_ids(state, listed))


class TableHandle(RowsById):
    """Where a table is and what reads and writes it. Any thread; changes wait for each other."""

    editable = True

    def __init__(self, store: Store, table_id: int, reader: Reader, writer: TableWriter) -> None:
        self.store, self.table_id = store, table_id
        self._reader, self._writer = reader, writer

    def __repr__(self) -> str:
        return f"<Table '{self._reader.last_name}' of '{self.store.path}'>"

    @property
    def name(self) -> str:  # type: ignore[override]
        """What the table is called now."""
        return self._reader.current().row.name

    @property
    def version(self) -> int:
        """The number of the newest version; every commit adds one."""
        return self._reader.current().version

    def sibling(self, name: str) -> Dataset | None:
        return self.store[name]

    def keys_to(self, other: Source, relation: str | None) -> Keys | None:
        if not isinstance(other, TableHandle) or other.store is not self.store:
            return None
        link = self.store.relation_between(self.name, other.name, relation)
        return link.columns, link.other_columns

    def settle(self, draft: int, changed: bool) -> None:
        """The transaction of this number happened; what a commit does last is done now if it `changed` it."""
        self._reader.settle(draft)
        if changed:
            self._writer.upkeep.tidy_if_needed(Job())
            self._writer.upkeep.index_new_files(Job())

    def refuse_inside_change(self) -> None:
        """Raises `StoreProblem` for who is asked for the values of a change of this table."""
        self._writer.refuse_inside_change()

    def abandon(self) -> None:
        """Tell whoever holds it that the table is not there: the transaction that made it was taken back."""
        self._reader.abandon()

    def let_go(self) -> None:
        """Keep no version in memory that nobody else uses, so that its files may be removed."""
        self._reader.forget()
