"""Search texts have one meaning, and errors in them are located."""

from __future__ import annotations

import pytest

from lamella.core.errors import BadSearch, UnknownColumn
from lamella.core.index.fulltext.query import Beginning, Clauses, Near, Node, Words, read

A, B, C = (Words((letter,)) for letter in "abc")
COLUMNS = ["title", "body", "the title", 'the "x"', "a"]


@pytest.mark.parametrize(
    ("text", "node"),
    [
        ("a", A),
        ("A", A),
        ("a b", Clauses(optional_nodes=(A, B))),
        ("a or b", Clauses(optional_nodes=(A, B))),
        ("a AND b", Clauses(required_nodes=(A, B))),
        ("a and b or c", Clauses(optional_nodes=(Clauses(required_nodes=(A, B)), C))),
        ("a and (b or c)", Clauses(required_nodes=(A, Clauses(optional_nodes=(B, C))))),
        ("+a -b c", Clauses(required_nodes=(A,), optional_nodes=(C,), excluded_nodes=(B,))),
        ("a not b", Clauses(optional_nodes=(A,), excluded_nodes=(B,))),
        ("a and not b", Clauses(required_nodes=(A,), excluded_nodes=(B,))),
        ("not not a", A),
        ("a -(not b)", Clauses(optional_nodes=(A,), excluded_nodes=(Clauses(excluded_nodes=(B,)),))),
        ("-(a b)", Clauses(excluded_nodes=(Clauses(optional_nodes=(A, B)),))),
        ('"a b" c', Clauses(optional_nodes=(Words(("a", "b")), C))),
        ('"and"', Words(("and",))),
        ("wi-fi", Words(("wi", "fi"))),
        ("a & b", Clauses(optional_nodes=(A, B))),
        ("(!!) a", A),
        ("appl*", Beginning("appl")),
        ("appel~", Near("appel", 1)),
        ("appel~2", Near("appel", 2)),
        ("title:a", Words(("a",), "title")),
        ("title:(a* body:b)", Clauses(optional_nodes=(Beginning("a", "title"), Words(("b",), "body")))),
        ('"the title":a', Words(("a",), "the title")),
        ('-"the ""x""":a b', Clauses(optional_nodes=(B,), excluded_nodes=(Words(("a",), 'the "x"'),))),
        ('"a":b', Words(("b",), "a")),
        ("-title:a", Clauses(excluded_nodes=(Words(("a",), "title"),))),
        ("not -a", A),
        ("c++", Words(("c",))),
        ("Cafe\u0301", Words(("café",))),
    ],
)
def test_a_text_is_read_as_a_tree(text: str, node: Node) -> None:
    assert read(text, "t", COLUMNS) == node


@pytest.mark.parametrize(
    ("text", "start", "said"),
    [
        ("a and", 2, "'and' needs a word after it"),
        ("or a", 0, "'or' needs a word before it"),
        ("a or and b", 5, "'and' needs a word before it"),
        ("not", 0, "'not' needs a word after it"),
        ("(a", 0, "not closed"),
        ("a)", 1, "has no matching"),
        ('a "b', 2, "not closed"),
        ("a - b", 2, "is followed by a space"),
        ("fo*o", 0, "at the end of a word"),
        ("a b~3", 2, "1 or 2 letters"),
        ("wi-fi*", 0, "applies to one word"),
        ("a *", 2, "applies to one word"),
        ("title:-a", 6, "'-' follows 'title:'"),
        ("title:+a", 6, "+title:a"),
        ("b +-a", 3, "'-' follows '+'"),
        ("--a", 1, "'-' follows '-'"),
        ("b " + "a" * 201 + "*", 2, "at most 200 letters"),
        ("b " + "a" * 201 + "~", 2, "at most 200 letters"),
        ("(" * 60 + "a" + ")" * 60, 50, "parentheses are open"),
    ],
)
def test_a_text_that_cannot_be_read_shows_its_place(text: str, start: int, said: str) -> None:
    with pytest.raises(BadSearch, match=f"character {start + 1}") as caught:
        read(text, "t", COLUMNS)
    assert said in str(caught.value)
    assert caught.value.span is not None
    assert caught.value.span[0] == start
    assert "^" in str(caught.value).splitlines()[-1]


@pytest.mark.parametrize("text", ["", "  ", "!!", "()", '""'])
def test_a_text_without_words_is_refused(text: str) -> None:
    with pytest.raises(BadSearch, match="needs a word"):
        read(text, "t", COLUMNS)


def test_a_column_that_is_not_there_is_told_with_the_nearest_one() -> None:
    with pytest.raises(UnknownColumn, match="Did you mean 'title'") as caught:
        read("fox titel:fox", "t", COLUMNS)
    assert caught.value.span == (4, 10)


@pytest.mark.parametrize("text", ["12:30", "http://foo", "(http://foo)"])
def test_text_with_a_colon_is_told_to_go_in_quotes(text: str) -> None:
    with pytest.raises(UnknownColumn, match=f'in quotes: "{text.strip("()")}"'):
        read(text, "t", COLUMNS)


@pytest.mark.slow
def test_ten_thousand_words_are_read() -> None:
    node = read(" or ".join(f"w{i}" for i in range(10_000)), "t", COLUMNS)
    assert isinstance(node, Clauses)
    assert len(node.optional_nodes) == 10_000
