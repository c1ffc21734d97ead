"""How changes of one table reach the disk: small ones into the catalog, large ones as data files."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from typing import TypeVar

import pyarrow as pa

from core.errors import BadData, Cancelled, LamellaError, VersionConflict
from core.jobs import Job
from core.store.catalog import Catalog
from core.store.catalog_schema import VERSIONED
from core.store.cells import latest, to_batch
from core.store.commit import NO_IDS, Change, Commit
from core.store.evolution import ColumnPlan, narrowed, plan_columns
from core.store.history import commit_from_row
from core.store.ids import ID_COLUMN
from core.store.incoming import few_change, few_or_many, many_change, refuse_ids
from core.store.layout import Layout, Staging
from core.store.publish import Publication, commit_row, still_at
from core.store.reader import Reader, State
from core.store.rewrite import Rewrite, rewrite, segments_of, segments_with_pending

SMALL_ROWS = 10_000
FLUSH_ABOVE = 50_000
LOOSE_INSERTS = 256
CELL_ENTRIES = 64
ATTEMPTS = 5

T = TypeVar("T")
Restored = tuple[Commit, Commit]
"""The commit whose content is wanted again, and the one that is undone or redone."""

log = logging.getLogger(__name__)


class TableWriter:
    """Commits of one table. A commit whose base moved on is staged again, so none is lost."""

    def __init__(self, catalog: Catalog, layout: Layout, table_id: int, reader: Reader) -> None:
        self._catalog, self._layout, self._reader = catalog, layout, reader
        self._table_id = table_id
        self._one_at_a_time = threading.RLock()

    def take_column_ids(self, count: int) -> int:
        with self._catalog.transaction() as transaction:
            return transaction.take_column_ids(self._table_id, count)

    def insert(self, schema: pa.Schema, tables: Iterator[pa.Table], message: str, job: Job) -> Commit:
        """The rows of `tables`; few go into the catalog, more are written while they come in."""
        started = time.perf_counter()
        refuse_ids(self._reader.current().snapshot.name, schema)
        few, rows = few_or_many(schema, tables)
        if few is not None:
            return self.commit(lambda state: self._few(state, few, message), job, started)
        state = self._reader.current()
        plan = self._plan(state, schema)
        columns = plan.applied(state.columns)
        with self._layout.stage() as staging:
            change = many_change(plan, columns, rows, self._take_ids, staging, message, job)
            return self._retried(
                lambda now: self._publish(_same_columns(now, state), change, staging, job, started)
            )

    def _plan(self, state: State, schema: pa.Schema) -> ColumnPlan:
        return plan_columns(state.snapshot.name, state.columns, schema, self.take_column_ids)

    def _few(self, state: State, rows: pa.Table, message: str) -> Change:
        rows = narrowed(rows, state.columns)
        plan = self._plan(state, rows.schema)
        return few_change(plan, plan.applied(state.columns), rows, message)

    def commit(self, build: Callable[[State], Change], job: Job, started: float | None = None) -> Commit:
        """Stage what `build` makes of the table's state, and make it the next version.

        A change of nothing makes no version. Nothing is left on disk when it fails or is cancelled.
        """
        begun = time.perf_counter() if started is None else started

        def attempt(state: State) -> Commit:
            change = build(state)
            if change.is_empty:
                return Commit(state.row.name, state.version, message=change.message)
            return self._publish(state, change, None, job, begun)

        with self._one_at_a_time:
            done = self._retried(attempt)
            self._tidy(job)
        return done

    def restore(self, kind: str, target: Callable[[], Restored], message: str) -> Commit:
        """A commit whose content is an earlier one's again; `target` is asked for each attempt."""
        started = time.perf_counter()

        def attempt(state: State) -> Commit:
            content, about = target()
            inserted, deleted = about.inserted, about.deleted
            counts = (
                (deleted, about.updated, inserted) if kind == "undo" else (inserted, about.updated, deleted)
            )
            restores = content.version if content.restores is None else content.restores
            said = f"{message} {about.message}"
            row = commit_row(state.version + 1, kind, restores, counts, started, said)
            with self._catalog.transaction() as transaction:
                still_at(transaction, state)
                for versioned in VERSIONED:
                    transaction.restore(versioned, self._table_id, content.version, state.version)
                transaction.move_on(self._table_id, row)
            return _as_commit(state, row)

        return self._retried(attempt)

    def flush(self, job: Job) -> None:
        """Rewrite the segments with pending changes; the version stays, its files change."""
        with self._one_at_a_time:
            self._retried(lambda state: self._flush(state, job))

    def _flush(self, state: State, job: Job) -> None:
        segments = segments_with_pending(state)
        if not len(segments):
            return
        with self._layout.stage() as staging:
            columns = state.snapshot.columns
            rewritten = rewrite(state, segments, columns, None, NO_IDS, staging, job)
            self._enter(state, rewritten, staging)

    def _enter(self, state: State, rewritten: Rewrite, staging: Staging) -> None:
        try:
            paths = staging.publish([f.path for f in rewritten.files], state.row.folder)
            with self._catalog.transaction() as transaction:
                still_at(transaction, state)
                Publication(transaction, self._table_id, state.version).replaced(
                    rewritten, state.column_entries, paths
                )
                transaction.next_generation(self._table_id)
        except BaseException:
            staging.withdraw()
            raise

    def _publish(
        self, state: State, change: Change, staging: Staging | None, job: Job, started: float
    ) -> Commit:
        if staging is None and not _is_small(change):
            with self._layout.stage() as own:
                return self._publish(state, change, own, job, started)
        rewritten = self._rewritten(state, change, staging, job) if staging else None
        files = change.files if rewritten is None else (*change.files, *rewritten.files)
        try:
            paths = staging.publish([f.path for f in files], state.row.folder) if staging else []
            return self._commit(state, change, rewritten, paths, started)
        except BaseException:
            if staging:
                staging.withdraw()
            raise

    def _rewritten(self, state: State, change: Change, staging: Staging, job: Job) -> Rewrite | None:
        if not len(change.touched):
            return None
        segments = segments_of(state, change.touched)
        columns = (ID_COLUMN, *change.columns)
        return rewrite(state, segments, columns, change.cells, change.deleted, staging, job)

    def _commit(
        self, state: State, change: Change, rewritten: Rewrite | None, paths: list[str], started: float
    ) -> Commit:
        version = state.version + 1
        counts = (change.inserted, change.updated, len(change.deleted))
        row = commit_row(version, "change", None, counts, started, change.message)
        with self._catalog.transaction() as transaction:
            still_at(transaction, state)
            publication = Publication(transaction, self._table_id, version)
            entries = publication.columns(state, change)
            publication.files(change.files, paths[: len(change.files)])
            if rewritten is not None:
                publication.replaced(rewritten, entries, paths[len(change.files) :])
            else:
                _enter_small(publication, change, entries)
            transaction.move_on(self._table_id, row)
        return _as_commit(state, row)

    def _retried(self, attempt: Callable[[State], T]) -> T:
        """Staged beside other writers first; whoever keeps coming too late stages under the write lock."""
        with self._one_at_a_time:
            for _ in range(ATTEMPTS):
                try:
                    return attempt(self._reader.current())
                except VersionConflict:
                    continue
            with self._catalog.transaction():
                return attempt(self._reader.current())

    def _take_ids(self, count: int) -> int:
        with self._catalog.transaction() as transaction:
            return transaction.take_ids(self._table_id, count)

    def _tidy(self, job: Job) -> None:
        """Keep what is pending small enough to be read with every snapshot.

        The commit before it stands whatever happens here: what fails is logged, and tried after the next.
        """
        try:
            self._merge_or_flush(job)
        except (LamellaError, Cancelled, OSError, pa.ArrowException) as error:
            log.warning("%s: pending changes stay pending: %s", self._reader.current().row.name, error)

    def _merge_or_flush(self, job: Job) -> None:
        state = self._reader.current()
        loose = [h.segment.num_rows for h in state.held if h.kind == "pending_rows"]
        changed = sum(len(c.ids) for c in state.cells.values()) + sum(map(len, state.deletions.values()))
        if sum(loose) + changed > FLUSH_ABOVE or len(loose) > LOOSE_INSERTS:
            self.flush(job)
        elif len(state.cells) > CELL_ENTRIES:
            self._consolidate(state, job)

    def _consolidate(self, state: State, job: Job) -> None:
        """One catalog entry for what many commits changed in the same columns; makes no version."""
        merged = latest(state.cells.values(), state.columns)
        if len(merged) > CELL_ENTRIES // 2:
            self.flush(job)
            return
        with self._catalog.transaction() as transaction:
            if transaction.version(self._table_id) != (state.version, state.row.generation):
                return
            publication = Publication(transaction, self._table_id, state.version)
            transaction.close("pending_cells", list(state.cells), state.version)
            for cells in merged:
                publication.cells(cells, state.column_entries)
            transaction.next_generation(self._table_id)


def _is_small(change: Change) -> bool:
    return not change.files and len(change.touched) <= SMALL_ROWS


def _enter_small(publication: Publication, change: Change, entries: dict[int, int]) -> None:
    if change.rows is not None:
        values, count = change.rows
        columns, batch = to_batch(values, entries)
        publication.rows(batch, count, columns)
    if change.cells is not None and len(change.cells.ids):
        publication.cells(change.cells, entries)
    if len(change.deleted):
        publication.deletions(change.deleted)


def _same_columns(state: State, before: State) -> State:
    if state.column_entries != before.column_entries:
        raise BadData(f"{state.row.name}: its columns changed while rows came in", fix="Insert them again")
    return state


def _as_commit(state: State, row: tuple[object, ...]) -> Commit:
    return commit_from_row(state.row.name, row)
