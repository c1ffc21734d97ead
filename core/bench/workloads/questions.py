"""Workloads that query a filled database: an operation is a question, which is asked several times.

The first call since the database was opened is the cold sample; all later calls together are the warm sample,
which keeps each latency.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import date, datetime
from decimal import Decimal
from functools import partial
from statistics import fmean
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from lamella.core.bench.engine.measure import Cost, Cycle, Sample, measure, measure_each
from lamella.core.bench.systems.base import Question, QuestionSystem

DIGITS = 9


def digest(answer: Any) -> str:
    """Return "rows:digest" of a list of rows, an Arrow table or an array of numbers; a single value counts as
    one row. The order of the rows does not matter."""
    texts = sorted(map(repr, map(_row, _rows(answer))))
    return f"{len(texts)}:{hashlib.sha256(chr(10).join(texts).encode()).hexdigest()[:16]}"


def digest_in_order(texts: Sequence[str]) -> str:
    """Return one digest for those of several answers, whose order matters."""
    return digest([[number, text] for number, text in enumerate(texts)])


def _rows(answer: Any) -> Iterable[Iterable[Any]]:
    if isinstance(answer, list):
        return answer
    if isinstance(answer, np.ndarray):
        return ([value] for value in answer.tolist())
    if isinstance(answer, pa.Table):
        return zip(*(column.to_pylist() for column in answer.columns), strict=True)
    return [[answer]]


def _row(values: Iterable[Any]) -> tuple[Any, ...]:
    return tuple(map(_value, values))


def _value(value: Any) -> Any:
    if isinstance(value, (int, float, Decimal, np.number, np.bool_)):
        return ("number", f"{float(value) + 0.0:.{DIGITS}g}")
    if isinstance(value, (datetime, date)):
        return value.isoformat()
    if isinstance(value, dict):
        return tuple(sorted((name, _value(inner)) for name, inner in value.items()))
    return _row(value) if isinstance(value, (list, tuple)) else value


CALLS = 9
"""Calls of a question without values, including the first."""

ENOUGH_SECONDS = 2.0
"""Time after which a question is not repeated: slow answers need fewer samples."""

FILL = "fill"


class QuestionCycle(Cycle[QuestionSystem]):
    steps: ClassVar[tuple[str, ...]] = (FILL,)

    def step(self, name: str) -> Iterator[Sample]:
        yield from self.fill() if name == FILL else self.ask(name)

    def fill(self) -> Iterator[Sample]:
        """Time the filling. Its result is not checked here: the questions would notice missing rows."""
        self.system.folder.mkdir(parents=True, exist_ok=True)
        _, cost = measure(lambda: self.system.fill(self.rows))
        if self.workload.has(FILL):
            yield Sample(FILL, cost, self.system.disk_bytes(), digest(self.rows))

    def ask(self, name: str) -> Iterator[Sample]:
        self.system.open(writing=False)
        question = self.system.questions()[name]
        first, again, digests = _ask_each(question) if question.of else _ask_again(question)
        self.system.close()
        size, checksum = (
            self.system.disk_bytes(),
            digests[0] if len(set(digests)) == 1 else digest_in_order(digests),
        )
        yield Sample(name, replace(first, latencies=()), size, checksum, first=True)
        yield Sample(name, again, size, checksum, again=True)

    def _database_digest(self) -> str:
        raise AssertionError("No question changes anything, so there is nothing to read back")


_Calls = tuple[Cost, Cost, Sequence[str]]
"""The cost of the first call, that of the later ones, and the digests of all answers."""


def _ask_each(question: Question) -> _Calls:
    """Ask about each value once; about a single value twice."""
    turns = [*question.of[:1], *(question.of[1:] or question.of)]
    works = [partial(question.ask, value) for value in turns]
    first, cost = measure_each(works[:1], ENOUGH_SECONDS, question.before)
    again, cost_again = measure_each(works[1:], ENOUGH_SECONDS, question.before)
    answers = [*first, *again]
    answers += _answer_untimed(works[len(answers) :], question)
    digests = [
        _comparable_digest(question, answer, (value,)) for answer, value in zip(answers, turns, strict=True)
    ]
    return cost, cost_again, digests


def _ask_again(question: Question) -> _Calls:
    """Ask a question repeatedly. Each answer is freed before the next call, since a user would not keep all
    answers either."""
    costs, digests = list[Cost](), list[str]()
    while len(costs) < 2 or (len(costs) < CALLS and sum(c.seconds for c in costs[1:]) < ENOUGH_SECONDS):
        if question.before is not None:
            question.before()
        answer, cost = measure(question.ask)
        costs.append(cost)
        digests.append(_comparable_digest(question, answer, ()))
        del answer
    return costs[0], _mean(costs[1:]), digests


def _mean(costs: Sequence[Cost]) -> Cost:
    seconds = tuple(cost.seconds for cost in costs)
    peak = max(cost.peak_rss_bytes for cost in costs)
    return Cost(fmean(seconds), fmean(cost.cpu_seconds for cost in costs), peak, seconds)


def _answer_untimed(works: Sequence[Callable[[], Any]], question: Question) -> Iterator[Any]:
    """Yield the answers for which there was no time left, so that all systems are compared by the same
    ones."""
    for work in works:
        if question.before is not None:
            question.before()
        yield work()


def _comparable_digest(question: Question, answer: Any, about: tuple[Any, ...]) -> str:
    return digest(answer if question.comparable is None else question.comparable(answer, *about))
