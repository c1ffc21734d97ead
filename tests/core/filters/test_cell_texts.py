"""Texts of whole columns are those of their values one by one."""

from __future__ import annotations

from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lamella.core.filters.cell_texts import text_array, whole_texts
from tests.slow_tests import examples

INT64 = st.integers(-(2**63), 2**63 - 1)
MOMENTS = st.integers(-(10**17), 10**17) | st.integers(-(10**9), 10**9).map(lambda n: n * 10**6)
COLUMNS = [
    (pa.int64(), INT64),
    (pa.uint8(), st.integers(0, 255)),
    (pa.float64(), st.floats() | st.floats(-1e17, 1e17) | st.floats(-1e-3, 1e-3)),
    (pa.float32(), st.floats(width=32)),
    (pa.decimal128(10, 3), st.decimals(-(10**6), 10**6, places=3)),
    (pa.decimal128(20, 9), st.decimals(-1, 1, places=9)),
    (pa.bool_(), st.booleans()),
    (pa.string(), st.text()),
    (pa.string_view(), st.text()),
    (pa.binary(), st.binary()),
    (pa.list_(pa.string()), st.lists(st.text(max_size=4), max_size=3)),
]
COUNTS = [
    (pa.date32(), st.integers(-(2**31), 2**31 - 1)),
    (pa.timestamp("s"), st.integers(-(10**12), 10**12)),
    (pa.timestamp("us"), MOMENTS),
    (pa.timestamp("ns"), INT64),
    (pa.timestamp("us", "UTC"), MOMENTS),
    (pa.timestamp("ms", "Asia/Kolkata"), st.integers(-(10**13), 10**13)),
    (pa.time32("ms"), st.integers(0, 86_399_999)),
    (pa.time64("us"), st.integers(0, 86_399_999_999)),
    (pa.duration("ms"), st.integers(-(10**12), 10**12)),
]


@pytest.mark.parametrize(("type_", "values"), COLUMNS, ids=lambda parameter: str(parameter)[:20])
@settings(max_examples=examples(full=12), deadline=None)
@given(data=st.data())
def test_texts_of_a_column_are_those_of_its_values(type_, values, data) -> None:
    array = pa.array(data.draw(st.lists(st.none() | values, max_size=8)), type_)
    assert text_array(array).to_pylist() == whole_texts(array)


@pytest.mark.parametrize(("type_", "counts"), COUNTS, ids=lambda parameter: str(parameter)[:20])
@settings(max_examples=examples(full=12), deadline=None)
@given(data=st.data())
def test_texts_of_times_are_those_of_their_values(type_, counts, data) -> None:
    width = pa.int64() if type_.bit_width == 64 else pa.int32()
    array = pa.array(data.draw(st.lists(st.none() | counts, max_size=8)), width).cast(type_)
    assert text_array(array).to_pylist() == whole_texts(array)


@pytest.mark.parametrize("kind", [pa.float64(), pa.float32()])
def test_texts_of_floats_of_each_size_are_those_of_their_values(kind) -> None:
    array = pa.array([m * 10.0**n for n in range(-20, 20) for m in (1, -1.5, 9, 1.2345678, 0.0)], kind)
    assert text_array(array).to_pylist() == whole_texts(array)


def test_texts_of_a_dictionary_and_of_what_is_not_utf8() -> None:
    assert text_array(pa.array(["a", None, "a"]).dictionary_encode()).to_pylist() == ["a", None, "a"]
    broken = pa.array([b"ab\xff", b"c", None]).view(pa.string())
    assert text_array(broken).to_pylist() == ["ab\\xff", "c", None]
    assert text_array(pa.array([1, 2, None]).slice(1)).to_pylist() == ["2", None]
    assert text_array(pa.array([1e20, 0.5, None]).slice(0, 2)).to_pylist() == ["1e+20", "0.5"]


def test_decimals_have_all_their_places_and_no_exponent() -> None:
    values = [Decimal(0), Decimal("-0.00000001"), Decimal("1.5"), None]
    texts = ["0.00000000", "-0.00000001", "1.50000000", None]
    for column in (pa.array(values, pa.decimal128(12, 8)), pa.array(values, pa.decimal256(60, 8))):
        assert whole_texts(column) == text_array(column).to_pylist() == texts
        assert whole_texts(pa.chunked_array([column, column])) == texts * 2
    thousands = pa.array([12], pa.int64()).cast(pa.decimal128(20, 0)).view(pa.decimal128(20, -3))
    assert whole_texts(thousands) == ["12000"]


def test_an_interval_of_parquet_is_written_in_hexadecimal() -> None:
    three_days = (0).to_bytes(4, "little") + (3).to_bytes(4, "little") + bytes(4)
    assert whole_texts(pa.array([three_days, None], pa.binary(12))) == ["0x000000000300000000000000", None]
