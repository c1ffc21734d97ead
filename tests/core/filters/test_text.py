"""Filters as text: what is written reads back as the same tree, and mistakes are shown where they stand."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lamella.core.errors import BadFilter, UnknownColumn
from lamella.core.filters import OPERATORS, And, Filter, Not, Or, Predicate, parse, to_text
from lamella.core.filters.expr import Reference
from lamella.core.filters.operators import Arity
from lamella.core.filters.text.lexer import ALSO
from lamella.core.query.expressions import col
from tests.slow_tests import examples

RUNS = examples(60)
FLIGHTS = pa.schema(
    [
        ("dep_delay", pa.int16()),
        ("carrier", pa.string()),
        ("origin", pa.string()),
        ("time_hour", pa.timestamp("us", "America/New_York")),
        ("late", pa.bool_()),
        ("stops", pa.list_(pa.string())),
    ]
)


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        (
            "dep_delay > 60 and carrier in ('AA', 'UA') and not origin like 'J%'",
            (col("dep_delay") > 60) & col("carrier").is_in(["AA", "UA"]) & ~col("origin").like("J%"),
        ),
        ("a = 1 or b = 2 and c = 3", (col("a") == 1) | ((col("b") == 2) & (col("c") == 3))),
        ("(a = 1 or b = 2) and c = 3", ((col("a") == 1) | (col("b") == 2)) & (col("c") == 3)),
        ("a = 1 and (b = 2 and c = 3)", And((col("a") == 1, (col("b") == 2) & (col("c") == 3)))),
        ("not not a = 1", Not(Not(col("a") == 1))),
        ("a not like 'x%'", Not(col("a").like("x%"))),
        ("not a in (1)", Not(col("a").is_in([1]))),
        ("a not in (1)", col("a").not_in([1])),
        ("a in ()", col("a").is_in([])),
        ("all()", And(())),
        ("any(a = 1)", Or((col("a") == 1,))),
        ("all(a = 1, b = 2 or c = 3)", And((col("a") == 1, (col("b") == 2) | (col("c") == 3)))),
        ("all = 1 and any > 2", None),
        ("delay BETWEEN 60 AND 90 Or Late Is True", col("delay").between(60, 90) | col("Late").is_true()),
        ("a ~ /^x\\/y\\d/", col("a").matches("^x/y\\d")),
        ("a ~ /x.y/is", col("a").matches("(?s)x.y", ignore_case=True)),
        ("a matches 'x'", col("a").matches("x")),
        ("carrier = 'aa' in any case", col("carrier").equals("aa", ignore_case=True)),
        ("a is null and b is not null", col("a").is_null() & col("b").not_null()),
        ("a < b", Predicate("a", "lt", (Reference("b"),))),
        ("\"post code\" = 'it''s \"1\"'", col("post code") == 'it\'s "1"'),
        (
            "address.\"post code\" = '1' and a.b.0 = 1",
            (col("address.post code") == "1") & (col("a.b.0") == 1),
        ),
        ("day >= 2013-01-31", col("day") >= dt.date(2013, 1, 31)),
        ("t < 2013-01-31 17:30", col("t") < dt.datetime(2013, 1, 31, 17, 30)),
        ("t < 2013-01-31T17:30:05.25Z", col("t") < dt.datetime(2013, 1, 31, 17, 30, 5, 250_000, dt.UTC)),
        ("t = 2013-01-31 17:30:00.123456789", col("t") == "2013-01-31 17:30:00.123456789"),
        ("c > 17:30", col("c") > dt.time(17, 30)),
        (
            "a = 1_000 and b = -2.5 and c = .5e3",
            (col("a") == 1000) & (col("b") == -2.5) & (col("c") == 500.0),
        ),
        ("a = 0.12345678901234567890", col("a") == Decimal("0.12345678901234567890")),
        ("a = 1e22 and b = 1e23", (col("a") == 1e22) & (col("b") == Decimal("1E+23"))),
        ("a = decimal '1.10' and b = x'00ff'", (col("a") == Decimal("1.10")) & (col("b") == b"\x00\xff")),
        ("a = nan or a = -inf", col("a").equals(math.nan) | (col("a") == -math.inf)),
        ("a mod 7 = 3 and b % -7 = 3", col("a").mod(7, 3) & col("b").mod(-7, 3)),
        ("t has 'x' and not t has any of (1, 2)", col("t").has("x") & ~col("t").has_any([1, 2])),
        (
            "t has item where (item > 1 and (item < 5 or item = 9))",
            col("t").elem_match((col("item") > 1) & ((col("item") < 5) | (col("item") == 9))),
        ),
        (
            "a has type ('number', 'null') and b exists",
            col("a").has_type("number", "null") & col("b").exists(),
        ),
        ("a==1 and b<>2", (col("a") == 1) & (col("b") != 2)),
        ("größe > 1\n\tand 価格 < 2", (col("größe") > 1) & (col("価格") < 2)),
    ],
)
def test_text_means_what_it_reads_like(text: str, tree: Filter | None) -> None:
    if tree is None:
        with pytest.raises(BadFilter, match="in double quotes"):
            parse(text)
    else:
        assert parse(text) == tree


@pytest.mark.parametrize(
    ("value", "kind"), [("1", int), ("1.0", float), ("1e3", float), ("'1'", str), ("true", bool)]
)
def test_values_have_the_type_they_look_like(value: str, kind: type) -> None:
    tree = parse(f"a = {value}")
    assert isinstance(tree, Predicate)
    assert type(tree.values[0]) is kind


NAMES = st.sampled_from(
    ["a", "delay", "address.city", "and", "null", "in", "a b", 'a"b', "", "é.😀", "x", "item"]
)
ZONES = st.sampled_from([None, dt.UTC, dt.timezone(-dt.timedelta(hours=9, minutes=30))])
VALUES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.binary()
    | st.decimals(allow_nan=False)
    | st.dates()
    | st.times().map(lambda time: time.replace(fold=0))
    | st.datetimes(timezones=ZONES).map(lambda moment: moment.replace(fold=0))
    | NAMES.map(Reference)
)


def predicates(operator_id: str, inside: st.SearchStrategy[Filter]) -> st.SearchStrategy[Filter]:
    operator = OPERATORS[operator_id]
    strategy = inside if "({0})" in operator.spelling else VALUES
    least = max(operator.arity.value, 0)
    values = st.lists(strategy, min_size=least, max_size=5 if operator.arity is Arity.MANY else least)
    return st.builds(Predicate, NAMES | st.text(), st.just(operator_id), values.map(tuple), st.booleans())


SIMPLE = st.sampled_from(["eq", "is_null", "between", "in", "regex"]).flatmap(
    lambda operator: predicates(operator, st.nothing())
)


def grown(inner: st.SearchStrategy[Filter]) -> st.SearchStrategy[Filter]:
    some = st.lists(inner, max_size=3).map(tuple)
    return some.map(And) | some.map(Or) | inner.map(Not)


TREES = st.recursive(SIMPLE, grown, max_leaves=5)


@pytest.mark.slow(except_every=2)
@pytest.mark.parametrize("operator", OPERATORS)
@settings(max_examples=RUNS // 6)
@given(data=st.data())
def test_every_operator_reads_back_as_it_was(operator: str, data: st.DataObject) -> None:
    tree = data.draw(predicates(operator, TREES))
    text = to_text(tree)
    assert parse(text) == tree
    assert parse(f"not ({text}) or {text}") == Or((Not(tree), tree))


@settings(max_examples=RUNS)
@given(tree=TREES)
def test_every_tree_reads_back_as_it_was(tree: Filter) -> None:
    again = parse(to_text(tree))
    assert again == tree
    assert repr(again) == repr(tree)


@pytest.mark.parametrize(("operator", "spelling"), ALSO)
def test_other_spellings_mean_the_same(operator: str, spelling: str) -> None:
    expected = OPERATORS[operator].spelling.format(5, 3)
    assert parse(f"a {spelling.format(5, 3)}") == parse(f"a {expected}")


def test_large_floats_are_written_with_all_their_digits() -> None:
    assert to_text(col("a").is_in([1e22, 1e23])) == "a in (1e+22, 99999999999999991611392.0)"


def test_values_of_numpy_and_arrow_are_written_too() -> None:
    assert to_text(col("a").is_in([np.int8(1), np.float32(0.5), pa.scalar("x")])) == "a in (1, 0.5, 'x')"


@pytest.mark.parametrize(
    ("tree", "reason"),
    [
        (col("a") == 10**3000, "2000 digits"),
        (col("a") == [object()], "cannot be written"),
        (Predicate("a", "betwen", (1, 2)), "Did you mean 'between'"),
        (Predicate("a", "between", (1,)), "takes two values"),
    ],
)
def test_what_has_no_form_is_refused(tree: Filter, reason: str) -> None:
    with pytest.raises(BadFilter, match=reason):
        to_text(tree)


# Mistakes: the carets stand under what is marked between « and ».
MISTAKES = [
    ("«»", "It is empty"),
    ("«dep_dealy» > 60", "Did you mean 'dep_delay'"),
    ("dep_delay > 60 «adn» carrier = 'AA'", "Did you mean 'and'"),
    ("dep_delay > 60 «or_else» late is true", "'and' or 'or' is expected"),
    ("carrier «startswith» 'A'", "Did you mean 'starts with'"),
    ("dep_delay «is» 5", "There are: .*is null"),
    ("dep_delay > «'soon'»", "'soon' is not a number"),
    ("late is true and carrier contains «5»", "not text"),
    ("carrier = «AA»", "If it is text, write it in single quotes: 'AA'"),
    ('carrier = «"AA"»', "If it is text, write it in single quotes: 'AA'"),
    ("carrier contains «AA»", "If it is text, write it in single quotes: 'AA'"),
    ("stops has item where («itm» = 'JFK')", "no column 'itm'. Did you mean 'item'"),
    ("stops has item where (item > «5») and late is true", "not text"),
    ("stops has any of «'JFK'»", r"Write \('JFK'\)"),
    ("«late» and dep_delay > 1", "late is true"),
    ("«1» < dep_delay", "a value, not a column"),
    ("dep_delay > 1 «<» 5", "dep|delay between"),
    ("«(»dep_delay > 1", "never closed"),
    ("dep_delay > 1«)»", "This closing parenthesis has no opening one"),
    ("carrier in «'AA'»", r"Write \('AA'\)"),
    ("carrier in ('AA' «'UA'»)", "comma"),
    ("carrier in «(»'AA'", "never closed"),
    ("carrier = «'»AA", "single quote"),
    ("«\"»carrier = 'AA'", "double quote"),
    ("carrier ~ «/»AA", "slash"),
    ("dep_delay =«>» 5", "A value is expected"),
    ("dep_delay > 60 «&»& late is true", "Write 'and'"),
    ("dep«-»delay > 5", "double quotes"),
    ("dep_delay > «60abc»", "neither a number nor a date"),
    ("dep_delay between 1 «or» 5", "'and' is expected here"),
    ("«and» dep_delay > 1", "missing before 'and'"),
    ("dep_delay > 1 and«»", "A condition is missing"),
    ("carrier ~ «/b(a/»", r"Unclosed bracket \( at character 2"),
    ("dep_delay in (1, 5, «'x'», 2)", "not a number"),
    ("«dep_delay contains 'x'»", "does not fit"),
    ("carrier ~ «/a/x»", "no flag 'x'"),
    ("time_hour > «2013-13-45»", "month"),
    ("time_hour > «timestamp 'soon'»", "isoformat"),
    ("dep_delay = «1e99999999»", "2000 digits"),
    ("dep_delay = 1«,» late is true", "'and' or 'or'"),
    ("dep_delay > 1\nand «dep_dealy» = 1\nor late is true", "Did you mean 'dep_delay'"),
]


@pytest.mark.parametrize(("marked", "reason"), MISTAKES)
def test_a_mistake_is_shown_where_it_stands(marked: str, reason: str) -> None:
    before, _, tail = marked.partition("«")
    wrong, _, after = tail.partition("»")
    with pytest.raises((BadFilter, UnknownColumn), match=reason) as caught:
        parse(before + wrong + after, FLIGHTS, "flights")
    assert caught.value.span == (len(before), len(before) + len(wrong))
    *_message, line, carets = str(caught.value).split("\n")
    column = len(before.rpartition("\n")[2])
    assert line[2:] == (before + wrong + after).split("\n")[before.count("\n")]
    assert carets == " " * (column + 2) + "^" * max(1, len(wrong))


def test_of_a_long_text_only_the_place_is_shown() -> None:
    text = " and ".join(["dep_delay > 1"] * 50 + ["dep_dealy > 1"] + ["late is true"] * 50)
    with pytest.raises(UnknownColumn) as caught:
        parse(text, FLIGHTS, "flights")
    _message, line, carets = str(caught.value).split("\n")
    assert len(line) < 90
    assert line[carets.index("^") : len(carets)] == "dep_dealy"


@pytest.mark.slow
def test_ten_thousand_terms_are_written_and_read() -> None:
    tree = Or(tuple((col("a") == n) & (col("b") == "x") for n in range(10_000)))
    assert parse(to_text(tree)) == tree


@pytest.mark.slow
@pytest.mark.parametrize("deep", ["(" * 20_000 + "a = 1" + ")" * 20_000, "not " * 20_000 + "a = 1"])
def test_depth_is_no_limit(deep: str) -> None:
    tree = parse(deep)
    assert parse(to_text(tree)) == tree


def test_groups_within_groups_however_deep_are_written_and_read() -> None:
    tree: Filter = col("a") == 1
    for level in range(5_000):
        tree = And((tree, col("b") == 2)) if level % 2 else Or((tree,))
    assert parse(to_text(tree)) == tree


WORDS = "a b and or not all any in is null has item where between like nan size exists"
SIGNS = "( ) , = < ~ % 'x' 1 2013-01-01 17:30 /x/ \"q\" ' \" / - . 😀"
SCRAPS = st.sampled_from([*WORDS.split(), *SIGNS.split()])


@settings(max_examples=2 * RUNS)
@given(
    text=st.lists(SCRAPS, max_size=12).map(" ".join) | st.lists(SCRAPS, max_size=8).map("".join) | st.text()
)
def test_whatever_is_typed_is_read_or_refused_with_its_place(text: str) -> None:
    try:
        tree = parse(text)
    except BadFilter as error:
        assert error.span is not None
        start, stop = error.span
        assert 0 <= start <= stop <= len(text)
    else:
        assert parse(to_text(tree)) == tree
