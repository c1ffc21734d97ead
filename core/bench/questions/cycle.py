"""The steps of a workload of questions: fill the database, then ask each question on it, first and again.

The first call of a question in a process is its cold sample; those after it make one warm sample whose
latencies are all kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

from core.bench.cycle import Cycle, Sample
from core.bench.measure import measured, measured_each
from core.bench.questions.answers import digest, together
from core.bench.questions.backend import Question, QuestionBackend

CALLS = 9
"""Of a question that is always the same: the first, and so many less one again."""

ENOUGH_SECONDS = 2.0
"""Of asking again: slow answers need fewer samples."""

FILL = "fill"


class QuestionCycle(Cycle[QuestionBackend]):
    steps: ClassVar[tuple[str, ...]] = (FILL,)

    def step(self, name: str) -> Iterator[Sample]:
        yield from self.fill() if name == FILL else self.ask(name)

    def fill(self) -> Iterator[Sample]:
        """Timed, its answer unchecked: the questions see whether it held."""
        self.backend.folder.mkdir(parents=True, exist_ok=True)
        _, cost = measured(lambda: self.backend.fill(self.rows))
        if self.workload.has(FILL):
            yield Sample(FILL, cost, self.backend.disk_bytes(), digest(self.rows))

    def ask(self, name: str) -> Iterator[Sample]:
        self.backend.open(writing=False)
        question = self.backend.questions()[name]
        turns: list[tuple[Any, ...]] = [(value,) for value in question.of] or [()] * CALLS
        works = [partial(question.ask, *given) for given in turns]
        first, cost = measured_each(works[:1], ENOUGH_SECONDS, question.before)
        again, cost_again = measured_each(works[1:] or works, ENOUGH_SECONDS, question.before)
        answers = [*first, *again]
        if question.of:
            answers += _untimed(works[len(answers) :], question)
        checksum = _checksum(question, turns, answers)
        self.backend.close()
        size = self.backend.disk_bytes()
        yield Sample(name, replace(cost, latencies=()), size, checksum)
        yield Sample(name, cost_again, size, checksum, again=True)

    def _digest_of_all(self) -> str:
        raise AssertionError("No question leaves a change behind that another read has to check")


def _untimed(works: Sequence[Callable[[], Any]], question: Question) -> Iterator[Any]:
    """The answers that time ran out for: all systems are compared on the same ones."""
    for work in works:
        if question.before is not None:
            question.before()
        yield work()


def _checksum(question: Question, turns: Sequence[tuple[Any, ...]], answers: Sequence[Any]) -> str:
    """One for all calls; those of a question that is always the same must be the same."""
    given = turns if question.of else [()] * len(answers)
    told = [_told(question, answer, about) for answer, about in zip(answers, given, strict=False)]
    return told[0] if len(set(told)) == 1 else together(told)


def _told(question: Question, answer: Any, about: tuple[Any, ...]) -> str:
    return digest(answer if question.told is None else question.told(answer, *about))
