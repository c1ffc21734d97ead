"""Runs statements one after the other, off the GUI thread; changes wait until the user agrees."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QWidget

from lamella.core.datasets.sql_result import SqlResult, run_to_result
from lamella.core.errors import BadSql, Cancelled, UnknownTable, VersionConflict
from lamella.core.jobs import Job, Progress
from lamella.core.query.sql.changes import ChangeStatement, change_statement
from lamella.core.query.sql.plan_tree import SqlPlan, explain_sql, is_explain
from lamella.core.query.sql.problems import place_of_name
from lamella.core.query.sql.run import SqlRequest, run_sql
from lamella.core.query.sql.sources import Sources
from lamella.core.store.effects import Effect
from lamella.core.store.store import Store
from lamella.ui.tasks import Handle, Tasks

LONGEST = 1_000_000
"""The maximum number of characters of one statement."""
TOO_LONG = BadSql(
    f"a statement of more than {LONGEST:,} characters does not run here",
    fix="Save its rows as a file and open that, or run it in parts",
)


@dataclass(frozen=True)
class Statement:
    """A statement of the editor: `start` is its position there, `parameters` are the values of its
    `$names`."""

    text: str
    start: int
    line: int
    parameters: Mapping[str, Any]
    kind: str = "run"
    """"run", "explain" for its plan, or "measure" for its plan with times."""


@dataclass(frozen=True)
class PendingChange:
    """A change that has been counted and waits for the user; `version` is the table's version at that
    time."""

    statement: Statement
    change: ChangeStatement
    effect: Effect
    version: int | None
    store: Store
    sources: Sources

    def answer(self, job: Job) -> Callable[[str], Any]:
        """A function that returns the rows of a query."""
        request = SqlRequest(self.statement.parameters or None)
        return lambda question: run_sql(question, self.sources, request, job)


class Runner(QObject):
    """Runs statements. `begun` has a statement; it is followed by `answered` (with a result, whose rows may
    still arrive), `planned`, `counted` (with a change that waits for `go_on`), `failed` or `stopped`.
    `completed` follows `answered` once all rows have arrived, with the seconds. `ended` follows the last
    statement."""

    begun = Signal(object)
    answered = Signal(object, object)
    completed = Signal(object, object, float)
    planned = Signal(object, object, float)
    counted = Signal(object)
    failed = Signal(object, Exception, int)
    stopped = Signal(object, int)
    progressed = Signal(object)
    ended = Signal()
    _first_rows = Signal(int, object, object)

    def __init__(self, tasks: Tasks, console: QWidget) -> None:
        """`console` shows the elapsed time and a Stop button."""
        super().__init__(console)
        self._tasks, self._console = tasks, console
        self._waiting: list[Statement] = []
        self._sources: Sources | None = None
        self._store: Store | None = None
        self._handle: Handle | None = None
        self._run = 0
        self._shown_result: SqlResult | None = None
        self._first_rows.connect(self._answer)

    @property
    def running(self) -> bool:
        return self._handle is not None

    @property
    def num_waiting(self) -> int:
        """The number of statements that have not begun."""
        return len(self._waiting)

    def run(self, statements: Sequence[Statement], sources: Sources, store: Store | None) -> None:
        """Run statements, cancelling those that still run. Only tables of `store` can be changed."""
        self.cancel()
        self._waiting, self._sources, self._store = list(statements), sources, store
        self.go_on()

    def go_on(self) -> None:
        """Continue with the next statement."""
        self._handle = None
        if not self._waiting:
            self.ended.emit()
            return
        self._begin(self._waiting.pop(0))

    def cancel(self) -> None:
        """Cancel running and waiting statements, and discard the rows received so far."""
        self._waiting, self._shown_result = [], None
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None
            self._run += 1

    def stop(self) -> None:
        """Stop as the user does: the rows received so far stay."""
        if self._handle is not None:
            self._handle.cancel()

    def _begin(self, statement: Statement) -> None:
        self._run += 1
        self._shown_result = None
        run, sources, store = self._run, self._sources, self._store
        assert sources is not None
        started = time.perf_counter()

        def work(job: Job) -> object:
            return _run(
                statement, sources, store, job, lambda result: self._first_rows.emit(run, statement, result)
            )

        def finish(outcome: object) -> None:
            if run == self._run:
                self._take(run, statement, outcome, time.perf_counter() - started)

        def fail(error: Exception) -> None:
            if run == self._run:
                self._handle = None
                num_waiting, self._waiting = len(self._waiting), []
                self.failed.emit(statement, error, num_waiting)
                self.ended.emit()

        def stop() -> None:
            if run == self._run:
                self._handle = None
                self._stop(statement)

        def show_progress(progress: Progress) -> None:
            if run == self._run:
                self.progressed.emit(progress)

        self._handle = self._tasks.read(
            work, finish, fail, on_progress=show_progress, on_cancel=stop, owner=self, text="Running SQL",
            may_be_endless=True,
        )  # fmt: skip
        self._handle.progress_widget = self._console
        self.begun.emit(statement)

    def _take(self, run: int, statement: Statement, outcome: object, seconds: float) -> None:
        self._handle = None
        if isinstance(outcome, SqlResult):
            if self._shown_result is not outcome:
                self._answer(run, statement, outcome)
            self.completed.emit(statement, outcome, seconds)
            if outcome.is_cut:
                self._stop(statement)
            else:
                self.go_on()
        elif isinstance(outcome, SqlPlan):
            self.planned.emit(statement, outcome, seconds)
            self.go_on()
        else:
            self.counted.emit(outcome)

    def _stop(self, statement: Statement) -> None:
        num_waiting, self._waiting = len(self._waiting), []
        self.stopped.emit(statement, num_waiting)
        self.ended.emit()

    def _answer(self, run: int, statement: Statement, result: SqlResult) -> None:
        if run == self._run:
            self._shown_result = result
            self.answered.emit(statement, result)
        else:
            result.close()


def _run(
    statement: Statement,
    sources: Sources,
    store: Store | None,
    job: Job,
    started: Callable[[SqlResult], None],
) -> object:
    """Run a statement and return a `SqlResult`, a `SqlPlan` or a `PendingChange`."""
    text = statement.text
    if len(text) > LONGEST:
        raise TOO_LONG
    request = SqlRequest(statement.parameters or None)
    if statement.kind != "run":
        return explain_sql(text, sources, request, job, measured=statement.kind == "measure")
    if is_explain(text):
        return explain_sql(text, sources, request, job)
    change = change_statement(text)
    if change is None:
        return run_to_result(text, sources, request, job, started=started)
    if store is None:
        raise BadSql("there is no store to change", fix="Open a store first")
    if store.read_only:
        raise BadSql(f"store {store.name} is open read-only", fix="Choose another store to change")
    return _count_change(statement, change, store, sources, job)


def _count_change(
    statement: Statement, change: ChangeStatement, store: Store, sources: Sources, job: Job
) -> PendingChange:
    from lamella.core.store.sql_changes import effect_of_sql

    request = SqlRequest(statement.parameters or None)
    for _ in range(_TRIES):
        try:
            effect, version = effect_of_sql(
                store, change, lambda question: run_sql(question, sources, request, job), job
            )
        except VersionConflict:
            continue  # the table changed while the rows were counted
        except UnknownTable:
            if change.table.casefold() in {name.casefold() for name in sources.names}:
                raise _change_of_file(change.table, statement.text) from None
            raise
        return PendingChange(statement, change, effect, version, store, sources)
    raise Cancelled


def _change_of_file(name: str, text: str) -> BadSql:
    problem = BadSql(
        f"'{name}' is an open file, not a table",
        "SQL changes only tables of a store",
        "Import the file and change the table, or choose Change… in the tab of the file",
    )
    problem.span = place_of_name(name, text)
    return problem


_TRIES = 5
