"""The history of a table: finds versions by number, name or time, and restores them."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from lamella.core.errors import BadData, StoreProblem, UnknownVersion, short_text
from lamella.core.jobs import Job
from lamella.core.query.source import VersionOrTime
from lamella.core.store.catalog.queries import Catalog, CatalogVersions
from lamella.core.store.commit import Commit, commit_from_row
from lamella.core.store.diff import Diff
from lamella.core.store.table_version import Reader, TableVersion
from lamella.core.store.undo import (
    CommitLog,
    Restoration,
    leads_back_to,
    newest_change,
    redo_of,
    redo_target,
    undo_of,
    undo_target,
)
from lamella.core.validation import single_line_of, text_of

if TYPE_CHECKING:
    from lamella.core.query.comparison import Comparison
    from lamella.core.transfer.exporting import Destination, Export

_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)


def version_of(table: str, newest: int, versions: CatalogVersions, when: VersionOrTime) -> int:
    """Resolve a version; raise `UnknownVersion` for an unknown name, `StoreProblem` for a version that does
    not exist or has expired."""
    if isinstance(when, str):
        version = versions.version_named(text_of(when, f"{table}: the version"))
        if version is None:
            raise UnknownVersion(when, table, versions.names())
        return version
    if isinstance(when, dt.datetime):
        return _at(table, newest, versions, when)
    if isinstance(when, bool) or not isinstance(when, int):
        raise BadData(
            f"{table}: {short_text(when)} names no version", "it is neither a number, a name nor a time",
            "Give a version's number or name, or a datetime",
        )  # fmt: skip
    if not (1 <= when <= newest and versions.exists(when)):
        raise _missing(table, newest, when)
    return when


def _at(table: str, newest: int, versions: CatalogVersions, when: dt.datetime) -> int:
    version = versions.at(seconds_of(when))
    if version is None and versions.exists(1):
        raise StoreProblem(
            f"{table}: there was no version yet at {when}", "the table was created later", "Give a later time"
        )
    if version is None or not (version == newest or versions.exists(version + 1)):
        raise _expiry_error(table, f"the version of {when}")
    return version


def seconds_of(when: dt.datetime) -> float:
    """Seconds since 1970, exact to the microsecond, which `timestamp` is not for times without a zone.

    The hours at either end of what a datetime can represent are clipped if UTC has no value for them.
    """
    try:
        utc = when.astimezone(dt.UTC)
    except (ValueError, OverflowError):
        utc = (dt.datetime.min if when.year == 1 else dt.datetime.max).replace(tzinfo=dt.UTC)
    return (utc - _EPOCH) // dt.timedelta(microseconds=1) / 1_000_000


def _missing(table: str, newest: int, version: int) -> StoreProblem:
    if 1 <= version <= newest:
        return _expiry_error(table, f"version {version}")
    return StoreProblem(
        f"{table}: there is no version {version}", f"the newest is {newest}", "See the table's history"
    )


def _expiry_error(table: str, what: str) -> StoreProblem:
    return StoreProblem(
        f"{table}: {what} has expired", "older versions are no longer kept", "See the table's history"
    )


def state_at(catalog: Catalog, reader: Reader, when: VersionOrTime) -> TableVersion:
    """Read a table at a version, given by its number, its name, or a time at which it was the newest."""
    newest = reader.current()
    versions = catalog.versions(reader.table_id)
    return reader.at(version_of(newest.row.name, newest.version, versions, when))


Restore = Callable[[str, Callable[[TableVersion], Restoration], str], Commit]
"""Makes a commit of this kind and message that restores the content of an earlier version."""
StepTransaction = Callable[[str, int], Commit]
"""Undoes or redoes the transaction with this number on all of its tables."""


class History:
    """Earlier versions of a table, undo and redo, and differences: `table.history.undo()`.

    Every commit makes a version; undo, redo and restore are commits too. `Table.as_of` reads a version.
    """

    __slots__ = ("_catalog", "_reader", "_restore", "_step_transaction")

    def __init__(
        self, catalog: Catalog, reader: Reader, restore: Restore, step_transaction: StepTransaction
    ) -> None:
        self._catalog, self._reader = catalog, reader
        self._restore, self._step_transaction = restore, step_transaction

    def __repr__(self) -> str:
        return f"<History of '{self._reader.last_name}'>"

    def commits(self) -> list[Commit]:
        """Every commit whose version is kept, oldest first."""
        name, rows = self._name, self._catalog.commits(self._reader.table_id)
        return [commit_from_row(name, row) for row in rows]

    def publish(self, destination: Destination, include_ids: bool, job: Job) -> Export:
        """Write each version as one of a Delta table; `lamella.export(table, path, history=True)`. Blocks."""
        from lamella.core.store.delta_history import publish_history

        return publish_history(self._name, self.commits(), self._state_at, destination, include_ids, job)

    def diff(self, before: VersionOrTime, after: VersionOrTime | None = None) -> Diff:
        """Compare two versions; `after` defaults to the newest."""
        return Diff(
            self._state_at(before), self._reader.current() if after is None else self._state_at(after)
        )

    def compare(
        self, before: VersionOrTime, after: VersionOrTime | None = None, job: Job | None = None
    ) -> Comparison:
        """Compare two versions row by row, as `lamella.compare` does; `after` defaults to the newest. Rows
        are matched by `_id`, columns by their permanent ids. Of versions that share most of their rows, only
        the others are read. Blocks."""
        from lamella.core.store.version_comparison import compare_versions

        later = self._reader.current() if after is None else self._state_at(after)
        return compare_versions(self._state_at(before), later, job or Job())

    def newest_commits(self, count: int, before: int | None = None) -> list[Commit]:
        """The newest `count` commits, the newest first; with `before`, only commits of earlier versions than
        that."""
        name, rows = self._name, self._catalog.newest_commits(self._reader.table_id, count, before)
        return [commit_from_row(name, row) for row in rows]

    def num_versions(self) -> int:
        """The number of versions that are kept."""
        return self._catalog.versions(self._reader.table_id).count()

    def file_bytes(self) -> int:
        """The size in bytes of the files of all versions that are kept."""
        spans = self._catalog.file_spans(self._reader.table_id)
        return sum({path: size for path, size, first, stop in spans if first < stop}.values())

    def undoable(self) -> Commit | None:
        """The commit that `undo` would take back."""
        return undo_target(self._log())

    def redoable(self) -> Commit | None:
        """The commit that `redo` would bring back."""
        return redo_target(self._log())

    def undo(self) -> Commit:
        """Undo the last commit that is not undone yet, as a new commit.

        A commit that was part of a transaction is undone on all tables of it. A table that the transaction
        created stays, without columns and rows, so that `redo` can bring it back; drop it to remove it.
        """
        return self._along_history("undo", self.undoable())

    def undo_to(self, when: VersionOrTime, job: Job | None = None) -> Commit:
        """Take back every change after a version, in one commit; one redo brings all of them back.

        Raises `StoreProblem` where undoing does not lead there: that version was itself undone, or a later
        change was made together with other tables.
        """
        target_state = self._state_at(when)

        def target(state: TableVersion) -> Restoration:
            if not leads_back_to(target_state.version, self._log()):
                raise StoreProblem(
                    f"{self._name}: undoing does not lead to version {target_state.version}",
                    "It is the current content, was undone or restored over since, or other tables were"
                    " changed together with this one since",
                    "Restore the version instead",
                )
            counts = Diff(state, target_state).summary(job)
            return Restoration(
                target_state.version,
                f"to version {target_state.version}",
                (counts.added, counts.changed, counts.removed),
            )

        return self._restore("undo", target, "")

    def redo(self) -> Commit:
        """Redo what the last undo took back."""
        return self._along_history("redo", self.redoable())

    def restore(self, when: VersionOrTime, message: str = "", job: Job | None = None) -> Commit:
        """Restore the content of an earlier version, in a commit that can be undone like any other.

        Restoring the newest version makes no commit; any other makes one, even if the content is the same.
        """
        target_state = self._state_at(when)

        def target(state: TableVersion) -> Restoration:
            summary = Diff(state, target_state).summary(job)
            return Restoration(
                target_state.version,
                f"version {target_state.version}",
                (summary.added, summary.changed, summary.removed),
            )

        newest = self._reader.current()
        if newest.version == target_state.version:
            return Commit(newest.row.name, newest.version, message=message)
        return self._restore("restore", target, message)

    def name_version(self, name: str, version: int | None = None) -> None:
        """Name a version, by default the newest. A named version does not expire."""
        if not single_line_of(name, f"{self._name}: the version name").strip():
            raise StoreProblem(f"{self._name}: a version needs a name", fix="Give it one")
        with self._catalog.transaction() as transaction:
            number = self._version_of(self._reader.current().version if version is None else version)
            existing, called = self._versions.version_named(name), self._versions.name_of(number)
            if existing is not None:
                raise StoreProblem(
                    f"{self._name}: version {existing} is already named '{name}'", fix="Choose another name"
                )
            if called:
                raise StoreProblem(
                    f"{self._name}: version {number} is already named '{called}'",
                    fix=f"Remove that name first: table.history.unname_version('{called}')",
                )
            transaction.name_commit(self._reader.table_id, number, name)

    def unname_version(self, name: str) -> None:
        """Remove a version's name, so that it may expire."""
        with self._catalog.transaction() as transaction:
            transaction.name_commit(self._reader.table_id, self._version_of(name), "")

    @property
    def _versions(self) -> CatalogVersions:
        return self._catalog.versions(self._reader.table_id)

    def _log(self) -> CommitLog:
        return CommitLog(self._name, self._reader.table_id, self._catalog)

    @property
    def _name(self) -> str:
        return self._reader.current().row.name

    def _version_of(self, when: VersionOrTime) -> int:
        newest = self._reader.current()
        return version_of(newest.row.name, newest.version, self._versions, when)

    def _state_at(self, when: VersionOrTime) -> TableVersion:
        return state_at(self._catalog, self._reader, when)

    def _along_history(self, kind: str, newest: Commit | None) -> Commit:
        if newest is not None and newest.transaction_id is not None:
            return self._step_transaction(kind, newest.transaction_id)
        return self._step(kind)

    def _step(self, kind: str) -> Commit:
        """Undo or redo in this table alone."""
        return self._restore(kind, lambda state: self._next_step(kind), "")

    def _next_step(self, kind: str) -> Restoration:
        log = self._log()
        find, restored = _STEPS[kind]
        step = find(log)
        if step is None:
            raise StoreProblem(f"{self._name}: there is nothing to {kind}")
        group = self._catalog.open_group
        if step.transaction_id is not None and group is None:
            raise StoreProblem(
                f"{self._name}: it has just been changed together with other tables",
                fix=f"See its history, and {kind} again",
            )
        return restored(log, step)


_STEPS: dict[str, tuple[Callable[[CommitLog], Commit | None], Callable[[CommitLog, Commit], Restoration]]] = {
    "undo": (undo_target, undo_of), "redo": (redo_target, redo_of),
}  # fmt: skip


def step_group(kind: str, histories: Mapping[int, History], current: History, number: int) -> Commit:
    """Undo or redo a transaction on all of its tables, inside a transaction; return the commit of the
    `current` one.

    `histories` are those of the tables, by their ids. Raises `StoreProblem` naming the table that prevents
    it; nothing changes then.
    """
    own = current._reader.table_id
    if own not in histories:
        raise StoreProblem(
            f"{current._name}: its change was made together with other tables,"
            f" and is {_PAST[kind]} with them",
            "one of those tables was dropped, or its versions have expired",
            "Restore a version of this table instead",
        )
    for history in histories.values():
        _check(kind, history, number)
    return {table_id: history._step(kind) for table_id, history in histories.items()}[own]


def _check(kind: str, history: History, number: int) -> None:
    name = history._name
    newest = newest_change(history._log()) if kind == "undo" else history.redoable()
    if newest is None or newest.transaction_id != number:
        raise StoreProblem(
            f"{name}: it has changed since the transaction to be {_PAST[kind]}",
            f"That transaction changed {name} too, and is {_PAST[kind]} on all of its tables or none",
            f"Undo the later changes of {name} first, or restore a version of each table",
        )
    if kind == "undo" and history.undoable() is None:
        raise StoreProblem(
            f"{name}: it has no version to go back to",
            "its earlier versions have expired",
            "Restore a version of each of the other tables instead",
        )


_PAST = {"undo": "undone", "redo": "redone"}
