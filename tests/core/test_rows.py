"""Python rows become Arrow with every value kept, or are refused."""

from __future__ import annotations

import datetime as dt
from collections import Counter, OrderedDict, defaultdict
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamella.core.arrow.from_python import blocks, to_table
from lamella.core.errors import BadData

INT64 = st.integers(-(2**63), 2**63 - 1)


def table(data: object) -> pa.Table:
    return to_table(data)


@given(
    st.lists(st.fixed_dictionaries({"a": INT64, "b": INT64}), max_size=30), st.sampled_from([None, 1.5, "x"])
)
def test_rows_come_back_whatever_follows_the_integers(rows: list[dict], last: object) -> None:
    given_rows = [*rows, {"a": 1, "b": last}] if not isinstance(last, (float, str)) or not rows else rows
    assert table(given_rows).to_pylist() == given_rows


@pytest.mark.parametrize("count", [999, 1_000, 1_001, 100_500])
def test_blocks_join_without_a_seam(count: int) -> None:
    rows = [{"a": i, "b": -i} for i in range(count)]
    assert table(rows).to_pylist() == rows


def test_a_float_after_a_thousand_integers_widens_the_column_exactly() -> None:
    rows = [{"a": i, "b": 1} for i in range(1_500)] + [{"a": 0.5, "b": 2}]
    actual = table(rows)
    assert actual.schema.field("a").type == pa.float64()
    assert actual.to_pylist() == rows


def test_an_integer_that_no_double_holds_is_not_rounded() -> None:
    with pytest.raises(BadData, match="column 'a'"):
        table([{"a": 2**53 + 1, "b": 1}] * 1_000 + [{"a": 0.5, "b": 1}])


def test_keys_may_vary_and_change_their_order() -> None:
    rows = [{"a": 1, "b": 2}, {"b": 3, "a": 4}, {"a": 5, "c": 6}]
    assert table(rows).to_pylist() == [
        {"a": 1, "b": 2, "c": None},
        {"a": 4, "b": 3, "c": None},
        {"a": 5, "b": None, "c": 6},
    ]


def test_values_of_many_kinds_survive() -> None:
    row = {
        "day": dt.date(2013, 1, 1),
        "at": dt.datetime(2013, 1, 1, 5, tzinfo=dt.UTC),
        "price": Decimal("1.10"),
        "raw": b"\x00\xff",
        "tags": ["a", None],
        "place": {"lat": 1.5},
        "flag": True,
    }
    assert table([row, {}]).to_pylist() == [row, dict.fromkeys(row)]


def test_text_among_integers_is_refused_by_column() -> None:
    with pytest.raises(BadData, match="column 'a'"):
        table([{"a": 1, "b": 1}, {"a": "x", "b": 1}])


def test_what_is_no_row_is_refused_by_number() -> None:
    with pytest.raises(BadData, match="row 1 is an int"):
        table([{"a": 1}, 5])
    with pytest.raises(BadData, match="a str cannot become rows"):
        table("abc")


def test_columns_have_to_be_of_one_length() -> None:
    with pytest.raises(BadData, match="'a' has 1, 'b' has 2"):
        table({"a": [1], "b": [1, 2]})


def test_numpy_and_arrow_columns_are_taken_as_they_are() -> None:
    actual = table({"a": np.arange(3), "b": pa.array(["x", None, "z"])})
    assert actual.to_pydict() == {"a": [0, 1, 2], "b": ["x", None, "z"]}


ZONED = dt.datetime(2020, 1, 1, tzinfo=dt.UTC)
DAY, TIME = dt.date(2020, 1, 1), dt.datetime(2020, 1, 2, 3, 4, 5, 6)
MIDNIGHT = dt.datetime(2020, 1, 1)

MIXED = [
    (DAY, TIME, [MIDNIGHT, TIME]),
    (TIME, DAY, [TIME, MIDNIGHT]),
    (True, 5, [1, 5]),
    (5, False, [5, 0]),
    (True, 0.5, [1.0, 0.5]),
    (3, 0.5, [3.0, 0.5]),
    ([], [1], [[], [1]]),
    ([[]], [["x"]], [[[]], [["x"]]]),
    ([1], [0.5], [[1.0], [0.5]]),
    ({"a": None}, {"a": 1}, [{"a": None}, {"a": 1}]),
    ({"a": DAY}, {"a": TIME}, [{"a": MIDNIGHT}, {"a": TIME}]),
    (2**70, 1, [Decimal(2**70), Decimal(1)]),
    (1, -(2**70), [Decimal(1), Decimal(-(2**70))]),
    (np.array([[1, 2], [3, 4]]), np.array([[5]]), [[[1, 2], [3, 4]], [[5]]]),
    ({}, {"a": 1}, [{"a": None}, {"a": 1}]),
    ({"a": []}, {"a": ["x"], "b": 1}, [{"a": [], "b": None}, {"a": ["x"], "b": 1}]),
]


@pytest.mark.parametrize(("first", "then", "expected"), MIXED)
@pytest.mark.parametrize("count", [1, 1_000])
def test_where_a_chunk_ends_makes_no_difference(
    first: object, then: object, expected: list, count: int
) -> None:
    rows = table([{"x": first}] * count + [{"x": then}])
    values = rows.column("x").to_pylist()
    assert [values[0], values[-1]] == expected
    assert [type(v) for v in (values[0], values[-1])] == [type(v) for v in expected]


@pytest.mark.parametrize(
    ("first", "then"),
    [
        (MIDNIGHT, ZONED),
        (DAY, ZONED),
        (2**53 + 1, 0.5),
        ("x", 1),
        (b"x", "y"),
        ([MIDNIGHT], [ZONED]),
        (10**400, 0.5),
    ],
)
def test_values_that_would_change_are_refused(first: object, then: object) -> None:
    for rows in ([{"x": first}, {"x": then}], [{"x": then}, {"x": first}]):
        with pytest.raises(BadData, match="column 'x'"):
            table(rows)


def test_an_array_of_objects_is_looked_at_like_a_list() -> None:
    assert table({"x": np.array([DAY, TIME], object)}).column("x").to_pylist() == [MIDNIGHT, TIME]


@pytest.mark.parametrize("values", [np.zeros((2, 2)), np.zeros((2, 1), np.int16), np.array(5)])
def test_an_array_of_other_than_one_dimension_is_refused(values: np.ndarray) -> None:
    with pytest.raises(BadData, match=f"column 'x' is an array of {values.ndim} dimensions"):
        table({"x": values})


@pytest.mark.parametrize("kind", [np.int64, np.int32, np.int8, np.float64, np.bool_])
def test_what_is_masked_is_null(kind: type) -> None:
    masked = np.ma.array([1, 0, 1, 0, 1, 0, 1, 0, 1], kind, mask=[0, 1, 0, 0, 0, 0, 0, 0, 1])
    assert table({"x": masked}).column("x").to_pylist() == [1, None, 1, 0, 1, 0, 1, 0, None]
    assert table({"x": np.ma.array([1, 2])}).column("x").to_pylist() == [1, 2]


def test_columns_of_one_name_are_refused() -> None:
    twice = pa.table([[1], [2]], names=["a", "a"])
    for data in (twice, twice.to_reader(), twice.to_batches()[0], {1: [1], "1": [2]}, [{1: 1, "1": 2}]):
        with pytest.raises(BadData, match="2 columns named"):
            table(data)


def test_keys_that_are_numbers_become_names() -> None:
    assert table([{1: 5, 2: 6}]).to_pylist() == table({1: [5], 2: [6]}).to_pylist() == [{"1": 5, "2": 6}]


@pytest.mark.parametrize("before", [0, 1, 1_000, 2_500])
@pytest.mark.parametrize("without", [1, 1_000, 1_001])
def test_rows_without_keys_are_rows_too(before: int, without: int) -> None:
    actual = table([{"a": i} for i in range(before)] + [{}] * without)
    assert actual.num_rows == before + without
    if before:
        assert actual.to_pylist() == [{"a": i} for i in range(before)] + [{"a": None}] * without


@pytest.mark.parametrize("nothing", [{}, [], pa.table({})], ids=["dict", "rows", "Arrow"])
def test_nothing_is_no_rows(nothing: Any) -> None:
    assert to_table(nothing).num_rows == 0
    assert sum(block.num_rows for block in blocks(nothing)) == 0


@pytest.mark.parametrize("kind", [Counter, OrderedDict, lambda row: defaultdict(int, row)])
def test_dicts_that_make_up_what_they_lack_are_taken_for_what_they_hold(kind: Any) -> None:
    rows = [kind({"a": 1, "b": 2}), kind({"a": 3, "c": 9})]
    assert table(rows).to_pylist() == [{"a": 1, "b": 2, "c": None}, {"a": 3, "b": None, "c": 9}]
    assert [dict(row) for row in rows] == [{"a": 1, "b": 2}, {"a": 3, "c": 9}]


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.string_view()])
@pytest.mark.parametrize("nested", [False, True])
@pytest.mark.parametrize("as_batches", [False, True])
def test_text_that_is_no_utf8_is_refused_by_column(kind: pa.DataType, nested: bool, as_batches: bool) -> None:
    text = pa.array([b"fine", b"caf\xe9"]).view(pa.string()).cast(kind, safe=False)
    column = pa.StructArray.from_arrays([text], ["inside"]) if nested else text
    given_rows: Any = pa.table({"n": [1, 2], "word": column})
    if as_batches:
        given_rows = pa.RecordBatchReader.from_batches(given_rows.schema, given_rows.to_batches())
    with pytest.raises(BadData, match=r"column 'word' holds text that is not UTF-8.*Give it as binary"):
        table(given_rows)


def test_text_outside_a_slice_is_not_looked_at() -> None:
    text = pa.array([b"caf\xe9", b"fine"]).view(pa.string())
    assert table(pa.table({"word": text}).slice(1)).to_pylist() == [{"word": "fine"}]
