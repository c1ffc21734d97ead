"""Changing the rows of a table: each call is one commit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from core.errors import BadData
from core.filters.expr import Filter
from core.jobs import Job
from core.rows import aligned
from core.schema import ID
from core.store import changes
from core.store.commit import Change, Commit
from core.store.handle import TableHandle
from core.store.state import State


class TableChanges(TableHandle):
    """`expected_version`: the version the change was decided on; `VersionConflict` where the table has
    moved on since, and nothing changes."""

    def insert(
        self, data: Any, message: str = "", job: Job | None = None, expected_version: int | None = None
    ) -> Commit:
        """Add rows; columns the table lacks appear, types widen where no value is lost."""
        return self._writer.insert(*aligned(data), message or "insert", job or Job(), expected_version)

    def update(
        self,
        data: Any,
        on: str | Sequence[str] = ID,
        message: str = "",
        job: Job | None = None,
        expected_version: int | None = None,
    ) -> Commit:
        """Change the rows that the columns `on` find: only the columns given, None sets null.

        Raises `UnknownRow` for a key that is not there, `BadData` for one given twice; nothing changes then.
        """
        schema, tables = aligned(data)
        whole = pa.concat_tables([pa.Table.from_batches([], schema), *tables])
        keys = [on] if isinstance(on, str) else list(on)

        def build(state: State) -> Change:
            return changes.updated(state, whole, keys, self._writer.take_column_ids, message or "update")

        return self._writer.commit(build, job or Job(), expected_version=expected_version)

    def update_where(
        self,
        where: Filter | Iterable[int] | None,
        operators: Mapping[str, Mapping[str, Any]],
        message: str = "",
        job: Job | None = None,
        expected_version: int | None = None,
    ) -> Commit:
        """Apply `{"$set": {column: value}}` to the rows a filter or these ids choose; None: to all."""
        chosen = where if where is None or isinstance(where, Filter) else list(where)

        def build(state: State) -> Change:
            ids = _chosen(state, chosen)
            said = message or _told(operators)
            return changes.set_where(state, ids, operators, self._writer.take_column_ids, said)

        return self._writer.commit(build, job or Job(), expected_version=expected_version)

    def delete(
        self,
        ids: Iterable[int] | None = None,
        where: Filter | None = None,
        message: str = "",
        job: Job | None = None,
        expected_version: int | None = None,
    ) -> Commit:
        """Delete rows by id or by filter; exactly one of the two has to be given."""
        if (ids is None) == (where is None):
            raise BadData(f"{self.name}: nothing says which rows to delete", fix="Give either ids= or where=")

        listed = None if ids is None else list(ids)

        def build(state: State) -> Change:
            gone = changes.ids_where(state, where) if listed is None else changes.known_ids(state, listed)
            return changes.deleted(state, gone, message or "delete")

        return self._writer.commit(build, job or Job(), expected_version=expected_version)


def _chosen(state: State, where: Filter | Iterable[int] | None) -> np.ndarray:
    if where is None or isinstance(where, Filter):
        return changes.ids_where(state, where)
    return changes.known_ids(state, where)


def _told(operators: Mapping[str, Mapping[str, Any]]) -> str:
    return "set " + ", ".join(name for assigned in operators.values() for name in assigned)
