"""A store: a folder of tables that stay plain Parquet, with a SQLite catalog that says what they are."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from lamella.core.errors import (
    BadData,
    DamagedStore,
    LamellaError,
    ReadOnlyStore,
    StoreProblem,
    UnknownTable,
    short_text,
)
from lamella.core.jobs import Job
from lamella.core.query.source import VersionOrTime
from lamella.core.store import creation
from lamella.core.store.backup import Backup, back_up, restore
from lamella.core.store.catalog.access import Reserve
from lamella.core.store.catalog.connection import BUSY_SECONDS, no_room
from lamella.core.store.catalog.queries import Catalog, TableRow
from lamella.core.store.catalog.transaction import CommitGroup, OnRollback
from lamella.core.store.commit import Commit
from lamella.core.store.creation import copy_table
from lamella.core.store.folder import Layout, Readers
from lamella.core.store.history import step_group
from lamella.core.store.maintenance import Compaction
from lamella.core.store.paths import CATALOG, OWN_NAMES, StorePaths, refuse_store_name
from lamella.core.store.relations import StoreRelations
from lamella.core.store.retention import Vacuum, VacuumPlan, VacuumReport, sweep
from lamella.core.store.rows import RowsById
from lamella.core.store.table import Table
from lamella.core.store.table_version import Reader, TableVersion
from lamella.core.store.verify import Report, verify
from lamella.core.store.views import StoreViews, follow_rename
from lamella.core.store.writer import TableWriter
from lamella.core.validation import path_of, text_of

if TYPE_CHECKING:
    from lamella.core.query.sql.run import Parameters
    from lamella.core.store.moving import Move
    from lamella.core.store.salvage import Salvage
    from lamella.core.store.sizes import StoreSizes


@contextmanager
def commit_group(
    catalog: Catalog, layout: Layout, message: str, on_rollback: OnRollback
) -> Iterator[CommitGroup]:
    """Group the commits that the calling thread makes in the block. On failure, files are withdrawn unless
    the catalog names them."""
    with layout.stage_group() as staging:
        try:
            with catalog.commit_group(message, on_rollback) as group:
                yield group
        except BaseException:
            staging.withdraw(besides=catalog.known_paths())
            raise


log = logging.getLogger(__name__)

LONGEST_BUSY_SECONDS = 1_000_000
"""The limit of SQLite, which holds milliseconds in 31 bits."""


class Store:
    """A folder of tables; open it with `Store.open`.

    Any thread may use it. Several processes may have it open, but only one writes at a time.
    """

    def __init__(self, path: Path, catalog: Catalog) -> None:
        self.path, self._catalog = path, catalog
        self._layout, self._readers = Layout(path, catalog.refuse_replaced_catalog), Readers(path)
        self._vacuum = Vacuum(catalog, self._layout, self._readers)
        self._open: dict[int, Table] = {}
        self._relations = StoreRelations(catalog, self, self._table, self._rows_at)

    @classmethod
    def open(cls, path: str | Path, *, read_only: bool = False, busy_seconds: float = BUSY_SECONDS) -> Store:
        """Open the store in this folder, creating it if it is missing, and remove what a crash left behind.

        A change waits up to `busy_seconds` for another program's change to end before it raises `StoreBusy`.
        Raises `StoreTooNew`, or `StoreProblem` where the folder holds something else.
        """
        if (
            isinstance(busy_seconds, bool)
            or not isinstance(busy_seconds, int | float)
            or not (0 <= busy_seconds <= LONGEST_BUSY_SECONDS)
        ):
            raise BadData(
                f"busy_seconds {short_text(busy_seconds)} is not a time to wait",
                fix=f"Give seconds, from 0 to {LONGEST_BUSY_SECONDS:,}",
            )
        folder = path_of(path, "the store")
        try:
            if not (folder / CATALOG).exists():
                _refuse_folder(folder, read_only)
                Layout(folder).create()
            StorePaths(folder).refuse_links()
        except PermissionError as error:
            raise StoreProblem(f"{folder}: may not be read", fix="Ask whoever owns it") from error
        except OSError as error:
            why = error.strerror or str(error)
            raise StoreProblem(f"{folder}: cannot be read", why, "Check the path and the disk") from error
        if not read_only:
            Layout(folder).refuse_unwritable()
        store = cls(folder, _open_catalog(folder, read_only, busy_seconds))
        try:
            if not read_only:
                store._tidy_up()
        except BaseException:
            store.close()
            raise
        return store

    def _tidy_up(self) -> None:
        """Remove what a crash left behind, and files that could not be removed earlier."""
        self._layout.create()
        try:
            self._vacuum.remove(wait=False)
            self._layout.sweep(self._catalog.known_paths, self._catalog.forget_ids_under_way)
        except DamagedStore as problem:
            log.warning("%s: files left by a crash could not be removed: %s", self.path, problem)
        self._readers.sweep()
        self._catalog.keep_reserve()

    @property
    def name(self) -> str:
        """The name of the store's folder."""
        return self.path.name

    @property
    def read_only(self) -> bool:
        return self._catalog.read_only

    @property
    def relations(self) -> StoreRelations:
        """The relations between its tables."""
        return self._relations

    @property
    def views(self) -> StoreViews:
        """Saved views: queries of its tables, by name."""
        return StoreViews(self._catalog, self)

    @property
    def maintenance(self) -> StoreMaintenance:
        """Compact, verify and vacuum the whole store."""
        return StoreMaintenance(self._catalog, self._vacuum, self._readers, self._open, self._table)

    @property
    def tables(self) -> list[str]:
        """The names of the tables, sorted."""
        return [row.name for row in self._catalog.tables()]

    @property
    def versions(self) -> dict[str, int]:
        """The newest version of each table, by name. A different number means that somebody has committed."""
        return {row.name: row.version for row in self._catalog.tables()}

    def __repr__(self) -> str:
        return f"<Store '{self.path}'{' read-only' if self.read_only else ''}>"

    def __getitem__(self, name: str) -> Table:
        return self._table(self._row(name).table_id)

    def __iter__(self) -> Iterator[str]:
        """The names of the tables, as a dict's keys."""
        return iter(self.tables)

    def __contains__(self, name: str) -> bool:
        return name in self.tables

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Release every file. Afterwards neither the store nor its tables can be used; closing twice is fine.

        Pending changes are flushed first, see `store.maintenance.flush_idle`.
        """
        try:
            self.maintenance.flush_idle()
            for table in list(self._open.values()):
                table._let_go()
            self._catalog.keep_reserve()
        finally:
            self._open.clear()
            self._readers.close()
            self._catalog.close()

    def create_table(self, name: str, data: Any, message: str = "", job: Job | None = None) -> Table:
        """Create a table with these rows. It appears only when all of them are written.

        Rows that were read from another table get new ids in this one: a column `_id` is dropped if every
        row has its own whole number in it, from 0 to less than 2**60, and refused otherwise.
        """
        if self.read_only:
            raise self._read_only_error()
        creation.refuse_name(self._catalog, name)
        message = message or f"create {name}"
        return self._table(creation.create(self._catalog, self._layout, name, data, message, job or Job()))

    def drop_table(self, name: str) -> None:
        """Remove a table with its history. This cannot be undone. Readers that have already started can
        finish."""
        table_id = self._row(name).table_id
        table = self._open.get(table_id)
        if table is not None:
            table._refuse_inside_change()
        self._catalog.give_back(lambda transaction: transaction.removal.drop_table(table_id))
        self._open.pop(table_id, None)
        if table is not None:
            table._let_go()
        group = self._catalog.open_group
        if group is None:
            self._remove_files()
        else:
            group.drops = True

    def copy_table(self, old: str, new: str) -> Table:
        """Create a table with the same rows, columns and metadata, whose history begins with the copy.

        This takes almost no time or space, because the files are linked. From then on the two tables are
        independent.
        """
        if self.read_only:
            raise self._read_only_error()
        table_id = self._row(old).table_id
        creation.refuse_name(self._catalog, new)
        rows = self._table(table_id).num_rows
        return self._table(copy_table(self._catalog, self._layout, table_id, rows, new))

    def rename_table(self, old: str, new: str) -> None:
        """Rename a table in all of its versions. Its files keep their names."""
        table_id = self._row(old).table_id
        creation.refuse_name(self._catalog, new, besides=old)
        with self._catalog.transaction() as transaction:
            transaction.rename_table(table_id, new)
            follow_rename(transaction, old, new)

    @contextmanager
    def transaction(self, message: str = "") -> Iterator[None]:
        """Commit everything that this thread changes in the block, in any tables, at its end; or nothing if
        an exception leaves the block. Until then only this thread sees the changes.

        The commits share one `transaction_id`, and the message if one is given, and are undone together. A
        nested block is part of the outer one; if the outer block catches an exception of the nested one,
        only the nested part is rolled back. Other writers wait meanwhile, so do slow work before the block.
        """
        if self.read_only:
            raise self._read_only_error()
        text_of(message, "the message")
        joins = self._catalog.open_group is not None
        with commit_group(self._catalog, self._layout, message, self._roll_back) as group:
            yield
        if not joins:
            self._after(group)

    def backup(self, path: str | Path, link: bool = False, job: Job | None = None) -> Backup:
        """Copy the store as it is at this moment to a new folder, while others go on writing.

        The copy is itself a store. If the folder holds an earlier backup, only new files are copied. `link`
        makes hard links, which take no space but are lost if the disk fails.
        """
        return back_up(self._catalog, path_of(path, "the backup"), link, job or Job())

    @classmethod
    def restore_backup(
        cls, backup: str | Path, path: str | Path, link: bool = False, job: Job | None = None
    ) -> Store:
        """Copy a backup to a new folder, and open the store there."""
        restore(path_of(backup, "the backup"), path_of(path, "the store"), link, job or Job())
        return cls.open(path)

    @classmethod
    def move(cls, path: str | Path, target: str | Path, job: Job | None = None) -> Move:
        """Move the folder of a store that nobody has open, also to give it another name.

        On the same disk this is one step. To another disk, the files are copied and compared by checksum
        first, and the old ones are removed once all copies are there. Raises `StoreBusy` where the store is
        open, and `StoreProblem` where something already exists at the target; nothing is moved then.
        """
        from lamella.core.store.moving import move

        return move(path_of(path, "the store"), path_of(target, "the new place"), job or Job())

    def sql(
        self,
        text: str,
        parameters: Parameters | None = None,
        *,
        as_of: VersionOrTime | Mapping[str, VersionOrTime] | None = None,
        seconds: float | None = None,
        memory: int | None = None,
        files: bool = False,
        write: bool = False,
        job: Job | None = None,
    ) -> pa.Table:
        """Run one SELECT (in DuckDB's dialect) over the tables of the store as they are at the call.

        `parameters`: a list for `?`, a dict for `$name`. `as_of`: a version, for all tables or by table; a
        statement may also say `FROM orders AT (VERSION => 3)`. `seconds` and `memory` (bytes) limit what the
        statement may use. `files`: whether it may read files that it names, such as read_csv('x.csv').
        `write` allows INSERT INTO … SELECT, UPDATE, DELETE and CREATE TABLE … AS SELECT, which are commits
        like any other; the answer is then one row with table, version, inserted, updated and deleted.

        Raises `BadSql`, `UnknownTable`, `TookTooLong`, and `NoRoom` where it does not fit into memory.
        """
        from lamella.core.datasets import open_dataset
        from lamella.core.query.sql import Sources, SqlRequest, run_sql
        from lamella.core.query.sql.changes import change_statement

        text = text_of(text, f"store {self.name}: the statement")
        folders = (f"{self._layout.data}{os.sep}",)
        sources = Sources(f"store {self.name}", self.tables, self._at, folders, open_dataset)
        request = SqlRequest(parameters, as_of, seconds, memory, files)
        change = change_statement(text) if write else None
        if change is None:
            return run_sql(text, sources, request, job)
        if self.read_only:
            raise self._read_only_error()
        if as_of is not None:
            raise BadData(
                "a change applies to the newest version", fix="Leave as_of= out, or say AT (…) in it"
            )
        from lamella.core.store.sql_changes import change_by_sql, commit_row

        return commit_row(
            change_by_sql(
                self, change, lambda question: run_sql(question, sources, request, job), text, job or Job()
            )
        )

    def _at(self, name: str, when: VersionOrTime | None) -> RowsById:
        return self[name] if when is None else self[name].as_of(when)

    def _rows_at(self, name: str, when: VersionOrTime | None) -> TableVersion:
        return self[name]._state(when)

    def _step_group(self, table_id: int, kind: str, transaction_id: int) -> Commit:
        """Undo or redo a transaction on all of its tables; return the commit of the table `table_id`."""
        with self.transaction():
            group, history = self._catalog.open_group, self._table(table_id).history
            if group is not None and group.number == transaction_id:
                raise StoreProblem(
                    f"{self._table(table_id).name}: a transaction cannot {kind} what it did itself",
                    fix="Leave its block by an exception, and nothing of it happens",
                )
            numbers = self._catalog.transaction_tables(transaction_id)
            histories = {number: self._table(number).history for number in numbers}
            return step_group(kind, histories, history, transaction_id)

    def _after(self, group: CommitGroup) -> None:
        """Finish the commits and drops of a transaction that has been committed."""
        for table_id, table in list(self._open.items()):
            table._settle(group.draft, changed=table_id in group.tables)
        if group.drops:
            self._remove_files()

    def _roll_back(self) -> None:
        """Forget whatever was read in a transaction, or a part of one, that was rolled back."""
        table_ids = {row.table_id for row in self._catalog.tables()}
        for table_id, table in list(self._open.items()):
            if table_id in table_ids:
                table._let_go()
            else:
                table._abandon()
                del self._open[table_id]

    def _read_only_error(self) -> ReadOnlyStore:
        return ReadOnlyStore(
            f"{self.path}: the store is open read-only", fix="Open it for writing, or change a copy of it"
        )

    def _remove_files(self) -> None:
        self._vacuum.remove()
        self._layout.sweep(self._catalog.known_paths)
        sweep(self._catalog)
        self._catalog.keep_reserve()

    def _row(self, name: str) -> TableRow:
        rows = {row.name: row for row in self._catalog.tables()}
        if text_of(name, f"store {self.name}: the table name") not in rows:
            raise UnknownTable(name, f"store {self.name}", list(rows))
        return rows[name]

    def _table(self, table_id: int) -> Table:
        if table_id not in self._open:
            reader = Reader(self._catalog, table_id, self._readers)
            writer = TableWriter(self._catalog, self._layout, table_id, reader)
            step = partial(self._step_group, table_id)
            self._open[table_id] = Table(self, self._catalog, reader, writer, step)
        return self._open[table_id]


class StoreMaintenance:
    """Maintenance of all files of a store: `store.maintenance.compact()`."""

    __slots__ = ("_catalog", "_open", "_readers", "_table_of", "_vacuum")

    def __init__(
        self,
        catalog: Catalog,
        vacuum: Vacuum,
        readers: Readers,
        opened: Mapping[int, Table],
        table_of: Callable[[int], Table],
    ) -> None:
        """`opened` has the tables used so far, by id; `table_of` returns any table by its id."""
        self._catalog, self._vacuum, self._readers = catalog, vacuum, readers
        self._open, self._table_of = opened, table_of

    def __repr__(self) -> str:
        return f"<Maintenance of '{self._catalog.path.parent.name}'>"

    def compact(self, job: Job | None = None) -> list[Compaction]:
        """Compact every table; see `table.maintenance.compact`."""
        return [table.maintenance.compact(job=job) for table in self._tables()]

    def flush_idle(self, job: Job | None = None) -> None:
        """Write pending changes made by this process into files if there are many, so that the next program
        to open the store reads them faster. Meant for idle moments: a few changes stay pending, and a failure
        is logged and leaves them pending."""
        for table in list(self._open.values()):
            table._flush_idle(job or Job())

    def verify(self, quick: bool = False, job: Job | None = None) -> Report:
        """Check that the catalog and every table are intact and that no file is left over; see
        `table.maintenance.verify`."""
        return verify(self._catalog, None, quick, job or Job())

    def find_salvage(self, tables: Sequence[str], job: Job | None = None) -> list[Salvage]:
        """Read these tables, and return which of their rows can still be read where files are damaged, for
        `lamella.core.store.importing.copy_readable_rows`. Changes nothing."""
        from lamella.core.store.salvage import find_salvage

        return find_salvage(self._catalog, self._readers, tables, job or Job())

    def vacuum(self, job: Job | None = None) -> VacuumReport:
        """Remove every file that no version uses any more, except those that somebody is still reading.

        Older versions keep their files until they expire (`table.maintenance.expire`). The report lists the
        files that are still in use.
        """
        if self._catalog.open_group is not None:
            raise StoreProblem(
                f"store {self._catalog.path.parent.name}: files cannot be removed inside a transaction",
                "the transaction may still be rolled back, and would need them again",
                "Vacuum after its block",
            )
        for table in list(self._open.values()):
            table._let_go()
        return self._vacuum.run(job or Job())

    def vacuum_plan(self) -> VacuumPlan:
        """Return what `vacuum` would remove now. Changes nothing."""
        for table in list(self._open.values()):
            table._let_go()
        return self._vacuum.plan()

    def sizes(self, job: Job | None = None) -> StoreSizes:
        """Measure the disk space of the store by table, column and version, and how much of it could be
        freed; see `vacuum`, `compact` and `table.maintenance.expire`. Changes nothing."""
        from lamella.core.store import sizes

        work, measured = job or Job(), []
        for count, row in enumerate(rows := self._catalog.tables()):
            work.report(count, len(rows), f"measuring {row.name}")
            try:
                table = self._table_of(row.table_id)
                state, plan = table._state(), table.maintenance.compaction_plan()
                measured.append(sizes.table_sizes(self._catalog, state, table.history.commits(), plan))
            except LamellaError as error:
                measured.append(sizes.unreadable_sizes(row.name, error))
        return sizes.store_sizes(self._catalog, tuple(measured), self.vacuum_plan())

    def summary(self) -> str:
        """Describe every table in one screen of text each; see `table.maintenance.summary`."""
        return "\n\n".join(table.maintenance.summary() for table in self._tables())

    def _tables(self) -> Iterator[Table]:
        return (self._table_of(row.table_id) for row in self._catalog.tables())


def _open_catalog(folder: Path, read_only: bool, busy_seconds: float) -> Catalog:
    """Open the catalog. On a full disk this releases the reserve, because SQLite needs some space to open
    it."""
    try:
        return Catalog(folder, read_only, busy_seconds)
    except StoreProblem as problem:
        if read_only or not (no_room(problem) and Reserve(StorePaths(folder)).release()):
            raise
    return Catalog(folder, read_only, busy_seconds)


def _refuse_folder(folder: Path, read_only: bool) -> None:
    if read_only:
        raise StoreProblem(f"{folder}: there is no store here", fix="Check the path")
    refuse_store_name(folder)
    if folder.is_file():
        raise StoreProblem(f"{folder}: a store is a folder, this is a file", fix="Choose another path")
    if folder.is_dir() and any(not _is_own_name(entry.name) for entry in folder.iterdir()):
        raise StoreProblem(
            f"{folder}: the folder holds other files and no store",
            fix="Choose an empty folder, or a new name",
        )


def _is_own_name(name: str) -> bool:
    """Whether a store whose creation was interrupted may have left a file of this name."""
    return name in OWN_NAMES or name.startswith(CATALOG)
