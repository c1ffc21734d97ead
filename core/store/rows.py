"""The rows of a table, at its newest version or an earlier one: read like any dataset, and by `_id`."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from lamella.core.arrow.arrays import from_numpy
from lamella.core.arrow.documents import whole
from lamella.core.arrow.interchange import sized_batches
from lamella.core.arrow.types import ID
from lamella.core.datasets.base import Dataset
from lamella.core.errors import BadData
from lamella.core.filters.condition import Condition, condition_of, id_list
from lamella.core.jobs import Job
from lamella.core.query import scan_query
from lamella.core.query.find import count_rows
from lamella.core.query.pages import Page, page_by_id
from lamella.core.query.source import VersionOrTime
from lamella.core.scan.read import row_at, schema_of
from lamella.core.scan.row_ids import ID_COLUMN, ids_at, ids_of, known_ids
from lamella.core.scan.snapshot import Snapshot
from lamella.core.store.table_version import TableVersion
from lamella.core.validation import Missing, ignores_missing


class RowsById(Dataset):
    """Rows that can be read by `_id`.

    `as_of`, in every method: a version's number or name, or a time, for the version that was the newest
    then.
    """

    @abstractmethod
    def _state(self, as_of: VersionOrTime | None = None) -> TableVersion:
        """The version to read: the newest, or an earlier one."""

    def snapshot(self) -> Snapshot:
        """A snapshot of the newest version, which does not change while others write."""
        return self._state().snapshot

    def get(self, row_id: int, as_of: VersionOrTime | None = None) -> dict[str, Any] | None:
        """Return the row with this `_id`, or None. Raises `BadData` for an invalid id.

        A time or duration that Python cannot represent, such as a time after the year 9999, is returned as
        ISO text, or as the stored number if it is too far away even for that.
        """
        state = self._state(as_of)
        position = int(state.locate(ids_of(state, [row_id]))[0])
        if position < 0:
            return None
        row = row_at(state.snapshot, position, state.snapshot.columns)
        return {name: whole(value) for name, value in row.items()}

    def count(
        self, where: Condition | None = None, job: Job | None = None, as_of: VersionOrTime | None = None
    ) -> int:
        """Count the rows that meet `where`."""
        snapshot = self._state(as_of).snapshot
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
        as_of: VersionOrTime | None = None,
        missing: Missing = "refuse",
    ) -> pa.Table:
        """Read rows as an Arrow table, in `_id` order unless sorted; otherwise as for every dataset.

        `ids`: only these rows, each once, in `_id` order too; none for an empty list. Raises `UnknownRow`
        naming the first that does not exist; `missing="ignore"` skips those.
        """
        state = self._state(as_of)
        query = scan_query.scan_query_of(state.snapshot, columns, where, sort, limit, offset)
        within = _positions(state, ids, missing)
        if query.columns == (ID,):
            rows = scan_query.find_scan_rows(state.snapshot, query, job or Job(), within)
            if rows is not None:  # most ids are known by arithmetic, and not read
                return pa.Table.from_arrays([from_numpy(ids_at(state, rows))], schema=schema_of([ID_COLUMN]))
        return scan_query.read_scan(state.snapshot, query, job, flatten, within)

    def batches(  # noqa: PLR0913 -- as `read`
        self,
        columns: list[str] | None = None,
        where: Condition | None = None,
        sort: list[str] | None = None,
        job: Job | None = None,
        *,
        flatten: bool = False,
        batch_size: int | None = None,
        ids: Iterable[int] | None = None,
        as_of: VersionOrTime | None = None,
        missing: Missing = "refuse",
    ) -> pa.RecordBatchReader:
        """Stream the same rows in bounded memory (a filter or sort takes eight bytes for each matching row).

        The version read is the one at the call, whatever changes meanwhile.
        """
        state = self._state(as_of)
        query = scan_query.scan_query_of(state.snapshot, columns, where, sort)
        within = _positions(state, ids, missing)
        reader = scan_query.stream_scan(state.snapshot, query, job, flatten, within)
        return reader if batch_size is None else sized_batches(reader, batch_size, state.snapshot.name)

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
        as_of: VersionOrTime | None = None,
    ) -> Page:
        """Read a page of `size` rows. Its `next` is the cursor to pass as `after` for the following page.

            page = table.page(50, sort=["-price"])
            page = table.page(50, after=page.next, sort=["-price"])

        A page begins after the last row of the previous one, wherever that row is by now: rows that are
        added, changed or deleted meanwhile cause no other row to appear twice or be left out. Rows that
        compare equal come in `_id` order. A cursor is text and may be stored. Raises `BadData` for the
        cursor of another order.
        """
        return page_by_id(self._state(as_of), size, after, columns, where, sort, job, flatten)


def _positions(state: TableVersion, ids: Iterable[int] | None, missing: Missing) -> np.ndarray | None:
    ignore = ignores_missing(missing, state.snapshot.name)
    row_ids = None if ids is None else id_list(ids, f"{state.snapshot.name}: ids")
    return None if row_ids is None else state.locate(known_ids(state, row_ids, ignore))


class OldVersion(RowsById):
    """A version of a table, with the columns it had. Its files stay on disk as long as this object is in
    use."""

    def __init__(self, state: TableVersion) -> None:
        self._table_version = state
        self.name = state.row.name

    def __repr__(self) -> str:
        return f"<OldVersion {self.version} of '{self.name}'>"

    @property
    def version(self) -> int:
        return self._table_version.version

    @property
    def columns(self) -> Sequence[str]:
        """The names of the columns, without `_id`, as for the table."""
        return [column.name for column in self._table_version.columns]

    @property
    def pinned_version(self) -> int:
        """The version that these rows stay at."""
        return self.version

    def _state(self, as_of: VersionOrTime | None = None) -> TableVersion:
        if as_of is not None:
            raise BadData(
                f"{self.name}: version {self.version} has no versions of its own", fix="Use the table's as_of"
            )
        return self._table_version


def snapshot_version(snapshot: Snapshot) -> int:
    """The version of the table whose rows a snapshot has."""
    version = snapshot.token[1]
    assert isinstance(version, int)
    return version
