"""The benchmark of questions runs, and its systems agree on every answer."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.bench import query_bench
from tests.bench.asking.answers import digest
from tests.bench.asking.model import Asked, disagreements


@pytest.mark.parametrize("suite", list(query_bench.SUITES))
def test_every_system_answers_every_question_alike(
    suite: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = tmp_path / "found.json"
    words = ["--only", suite, "--rows", "600", "--repeats", "1", "--folder", str(tmp_path)]
    assert query_bench.main([*words, "--json", str(found)]) == 0
    told = capsys.readouterr().out
    assert "Answers differ" not in told
    asked = [json.loads(line) for line in found.read_text(encoding="utf-8").splitlines()]
    systems = {one["system"] for one in asked}
    assert systems == set(query_bench.SUITES[suite].systems)
    for question in {one["question"] for one in asked}:
        assert f"| {question} |" in told


def test_answers_that_differ_are_told() -> None:
    found = [Asked("s", system, "q", (1.0, 1.0), answer) for system, answer in (("A", "1"), ("B", "2"))]
    assert disagreements(found) == ["s, q: A: 1; B: 2"]


def test_equal_rows_have_one_digest_in_any_order() -> None:
    assert digest([(1, "2009"), (2.5, None)]) == digest([(2.5, None), (1.0, 2009)])
    assert digest([(1,)]) != digest([(2,)])
