"""Completion proposes names that fit the place in a statement."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamella.core.query.sql.completion import Names, Proposals, TableColumns, Words, engine_words, propose

FLIGHTS = TableColumns((("dep_delay", "double"), ("carrier", "string"), ("origin", "string")))
NAMES = Names(
    {
        "flights": FLIGHTS,
        "airlines": TableColumns((("carrier", "string"), ("name", "string"))),
        "trips": None,
        "order": TableColumns((("the day", "date32"),)),
        "sample.planes": TableColumns((("tailnum", "string"),)),
        "sample.flights": FLIGHTS,
    },
    {"sample": ("planes", "flights")},
)
WORDS = Words({"count": "(arg)", "avg": "(x)"}, ("select", "from", "where", "order by"), frozenset({"order"}))


def at(text: str, names: Names = NAMES) -> Proposals:
    place = text.index("|")
    return propose(text.replace("|", ""), place, names, WORDS)


def proposed(text: str, names: Names = NAMES) -> list[str]:
    return [proposal.text for proposal in at(text, names).items]


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("select | from flights", ["dep_delay", "carrier", "origin"]),
        ("select dep| from flights f", ["dep_delay"]),
        ("select a.n| from flights f, airlines as a", ["name"]),
        ("select f.| from flights f join airlines a using (carrier)", ["dep_delay", "carrier", "origin"]),
        ("select * from fl|", ["flights"]),
        ("select * from flights, air|", ["airlines"]),
        ("select * from |", ["flights", "airlines", "trips", '"order"', "sample."]),
        ("select * from sample.|", ["planes", "flights"]),
        ("select t| from sample.planes", ["tailnum"]),
        ("select avg(dep|) from flights", ["dep_delay"]),
        ('select "dep| from flights', ["dep_delay"]),
        ('select th| from "order"', ['"the day"']),
        ("with late as (select carrier, avg(dep_delay) as mean from flights) select m| from late", ["mean"]),
        ("with late as (select * from flights) select late.| from late", ["dep_delay", "carrier", "origin"]),
        ("select x.| from (select origin o, carrier from flights) x", ["o", "carrier"]),
        ("select x.| from (from airlines) x", ["carrier", "name"]),
        ("select * from flights where exists (select 1 from airlines where na|)", ["name"]),
        ("update flights set or|", ["origin"]),
        ("insert into air|", ["airlines"]),
        ("select 1; select * from air|; select 2", ["airlines"]),
        ("sel|", ["select"]),
        ("SELECT * FROM flights WH|", ["WHERE"]),
        ("select cou|", ["count("]),
    ],
)
def test_propose(text, first):
    assert proposed(text)[: len(first)] == first


NO_NAMES = [
    "select 'fl|", "select 1 -- fl|", "select 12|", "select /* fl| */ 1",
    "select * from flights where origin = :or|", "select * from flights where origin = $or|",
]  # fmt: skip


@pytest.mark.parametrize("text", NO_NAMES)
def test_propose_nothing_in_texts_numbers_comments_and_parameters(text):
    assert proposed(text) == []


def test_propose_names_tables_whose_columns_are_not_known():
    assert at("select t.| from trips t") == Proposals(9, (), ("trips",))


def test_propose_columns_of_tables_that_are_not_named_yet():
    assert ("dep_delay", "column", "flights") in [(p.text, p.kind, p.detail) for p in at("select dep|").items]


def test_propose_asks_for_the_columns_of_tables_when_none_is_named():
    assert at("select ca|").unknown == ("trips",)
    assert at("select c|").unknown == ()


def test_propose_among_ten_thousand_columns():
    wide = Names({"wide": TableColumns(tuple((f"column_{n}", "int64") for n in range(10_000)))})
    actual = proposed("select column_99| from wide", wide)
    assert actual[:3] == ["column_99", "column_990", "column_991"] and len(actual) == 111


def test_propose_behind_a_long_list_of_columns():
    listed = ", ".join(f"column_{n}" for n in range(1_000))
    wide = Names({"wide": TableColumns(tuple((f"column_{n}", "int64") for n in range(1_000)))})
    assert proposed(f"select {listed}, column_99| from wide", wide)[0] == "column_99"
    assert proposed(f"select {listed} from wide, |", wide)[0] == "wide"
    assert "wide" not in proposed(f"select {listed} from wide where column_1 in ({listed}, w|)", wide)


@given(st.text("select from where fl,.()\"'*\n;w|", max_size=60), st.integers(0, 60))
def test_propose_never_fails(text, place):
    actual = propose(text, min(place, len(text)), NAMES, WORDS)
    assert 0 <= actual.start <= min(place, len(text))


def test_words_are_those_of_the_engine():
    words = engine_words()
    assert "date_trunc" in words.functions and "select" in words.reserved_words
    assert words.quote("carrier") == "carrier" and words.quote("order") == '"order"'
    assert words.quote('a "b"') == '"a ""b"""'
