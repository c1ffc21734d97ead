"""Rows that stay where they are after somebody edited them, until the tab is refreshed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import groupby

from lamella.core.filters.expr import Filter
from lamella.core.jobs import Job
from lamella.core.query.expressions import col
from lamella.core.query.scan_query import ScanQuery
from lamella.core.query.view import View
from lamella.core.scan.snapshot import Snapshot, SortKey

ID = "_id"
NO_LONGER_MATCHES = "No longer matches the filter. It stays here until you refresh (F5)."
OUT_OF_ORDER = "Its place in the sort may be another one. It stays here until you refresh (F5)."


@dataclass(frozen=True)
class KeptRows:
    """The view in which rows were edited, the versions that these edits made, and the columns that were
    edited in each row (numbers in the view)."""

    view: View
    where: Filter | None
    sort: tuple[SortKey, ...]
    versions: frozenset[int] = frozenset()
    edited: tuple[tuple[int, str], ...] = ()

    def with_edit(self, version: int, cells: Iterable[tuple[int, str]]) -> KeptRows:
        edited = tuple(dict.fromkeys((*self.edited, *cells)))
        return replace(self, versions=self.versions | {version}, edited=edited)

    def view_of(
        self, snapshot: Snapshot, where: Filter | None, sort: tuple[SortKey, ...], job: Job
    ) -> tuple[View, dict[int, str]] | None:
        """The rows as they stand, and why some of them would stand elsewhere after a refresh. None where the
        query is another one, or somebody else changed the table as well. Blocks."""
        if (where, sort) != (self.where, self.sort):
            return None
        before, after = _version(self.view.snapshot), _version(snapshot)
        if not self.versions.issuperset(range(before + 1, after + 1)):
            return None
        view = self.view.with_snapshot(snapshot)
        return None if view is None else (view, self._reasons(view, job))

    def _reasons(self, view: View, job: Job) -> dict[int, str]:
        keys = {key.column for key in self.sort}
        reasons = {row: OUT_OF_ORDER for row, name in self.edited if name in keys}
        if self.where is None:
            return reasons
        ids = _ids_at(view, sorted({row for row, _ in self.edited}))
        edited = ScanQuery(where=self.where & col(ID).is_in(ids.values()))
        found = View(view.snapshot, edited, job)
        matching = set(found.page(0, found.num_rows, [ID]).column(0).to_pylist())
        return reasons | {row: NO_LONGER_MATCHES for row, id_ in ids.items() if id_ not in matching}


def _ids_at(view: View, rows: list[int]) -> dict[int, int]:
    """Of ascending rows, each run of neighbours at once."""
    ids: dict[int, int] = {}
    for _, run in groupby(enumerate(rows), lambda place_row: place_row[1] - place_row[0]):
        neighbours = [row for _, row in run]
        page = view.page(neighbours[0], len(neighbours), [ID])
        ids.update(zip(neighbours, page.column(0).to_pylist(), strict=True))
    return ids


def _version(snapshot: Snapshot) -> int:
    return int(snapshot.token[1])  # type: ignore[call-overload, no-any-return]
