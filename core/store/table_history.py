"""What a table was: its versions, the way back to one, and what differs between two."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable

from lamella.core.errors import BadData, StoreProblem
from lamella.core.jobs import Job
from lamella.core.query.source import When
from lamella.core.store.catalog.queries import CatalogVersions
from lamella.core.store.catalog.transaction import Transaction
from lamella.core.store.commit import Commit
from lamella.core.store.diff import Diff
from lamella.core.store.table_rows import RowsById, TableHandle
from lamella.core.store.table_version import State
from lamella.core.store.versions import (
    ExpireReport,
    FileSpan,
    Policy,
    Restored,
    brought_back,
    commit_from_row,
    newest_change,
    redo_target,
    report,
    taken_back,
    undo_target,
    version_of,
)
from lamella.core.validation import text_of


class OldVersion(RowsById):
    """A version of a table, with the columns it had. Its files stay on disk while anybody refers to it."""

    def __init__(self, state: State) -> None:
        self._state = state
        self.name = state.row.name

    def __repr__(self) -> str:
        return f"<OldVersion {self.version} of '{self.name}'>"

    @property
    def version(self) -> int:
        return self._state.version

    @property
    def pinned_version(self) -> int | None:
        return self.version

    def state(self, as_of: When | None = None) -> State:
        if as_of is not None:
            raise BadData(
                f"{self.name}: version {self.version} has no versions of its own", fix="Ask the table for it"
            )
        return self._state


class TableHistory(TableHandle):
    """Every commit makes a version; undo, redo and restore are commits too."""

    def history(self) -> list[Commit]:
        """Every commit whose version is kept, oldest first."""
        return [commit_from_row(self.name, row) for row in self.store.catalog.commits(self.table_id)]

    def as_of(self, when: When) -> OldVersion:
        """The table at a version, given by its number, its name, or a time at which it was the newest.

        Raises `StoreProblem` for a time before the first version and for one that has expired.
        """
        return OldVersion(self._state_at(when))

    def at_version(self, number: int) -> OldVersion | None:
        return self.as_of(number)

    def diff(self, before: When, after: When | None = None) -> Diff:
        """What differs between two versions; the later one is the newest when it is not given."""
        return Diff(
            self._state_at(before), self._reader.current() if after is None else self._state_at(after)
        )

    def undoable(self) -> Commit | None:
        """The commit that `undo` would take back."""
        return undo_target(self.history())

    def redoable(self) -> Commit | None:
        """The commit that `redo` would bring back."""
        return redo_target(self.history())

    def newest_change(self) -> Commit:
        """The commit whose content the table has, whether it can be undone or not."""
        return newest_change(self.history())

    def undo(self) -> Commit:
        """Take back the last commit that is not taken back yet, as a commit of its own.

        One that was part of a transaction is taken back on all tables of that. A table which the transaction
        made is there afterwards without columns and rows, so that `redo` brings it back; drop it to be rid of
        it.
        """
        return self._along_history("undo", self.undoable())

    def redo(self) -> Commit:
        """Bring back what the last undo took."""
        return self._along_history("redo", self.redoable())

    def step(self, kind: str) -> Commit:
        """Undo or redo in this table alone."""
        return self._writer.restore(kind, lambda state: self._next_step(kind))

    def restore(self, when: When, message: str = "", job: Job | None = None) -> Commit:
        """Make the content of an earlier version the newest again: a commit that can be undone like others.

        Restoring the newest version itself makes none; any other makes one, even if the content is the same.
        """
        wanted = self._state_at(when)

        def target(state: State) -> Restored:
            found = Diff(state, wanted).summary(job)
            return Restored(
                wanted.version, f"version {wanted.version}", (found.added, found.changed, found.removed)
            )

        newest = self._reader.current()
        if newest.version == wanted.version:
            return Commit(newest.row.name, newest.version, message=message)
        return self._writer.restore("restore", target, message)

    def name_version(self, name: str, version: int | None = None) -> None:
        """Call a version, the newest if none is given, by a name of its own. It will not expire."""
        if not text_of(name, f"{self.name}: the version name").strip():
            raise StoreProblem(f"{self.name}: a version needs a name", fix="Give it one")
        with self.store.catalog.transaction() as transaction:
            number = self._version_of(self.version if version is None else version)
            taken, called = self._versions.named(name), self._versions.name_of(number)
            if taken is not None:
                raise StoreProblem(
                    f"{self.name}: version {taken} is called '{name}' already", fix="Choose another name"
                )
            if called:
                raise StoreProblem(
                    f"{self.name}: version {number} is called '{called}' already",
                    fix=f"Take that name away first: unname_version('{called}')",
                )
            transaction.name_commit(self.table_id, number, name)

    def unname_version(self, name: str) -> None:
        """Take a version's name away, so that it may expire."""
        with self.store.catalog.transaction() as transaction:
            transaction.name_commit(self.table_id, self._version_of(name), "")

    def expire(
        self,
        older_than: dt.timedelta | dt.datetime | None = None,
        keep_versions: int | None = None,
        max_bytes: int | None = None,
        dry_run: bool = False,
    ) -> ExpireReport:
        """Let go of old versions: those that ended before a time, or longer ago than that, and of the others
        so many that the files of all versions are at most `max_bytes`. The newest `keep_versions` stay, and
        those that have a name; they alone where nothing else is given.

        Nothing can be undone beyond the oldest version that is left. `Store.vacuum` frees the files.
        """
        policy = Policy(older_than, keep_versions, max_bytes).checked(self.name)
        if dry_run:
            with self.store.catalog.unchanging():
                return self._plan(policy)

        def let_go(transaction: Transaction) -> ExpireReport:
            plan = self._plan(policy)
            transaction.retention.forget(self.table_id, plan.oldest)
            return plan

        plan = self.store.catalog.give_back(let_go)
        self._reader.forget_old()
        return plan

    @property
    def _versions(self) -> CatalogVersions:
        return self.store.catalog.versions(self.table_id)

    def _plan(self, policy: Policy) -> ExpireReport:
        stamps, named = self._versions.stamps(), self._versions.named_ones()
        files = [FileSpan(*row) for row in self.store.catalog.file_spans(self.table_id)]
        return report(stamps, named, files, policy.oldest_kept(stamps, named, files))

    def _version_of(self, when: When) -> int:
        return version_of(self.name, self.version, self._versions, when)

    def _state_at(self, when: When) -> State:
        return self._reader.at(self._version_of(when))

    def _along_history(self, kind: str, newest: Commit | None) -> Commit:
        if newest is not None and newest.transaction_id is not None:
            return self.store.step_together(kind, newest.transaction_id, self)
        return self.step(kind)

    def _next_step(self, kind: str) -> Restored:
        commits = self.history()
        find, restored = _STEPS[kind]
        found = find(commits)
        if found is None:
            raise StoreProblem(f"{self.name}: there is nothing to {kind}")
        together = self.store.catalog.together_here
        if found.transaction_id is not None and together is None:
            raise StoreProblem(
                f"{self.name}: it was changed together with other tables in this moment",
                fix=f"See its history, and {kind} again",
            )
        return restored(commits, found)


_STEPS: dict[
    str, tuple[Callable[[list[Commit]], Commit | None], Callable[[list[Commit], Commit], Restored]]
] = {"undo": (undo_target, taken_back), "redo": (redo_target, brought_back)}
