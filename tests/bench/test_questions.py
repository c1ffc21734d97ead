"""Questions are prepared, asked for the first time and again, and compared between systems."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from weakref import WeakSet

import pyarrow as pa
import pytest

from lamella.core.bench.engine.measure import Sample
from lamella.core.bench.systems.base import Question, QuestionSystem
from lamella.core.bench.workloads.bridge import BRIDGE
from lamella.core.bench.workloads.questions import CALLS, QuestionCycle, digest


class Answering(QuestionSystem):
    """A system with one question, called `sum` as in the workload; it records its calls."""

    def __init__(self, folder: Path, question: Question) -> None:
        super().__init__(folder, BRIDGE)
        self.question, self.used = question, list[str]()

    @classmethod
    def version(cls) -> str:
        return "1"

    @classmethod
    def describe(cls) -> str:
        return "not durable"

    @property
    def columns(self) -> int:
        return 1

    def fill(self, rows: int) -> None:
        self.used.append(f"filled with {rows}")

    def open(self, writing: bool) -> None:
        self.used.append("opened")

    def close(self) -> None:
        self.used.append("closed")

    def questions(self) -> Mapping[str, Question]:
        return {"sum": self.question}


def asked(question: Question, folder: Path) -> tuple[Sample, Sample]:
    cycle = QuestionCycle(Answering(folder, question), BRIDGE, 10)
    first, again = cycle.step("sum")
    return first, again


def test_a_question_is_made_ready_each_time_and_asked_about_one_value_after_the_other(tmp_path: Path) -> None:
    events = list[str]()
    question = Question(
        lambda number: events.append(f"asked {number}") or [(number,)],
        of=[3, 4],
        before=lambda: events.append("ready"),
        comparable=lambda answer, number: events.append(f"told {number}") or answer,
    )
    first, again = asked(question, tmp_path)
    assert events == ["ready", "asked 3", "ready", "asked 4", "told 3", "told 4"]
    assert (first.again, again.again) == (False, True)
    assert (len(first.cost.latencies), len(again.cost.latencies)) == (0, 1)


def test_a_question_that_stays_the_same_is_asked_again(tmp_path: Path) -> None:
    first, again = asked(Question(lambda: 5), tmp_path)
    assert len(again.cost.latencies) == CALLS - 1
    assert first.checksum == again.checksum == digest(5)


def test_one_wrong_answer_among_many_is_noticed(tmp_path: Path) -> None:
    right, wrong = Question(lambda n: n, range(20)), Question(lambda n: n if n != 7 else 8, range(20))
    assert asked(right, tmp_path)[0].checksum == asked(right, tmp_path)[0].checksum
    assert asked(right, tmp_path)[0].checksum != asked(wrong, tmp_path)[0].checksum


def test_an_answer_is_gone_before_the_next_one_is_asked_for(tmp_path: Path) -> None:
    class Answer:
        """An answer."""

    alive, counts = WeakSet[Answer](), list[int]()

    def ask() -> Answer:
        counts.append(len(alive))
        answer = Answer()
        alive.add(answer)
        return answer

    asked(Question(ask, comparable=lambda _: 5), tmp_path)
    assert counts == [0] * CALLS


def test_a_single_value_is_asked_about_again_and_both_answers_count(tmp_path: Path) -> None:
    calls = iter(range(100))
    right, changing = Question(lambda n: n, of=[3]), Question(lambda n: n + next(calls), of=[3])
    first, again = asked(right, tmp_path)
    assert first.checksum == digest(3) and len(again.cost.latencies) == 1
    assert asked(changing, tmp_path)[0].checksum != first.checksum


def test_an_answer_that_changes_from_call_to_call_is_not_the_same_answer(tmp_path: Path) -> None:
    calls = iter(range(100))
    changing = Question(lambda: next(calls))
    assert asked(changing, tmp_path)[0].checksum != asked(Question(lambda: 0), tmp_path)[0].checksum


def test_a_slow_system_is_compared_on_the_answers_that_it_had_no_time_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    quick = asked(Question(lambda n: n, range(20)), tmp_path)[1]
    monkeypatch.setattr("lamella.core.bench.workloads.questions.ENOUGH_SECONDS", -1.0)
    slow = asked(Question(lambda n: n, range(20)), tmp_path)[1]
    assert (len(quick.cost.latencies), len(slow.cost.latencies)) == (19, 1)
    assert quick.checksum == slow.checksum
    wrong = asked(Question(lambda n: min(n, 18), range(20)), tmp_path)[1]
    assert wrong.checksum != slow.checksum


def test_a_database_is_filled_and_closed_before_it_is_asked(tmp_path: Path) -> None:
    system = Answering(tmp_path / "db", Question(lambda: 5))
    cycle = QuestionCycle(system, BRIDGE, 10)
    assert [*cycle.step("fill")] == [], "this workload does not time its filling"
    assert len([*cycle.step("sum")]) == 2
    assert system.used == ["filled with 10", "opened", "closed"]


def test_equal_rows_have_one_digest_in_any_order() -> None:
    table = pa.table({"a": [2.5, 1.0], "b": [None, "2009"]})
    assert digest([(1, "2009"), (2.5, None)]) == digest(table)
    assert digest([(1,)]) != digest([(2,)])
    assert digest([("1",)]) != digest([(1,)]), "a text is not a number"
