"""The history of statements and the snippets, in a file that several programs write."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from lamella.core.errors import BadData, FileProblem
from lamella.ui.sql import saved_statements
from lamella.ui.sql.saved_statements import Entry, SavedStatements, Snippet, UnknownSnippet


@pytest.fixture
def statements(tmp_path: Path) -> SavedStatements:
    return SavedStatements(tmp_path / "state" / "statements.json")


def test_history_has_the_newest_first_and_each_once(statements):
    statements.remember([Entry("select 1", "t1"), Entry("select 2", "t2", rows=3, seconds=0.1)])
    statements.remember([Entry(" select 1 ", "t3", outcome="failed")])
    assert [(entry.text, entry.time) for entry in statements.history()] == [
        ("select 1", "t3"),
        ("select 2", "t2"),
    ]
    statements.clear_history()
    assert statements.history() == []


def test_history_is_bounded(statements, monkeypatch):
    monkeypatch.setattr(saved_statements, "MOST_ENTRIES", 3)
    monkeypatch.setattr(saved_statements, "LONGEST", 10)
    statements.remember([Entry(f"select {n}") for n in range(5)])
    assert [entry.text for entry in statements.history()] == ["select 4", "select 3", "select 2"]
    statements.remember([Entry("select 'a long text'")])
    assert statements.history()[0].text.startswith("select 'a ") and "cut" in statements.history()[0].text


def test_snippets_by_name(statements):
    statements.save("late", "select 1")
    statements.save("Busy", "select 2")
    with pytest.raises(BadData, match="already a snippet 'late'"):
        statements.save("late", "select 3")
    statements.save("late", "select 3", replace=True)
    assert statements.snippets() == [Snippet("Busy", "select 2"), Snippet("late", "select 3")]
    statements.rename("late", " later ")
    with pytest.raises(BadData, match="already a snippet 'Busy'"):
        statements.rename("later", "Busy")
    with pytest.raises(BadData, match="needs a name"):
        statements.rename("later", " ")
    assert statements.snippets()[1] == Snippet("later", "select 3")
    statements.delete("later")
    with pytest.raises(UnknownSnippet, match="Busy"):
        statements.delete("Busi")
    assert [snippet.name for snippet in statements.snippets()] == ["Busy"]


def test_writers_at_one_moment_lose_nothing(statements):
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda n: statements.remember([Entry(f"select {n}")]), range(12)))
    assert {entry.text for entry in statements.history()} == {f"select {n}" for n in range(12)}


def test_a_file_that_cannot_be_read_is_left_as_it_is(statements, tmp_path):
    path = tmp_path / "state" / "statements.json"
    path.parent.mkdir()
    path.write_text('{"history": 3}')
    with pytest.raises(FileProblem, match="cannot be read"):
        statements.remember([Entry("select 1")])
    assert path.read_text() == '{"history": 3}'
