"""Doing something from the state that a table is in, again where another commit came first."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from lamella.core.arguments import count_of
from lamella.core.errors import StoreProblem, VersionConflict
from lamella.core.forks import let_go_in_children
from lamella.core.store.catalog import Catalog
from lamella.core.store.publish import Overtaken
from lamella.core.store.reader import Reader
from lamella.core.store.state import State

ATTEMPTS = 5

T = TypeVar("T")


class Attempts:
    """At one table. Any thread; the threads of a process come one after the other."""

    def __init__(self, catalog: Catalog, reader: Reader) -> None:
        self._catalog, self._reader = catalog, reader
        self._one_at_a_time = threading.RLock()
        self._building: set[int] = set()
        let_go_in_children(self)

    def forked(self) -> None:
        """Whoever held the lock is not in the child; there the catalog says that it cannot be used."""
        self._one_at_a_time = threading.RLock()
        self._building = set()

    @contextmanager
    def building(self) -> Iterator[None]:
        """While a change is made of the table's state. Whatever makes it cannot change the table itself: that
        would be overtaken by its own doing, again and again."""
        thread = threading.get_ident()
        self._building.add(thread)
        try:
            yield
        finally:
            self._building.discard(thread)

    def retried(self, attempt: Callable[[State], T], expected_version: int | None = None) -> T:
        """Staged beside other writers first; whoever keeps coming too late stages under the write lock."""
        self.refuse_inside()
        with self.in_turn():
            for _ in range(ATTEMPTS):
                try:
                    return attempt(expected(self._reader.current(), expected_version))
                except Overtaken:
                    continue
            try:
                with self._catalog.transaction():
                    return attempt(expected(self._reader.current(), expected_version))
            except BaseException:
                self._reader.forget()  # it may know a version that did not come to be
                raise

    @contextmanager
    def in_turn(self) -> Iterator[None]:
        """Threads come one after the other, so that they need not start over. Who has the catalog's lock does
        not wait for those that wait for it."""
        if self._catalog.together_here is not None:
            yield
        else:
            with self._one_at_a_time:
                yield

    def beside(self, work: Callable[[State], T]) -> T:
        """Without the threads' turns: others commit meanwhile. Who keeps being overtaken makes them wait."""
        for _ in range(ATTEMPTS):
            try:
                return work(self._reader.current())
            except Overtaken:
                continue
        return self.retried(work)

    def refuse_inside(self) -> None:
        """Raises `StoreProblem` where this thread is making a change of the table's state."""
        if threading.get_ident() in self._building:
            raise StoreProblem(
                f"{self._reader.last_name}: the table is being changed",
                "The function that makes its new values changes the table itself",
                "Let it answer the values alone, and make other changes before or after",
            )


def expected(state: State, version: int | None) -> State:
    """Raises `VersionConflict` where a version is given and the table is not at it."""
    if version is not None and state.version != count_of(version, f"{state.row.name}: expected_version"):
        raise VersionConflict(
            f"{state.row.name}: the table is at version {state.version}, not at {version}",
            "Somebody changed it in between",
            "Read it again and decide anew",
        )
    return state
