"""The page about filters holds from top to bottom, and its table is the table of operators."""

from __future__ import annotations

import re
import shlex
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from math import nan
from pathlib import Path

import pytest

from lamella import col
from lamella.app import cli
from lamella.core.errors import BadFilter, UnknownColumn
from lamella.core.filters import OPERATORS, Filter, from_mongo, parse
from lamella.core.filters.kinds import ALL_KINDS, COMPARABLE, ORDERED_KINDS, Kind
from lamella.core.filters.text.lexer import ALSO

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "filters.md").read_text(encoding="utf8")
TYPES_OF_COLUMNS = {
    ALL_KINDS: "any type",
    COMPARABLE: "any type, whole lists and structs too",
    ORDERED_KINDS: "numbers, text, dates, times and durations",
    frozenset({Kind.TEXT}): "text",
    frozenset({Kind.INTEGER, Kind.FLOAT}): "integers and floats",
    frozenset({Kind.LIST}): "lists",
    frozenset({Kind.BOOLEAN}): "booleans",
}
NAMES = {
    "date": date,
    "datetime": datetime,
    "time": time,
    "timedelta": timedelta,
    "Decimal": Decimal,
    "UTC": UTC,
    "nan": nan,
    "col": col,
}


def rows_under(header: str) -> list[list[str]]:
    """The cells of a table of the page, without the ticks around code."""
    table = PAGE.partition(header)[2].partition("\n\n")[0].splitlines()[2:]
    return [[cell.strip().strip("`") for cell in line.strip("|").split(" | ")] for line in table]


OPERATIONS = rows_under("| id | text | expression | dict | types of columns |")
VALUES = rows_under("| value | text | in Python |")


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    """The table of the first examples, which are run in a folder of their own."""
    folder = tmp_path_factory.mktemp("page")
    blocks = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    assert len(blocks) == 3
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        exec(compile("\n".join(blocks), "docs/filters.md", "exec"), names := {})
    names["items"].indexes.create("name", kind="fulltext")
    yield names["items"]
    names["store"].close()


def test_every_operator_is_in_the_table_and_in_its_order():
    assert [row[0] for row in OPERATIONS] == list(OPERATORS)


@pytest.mark.parametrize(
    ("operator", "typed", "built", "query_text", "kinds"), OPERATIONS, ids=lambda cell: cell
)
def test_all_three_ways_in_ask_for_the_same(shop, operator, typed, built, query_text, kinds):
    tree = parse(typed)
    assert tree.operator == operator
    assert eval(built, dict(NAMES)) == tree
    query = eval(query_text)
    assert isinstance(from_mongo(query), Filter)
    actual = [shop.read(["_id"], where=where).column(0).to_pylist() for where in (typed, query)]
    assert actual[0] == actual[1]
    assert 0 < len(actual[0]) < shop.num_rows
    assert TYPES_OF_COLUMNS[OPERATORS[operator].kinds] == kinds


@pytest.mark.parametrize(("what", "typed", "python"), VALUES, ids=lambda cell: cell)
def test_values_are_typed_as_the_page_says(what, typed, python):
    value, expected = parse(f"a ~ {typed}").values[0], eval(python, dict(NAMES))
    assert type(value) is type(expected)
    assert repr(value) == repr(expected) or value == expected


def test_the_mistake_is_shown_as_the_page_shows_it(shop):
    (message,) = re.findall(r"```text\n(.*?)```", PAGE, re.DOTALL)
    with pytest.raises(UnknownColumn) as caught:
        shop.count(message.splitlines()[1].strip())
    assert f"{caught.value}\n" == message


@pytest.mark.parametrize("command", re.findall(r"^lamella .*", PAGE, re.MULTILINE))
def test_commands_do_what_the_page_says(shop, command, monkeypatch, capsys):
    monkeypatch.chdir(shop.store.path.parent)
    assert cli.main(shlex.split(command)[1:]) == 0
    assert re.search(r"table .*120|1 row|2 rows", capsys.readouterr().out)


def test_conditions_on_null_are_not_met_and_their_opposites_are(shop):
    for where in ("price != 4", "price not in (4)", "not price = 4"):
        assert shop.count(f"({where}) and price is null") == 1
    assert shop.count("price = 4 and price is null") == 0


def test_a_zone_that_duckdb_wrote_is_utc(tmp_path):
    import duckdb

    from lamella import open_dataset

    with duckdb.connect() as engine:
        engine.execute("set timezone = 'America/New_York'")
        engine.execute("create table t as select timestamptz '2013-01-01 05:00:00' as at")
        engine.execute(f"copy t to '{tmp_path / 'at.parquet'}' (format parquet)")
    assert open_dataset(tmp_path / "at.parquet").count("at = 2013-01-01 10:00") == 1


@pytest.mark.slow
def test_sixty_groups_within_each_other_run_and_ten_thousand_conditions(shop):
    deep = "price = 4"
    for level in range(60):
        deep = f"({deep}) {'and' if level % 2 else 'or'} city is null"
    assert shop.count(deep) == shop.count("city is null")
    assert shop.count(" or ".join(f"stock = {n}" for n in range(10_000))) == shop.num_rows


@pytest.mark.parametrize(
    "query",
    [
        {"$comment": "x"},
        {"$text": {"$search": "x"}},
        {"$where": "x"},
        {"name": {"$regex": "x", "$options": "x"}},
        {"name": {"$in": [re.compile("x")]}},
        {"tags": "new"},
    ],
)
def test_forms_of_mongodb_that_the_page_says_are_refused(shop, query):
    with pytest.raises((BadFilter, UnknownColumn)):
        shop.count(query)


@pytest.mark.parametrize(
    ("query", "rows"),
    [
        ({"size": {"w": 40, "h": 80}}, ["chair"]),
        ({"size": {"h": 80}}, []),
        ({"tags": ["new"]}, ["lamp"]),
        ({"$not": {"price": {"$gt": 10}}}, ["lamp", ""]),
        ({"city": {"$exists": True}}, ["chair", "table", ""]),
        ({"stock": "17"}, ["chair"]),
    ],
)
def test_forms_of_mongodb_mean_what_the_page_says(shop, query, rows):
    assert shop.read(where=query)["name"].to_pylist() == rows


@pytest.mark.parametrize(("operator", "spelling"), ALSO)
def test_the_page_names_what_is_read_too(operator, spelling):
    assert f"`{spelling.partition('{')[0].strip()}`" in PAGE


def test_greek_is_folded_letter_by_letter_but_not_by_patterns(shop):
    words = shop.store.create_table("words", {"s": ["οδος", "ΟΔΟΣ", "ſ"]})
    assert words.count("s = 'ΟΔΟΣ' in any case") == 1
    assert words.count("s ~ /^ΟΔΟΣ$/i") == 2
    assert (words.count("s = 'S' in any case"), words.count("s ~ /^S$/i")) == (0, 1)
