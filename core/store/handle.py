"""A table of a store as a dataset: what all that can be asked of it stands on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lamella.core.jobs import Job
from lamella.core.store.reader import Reader
from lamella.core.store.rows_by_id import RowsById
from lamella.core.store.writing import TableWriter

if TYPE_CHECKING:
    from lamella.core.store.store import Store


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
