"""One question asked of one system in this process."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from tests.bench.asking.answers import digest
from tests.bench.asking.model import Asked, Question

CALLS = 9
"""Of a question that is always the same: one first, and so many less one again."""


def timed(suite: str, system: str, name: str, asked: Question | Callable[[], Any]) -> Asked:
    question = asked if isinstance(asked, Question) else Question(asked)
    turns: list[tuple[Any, ...]] = [(value,) for value in question.of] or [()] * CALLS
    times, answers = [], {}
    for number, given in enumerate(turns):
        if question.before is not None:
            question.before()
        before = time.perf_counter()
        answer = question.ask(*given)
        times.append(1e3 * (time.perf_counter() - before))
        answers[number if given else 0] = answer
    told = [_told(question, answer, turns[number]) for number, answer in answers.items()]
    note = "" if question.note is None else question.note()
    return Asked(suite, system, name, tuple(times), _together(told), note)


def _told(question: Question, answer: Any, given: tuple[Any, ...]) -> str:
    return digest(answer if question.told is None else question.told(answer, *given))


def _together(told: list[str]) -> str:
    """One text for the answers to all values."""
    return told[0] if len(told) == 1 else f"{len(told)} answers, {digest(list(enumerate(told)))}"
