"""What a system is given to hold, and the questions it is asked then."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lamella.core.bench.backends.base import Backend


@dataclass(frozen=True)
class Question:
    """Only `ask` is timed. Its answer is a list of rows, an Arrow table, an array of numbers or one value.

    `of` are values that it is asked about, one a call. `before` makes ready for each call. `told` turns an
    answer, and what it was asked about, into what is compared with other systems.
    """

    ask: Callable[..., Any]
    of: Sequence[Any] = ()
    before: Callable[[], object] | None = None
    told: Callable[..., Any] | None = None


Questions = Mapping[str, Question]


class QuestionBackend(Backend):
    """Holds the rows of its workload; what it cannot be asked stands in `cannot`, by operation."""

    @abstractmethod
    def fill(self, rows: int) -> None:
        """Make the database in `folder`, closed afterwards; the rows come from the workload's own data."""

    @abstractmethod
    def questions(self) -> Questions:
        """By operation, of the database that `open` opened. Making them costs next to nothing."""
