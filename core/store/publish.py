"""Making a staged change the table's next version, in one catalog transaction."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import pyarrow as pa

from lamella.core.arguments import text_of
from lamella.core.checksums import checksum_of_bytes
from lamella.core.scan.snapshot import stored_keys
from lamella.core.schema import type_to_bytes
from lamella.core.store.catalog import Catalog
from lamella.core.store.catalog_transaction import Transaction
from lamella.core.store.cells import Cells, to_batch
from lamella.core.store.commit import Change
from lamella.core.store.data_file import WrittenFile
from lamella.core.store.placement import Staged
from lamella.core.store.rewrite import Rewrite
from lamella.core.store.state import Held, PendingRows, State


class Publication:
    """One change being entered into the catalog at `version`, inside a transaction. `given_ids` are those of
    its new rows."""

    def __init__(self, transaction: Transaction, table_id: int, version: int) -> None:
        self._catalog, self._table_id, self._version = transaction, table_id, version
        self.given_ids: tuple[range, ...] = ()

    def columns(self, state: State | None, change: Change) -> dict[int, int]:
        """Enter columns that are new or differ, end what is gone; answers the entry of every column id."""
        if state is not None and change.columns == state.columns:
            return state.column_entries
        entries = {} if state is None else dict(state.column_entries)
        before = {} if state is None else {c.key: (place, c) for place, c in enumerate(state.columns)}
        after = {c.key: (place, c) for place, c in enumerate(change.columns)}
        differing = [key for key in after if before.get(key) != after[key]]
        ended = [key for key in before if key in differing or key not in after]
        self._catalog.close("columns", [entries.pop(key) for key in ended], self._version)
        for key in differing:
            place, column = after[key]
            values = (key, column.name, type_to_bytes(column.type), place)
            entries[key] = self._add("columns", values)
        return entries

    def metadata(self, state: State | None, change: Change) -> None:
        """Enter what `change` says of the table and its columns, where it says something."""
        if change.metadata is None:
            return
        held = {} if state is None else state.metadata_entries
        before = {} if state is None else state.metadata
        ended = [key for key, value in before.items() if change.metadata.get(key) != value]
        self._catalog.close("metadata", [held[key] for key in ended], self._version)
        for (column, name), value in change.metadata.items():
            if before.get((column, name)) != value:
                self._add("metadata", (column, name, value))

    def files(self, files: tuple[WrittenFile, ...], paths: list[str], made: int = 0) -> list[int]:
        """Enter data files; `made` is the version whose pending cells they already hold. Their entries."""
        entries = []
        for file, path in zip(files, paths, strict=True):
            told = (path, file.rows, file.first_id, file.last_id, file.size, file.names, file.checksum, made)
            entries.append(self._add("data_files", told))
            self._refuse_span(entries[-1], file)
        return entries

    def _refuse_span(self, entry: int, file: WrittenFile) -> None:
        """Segments are disjoint: reading relies on it, so whatever would break it is staged again."""
        ids = (file.first_id, file.last_id)
        if self._catalog.spans_others(entry, self._table_id, self._version, *ids):
            raise Overtaken(f"{file.path.name} spans rows of others")

    def staged(self, staged: Staged, paths: list[str]) -> None:
        """Enter the files of a change; `paths` are in the order of `staged.all_files`."""
        own, changed = len(staged.files), len(staged.change_files)
        self.files(staged.files, paths[:own])
        self.given_ids += tuple(range(file.first_id, file.last_id + 1) for file in staged.files)
        self.change_files(staged.change_files, paths[own : own + changed], self._version)
        if staged.rewritten is not None:
            self.replaced(staged.rewritten, paths[own + changed :])

    def change_files(self, files: tuple[WrittenFile, ...], paths: list[str], made: int) -> None:
        for file, path in zip(files, paths, strict=True):
            ids = (file.first_id, file.last_id)
            self._add("change_files", (path, made, file.rows, *ids, file.size, file.names, file.checksum))

    def rows(self, values: Mapping[int, pa.Array], count: int, entries: dict[int, int]) -> Held:
        """New rows, with ids of their own."""
        first = self._catalog.take_ids(self._table_id, count)
        self.given_ids += (range(first, first + count),)
        entry = self.merged_rows(first, values, count, entries)
        pending = PendingRows.numbered(first, count, lambda: values)
        return Held("pending_rows", entry, first, first + count - 1, 0, pending)

    def merged_rows(
        self, first_id: int, values: Mapping[int, pa.Array], count: int, entries: dict[int, int]
    ) -> int:
        """Pending rows whose ids, from `first_id` on, were given before."""
        columns, batch = to_batch(values, entries)
        return self._add("pending_rows", (first_id, count, columns, batch, checksum_of_bytes(batch)))

    def cells(self, cells: Cells, entries: dict[int, int]) -> int:
        ids, (columns, batch) = _id_bytes(cells.ids), to_batch(cells.values, entries)
        return self._add("pending_cells", (cells.made, ids, columns, batch, checksum_of_bytes(ids, batch)))

    def deletions(self, ids: np.ndarray) -> int:
        gone = _id_bytes(np.sort(ids))
        return self._add("deletions", (gone, checksum_of_bytes(gone)))

    def replaced(self, rewritten: Rewrite, paths: list[str], made: int | None = None) -> list[int]:
        """Enter the files of a rewrite in place of the segments and pending entries they hold, which is what
        was pending at version `made`, or at this one. The files' entries."""
        self.ended((held.kind, held.entry) for held in rewritten.replaced)
        self.ended(rewritten.contained)
        return self.files(rewritten.files, paths, made=self._version if made is None else made)

    def ended(self, entries: Iterable[tuple[str, int]]) -> None:
        for kind, entry in entries:
            self._catalog.close(kind, [entry], self._version)

    def _add(self, kind: str, values: tuple[object, ...]) -> int:
        return self._catalog.add(kind, self._table_id, self._version, values)


def _id_bytes(ids: np.ndarray) -> bytes:
    return ids.astype("<i8").tobytes()


class Overtaken(Exception):
    """Another commit came first: what was staged has to be staged again."""


def still_at(transaction: Transaction, state: State) -> int:
    """The table's version; raises `Overtaken` unless it is where the change was staged from."""
    if transaction.version(state.row.table_id) != (state.version, state.row.generation):
        raise Overtaken(state.row.name)
    return state.version


def version_holding(
    catalog: Catalog, state: State, replaced: Sequence[Held], transaction: Transaction
) -> int:
    """The table's version, if all that was pending at `state` for the `replaced` segments is pending still,
    what came to be pending since was made since, and no column of theirs that was gone is back; raises
    `Overtaken` otherwise."""
    now = transaction.version(state.row.table_id)
    if now == (state.version, state.row.generation):
        return state.version
    if now is None or now[1] != state.row.generation:
        raise Overtaken(state.row.name)

    def made_now(kind: str, column: str = "entry") -> dict[tuple[str, int], int]:
        found = catalog.valid(kind, state.row.table_id, now[0], ("entry", column))
        return {(kind, entry): value for entry, value in found}

    cells = made_now("pending_cells", "made") | made_now("change_files", "made")
    others = made_now("data_files") | made_now("pending_rows") | made_now("deletions")
    used = {(h.kind, h.entry) for h in replaced} | {("deletions", e) for e in state.deletions}
    earlier = {key for key, made in cells.items() if made <= state.version}
    columns = {key for (key,) in catalog.valid("columns", state.row.table_id, now[0], ("column_id",))}
    left_out = {key for h in replaced for key in stored_keys(h.segment)} - state.column_entries.keys()
    if not used <= others.keys() or earlier != set(state.cells) or columns & left_out:
        raise Overtaken(state.row.name)
    return now[0]


def commit_row(version: int, kind: str, restores: int | None, counts: tuple[int, int, int],
               started: float, message: str) -> tuple[object, ...]:  # fmt: skip
    message = text_of(message, "the message")
    at = time.time_ns() // 1_000 / 1_000_000  # what a datetime can say, so that it can name the version
    return (version, at, kind, restores, *counts, time.perf_counter() - started, message, "", None)
