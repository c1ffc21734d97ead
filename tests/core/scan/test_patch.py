"""New values go into a column of any type, and into memory that is shared only as a copy."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lamella.core.scan.overlay import FEW_GAPS, Gaps, patch_chunk

VALUES = {
    "bool": (pa.bool_(), [True, False, None]),
    "int8": (pa.int8(), [1, -2, None]),
    "int64": (pa.int64(), [1, None, -(2**60)]),
    "uint16": (pa.uint16(), [1, 2, None]),
    "float": (pa.float32(), [0.5, None, float("inf")]),
    "half": (pa.float16(), [np.float16(0.5), None, np.float16(2)]),
    "text": (pa.string(), ["a", None, "a longer one"]),
    "text view": (pa.string_view(), ["a", None, "one longer than twelve bytes"]),
    "bytes": (pa.large_binary(), [b"", None, b"ab"]),
    "fixed": (pa.binary(3), [b"abc", None, b"xyz"]),
    "day": (pa.date32(), [dt.date(2020, 1, 1), None, dt.date(1960, 1, 1)]),
    "time": (pa.timestamp("us", "UTC"), [dt.datetime(2020, 1, 1, tzinfo=dt.UTC), None]),
    "decimal": (pa.decimal128(30, 2), [Decimal("1.25"), None, Decimal("-10000000000000000000.01")]),
    "large decimal": (pa.decimal256(60, 2), [Decimal("1.25"), None]),
    "kinds": (pa.dictionary(pa.int8(), pa.string()), ["a", None, "b"]),
    "struct": (pa.struct([("x", pa.int64())]), [{"x": 1}, None, {"x": None}]),
    "list": (pa.list_(pa.int64()), [[1, 2], None, []]),
    "null": (pa.null(), [None]),
}


def column(name: str, rows: int, seed: int, nulls: bool = True) -> pa.Array:
    kind, values = VALUES[name]
    usable = values if nulls else [v for v in values if v is not None] or values
    places = np.random.default_rng(seed).integers(0, len(usable), rows)
    return pa.array([usable[i] for i in places], kind)


def expected(base: pa.ChunkedArray, places: np.ndarray, values: pa.Array) -> list[object]:
    rows = base.to_pylist()
    for place, value in zip(places, values.to_pylist(), strict=True):
        rows[place] = value
    return rows


@pytest.mark.slow(except_every=7)
@pytest.mark.parametrize("nulls", [(True, True), (True, False), (False, True), (False, False)])
@pytest.mark.parametrize("name", VALUES)
def test_the_new_values_stand_in_their_places_and_shared_memory_is_left_alone(
    name: str, nulls: tuple[bool, bool]
) -> None:
    whole = column(name, 90, 1, nulls[0])
    base = pa.chunked_array([whole.slice(3, 40), whole.slice(43, 0), whole.slice(50)])
    before = base.to_pylist()
    places = np.unique(np.random.default_rng(2).integers(0, len(base), 25))
    values = column(name, len(places) + 5, 3, nulls[1]).slice(5)
    answer = patch_chunk(base, places, values)
    answer.validate(full=True)
    assert answer.to_pylist() == expected(base, places, values)
    assert base.to_pylist() == before


@pytest.mark.parametrize("name", [n for n in VALUES if n not in ("text view", "half", "null")])
def test_memory_that_was_just_decoded_is_written_to(name: str) -> None:
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({"x": column(name, 1_000, 4)}), sink)
    decoded = pq.ParquetFile(pa.BufferReader(sink.getvalue())).read().column("x")
    places = np.arange(0, 1_000, 7)
    values = column(name, len(places), 5)
    expected_values = expected(decoded, places, values)
    answer = patch_chunk(decoded, places, values.cast(decoded.type), in_place=True)
    answer.validate(full=True)
    assert answer.to_pylist() == expected_values


@pytest.mark.slow(except_every=7)
@pytest.mark.parametrize("count", [1, FEW_GAPS, FEW_GAPS + 1, 80])
@pytest.mark.parametrize("name", VALUES)
def test_rows_are_left_out(name: str, count: int) -> None:
    whole = column(name, 90, 1)
    base = pa.chunked_array([whole.slice(0, 40), whole.slice(45)])
    gone = np.sort(np.random.default_rng(count).choice(len(base), count, replace=False))
    answer = Gaps(gone, len(base)).without(base)
    answer.validate(full=True)
    assert answer.to_pylist() == [v for i, v in enumerate(base.to_pylist()) if i not in set(gone.tolist())]


def test_every_row_may_be_left_out() -> None:
    for rows in (1, FEW_GAPS, 40):
        base = pa.chunked_array([pa.array(range(rows))])
        assert Gaps(np.arange(rows), rows).without(base).to_pylist() == []
