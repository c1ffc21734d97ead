"""Text becomes the type that all values of its column have, and no value changes by it."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamella.core.arrow.arrays import from_values
from lamella.core.datasets.text.types import NULL_MARKERS, find_type, join, read_as, tentative_type, widen

TEXT, INT, DOUBLE = pa.string(), pa.int64(), pa.float64()


def texts(values: list[str | None]) -> pa.Array:
    return from_values(values, pa.string())


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (["1", "-20", "0", None], INT),
        (["9223372036854775807", "-9223372036854775808"], INT),
        (["9223372036854775808"], TEXT),
        (["00501", "1"], TEXT),
        (["-0"], DOUBLE),
        (["0x1F"], TEXT),
        (["+49", "1"], TEXT),
        (["1 000"], TEXT),
        ([" 5", "6 "], INT),
        (["1.5", "2", ".5", "5."], DOUBLE),
        (["1e-05", "1E+16", "1.5e3"], DOUBLE),
        (["12E4", "3E5"], TEXT),
        (["1e400"], TEXT),
        (["1e-400"], TEXT),
        (["007.5"], TEXT),
        (["0.1000000000000000000"], DOUBLE),
        (["1.123456789012345678"], TEXT),
        (["1234567890123456.7"], TEXT),
        (["9007199254740993", "0.5"], TEXT),
        (["nan", "inf"], TEXT),
        (["nan", "1.5", "-inf"], DOUBLE),
        (["1,5"], TEXT),
        (["true", "FALSE", "True"], pa.bool_()),
        (["1", "0"], INT),
        (["yes", "no"], TEXT),
        (["2013-01-31", None], pa.date32()),
        (["2013-02-30"], TEXT),
        (["0000-01-01"], TEXT),
        (["31/01/2013"], TEXT),
        (["2013-01-31 10:00", "2013-01-31T10:00:00.123456"], pa.timestamp("us")),
        (["2013-01-31 10:00:00.123456789"], pa.timestamp("ns")),
        (["2013-01-31T10:00:00Z", "2013-01-31 10:00:00+05:00"], pa.timestamp("us", "UTC")),
        (["2013-01-31T10:00:00Z", "2013-01-31T10:00:00"], TEXT),
        (["2013-01-31", "2013-01-31 10:00"], TEXT),
        (["NA", "NULL"], TEXT),
        (["1", "NA"], INT),
        ([None, None], pa.null()),
        (["", None], TEXT),
    ],
)
def test_the_type_of_a_column(values: list[str | None], kind: pa.DataType) -> None:
    assert find_type(texts(values)) == kind


def test_a_time_with_a_zone_is_the_same_moment_in_utc() -> None:
    times = read_as(texts(["2013-01-31T10:00:00+05:00"]), pa.timestamp("us", "UTC"))
    assert times is not None
    assert times.to_pylist() == [dt.datetime(2013, 1, 31, 5, tzinfo=dt.UTC)]


@pytest.mark.parametrize("marker", NULL_MARKERS)
def test_markers_are_null_among_numbers_and_themselves_among_text(marker: str) -> None:
    assert read_as(texts(["1", marker]), INT).to_pylist() == [1, None]  # type: ignore[union-attr]
    assert find_type(texts(["Oslo", marker])) == TEXT
    assert read_as(texts(["Oslo", marker]), TEXT).to_pylist() == ["Oslo", marker]  # type: ignore[union-attr]


@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1))
def test_written_integers_are_read_back(numbers: list[int]) -> None:
    column = texts([str(n) for n in numbers])
    assert find_type(column) == INT
    assert read_as(column, INT).to_pylist() == numbers  # type: ignore[union-attr]


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1))
def test_written_floats_are_read_back(numbers: list[float]) -> None:
    values = read_as(texts([repr(n) for n in numbers]), DOUBLE)
    assert values is not None
    assert values.to_pylist() == numbers


@given(st.lists(st.text("0123456789.-+eE nNaAiIfFxX", max_size=24), min_size=1, max_size=6))
def test_what_is_read_as_a_number_is_that_number(values: list[str]) -> None:
    column = texts(list(values))
    kind = find_type(column)
    if kind in (INT, DOUBLE):
        for text, number in zip(values, read_as(column, kind).to_pylist(), strict=True):  # type: ignore[union-attr]
            assert _says(text.strip(), number)


def _says(text: str, number: float | None) -> bool:
    if number is None:
        return text in NULL_MARKERS
    if isinstance(number, int):
        return text == str(number)
    if number != number or number in (float("inf"), float("-inf")):
        return text.lower().lstrip("-") in {"nan", "inf"}
    digits = max(1, len(Decimal(text).normalize().as_tuple().digits))
    return Decimal(text) in (Decimal(repr(number)), Decimal(f"%.{digits - 1}e" % number))


KINDS = [pa.null(), pa.bool_(), INT, DOUBLE, pa.date32(), pa.timestamp("us"), pa.timestamp("ns"), TEXT]


@given(st.sampled_from(KINDS), st.sampled_from(KINDS), st.sampled_from(KINDS))
def test_joining_types_does_not_depend_on_order(a: pa.DataType, b: pa.DataType, c: pa.DataType) -> None:
    assert join(a, b) == join(b, a)
    assert join(a, a) == a
    assert join(join(a, b), join(a, b)) == join(a, b)
    assert join(a, TEXT) == TEXT


WRITTEN = st.sampled_from(
    [
        *("1", "9007199254740993", "-0", "0.5", "1.10", "nan", "-inf", "NA", "", " 5", "007", "true", "Oslo"),
        *("2013-01-31", "2013-01-31 10:00", "0001-01-31 10:00", "2013-01-31 10:00:00.123456789"),
        "2013-01-31T10:00:00Z",
    ]
)


@given(st.lists(st.lists(st.none() | WRITTEN, min_size=1, max_size=3), min_size=1, max_size=4))
def test_a_type_found_block_by_block_is_that_of_the_whole_column(blocks: list[list[str | None]]) -> None:
    kind, arrays = tentative_type(texts(blocks[0])), [texts(block) for block in blocks]
    while unfit := [array for array in arrays if read_as(array, kind) is None]:
        wider = widen(kind, unfit[0])
        assert wider != kind
        kind = wider
    assert kind == tentative_type(pa.concat_arrays(arrays))
