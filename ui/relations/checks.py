"""Checks of a store's relations against its rows: rows that point at nothing, and relations to suggest."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from PySide6.QtCore import QObject, QTimer, Signal

from lamella.core.errors import LamellaError
from lamella.core.phrases import quantity
from lamella.core.relations import Relation
from lamella.core.relations.checking import RelationCheck
from lamella.core.relations.suggesting import Suggestion
from lamella.core.store.store import Store
from lamella.ui.relations.schema import Connection, StoreShape, connection_of, suggested_connection
from lamella.ui.tasks import Handle, Tasks

SHOW_EVERY_MS, MS_A_RELATION = 250, 8
CHECKED_UNASKED, SUGGESTED_UNASKED = 5_000_000, 1_000_000
"""The numbers of rows, of two tables and of a store, up to which checks and suggestions run unasked."""


class RelationChecks(QObject):
    """The checks of one diagram. `counted` is emitted when there are results to show, `suggested` when there
    are suggestions; `done` has a sentence for the user and the kind of its message, `failed` an error."""

    counted, suggested = Signal(), Signal()
    done = Signal(str, str)
    failed = Signal(Exception)

    def __init__(self, store: Store, tasks: Tasks, parent: QObject) -> None:
        super().__init__(parent)
        self.store, self._tasks = store, tasks
        self.results: dict[str, RelationCheck] = {}
        """The results, by the name of the relation."""
        self._shape = StoreShape((), ())
        self._suggestions: tuple[Suggestion, ...] = ()
        self._dismissed_names: set[str] = set()
        self._checking: Handle | None = None
        self._suggesting: Handle | None = None
        self._soon = QTimer(self, singleShot=True)
        self._soon.timeout.connect(self.counted)

    @property
    def running(self) -> bool:
        handles = (self._checking, self._suggesting)
        return any(handle is not None and handle.running for handle in handles)

    @property
    def dangling(self) -> int:
        """The number of rows that point at nothing, over all checked relations."""
        return sum(check.dangling for check in self.results.values())

    @property
    def connections(self) -> list[Connection]:
        """The connections to draw: relations, and suggestions that were neither accepted nor dismissed."""
        declared = [connection_of(r, self.results.get(r.name)) for r in self._shape.relations]
        known_ends = {_ends(connection) for connection in declared}
        offered = [suggested_connection(suggestion) for suggestion in self._suggestions]
        return declared + [
            connection
            for connection in offered
            if connection.name not in self._dismissed_names and _ends(connection) not in known_ends
        ]

    def take(self, shape: StoreShape) -> None:
        """Forget the results of relations that have changed."""
        relations = {relation.name: relation for relation in self._shape.relations}
        same = {r.name for r in shape.relations if relations.get(r.name) == r}
        self.results = {name: check for name, check in self.results.items() if name in same}
        self._shape = shape

    def forget(self, table: str) -> None:
        """Forget the results of a table that has changed."""
        touched = {r.name for r in self._shape.relations if table in (r.from_table, r.to_table)}
        self.results = {name: check for name, check in self.results.items() if name not in touched}

    def dismiss(self, name: str) -> None:
        """Hide a suggestion until the next search."""
        self._dismissed_names.add(name)

    # ------------------------------------------------------------------ relations

    def check(self, names: Iterable[str]) -> None:
        """Check relations for rows that point at nothing, off the GUI thread, one relation after the
        other."""
        self._check(list(names), quiet=False)

    def check_all(self) -> None:
        self.check(relation.name for relation in self._shape.relations if not relation.problem)

    def check_small(self) -> None:
        """Check the relations that are not checked yet, of tables with few enough rows."""
        rows = {table.name: table.rows or 0 for table in self._shape.tables}

        def is_small(relation: Relation) -> bool:
            return rows.get(relation.from_table, 0) + rows.get(relation.to_table, 0) <= CHECKED_UNASKED

        unchecked = [r for r in self._shape.relations if r.name not in self.results and not r.problem]
        self._check([relation.name for relation in unchecked if is_small(relation)], quiet=True)

    def _check(self, names: Sequence[str], quiet: bool) -> None:
        if not names:
            return
        if self._checking is not None:
            self._checking.cancel()
        name, later_names = names[0], names[1:]

        def take(checks: tuple[RelationCheck, ...]) -> None:
            self._note(checks[0], last=not later_names)
            if later_names:
                self._check(later_names, quiet)
            elif not quiet:
                self._report_check()

        def fail(error: Exception) -> None:
            if not quiet or not isinstance(error, LamellaError):
                self.failed.emit(error)
            if later_names:
                self._check(later_names, quiet)

        self._checking = self._tasks.read(
            lambda job: self.store.relations.check(name, job=job), take, fail, owner=self, quiet=quiet,
            text=f"Checking {name}",
        )  # fmt: skip

    def _note(self, check: RelationCheck, last: bool) -> None:
        """Take a result. Results are shown in batches; the more there are, the longer the interval."""
        self.results[check.relation.name] = check
        if last:
            self._soon.stop()
            self.counted.emit()
        elif not self._soon.isActive():
            self._soon.start(max(SHOW_EVERY_MS, MS_A_RELATION * len(self._shape.relations)))

    def _report_check(self) -> None:
        if self.dangling:
            self.done.emit(dangling_text(self.dangling), "message")
        else:
            self.done.emit("All rows point at existing rows", "message-success")

    # ---------------------------------------------------------------- suggestions

    def suggest(self, quiet: bool = False) -> None:
        """Look for relations that are not declared."""
        if self._suggesting is not None and self._suggesting.running:
            return

        def take(suggestions: tuple[Suggestion, ...]) -> None:
            self._suggestions = suggestions
            if not quiet:
                self._dismissed_names.clear()
                self.done.emit(_suggestions_text(len(suggestions)), "message")
            self.suggested.emit()

        def fail(error: Exception) -> None:
            if not quiet or not isinstance(error, LamellaError):
                self.failed.emit(error)

        self._suggesting = self._tasks.read(
            lambda job: self.store.relations.suggest(job=job), take, fail, owner=self, quiet=quiet,
            text="Looking for relations",
        )  # fmt: skip

    def suggest_first(self) -> None:
        """Suggest relations if the store has none, and few enough rows."""
        shape = self._shape
        if not shape.relations and len(shape.tables) > 1 and shape.rows <= SUGGESTED_UNASKED:
            self.suggest(quiet=True)


def dangling_text(rows: int) -> str:
    return "1 row points at nothing" if rows == 1 else f"{rows:,} rows point at nothing"


def _suggestions_text(number: int) -> str:
    if not number:
        return "Nothing to suggest: no other columns match by values and names"
    return f"{quantity(number, 'suggestion')}, drawn as dashed lines"


def _ends(connection: Connection) -> tuple[object, ...]:
    return connection.from_table, connection.from_columns, connection.to_table, connection.to_columns
