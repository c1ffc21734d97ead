"""A table of a store: read like any dataset, changed by commits."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from core.dataset import Dataset
from core.errors import BadData, StoreProblem
from core.filters.expr import Filter
from core.jobs import Job
from core.rows import aligned
from core.scan.rows import take_rows
from core.scan.snapshot import Snapshot
from core.schema import ID
from core.store import changes
from core.store.commit import Change, Commit
from core.store.history import commit_from_row, content_before, redo_target, undo_target
from core.store.reader import Reader, State
from core.store.writing import TableWriter

if TYPE_CHECKING:
    from core.store.store import Store


class Table(Dataset):
    """Rows with an `_id`, in `_id` order. Any thread; changes wait for each other."""

    editable = True

    def __init__(self, store: Store, table_id: int, reader: Reader, writer: TableWriter) -> None:
        self.store, self.table_id = store, table_id
        self._reader, self._writer = reader, writer

    @property
    def name(self) -> str:  # type: ignore[override]
        return self._reader.current().row.name

    @property
    def version(self) -> int:
        return self._reader.current().version

    def snapshot(self) -> Snapshot:
        return self._reader.current().snapshot

    def insert(self, data: Any, message: str = "", job: Job | None = None) -> Commit:
        """Add rows; columns the table lacks appear, types widen where no value is lost."""
        return self._writer.insert(*aligned(data), message or "insert", job or Job())

    def update(
        self, data: Any, on: str | Sequence[str] = ID, message: str = "", job: Job | None = None
    ) -> Commit:
        """Change the rows that the columns `on` find: only the columns given, None sets null.

        Raises `UnknownRow` for a key that is not there, `BadData` for one given twice; nothing changes then.
        """
        schema, tables = aligned(data)
        whole = pa.concat_tables([pa.Table.from_batches([], schema), *tables])
        keys = [on] if isinstance(on, str) else list(on)

        def build(state: State) -> Change:
            return changes.updated(state, whole, keys, self._writer.take_column_ids, message or "update")

        return self._writer.commit(build, job or Job())

    def update_where(
        self,
        where: Filter | Iterable[int] | None,
        operators: Mapping[str, Mapping[str, Any]],
        message: str = "",
        job: Job | None = None,
    ) -> Commit:
        """Apply `{"$set": {column: value}}` to the rows a filter or these ids choose; None: to all."""
        chosen = where if where is None or isinstance(where, Filter) else list(where)

        def build(state: State) -> Change:
            ids = _chosen(state, chosen)
            said = message or _told(operators)
            return changes.set_where(state, ids, operators, self._writer.take_column_ids, said)

        return self._writer.commit(build, job or Job())

    def delete(
        self,
        ids: Iterable[int] | None = None,
        where: Filter | None = None,
        message: str = "",
        job: Job | None = None,
    ) -> Commit:
        """Delete rows by id or by filter; exactly one of the two has to be given."""
        if (ids is None) == (where is None):
            raise BadData(f"{self.name}: nothing says which rows to delete", fix="Give either ids= or where=")

        listed = None if ids is None else list(ids)

        def build(state: State) -> Change:
            gone = changes.ids_where(state, where) if listed is None else changes.known_ids(state, listed)
            return changes.deleted(state, gone, message or "delete")

        return self._writer.commit(build, job or Job())

    def get(self, row_id: int) -> dict[str, Any] | None:
        """The row with this `_id`, or None."""
        state = self._reader.current()
        position = state.locate(np.array([row_id], np.int64))
        if position[0] < 0:
            return None
        found: dict[str, Any] = take_rows(state.snapshot, position, state.snapshot.columns).to_pylist()[0]
        return found

    def history(self) -> list[Commit]:
        """Every commit, oldest first."""
        return [commit_from_row(self.name, row) for row in self.store.catalog.commits(self.table_id)]

    def undoable(self) -> Commit | None:
        """The commit that `undo` would take back."""
        return undo_target(self.history())

    def redoable(self) -> Commit | None:
        return redo_target(self.history())

    def undo(self) -> Commit:
        """Take back the last commit that is not taken back yet, as a commit of its own."""

        def target() -> tuple[Commit, Commit]:
            commits = self.history()
            undone = undo_target(commits)
            if undone is None:
                raise StoreProblem(f"{self.name}: there is nothing to undo")
            return content_before(commits, undone), undone

        return self._writer.restore("undo", target, "undo")

    def redo(self) -> Commit:
        """Bring back what the last undo took."""

        def target() -> tuple[Commit, Commit]:
            redone = redo_target(self.history())
            if redone is None:
                raise StoreProblem(f"{self.name}: there is nothing to redo")
            return redone, redone

        return self._writer.restore("redo", target, "redo")

    def flush(self, job: Job | None = None) -> None:
        """Write pending changes into data files; makes no version."""
        self._writer.flush(job or Job())


def _chosen(state: State, where: Filter | Iterable[int] | None) -> np.ndarray:
    if where is None or isinstance(where, Filter):
        return changes.ids_where(state, where)
    return changes.known_ids(state, where)


def _told(operators: Mapping[str, Mapping[str, Any]]) -> str:
    return "set " + ", ".join(name for assigned in operators.values() for name in assigned)
