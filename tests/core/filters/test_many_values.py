"""Thousands of values are read all at once, and mean what each of them means alone."""

from __future__ import annotations

from enum import IntEnum
from fractions import Fraction
from math import inf, nan
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from lamella import col
from lamella.core.errors import BadFilter
from lamella.core.filters.binding import BoundPredicate, bind
from lamella.core.filters.to_arrow import FEW_VALUES, mask
from lamella.core.filters.values import are_exact, convert, narrow_values


class Rating(IntEnum):
    GOOD = 4


class Name(str):
    pass


KINDS = [pa.int8(), pa.uint64(), pa.int64(), pa.float32(), pa.float64(), pa.decimal128(9, 2)]
TEXTS = [pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int32(), pa.string())]
NUMBERS: list[list[Any]] = [
    [1, 2, 3],
    [1, 2.5, 3],
    [1, np.int16(2), np.float32(0.5)],
    [Rating.GOOD, 4],
    [-1, 300, 2**63, 2**64, -(2**70)],
    [1, "2", "3.5"],
    [1, inf, -inf],
    [10**400, 0],
]


def given(kind: pa.DataType, values: list[Any]) -> BoundPredicate:
    bound = bind(col("x").is_in(values), pa.schema([("x", kind)]), "rows")
    assert isinstance(bound, BoundPredicate)
    return bound


def told(values: list[Any]) -> list[tuple[type, Any]]:
    return [(type(value), value) for value in values]


@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("values", NUMBERS, ids=repr)
def test_numbers_are_read_as_each_alone_is(kind: pa.DataType, values: list[Any]) -> None:
    bound, alone = given(kind, values), [convert(value, kind) for value in values]
    assert told(list(bound.values)) == told([value.shown_value for value in alone])
    assert told(list(bound.exact)) == told([value.exact for value in alone])


@pytest.mark.parametrize("kind", TEXTS, ids=str)
@pytest.mark.parametrize("values", [["a", "ü", ""], [Name("a"), "b"], [np.str_("a"), "b"]], ids=repr)
def test_texts_are_read_as_each_alone_is(kind: pa.DataType, values: list[Any]) -> None:
    bound, alone = given(kind, values), [convert(value, kind) for value in values]
    assert told(list(bound.exact)) == told([value.exact for value in alone])


@pytest.mark.parametrize(
    ("kind", "values", "refused"),
    [
        (pa.int64(), [1, True, 2], "true is not a number"),
        (pa.int64(), [1, None], "null can be compared only with"),
        (pa.int64(), [1, nan], "cannot hold nan"),
        (pa.int64(), [1, "one"], "'one' is not a number"),
        (pa.string(), ["a", None], "null can be compared only with"),
        (pa.string(), ["a", b"1"], "b'1' is not text"),
        (pa.string(), ["a", "\ud800"], "half a character"),
        (pa.string(), ["\ud83d", "\ude00"], "half a character"),
        (pa.string(), [1, True], "true is not text"),
        (pa.bool_(), [1, 0], "neither true nor false"),
        (pa.date32(), [1, 2], "is not a date"),
    ],
)
def test_one_that_does_not_fit_is_refused_among_those_that_do(
    kind: pa.DataType, values: list[Any], refused: str
) -> None:
    with pytest.raises(BadFilter) as error:
        given(kind, values)
    assert refused in str(error.value).casefold()


def test_what_is_told_apart_is_not_read_all_at_once() -> None:
    for values in ([], [True, 1], [1, 2.0], [Rating.GOOD], [np.int64(1)], [None]):
        assert not are_exact(values, pa.int64())
    assert not are_exact([Name("a")], pa.string())
    assert not are_exact([1, 2], pa.decimal128(9, 2))
    assert not are_exact(["1", "2"], pa.int64())
    assert are_exact([1, 2**70], pa.int64())
    assert are_exact([1, 2], pa.float32())


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([], []),
        ([3, -128, 127], [3, -128, 127]),
        ([3, 128, -129, 2**70], [3]),
        ([Fraction(5, 2), 2, inf, -inf], [2]),
    ],
)
def test_a_column_is_asked_for_what_it_can_hold(values: list[Any], expected: list[int]) -> None:
    assert list(narrow_values(values, -128, 127)) == expected


@pytest.mark.parametrize("kind", [pa.int8(), pa.uint64(), pa.int64(), pa.date32()], ids=str)
def test_numbers_beyond_a_column_are_met_by_none_of_its_rows(kind: pa.DataType) -> None:
    rows = pa.table({"x": pa.array([1, 2, None], pa.int32()).cast(kind)})
    expected: list[Any] = ["1970-01-02", "9999-12-31"] if kind == pa.date32() else [1, 2**70, -(2**70), 300]
    condition = bind(col("x").is_in(expected), rows.schema, "rows")
    none = bind(col("x").not_in(expected), rows.schema, "rows")
    assert mask(condition, rows).to_pylist() == [True, False, False]
    assert mask(none, rows).to_pylist() == [False, True, True]


def test_nan_among_many_is_found_in_a_column_of_floats() -> None:
    rows = pa.table({"x": [1.0, nan, 2.0, None]})
    actual = mask(bind(col("x").is_in([1, nan, 2**60 + 1]), rows.schema, "rows"), rows)
    assert actual.to_pylist() == [True, True, False, False]


def test_a_column_among_the_values_is_refused() -> None:
    with pytest.raises(BadFilter, match="cannot be given column 'y'"):
        bind(col("x").is_in([1, col("y")]), pa.schema([("x", pa.int64()), ("y", pa.int64())]), "rows")


@pytest.mark.parametrize("many", [1, FEW_VALUES, FEW_VALUES + 1])
@pytest.mark.parametrize(
    "kind", [pa.int8(), pa.float32(), pa.decimal128(21, 2), pa.string(), pa.binary(), pa.bool_()], ids=str
)
def test_few_values_and_many_are_found_alike(kind: pa.DataType, many: int) -> None:
    values: list[Any] = [None, *range(2 if pa.types.is_boolean(kind) else 8)]
    if pa.types.is_binary(kind) or pa.types.is_string(kind):
        column = pa.array([None if value is None else str(value) for value in values]).cast(kind)
    else:
        column = pa.array(values).cast(kind)
    expected = [column[at % (len(values) - 1) + 1] for at in range(many)]
    rows = pa.table({"x": column})
    actual = mask(bind(col("x").is_in(expected), rows.schema, "rows"), rows)
    assert actual.to_pylist() == [value.is_valid and value in expected for value in column]
    assert actual.null_count == 0


def test_nan_and_both_zeros_are_found_among_few() -> None:
    rows = pa.table({"x": [0.0, -0.0, nan, -nan, 1.0, None]})
    actual = mask(bind(col("x").is_in([0, nan]), rows.schema, "rows"), rows)
    assert actual.to_pylist() == [True, True, True, True, False, False]
