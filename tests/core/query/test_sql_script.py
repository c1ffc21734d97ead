"""Texts of several statements: where each is, and what parameters it has."""

from __future__ import annotations

from itertools import pairwise

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamella.core.query.sql.script import (
    lexemes,
    placeholders,
    statement_at,
    statements_of,
    with_dollars,
    with_semicolons,
)


def texts(script: str) -> list[str]:
    return [script[part.start : part.stop] for part in statements_of(script)]


PIECES = st.sampled_from(
    [
        "select 1", "select 'a;b'", "select 'it''s'", 'select 1 as "x;y"', "select $$a;b$$",
        "select $t$;$$;$t$", "select E'it\\'s;'", "select 2 -- no; end\n", "select /* ; /* ; */ ; */ 3",
        "select 4 - 1", "select 8/2", "select 1 as a$b", "\n\n select 5\n", "select 'ü;日'",
        "select 1e5, 'e'", "select x'00'::blob",
    ]
)  # fmt: skip


@given(
    st.lists(PIECES, min_size=1, max_size=6), st.sampled_from([";", " ; ", ";\n", "; -- then\n", ";/*;*/"])
)
def test_statements_are_those_of_the_engine(pieces, between):
    script = between.join(pieces)
    theirs = [statement.query.strip().rstrip(";").strip() for statement in duckdb.extract_statements(script)]
    ours = texts(script)
    assert len(ours) == len(theirs)
    for own, statement in zip(ours, theirs, strict=True):  # the engine keeps comments behind a statement
        assert statement.startswith(own)


@given(st.text("ab'\"$/*-;: \n\\eE([{,x1", max_size=60))
def test_any_text_is_covered_by_its_lexemes(text):
    place = 0
    for lexeme in lexemes(text):
        assert text[place : lexeme.start].strip() == "" and lexeme.text == text[lexeme.start : lexeme.stop]
        place = lexeme.stop
    assert text[place:].strip() == ""
    parts = statements_of(text)
    assert all(a.stop <= a.end <= b.start for a, b in pairwise(parts))


def test_statement_at_a_place():
    script = "select 1;  select 2;\n\nselect\n  3\n;\n-- the end"

    def at(place: int) -> str:
        part = statement_at(script, statements_of(script), place)
        assert part is not None
        return script[part.start : part.stop]

    assert at(0) == at(8) == at(9) == "select 1"
    assert at(script.index("2")) == at(20) == "select 2"
    assert at(21) == at(22) == at(len(script)) == "select\n  3"
    assert [part.line for part in statements_of(script)] == [1, 1, 3]
    assert statement_at("-- nothing", [], 3) is None


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("select 1\nGO\nselect 2\n go \nselect 3", ["select 1", "select 2", "select 3"]),
        ("GO\nselect 1\r\nGo\r\nGO\r\nset x = 1\r\nGO -- done", ["select 1", "set x = 1"]),
        ("(select 1);\ngo\n-- a\nwith a as (select 1) from a", ["(select 1)", "with a as (select 1) from a"]),
        ("delete from t\ngo\nupdate t set a = 1\ngo", ["delete from t", "update t set a = 1"]),
        ("select '\ngo\nselect' -- \n/*\ngo\n*/", ["select '\ngo\nselect'"]),
    ],
)  # fmt: skip
def test_go_on_its_own_line_ends_a_statement(script, expected):
    assert texts(script) == expected
    assert len(with_semicolons(script)) == len(script)


@pytest.mark.parametrize(
    "statement",
    [
        "select a\ngo\nfrom t",
        "select a as\ngo\nfrom t",
        "select go.a from t\ngo",
        "insert into\ngo\nselect 1",
        "update t\ngo\nset a = 1",
        "select * from (select 1\ngo\n)",
        "select * from t join\ngo\nusing (a)",
        "select a,\ngo\nfrom t",
        "drop table\ngo",
        "select 1 as a go",
    ],
)
def test_go_that_can_be_a_name_stays_one(statement):
    assert texts(statement) == [statement]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("select $a, :b, $a", ["a", "b", "a"]),
        ("select x::int, '::text :no', \"a:b\" -- :no", []),
        ("select {'k':v}, l[1:n], m[:n]", []),
        ("select * from t where a=:a and f(:b, -:c) and d > :d", ["a", "b", "c", "d"]),
        ("select label: 1 + $n", ["n"]),
    ],
)
def test_placeholders(text, names):
    assert [placeholder.name for placeholder in placeholders(text)] == names
    assert len(with_dollars(text)) == len(text)
    assert [placeholder.sign for placeholder in placeholders(with_dollars(text))] == ["$"] * len(names)


def test_placeholders_know_the_name_they_are_compared_with():
    text = "select * from t where t.a > :x and b between :lo and :hi and c in ($c) and d * $d > 1 limit :n"
    assert {placeholder.name: placeholder.beside for placeholder in placeholders(text)} == {
        "x": "a", "lo": "b", "hi": "b", "c": "c", "d": "d", "n": "limit",
    }  # fmt: skip
