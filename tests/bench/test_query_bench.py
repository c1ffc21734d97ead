"""The benchmark of questions runs, and its systems agree on every answer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.bench import query_bench
from tests.bench.asking.answers import digest
from tests.bench.asking.model import Asked, Goal, Question, Suite, disagreements
from tests.bench.asking.timing import CALLS, timed

PAGE = Path(__file__).resolve().parents[2] / "docs" / "benchmarks-queries.md"


@pytest.mark.parametrize("suite", list(query_bench.SUITES))
def test_every_system_answers_every_question_alike(
    suite: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(query_bench, "in_a_process", query_bench.in_this_process)
    page = tmp_path / "page.md"
    page.write_text(PAGE.read_text(encoding="utf-8"), encoding="utf-8")
    asked, told = _run(suite, tmp_path, capsys, "--report", str(page))
    assert "Answers differ" not in told
    assert {one["system"] for one in asked} == set(query_bench.SUITES[suite].systems)
    questions, reported = {one["question"] for one in asked}, page.read_text(encoding="utf-8")
    for question in questions:
        assert f"| {question} |" in told and f"| {question} |" in reported
    assert set(query_bench.SUITES[suite].goals) <= questions | DEEP


def test_each_system_has_a_process_of_its_own(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(query_bench, "in_this_process", None)
    asked, _ = _run("bridge", tmp_path, capsys)
    assert {one["system"] for one in asked} == set(query_bench.SUITES["bridge"].systems)


def _run(suite: str, folder: Path, capsys: pytest.CaptureFixture[str], *more: str) -> tuple[list[Any], str]:
    """Every measurement, and what was printed."""
    found = folder / "found.json"
    words = ["--only", suite, "--rows", "600", "--repeats", "1", "--folder", str(folder)]
    assert query_bench.main([*words, "--json", str(found), *more]) == 0
    lines = found.read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines], capsys.readouterr().out


DEEP = {f"page {depth} by {how}" for depth in (100, 500) for how in ("offset", "cursor")}
"""Of so few rows there are not that many pages."""


def test_answers_that_differ_are_told() -> None:
    found = [Asked("s", system, "q", (1.0, 1.0), answer) for system, answer in (("A", "1"), ("B", "2"))]
    assert disagreements(found) == ["s, q: A: 1; B: 2"]


def test_a_question_is_made_ready_each_time_and_asked_about_one_value_after_the_other() -> None:
    done = list[str]()
    question = Question(
        lambda number: done.append(f"asked {number}") or [(number,)],
        of=[3, 4],
        before=lambda: done.append("ready"),
        told=lambda answer, number: done.append(f"told {number}") or answer,
        note=lambda: "noted",
    )
    found = timed("s", "A", "q", question)
    assert done == ["ready", "asked 3", "ready", "asked 4", "told 3", "told 4"]
    assert (len(found.milliseconds), found.note) == (2, "noted")


def test_one_wrong_answer_among_many_is_noticed() -> None:
    right, wrong = Question(lambda n: n, range(20)), Question(lambda n: n if n != 7 else 8, range(20))
    assert disagreements([timed("s", "A", "q", right), timed("s", "B", "q", right)]) == []
    assert len(disagreements([timed("s", "A", "q", right), timed("s", "B", "q", wrong)])) == 1


def test_a_question_that_stays_the_same_is_asked_again() -> None:
    found = timed("s", "A", "q", lambda: 5)
    assert (len(found.milliseconds), found.answer) == (CALLS, "5")


def test_the_table_says_what_became_of_goals_and_what_was_noted(tmp_path: Path) -> None:
    suite = Suite("s", "", 1, lambda *_: None, {"Lamella": dict, "B": dict}, {"q": Goal(2, {"B": 0.5})})  # type: ignore[dict-item, arg-type]
    found = [
        Asked("s", "Lamella", "q", (9.0, 3.0), "1", "read 1"),
        Asked("s", "B", "q", (9.0, 10.0), "1"),
    ]
    table = query_bench.table_of(suite, 1, found).as_markdown()
    assert (
        "| q | 9.00 ms | 3.00 ms | 9.00 ms | 10.0 ms | read 1 | MISSED: ≤ 2 ms; met: ÷ 2 B (is ÷ 3.3) |"
        in table
    )


def test_a_question_is_held_against_another() -> None:
    suite = Suite("s", "", 1, lambda *_: None, {"Lamella": dict}, {"few": Goal(than={"all": 0.1})})  # type: ignore[dict-item, arg-type]
    found = [Asked("s", "Lamella", name, (1.0, time), "1") for name, time in (("all", 40.0), ("few", 5.0))]
    assert "MISSED: ÷ 10 'all' (is ÷ 8)" in query_bench.table_of(suite, 1, found).as_markdown()


def test_equal_rows_have_one_digest_in_any_order() -> None:
    assert digest([(1, "2009"), (2.5, None)]) == digest([(2.5, None), (1.0, 2009)])
    assert digest([(1,)]) != digest([(2,)])
