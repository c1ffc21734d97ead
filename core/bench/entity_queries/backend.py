"""What a system is asked about entities, whatever it speaks."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from functools import cache, partial
from typing import Any

import pyarrow as pa

from lamella.core.bench.entities.data import FIELDS, SCHEMA, entities
from lamella.core.bench.entities.fingerprint import fingerprint
from lamella.core.bench.entity_queries.answers import names, page_start
from lamella.core.bench.questions.backend import Question, QuestionBackend, Questions
from lamella.core.bench.workloads.entity_queries import (
    DEPTHS,
    FILTERS,
    INDEXED_ORDER,
    PAGE_ORDER,
    PROJECTIONS,
    SORTS,
    by_cursor,
    by_offset,
)

ID = "_id"
COLUMNS = (ID, *FIELDS)


def arrow(rows: int) -> pa.Table:
    """The entities with a number for each, as most systems take them."""
    made = pa.Table.from_pylist(entities(0, rows), SCHEMA)
    return made.add_column(0, ID, pa.array(range(rows), pa.int64()))


class EntityQueries(QuestionBackend):
    """Answers are in the system's own form: rows with all columns, unless it says otherwise.

    Sort keys are names, with - for falling ones; equal rows come in the order of their ids.
    """

    @property
    def columns(self) -> int:
        return len(COLUMNS)

    @abstractmethod
    def count(self) -> int: ...

    @abstractmethod
    def find_all(self) -> Any: ...

    @abstractmethod
    def matching(self, name: str) -> Any:
        """One of the filters."""

    @abstractmethod
    def named(self, name: str) -> Any: ...

    @abstractmethod
    def page(self, keys: Sequence[str], start: int = 0) -> Any:
        """So many as a page has, from the row at `start` on."""

    @abstractmethod
    def place_before(self, start: int) -> Any:
        """What the row before `start` is found again by, in the order of pages."""

    @abstractmethod
    def page_after(self, place: Any) -> Any:
        """The page behind that place; the first one for None."""

    @abstractmethod
    def groups(self) -> Any:
        """Each status with its count and the mean of its views."""

    @abstractmethod
    def project(self, names: Sequence[str]) -> Any:
        """Some columns of every row, from the disk."""

    @abstractmethod
    def index_views(self) -> None:
        """Unless it is there."""

    @abstractmethod
    def as_table(self, answer: Any, names: Sequence[str]) -> pa.Table:
        """Rows of an answer, whose columns are `names`."""

    def as_groups(self, answer: Any) -> Any:
        """What `groups` gave, as rows or Arrow."""
        return answer

    def reopen(self) -> None:
        """With nothing kept in memory."""
        self.close()
        self.open(writing=False)

    def questions(self) -> Questions:
        asked = {
            "find_all": self._question(self.find_all),
            **{name: self._question(partial(self.matching, name)) for name in FILTERS},
            "point": Question(self.named, names(self.count()), told=self._told),
            **{name: self._ordered(partial(self.page, keys)) for name, keys in SORTS.items()},
            **{by_offset(depth): self._by_offset(depth) for depth in DEPTHS},
            **{by_cursor(depth): self._by_cursor(depth) for depth in DEPTHS},
            "count": Question(self.count),
            "group_by": Question(self.groups, told=self.as_groups),
            "project_all": self._projection(COLUMNS),
            **{name: self._projection(columns) for name, columns in PROJECTIONS.items()},
            "sort_indexed": self._ordered(partial(self.page, INDEXED_ORDER), self.index_views),
        }
        return {name: question for name, question in asked.items() if name not in self.cannot}

    def _question(self, ask: Any) -> Question:
        return Question(ask, told=self._told)

    def _ordered(self, ask: Any, before: Any = None) -> Question:
        return Question(ask, before=before, told=partial(self._told, in_order=True))

    def _by_offset(self, depth: int) -> Question:
        start = cache(lambda: page_start(depth, self.count()))
        return self._ordered(lambda: self.page(PAGE_ORDER, start()), before=start)

    def _by_cursor(self, depth: int) -> Question:
        @cache
        def place() -> Any:
            start = page_start(depth, self.count())
            return self.place_before(start) if start else None

        return self._ordered(lambda: self.page_after(place()), before=place)

    def _projection(self, columns: Sequence[str]) -> Question:
        told = partial(self._told, columns=columns)
        return Question(partial(self.project, columns), before=self.reopen, told=told)

    def _told(
        self, answer: Any, *_about: Any, columns: Sequence[str] = COLUMNS, in_order: bool = False
    ) -> list[list[Any]]:
        return fingerprint(self.as_table(answer, columns), in_order)
